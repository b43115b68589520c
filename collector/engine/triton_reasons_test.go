package engine_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// reasonsOfTriton are parts of reasons for which something cannot be known, with names
// that begin on the page where they are true, and names that do not.
var reasonsOfTriton = []struct{ reason, has, hasNot string }{
	{"counters of durations are off", "nv_inference_request_success", "nv_inference_request_duration_us"},
	{"no nv_inference_request_success of any model", "", "nv_inference_request_success"},
	{"no model is loaded", "", "nv_inference_request_success"},
	{"first response histogram is off", "", "nv_inference_first_response_histogram_ms"},
	{"histograms and summaries are off", "", "nv_inference_request_summary_us"},
	{"no model of TensorRT-LLM is on the page", "", "nv_trt_llm_"},
	{"publishes no LLM metrics", "nv_inference_", "nv_trt_llm_"},
	{"static batching (V1)", "nv_trt_llm_v1_", "nv_trt_llm_inflight_batcher_"},
	{"the executor publishes no KV cache", "nv_trt_llm_", "nv_trt_llm_kv_cache_block_metrics"},
	{"the page has no nv_gpu_*", "", "nv_gpu_"},
	{"token counts came with", "nv_trt_llm_", "nv_llm_output_token_len"},
	{"reused blocks came with", "nv_trt_llm_", "nv_llm_output_token_len"},
	{"never publishes reused blocks", "nv_trt_llm_", ""},
	{"no time per output token", "", "nv_llmapi_inter_token"},
	{"nothing on the page shows requests in flight", "", "nv_trt_llm_request_"},
	{"the executor does not publish it", "nv_trt_llm_", ""},
	{"which is one sign", "nv_trt_llm_request_", "nv_inference_request_success"},
	{"config of model", "nv_inference_", ""},
	{"no model that clients call is loaded, or it is not known", "", ""},
	{"queues are empty for models that hand", "nv_inference_pending_request_count", "nv_trt_llm_"},
	{"durations of decoupled Python models", "nv_inference_request_duration_us", "nv_trt_llm_"},
}

// TestReasonsAreTrueOfSamplePages holds each reason to the page that it is said of.
func TestReasonsAreTrueOfSamplePages(t *testing.T) {
	for _, file := range samples(t, "*.prom") {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		if engine.FromPage(body) != engine.Triton {
			continue
		}
		t.Run(sampleName(file), func(t *testing.T) {
			begins := func(name string) bool { return name == "" || strings.Contains("\n"+string(body), "\n"+name) }
			k := &engine.Known{Page: readPage(t, engine.Triton, body)}
			for _, c := range engine.Capabilities(of(t, engine.Triton), k) {
				name, said := c.Name, capability(t, engine.Triton, c.Name, k)
				if strings.HasPrefix(said, "true") || slices.Contains([]string{engine.CanConfig, engine.CanHealth, engine.CanCancel}, name) {
					continue
				}
				at := slices.IndexFunc(reasonsOfTriton, func(r struct{ reason, has, hasNot string }) bool { return strings.Contains(said, r.reason) })
				require.GreaterOrEqual(t, at, 0, "%s: %s", name, said)
				r := reasonsOfTriton[at]
				require.True(t, begins(r.has), "%s: %s", name, said)
				require.False(t, r.hasNot != "" && begins(r.hasNot), "%s: %s", name, said)
			}
		})
	}
}
