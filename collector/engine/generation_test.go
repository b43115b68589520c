package engine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// The generations in the tests.
const (
	nimFirst       engine.Generation = "1.x"
	nimVLLM        engine.Generation = "2.x with vLLM"
	nimSGLang      engine.Generation = "2.x with SGLang"
	nimSilent      engine.Generation = "without engine statistics"
	vllmOld        engine.Generation = "names of the GPU cache"
	vllmBoth       engine.Generation = "names of the GPU cache and of the KV cache"
	vllmPlain      engine.Generation = "names of the KV cache"
	vllmCached     engine.Generation = "names of the KV cache with cached tokens"
	vllmSilent     engine.Generation = "without engine statistics"
	dynamoFrontend engine.Generation = "frontend"
	dynamoWorker   engine.Generation = "worker"
	sglangLive     engine.Generation = "with live token counters"
	servePlain     engine.Generation = "unprefixed"
	servePrefixed  engine.Generation = "prefixed"
	serveFull      engine.Generation = "prefixed with iteration statistics"
	serveIdle      engine.Generation = "not known before the first request"
)

// sampleGenerations maps prefixes of the names of sample pages to generations; the first match counts.
var sampleGenerations = []struct {
	prefix string
	want   engine.Generation
}{
	{"GENERATED-triton-trtllm", "metric set A"},
	{"real-triton-2.36.0", "metric set B"},
	{"real-triton-2.51.0", "metric set B"},
	{"real-triton-2.51-llmapi", "metric set E"},
	{"triton-trtllm-backend-readme", "metric set A"},
	{"triton-", "metric set D"},
	{"trtllm-readme-23.11", "metric set A"},
	// Excerpts of core series, which reveal no more.
	{"trtllm-readme-23.12-base-zero", "metric set C"},
	{"trtllm-issue49", "metric set C"},
	{"trtllm-readme", "metric set A"},
	{"GENERATED-trtllm-serve-gen1-under", servePlain},
	{"GENERATED-trtllm-serve-gen2-under", servePrefixed},
	{"GENERATED-trtllm-serve-new", serveFull},
	{"GENERATED-trtllm-serve-adp", serveFull},
	{"trtllm-prometheus-1.1.0", servePlain},
	{"trtllm-prometheus-main", serveFull},
	{"nim-", nimFirst},
	{"real-dynamo-frontend", dynamoFrontend},
	{"real-dynamo-1.6.1-frontend", dynamoFrontend},
	{"real-dynamo-worker-after-load", "worker like vllm: names of the GPU cache and of the KV cache"},
	{"real-dynamo-worker-under-load", "worker like vllm: names of the GPU cache and of the KV cache"},
	{"real-dynamo-worker", dynamoWorker},
	{"dynamo-trtllm-worker", "worker like trtllm-serve: prefixed"},
	{"dynamo-", dynamoWorker},
	{"real-sglang-0.5.23", sglangLive},
	{"real-vllm-0.12", vllmPlain},
	{"real-vllm-0.32", vllmCached},
}

func TestGenerationsOfSamplePages(t *testing.T) {
	for _, file := range samples(t, "*.prom") {
		name := sampleName(file)
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		kind := engine.FromPage(body).Kind
		if kind == engine.Unknown || strings.Contains(name, "openmetrics") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := engine.Generation("")
			for _, g := range sampleGenerations {
				if want == "" && strings.HasPrefix(name, g.prefix) {
					want = g.want
				}
			}
			got, why := engineOf(t, kind).Generation(readPage(t, kind, body), nil)
			require.Equal(t, want, got, why)
		})
	}
}

func TestMetricSetsOfTritonAreToldApart(t *testing.T) {
	const executor = "nv_trt_llm_request_metrics{model=\"llm\",request_type=\"active\"} 1\n"
	stamp := func(v string) string {
		return executor + "nv_trt_llm_general_metrics{general_type=\"timestamp\",model=\"llm\"} " + v + "\n"
	}
	kv := func(kind string) string {
		return executor + "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"" + kind + "\",model=\"llm\"} 1\n"
	}
	python := &engine.Facts{Models: []engine.ModelFacts{{Name: "llm", Configured: true, Backend: "python"}}}
	for _, c := range []struct {
		says, page string
		facts      *engine.Facts
		want, why  string
	}{
		{"old names", "nv_trt_llm_request_statistics{model=\"llm\",request_type=\"active\"} 1\n", nil, "A", "the families end in _statistics, as in 23.11"},
		{"reused blocks", kv("reused"), nil, "A", "the page has reused blocks or disaggregated serving"},
		{"disaggregated serving", executor + "nv_trt_llm_disaggregated_serving_metrics{disaggregated_serving_type=\"request_count\",model=\"llm\"} 1\n", nil, "A", "the page has reused blocks or disaggregated serving"},
		{"microseconds", stamp("1700000000000000"), nil, "A", "the executor's timestamp is in microseconds"},
		{"a share of blocks", kv("fraction"), nil, "B", "the page is of a release that counts reused blocks, and does not show them"},
		{"lengths of tokens", executor + "nv_llm_output_token_len_sum{model=\"llm\"} 1\n", nil, "B", "the page is of a release that counts reused blocks, and does not show them"},
		{"seconds in a release of microseconds", stamp("1700000000"), &engine.Facts{EngineVersion: "2.49.0"}, "B", "the executor's timestamp is in seconds in a release where the C++ backend writes microseconds"},
		{"seconds before", stamp("1700000000"), &engine.Facts{EngineVersion: "2.47.0"}, "A", "the Python backend of this release has no series"},
		{"seconds in between", stamp("1700000000"), &engine.Facts{EngineVersion: "2.48.0"}, "A", "nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed"},
		{"no timestamp in a release of microseconds", executor, &engine.Facts{EngineVersion: "2.49.0"}, "A", "nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed"},
		{"no iteration yet", stamp("0"), &engine.Facts{EngineVersion: "2.49.0"}, "A", "nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed"},
		{"seconds of an unknown release", stamp("1700000000"), nil, "A", "nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed"},
		{"a version that is none", stamp("1700000000"), &engine.Facts{EngineVersion: "3.49.0"}, "A", "nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed"},
		{"the model that publishes is a Python one", executor, python, "B", "model llm has backend python and TensorRT-LLM's engine parameters"},
		{"another Python model", "nv_inference_count{model=\"llm\"} 1\n", python, "D", "the page has Triton's core series only"},
		{
			"an engine's parameters", "nv_inference_count{model=\"tensorrt_llm\"} 1\n",
			&engine.Facts{Models: []engine.ModelFacts{{Name: "tensorrt_llm", Configured: true, Backend: "python", Parameters: map[string]string{"gpt_model_type": "x"}}}},
			"B", "model tensorrt_llm has backend python and TensorRT-LLM's engine parameters",
		},
		{
			"an LLM of no engine", "nv_inference_count{model=\"tensorrt_llm\"} 1\n",
			&engine.Facts{Models: []engine.ModelFacts{{Name: "tensorrt_llm", Configured: true, Backend: "python"}}},
			"C", "model tensorrt_llm has backend python and no engine: it is the LLM-API model",
		},
		{
			"the C++ backend under another name", "nv_inference_count{model=\"a\"} 1\n",
			&engine.Facts{Models: []engine.ModelFacts{{Name: "tensorrt_llm"}, {Name: "a", Configured: true, Backend: "tensorrtllm"}}},
			"A", "model a has backend tensorrtllm",
		},
		{"an LLM of which only the core shows", "nv_inference_request_success{model=\"tensorrt_llm\"} 1\n", nil, "C", "model tensorrt_llm publishes nothing but Triton's core series"},
		{"an LLM that is not loaded", "nv_inference_request_failure{model=\"tensorrt_llm\"} 1\n", nil, "D", "the page has Triton's core series only"},
		{"vLLM", "vllm:x 1\nnv_inference_request_success{model=\"tensorrt_llm\"} 1\n", nil, "D", "the page has vllm:* and no nv_trt_llm_*"},
	} {
		got, why := engineOf(t, engine.Triton).Generation(readPage(t, engine.Triton, []byte(c.page)), c.facts)
		require.Equal(t, engine.Generation("metric set "+c.want), got, c.says)
		require.Equal(t, c.why, why, c.says)
	}
}

func TestGenerationsOfOtherServers(t *testing.T) {
	for _, c := range []struct {
		kind engine.Kind
		page string
		// facts are the answers of the API.
		facts *engine.Facts
		want  engine.Generation
		why   string
	}{
		{engine.TRTLLMServe, "trtllm_prompt_tokens_total 1\n", nil, serveFull, "the page has config info, token counters or iteration gauges"},
		{engine.TRTLLMServe, "trtllm_num_requests_running 1\n", nil, serveFull, "the page has config info, token counters or iteration gauges"},
		{engine.TRTLLMServe, "e2e_request_latency_seconds_bucket{le=\"+Inf\"} 1\n", nil, servePlain, "the names have no prefix"},
		{engine.TRTLLMServe, "", &engine.Facts{EngineVersion: "1.1.0"}, servePlain, "the page is empty; versions 1.1 and 1.2 have five families without prefix"},
		{engine.TRTLLMServe, "", &engine.Facts{EngineVersion: "1.2.0rc1"}, servePlain, "the page is empty; versions 1.1 and 1.2 have five families without prefix"},
		{engine.TRTLLMServe, "", &engine.Facts{EngineVersion: "1.3.0"}, serveIdle, "the page is empty: families appear with their first sample"},
		{engine.TRTLLMServe, "", nil, serveIdle, "the page is empty: families appear with their first sample"},
		{engine.Dynamo, "nv_llm_http_service_x 1\n", nil, dynamoFrontend, "the page has nv_llm_http_service_*"},
		{engine.Dynamo, "dynamo_component_x 1\nvllm:x 1\n", nil, "worker like vllm: names of the KV cache", "the page has no gpu_cache_usage_perc and no prompt_tokens_cached_total"},
		{engine.Dynamo, "dynamo_component_x 1\nnv_inference_count 1\nvllm:x 1\n", nil, "worker like triton: metric set D", "the page has vllm:* and no nv_trt_llm_*"},
	} {
		got, why := engineOf(t, c.kind).Generation(readPage(t, c.kind, []byte(c.page)), c.facts)
		require.Equal(t, c.want, got, c.page)
		require.Equal(t, c.why, why)
	}
}
