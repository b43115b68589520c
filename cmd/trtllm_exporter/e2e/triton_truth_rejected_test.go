//go:build e2e_triton && linux

package e2e

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFullQueueRejectsRequests(t *testing.T) {
	t.Setenv("MODELS", changedModels(t, map[string][2]string{
		"preprocessing/config.pbtxt": {
			"max_batch_size: 8",
			"max_batch_size: 8\ndynamic_batching { default_queue_policy { max_queue_size: 1 } }",
		},
		"preprocessing/1/model.py": {
			"        return [self",
			"        __import__('time').sleep(0.2)\n        return [self",
		},
	}))
	s := startTriton(t, releases()[0])
	e := startExporter(t, s.address())
	const each = 20
	const requests, failed = "llm_server_model_requests_total", "llm_server_requests_failed_total"

	served, refused := burst(t, each, func(ctx context.Context) (outcome, error) {
		return s.stream(ctx, 0, request{words: 3, tokens: 2})
	})
	share := refused / (served + refused)
	requireRatio := func(p page) {
		got := p.only(t, "llm_server_request_error_ratio", "model_id", "ensemble", "class", "server")
		require.InDelta(t, share, got, 1e-9)
	}
	p := e.shows(
		t,
		has(refused, failed, "model", "ensemble", "reason", "other"), // The server counts each twice.
		has(0, failed, "model", "ensemble", "reason", "rejected"),
		has(served, requests, "model", "preprocessing"),
		has(served+2*refused, requests, "model", "ensemble"), // It ends after its parts.
	)
	requireRatio(p)

	alone, lost := burst(t, each, s.preprocess)
	require.Positive(t, lost)
	e.shows(t, has(served+alone, requests, "model", "preprocessing"))
	p = e.renewed(t)
	// Rejected requests are not counted.
	p.requires(t, has(served+alone, requests, "model", "preprocessing"))
	for _, series := range p.named("llm_server_model_requests_failed_total", "model", "preprocessing") {
		require.Zero(t, series.value, series.labels)
	}
	requireRatio(p) // The entry had no more requests.
}

// burst returns how many of n concurrent requests were served, and how many were rejected.
func burst(t *testing.T, n int, send func(context.Context) (outcome, error)) (served, refused float64) {
	t.Helper()
	c := startCrowd(t, n, func(ctx context.Context, _ int) (outcome, error) { return send(ctx) })
	for _, seen := range c.answered(t) {
		if seen.failed() {
			require.Regexp(t, "Exceeds maximum queue size|503", seen.failure)
			refused++
		}
	}
	served = float64(n) - refused
	require.Positive(t, served)
	require.Positive(t, refused)
	return served, refused
}

func (s *tritonServer) preprocess(ctx context.Context) (seen outcome, err error) {
	const body = `{"inputs":[{"name":"QUERY","datatype":"BYTES","shape":[1,1],"data":["a b"]},{"name":"REQUEST_OUTPUT_LEN","datatype":"INT32","shape":[1,1],"data":[2]}]}`
	response, err := postJSON(ctx, s.url("/v2/models/preprocessing/infer"), body)
	if err != nil {
		return seen, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		seen.failure = response.Status
	}
	return seen, nil
}
