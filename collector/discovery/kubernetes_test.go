//go:build !nokubernetes

package discovery_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/prometheus/prometheus/discovery/kubernetes" // As in the program.
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// cluster answers list and watch requests for pods in one namespace like an API server: a watch
// lasts until its client disconnects.
type cluster struct {
	mu       sync.Mutex
	pods     map[string]map[string]any
	watchers map[chan map[string]any]bool
	requests []string
}

// pod returns a pod as the API server describes it, with two ports.
func pod(name, ip, version string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": name, "namespace": "llm", "uid": name, "resourceVersion": version,
			"labels": map[string]any{"app": "triton", "pool": "llama"},
		},
		"spec": map[string]any{"nodeName": "gpu-1", "containers": []any{map[string]any{
			"name": "triton", "image": "triton:1",
			"ports": []any{map[string]any{"name": "metrics", "containerPort": 8002, "protocol": "TCP"}},
		}}},
		"status": map[string]any{"phase": "Running", "podIP": ip},
	}
}

// change sends an event to the watchers.
func (c *cluster) change(kind string, p map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := p["metadata"].(map[string]any)["name"].(string)
	if c.pods[name] = p; kind == "DELETED" {
		delete(c.pods, name)
	}
	for w := range c.watchers {
		w <- map[string]any{"type": kind, "object": p}
	}
}

// ServeHTTP answers /api/v1/namespaces/llm/pods.
func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/namespaces/llm/pods" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	if query.Get("continue") != "" { // The list that it goes on with was of another server.
		w.WriteHeader(http.StatusGone)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`))
		return
	}
	c.mu.Lock()
	c.requests = append(c.requests, query.Get("labelSelector"))
	if query.Get("sendInitialEvents") == "true" {
		// Like an older server, which only supports list.
		c.mu.Unlock()
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`))
		return
	}
	if query.Get("watch") == "" {
		items := []any{}
		for _, p := range c.pods {
			items = append(items, p)
		}
		c.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": "v1", "kind": "PodList", "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
		})
		return
	}
	events := make(chan map[string]any, 16)
	c.watchers[events] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, events)
	}()
	flusher := w.(http.Flusher)
	flusher.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-events:
			_ = json.NewEncoder(w).Encode(e)
			flusher.Flush()
		}
	}
}

func (c *cluster) watched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.watchers) > 0
}

// questions lists the requested selectors.
func (c *cluster) questions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

func TestPodsAreFollowed(t *testing.T) {
	t.Parallel()
	c := clusterOfOne()
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	s := start(t, `
kubernetes_sd_configs:
  - role: pod
    api_server: `+srv.URL+`
    namespaces: { names: [llm] }
    selectors: [ { role: pod, label: app=triton } ]
`)
	s.wait(t, "10.2.0.7:8002{}")
	require.Eventually(t, c.watched, ample, time.Millisecond)
	require.Contains(t, c.questions(), "app=triton")

	c.change("ADDED", pod("triton-1", "10.2.0.8", "2"))
	require.Eventually(t, func() bool { return len(s.last()) == 2 }, ample, 5*time.Millisecond)
	c.change("DELETED", pod("triton-0", "10.2.0.7", "3"))
	s.wait(t, "10.2.0.8:8002{}")
}

func TestAPIServerThatSwitchesProtocolIsAskedAgain(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(switchesFirst(t, clusterOfOne()))
	t.Cleanup(srv.Close)
	start(t, `
kubernetes_sd_configs:
  - role: pod
    api_server: `+srv.URL+`
    namespaces: { names: [llm] }
`).wait(t, "10.2.0.7:8002{}")
}

// An API server whose list never ends, by pages, in one page or by events, takes no more memory than it may.
// The source says why, and lists again when the server is well.
func TestListsWithoutEndAreRefused(t *testing.T) {
	page := make([]any, 100)
	for i := range page {
		page[i] = pod(fmt.Sprintf("triton-%d-%s", i, strings.Repeat("x", 10_000)), "10.2.0.7", "1")
	}
	list, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "PodList", "items": page,
		"metadata": map[string]any{"resourceVersion": "1", "continue": "more"},
	})
	require.NoError(t, err)
	event, err := json.Marshal(map[string]any{"type": "ADDED", "object": page[0]})
	require.NoError(t, err)
	endless := func(w io.Writer, text []byte) {
		for err := error(nil); err == nil; {
			_, err = w.Write(text)
		}
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(64 << 20))
	well := clusterOfOne()
	var healed atomic.Bool
	var sent atomic.Int64
	server := func(streams bool, answer func(w io.Writer)) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if healed.Load() || !streams && r.URL.Query().Get("sendInitialEvents") == "true" {
				well.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			answer(&counted{w, &sent})
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	began := time.Now()
	m := watchCluster(t, clientLogger, []string{"pod"},
		server(false, func(w io.Writer) { _, _ = w.Write(list) }), // By pages.
		server(false, func(w io.Writer) { endless(w, list[:len(list)/2]) }),
		server(true, func(w io.Writer) { endless(w, event) }))
	all := func(holds func(s *target.Source) bool) func() bool {
		return func() bool {
			return !slices.ContainsFunc(m.Sources(), func(s target.Source) bool { return !holds(&s) })
		}
	}
	require.Eventually(t, all(func(s *target.Source) bool {
		return strings.Contains(s.LastError, "the list has more than 4194304 bytes")
	}), ample, 5*time.Millisecond)
	require.Less(t, sent.Load(), attempts(began)*100<<20, "bytes that were read")
	healed.Store(true)
	require.Eventually(t, all(func(s *target.Source) bool { return s.Targets == 1 }), ample, 10*time.Millisecond)
}

// attempts returns how often a list that is too large may have been requested since a time.
func attempts(began time.Time) int64 { return 1 + int64(time.Since(began)/discovery.ListPause) }

// An API server that adds pods without end takes no more memory than a list may: its list is read again, in place
// of what it has added.
func TestChangesWithoutEndLeadToAnotherList(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(64 << 20))
	well := clusterOfOne()
	var healed atomic.Bool
	var sent atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if query := r.URL.Query(); healed.Load() || query.Get("watch") == "" || query.Get("sendInitialEvents") == "true" {
			well.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		events := json.NewEncoder(&counted{w, &sent})
		for i, err := 0, error(nil); err == nil; i++ {
			name := fmt.Sprintf("triton-%d-%s", i+1, strings.Repeat("x", 10_000))
			err = events.Encode(map[string]any{"type": "ADDED", "object": pod(name, "10.2.0.8", "1")})
		}
	}))
	t.Cleanup(srv.Close)
	began := time.Now()
	m := watchCluster(t, clientLogger, []string{"pod"}, srv.URL)
	targets := func(enough func(int) bool) func() bool {
		return func() bool { return enough(m.Sources()[0].Targets) }
	}
	require.Eventually(t, targets(func(n int) bool { return n > 1 }), ample, 5*time.Millisecond)
	healed.Store(true)
	require.Eventually(t, targets(func(n int) bool { return n == 1 }), ample, 10*time.Millisecond, "they are listed again")
	require.Less(t, sent.Load(), attempts(began)*20<<20, "bytes that were read")
	require.Empty(t, m.Sources()[0].LastError, "nothing is wrong with the list")
}

// An API server may repeat the token that it was sent, wherever that came from, and the client shows the
// beginning of what it answers.
func TestAPIServerShowsNoCredential(t *testing.T) {
	t.Parallel()
	file := func(name, text string) string {
		name = filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o700)) //nolint:gosec // One is a program.
		return name
	}
	kubeconfig := func(server, user string) string {
		return "kubeconfig_file: " + file("kubeconfig", `{kind: Config, apiVersion: v1, current-context: a,
contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: '`+server+`', insecure-skip-tls-verify: true}}],
users: [{name: a, user: {`+user+`}}]}`)
	}
	const given, stored, made = "Giv8-xYk2_Tok3n.8", "Sto8-xYk2_Tok3n.8", "Mad8-xYk2_Tok3n.8"
	ways := map[string]func(server string) string{
		given: func(server string) string {
			return "api_server: '" + server + "', authorization: {credentials: " + given + "}, tls_config: {insecure_skip_verify: true}"
		},
		stored: func(server string) string { return kubeconfig(server, "tokenFile: "+file("token", stored)) },
		made: func(server string) string {
			return kubeconfig(server, "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: "+
				file("program", "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":"+
					"\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\""+made+"\"}}'\n")+"}")
		},
	}
	const shown = 2048
	var blocks []string
	for _, block := range ways {
		for _, before := range []int{0, shown - len(given)/2} {
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, strings.Repeat("-", before)+sent+" is wrong")
			}))
			srv.EnableHTTP2 = true
			srv.StartTLS()
			t.Cleanup(srv.Close)
			blocks = append(blocks, "{role: pod, "+block(srv.URL)+"}")
		}
	}
	output := shownOf(t, "kubernetes_sd_configs: ["+strings.Join(blocks, ", ")+"]") + clientLines.String()
	require.NotContains(t, output, `"is wrong`, "each asks with a credential")
	for token := range ways {
		require.NotContains(t, output, token[:5])
	}
}

// The name of a group is shown with its targets that are dropped.
// A password that begins with * is an alias for YAML, and what is wrong with an alias is told with its name.
func TestBrokenKubeconfigShowsNoCredential(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("users: [{name: a, user: {token: *secret-password}}]"), 0o600))
	err := discovery.Check(config(t, "kubernetes_sd_configs: [{role: pod, kubeconfig_file: '"+file+"'}]"))
	require.EqualError(t, err, `kubernetes_sd_configs[0]: error loading config file "`+file+`": `+
		"an alias (*) has no anchor (&) above it; put a text that begins with * in quotes")
}

func TestNameOfPodShowsNoCredential(t *testing.T) {
	t.Parallel()
	const token = "zq81-xyk2-tok3n"
	c := clusterOfOne()
	c.pods = map[string]map[string]any{token: pod(token, "10.2.0.7", "1")}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	s := start(t, "kubernetes_sd_configs: [{role: pod, api_server: '"+srv.URL+"', namespaces: {names: [llm]}, "+
		"authorization: {credentials: "+token+"}}]")
	s.wait(t, "10.2.0.7:8002{}")
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(t, []string{"pod/llm/<secret>"}, s.names)
}

// clusterOfOne returns a cluster with one pod.
func clusterOfOne() *cluster {
	return &cluster{
		pods:     map[string]map[string]any{"triton-0": pod("triton-0", "10.2.0.7", "1")},
		watchers: map[chan map[string]any]bool{},
	}
}

// counted counts what is written.
type counted struct {
	io.Writer

	bytes *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return c.Writer.Write(p)
}
