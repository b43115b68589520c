//go:build e2e_vllm && linux

package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCanaryInFrontOfVLLM sends requests of the canary to a vLLM that has no room
// now and then. A request that is refused is answered 503, or, in a burst, 200 and
// a stream that comes to its end, with the error inside.
func TestCanaryInFrontOfVLLM(t *testing.T) {
	s := newEngine(t, "vllm")
	s.start(t, "--max-num-queued-reqs", "8") // Running ones are among them.
	const tokens = 5
	l := watchLife(t, s, fmt.Sprintf("canary: { enabled: true, interval: 10s, endpoint: completions, prompt: w1 w2 w3, max_tokens: %d, cancel_within: 2500ms, cancel_tokens: 3000 }", tokens))
	l.shows(t, 1, "llm_server_canary_success", "model_id", engineModel)
	p := l.page(t)
	require.Equal(t, float64(tokens), p.only(t, "llm_server_canary_tokens"))
	require.Positive(t, p.only(t, "llm_server_canary_time_to_first_token_seconds"))
	leftAndFreed(t, l.exporter)

	c := s.startCrowd(t, 3*slots, arrival{words: 20, tokens: 1500})
	l.shows(t, 0, "llm_server_canary_success")
	refusals := func(p page) float64 {
		return p.sum("llm_server_canary_requests_total", "result", "error_frame") + p.sum("llm_server_canary_requests_total", "result", "http_error")
	}
	require.Positive(t, refusals(l.page(t)))
	require.Contains(t, string(l.body(t, "/targets?format=json")), "currently busy")
	c.stop()
	rejected, within200 := 0.0, 0
	for _, a := range c.wait() {
		if !a.failed {
			continue
		}
		require.Contains(t, a.failure, "currently busy")
		rejected++
		if a.status == http.StatusOK {
			require.True(t, a.done, "the stream comes to its end")
			require.Contains(t, a.failure, "503")
			within200++
		} else {
			require.Equal(t, http.StatusServiceUnavailable, a.status)
		}
	}
	require.Positive(t, rejected)
	t.Logf("%g of %d requests were refused, %d of them inside a stream", rejected, 3*slots, within200)
	l.shows(t, 1, "llm_server_canary_success")
	last := l.page(t)
	require.Equal(t, rejected+refusals(last), last.sum("llm_server_requests_total", "class", "overload"), "the crowd's and the canary's")
	require.Zero(t, last.sum("llm_server_request_error_ratio", "class", "server"), "what was refused is no failure")
	require.NotContains(t, l.history(t), "failing")
}

// TestCanaryInFrontOfSGLang has the canary's client leave in the middle of a stream.
func TestCanaryInFrontOfSGLang(t *testing.T) {
	s := newEngine(t, "sglang")
	s.start(t)
	l := watchLife(t, s, "canary: { enabled: true, interval: 10s, endpoint: completions, prompt: w1 w2 w3, max_tokens: 5, cancel_within: 2500ms, cancel_tokens: 3000 }")
	l.shows(t, 1, "llm_server_canary_success", "model_id", engineModel)
	leftAndFreed(t, l.exporter)
	// The server counts all of them among its requests, those that were left too.
	require.Positive(t, l.page(t).sum("sglang:num_aborted_requests_total"))
}
