package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestProgramsNextToServersAreNone(t *testing.T) {
	vllm := answers{"/version": `{"version":"0.1.12"}`, "/v1/models": `{"data":[{"id":"m","owned_by":"vllm"}]}`, "/health": ""}
	for _, c := range []struct {
		says, page string
		companion  string
		kind       engine.Kind
	}{
		{"a router with the gauges of each engine", "vllm:num_requests_running{server=\"http://10.0.0.1:8000\"} 5\n", "the router of vLLM's production stack", engine.Unknown},
		{"the same before it has an engine", "# TYPE vllm:healthy_pods_total gauge\nrouter_cpu_usage_percent 3\n", "the router of vLLM's production stack", engine.Unknown},
		{"an engine", "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 5\n", "", engine.VLLM},
		{"a router that passes names of engines on", "sglang:num_running_reqs 1\nsmg_worker_health{worker=\"a\"} 1\n", "the router smg, or that of SGLang it comes from", engine.Unknown},
		{"its older name", "sgl_router_requests_total 1\n", "the router smg, or that of SGLang it comes from", engine.Unknown},
		{"another router", "vllm_router_running_requests 1\n", "vllm-router", engine.Unknown},
		{"a picker", "# TYPE llm_d_epp_request_total counter\n", "the endpoint picker of an inference gateway", engine.Unknown},
		{"a picker of the gateway API", "inference_pool_ready_pods{name=\"p\"} 2\n", "the endpoint picker of an inference gateway", engine.Unknown},
		{"a planner", "dynamo_planner_num_p_workers 1\n", "Dynamo's planner", engine.Unknown},
		{"a manager of blocks", "kvbm_matched_tokens 1\n", "Dynamo's manager of KV blocks, kvbm", engine.Unknown},
		{"a worker that shows its manager of blocks too", "kvbm_matched_tokens 1\ndynamo_component_uptime_seconds 1\n", "", engine.Dynamo},
		{"transfers alone", "agent_xfer_time{agent_name=\"a\"} 1\n", "the exporter of NIXL", engine.Unknown},
	} {
		t.Run(c.says, func(t *testing.T) {
			found := engine.Marked([]byte(c.page))
			require.Equal(t, c.companion, found.Companion)
			require.Equal(t, c.kind, found.Kind)
			server := answers{"/metrics": c.page}
			for path, body := range vllm {
				if c.kind != engine.Dynamo {
					server[path] = body
				}
			}
			found = engine.Detect(t.Context(), server, "http://server")
			require.Equal(t, c.kind, found.Kind, "what its API answers makes it no server")
			require.Equal(t, c.companion, found.Companion)
			require.Equal(t, "/metrics", found.Path)
		})
	}
}
