//go:build e2e_triton && linux

package e2e

import (
	"context"
	"errors"
	"net/http"
	"strings"
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
	e := startExporter(t, s.metricsAddress())
	const each = 20

	served, refused := burst(t, each, func(ctx context.Context) error {
		_, err := s.stream(ctx, "ensemble", 3, 2)
		return err
	})
	pause(t.Context(), 4*scrapeInterval)
	p := e.page(t)
	failed := func(reason string) float64 {
		return p.only(t, "llm_server_requests_failed_total", "model", "ensemble", "reason", reason)
	}
	share := refused / (served + refused)
	require.InDelta(
		t,
		share,
		p.only(t, "llm_server_request_error_ratio", "model_id", "ensemble", "class", "server"),
		1e-9,
	)
	require.Equal(t, 2*refused, failed("other"), "as the server has it")
	require.Zero(t, failed("rejected"))
	require.Equal(t, served, p.only(t, "llm_server_model_requests_total", "model", "preprocessing"))

	alone, lost := burst(t, each, func(ctx context.Context) error { return s.preprocess(ctx) })
	require.Positive(t, lost)
	pause(t.Context(), 4*scrapeInterval)
	p = e.page(t)
	require.Equal(
		t,
		served+alone,
		p.only(t, "llm_server_model_requests_total", "model", "preprocessing"),
		"rejected requests are not counted",
	)
	for _, series := range p.named("llm_server_model_requests_failed_total", "model", "preprocessing") {
		require.Zero(t, series.value, series.labels)
	}
	require.InDelta(
		t,
		share,
		p.only(t, "llm_server_request_error_ratio", "model_id", "ensemble", "class", "server"),
		1e-9,
		"the entry had no more requests",
	)
}

// burst returns how many of n concurrent requests were served, and how many were rejected.
func burst(t *testing.T, n int, send func(context.Context) error) (served, refused float64) {
	t.Helper()
	c := startCrowd(t, n, func(ctx context.Context, _ int) (struct{}, error) { return struct{}{}, send(ctx) })
	c.wait()
	for _, err := range c.errs {
		require.True(
			t,
			strings.Contains(err.Error(), "Exceeds maximum queue size") || strings.Contains(err.Error(), "503"),
			err,
		)
		refused++
	}
	served = float64(n) - refused
	require.Positive(t, served)
	require.Positive(t, refused)
	return served, refused
}

func (s *tritonServer) preprocess(ctx context.Context) error {
	const body = `{"inputs":[{"name":"QUERY","datatype":"BYTES","shape":[1,1],"data":["a b"]},{"name":"REQUEST_OUTPUT_LEN","datatype":"INT32","shape":[1,1],"data":[2]}]}`
	response, err := postJSON(ctx, s.url("/v2/models/preprocessing/infer"), body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}
