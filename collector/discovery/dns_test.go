package discovery_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Prometheus asks the name servers of /etc/resolv.conf at port 53. The test
// runs itself once more in namespaces of its own, where both are the test's.
const (
	inNamespaces = "DISCOVERY_TEST_RESOLV_CONF"
	cannotEnter  = "cannot prepare namespaces: "
)

func TestNamesAreLookedUp(t *testing.T) {
	if os.Getenv(inNamespaces) != "" {
		lookUpNames(t)
		return
	}
	resolv := filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(resolv, []byte("nameserver 127.0.0.1\n"), 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	args := []string{"-test.run=^TestNamesAreLookedUp$"}
	for _, arg := range os.Args[1:] {
		if dir, ok := strings.CutPrefix(arg, "-test.gocoverdir="); ok && dir != "" {
			args = append(args, arg)
		}
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), inNamespaces+"="+resolv)
	if err := isolate(cmd); err != nil {
		t.Skip("needs namespaces: ", err)
	}
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) || strings.Contains(string(out), cannotEnter) {
		t.Skipf("needs namespaces of %s: %v %s", runtime.GOOS, err, out)
	}
	require.NoError(t, err, "%s", out)
}

// zone is a name server with one answer at a time.
type zone struct{ answer atomic.Value }

func (z *zone) ServeDNS(w dns.ResponseWriter, r *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(r)
	if z.answer.Load() == "SERVFAIL" {
		m.Rcode = dns.RcodeServerFailure
		_ = w.WriteMsg(m)
		return
	}
	for line := range strings.Lines(z.answer.Load().(string)) {
		rr, err := dns.NewRR(line)
		if err == nil && rr != nil && rr.Header().Rrtype == r.Question[0].Qtype && rr.Header().Name == r.Question[0].Name {
			m.Answer = append(m.Answer, rr)
		}
	}
	_ = w.WriteMsg(m)
}

func lookUpNames(t *testing.T) {
	t.Helper()
	z := &zone{}
	z.answer.Store(`
_metrics._tcp.triton.svc. 1 IN SRV 0 0 8002 pod-1.triton.svc.
_metrics._tcp.triton.svc. 1 IN SRV 0 0 8002 pod-0.triton.svc.
triton.svc. 1 IN A 10.0.0.2
triton.svc. 1 IN A 10.0.0.1
`)
	conn, err := net.ListenPacket("udp", "127.0.0.1:53")
	require.NoError(t, err)
	srv := &dns.Server{PacketConn: conn, Handler: z}
	served := make(chan error)
	go func() { served <- srv.ActivateAndServe() }()
	defer func() {
		require.NoError(t, srv.Shutdown())
		require.NoError(t, <-served)
	}()

	reg := prometheus.NewRegistry()
	s := start(t, `
dns_sd_configs:
  - {names: [_metrics._tcp.triton.svc], refresh_interval: 20ms}
  - {names: [triton.svc], type: A, port: 8080, refresh_interval: 20ms}`, reg)
	meta := func(name string) string { return fmt.Sprintf(`{__meta_dns_name=%q}`, name) }
	srvName, name := meta("_metrics._tcp.triton.svc"), meta("triton.svc")
	all := []string{"pod-0.triton.svc:8002" + srvName, "pod-1.triton.svc:8002" + srvName, "10.0.0.1:8080" + name, "10.0.0.2:8080" + name}
	s.wait(t, all...)

	z.answer.Store("SERVFAIL")
	require.Eventually(t, func() bool { return failures(t, reg, "dns") > 3 }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, all, s.last())

	z.answer.Store("triton.svc. 1 IN A 10.0.0.3")
	s.wait(t, "10.0.0.3:8080"+name)
}
