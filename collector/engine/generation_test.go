package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestTritonMetricSets(t *testing.T) {
	const executor = "nv_trt_llm_request_metrics{model=\"llm\",request_type=\"active\"} 1\n"
	stamp := func(v string) string {
		return executor + "nv_trt_llm_general_metrics{general_type=\"timestamp\",model=\"llm\"} " + v + "\n"
	}
	kv := func(kind string) string {
		return executor + "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"" + kind + "\",model=\"llm\"} 1\n"
	}
	python := &engine.Facts{Models: []engine.ModelFacts{{Name: "llm", Configured: true, Backend: "python"}}}
	for _, c := range []struct {
		name, page string
		facts      *engine.Facts
		want, why  string
	}{
		{
			"old names",
			"nv_trt_llm_request_statistics{model=\"llm\",request_type=\"active\"} 1\n",
			nil, "A", "the families end in _statistics, as in 23.11",
		},
		{"reused blocks", kv("reused"), nil, "A", "the page has reused blocks or disaggregated serving"},
		{
			"disaggregated serving",
			executor + "nv_trt_llm_disaggregated_serving_metrics{disaggregated_serving_type=\"request_count\",model=\"llm\"} 1\n",
			nil, "A",
			"the page has reused blocks or disaggregated serving",
		},
		{"microseconds", stamp("1700000000000000"), nil, "A", "the executor's timestamp is in microseconds"},
		{
			"a share of blocks", kv("fraction"), nil, "B",
			"the page is of a release that counts reused blocks, and does not show them",
		},
		{
			"lengths of tokens",
			executor + "nv_llm_output_token_len_sum{model=\"llm\"} 1\n",
			nil, "B",
			"the page is of a release that counts reused blocks, and does not show them",
		},
		{
			"seconds in a release of microseconds", stamp("1700000000"),
			&engine.Facts{EngineVersion: "2.49.0"},
			"B",
			"the executor's timestamp is in seconds in a release where the C++ backend writes microseconds",
		},
		{
			"seconds before", stamp("1700000000"),
			&engine.Facts{EngineVersion: "2.47.0"},
			"A", "the Python backend of this release has no series",
		},
		{
			"seconds in between", stamp("1700000000"),
			&engine.Facts{EngineVersion: "2.48.0"},
			"A",
			"nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed",
		},
		{
			"no timestamp in a release of microseconds", executor,
			&engine.Facts{EngineVersion: "2.49.0"},
			"A",
			"nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed",
		},
		{
			"no iteration yet", stamp("0"),
			&engine.Facts{EngineVersion: "2.49.0"},
			"A",
			"nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed",
		},
		{
			"seconds of an unknown release", stamp("1700000000"), nil, "A",
			"nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed",
		},
		{
			"an invalid version", stamp("1700000000"),
			&engine.Facts{EngineVersion: "3.49.0"},
			"A",
			"nothing on the page distinguishes the Python executor from the C++ backend; the latter is assumed",
		},
		{
			"a publishing Python model", executor, python, "B",
			"model llm has backend python and TensorRT-LLM's engine parameters",
		},
		{
			"another Python model", "nv_inference_count{model=\"llm\"} 1\n", python, "D",
			"the page has Triton's core series only",
		},
		{
			"an engine's parameters", "nv_inference_count{model=\"tensorrt_llm\"} 1\n",
			&engine.Facts{Models: []engine.ModelFacts{{
				Name:       "tensorrt_llm",
				Configured: true,
				Backend:    "python",
				Parameters: map[string]string{"gpt_model_type": "x"},
			}}},
			"B", "model tensorrt_llm has backend python and TensorRT-LLM's engine parameters",
		},
		{
			"an LLM of no engine", "nv_inference_count{model=\"tensorrt_llm\"} 1\n",
			&engine.Facts{Models: []engine.ModelFacts{{Name: "tensorrt_llm", Configured: true, Backend: "python"}}},
			"C", "model tensorrt_llm has backend python and no engine: it is the LLM-API model",
		},
		{
			"the C++ backend under another name", "nv_inference_count{model=\"a\"} 1\n",
			&engine.Facts{Models: []engine.ModelFacts{
				{Name: "tensorrt_llm"},
				{Name: "a", Configured: true, Backend: "tensorrtllm"},
			}},
			"A", "model a has backend tensorrtllm",
		},
		{
			"an LLM with core series only",
			"nv_inference_request_success{model=\"tensorrt_llm\"} 1\n",
			nil, "C",
			"model tensorrt_llm publishes nothing but Triton's core series",
		},
		{
			"an unloaded LLM",
			"nv_inference_request_failure{model=\"tensorrt_llm\"} 1\n",
			nil, "D", "the page has Triton's core series only",
		},
		{
			"vLLM",
			"vllm:x 1\nnv_inference_request_success{model=\"tensorrt_llm\"} 1\n",
			nil, "D", "the page has vllm:* and no nv_trt_llm_*",
		},
	} {
		got, why := engineOf(t, engine.Triton).Generation(readPage(t, engine.Triton, []byte(c.page)), c.facts)
		require.Equal(t, engine.Generation("metric set "+c.want), got, c.name)
		require.Equal(t, c.why, why, c.name)
	}
}

func TestGenerationsOfOtherServers(t *testing.T) {
	for _, c := range []struct {
		kind engine.Name
		page string
		// facts are the answers of the API.
		facts *engine.Facts
		want  engine.Generation
		why   string
	}{
		{
			engine.TRTLLMServe, "trtllm_prompt_tokens_total 1\n", nil, "prefixed with iteration statistics",
			"the page has config info, token counters or iteration gauges",
		},
		{
			engine.TRTLLMServe, "trtllm_num_requests_running 1\n", nil, "prefixed with iteration statistics",
			"the page has config info, token counters or iteration gauges",
		},
		{
			engine.TRTLLMServe,
			"e2e_request_latency_seconds_bucket{le=\"+Inf\"} 1\n",
			nil, "unprefixed", "the names have no prefix",
		},
		{
			engine.TRTLLMServe, "",
			&engine.Facts{EngineVersion: "1.1.0"},
			"unprefixed",
			"the page is empty; versions 1.1 and 1.2 have five families without prefix",
		},
		{
			engine.TRTLLMServe, "",
			&engine.Facts{EngineVersion: "1.2.0rc1"},
			"unprefixed",
			"the page is empty; versions 1.1 and 1.2 have five families without prefix",
		},
		{
			engine.TRTLLMServe, "",
			&engine.Facts{EngineVersion: "1.3.0"},
			"not known before the first request",
			"the page is empty: families appear with their first sample",
		},
		{
			engine.TRTLLMServe, "", nil, "not known before the first request",
			"the page is empty: families appear with their first sample",
		},
		{engine.Dynamo, "nv_llm_http_service_x 1\n", nil, "frontend", "the page has nv_llm_http_service_*"},
		{
			engine.Dynamo, "dynamo_component_x 1\nvllm:x 1\n", nil, "worker like vllm",
			"the page has no names of a frontend",
		},
		{
			engine.Dynamo,
			"dynamo_component_x 1\nnv_inference_count 1\nvllm:x 1\n",
			nil, "worker like triton: metric set D", "the page has vllm:* and no nv_trt_llm_*",
		},
	} {
		got, why := engineOf(t, c.kind).Generation(readPage(t, c.kind, []byte(c.page)), c.facts)
		require.Equal(t, c.want, got, c.page)
		require.Equal(t, c.why, why)
	}
}
