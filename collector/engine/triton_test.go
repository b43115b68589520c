package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestMetricsModule checks every capability with its source, and without.
func TestMetricsModule(t *testing.T) {
	const (
		idle   = "false, no request has ended yet"
		silent = "false, the engine has no statistics of its iterations, or has not run any yet " +
			"[enable_iter_perf_stats: true in model.yaml]"
	)
	beat := "nv_llmapi_heartbeat_timestamp_seconds{model=\"m\"} 1\n"
	with := func(line string) *engine.Knowledge {
		return &engine.Knowledge{Page: readPage(t, engine.Triton, []byte(beat+line))}
	}
	for name, c := range map[string]struct{ line, want, without string }{
		engine.CanTokens: {
			"nv_llmapi_generation_tokens_total{model=\"m\"} 1\n",
			"true, nv_llmapi_generation_tokens_total, as they come",
			idle,
		},
		engine.CanLiveTokens: {
			"nv_llmapi_generation_tokens_total{model=\"m\"} 1\n",
			"true, nv_llmapi_generation_tokens_total, as they come",
			idle,
		},
		engine.CanQueue: {
			"nv_llmapi_requests_waiting{model=\"m\"} 1\n",
			"true, nv_llmapi_requests_waiting, all that the engine has and does not run",
			silent,
		},
		engine.CanTTFT: {
			"nv_llmapi_time_to_first_token_seconds_bucket{model=\"m\",le=\"+Inf\"} 1\n",
			"true, nv_llmapi_time_to_first_token_seconds, of streamed requests",
			idle,
		},
		engine.CanTPOT: {
			"nv_llmapi_inter_token_latency_seconds_bucket{model=\"m\",le=\"+Inf\"} 1\n",
			"true, nv_llmapi_inter_token_latency_seconds, token by token",
			idle,
		},
		engine.CanE2E: {
			"nv_llmapi_request_duration_seconds_bucket{model=\"m\",le=\"+Inf\"} 1\n",
			"true, nv_llmapi_request_duration_seconds, of requests that ended well",
			idle,
		},
		engine.CanQuantiles: {
			"nv_llmapi_request_duration_seconds_bucket{model=\"m\",le=\"+Inf\"} 1\n",
			"true, nv_llmapi_request_duration_seconds", idle,
		},
		engine.CanStall: {
			"nv_llmapi_requests_in_flight{model=\"m\"} 1\nnv_llmapi_iterations_total{model=\"m\"} 1\n" +
				"nv_inference_request_success{model=\"m\",version=\"1\"} 1\n",
			"true, nv_llmapi_iterations_total, which must move while there is work according to " +
				"nv_llmapi_requests_in_flight; llm_server_suspected shows it, since a healthy server may look the same",
			idle,
		},
		engine.CanKVReuse: {
			"nv_llmapi_kv_cache_reused_blocks_total{model=\"m\"} 1\n",
			"true, nv_llmapi_kv_cache_reused_blocks_total", silent,
		},
		engine.CanOutcomes: {
			"", "true, nv_llmapi_requests_ended_total, by class", "true, nv_llmapi_requests_ended_total, by class",
		},
		engine.CanRunning: {
			"nv_trt_llm_request_metrics{model=\"m\",request_type=\"scheduled\"} 1\n",
			`true, nv_trt_llm_request_metrics {request_type="scheduled"}, of the engine's last iteration`,
			silent,
		},
		engine.CanKVCache: {
			"nv_trt_llm_kv_cache_block_metrics{model=\"m\",kv_cache_block_type=\"used\"} 1\n",
			"false, the engine has no statistics of its iterations, or has not run any yet " +
				"[enable_iter_perf_stats: true in model.yaml]",
			silent,
		},
		engine.CanGPU: {
			"nv_gpu_utilization{gpu_uuid=\"GPU-1\"} 1\n", "true, nv_gpu_utilization",
			"false, the page has no nv_gpu_*",
		},
	} {
		require.Equal(t, c.want, capability(t, engine.Triton, name, with(c.line)), name)
		without := capability(t, engine.Triton, name, with(""))
		require.True(t, strings.HasPrefix(without, c.without), "%s: %q begins with %q", name, without, c.without)
	}
}

// TestSeriesOfUnloadedModel has a model with the metrics module that was unloaded:
// its failures and the module's series stay on the page (seen on 2.51).
func TestSeriesOfUnloadedModel(t *testing.T) {
	p := readPage(
		t,
		engine.Triton,
		[]byte(`nv_inference_request_failure{model="tensorrt_llm",reason="OTHER",version="1"} 0
nv_llmapi_heartbeat_timestamp_seconds{model="tensorrt_llm",version="1"} 0
nv_llmapi_info{model="tensorrt_llm",module_version="1",tensorrt_llm_version="1.0.0",version="1"} 0
`),
	)
	generation, why := engineOf(t, engine.Triton).Generation(p, nil)
	require.Equal(t, engine.Generation("metric set E"), generation, why)
	facts := &engine.Facts{EngineVersion: "2.51.0", Listed: true, Models: []engine.ModelFacts{
		{Name: "tensorrt_llm", State: engine.ModelUnavailable, Configured: true, Backend: "python", Decoupled: true},
	}}
	version, source := facts.ResolveVersion(engineOf(t, engine.Triton), p, "")
	require.Equal(t, "1.0.0", version, "the table says 0.14.0 of its stock image")
	require.Equal(t, engine.SourcePage, source)
	for _, name := range []string{engine.CanTokens, engine.CanQueue, engine.CanRunning, engine.CanKVCache} {
		require.Equal(
			t,
			"false, model tensorrt_llm is not loaded [load the model]",
			capability(t, engine.Triton, name, &engine.Knowledge{Page: p, Facts: facts}),
			name,
		)
		require.Equal(
			t,
			"false, no model is loaded [load the model]",
			capability(t, engine.Triton, name, &engine.Knowledge{Page: p}),
			name,
		)
	}
}
