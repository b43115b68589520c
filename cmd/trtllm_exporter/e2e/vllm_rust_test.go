//go:build e2e_vllm && linux

package e2e

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVLLMRustFrontend compares what is derived from a vLLM with its other frontend with what
// clients did. The wheel that tools/vllm pins has none: VLLM_RUST_FRONTEND_PATH names that of
// vLLM's own wheel of the same release.
func TestVLLMRustFrontend(t *testing.T) {
	s := newEngine(t, "vllm")
	if os.Getenv("VLLM_RUST_FRONTEND_PATH") == "" {
		t.Skip("VLLM_RUST_FRONTEND_PATH names no vllm-rs")
	}
	t.Setenv("VLLM_USE_RUST_FRONTEND", "1")
	s.start(t)
	l := watchEngine(t, s)
	l.hears(engineReady())
	require.Equal(t, "vllm", l.exporter.report(t).Engine)
	l.shows(has(0, "llm_server_requests_running")) // Families of requests appear with the first one.

	const ended = 4
	s.crowd(t, ended, request{words: 20, tokens: 40}).requireComplete(t)
	c := s.crowd(t, slots+2, request{words: 20, tokens: 2000})
	l.shows(has(slots, "llm_server_requests_running"), has(2, "llm_server_queue_depth"))
	c.leave()
	l.shows(
		has(slots+2, "llm_server_requests_total", "class", "canceled"),
		has(ended, "llm_server_requests_total", "class", "ok"),
		has(0, "llm_server_requests_total", "class", "client"),
		has(1, "llm_server_capability", "capability", "tpot"),
		lacks("llm_server_kv_cache_capacity_tokens"),
	)
}
