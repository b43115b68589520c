//go:build !nokubernetes

package discovery_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// clientLines holds what the Kubernetes client and the sources log. The client's log is set once,
// before any client runs.
var clientLines, clientLogger = func() (*syncBuffer, *slog.Logger) {
	lines := new(syncBuffer)
	logger := slog.New(slog.NewTextHandler(lines, nil))
	klog.SetSlogLogger(slog.New(discovery.KubernetesLog(logger.With("component", "kubernetes").Handler())))
	return lines, logger
}()

// refusal answers like an API server that refuses a request.
func refusal(code int, reason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(
			w,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"reason":%q,"code":%d}`,
			message,
			reason,
			code,
		)
	}
}

// syncBuffer is a buffer for a log that several goroutines write.
type syncBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// watchCluster runs the discovery of blocks, which name no API server, each with its own.
func watchCluster(t *testing.T, logger *slog.Logger, roles []string, servers ...string) *discovery.Manager {
	t.Helper()
	var text strings.Builder
	text.WriteString("kubernetes_sd_configs:\n")
	for i, server := range servers {
		fmt.Fprintf(&text, "  - { role: %s, api_server: %q, namespaces: { "+
			"names: [llm] } }\n", roles[i%len(roles)], server)
	}
	m, err := discovery.New(config(t, text.String()), new(secret.Store), logger)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(t.Context(), func([]*targetgroup.Group) {})
	}()
	t.Cleanup(func() { <-done }) // The context of the test has ended.
	return m
}

// TestKubernetesSaysWhyItFindsNothing shows the error of the cluster as that of the source: the
// client writes it to a log that the whole process shares.
func TestKubernetesSaysWhyItFindsNothing(t *testing.T) {
	logger := clientLogger
	forbidden := refusal(
		http.StatusForbidden,
		"Forbidden",
		`pods is forbidden: User "system:serviceaccount:llm:x" cannot list resource "pods" in API group "" in the namespace "llm"`,
	)
	for _, c := range []struct {
		name, role string
		answer     http.HandlerFunc
		want       []string
	}{
		{
			"no right to list pods", "pod", forbidden,
			[]string{`pods is forbidden: User "system:serviceaccount:llm:x"`, "rbac.create=true"},
		},
		{
			"no right to list slices", "endpointslice",
			refusal(http.StatusForbidden, "Forbidden", "endpointslices.discovery.k8s.io is forbidden: User "+
				"\"u\" cannot list"),
			[]string{"is forbidden", "rbac.create=true"},
		},
		{
			"no right to list nodes", "node",
			refusal(http.StatusForbidden, "Forbidden", "nodes is forbidden: User \"u\" cannot list"),
			[]string{"nodes is forbidden", "rbac.create=true"},
		},
		{
			"a token that has expired", "pod",
			refusal(http.StatusUnauthorized, "Unauthorized", "Unauthorized"),
			[]string{"Unauthorized"},
		},
		{"an address that is no API server", "pod", http.NotFound, []string{"could not find the requested resource"}},
		{
			"a server that is overloaded", "pod",
			refusal(http.StatusInternalServerError, "InternalError", "etcdserver: request timed out"),
			[]string{"request timed out"},
		},
		{"a proxy with a login page", "pod", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<!DOCTYPE html><html>login</html>"))
		}, []string{"*v1.Pod"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(c.answer)
			t.Cleanup(srv.Close)
			m := watchCluster(t, logger.With("pool_id", c.name), []string{c.role}, srv.URL)
			requireError(t, m, 0, c.want...)
			s := m.Sources()[0]
			require.True(t, s.Failing(), "the source fails: %+v", s)
			require.NotZero(t, m.Stats().Failures["kubernetes"])
			line := fmt.Sprintf("pool_id=%q discovery=kubernetes_sd_configs[0]", c.name)
			require.Eventually(
				t,
				func() bool { return strings.Contains(clientLines.String(), line) },
				ample,
				5*time.Millisecond,
				"the log names the source: %s", line,
			)
		})
	}
	t.Run("nothing listens", func(t *testing.T) {
		m := watchCluster(t, logger, []string{"pod"}, "http://"+fixture.FreeAddress(t, "127.0.0.1"))
		requireError(t, m, 0, "connection refused")
	})
	t.Run("only one of two sources, and until it may", func(t *testing.T) {
		good := clusterOfOne()
		var mu sync.Mutex
		refuse := true
		answer := func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			denied := refuse
			mu.Unlock()
			if denied {
				forbidden(w, r)
				return
			}
			good.ServeHTTP(w, r)
		}
		bad, all := httptest.NewServer(http.HandlerFunc(answer)), httptest.NewServer(good)
		t.Cleanup(bad.Close)
		t.Cleanup(all.Close)
		m := watchCluster(t, logger, []string{"pod"}, all.URL, bad.URL)
		other := watchCluster(t, logger, []string{"pod"}, all.URL)
		requireError(t, m, 1, "forbidden")
		require.Eventually(
			t,
			func() bool { return m.Sources()[0].Targets == 1 && other.Sources()[0].Targets == 1 },
			ample,
			5*time.Millisecond,
		)
		require.Empty(t, m.Sources()[0].LastError+other.Sources()[0].LastError, "those that may list have no error")

		mu.Lock()
		refuse = false
		mu.Unlock()
		require.Eventually(t, func() bool { return m.Sources()[1].Targets == 1 }, ample, 10*time.Millisecond)
	})
}
