package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is the whole program as its users run it.
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

// started runs the program until the test ends, behind a command that ends in
// exec "$0" "$@"; empty for none. It returns nil when that command cannot be run
// here.
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

// get asks for a path.
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

// metrics is the page, which has to be there whatever happens to targets.
func (p *process) metrics() string {
	p.t.Helper()
	body, code, err := p.get("/metrics")
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, code)
	return body
}

// freeAddress is one that nothing listens on.
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

// counting is a server whose one counter moves by perSecond.
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

func TestP06AShortageOfFilesHealsAndIsNobodysEnd(t *testing.T) {
	t.Attr("P06", "`connections_waits_total`")
	var targets strings.Builder
	address, _ := counting(t, 100*time.Millisecond)
	for i := range 200 {
		fmt.Fprintf(&targets, "      - { targets: [%q], labels: { replica_id: r%d } }\n", address, i)
	}
	p := started(t, freeAddress(t, "127.0.0.1"), `ulimit -n 64; exec "$0" "$@"`,
		"global: { scrape_interval: 2s, scrape_timeout: 2s }\npools:\n  - pool_id: p\n    engine: triton\n    api_port: 1\n    metrics_path: /metrics\n    static_configs:\n"+targets.String())
	p.healthy()
	var page string
	for began := time.Now(); strings.Count(page, "\ntrtllm_exporter_target_last_success_timestamp_seconds{") < 200; time.Sleep(200 * time.Millisecond) {
		page = p.metrics()
		require.Less(t, time.Since(began), time.Minute)
	}
	limit, err := strconv.ParseFloat(regexp.MustCompile(`(?m)^trtllm_exporter_connections_limit (.*)$`).FindStringSubmatch(page)[1], 64)
	require.NoError(t, err)
	require.LessOrEqual(t, limit, 48.0)
	require.Contains(t, page, "\ntrtllm_exporter_connections_waits_total")
	require.NotContains(t, page, "trtllm_exporter_connections_waits_total 0\n")
	for _, line := range regexp.MustCompile(`(?m)^trtllm_exporter_target_scrape_failures_total\{.*$`).FindAllString(page, -1) {
		require.Regexp(t, `reason="(resource|timeout)"`, line)
	}
}

func TestP08AReadOnlyFileSystemIsEnough(t *testing.T) {
	address, _ := counting(t, 0)
	const readOnly = `exec unshare -m sh -c 'mount -o remount,bind,ro / && ! touch /tmp/x-$$ 2>/dev/null && exec "$0" "$@"' "$0" "$@"`
	if out, err := exec.CommandContext(t.Context(), "unshare", "-m", "mount", "-o", "remount,bind,ro", "/").CombinedOutput(); err != nil {
		t.Skipf("this machine makes no read-only view: %s", out)
	}
	p := started(t, freeAddress(t, "127.0.0.1"), readOnly, "global: { scrape_interval: 1s }\npools:\n  - pool_id: p\n    engine: triton\n    metrics_path: /metrics\n    static_configs: [ { targets: ["+strconv.Quote(address)+"] } ]\n")
	p.healthy()
	for began := time.Now(); !strings.Contains(p.metrics(), "\nnv_inference_request_success{"); time.Sleep(50 * time.Millisecond) {
		require.Less(t, time.Since(began), time.Minute)
	}
	t.Attr("P08", "the series of its target")
}

// TestC04AStopOfTheProcessShowsNothingOld stops the process, as a machine that
// sleeps does, in front of a counter that moves all the while.
func TestC04AStopOfTheProcessShowsNothingOld(t *testing.T) {
	if os.Getenv("FAULTS") == "" {
		t.Skip("make faults runs it: it takes a minute")
	}
	address, now := counting(t, 0)
	p := started(t, freeAddress(t, "127.0.0.1"), "", "global: { scrape_interval: 1s, window: 10s }\npools:\n  - pool_id: p\n    engine: triton\n    metrics_path: /metrics\n    static_configs: [ { targets: ["+strconv.Quote(address)+"] } ]\n")
	p.client.Timeout = time.Minute
	p.healthy()
	counter := regexp.MustCompile(`(?m)^nv_inference_request_success\{.*\} (.*)$`)
	rate := regexp.MustCompile(`(?m)^llm_server_requests_per_second\{.*\} (.*)$`)
	rates := 0
	look := func() {
		page := p.metrics()
		// Pages may be two intervals, a timeout and two seconds old.
		const oldest = 5 * time.Second
		if m := counter.FindStringSubmatch(page); m != nil {
			v, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			require.Greater(t, v, now()-perSecond*(oldest+2*time.Second).Seconds(), "a page of before the stop")
		}
		if m := rate.FindStringSubmatch(page); m != nil {
			v, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			require.InDelta(t, perSecond, v, rateWithin, "a rate over the stop")
			rates++
		}
	}
	watch := func(d time.Duration) {
		for began := time.Now(); time.Since(began) < d; time.Sleep(20 * time.Millisecond) {
			look()
		}
	}
	watch(8 * time.Second)
	require.Positive(t, rates)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	p.stopped()
	var waiting atomic.Int32
	done := make(chan string, 5)
	for range cap(done) {
		go func() {
			waiting.Add(1)
			body, _, _ := p.get("/metrics")
			done <- body
		}()
	}
	time.Sleep(30 * time.Second)
	require.EqualValues(t, 5, waiting.Load())
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
	for range cap(done) {
		if m := counter.FindStringSubmatch(<-done); m != nil {
			v, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			require.Greater(t, v, now()-7*perSecond, "who waited for the end of the stop has a page of before it")
		}
	}
	rates = 0
	watch(12 * time.Second)
	require.Positive(t, rates, "rates are back")
	t.Attr("C04", fmt.Sprintf("no old value; rates within %d of %d", rateWithin, perSecond))
}

// stopped waits until no thread of the process runs any more: on a busy machine
// one that has not heard of the signal may still answer.
func (p *process) stopped() {
	p.t.Helper()
	states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	require.NotEmpty(p.t, states)
	for _, file := range states {
		require.Eventually(p.t, func() bool {
			text, err := os.ReadFile(file)
			return err != nil || strings.Contains(string(text), ") T ")
		}, 10*time.Second, time.Millisecond, "%s", file)
	}
}

// credentials are an authority with a certificate for 127.0.0.1 and ::1, which
// is a client's too; they are written to files.
func credentials(t *testing.T) (dir string, pair tls.Certificate, roots *x509.CertPool) {
	t.Helper()
	dir = t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cert.pem"), cert, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), private, 0o600))
	pair, err = tls.X509KeyPair(cert, private)
	require.NoError(t, err)
	roots = x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(cert))
	return dir, pair, roots
}

// The listener of the whole program, over IPv4 and IPv6: who has no certificate
// or no password gets nothing.
func TestTheListenerWantsWhatItsConfigurationSays(t *testing.T) {
	// Z05.
	dir, pair, roots := credentials(t)
	const users = "basic_auth_users:\n  alice: $2a$04$ogGemYYURbgcWEweYTLY4uZvIwM2jB5l0rTJS7echnRxsSQ3x0Xva\n"
	secure := fmt.Sprintf("tls_server_config: { cert_file: %[1]s/cert.pem, key_file: %[1]s/key.pem", dir)
	for _, c := range []struct {
		name, host, web  string
		client           *tls.Config
		password         string
		code             int
		fails, plainFail bool
	}{
		{name: "plain over IPv6", host: "::1", code: 200},
		{name: "TLS", host: "127.0.0.1", web: secure + " }\n", client: &tls.Config{RootCAs: roots}, code: 200, plainFail: true},
		{name: "TLS over IPv6", host: "::1", web: secure + " }\n", client: &tls.Config{RootCAs: roots}, code: 200, plainFail: true},
		{name: "a client certificate is wanted and there", host: "127.0.0.1", web: secure + ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: " + dir + "/cert.pem }\n", client: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, code: 200, plainFail: true},
		{name: "a client certificate is wanted and missing", host: "127.0.0.1", web: secure + ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: " + dir + "/cert.pem }\n", client: &tls.Config{RootCAs: roots}, fails: true, plainFail: true},
		{name: "a password is wanted and right", host: "127.0.0.1", web: users, password: "secret", code: 200},
		{name: "a password is wanted and wrong", host: "127.0.0.1", web: users, password: "secret2", code: 401},
		{name: "a password is wanted and missing", host: "127.0.0.1", web: users, code: 401},
		{name: "TLS and a password", host: "127.0.0.1", web: secure + " }\n" + users, client: &tls.Config{RootCAs: roots}, password: "secret", code: 200, plainFail: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			web := filepath.Join(t.TempDir(), "web.yml")
			require.NoError(t, os.WriteFile(web, []byte(c.web), 0o600))
			p := started(t, freeAddress(t, c.host), "", "pools: [ { pool_id: p, static_configs: [ { targets: ['127.0.0.1:1'] } ] } ]\n", "--web.config.file", web)
			transport := &http.Transport{TLSClientConfig: c.client, DisableKeepAlives: true}
			p.client = &http.Client{Transport: transport, Timeout: 10 * time.Second}
			if c.client != nil {
				p.scheme = "https"
			}
			listens := func() bool {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.address)
				if err == nil {
					_ = conn.Close()
				}
				return err == nil
			}
			for began := time.Now(); !listens(); time.Sleep(20 * time.Millisecond) {
				require.Less(t, time.Since(began), 20*time.Second, "%s", &p.log)
			}
			for _, path := range []string{"/", "/metrics", "/targets", "/-/healthy"} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.scheme+"://"+p.address+path, http.NoBody)
				require.NoError(t, err)
				if c.password != "" {
					request.SetBasicAuth("alice", c.password)
				}
				response, err := p.client.Do(request)
				if c.fails {
					require.Error(t, err)
					continue
				}
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				require.Equal(t, c.code, response.StatusCode, path)
			}
			if c.plainFail {
				p.scheme = "http"
				_, code, err := p.get("/metrics")
				require.True(t, err != nil || code == http.StatusBadRequest, "%v", code)
			}
		})
	}
}
