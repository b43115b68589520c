package web_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

func TestReadinessWaitsForFirstRound(t *testing.T) {
	f := newFleet(t)
	opts := f.options()
	known := false
	opts.Ready = func() bool { return known }
	h := handler(t, opts)

	require.Equal(t, http.StatusServiceUnavailable, get(h, "/-/ready").Code, "targets are not known")
	require.Equal(t, http.StatusOK, get(h, "/-/healthy").Code)
	known = true
	_, err := f.store.Add(&target.Target{PoolID: "a", ReplicaID: "rank1", Silent: true})
	require.NoError(t, err)
	f.slot("a", "r0")
	untried := get(h, "/-/ready")
	require.Equal(t, http.StatusServiceUnavailable, untried.Code, "one was not tried")
	require.Equal(t, "Not ready: not every target was tried yet.\n", untried.Body.String())
	f.fail("a", "r0", "connect", "refused")
	require.Equal(t, http.StatusOK, get(h, "/-/ready").Code, "a failure is a try, and a silent rank is never tried")
	f.slot("a", "r1")
	require.Equal(t, http.StatusOK, get(h, "/-/ready").Code, "a new target takes nothing away")
}

func TestLifecyclePathsAreOffByDefault(t *testing.T) {
	// Z02.
	opts := newFleet(t).options()
	opts.Reload = func() error {
		t.Error("reloaded")
		return nil
	}
	h := handler(t, opts)

	for _, c := range []struct{ method, path string }{
		{http.MethodPost, "/-/reload"},
		{http.MethodGet, "/config"},
	} {
		w := ask(h, c.method, c.path)
		require.Equal(t, http.StatusForbidden, w.Code, c.path)
		require.Contains(t, w.Body.String(), "--web.enable-lifecycle")
	}
}

func TestReload(t *testing.T) {
	opts := newFleet(t).options()
	opts.EnableLifecycle = true
	var fail error
	reloads := 0
	opts.Reload = func() error {
		reloads++
		return fail
	}
	h := handler(t, opts)

	require.Equal(t, http.StatusMethodNotAllowed, get(h, "/-/reload").Code)
	require.Zero(t, reloads)
	require.Equal(t, http.StatusOK, ask(h, http.MethodPost, "/-/reload").Code)
	require.Equal(t, 1, reloads)

	foreign := ask(h, http.MethodPost, "/-/reload", "Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example")
	require.Equal(t, http.StatusForbidden, foreign.Code)
	require.Equal(t, 1, reloads)

	fail = errors.New(`config.yml:3: pools[0].url: "http://bob:hunter2@host:1/metrics?token=hunter2" is not a key`)
	w := ask(h, http.MethodPost, "/-/reload")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, w.Body.String(), "config.yml:3: pools[0].url")
	require.NotContains(t, w.Body.String(), "hunter2")
	require.Equal(t, "pools: []\n", get(h, "/config").Body.String())
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	// Z01.
	opts := newFleet(t).options()
	h := handler(t, opts)

	for _, path := range []string{
		"/nope", "/metrics/", "/other", "/-/quit", "/debug/pprof/", "//metrics",
		"/probe?target=http://169.254.169.254/latest", "/scrape?target=10.0.0.1:80",
	} {
		require.Equal(t, http.StatusNotFound, get(h, path).Code, path)
	}
	require.Equal(t, http.StatusNotFound, get(h, "/metrics?target=http://169.254.169.254").Code)
	require.Contains(
		t,
		get(h, "/metrics").Body.String(),
		`trtllm_exporter_http_requests_total{code="404",path="other"} 8`,
	)
}

func TestResponsesHaveSecurityHeaders(t *testing.T) {
	h := handler(t, newFleet(t).options())

	for _, path := range []string{"/", "/metrics", "/targets", "/nope", "/sd", "/-/ready", "/style.css"} {
		header := get(h, path).Header()
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'", path)
	}
}

func TestInvalidOptions(t *testing.T) {
	for want, change := range map[string]func(o *web.Options){
		"no address":                             func(o *web.Options) { o.ListenAddresses = nil },
		"web configuration testdata/missing.yml": func(o *web.Options) { o.WebConfigFile = "testdata/missing.yml" },
		"web configuration /dev/zero":            func(o *web.Options) { o.WebConfigFile = "/dev/zero" },
		"metrics of the web server": func(o *web.Options) {
			o.Registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{
				Name: "trtllm_exporter_page_bytes",
				Help: "x",
			}))
		},
	} {
		opts := newFleet(t).options()
		change(&opts)
		_, err := web.New(t.Context(), opts)
		require.ErrorContains(t, err, want)
	}
}

func TestEveryAddressIsServed(t *testing.T) {
	opts := newFleet(t).options()
	opts.ListenAddresses = []string{"127.0.0.1:0", "127.0.0.1:0"}
	s, err := web.New(t.Context(), opts)
	require.NoError(t, err)
	run(t, s)
	for _, address := range s.Addrs() {
		require.Equal(t, http.StatusOK, login(t, http.DefaultClient, "http://"+address+"/-/healthy", "", ""))
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestDrainingWaitsTenSecondsForResponses(t *testing.T) {
	for _, hanging := range []int{0, 50} {
		synctest.Test(t, func(t *testing.T) {
			s, err := web.New(t.Context(), oneReplica(t).options())
			require.NoError(t, err)
			l := wire{fixture.Listen()}
			s.Listen(l)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()
			conn := l.connect(t, "GET /metrics HTTP/1.1\r\nHost: exporter\r\nConnection: close\r\n\r\n")
			for range hanging {
				conn := l.connect(t, plainRequest)
				t.Cleanup(func() { _ = conn.Close() })
			}
			synctest.Wait()
			began := time.Now()

			cancel()
			synctest.Wait()
			require.Equal(t, http.StatusServiceUnavailable, get(s.Handler(), "/-/ready").Code)
			_, err = l.DialContext(t.Context(), "", "")
			require.ErrorIs(t, err, net.ErrClosed)
			time.Sleep(5 * time.Second)
			require.Contains(t, read(t, conn), "nv_inference_pending_request_count")
			require.NoError(t, <-ended)
			require.LessOrEqual(t, time.Since(began), 10*time.Second)
			require.NoError(t, conn.Close())
		})
	}
}

func TestFailedListenerStopsServer(t *testing.T) {
	s, err := web.New(t.Context(), newFleet(t).options())
	require.NoError(t, err)
	s.Close()

	err = s.Run(t.Context())

	require.ErrorContains(t, err, "serve 127.0.0.1:")
}

// users is a web configuration with user alice and password "secret", whose hash is quick to check.
const users = "basic_auth_users:\n  alice: $2a$04$ogGemYYURbgcWEweYTLY4uZvIwM2jB5l0rTJS7echnRxsSQ3x0Xva\n"

// webConfig writes a web configuration file.
func webConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "web.yml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// login requests a path and returns the status.
func login(t *testing.T, client *http.Client, url, user, password string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	read(t, response.Body)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

func TestBasicAuthGuardsEveryPath(t *testing.T) {
	// Z05.
	opts := threeReplicas(t).options()
	opts.WebConfigFile = webConfig(t, users)
	base := start(t, opts)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

	for _, path := range []string{"/", "/metrics", "/targets", "/sd", "/-/ready"} {
		require.Equal(t, http.StatusUnauthorized, login(t, client, base+path, "", ""), path)
	}
	for _, c := range []struct {
		name, user, password string
		want                 int
	}{
		{"right", "alice", "secret", http.StatusOK},
		{"wrong password", "alice", "guess", http.StatusUnauthorized},
		{"unknown user", "mallory", "secret", http.StatusUnauthorized},
		{"unknown user with the toolkit's dummy password", "mallory", "fakepassword", http.StatusUnauthorized},
		{"a second time, from the cache", "mallory", "fakepassword", http.StatusUnauthorized},
		{"the cache key of another pair", "alice:secret", "", http.StatusUnauthorized},
		{"right again", "alice", "secret", http.StatusOK},
	} {
		require.Equal(t, c.want, login(t, client, base+"/metrics", c.user, c.password), c.name)
	}
}

func TestEmptiedWebConfigurationDeniesAccess(t *testing.T) {
	opts := threeReplicas(t).options()
	opts.WebConfigFile = webConfig(t, users)
	base := start(t, opts)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, text := range []string{"", "{}\n", "basic_auth_users: {}\n", "# " + users} {
		require.NoError(t, os.WriteFile(opts.WebConfigFile, []byte(text), 0o600))
		for _, user := range []string{"", "alice", "mallory"} {
			require.Equal(t, http.StatusInternalServerError, login(t, client, base+"/metrics", user, "guess"), text)
		}
	}
	require.NoError(t, os.WriteFile(opts.WebConfigFile, []byte(users), 0o600))
	require.Equal(t, http.StatusOK, login(t, client, base+"/metrics", "alice", "secret"))
	require.Equal(t, http.StatusUnauthorized, login(t, client, base+"/metrics", "", ""))
}

// tlsConfig returns a web configuration with a certificate for 127.0.0.1, and a client that trusts it.
func tlsConfig(t *testing.T) (text string, client *http.Client) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	text = fmt.Sprintf("tls_server_config:\n  cert: %q\n  key: %q\n",
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return text, server.Client()
}

// The toolkit reads the file for each handshake and request, to its end, which a pipe or a device may never have.
func TestWebConfigurationThatBecomesAPipeIsNotRead(t *testing.T) {
	overTLS, client := tlsConfig(t)
	client.Timeout = 5 * time.Minute
	for name, text := range map[string]string{"users": users, "TLS": overTLS, "TLS and users": overTLS + users} {
		t.Run(name, func(t *testing.T) {
			opts := threeReplicas(t).options()
			opts.WebConfigFile = webConfig(t, text)
			base := start(t, opts)
			if text != users {
				base = strings.Replace(base, "http:", "https:", 1)
			}
			defer client.CloseIdleConnections()
			require.Less(t, login(t, client, base+"/metrics", "alice", "secret"), http.StatusMultipleChoices)
			require.NoError(t, os.Remove(opts.WebConfigFile))
			require.NoError(t, syscall.Mkfifo(opts.WebConfigFile, 0o600))
			require.Equal(t, http.StatusInternalServerError, login(t, client, base+"/metrics", "alice", "secret"),
				"over the connection that is open")
			client.CloseIdleConnections()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base, http.NoBody)
			require.NoError(t, err)
			response, err := client.Do(request)
			if err == nil {
				require.Equal(t, http.StatusInternalServerError, response.StatusCode)
				require.NoError(t, response.Body.Close())
			}
			require.NotErrorIs(t, err, context.DeadlineExceeded, "it waits for the end of the file")
		})
	}
}

// The toolkit reads the files that the configuration names for each handshake.
func TestCertificateThatBecomesAPipeIsNotRead(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	files := map[string][]byte{
		"cert.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	}
	opts := threeReplicas(t).options()
	opts.WebConfigFile = webConfig(t, "tls_server_config: { cert_file: cert.pem, key_file: key.pem }\n")
	folder := filepath.Dir(opts.WebConfigFile)
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	base := strings.Replace(start(t, opts), "http:", "https:", 1)
	client := server.Client()
	client.Timeout = 5 * time.Minute
	defer client.CloseIdleConnections()
	require.Equal(t, http.StatusOK, login(t, client, base+"/-/healthy", "", ""))
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			client.CloseIdleConnections()
			path := filepath.Join(folder, name)
			require.NoError(t, os.Remove(path))
			require.NoError(t, syscall.Mkfifo(path, 0o600))
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base, http.NoBody)
			require.NoError(t, err)
			_, err = client.Do(request) //nolint:bodyclose // There is none.
			require.Error(t, err)
			require.NotErrorIs(t, err, context.DeadlineExceeded, "it waits for the end of the file")
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.WriteFile(path, text, 0o600))
			require.Equal(t, http.StatusOK, login(t, client, base+"/-/healthy", "", ""))
		})
	}
}

func TestBrokenWebConfigurationIsRefusedAtStart(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":     "tls_config: {}\n",
		"missing key":     "tls_server_config:\n  cert_file: /nonexistent.pem\n",
		"not a bcrypt":    "basic_auth_users:\n  alice: secret\n",
		"unknown file":    "tls_server_config:\n  cert_file: /nonexistent.pem\n  key_file: /nonexistent.key\n",
		"not even a YAML": "{",
	} {
		opts := newFleet(t).options()
		opts.WebConfigFile = webConfig(t, text)
		_, err := web.New(t.Context(), opts)
		require.ErrorContains(t, err, "web configuration ", name)
		require.NotContains(t, err.Error(), "\n", name)
	}
}
