//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTritonWithoutHTTP shows that a Triton that speaks gRPC alone is known as
// well as one with an HTTP API, and that the end of that API is seen.
func TestTritonWithoutHTTP(t *testing.T) {
	s := newTriton(t, releases()[0])
	s.startWithoutHTTP(t)

	e := startConfigured(t, exporterBinary(t), fmt.Sprintf(`
global: { scrape_interval: %[1]s, scrape_timeout: %[1]s }
pools:
  - pool_id: grpc
    api_protocol: grpc
    identity_interval: 2s
    static_configs: [{ targets: [%[2]q], labels: { replica_id: r0 } }]
`, scrapeInterval, s.metricsAddress()))
	e.waitUp(t, true)

	within(t, 10*time.Second, "the server is ready over gRPC", func() bool {
		p := e.page(t)
		return len(p.named("llm_server_ready")) == 1 && p.only(t, "llm_server_state", "state", "ready") == 1
	})
	p := e.page(t)
	require.Equal(t, 1.0, p.only(t, "llm_server_ready"))
	require.Equal(t, 1.0, p.only(t, "llm_server_live"))
	for _, name := range []string{"ensemble", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls", "postprocessing"} {
		require.Equal(t, 1.0, p.only(t, "llm_server_model_ready", "model", name), name)
	}
	identity := []string{
		"engine", "triton", "engine_version", s.release.triton, "trtllm_version", s.release.trtllm,
		"pool_id", "grpc", "replica_id", "r0",
	}
	require.Len(t, p.named("llm_server_state", append(identity, "state", "ready")...), 1)
	require.NotEmpty(t, p.named("nv_inference_request_success", append(identity, "model", "tensorrt_llm", "model_id", "ensemble")...),
		"the parts have the id of the entry model, which their configs tell")
	require.Len(t, p.named("llm_server_model_info", "model", "tensorrt_llm", "decoupled", "true"), 1)
	require.Len(t, p.named("llm_server_model_info", "model", "ensemble", "platform", "ensemble"), 1)

	s.kill(t)
	e.waitUp(t, false)
	within(t, 10*time.Second, "the killed server is down", func() bool {
		return e.page(t).only(t, "llm_server_state", "state", "down") == 1
	})
	s.startWithoutHTTP(t)
	within(t, 10*time.Second, "the server that came back is ready", func() bool {
		p := e.page(t)
		return len(p.named("llm_server_ready")) == 1 && p.only(t, "llm_server_ready") == 1 &&
			p.only(t, "llm_server_state", "state", "ready") == 1
	})
}

// startWithoutHTTP starts the server with gRPC and metrics only.
func (s *tritonServer) startWithoutHTTP(t *testing.T) {
	t.Helper()
	s.launch(t, "--allow-http=false")
	within(t, time.Minute, "Triton shows its page", func() bool {
		s.relaunch(t)
		status, _, err := get(t.Context(), "http://"+s.metricsAddress()+"/metrics")
		return err == nil && status == http.StatusOK
	})
	_, _, err := get(t.Context(), s.url("/v2"))
	require.Error(t, err, "nothing listens on the HTTP port")
}
