//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTritonCanary(t *testing.T) {
	const canaryTokens = 8
	s := startTriton(t, releases()[0])
	e := startPool(
		t,
		"scrape_interval: 1s, scrape_timeout: 1s, window: 5s",
		s.metricsAddress(),
		"identity_interval: 2s",
		fmt.Sprintf(
			"canary: { enabled: true, interval: 10s, timeout: 9s, first_token_timeout: 4s, gap_timeout: 2s, "+
				"end_timeout: 2s, max_tokens: %d }", canaryTokens),
	)

	within(t, 40*time.Second, "two good requests", func() bool {
		p := e.page(t)
		return p.sum("llm_server_canary_requests_total") >= 2 && p.sum("llm_server_canary_success") == 1
	})
	p := e.page(t)
	require.Equal(t, float64(canaryTokens), p.only(t, "llm_server_canary_tokens"))
	require.Equal(
		t,
		1.0,
		p.only(t, "llm_server_canary_deterministic"),
		"the models answer a prompt with the same words",
	)
	require.Positive(t, p.only(t, "llm_server_canary_time_to_first_token_seconds"))
	// The executor takes 10 ms per token.
	require.Greater(t, p.only(t, "llm_server_canary_inter_token_latency_max_seconds"), 0.005)
	require.Greater(t, p.only(t, "llm_server_canary_duration_seconds"), 0.01*(canaryTokens-1))
	requests := p.only(t, "llm_server_canary_requests_total")
	require.GreaterOrEqual(
		t,
		s.page(t).sum("nv_llm_output_token_len_sum"),
		canaryTokens*requests,
		"the server counts the canary",
	)

	s.killStubs(t, modelProcesses)
	within(t, 40*time.Second, "the canary fails", func() bool { return e.report(t).Canary.Result != "ok" })
	canary := e.report(t).Canary
	require.Equal(t, "http_error", canary.Result, canary.Reason)
	require.Contains(t, canary.Reason, "is not healthy")
	status, _, err := get(t.Context(), s.url("/v2/health/ready"))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "the server reports ready")
	within(t, 10*time.Second, "the page shows it", func() bool {
		p := e.page(t)
		return p.only(t, "llm_server_canary_success") == 0 && p.only(t, "llm_server_ready") == 1
	})
	require.Empty(t, e.page(t).named("llm_server_canary_time_to_first_token_seconds"))
}
