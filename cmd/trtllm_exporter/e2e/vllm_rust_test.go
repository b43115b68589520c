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
	l := watchLife(t, s)
	l.serves(t)
	require.Equal(t, "vllm", l.report(t).Engine)
	l.shows(t, 0, "llm_server_requests_running")
	l.shows(t, 0, "llm_server_capability", "capability", "tpot") // Families of requests appear with the first one.

	const ended, tokens = 4, 40
	s.startCrowd(t, ended, arrival{words: 20, tokens: tokens}).requireComplete(t)
	c := s.startCrowd(t, slots+2, arrival{words: 20, tokens: 2000})
	l.showsAtOnce(t, map[string]float64{"llm_server_requests_running": slots, "llm_server_queue_depth": 2})
	c.stop()
	c.wait()
	l.shows(t, slots+2, "llm_server_requests_total", "class", "canceled")
	l.shows(t, ended, "llm_server_requests_total", "class", "ok")
	l.shows(t, 0, "llm_server_requests_total", "class", "client")
	l.shows(t, 1, "llm_server_capability", "capability", "tpot")
	l.absent(t, "llm_server_kv_cache_capacity_tokens")
}
