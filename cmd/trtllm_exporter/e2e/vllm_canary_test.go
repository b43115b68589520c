//go:build e2e_vllm && linux

package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestVLLMCanary overloads a vLLM, which then rejects requests, in a burst inside of a 200.
func TestVLLMCanary(t *testing.T) {
	s := newEngine(t, "vllm")
	s.start(t, "--max-num-queued-reqs", "8") // Running requests count too.
	const tokens = 5
	l := watchLife(t, s, fmt.Sprintf("canary: { enabled: true, interval: 10s, endpoint: completions, prompt: w1 w2 "+
		"w3, max_tokens: %d, cancel_within: 2500ms, cancel_tokens: 3000 }", tokens))
	l.shows(t, 1, "llm_server_canary_success", "model_id", engineModel)
	p := l.page(t)
	require.Equal(t, float64(tokens), p.only(t, "llm_server_canary_tokens"))
	require.Positive(t, p.only(t, "llm_server_canary_time_to_first_token_seconds"))
	requireLeftAndFreed(t, l.exporter)

	c := s.startCrowd(t, 3*slots, arrival{words: 20, tokens: 1500})
	l.shows(t, 0, "llm_server_canary_success")
	refusals := func(p page) float64 {
		return p.sum(
			"llm_server_canary_requests_total",
			"result",
			"error_frame",
		) + p.sum(
			"llm_server_canary_requests_total",
			"result",
			"overload",
		)
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
	require.Equal(
		t,
		rejected+refusals(last),
		last.sum("llm_server_requests_total", "class", "overload"),
		"the crowd's and the canary's",
	)
	require.Zero(t, last.sum("llm_server_request_error_ratio", "class", "server"), "rejected requests are not failures")
	require.NotContains(t, l.history(t), "failing")
}

func (s *engineServer) sglangCanary(t *testing.T) {
	t.Helper()
	_, body, err := get(t.Context(), s.url("/metrics"))
	require.NoError(t, err)
	aborted := parsePage(t, body).sum("sglang:num_aborted_requests_total")
	l := watchLife(t, s, "canary: { enabled: true, interval: 10s, endpoint: completions, prompt: w1 w2 w3, "+
		"max_tokens: 5, cancel_within: 2500ms, cancel_tokens: 3000 }")
	l.shows(t, 1, "llm_server_canary_success", "model_id", engineModel)
	requireLeftAndFreed(t, l.exporter)
	// The server counts all of them among its requests, also abandoned ones.
	require.Greater(t, l.page(t).sum("sglang:num_aborted_requests_total"), aborted)
}

// requireLeftAndFreed waits until a request was abandoned, and requires that its slot is free
// again. On a machine that is too busy for a page in time a check is unclear, and the next one is
// used.
func requireLeftAndFreed(t *testing.T, e *exporter) {
	t.Helper()
	var p page
	within(t, 2*time.Minute, "a slot is free again", func() bool {
		p = e.page(t)
		require.Empty(t, p.named("llm_server_canary_cancel_checks_total", "result", "held"))
		return len(p.named("llm_server_canary_cancel_checks_total", "result", "freed")) > 0
	})
	require.Equal(t, 1.0, p.only(t, "llm_server_capability", "capability", "cancel"))
	require.Equal(t, 1.0, p.only(t, "llm_server_canary_cancel_success"))
	seconds := p.only(t, "llm_server_canary_cancel_seconds")
	require.Positive(t, seconds)
	t.Logf("the slot was free %.2f s after the client left, or before", seconds)
}
