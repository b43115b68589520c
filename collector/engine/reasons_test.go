package engine_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// borneOut maps parts of reasons why something cannot be known to patterns that must, and patterns
// that must not, begin a line of the page; empty for reasons that no page can confirm.
var borneOut = []struct{ reason, has, hasNot string }{
	// Triton.
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
	{"the histogram is off, or no model is decoupled", "nv_", "nv_inference_first_response_histogram_ms"},
	{"this release has no first response histogram", "nv_", "nv_inference_first_response_histogram_ms"},
	{"summaries are off, and this release has no histograms", "nv_", "nv_inference_request_summary_us"},
	{"is decoupled: a request counts as success once", "nv_inference_request_success", ""},
	{"nothing shows how many requests run", "vllm:generation_tokens_total", "vllm:num_requests_running"},
	{"takes no metric options", "nv_", "nv_inference_(first_response_histogram_ms|request_summary_us)"},
	{"the Python executor of this release publishes nothing", "nv_", "nv_(trt_llm|llm)_"},
	{"Triton's vLLM backend does not publish it", "vllm:", "vllm:num_requests_running"},
	{"config of model", "nv_inference_", ""},
	{"no model that clients call is loaded, or it is not known", "", ""},
	{"queues are empty for models that hand", "nv_inference_pending_request_count", "nv_trt_llm_"},
	{"durations of decoupled Python models", "nv_inference_request_duration_us", "nv_trt_llm_"},
	{"the executor publishes no token counts", "nv_trt_llm_", "nv_llm_output_token_len"},

	// trtllm-serve.
	{"this release has five families", "(time_to_first_token_seconds|e2e_request_latency_seconds)", "trtllm_"},
	{"no iteration gauges and no token counters", "trtllm_e2e_request_latency_seconds", "trtllm_(generation_tokens|num_requests_running)"},
	{"no iteration is on the page: their statistics are off", "trtllm_request_success_total", "trtllm_iteration_latency"},
	{"its iteration gauges do not include it", "trtllm_iteration_latency", "trtllm_(num_scheduled_requests|gpu_memory)"},
	{"no iteration was read yet, or their statistics are off", "trtllm_", "trtllm_iteration_latency"},
	{"no request has ended yet", "", `(trtllm_)?request_success_total.* [1-9]`},
	{"this release counts no errors", "", "trtllm_request_error_total"},
	{"exposes nothing about its GPUs", "", "trtllm_gpu_memory"},
	{"no config info on its page", "", "trtllm_model_config_info"},
	{"ranks show batches", `trtllm_scheduled_batch_size.*rank="1"`, ""},
	{"iterations are on the JSON page", "trtllm_|e2e_request_latency_seconds", ""},

	// vLLM, SGLang and NIM.
	{"with several API processes gauges appear", "", "vllm:num_requests_running"},
	{"started with --disable-log-stats", "http_requests_total", "vllm:num_requests_running"},
	{"the frontend in Rust does not expose", "vllm:", "vllm:cache_config_info"},
	{"no prompt was found in the cache yet", "sglang:", "sglang:cached_tokens_total"},
	{"no streamed request had its first token yet", "sglang:", `sglang:time_to_first_token_seconds_count.*is_streaming="true"`},
	{"SGLang does not expose its config", "sglang:", ""},
	{"NIM 1.x does not expose it", "num_request_max", ""},
	{"vLLM does not expose it", "(vllm:|http_requests_total)", "nv_"},
	{"SGLang does not expose it", "sglang:", "nv_"},
	{"has no names of NIM 1.x, vLLM or SGLang", "", "(vllm:|sglang:|num_request_max)"},

	// Dynamo and routers.
	{"Dynamo does not expose it", "dynamo_|trtllm_", "nv_gpu_"},
	{"a worker counts requests that its engine finished", "dynamo_component_|trtllm_", "dynamo_frontend_"},
	{"a worker with TensorRT-LLM counts tokens when", "trtllm_", "dynamo_frontend_"},
	{"only the worker's page has it", "dynamo_frontend_", "(vllm:|sglang:|trtllm|nv_inference_)"},
	{"queued_requests includes prompts", "dynamo_frontend_queued_requests", "dynamo_frontend_worker_active_decode_blocks"},
	{"appear with the first worker and request", "dynamo_frontend_", `dynamo_frontend_requests_total.*"success".* [1-9]`},
	{"the page has no families of an engine", "dynamo_component_", "(vllm:|sglang:|trtllm_|nv_)"},
	{"a stream counts as answered when it begins", "total_responses_total", ""},
	{"none is of the whole", "ctx_complete_latency_seconds", ""},
	{"a router does not expose it", "ctx_total_requests_total", ""},

	// All kinds.
	{"families appear with the first request", "", `[a-z_:]*e2e_request_latency_seconds_count.* [1-9]`},
	{"requests have ended, and the page has none of its families", `[a-z_:]*(e2e_request_latency_seconds_count|request_success_total|num_requests_total).* [1-9]`, ""},
	{"no token was ever generated", "", `[a-z_:]*generation_tokens_total.* [1-9]`},
	{"nothing on its page shows requests in flight", "", ""},
	{"which is only one sign", "", "(sglang:http_requests_total|dynamo_frontend_requests_started_total|nv_inference_request_success)"},
	{"this kind of server does not expose its config", "", ""},
}

// bearOut requires that every reason why something cannot be known is true of the page. Reasons
// about the API and the canary are not checked.
func bearOut(t *testing.T, all []target.Check, page []byte) {
	t.Helper()
	begins := func(expression string) bool { return regexp.MustCompile(`(?m)^(?:` + expression + `)`).Match(page) }
	for _, c := range all {
		if c.OK || slices.Contains([]string{engine.CanConfig, engine.CanHealth, engine.CanCancel}, c.Name) {
			continue
		}
		at := slices.IndexFunc(borneOut, func(b struct{ reason, has, hasNot string }) bool { return strings.Contains(c.Reason, b.reason) })
		require.GreaterOrEqual(t, at, 0, "%s: %s: add an entry to borneOut", c.Name, c.Reason)
		b := borneOut[at]
		require.True(t, begins(b.has), "%s: %s: nothing begins with %s", c.Name, c.Reason, b.has)
		require.False(t, b.hasNot != "" && begins(b.hasNot), "%s: %s: there is %s", c.Name, c.Reason, b.hasNot)
	}
}

// TestReasonsAreTrueOfThePage checks the reasons for each sample page; those for simulated servers
// are checked with their capabilities.
func TestReasonsAreTrueOfThePage(t *testing.T) {
	for _, file := range append(samples(t, "*.prom"), samples(t, "*.om")...) {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		kind := engine.FromPage(body).Kind
		if _, known := engine.ByName(string(kind)); !known {
			continue
		}
		t.Run(sampleName(file), func(t *testing.T) {
			bearOut(t, engine.Capabilities(engineOf(t, kind), &engine.Knowledge{Page: readPage(t, kind, body)}), body)
		})
	}
}
