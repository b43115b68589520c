//go:build e2e_vllm && linux

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// newEngine prepares a vLLM or SGLang of tools/vllm on a free port.
func newEngine(t *testing.T, kind string) *server {
	t.Helper()
	dir := os.Getenv("VLLM_DIR")
	if dir == "" {
		t.Skip("VLLM_DIR names no installed vLLM: run make e2e-vllm")
	}
	port := fixture.FreePorts(t, "127.0.0.1", 1)
	s := &server{
		name:     kind,
		whole:    t,
		port:     port,
		pagePort: port,
		program: func() []string {
			script := filepath.Join(repositoryRoot(t), "tools/vllm/vllm.sh")
			return []string{script, "run", dir, t.TempDir(), kind, strconv.Itoa(port)}
		},
		env:          []string{"VLLM_SERVER_DEV_MODE=1"},
		startsWithin: 8 * time.Minute, // Half a minute on an idle machine.
	}
	s.send = completes(s, map[string]any{
		"temperature":    0,
		"ignore_eos":     true,
		"stream_options": map[string]any{"include_usage": true, "continuous_usage_stats": true},
	})
	// SGLang opens its port before it can serve, and the response must come from this server, not from
	// one that took the port while this one loaded its model.
	s.serves = func(t *testing.T) bool {
		t.Helper()
		require.False(t, s.ended(), "%s ended by itself:\n%s", kind, s.tail(30))
		if s.status(t, "/health") != http.StatusOK {
			return false
		}
		_, models, err := get(t.Context(), s.url("/v1/models"))
		require.NoError(t, err)
		require.Contains(t, string(models), tinyLlama, "another server has port %d", port)
		return true
	}
	return s
}

// pinned returns the version of a kind of server in tools/vllm, empty without one.
func pinned(t *testing.T, kind string) string {
	t.Helper()
	pins, err := os.ReadFile(filepath.Join(repositoryRoot(t), "tools/vllm", kind+".txt"))
	require.NoError(t, err)
	for line := range strings.Lines(string(pins)) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), "==")
		if name == kind || name == kind+"-cpu" {
			return version
		}
	}
	return ""
}

const (
	engineInterval = time.Second
	// firstToken is the time that a question has for its answer, stallAfter that without progress
	// after which requests in flight are suspicious.
	firstToken = 2 * time.Second
	stallAfter = 5 * time.Second
	// The exporter asks with confirms if it suspects a hang, with asks always, and with canaries it leaves
	// some of those requests.
	confirms = "canary: { confirm: true, first_token_timeout: 2s, endpoint: completions, prompt: w1 w2 w3 }"
	asks     = "canary: { enabled: true, interval: 10s, first_token_timeout: 5s, endpoint: completions, " +
		"prompt: w1 w2 w3, max_tokens: 5 }"
	canaries = "canary: { enabled: true, interval: 10s, endpoint: completions, prompt: w1 w2 w3, max_tokens: 5, " +
		"cancel_within: 2500ms, cancel_tokens: 3000 }"
)

// watchEngine starts an exporter for a server that may not run yet.
func watchEngine(t *testing.T, s *server, keys ...string) *life {
	t.Helper()
	keys = append([]string{"identity_interval: 2s"}, keys...)
	return watch(t, startPool(t, engineInterval, "stall_after: "+stallAfter.String(), s.address(), keys...), s)
}

// engineReady is the verdict on a server that has just started, whose kind must be detected.
func engineReady() verdicts { return is("ready", keep, "") }

// identified requires that a name on its page identifies the server.
func identified(evidence string) act {
	return func(l *life) {
		kind, r := l.client.name, l.exporter.report(l.t)
		require.Equal(l.t, kind, r.Engine)
		require.Contains(l.t, r.Evidence, evidence)
		l.shows(has(1, "llm_server_info",
			"engine", kind, "engine_version", pinned(l.t, kind), "trtllm_version", "unknown"))
	}
}

// unfinished requires that no request completed, and that nothing is said to run.
func unfinished(l *life) {
	for _, c := range l.load {
		for _, seen := range c.wait() {
			require.False(l.t, seen.done && !seen.failed(), "a stream of a dead engine completed: %+v", seen.plan)
		}
	}
	l.load = nil
	l.page().requires(l.t, lacks("llm_server_requests_running"))
}
