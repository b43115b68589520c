package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

func TestP06FileShortageRecovers(t *testing.T) {
	p := shortOfFiles(t, 200, 64, 10*time.Second)
	page := p.shows("all were scraped", func(page string) bool {
		return strings.Count(page, "\ntrtllm_exporter_target_last_success_timestamp_seconds{") == 200
	})
	require.LessOrEqual(t, number(t, page, "trtllm_exporter_connections_limit"), 48.0)
	require.Positive(t, number(t, page, "trtllm_exporter_connections_waits_total"))
	for _, line := range regexp.MustCompile(`(?m)^trtllm_exporter_target_scrape_failures_total\{.*$`).FindAllString(page, -1) {
		require.Regexp(t, `reason="(resource|timeout)"`, line)
	}
}

// TestP06JustEnoughFiles has just enough files to scrape all targets in each interval.
func TestP06JustEnoughFiles(t *testing.T) {
	if os.Getenv("FAULTS") == "" {
		t.Skip("run by make faults, takes half a minute")
	}
	p := shortOfFiles(t, 300, 128, 5*time.Second)
	p.shows("all are up", func(page string) bool { return upTargets(page) == 300 })
	pages, peak := 0, 0.0
	for start := time.Now(); time.Since(start) < 15*time.Second; time.Sleep(200 * time.Millisecond) {
		page := p.metrics()
		require.Equal(t, 300, upTargets(page))
		pages, peak = pages+1, max(peak, number(t, page, "trtllm_exporter_connections"))
	}
	t.Logf("300 up on each of %d pages, at most %.0f connections", pages, peak)
	require.LessOrEqual(t, peak, 96.0)
}

// shortOfFiles runs the program with slow targets and fewer files than it would open.
func shortOfFiles(t *testing.T, targets, files int, interval time.Duration) *process {
	t.Helper()
	address, _ := counting(t, interval/20)
	p := started(
		t,
		fixture.FreeAddress(t, "127.0.0.1"),
		fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, files),
		tritonPool(
			fmt.Sprintf("scrape_interval: %[1]s, scrape_timeout: %[1]s", interval),
			slices.Repeat([]string{address}, targets)...),
	)
	p.healthy()
	return p
}

func TestP08ReadOnlyFileSystem(t *testing.T) {
	address, _ := counting(t, 0)
	const readOnly = `exec unshare -m sh -c 'mount -o remount,bind,ro / && ! touch /tmp/x-$$ 2>/dev/null && exec "$0" "$@"' "$0" "$@"`
	if out, err := exec.CommandContext(t.Context(), "unshare", "-m", "mount", "-o", "remount,bind,ro", "/").CombinedOutput(); err != nil {
		t.Skipf("a read-only mount is not possible: %s", out)
	}
	p := started(t, fixture.FreeAddress(t, "127.0.0.1"), readOnly, tritonPool("scrape_interval: 1s", address))
	p.healthy()
	p.shows(
		"the target is scraped",
		func(page string) bool { return strings.Contains(page, "\nnv_inference_request_success{") },
	)
}

// TestC04StoppedProcessShowsNoOldValues stops the process while a counter grows, like a
// sleeping machine.
func TestC04StoppedProcessShowsNoOldValues(t *testing.T) {
	if os.Getenv("FAULTS") == "" {
		t.Skip("run by make faults, takes a minute")
	}
	address, now := counting(t, 0)
	p := started(t, fixture.FreeAddress(t, "127.0.0.1"), "", tritonPool("scrape_interval: 1s, window: 10s", address))
	p.client.Timeout = time.Minute
	p.healthy()
	rates := 0
	look := func() {
		page := p.metrics()
		// Pages may be two intervals, a timeout and two seconds old.
		const oldest = 5 * time.Second
		if strings.Contains(page, "\nnv_inference_request_success{") {
			require.Greater(
				t,
				number(t, page, "nv_inference_request_success"),
				now()-perSecond*(oldest+2*time.Second).Seconds(),
				"a page from before the stop",
			)
		}
		if strings.Contains(page, "\nllm_server_requests_per_second{") {
			require.InDelta(
				t,
				perSecond,
				number(t, page, "llm_server_requests_per_second"),
				rateWithin,
				"a rate over the stop",
			)
			rates++
		}
	}
	watch := func(d time.Duration) {
		for start := time.Now(); time.Since(start) < d; time.Sleep(20 * time.Millisecond) {
			look()
		}
	}
	watch(8 * time.Second)
	require.Positive(t, rates)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	p.waitStopped()
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
		if page := <-done; strings.Contains(page, "\nnv_inference_request_success{") {
			require.Greater(
				t,
				number(t, page, "nv_inference_request_success"),
				now()-7*perSecond,
				"a waiting reader got a page from before the stop",
			)
		}
	}
	rates = 0
	watch(12 * time.Second)
	require.Positive(t, rates, "rates are back")
}

// waitStopped waits until no thread of the process runs: on a busy machine a thread may still
// answer.
func (p *process) waitStopped() {
	p.t.Helper()
	states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	require.NotEmpty(p.t, states)
	for _, file := range states {
		require.Eventually(p.t, func() bool {
			text, err := os.ReadFile(file)
			return err != nil || strings.Contains(string(text), ") T ")
		}, waitsAtMost, time.Millisecond, "%s", file)
	}
}

// TestListenerRequiresTLSAndCredentials runs the program on IPv4 and IPv6: clients without
// a required certificate or password get nothing.
func TestListenerRequiresTLSAndCredentials(t *testing.T) {
	// Z05.
	dir := t.TempDir()
	pair := certificate(t, dir, time.Hour, "127.0.0.1", "::1")
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	const users = "basic_auth_users:\n  alice: $2a$04$ogGemYYURbgcWEweYTLY4uZvIwM2jB5l0rTJS7echnRxsSQ3x0Xva\n"
	secure := fmt.Sprintf("tls_server_config: { cert_file: %[1]s/ca.pem, key_file: %[1]s/key.pem", dir)
	mutual := secure + ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: " + dir + "/ca.pem }\n"
	plain, anonymous, identified := (*tls.Config)(nil), &tls.Config{RootCAs: roots}, &tls.Config{
		RootCAs:      roots,
		Certificates: []tls.Certificate{pair},
	}
	for _, c := range []struct {
		name, host, web string
		client          *tls.Config
		password        string
		code            int // 0 for no response.
	}{
		{"plain over IPv6", "::1", "", plain, "", http.StatusOK},
		{"TLS", "127.0.0.1", secure + " }\n", anonymous, "", http.StatusOK},
		{"TLS over IPv6", "::1", secure + " }\n", anonymous, "", http.StatusOK},
		{"a client certificate", "127.0.0.1", mutual, identified, "", http.StatusOK},
		{"a missing client certificate", "127.0.0.1", mutual, anonymous, "", 0},
		{"a password", "127.0.0.1", users, plain, "secret", http.StatusOK},
		{"a wrong password", "127.0.0.1", users, plain, "secret2", http.StatusUnauthorized},
		{"a missing password", "127.0.0.1", users, plain, "", http.StatusUnauthorized},
		{"TLS and a password", "127.0.0.1", secure + " }\n" + users, anonymous, "secret", http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := started(t, fixture.FreeAddress(t, c.host), "", "pools: [ { pool_id: p, static_configs: [ { "+
				"targets: ['127.0.0.1:1'] } ] } ]\n", "--web.config.file", fileOf(t, c.web))
			p.client = &http.Client{
				Transport: &http.Transport{TLSClientConfig: c.client, DisableKeepAlives: true},
				Timeout:   waitsAtMost,
			}
			if c.client != nil {
				p.scheme = "https"
			}
			require.Eventually(t, func() bool {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.address)
				if err == nil {
					_ = conn.Close()
				}
				return err == nil
			}, waitsAtMost, 20*time.Millisecond, "it listens")
			for _, path := range []string{"/", "/metrics", "/targets", "/-/healthy"} {
				request, err := http.NewRequestWithContext(
					t.Context(),
					http.MethodGet,
					p.scheme+"://"+p.address+path,
					http.NoBody,
				)
				require.NoError(t, err)
				if c.password != "" {
					request.SetBasicAuth("alice", c.password)
				}
				response, err := p.client.Do(request)
				if c.code == 0 {
					require.Error(t, err)
					continue
				}
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				require.Equal(t, c.code, response.StatusCode, path)
			}
			if c.client != nil {
				p.scheme = "http"
				_, code, err := p.get("/metrics")
				require.True(t, err != nil || code == http.StatusBadRequest, "%v", code)
			}
		})
	}
}
