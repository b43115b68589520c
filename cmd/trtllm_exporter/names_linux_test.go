package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// TestT09T11HostNameMovesAndDisappears runs the program with its own hosts file and an unreachable
// name server: the server's name moves to another address, disappears, and returns.
func TestT09T11HostNameMovesAndDisappears(t *testing.T) {
	if os.Getenv("FAULTS") == "" {
		t.Skip("make faults runs it: it takes half a minute")
	}
	if out, err := exec.CommandContext(t.Context(), "unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("this machine gives no files of our own: %s", out)
	}
	dir := t.TempDir()
	hosts, resolv := filepath.Join(dir, "hosts"), filepath.Join(dir, "resolv.conf")
	write := func(file, text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	moveTo := func(address string) { write(hosts, "127.0.0.1 localhost\n"+address) }
	write(resolv, "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
	moveTo("127.0.0.1 engine.test\n")
	port, end := serverAt(t, "127.0.0.1:0", 1)
	before := fmt.Sprintf(
		`exec unshare -m sh -c 'mount --bind %s /etc/hosts && mount --bind %s /etc/resolv.conf && exec "$0" "$@"' "$0" "$@"`,
		hosts,
		resolv,
	)
	p := started(t, fixture.FreeAddress(t, "127.0.0.1"), before, tritonPool("scrape_interval: 1s", "engine.test:"+port))
	p.healthy()
	shows := func(what, line string) {
		t.Helper()
		p.shows(what+": "+line, func(page string) bool { return strings.Contains(page, line) })
	}
	const up = "\ntrtllm_exporter_target_up{pool_id=\"p\",replica_id=\"r0\"} "
	server := func(n int) string { return fmt.Sprintf(`trtllm_version="unknown",version="1"} %d`+"\n", n) }
	shows("the name is known", server(1))

	_, endSecond := serverAt(t, "127.0.0.2:"+port, 2)
	moveTo("127.0.0.2 engine.test\n")
	end()
	shows("the name has moved", server(2))
	require.Contains(t, p.metrics(), up+"1")

	moveTo("")
	endSecond()
	shows(
		"there is no such name",
		`trtllm_exporter_target_scrape_failures_total{pool_id="p",reason="dns",replica_id="r0"}`,
	)
	require.Contains(t, p.metrics(), up+"0")

	serverAt(t, "127.0.0.1:"+port, 3)
	moveTo("127.0.0.1 engine.test\n")
	shows("the name is back", server(3))
	require.Contains(t, p.metrics(), up+"1")
}

// serverAt starts a server whose page identifies it, until the test or end stops it.
func serverAt(t *testing.T, address string, number int) (port string, end func()) {
	t.Helper()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp4", address)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "# TYPE nv_inference_request_success counter\n"+
			"nv_inference_request_success{model=\"m\",version=\"1\"} %d\n", number)
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port, func() {
		s.CloseClientConnections()
		s.Close()
	}
}
