//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTritonWithoutHTTP requires that a Triton with gRPC only is identified like one with HTTP.
func TestTritonWithoutHTTP(t *testing.T) {
	s := newTriton(t, releases()[0])
	s.startWithoutHTTP(t)

	e := startPool(
		t,
		fmt.Sprintf("scrape_interval: %[1]s, scrape_timeout: %[1]s", scrapeInterval),
		s.metricsAddress(),
		"api_protocol: grpc",
		"identity_interval: 2s",
	)
	e.waitUp(t, true)

	e.inState(t, "r0", "ready", 10*time.Second)
	p := e.page(t)
	require.Equal(t, 1.0, p.only(t, "llm_server_ready"))
	require.Equal(t, 1.0, p.only(t, "llm_server_live"))
	for _, name := range []string{"ensemble", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls", "postprocessing"} {
		require.Equal(t, 1.0, p.only(t, "llm_server_model_ready", "model", name), name)
	}
	identity := []string{
		"engine", "triton", "engine_version", s.release.triton, "trtllm_version", s.release.trtllm,
		"pool_id", "p", "replica_id", "r0",
	}
	require.Len(t, p.named("llm_server_state", append(identity, "state", "ready")...), 1)
	require.NotEmpty(
		t,
		p.named("nv_inference_request_success", append(identity, "model", "tensorrt_llm", "model_id", "ensemble")...),
		"the parts have the id of the entry model, which their configs tell",
	)
	require.Len(t, p.named("llm_server_model_info", "model", "tensorrt_llm", "decoupled", "true"), 1)
	require.Len(t, p.named("llm_server_model_info", "model", "ensemble", "platform", "ensemble"), 1)

	s.kill(t)
	e.waitUp(t, false)
	e.inState(t, "r0", "down", 10*time.Second)
	s.startWithoutHTTP(t)
	e.inState(t, "r0", "ready", 10*time.Second)
	require.Equal(t, 1.0, e.page(t).only(t, "llm_server_ready"))
}

func (s *tritonServer) startWithoutHTTP(t *testing.T) {
	t.Helper()
	s.launch(t, "--allow-http=false")
	within(t, time.Minute, "Triton shows its page", func() bool {
		s.relaunch(t)
		return s.answers(t)
	})
	_, _, err := get(t.Context(), s.url("/v2"))
	require.Error(t, err, "nothing listens on the HTTP port")
}
