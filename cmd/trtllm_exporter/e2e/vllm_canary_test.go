//go:build e2e_vllm && linux

package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCanaryInFrontOfVLLM sends requests of the canary to a vLLM whose queue has
// no room now and then: a request that is refused is answered 200, in a stream
// that comes to its end.
func TestCanaryInFrontOfVLLM(t *testing.T) {
	s := newEngine(t, "vllm")
	s.start(t, "--max-num-queued-reqs", "1")
	const tokens = 5
	l := watchLife(t, s, fmt.Sprintf("canary: { enabled: true, interval: 10s, endpoint: completions, prompt: w1 w2 w3, max_tokens: %d }", tokens))
	l.shows(t, 1, "llm_server_canary_success", "model_id", engineModel)
	p := l.page(t)
	require.Equal(t, float64(tokens), p.only(t, "llm_server_canary_tokens"))
	require.Positive(t, p.only(t, "llm_server_canary_time_to_first_token_seconds"))

	c := s.startCrowd(t, 3*slots, arrival{words: 20, tokens: 1500})
	l.shows(t, 0, "llm_server_canary_success")
	require.NotEmpty(t, l.page(t).named("llm_server_canary_requests_total", "result", "error_frame"))
	require.Contains(t, string(l.body(t, "/targets?format=json")), "error_frame")
	c.stop()
	rejected, served := 0.0, 0
	for _, a := range c.wait() {
		if a.failed {
			require.Equal(t, http.StatusOK, a.status)
			require.True(t, a.done, "the stream comes to its end")
			require.Contains(t, a.failure, "503")
			rejected++
		} else {
			served++
		}
	}
	require.Positive(t, rejected)
	require.GreaterOrEqual(t, served, slots)
	l.shows(t, 1, "llm_server_canary_success")
	refused := total(l.page(t), "llm_server_requests_total", "class", "overload")
	require.GreaterOrEqual(t, refused, rejected+1, "the crowd's and the canary's")
	require.Zero(t, total(l.page(t), "llm_server_requests_total", "class", "server"), "what was refused is no failure")
	require.NotContains(t, l.history(t), "failing")
}
