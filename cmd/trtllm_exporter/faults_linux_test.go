package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
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

func TestP06AShortageOfFilesHealsAndIsNobodysEnd(t *testing.T) {
	p := shortOfFiles(t, 200, 64, "2s")
	var page string
	for began := time.Now(); strings.Count(page, "\ntrtllm_exporter_target_last_success_timestamp_seconds{") < 200; time.Sleep(200 * time.Millisecond) {
		page = p.metrics()
		require.Less(t, time.Since(began), time.Minute)
	}
	require.LessOrEqual(t, number(t, page, "trtllm_exporter_connections_limit"), 48.0)
	require.Positive(t, number(t, page, "trtllm_exporter_connections_waits_total"))
	for _, line := range regexp.MustCompile(`(?m)^trtllm_exporter_target_scrape_failures_total\{.*$`).FindAllString(page, -1) {
		require.Regexp(t, `reason="(resource|timeout)"`, line)
	}
}

// TestP06WhereTheFilesJustDoAllAreUp has just enough files for all targets to be scraped in each
// interval.
func TestP06WhereTheFilesJustDoAllAreUp(t *testing.T) {
	if os.Getenv("FAULTS") == "" {
		t.Skip("make faults runs it: it takes half a minute")
	}
	p := shortOfFiles(t, 300, 128, "5s")
	up := regexp.MustCompile(`(?m)^trtllm_exporter_target_up\{.*\} 1$`)
	for began := time.Now(); len(up.FindAllString(p.metrics(), -1)) < 300; time.Sleep(200 * time.Millisecond) {
		require.Less(t, time.Since(began), time.Minute)
	}
	pages, most := 0, 0.0
	for began := time.Now(); time.Since(began) < 15*time.Second; time.Sleep(200 * time.Millisecond) {
		page := p.metrics()
		require.Len(t, up.FindAllString(page, -1), 300)
		pages, most = pages+1, max(most, number(t, page, "trtllm_exporter_connections"))
	}
	t.Logf("300 up on each of %d pages, at most %.0f connections", pages, most)
	require.LessOrEqual(t, most, 96.0)
}

// shortOfFiles runs the program with a number of targets, which take a tenth of a second to answer,
// and with fewer files than it would open.
func shortOfFiles(t *testing.T, targets, files int, interval string) *process {
	t.Helper()
	var listed strings.Builder
	address, _ := counting(t, 100*time.Millisecond)
	for i := range targets {
		fmt.Fprintf(&listed, "      - { targets: [%q], labels: { replica_id: r%d } }\n", address, i)
	}
	p := started(t, freeAddress(t, "127.0.0.1"), fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, files),
		fmt.Sprintf("global: { scrape_interval: %[1]s, scrape_timeout: %[1]s }\npools:\n  - pool_id: p\n    engine: triton\n    api_port: 1\n    metrics_path: /metrics\n    static_configs:\n", interval)+listed.String())
	p.healthy()
	return p
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
}

// TestC04AStopOfTheProcessShowsNothingOld stops the process, as when a machine sleeps, while a
// counter goes on.
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
}

// stopped waits until no thread of the process runs: on a busy machine one that has not received
// the signal may still answer.
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

// credentials returns a CA and a certificate for 127.0.0.1 and ::1, also for clients, which it
// writes to files.
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

// TestTheListenerWantsWhatItsConfigurationSays runs the whole program on IPv4 and IPv6: clients
// without a certificate or a password get nothing.
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
