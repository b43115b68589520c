package discovery_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// write replaces a file atomically, like an operator's tool.
func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(name+".new", name))
}

func TestFileIsFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.yml"), filepath.Join(dir, "two.json")
	write(t, one, `[{targets: ["a:1", "b:1"], labels: {rack: r1}}]`)
	s := start(t, `
static_configs: [{targets: ["s:1"]}]
file_sd_configs: [{files: ["`+dir+`/*.yml", "`+dir+`/*.json"]}]`)
	s.wait(t, "s:1{}", `a:1{rack="r1"}`, `b:1{rack="r1"}`)

	write(t, two, `[{"targets": ["c:1"]}, {"targets": ["d:1"], "labels": {"replica_id": "r9"}}]`)
	s.wait(t, "s:1{}", `a:1{rack="r1"}`, `b:1{rack="r1"}`, "c:1{}", `d:1{replica_id="r9"}`)

	write(t, one, `[{targets: ["b:1"]}]`)
	s.wait(t, "s:1{}", "b:1{}", "c:1{}", `d:1{replica_id="r9"}`)

	write(t, two, `[{"targets": ["c:1"]`)
	require.Eventually(t, func() bool { return s.Stats().Failures["file"] > 0 }, ample, 5*time.Millisecond)
	write(t, one, `[{targets: ["e:1"]}]`)
	s.wait(t, "s:1{}", "e:1{}", "c:1{}", `d:1{replica_id="r9"}`)

	require.NoError(t, os.Remove(two))
	s.wait(t, "s:1{}", "e:1{}")
}

// sdServer answers with a status, and with a body when that is 200.
type sdServer struct {
	*httptest.Server
	code     atomic.Int64
	body     atomic.Value
	requests atomic.Int64
}

func newSDServer(t *testing.T, body string) *sdServer {
	t.Helper()
	s := &sdServer{}
	s.answer(http.StatusOK, body)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.requests.Add(1)
		body := s.body.Load().(string)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(int(s.code.Load()))
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sdServer) answer(code int, body string) {
	s.body.Store(body)
	s.code.Store(int64(code))
}

// again waits for another request and its response.
func (s *sdServer) again(t *testing.T) {
	t.Helper()
	before := s.requests.Load()
	require.Eventually(t, func() bool { return s.requests.Load() > before+2 }, ample, 5*time.Millisecond)
}

func TestTargetsSurviveHTTPFailures(t *testing.T) {
	t.Parallel()
	good := newSDServer(t, `[{"targets": ["g:1"]}]`)
	srv := newSDServer(t, `[{"targets": ["b:1", "a:1"], "labels": {"tier": "gold"}}, {"targets": ["c:1"]}]`)
	s := start(t, `
http_sd_configs:
  - {url: "`+srv.URL+`", refresh_interval: 20ms}
  - {url: "`+good.URL+`", refresh_interval: 20ms}`)
	all := []string{`a:1{tier="gold"}`, `b:1{tier="gold"}`, "c:1{}", "g:1{}"}
	s.wait(t, all...)

	for _, fault := range []struct {
		code int
		body string
	}{{500, "oops"}, {200, "[{"}, {200, `[null]`}, {200, `{"targets": []}`}, {404, ""}} {
		srv.answer(fault.code, fault.body)
		before := s.Stats().Failures["http"]
		srv.again(t)
		require.Greater(t, s.Stats().Failures["http"], before, "%d %s", fault.code, fault.body)
		require.Equal(t, all, s.last(), "%d %s", fault.code, fault.body)
	}
	good.answer(http.StatusOK, `[{"targets": ["h:1"]}]`)
	s.wait(t, `a:1{tier="gold"}`, `b:1{tier="gold"}`, "c:1{}", "h:1{}")

	srv.answer(http.StatusOK, `[{"targets": ["d:1"]}]`)
	s.wait(t, "d:1{}", "h:1{}")
	srv.answer(http.StatusOK, `[]`)
	s.wait(t, "h:1{}")
}

// switchesFirst answers the first request with a switch to another protocol, after which the connection stays
// open, and leaves the others to a handler.
func switchesFirst(t *testing.T, others http.Handler) http.Handler {
	t.Helper()
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			others.ServeHTTP(w, r)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		<-t.Context().Done()
		_ = conn.Close()
	})
}

func TestSourceThatSwitchesProtocolIsAskedAgain(t *testing.T) {
	t.Parallel()
	srv := newSDServer(t, `[{"targets": ["a:1"]}]`)
	srv.Config.Handler = switchesFirst(t, srv.Config.Handler)
	start(t, `http_sd_configs: [{url: "`+srv.URL+`", refresh_interval: 1s}]`).wait(t, "a:1{}")
}

// Clients of Prometheus read files for each request, and would wait for the end of a pipe for ever.
func TestSourceWhoseFileWasAPipeIsAskedAgain(t *testing.T) {
	t.Parallel()
	for key, block := range map[string]string{
		"a token":    "authorization: {credentials_file: %s}",
		"a password": "basic_auth: {username: a, password_file: %s}",
		"a header":   "http_headers: {X-Key: {files: [%s]}}",
		"a secret":   "oauth2: {client_id: a, client_secret_file: %s, token_url: 'http://127.0.0.1:1/'}",
		"a CA":       "tls_config: {ca_file: %s}",
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "file")
			text := []byte("secret-text")
			if key == "a CA" {
				server := httptest.NewTLSServer(http.NotFoundHandler())
				server.Close()
				text = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			}
			require.NoError(t, os.WriteFile(file, text, 0o600))
			srv := newSDServer(t, `[]`)
			s := start(t, `http_sd_configs: [{url: "`+srv.URL+`", refresh_interval: 20ms, `+fmt.Sprintf(block, file)+`}]`)
			source := func() target.Source { return s.Sources()[0] }
			heard := func() bool { return !source().LastSuccess.IsZero() || source().LastError != "" }
			require.Eventually(t, heard, ample, time.Millisecond)
			require.NoError(t, os.Remove(file))
			require.NoError(t, syscall.Mkfifo(file, 0o600))
			noFile := func() bool { return strings.Contains(source().LastError, "which may have no end") }
			require.Eventually(t, noFile, ample, time.Millisecond)
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.WriteFile(file, text, 0o600))
			again := func() bool { return source().LastSuccess.After(source().LastErrorAt) || !noFile() }
			require.Eventually(t, again, ample, time.Millisecond)
		})
	}
}

// Another host may be a metadata service, and would get the headers of the configuration.
func TestRedirectsAreFollowedWithinAHost(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := newSDServer(t, `[{"targets": ["b:1"]}]`)
	other.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	srv := newSDServer(t, `[]`)
	srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			writeTargets(w, `{"targets": ["a:1"]}`)
		case "/path":
			http.Redirect(w, r, "/here", http.StatusFound)
		default:
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
		}
	})
	s := start(t, `
http_sd_configs:
  - {url: "`+srv.URL+`/path", refresh_interval: 20ms, http_headers: {X-Key: {secrets: [secret-key]}}}
  - {url: "`+srv.URL+`/host", refresh_interval: 20ms, http_headers: {X-Key: {secrets: [secret-key]}}}`)
	s.wait(t, "a:1{}")
	requireError(t, s.Manager, 1, "it redirects to another host")
	require.Zero(t, elsewhere.Load())
}

// A server of tokens is asked with the client's secret, which no other server may get, nor who listens on the way.
func TestSecretOfClientStaysWithItsServer(t *testing.T) {
	t.Parallel()
	const issued = `{"access_token": "token", "token_type": "Bearer", "expires_in": 3600}`
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	targets := newSDServer(t, `[{"targets": ["a:1"]}]`)
	issuer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, issued)
		case "/path":
			http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
		case "/host":
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
		case "/plain":
			http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
		}
	})
	open, encrypted := httptest.NewServer(issuer), httptest.NewTLSServer(issuer)
	t.Cleanup(open.Close)
	t.Cleanup(encrypted.Close)
	for _, test := range map[string]struct{ url, more, wanted string }{
		"within the host":       {url: open.URL + "/path"},
		"to another host":       {url: open.URL + "/host", wanted: "it redirects to another host"},
		"out of an encryption":  {url: encrypted.URL + "/plain", wanted: "it redirects from https to http"},
		"by a proxy":            {url: "http://login/here", more: "proxy_url: '" + open.URL + "'"},
		"by a proxy, elsewhere": {url: "http://login/host", more: "proxy_url: '" + open.URL + "'", wanted: "to another host"},
	} {
		s := start(t, `http_sd_configs: [{url: '`+targets.URL+`', oauth2: {client_id: a, client_secret: b, token_url: '`+
			test.url+`', tls_config: {insecure_skip_verify: true}, `+test.more+`}}]`)
		if test.wanted == "" {
			s.wait(t, "a:1{}")
			continue
		}
		requireError(t, s.Manager, 0, test.wanted)
	}
	require.Zero(t, elsewhere.Load())
}

func TestAnswerOfTheLimitIsRead(t *testing.T) {
	t.Parallel()
	const list = `[{"targets": ["a:1"]}]`
	srv := newSDServer(t, strings.Repeat(" ", 16<<20-len(list))+list)
	start(t, `http_sd_configs: [{url: "`+srv.URL+`", refresh_interval: 1m}]`).wait(t, "a:1{}")
}

func TestTooLargeAnswerIsRefused(t *testing.T) {
	t.Parallel()
	const list = `[{"targets": ["a:1"]}]`
	srv := newSDServer(t, strings.Repeat(" ", 16<<20-len(list)+1)+list)
	s := start(
		t,
		`{static_configs: [{targets: ["s:1"]}], http_sd_configs: [{url: "`+srv.URL+`", refresh_interval: 1m}]}`,
	)
	require.Eventually(
		t,
		func() bool {
			return strings.Contains(fmt.Sprint(s.Sources()), "the answer is larger than 16777216 bytes") || s.count() > 1
		},
		ample,
		5*time.Millisecond,
	)
	s.wait(t, "s:1{}")
}

func TestStats(t *testing.T) {
	begin := time.Now()
	srv := newSDServer(t, `[{"targets": ["a:1", "b:1"]}]`)
	s := start(t, `{static_configs: [{targets: ["s:1"]}], http_sd_configs: [{url: "`+srv.URL+`"}]}`)
	s.wait(t, "s:1{}", "a:1{}", "b:1{}")
	stats := s.Stats()
	require.WithinRange(t, stats.Updated, begin, time.Now())
	require.Equal(t, discovery.Stats{
		Targets:  3,
		Updated:  stats.Updated,
		Failures: map[string]float64{"http": 0},
	}, stats)
}

func TestUnusedDiscoveryLeaksNothing(t *testing.T) {
	m, err := discovery.New(config(t, everythingThatCanBeBuilt), new(secret.Store), promslog.NewNopLogger())
	require.NoError(t, err)
	require.Equal(t, discovery.Stats{Failures: map[string]float64{"dns": 0, "file": 0, "http": 0}}, m.Stats())
}

const everythingThatCanBeBuilt = `
static_configs: [{targets: ["a:1"]}]
file_sd_configs: [{files: ["a.yml"]}, {files: ["b.yml"]}]
http_sd_configs: [{url: "http://localhost:1/"}, {url: "http://localhost:2/"}]
dns_sd_configs: [{names: [a]}, {names: [b]}]
`

// A client asks with a token that a server of tokens gave it, and who was asked repeats it.
func TestCredentialsOfClientsAreHidden(t *testing.T) {
	t.Parallel()
	const token = "Zq81-xYk2_Tok3n.8"
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"`+token+`","token_type":"Bearer","expires_in":3600}`)
	}))
	t.Cleanup(issuer.Close)
	for name, answer := range map[string]func(w http.ResponseWriter, sent string){
		"a label": func(w http.ResponseWriter, sent string) {
			writeTargets(w, `{"targets":["a:1"],"labels":{"b":"`+sent+`"}}`)
		},
		"a name": func(w http.ResponseWriter, sent string) {
			writeTargets(w, `{"targets":["a:1"],"labels":{"`+sent+`":"b"}}`)
		},
		"a target": func(w http.ResponseWriter, sent string) { writeTargets(w, `{"targets":["`+sent+`:1"]}`) },
		"a key":    func(w http.ResponseWriter, sent string) { writeTargets(w, `{"`+sent+`":1}`) },
		"a type":   func(w http.ResponseWriter, sent string) { w.Header().Set("Content-Type", "text/"+sent) },
		"a place": func(w http.ResponseWriter, sent string) {
			w.Header().Set("Location", "http://127.0.0.1:1/"+sent)
			w.WriteHeader(http.StatusFound)
		},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer(w, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		}))
		t.Cleanup(srv.Close)
		shown := shownOf(t, `http_sd_configs: [{url: '`+srv.URL+`', oauth2: {client_id: a, client_secret: b, token_url: '`+
			issuer.URL+`'}}]`)
		require.Contains(t, shown, "<secret>", name)
		require.NotContains(t, shown, "Tok3n", name)
	}
}

func writeTargets(w http.ResponseWriter, group string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "["+group+"]")
}

// shownOf returns what is shown of all sources of a configuration once each succeeded or failed.
func shownOf(t *testing.T, text string) string {
	t.Helper()
	s := start(t, text)
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(s.Sources(), func(s target.Source) bool { return s.LastError == "" && s.Targets == 0 })
	}, ample, time.Millisecond)
	settled := func() bool { return len(s.last()) > 0 || s.Sources()[0].LastError != "" }
	require.Eventually(t, settled, ample, time.Millisecond)
	return fmt.Sprint(s.Sources(), s.last())
}
