package engine_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestServerDownHasNoCapabilities(t *testing.T) {
	require.Nil(t, engine.Capabilities(engineOf(t, engine.Triton), &engine.Knowledge{}))
}

func TestRestrictedAPIIsNamed(t *testing.T) {
	e, _ := engine.ByName("triton")
	server := answers{"*": restricted}
	facts := e.Ask(t.Context(), server, "http://server", engine.Earlier{}).Complete()
	page := readPage(t, engine.Triton, replica(t, simulate.Spec{Kind: simulate.KindTriton}, 0).Page())
	for _, c := range engine.Capabilities(e, &engine.Knowledge{
		Page: page, Facts: &facts, Health: e.Health(t.Context(), server, "http://server"),
	}) {
		if c.Name == engine.CanHealth || c.Name == engine.CanConfig {
			require.False(t, c.OK, "%s: %s", c.Name, c.Reason)
			require.Contains(t, c.Cure, "http_headers")
			require.Contains(t, c.Reason, "expecting header 'admin-key'")
		}
	}
}

func TestUnloadedModelIsIgnored(t *testing.T) {
	spec := simulate.Spec{Kind: simulate.KindTritonPython, Workload: simulate.Workload{Rate: 5, OutputTokens: 20}}
	r := listening(t, replica(t, spec, 20*time.Second))
	e, _ := engine.ByName("triton")
	before := e.Ask(t.Context(), newNetwork(t), r.APIURL(), engine.Earlier{}).Complete()
	r.SetRate(0)
	r.Advance(20 * time.Second)
	r.Unload("tensorrt_llm")
	r.Advance(5 * time.Second)
	require.Contains(t, string(r.Page()), "nv_trt_llm_request_metrics", "half of the model stays on the page")
	facts := e.Ask(t.Context(), newNetwork(t), r.APIURL(), engine.Earlier{}).Complete().WithEarlier(&before)
	for _, c := range engine.Capabilities(e, &engine.Knowledge{
		Page:  readPage(t, engine.Triton, r.Page()),
		Facts: facts,
	}) {
		if c.Name == engine.CanTokens || c.Name == engine.CanRunning || c.Name == engine.CanKVCache {
			require.False(t, c.OK, c.Name)
			require.Equal(t, "load the model", c.Cure)
		}
	}
}

func TestEmptyPageHasReasonsForEveryKind(t *testing.T) {
	for _, e := range engine.All() {
		t.Run(string(e.Name), func(t *testing.T) {
			var facts engine.Facts
			for _, c := range engine.Capabilities(e, &engine.Knowledge{
				Page:  readPage(t, e.Name, []byte("stranger 1\n")),
				Facts: &facts,
			}) {
				require.NotEmpty(t, c.Reason, c.Name)
			}
		})
	}
}

// describe returns all checks of a replica, one per line.
func describe(t *testing.T, kind engine.Name, k *engine.Knowledge) string {
	t.Helper()
	var all []string
	for _, c := range engine.Capabilities(engineOf(t, kind), k) {
		line := fmt.Sprintf("%s: %v, %s", c.Name, c.OK, c.Reason)
		if c.Cure != "" {
			line += " [" + c.Cure + "]"
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// capability returns the check of one capability as text.
func capability(t *testing.T, kind engine.Name, name string, k *engine.Knowledge) string {
	t.Helper()
	for line := range strings.Lines(describe(t, kind, k) + "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), name+": "); ok {
			return rest
		}
	}
	return ""
}

func TestCapabilityReasons(t *testing.T) {
	const (
		core     = "nv_inference_request_success{model=\"m\"} 1\nnv_inference_request_duration_us{model=\"m\"} 1\n"
		executor = "nv_inference_request_success{model=\"tensorrt_llm\"} 1\n" +
			"nv_trt_llm_request_metrics{model=\"tensorrt_llm\",request_type=\"active\"} 1\n"
		duration = "nv_inference_request_duration_us{model=\"tensorrt_llm\"} 1\n" +
			"nv_trt_llm_general_metrics{model=\"tensorrt_llm\",general_type=\"iteration_counter\"} 1\n"
		api = "nv_inference_request_success{model=\"tensorrt_llm\"} 1\n" +
			"nv_inference_request_duration_us{model=\"tensorrt_llm\"} 1\n"
		serve = "trtllm_request_success_total 1\n"

		firstResponse = "nv_inference_first_response_histogram_ms"
		full          = "trtllm_prompt_tokens_total 1\n"
		front         = "dynamo_frontend_requests_total{status=\"success\"} 1\n"
		worker        = "dynamo_component_uptime_seconds 1\n"
		engines       = "--publish-metrics at a worker with TensorRT-LLM, --publish-kv-events before Dynamo 1.6, " +
			"--enable-metrics at one with SGLang; or scrape the frontend"
	)
	llm := func(backend, state string) *engine.Facts {
		return &engine.Facts{
			EngineVersion: "2.64.0",
			Models: []engine.ModelFacts{{
				Name:       "tensorrt_llm",
				Configured: true,
				Backend:    backend,
				State:      state,
			}},
		}
	}
	version := func(v string) *engine.Facts { return &engine.Facts{EngineVersion: v} }
	for _, c := range []struct {
		kind engine.Name
		name string
		page string
		// facts are the answers of the API.
		facts *engine.Facts
		want  string
	}{
		{
			engine.Triton, engine.CanTokens, executor, nil,
			"false, token counts came with TensorRT-LLM 0.16 [Triton 24.12 (2.53.0) or later]",
		},
		{engine.Triton, engine.CanTokens, executor, version("2.53.0"), "false, the executor does not publish it"},
		{
			engine.Triton, engine.CanLiveTokens,
			executor + "nv_llm_output_token_len_sum{model=\"tensorrt_llm\"} 1\n",
			nil,
			"false, static batching (V1) counts no decoding requests [gpt_model_type: inflight_fused_batching]",
		},
		{
			engine.Triton, engine.CanLiveTokens,
			executor + "nv_trt_llm_general_metrics{model=\"tensorrt_llm\",general_type=\"iteration_counter\"} 1\n" +
				"nv_trt_llm_inflight_batcher_metrics{model=\"tensorrt_llm\",inflight_batcher_specific_metric=\"generation_requests\"} 1\n",
			nil, "true, nv_trt_llm_general_metrics {general_type=\"iteration_counter\"} and " +
				"nv_trt_llm_inflight_batcher_metrics {inflight_batcher_specific_metric=\"generation_requests\"}, an " +
				"estimate from its sampled iterations",
		},
		{
			engine.Triton, engine.CanLiveTokens,
			executor + "nv_trt_llm_general_metrics{model=\"tensorrt_llm\",general_type=\"iteration_counter\"} 1\n",
			nil,
			"false, static batching (V1) counts no decoding requests [gpt_model_type: inflight_fused_batching]",
		},
		{
			engine.Triton, engine.CanQueue,
			core + "nv_inference_pending_request_count{model=\"m\"} 0\n",
			nil,
			"false, the config of model m is not known, and requests of decoupled models count as done once they " +
				"are accepted [set api_port]",
		},
		{
			engine.Triton, engine.CanQueue,
			core + "nv_inference_pending_request_count{model=\"m\"} 0\n",
			&engine.Facts{Models: []engine.ModelFacts{{Name: "m", Configured: true}}},
			"true, nv_inference_pending_request_count: Triton's own queues",
		},
		{
			engine.Triton, engine.CanQueue, core + "nv_inference_pending_request_count{model=\"m\"} 0\n",
			&engine.Facts{Models: []engine.ModelFacts{{Name: "m", Configured: true, Decoupled: true}}},
			"false, Triton's own queues are empty for models that hand their requests over, and what they queue is " +
				"not on the page [use trtllm-serve, or measure it at the client]",
		},
		{
			engine.Triton, engine.CanQueue, core + "nv_inference_pending_request_count{model=\"m\"} 0\nvllm:x 1\n",
			&engine.Facts{Models: []engine.ModelFacts{{Name: "m", Configured: true, Decoupled: true}}},
			"false, Triton's own queues are empty for models that hand their requests over, and what they queue is " +
				"not on the page [vLLM's own server, whose page has it]",
		},
		{
			engine.Triton,
			engine.CanQueue,
			executor + "nv_trt_llm_request_metrics{model=\"tensorrt_llm\",request_type=\"waiting\"} 1\n" +
				"nv_inference_pending_request_count{model=\"tensorrt_llm\"} 0\n",
			&engine.Facts{EngineVersion: "2.40.0"}, "true, nv_inference_pending_request_count, pending in Triton, and " +
				"nv_trt_llm_request_metrics {request_type=\"waiting\"}, waiting in the executor; no metric shows requests beyond the executor's limit",
		},
		{
			engine.Triton,
			engine.CanQueue,
			executor + "nv_trt_llm_request_metrics{model=\"tensorrt_llm\",request_type=\"waiting\"} 1\n" +
				"nv_inference_pending_request_count{model=\"tensorrt_llm\"} 0\n",
			&engine.Facts{EngineVersion: "2.39.0"}, "true, nv_trt_llm_request_metrics {request_type=\"waiting\"}, " +
				"waiting in the executor; no metric shows requests beyond the executor's limit",
		},
		{
			engine.Triton, engine.CanQueue, core + "nv_inference_pending_request_count{model=\"m\"} 0\n",
			&engine.Facts{EngineVersion: "2.39.0", Models: []engine.ModelFacts{{Name: "m", Configured: true}}},
			"false, this release keeps requests that could not be queued in nv_inference_pending_request_count " +
				"forever [Triton 23.11 (2.40.0) or later]",
		},
		{
			engine.Triton, engine.CanRunning, core + "vllm:x 1\n", nil,
			"false, Triton's vLLM backend does not publish it [vLLM's own server, whose page has it]",
		},
		{
			engine.Triton, engine.CanRunning, core, llm("python", "READY"),
			"false, the LLM-API backend publishes no LLM metrics [the metrics module of deploy/triton/llmapi, " +
				"three lines in the model's folder]",
		},
		{
			engine.Triton, engine.CanRunning, core, llm("python", "UNAVAILABLE"),
			"false, model tensorrt_llm is not loaded [load the model]",
		},
		{
			engine.Triton, engine.CanRunning, core, llm("python", ""),
			"false, the LLM-API backend publishes no LLM metrics [the metrics module of deploy/triton/llmapi, " +
				"three lines in the model's folder]",
		},
		{
			engine.Triton, engine.CanRunning, executor, llm("tensorrtllm", "LOADING"),
			"false, the executor does not publish it",
		},
		{
			engine.Triton, engine.CanCancel, executor, version("2.40.0"),
			"false, before 23.12 (2.41) an aborted stream may crash Triton",
		},
		{engine.Triton, engine.CanKVCache, executor, nil, "false, the executor publishes no KV cache"},
		{
			engine.Triton, engine.CanKVCache,
			executor + "nv_trt_llm_kv_cache_block_metrics{model=\"tensorrt_llm\",kv_cache_block_type=\"used\"} 1\n",
			nil, "false, the executor publishes no KV cache",
		},
		{
			engine.Triton, engine.CanKVCache,
			executor + "nv_trt_llm_kv_cache_block_metrics{model=\"tensorrt_llm\",kv_cache_block_type=\"max\"} 1\n",
			nil, "false, the executor publishes no KV cache",
		},
		{
			engine.Triton, engine.CanKVReuse, executor, nil,
			"false, reused blocks came with TensorRT-LLM 0.13 [Triton 24.10 (2.51.0) or later]",
		},
		{engine.Triton, engine.CanKVReuse, executor, version("2.51.0"), "false, the executor does not publish it"},
		{
			engine.Triton, engine.CanKVReuse, executor, llm("python", "READY"),
			"false, the Python executor never publishes reused blocks [the C++ backend: triton_backend tensorrtllm]",
		},
		{
			engine.Triton, engine.CanTTFT,
			core + firstResponse + "_sum{model=\"m\"} 60\n" + firstResponse + "_count{model=\"m\"} 3\n",
			version("2.65.0"),
			"false, the first response histogram is off [--metrics-config histogram_latencies=true]",
		},
		{
			engine.Triton, engine.CanTTFT,
			core + firstResponse + "_bucket{model=\"m\",le=\"+Inf\"} 3\n",
			nil,
			"true, nv_inference_first_response_histogram_ms, for models that do not stream the time of the whole request, errors included: " +
				"no mean or percentile while failures are counted",
		},
		{
			engine.Triton, engine.CanTTFT, core, nil,
			"false, the first response histogram is off, or the release is older than it [--metrics-config " +
				"histogram_latencies=true with Triton 24.11 (2.52.0) or later]",
		},
		{
			engine.Triton, engine.CanTTFT, core, version("2.40.0"),
			"false, this release has no first response histogram [Triton 24.11 (2.52.0) or later with " +
				"--metrics-config histogram_latencies=true, or measure it at the client]",
		},
		{
			engine.Triton, engine.CanTTFT, core, version("2.41.0"),
			"false, this release has no first response histogram [Triton 24.11 (2.52.0) or later with " +
				"--metrics-config histogram_latencies=true; or canary: { enabled: true } in the pool, for requests " +
				"of its own; or measure it at the client]",
		},
		{
			engine.Triton, engine.CanTTFT, core, version("2.51.0"),
			"false, this release has no first response histogram [Triton 24.11 (2.52.0) or later with " +
				"--metrics-config histogram_latencies=true; or canary: { enabled: true } in the pool, for requests " +
				"of its own; or measure it at the client]",
		},
		{
			engine.Triton, engine.CanTTFT, core, version("2.52.0"),
			"false, the histogram is off, or no model is decoupled: before 26.01 only those have one " +
				"[--metrics-config histogram_latencies=true and decoupled: true]",
		},
		{
			engine.Triton, engine.CanTTFT, core, version("2.64.0"),
			"false, the histogram is off, or no model is decoupled: before 26.01 only those have one " +
				"[--metrics-config histogram_latencies=true and decoupled: true]",
		},
		{
			engine.Triton, engine.CanTTFT, core, version("2.65.0"),
			"false, the first response histogram is off [--metrics-config histogram_latencies=true]",
		},
		{
			engine.Triton, engine.CanE2E, core, llm("python", "READY"),
			"false, durations of decoupled Python models end when the request was handed over, not at its last " +
				"token [the metrics module of deploy/triton/llmapi, three lines in the model's folder]",
		},
		{
			engine.Triton, engine.CanOutcomes, core, llm("python", "READY"),
			"false, the config of model m is not known: it may call another model or be called by one, which " +
				"counts its requests again [set api_port; or name the models that clients call in model_ids]",
		},
		{
			engine.Triton, engine.CanOutcomes, "nv_inference_request_success{model=\"m\"} 1\n", nil,
			"false, the counters of durations are off, and with them every other counter stops [--metrics-config " +
				"counter_latencies=true]",
		},
		{
			engine.Triton, engine.CanOutcomes,
			"nv_inference_request_failure{model=\"m\"} 1\nnv_inference_request_duration_us{model=\"n\"} 1\n",
			nil, "false, no model is loaded [load the model]",
		},
		{
			engine.TritonOpenAI, engine.CanOutcomes, core, nil,
			"false, the config of model m is not known, and requests of decoupled models count as done once they " +
				"are accepted [--enable-kserve-frontends, then engine: triton and api_port of the pool: the page " +
				"stays where it is]",
		},
		{
			engine.TritonOpenAI, engine.CanOutcomes, api, nil,
			"false, the config of model tensorrt_llm is not known, and requests of decoupled models count as done " +
				"once they are accepted [the metrics module of deploy/triton/llmapi, three lines in the " +
				"model's folder]",
		},
		{
			engine.TritonOpenAI, engine.CanOutcomes, api, llm("python", "READY"),
			"false, model tensorrt_llm hands its requests over: they count as success once they are accepted [the " +
				"metrics module of deploy/triton/llmapi, three lines in the model's folder]",
		},
		{
			engine.Triton, engine.CanStall,
			core + "nv_inference_pending_request_count{model=\"m\"} 0\n",
			nil,
			"false, nothing on the page shows requests in flight of what clients call [canary: { enabled: true } " +
				"in the pool, for requests of its own; or measure it at the client]",
		},
		{
			engine.Triton, engine.CanStall, core + "vllm:generation_tokens_total 1\n", nil,
			"false, tokens move, and nothing shows how many requests run [canary: { enabled: true } in the pool, " +
				"for requests of its own; or measure it at the client]",
		},
		{
			engine.Triton, engine.CanE2E, "nv_inference_request_success{model=\"m\"} 1\n", nil,
			"false, the counters of durations are off, and with them every other counter stops [--metrics-config " +
				"counter_latencies=true]",
		},
		{
			engine.Triton, engine.CanQuantiles, core, version("2.51.0"),
			"false, summaries are off, and this release has no histograms [--metrics-config summary_latencies=true]",
		},
		{
			engine.Triton, engine.CanQuantiles, core, version("2.31.0"),
			"false, this release has neither summaries nor histograms [Triton 23.04 (2.33.0) or later with " +
				"--metrics-config summary_latencies=true]",
		},
		{
			engine.Triton, engine.CanQuantiles, core, version("2.52.0"),
			"false, histograms and summaries are off [--metrics-config histogram_latencies=true --metrics-config " +
				"summary_latencies=true]",
		},
		{
			engine.Triton, engine.CanQuantiles, core, nil,
			"false, histograms and summaries are off [--metrics-config histogram_latencies=true --metrics-config " +
				"summary_latencies=true]",
		},
		{
			engine.Triton, engine.CanConfig, core, nil,
			"false, the API answered with no config of a model [set api_port]",
		},
		{
			engine.Triton, engine.CanConfig, core,
			&engine.Facts{Problems: []engine.Problem{{Question: "GET /v2", Reason: "nothing listens"}}},
			"false, GET /v2: nothing listens [set api_port if the API is elsewhere]",
		},
		{
			engine.Triton, engine.CanConfig, core,
			&engine.Facts{Problems: []engine.Problem{
				{Question: "GET /v2", Reason: "nothing listens"},
				{Question: "POST /x", Reason: "restricted", Restricted: true},
			}},
			"false, POST /x: restricted [set authorization or http_headers to what the API requires]",
		},
		{engine.Triton, engine.CanConfig, core, llm("python", "READY"), "true, the configs of its models"},
		{
			engine.TritonOpenAI, engine.CanQuantiles, core, llm("python", "READY"),
			"false, the OpenAI frontend takes no metric options [the metrics module of deploy/triton/llmapi, three " +
				"lines in the model's folder]",
		},
		{
			engine.TritonOpenAI, engine.CanConfig, core, nil,
			"false, the OpenAI frontend does not expose configs [--enable-kserve-frontends, then engine: triton " +
				"and api_port of the pool: the page stays where it is]",
		},

		{
			engine.TRTLLMServe, engine.CanTokens, "", nil,
			"false, no request has ended yet; the family appears with the first",
		},
		{
			engine.TRTLLMServe, engine.CanTokens, serve + "trtllm_num_requests_running 1\n", nil,
			"false, this release has no token counters [a later TensorRT-LLM 1.3]",
		},
		{
			engine.TRTLLMServe, engine.CanQueue, full + "trtllm_num_requests_waiting{pid=\"7\"} 1\n" +
				"trtllm_num_requests_waiting{pid=\"8\"} 1\n", nil,
			"true, trtllm_num_requests_waiting, of the last iteration, updated when a request ends; 2 processes " +
				"left gauges; the one that changed last counts, since the page does not show which of them are alive",
		},
		{
			engine.TRTLLMServe, engine.CanQueue,
			full + "trtllm_num_requests_waiting{pid=\"7\"} 1\n",
			nil,
			"true, trtllm_num_requests_waiting, of the last iteration, updated when a request ends",
		},
		{
			engine.TRTLLMServe, engine.CanTokens, serve + "trtllm_generation_tokens_total 0\n", nil,
			"true, trtllm_generation_tokens_total, when a request ends",
		},
		{
			engine.TRTLLMServe, engine.CanQueue, full + serve, nil,
			"false, requests have ended and no iteration is on the page: their statistics are off " +
				"[enable_iter_perf_stats: true]",
		},
		{
			engine.TRTLLMServe, engine.CanTPOT, "", nil,
			"false, no request has ended yet; the family appears with the first",
		},
		{engine.TRTLLMServe, engine.CanTPOT, serve, nil, "false, no request had more than one token yet"},
		{
			engine.TRTLLMServe, engine.CanConfig, serve, nil,
			"false, this release has no config info on its page [a later TensorRT-LLM 1.3]",
		},

		{
			engine.NIM, engine.CanStall, "num_requests_running 1\nnum_request_max 1\n", nil,
			"false, not on the page yet; families appear with the first request",
		},
		{engine.NIM, engine.CanTokens, "", nil, "false, the page has no names of NIM 1.x, vLLM, SGLang or TensorRT-LLM"},
		{
			engine.NIM, engine.CanTokens, "num_request_max 1\n", nil,
			"false, not on the page yet; families appear with the first request",
		},

		{
			engine.Dynamo, engine.CanTokens, worker, nil,
			"false, the page has no families of an engine: they come with its first request, if they " +
				"are on and the release passes them on [" + engines + "]",
		},
		{
			engine.Dynamo, engine.CanOutcomes,
			front + "dynamo_frontend_requests_total{status=\"error\"} 1\n",
			nil,
			"false, requests_total of this release has no type of error: mistakes of clients and failures count " +
				"together [Dynamo 1.0 or later]",
		},
		{
			engine.Dynamo, engine.CanOutcomes, worker + "vllm:request_success_total 1\n", nil,
			"false, a worker counts requests that its engine finished; its own errors_total counts clients that " +
				"left as errors [scrape the frontend too]",
		},
		{
			engine.Dynamo, engine.CanQuantiles,
			worker + "nv_inference_request_success{model=\"m\"} 1\n",
			nil,
			"false, histograms and summaries are off [--metrics-config histogram_latencies=true --metrics-config " +
				"summary_latencies=true]",
		},
		{
			engine.Dynamo, engine.CanQueue, worker + "trtllm_request_success_total 1\n", nil,
			"false, this release has no iteration gauges and no token counters [--publish-metrics at a worker with " +
				"TensorRT-LLM, --publish-kv-events before Dynamo 1.6, with a TensorRT-LLM that has it]",
		},
		{
			engine.Dynamo, engine.CanQueue, front + "dynamo_frontend_queued_requests 1\n", nil,
			"false, queued_requests includes prompts in prefill, and only the KV router shows how many requests " +
				"the workers can take [scrape the worker's DYN_SYSTEM_PORT too]",
		},
		{
			engine.VLLM, engine.CanGPU, "process_start_time_seconds 1\n", nil,
			"false, this kind of server does not expose it [run the DCGM exporter next to it]",
		},
		{
			engine.Dynamo, engine.CanKVReuse, worker, nil,
			"false, the page has no families of an engine: they come with its first request, if they " +
				"are on and the release passes them on [" + engines + "]",
		},
	} {
		known := &engine.Knowledge{Page: readPage(t, c.kind, []byte(c.page)), Facts: c.facts}
		require.Equal(t, c.want, capability(t, c.kind, c.name, known), "%s of %s with %q", c.name, c.kind, c.page)
	}
}

func TestCapabilitiesWithoutPage(t *testing.T) {
	for kind, want := range map[engine.Name]string{
		engine.Triton:       "false, /metrics answers 404 [metrics_path: /metrics]",
		engine.TritonOpenAI: "false, /metrics answers 404 [metrics_path: /metrics]",
		engine.TRTLLMServe: "false, /prometheus/metrics answers 404: it exists from TensorRT-LLM 1.1 on, " +
			"with return_perf_metrics [return_perf_metrics: true]",
		engine.TRTLLMDisaggregated: "false, /prometheus/metrics/ answers 404",
		engine.NIM:                 "false, /v1/metrics answers 404",
		engine.VLLM:                "false, /metrics answers 404",
		engine.SGLang: "false, /metrics answers 404: it exists only with --enable-metrics " +
			"[--enable-metrics]",
		engine.Dynamo: "false, /metrics answers 404 [DYN_SYSTEM_PORT for a worker's page]",
	} {
		missing := &engine.Knowledge{MissingPage: true}
		for _, name := range engine.CapabilityNames() {
			if name != engine.CanHealth && name != engine.CanConfig {
				require.Equal(t, want, capability(t, kind, name, missing), "%s of %s", name, kind)
			}
		}
	}
}

// TestAdviceKnowsWhatIsSet has remedies for an API that did not answer as expected.
func TestAdviceKnowsWhatIsSet(t *testing.T) {
	const check = " [check api_port and api_path, which say where the API is]"
	page := readPage(t, engine.Triton, []byte("nv_inference_request_success{model=\"m\"} 1\n"))
	silence := &engine.Facts{Problems: []engine.Problem{{Question: "GET /v2", Reason: "nothing listens"}}}
	found := &engine.Facts{Confirmed: true, Listed: true, EngineVersion: "2.44.0"}
	failed := engine.Health{API: engine.APIFailed, Detail: "it hangs"}
	for _, c := range []struct {
		says, name string
		known      engine.Knowledge
		want       string
	}{
		{
			"nothing answers at a guessed port", engine.CanConfig,
			engine.Knowledge{Facts: silence},
			"false, GET /v2: nothing listens [set api_port if the API is elsewhere]",
		},
		{
			"nothing answers at a given one", engine.CanConfig,
			engine.Knowledge{Facts: silence, APIGiven: true},
			"false, GET /v2: nothing listens" + check,
		},
		{
			"nothing was answered yet at a given one", engine.CanConfig,
			engine.Knowledge{APIGiven: true},
			"false, the API answered with no config of a model" + check,
		},
		{
			"a Triton at a given port lists no config", engine.CanConfig,
			engine.Knowledge{Facts: found, APIGiven: true},
			"false, the API answered with no config of a model",
		},
		{
			"a Triton at a guessed port lists no config", engine.CanConfig,
			engine.Knowledge{Facts: found},
			"false, the API answered with no config of a model",
		},
		{
			"a guessed port hangs", engine.CanHealth,
			engine.Knowledge{Health: failed},
			"false, it hangs [set api_port or api_path if the API is elsewhere]",
		},
		{
			"a given one hangs", engine.CanHealth,
			engine.Knowledge{Health: failed, APIGiven: true},
			"false, it hangs" + check,
		},
		{
			"the API of a Triton hangs", engine.CanHealth,
			engine.Knowledge{Health: failed, Facts: found},
			"false, it hangs",
		},
		{
			"nothing listens at a given port", engine.CanHealth,
			engine.Knowledge{Health: engine.Health{API: engine.APIRefused}, APIGiven: true},
			"false, nothing listens on the API's address" + check,
		},
	} {
		c.known.Page = page
		require.Equal(t, c.want, capability(t, engine.Triton, c.name, &c.known), c.says)
	}
}

func TestHealthFromAPI(t *testing.T) {
	for _, c := range []struct {
		kind   engine.Name
		health engine.Health
		want   string
	}{
		{engine.Triton, engine.Health{API: engine.APIReady}, "true, the API reports whether it is ready"},
		{engine.Triton, engine.Health{API: engine.APINotReady}, "true, the API reports whether it is ready"},
		{
			engine.Dynamo,
			engine.Health{API: engine.APIReady},
			"true, the API answers, but a frontend is healthy whatever its workers do, and a worker may report " +
				"notready while it serves",
		},
		{
			engine.Dynamo,
			engine.Health{API: engine.APINotReady},
			"true, the API answers, but a frontend is healthy whatever its workers do, and a worker may report " +
				"notready while it serves",
		},
		{
			engine.Dynamo,
			engine.Health{},
			"false, the API was not asked yet, or its address is not known [set api_port or api_path if the API " +
				"is elsewhere]",
		},
		{
			engine.NIM,
			engine.Health{},
			"false, the API was not asked yet, or its address is not known [set api_port or api_path if the API " +
				"is elsewhere]",
		},
		{
			engine.TRTLLMServe,
			engine.Health{API: engine.APIRefused},
			"false, nothing listens on the API's address [set api_port or api_path if the API is elsewhere; a " +
				"server with its HTTP API off cannot be asked]",
		},
		{
			engine.TritonOpenAI,
			engine.Health{API: engine.APIFailed, Detail: "it hangs"},
			"false, it hangs [set api_port or api_path if the API is elsewhere]",
		},
		{
			engine.Triton,
			engine.Health{API: engine.APIFailed, Status: http.StatusForbidden, Detail: "restricted"},
			"false, restricted [set authorization or http_headers to what the API requires]",
		},
		{
			engine.Triton,
			engine.Health{API: engine.APIFailed, Status: http.StatusUnauthorized, Detail: "restricted"},
			"false, restricted [set authorization or http_headers to what the API requires]",
		},
	} {
		known := &engine.Knowledge{MissingPage: true, Health: c.health}
		require.Equal(t, c.want, capability(t, c.kind, engine.CanHealth, known))
	}
}

// TestOutcomesOfDeployments covers the model repositories that users of Triton have: which entry models
// count their outcomes, and which model the reason names if one does not.
func TestOutcomesOfDeployments(t *testing.T) {
	model := func(name, backend string, decoupled bool) engine.ModelFacts {
		return engine.ModelFacts{Name: name, State: "READY", Configured: true, Backend: backend, Decoupled: decoupled}
	}
	pre, post, llm := model("preprocessing", "python", false), model(
		"postprocessing",
		"python",
		false,
	), model("tensorrt_llm", "tensorrtllm", true)
	ensemble := engine.ModelFacts{
		Name:       "ensemble",
		State:      "READY",
		Configured: true,
		Platform:   "ensemble",
		Steps:      []string{"preprocessing", "tensorrt_llm", "postprocessing"},
	}
	bls := model("tensorrt_llm_bls", "python", true)
	for _, c := range []struct {
		name, version string
		models        []engine.ModelFacts
		known         bool
		names         string
	}{
		{"an ensemble around the C++ backend", "2.51.0", []engine.ModelFacts{pre, llm, post, ensemble}, true, ""},
		{"the same in an old release", "2.36.0", []engine.ModelFacts{pre, llm, post, ensemble}, true, ""},
		{
			"an ensemble beside a BLS model", "2.51.0",
			[]engine.ModelFacts{pre, llm, post, ensemble, bls},
			true, "tensorrt_llm_bls",
		},
		{"a BLS model alone", "2.51.0", []engine.ModelFacts{pre, llm, post, bls}, false, "tensorrt_llm_bls"},
		{
			"a BLS model that does not stream", "2.51.0",
			[]engine.ModelFacts{pre, llm, post, model("tensorrt_llm_bls", "python", false)},
			false, "tensorrt_llm_bls",
		},
		{"the C++ backend alone", "2.51.0", []engine.ModelFacts{llm}, true, ""},
		{
			"the LLM-API model", "2.64.0",
			[]engine.ModelFacts{model("tensorrt_llm", "python", true)},
			false, "tensorrt_llm",
		},
		{"a Python model", "2.51.0", []engine.ModelFacts{model("m", "python", false)}, false, "m"},
		{
			"a Python model before its errors counted as successes",
			"2.44.0",
			[]engine.ModelFacts{model("m", "python", false)},
			true, "",
		},
		{"an ONNX model", "2.49.0", []engine.ModelFacts{model("m", "onnxruntime", false)}, true, ""},
		{
			"an ONNX model before its failures counted", "2.17.0",
			[]engine.ModelFacts{model("m", "onnxruntime", false)},
			false, "m",
		},
		{
			"an ONNX model beside a Python model", "2.51.0",
			[]engine.ModelFacts{model("a", "onnxruntime", false), model("b", "python", false)},
			true, "b",
		},
		{"a backend that nobody knows", "2.51.0", []engine.ModelFacts{model("m", "own", false)}, false, "m"},
		{"models without configs", "2.51.0", []engine.ModelFacts{{Name: "m", State: "READY"}}, false, "m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var page strings.Builder
			for _, m := range c.models {
				fmt.Fprintf(&page, "nv_inference_request_success{model=%q,version=\"1\"} 1\n", m.Name)
				fmt.Fprintf(&page, "nv_inference_request_duration_us{model=%q,version=\"1\"} 1\n", m.Name)
			}
			k := &engine.Knowledge{
				Page:  readPage(t, engine.Triton, []byte(page.String())),
				Facts: &engine.Facts{EngineVersion: c.version, Models: c.models},
			}
			for _, check := range engine.Capabilities(engineOf(t, engine.Triton), k) {
				if check.Name == engine.CanOutcomes {
					require.Equal(t, c.known, check.OK, check.Reason)
					require.Contains(t, check.Reason, c.names)
				}
			}
		})
	}
}

// TestKVCacheOfUnknownSize requires the capability only of a cache with a size.
func TestKVCacheOfUnknownSize(t *testing.T) {
	for _, c := range []struct {
		kind engine.Name
		page string
		want bool
	}{
		{
			engine.Triton,
			"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\",model=\"m\"} 0\n" +
				"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"used\",model=\"m\"} 0\n",
			false,
		},
		{
			engine.Triton,
			"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\",model=\"m\"} 9\n" +
				"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"used\",model=\"m\"} 0\n",
			true,
		},
		{engine.TRTLLMServe, "trtllm_kv_cache_max_blocks 0\ntrtllm_kv_cache_utilization 0\n", false},
		{engine.TRTLLMServe, "trtllm_kv_cache_utilization 0\n", true},
		{engine.SGLang, "sglang:max_total_num_tokens 0\nsglang:token_usage 0\n", false},
		{engine.SGLang, "sglang:max_total_num_tokens 10\nsglang:num_pages 0\nsglang:token_usage 0\n", true},
		{engine.VLLM, "vllm:kv_cache_usage_perc 0\n", true},
	} {
		page := "nv_inference_request_success{model=\"m\"} 1\n" + c.page
		for _, check := range engine.Capabilities(engineOf(t, c.kind), &engine.Knowledge{
			Page:  readPage(t, c.kind, []byte(page)),
			Facts: &engine.Facts{},
		}) {
			if check.Name == engine.CanKVCache {
				require.Equal(t, c.want, check.OK, "%s: %s", c.page, check.Reason)
			}
		}
	}
}

// TestNativeExecutors finds the models whose executor is the C++ backend, which alone counts reused
// blocks.
func TestNativeExecutors(t *testing.T) {
	page := readPage(t, engine.Triton, []byte(strings.Join([]string{
		`nv_inference_request_success{model="cpp",version="1"} 1`,
		`nv_inference_request_success{model="python",version="1"} 1`,
		`nv_trt_llm_general_metrics{general_type="iteration_counter",model="cpp",version="1"} 5`,
		`nv_trt_llm_general_metrics{general_type="iteration_counter",model="python",version="1"} 5`,
		`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="reused",model="cpp",version="1"} 0`,
	}, "\n")+"\n"))
	require.Equal(t, []string{"cpp"}, page.NamedModels().Native)
	topology := engine.NewTopology(engineOf(t, engine.Triton), page.NamedModels(), nil, nil)
	require.Empty(t, topology.Uncounted("cpp", ""))
	require.NotEmpty(t, topology.Uncounted("python", ""))
}

// TestPageThatAReleaseLacks asks servers without a page of releases before and after it came.
func TestPageThatAReleaseLacks(t *testing.T) {
	const lacks = "false, /prometheus/metrics answers 404: it exists from TensorRT-LLM 1.1 on, with return_perf_metrics"
	for version, want := range map[string]string{
		"0.17.0":  lacks + ", and this is 0.17.0 [release 1.1.0 or later with return_perf_metrics: true]",
		"1.0.3":   lacks + ", and this is 1.0.3 [release 1.1.0 or later with return_perf_metrics: true]",
		"1.1.0":   lacks + " [return_perf_metrics: true]",
		"unknown": lacks + " [return_perf_metrics: true]",
		"":        lacks + " [return_perf_metrics: true]",
	} {
		known := &engine.Knowledge{MissingPage: true, Version: version}
		for _, name := range []string{engine.CanTokens, engine.CanConfig} {
			require.Equal(t, want, capability(t, engine.TRTLLMServe, name, known), version)
		}
	}
}
