package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// capabilities are those of a simulated server that is asked and read.
func capabilities(t *testing.T, kind engine.Kind, spec simulate.Spec, worked time.Duration) []target.Check {
	t.Helper()
	r := listening(t, replica(t, spec, worked))
	e := of(t, kind)
	base := r.APIURL()
	if kind == engine.Dynamo {
		base = "http://" + r.MetricsAddr()
	}
	facts := e.Ask(t.Context(), newNetwork(t), base, nil)
	page := r.Page()
	all := engine.Capabilities(e, &engine.Known{
		Page: readPage(t, kind, page), Facts: &facts, Health: e.Health(t.Context(), newNetwork(t), base), Confirms: true,
	})
	bearOut(t, all, page)
	return all
}

func TestCapabilitiesOfEveryServer(t *testing.T) {
	busy := simulate.Workload{Rate: 5, OutputTokens: 20}
	for _, c := range []struct {
		says string
		kind engine.Kind
		spec simulate.Spec
		idle bool
		has  string
		// What turns some of the missing ones on.
		cures map[string]string
	}{
		{
			says: "C++ backend of 25.12 as it starts by default", kind: engine.Triton, spec: simulate.Spec{Kind: simulate.KindTriton, GPUs: 1},
			has: "tokens live_tokens queue running e2e outcomes stall cancel kv_cache kv_reuse gpu health config",
			cures: map[string]string{
				engine.CanTTFT:      "--metrics-config histogram_latencies=true and decoupled: true",
				engine.CanQuantiles: "--metrics-config histogram_latencies=true --metrics-config summary_latencies=true",
				engine.CanTPOT:      "measure it at the client",
			},
		},
		{
			says: "C++ backend with everything on, no GPU metrics", kind: engine.Triton,
			spec:  simulate.Spec{Kind: simulate.KindTriton, Setup: simulate.Setup{Histograms: true, Summaries: true}, Streaming: true},
			has:   "tokens live_tokens queue running ttft e2e quantiles outcomes stall cancel kv_cache kv_reuse health config",
			cures: map[string]string{engine.CanGPU: "--allow-gpu-metrics=true"},
		},
		{
			says: "C++ backend of 24.08", kind: engine.Triton, spec: simulate.Spec{Kind: simulate.KindTriton, EngineVersion: "2.49.0"},
			has: "live_tokens queue running e2e outcomes stall cancel kv_cache health config",
			cures: map[string]string{
				engine.CanTokens: "Triton 24.12", engine.CanKVReuse: "Triton 24.10", engine.CanTTFT: "Triton 24.11",
			},
		},
		{
			says: "counters frozen", kind: engine.Triton, spec: simulate.Spec{Kind: simulate.KindTriton, Setup: simulate.Setup{CountersFrozen: true}},
			has:   "tokens live_tokens queue running stall cancel kv_cache kv_reuse health config",
			cures: map[string]string{engine.CanE2E: "--metrics-config counter_latencies=true"},
		},
		{
			says: "Python executor", kind: engine.Triton, spec: simulate.Spec{Kind: simulate.KindTritonPython},
			has:   "tokens live_tokens queue running e2e outcomes stall cancel kv_cache health config",
			cures: map[string]string{engine.CanKVReuse: "C++ backend"},
		},
		{
			says: "Python executor of 24.06", kind: engine.Triton, spec: simulate.Spec{Kind: simulate.KindTritonPython, EngineVersion: "2.47.0"},
			has:   "e2e outcomes stall health config",
			cures: map[string]string{engine.CanTokens: "Triton 24.07"},
		},
		{
			says: "LLM-API model", kind: engine.Triton, spec: simulate.Spec{Kind: simulate.KindTritonLLMAPI},
			has: "health config",
			cures: map[string]string{
				engine.CanTokens: "deploy/triton/llmapi", engine.CanQueue: "deploy/triton/llmapi", engine.CanKVCache: "deploy/triton/llmapi",
				engine.CanE2E: "deploy/triton/llmapi", engine.CanTPOT: "deploy/triton/llmapi",
				engine.CanOutcomes: "deploy/triton/llmapi", engine.CanStall: "deploy/triton/llmapi",
			},
		},
		{
			says: "LLM-API model with the metrics module", kind: engine.Triton, spec: simulate.Spec{Kind: simulate.KindTritonLLMAPIModule, GPUs: 1},
			has: "tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache kv_reuse gpu health config",
		},
		{
			says: "no LLM", kind: engine.Triton, spec: simulate.Spec{Kind: simulate.KindTritonCore},
			has: "queue e2e outcomes stall health config",
		},
		{
			says: "vLLM backend", kind: engine.Triton, spec: simulate.Spec{Kind: simulate.KindTritonVLLM},
			has: "tokens live_tokens ttft tpot e2e quantiles health config",
		},
		{
			says: "OpenAI frontend", kind: engine.TritonOpenAI, spec: simulate.Spec{Kind: simulate.KindTritonOpenAI},
			has: "tokens live_tokens queue running e2e outcomes stall cancel kv_cache kv_reuse health",
			cures: map[string]string{
				engine.CanTTFT: "measure it at the client", engine.CanConfig: "--enable-kserve-frontends",
			},
		},
		{
			says: "OpenAI frontend before the vLLM backend", kind: engine.TritonOpenAI, spec: simulate.Spec{Kind: simulate.KindTritonOpenAIVLLM},
			has:   "tokens live_tokens ttft tpot e2e quantiles health",
			cures: map[string]string{engine.CanOutcomes: "canary", engine.CanStall: "canary", engine.CanKVCache: "vLLM's own server"},
		},
		{
			says: "OpenAI frontend before an LLM-API model", kind: engine.TritonOpenAI, spec: simulate.Spec{Kind: simulate.KindTritonOpenAILLMAPI},
			has: "health",
			cures: map[string]string{
				engine.CanTokens: "deploy/triton/llmapi", engine.CanQueue: "deploy/triton/llmapi", engine.CanTTFT: "deploy/triton/llmapi",
				engine.CanE2E: "deploy/triton/llmapi", engine.CanQuantiles: "deploy/triton/llmapi", engine.CanOutcomes: "deploy/triton/llmapi",
			},
		},
		{
			says: "OpenAI frontend before an LLM-API model with the metrics module", kind: engine.TritonOpenAI, spec: simulate.Spec{Kind: simulate.KindTritonOpenAILLMAPIModule, GPUs: 1},
			has:   "tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache kv_reuse gpu health",
			cures: map[string]string{engine.CanConfig: "--enable-kserve-frontends"},
		},
		{
			says: "vLLM", kind: engine.VLLM, spec: simulate.Spec{Kind: simulate.KindVLLM},
			has:   "tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache kv_reuse health config",
			cures: map[string]string{engine.CanGPU: "DCGM"},
		},
		{
			says: "vLLM without statistics", kind: engine.VLLM, spec: simulate.Spec{Kind: simulate.KindVLLM, Setup: simulate.Setup{NoPerfMetrics: true}},
			has:   "outcomes health",
			cures: map[string]string{engine.CanTokens: "without --disable-log-stats", engine.CanQueue: "without --disable-log-stats"},
		},
		{
			says: "SGLang", kind: engine.SGLang, spec: simulate.Spec{Kind: simulate.KindSGLang},
			has:   "tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache health",
			cures: map[string]string{engine.CanGPU: "DCGM"},
		},
		{
			says: "trtllm-serve 1.3", kind: engine.TRTLLMServe, spec: simulate.Spec{Kind: simulate.KindServe},
			has:   "tokens queue running ttft tpot e2e quantiles outcomes stall kv_cache kv_reuse gpu health config",
			cures: map[string]string{engine.CanLiveTokens: "iteration_stats: true"},
		},
		{
			says: "trtllm-serve 1.3 without iteration statistics", kind: engine.TRTLLMServe, spec: simulate.Spec{Kind: simulate.KindServe, Setup: simulate.Setup{NoIterationStats: true}},
			has: "tokens ttft tpot e2e quantiles outcomes kv_reuse health config",
			cures: map[string]string{
				engine.CanQueue: "enable_iter_perf_stats: true", engine.CanRunning: "enable_iter_perf_stats: true", engine.CanStall: "enable_iter_perf_stats: true", engine.CanKVCache: "enable_iter_perf_stats: true",
			},
		},
		{
			says: "trtllm-serve 1.3 before its first request", kind: engine.TRTLLMServe, spec: simulate.Spec{Kind: simulate.KindServe}, idle: true,
			has: "outcomes health config",
		},
		{
			says: "trtllm-serve 1.3.0rc5", kind: engine.TRTLLMServe, spec: simulate.Spec{Kind: simulate.KindServeGen2},
			has:   "ttft tpot e2e quantiles kv_cache kv_reuse health",
			cures: map[string]string{engine.CanTokens: "a later TensorRT-LLM 1.3"},
		},
		{
			says: "trtllm-serve 1.1", kind: engine.TRTLLMServe, spec: simulate.Spec{Kind: simulate.KindServeOld},
			has:   "ttft tpot e2e quantiles health",
			cures: map[string]string{engine.CanTokens: "TensorRT-LLM 1.3 or later", engine.CanQueue: "TensorRT-LLM 1.3 or later", engine.CanOutcomes: "TensorRT-LLM 1.3 or later"},
		},
		{
			says: "NIM", kind: engine.NIM, spec: simulate.Spec{Kind: simulate.KindNIM},
			has:   "tokens live_tokens queue running ttft tpot e2e quantiles outcomes stall cancel kv_cache health",
			cures: map[string]string{engine.CanGPU: "DCGM exporter"},
		},
		{
			says: "Dynamo worker", kind: engine.Dynamo, spec: simulate.Spec{Kind: simulate.KindDynamo},
			has:   "ttft tpot e2e quantiles health",
			cures: map[string]string{engine.CanLiveTokens: "scrape the frontend too", engine.CanOutcomes: "scrape the frontend too"},
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			if c.spec.Workload = busy; c.idle {
				c.spec.Workload = simulate.Workload{}
			}
			all := capabilities(t, c.kind, c.spec, 30*time.Second)
			var names, has []string
			for _, one := range all {
				names = append(names, one.Name)
				require.NotEmpty(t, one.Reason, one.Name)
				if one.OK {
					has = append(has, one.Name)
					require.Empty(t, one.Cure, one.Name)
				} else {
					require.Contains(t, one.Cure, c.cures[one.Name], "%s: %s", one.Name, one.Reason)
				}
			}
			require.Equal(t, engine.CapabilityNames(), names)
			require.ElementsMatch(t, strings.Fields(c.has), has)
		})
	}
}

func TestNothingIsKnownOfAServerThatIsDown(t *testing.T) {
	require.Nil(t, engine.Capabilities(of(t, engine.Triton), &engine.Known{}))
}

func TestARestrictedAPIIsSaidSo(t *testing.T) {
	e, _ := engine.Of("triton")
	server := answers{"*": restricted}
	facts := e.Ask(t.Context(), server, "http://server", nil)
	page := readPage(t, engine.Triton, replica(t, simulate.Spec{Kind: simulate.KindTriton}, 0).Page())
	for _, c := range engine.Capabilities(e, &engine.Known{
		Page: page, Facts: &facts, Health: e.Health(t.Context(), server, "http://server"),
	}) {
		if c.Name == engine.CanHealth || c.Name == engine.CanConfig {
			require.False(t, c.OK)
			require.Contains(t, c.Cure, "http_headers")
			require.Contains(t, c.Reason, "expecting header 'admin-key'")
		}
	}
}

func TestSeriesOfAnUnloadedModelTellNothing(t *testing.T) {
	spec := simulate.Spec{Kind: simulate.KindTritonPython, Workload: simulate.Workload{Rate: 5, OutputTokens: 20}}
	r := listening(t, replica(t, spec, 20*time.Second))
	e, _ := engine.Of("triton")
	before := e.Ask(t.Context(), newNetwork(t), r.APIURL(), nil)
	r.SetRate(0)
	r.Advance(20 * time.Second)
	r.Unload("tensorrt_llm")
	r.Advance(5 * time.Second)
	require.Contains(t, string(r.Page()), "nv_trt_llm_request_metrics", "half of the model stays on the page")
	facts := e.Ask(t.Context(), newNetwork(t), r.APIURL(), nil).Over(&before)
	for _, c := range engine.Capabilities(e, &engine.Known{Page: readPage(t, engine.Triton, r.Page()), Facts: facts}) {
		if c.Name == engine.CanTokens || c.Name == engine.CanRunning || c.Name == engine.CanKVCache {
			require.False(t, c.OK, c.Name)
			require.Equal(t, "load the model", c.Cure)
		}
	}
}

func TestADistributionWithoutItsBucketsIsNone(t *testing.T) {
	const head = `nv_inference_request_success{model="llm",version="1"} 3` + "\n"
	const sums = `nv_inference_first_response_histogram_ms_sum{model="llm",version="1"} 60
nv_inference_first_response_histogram_ms_count{model="llm",version="1"} 3
`
	for page, want := range map[string]bool{
		head + sums: false,
		head + sums + `nv_inference_first_response_histogram_ms_bucket{model="llm",version="1",le="+Inf"} 3` + "\n": true,
	} {
		e, _ := engine.Of("triton")
		checks := engine.Capabilities(e, &engine.Known{Page: readPage(t, engine.Triton, []byte(page))})
		i := slices.IndexFunc(checks, func(c target.Check) bool { return c.Name == engine.CanTTFT })
		require.Equal(t, want, checks[i].OK, page)
	}
}

func TestEveryKindSaysWhyAPageOfNothingShowsNothing(t *testing.T) {
	for _, e := range engine.All() {
		t.Run(string(e.Kind()), func(t *testing.T) {
			var facts engine.Facts
			for _, c := range engine.Capabilities(e, &engine.Known{Page: readPage(t, e.Kind(), []byte("stranger 1\n")), Facts: &facts}) {
				require.NotEmpty(t, c.Reason, c.Name)
			}
		})
	}
}
