//go:build e2e_vllm && linux

package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVLLMCanary overloads a vLLM, which then rejects requests, in a burst inside of a 200.
func TestVLLMCanary(t *testing.T) {
	s := newEngine(t, "vllm")
	s.start(t, "--max-num-queued-reqs", "8") // Running requests count too.
	l := watchEngine(t, s, canaries)
	requireCanary(l)

	c := s.crowd(t, 3*slots, request{words: 20, tokens: 1500})
	p := l.shows(has(0, "llm_server_canary_success"))
	refusals := func(p page) float64 {
		const requests = "llm_server_canary_requests_total"
		return p.sum(requests, "result", "error_frame") + p.sum(requests, "result", "overload")
	}
	require.Positive(t, refusals(p))
	require.Contains(t, string(l.exporter.body(t, "/targets?format=json")), "currently busy")
	c.stop()
	rejected, within200 := 0, 0
	for _, seen := range c.wait() {
		if !seen.failed() {
			continue
		}
		require.Contains(t, seen.failure, "currently busy")
		rejected++
		if seen.status == http.StatusOK {
			require.True(t, seen.done, "the stream comes to its end")
			require.Contains(t, seen.failure, "503")
			within200++
		} else {
			require.Equal(t, http.StatusServiceUnavailable, seen.status)
		}
	}
	require.Positive(t, rejected)
	t.Logf("%d of %d requests were refused, %d of them inside a stream", rejected, 3*slots, within200)
	last := l.shows(has(1, "llm_server_canary_success"))
	// The crowd's and the canary's requests are rejected, and rejected ones are not failures.
	last.requires(
		t,
		has(float64(rejected)+refusals(last), "llm_server_requests_total", "class", "overload"),
		has(0, "llm_server_request_error_ratio", "class", "server"),
	)
	require.NotContains(t, l.exporter.history(t, "r0"), "failing")
}
