package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is the whole program as users run it.
type process struct {
	t       *testing.T
	address string
	// config is the name of its configuration.
	config string
	scheme string
	client *http.Client
	cmd    *exec.Cmd
	log    bytes.Buffer
}

// started runs the program until the test ends, through a command that ends in exec "$0" "$@" if
// one is given. It returns nil if that command cannot be run here.
func started(t *testing.T, address, before, config string, args ...string) *process {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, program)))
	p := &process{t: t, address: address, config: filepath.Join(dir, "config.yml"), scheme: "http", client: &http.Client{Timeout: 10 * time.Second}}
	require.NoError(t, os.WriteFile(p.config, []byte(config), 0o600))
	if before == "" {
		before = `exec "$0" "$@"`
	}
	line := append([]string{"-c", before, filepath.Join(dir, program), "--config.file", p.config, "--web.listen-address", address}, args...)
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), "sh", line...)
	p.cmd.Stderr = &p.log
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// healthy waits until the program answers.
func (p *process) healthy() {
	p.t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, code, err := p.get("/-/healthy"); err == nil && code == http.StatusOK {
			return
		}
		require.Less(p.t, time.Since(began), 30*time.Second, "%s", &p.log)
	}
}

// get requests a path.
func (p *process) get(path string) (body string, code int, err error) {
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.scheme+"://"+p.address+path, http.NoBody)
	if err != nil {
		return "", 0, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return "", 0, err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	return string(text), response.StatusCode, err
}

// metrics returns the page, which must be there whatever happens to targets.
func (p *process) metrics() string {
	p.t.Helper()
	body, code, err := p.get("/metrics")
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, code)
	return body
}

// number returns the value of the only series with a name on a page.
func number(t *testing.T, page, name string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^`+name+`(?:\{.*\})? (.*)$`).FindAllStringSubmatch(page, -1)
	require.Len(t, m, 1, name)
	v, err := strconv.ParseFloat(m[0][1], 64)
	require.NoError(t, err)
	return v
}

// freeAddress returns an address that nothing listens on.
func freeAddress(t *testing.T, host string) string {
	t.Helper()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skipf("this machine has no %s: %v", host, err)
	}
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// perSecond is how fast the counter of [counting] moves; rateWithin is how far from that
// a rate may be while the process is stopped and goes on, or clocks are set.
const perSecond, rateWithin = 100, 25

// counting starts a server whose one counter grows by perSecond.
func counting(t *testing.T, takes time.Duration) (address string, now func() float64) {
	t.Helper()
	began := time.Now()
	now = func() float64 { return 1e6 + perSecond*time.Since(began).Seconds() }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		time.Sleep(takes)
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "# TYPE nv_inference_request_success counter\nnv_inference_request_success{model=\"m\",version=\"1\"} %.0f\n", now())
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), now
}
