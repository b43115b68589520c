package derive_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestTimesAreInSecondsToTheLastDigit(t *testing.T) {
	got := newBench(t, engine.Triton, "m").facts(configured("m", "tensorrtllm", false)).page(
		`nv_inference_request_success{model="m",version="1"} 5`,
		`nv_inference_request_duration_us{model="m",version="1"} 1234567`,
		`nv_inference_queue_duration_us{model="m",version="1"} 7`,
		`nv_inference_compute_infer_duration_us{model="m",version="1"} 2000000`,
		`nv_cache_hit_duration_per_model{model="m",version="1"} 1.5e3`,
		`nv_trt_llm_disaggregated_serving_metrics{disaggregated_serving_type="kv_cache_transfer_ms",model="m",version="1"} 0.421875`,
		`nv_trt_llm_general_metrics{general_type="timestamp",model="m",version="1"} 1753462474140189`,
	)
	const l = `{model="m", model_id="m", role="single", version="1"}`
	require.Equal(t, 1.234567, got.get(t, "model_request_seconds_total"+l))
	require.Equal(t, 0.000007, got.get(t, "model_queue_seconds_total"+l))
	require.Equal(
		t,
		2.0,
		got.get(t, `model_compute_seconds_total{model="m", model_id="m", phase="infer", role="single", version="1"}`),
	)
	require.Equal(t, 0.0015, got.get(t, "model_response_cache_hit_seconds_total"+l))
	require.Equal(t, 0.000421875, got.get(t, `kv_cache_transfer_seconds_total{model_id="m"}`))
	require.Equal(t, 1753462474.140189, got.get(t, `engine_last_iteration_timestamp_seconds{model_id="m"}`))
	got = newBench(
		t,
		engine.Triton,
		"m",
	).page(`nv_inference_request_success{model="m",version="1"} 5`, `nv_trt_llm_general_metrics{general_type="timestamp",model="m",version="1"} 0`)
	require.Zero(t, got.count("engine_last_iteration"), "there was none")
}

// TestAdaptersOfTheLatestTime reads label sets with the times at which they were written, or with sums of those of
// several processes.
func TestAdaptersOfTheLatestTime(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, now float64
		want     int
	}{
		{"one process", 1.79e9, 1.79e9 + 30, 1},
		{"both wrote the old labels", 2 * 1.79e9, 1.79e9 + 30, 0},
		{"both wrote the new labels", 1.79e9, 2*1.79e9 + 60, 0},
		{"both wrote both", 2 * 1.79e9, 2*1.79e9 + 60, 1},
	} {
		got := newBench(t, engine.VLLM, "llama").page(
			fmt.Sprintf(`vllm:lora_requests_info{max_lora="4",running_lora_adapters="",waiting_lora_adapters=""} %g`, c.old),
			fmt.Sprintf(`vllm:lora_requests_info{max_lora="4",running_lora_adapters="a",waiting_lora_adapters=""} %.0f`, c.now),
		)
		require.Equal(t, c.want, got.count("adapters_info"), c.name)
		for series := range got {
			require.NotContains(t, series, `running=""`, c.name)
		}
	}
}

// TestAdaptersOfDays reads a page that shows every set of adapters which ever ran at once: what it costs is in
// proportion to the page, not to its square.
func TestAdaptersOfDays(t *testing.T) {
	const sets = 20_000
	page := make([]string, sets)
	for i := range page {
		page[i] = fmt.Sprintf(`vllm:lora_requests_info{max_lora="8",running_lora_adapters="a%d",waiting_lora_adapters=""} %d`,
			i, 1_790_000_000+i)
	}
	got := newBench(t, engine.VLLM, "llama").page(page...)
	require.Equal(t, 1, got.count("adapters_info"))
	require.Equal(t, 1.0, got.get(t, `adapters_info{max_lora="8", model_id="llama", running="a19999"}`))
}

// TestCachesInTheMemoryOfTheHost reads what servers show of the second level of their caches.
func TestCachesInTheMemoryOfTheHost(t *testing.T) {
	got := newBench(t, engine.SGLang, "m").page(
		`sglang:hicache_host_used_tokens{model_name="m",tp_rank="0",dp_rank="0"} 250`,
		`sglang:hicache_host_total_tokens{model_name="m",tp_rank="0",dp_rank="0"} 1000`,
		`sglang:hicache_host_used_tokens{model_name="m",tp_rank="1",dp_rank="0"} 250`,
		`sglang:hicache_host_total_tokens{model_name="m",tp_rank="1",dp_rank="0"} 1000`,
		`sglang:hicache_host_used_tokens{model_name="m",tp_rank="2",dp_rank="1"} 750`,
		`sglang:hicache_host_total_tokens{model_name="m",tp_rank="2",dp_rank="1"} 1000`,
		`sglang:load_back_bytes_total{cache_type="UnifiedRadixCache",tp_rank="0",dp_rank="0"} 3000`,
		`sglang:load_back_bytes_total{cache_type="UnifiedRadixCache",tp_rank="1",dp_rank="0"} 4000`,
		`sglang:hicache_backup_bytes_total{cache_type="UnifiedRadixCache",tp_rank="0",dp_rank="0"} 9000`,
	)
	const l = `{model_id="m"}`
	require.Equal(t, 0.5, got.get(t, "kv_cache_host_utilization_ratio"+l), "a copy of a rank counts once")
	require.Equal(t, 7000.0, got.get(t, "kv_cache_onboard_bytes_total"+l), "each rank moves its own part")
	require.Equal(t, 9000.0, got.get(t, "kv_cache_offload_bytes_total"+l))
	got = newBench(t, engine.SGLang, "m").page(
		`sglang:hicache_host_used_tokens{model_name="m"} 0`, `sglang:hicache_host_total_tokens{model_name="m"} 0`,
	)
	require.Zero(t, got.count("kv_cache_host_utilization_ratio"), "no size is known before the first step")
	hybrid := []string{
		`sglang:hicache_host_used_tokens{model_name="m"} 100`, `sglang:hicache_host_total_tokens{model_name="m"} 1000`,
	}
	for states, want := range map[string]float64{"19": 0.95, "1": 0.1} {
		got = newBench(t, engine.SGLang, "m").page(append(hybrid,
			`sglang:hicache_host_mamba_used_states{model_name="m"} `+states,
			`sglang:hicache_host_mamba_total_states{model_name="m"} 20`)...)
		require.Equal(t, want, got.get(t, "kv_cache_host_utilization_ratio"+l), "the fuller pool, %s states", states)
	}
	got = newBench(t, engine.VLLM, "m").page(
		`vllm:kv_offload_total_bytes_total{engine="0",model_name="m",transfer_type="CPU_to_GPU"} 3000`,
		`vllm:kv_offload_total_bytes_total{engine="0",model_name="m",transfer_type="GPU_to_CPU"} 9000`,
		`vllm:kv_offload_total_bytes_total{engine="0",model_name="m",transfer_type="GPU_to_SHARED_STORAGE"} 1`,
		`vllm:kv_offload_load_bytes_total{engine="0",model_name="m"} 3000`,
		`vllm:kv_offload_cpu_cache_usage_perc{engine="0",model_name="m"} 0.5`,
	)
	require.Equal(t, 3000.0, got.get(t, "kv_cache_onboard_bytes_total"+l))
	require.Equal(t, 9000.0, got.get(t, "kv_cache_offload_bytes_total"+l))
	require.Zero(t, got.count("kv_cache_host_utilization_ratio"), "that is the share in transfer")
	got = newBench(t, engine.VLLM, "m").page(
		`vllm:kv_offload_load_bytes_total{engine="0",model_name="m"} 3000`,
		`vllm:kv_offload_store_bytes_total{engine="0",model_name="m"} 9000`,
		`vllm:hisparse_host_to_device_bytes_total{engine="0",model_name="m"} 500`,
		`vllm:hisparse_host_cache_usage_perc{engine="0",model_name="m"} 0.5`,
		`vllm:hisparse_host_cache_usage_perc{engine="1",model_name="m"} 0.75`,
	)
	require.Equal(t, 3500.0, got.get(t, "kv_cache_onboard_bytes_total"+l), "by both connectors")
	require.Equal(t, 9000.0, got.get(t, "kv_cache_offload_bytes_total"+l), "without the older name")
	require.Equal(t, 0.75, got.get(t, "kv_cache_host_utilization_ratio"+l))
}

func TestTokensPerGPUNeedTokensOfAllEngines(t *testing.T) {
	for iterations, want := range map[string]bool{
		"": true,
		`nv_trt_llm_general_metrics{general_type="iteration_counter",model="n",version="1"} 5`: false,
	} {
		b := newBench(t, engine.Triton, "m", "n")
		var got values
		for n := range 2 {
			got = b.page(
				append(
					soundPage(10*n, 0),
					iterations,
					`nv_inference_request_success{model="n",version="1"} 1`,
					`nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 8e10`,
				)...)
		}
		require.Equal(t, want, got["generation_tokens_per_gpu_second{}"] == 200)
	}
}

func TestHistogramsAndSummariesAreInSeconds(t *testing.T) {
	page := func(fast int) []string {
		return append(
			histogram(
				"nv_inference_first_response_histogram_ms",
				`model="m",version="1"`,
				1500,
				"100 2000 +Inf",
				fast,
				4,
				4,
			),
			`nv_inference_request_success{model="m",version="1"} 5`,
			"# TYPE nv_inference_queue_summary_us summary",
			`nv_inference_queue_summary_us_count{model="m",version="1"} 4`,
			`nv_inference_queue_summary_us_sum{model="m",version="1"} 100`,
			`nv_inference_queue_summary_us{model="m",version="1",quantile="0.5"} 25`,
			`nv_inference_queue_summary_us{model="m",version="1",quantile="0.99"} Nan`,
		)
	}
	const l, end = `model="m", model_id="m", `, `role="single", version="1"}`
	b := newBench(t, engine.Triton, "m")
	got := b.page(page(1)...)
	for series, want := range map[string]float64{
		`_bucket{le="0.1", `:  1,
		`_bucket{le="2", `:    4,
		`_bucket{le="+Inf", `: 4,
		"_sum{":               1.5,
		"_count{":             4,
	} {
		require.Equal(t, want, got.get(t, "model_first_response_seconds"+series+l+end))
	}
	require.Equal(t, 0.000025, got.get(t, `model_queue_duration_seconds{`+l+`quantile="0.5", `+end))
	got.lacks(t, `model_queue_duration_seconds{`+l+`quantile="0.99", `+end, "NaN is left out")
	require.Zero(t, b.deriver.Stats().NonFinite, "an idle summary is not a fault")

	require.Zero(t, b.page(page(9)...).count("model_first_response"), "buckets that fall are not passed on")
	require.Equal(t, uint64(1), b.deriver.Stats().BrokenHistograms)
}

func TestPercentilesOfSummary(t *testing.T) {
	got := newBench(t, engine.Triton, "m").facts(configured("m", "tensorrtllm", false)).
		page(`nv_inference_request_success{model="m",version="1"} 5`, "# TYPE nv_inference_request_summary_us summary",
			`nv_inference_request_summary_us{model="m",version="1",quantile="0.5"} 40000`, `nv_inference_request_summary_us{model="m",version="1",quantile="0.99"} 90000`)
	for percentile, want := range map[string]float64{"50": 0.04, "99": 0.09} {
		require.Equal(
			t,
			want,
			got.get(
				t,
				`request_duration_percentile_seconds{model="m", model_id="m", percentile="`+percentile+`", version="1"}`,
			),
		)
	}
}

func TestImpossibleValuesAreAbsent(t *testing.T) {
	for _, c := range []struct{ line, absent string }{
		{`vllm:num_requests_waiting{model_name="m",engine="0"} -1`, "queue_depth"},
		{`vllm:num_requests_running{model_name="m",engine="0"} -1`, "requests_running"},
		{`vllm:num_requests_running{model_name="m",engine="0"} 18446744073709551615`, "requests_running"},
		{`vllm:kv_cache_usage_perc{model_name="m",engine="0"} 1.7`, "kv_cache_utilization_ratio"},
		{`vllm:kv_cache_usage_perc{model_name="m",engine="0"} -0.1`, "kv_cache_utilization_ratio"},
	} {
		t.Run(c.line, func(t *testing.T) {
			b := newBench(t, engine.VLLM, "m")
			name, _, _ := strings.Cut(c.line, "{")
			got := b.page(c.line, `vllm:generation_tokens_total{model_name="m",engine="0"} 5`)
			got.get(t, `generation_tokens_total{model_id="m"}`)
			for key, v := range got {
				require.GreaterOrEqual(t, v, 0.0, key)
				require.False(t, strings.HasPrefix(key, c.absent+"{") || strings.HasPrefix(key, "saturation_ratio"), key)
			}
			require.EqualValues(t, 1, b.deriver.Stats().Impossible, name)
		})
	}
}

// TestNoShareIsNoMistake has a share of -1, by which servers say that there is none.
func TestNoShareIsNoMistake(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	got := b.page(`vllm:gpu_prefix_cache_hit_rate{model_name="m"} -1`, `vllm:num_requests_running{model_name="m"} 1`)
	require.Zero(t, got.count("kv_cache_hit_ratio"))
	require.Zero(t, b.deriver.Stats().Impossible)
	got = b.page(`vllm:gpu_prefix_cache_hit_rate{model_name="m"} 0.32`, `vllm:num_requests_running{model_name="m"} 1`)
	require.Equal(t, 0.32, got.get(t, `kv_cache_hit_ratio{model_id="m"}`))
}

func TestNegativeCountersAreNotPassedOn(t *testing.T) {
	b := newBench(t, engine.Triton, models()...)
	got := b.page(
		replaceLines(
			trtllm(1, 1, 0, 64, 1, 120, 10),
			`nv_llm_output_token_len_sum{model="tensorrt_llm",version="1"} -5`,
			`nv_energy_consumption{gpu_uuid="GPU-1"} 0`,
		)...)
	got.lacks(t, `generation_tokens_total{model_id="ensemble"}`)
	got.get(t, `requests_total{class="ok", model="ensemble", model_id="ensemble", version="1"}`)
	require.Equal(t, uint64(1), b.deriver.Stats().Impossible, "0 is not negative")
}

// TestTokenEstimateFromIterations has a hundred iterations in five
// seconds, each with thirty prompt tokens and four requests.
func TestTokenEstimateFromIterations(t *testing.T) {
	const batcher = `nv_trt_llm_inflight_batcher_metrics{model="llm",version="1",inflight_batcher_specific_metric=`
	b := newBench(t, engine.Triton, "llm")
	var got values
	for n := range 2 {
		got = b.page(
			fmt.Sprintf(`nv_inference_request_success{model="llm",version="1"} %d`, n),
			fmt.Sprintf(
				`nv_trt_llm_general_metrics{model="llm",version="1",general_type="iteration_counter"} %d`,
				1000+100*n,
			),
			batcher+`"total_context_tokens"} 30`,
			batcher+`"generation_requests"} 4`,
		)
	}
	require.InDelta(t, 600, got.get(t, `prompt_tokens_per_second_estimate{model_id="llm"}`), 1e-9)
	require.InDelta(t, 80, got.get(t, `generation_tokens_per_second_estimate{model_id="llm"}`), 1e-9)
}

// TestBatchSizeFromIterations has such a model next to another.
func TestBatchSizeFromIterations(t *testing.T) {
	b := newBench(t, engine.Triton, "llm", "resnet")
	var got values
	for n := range 2 {
		page := []string{
			fmt.Sprintf(
				`nv_trt_llm_general_metrics{model="llm",version="1",general_type="iteration_counter"} %d`,
				100*n,
			),
		}
		for _, name := range []string{"llm", "resnet"} {
			page = append(
				page,
				fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, name, 40*n),
				fmt.Sprintf(`nv_inference_count{model=%q,version="1"} %d`, name, 40*n),
				fmt.Sprintf(`nv_inference_exec_count{model=%q,version="1"} %d`, name, 10*n),
			)
		}
		got = b.page(page...)
	}
	require.InDelta(
		t,
		4,
		got.get(t, `model_batch_size_average{model="resnet", model_id="resnet", role="unknown", version="1"}`),
		1e-9,
	)
	got.lacks(t, `model_batch_size_average{model="llm", model_id="llm", role="unknown", version="1"}`)
}

func TestNaNValuesAreCounted(t *testing.T) {
	for value, want := range map[string]uint64{"99": 0, "NaN": 1, "+Inf": 1, "-Inf": 1} {
		b := newBench(t, engine.Triton, models()...)
		b.page(replaceLines(trtllm(1, 1, 0, 64, 1, 120, 10), `nv_gpu_power_usage{gpu_uuid="GPU-1"} `+value)...)
		require.Equal(t, want, b.deriver.Stats().NonFinite, value)
	}
}

func TestReasonLabels(t *testing.T) {
	got := newBench(t, engine.Triton, models()...).page(trtllm(1, 1, 0, 64, 1, 120, 10)...)
	require.Equal(
		t,
		1.0,
		got.get(
			t,
			`requests_failed_total{class="server", model="ensemble", model_id="ensemble", reason="other", version="1"}`,
		),
	)
	got = newBench(t, engine.TRTLLMServe, "m").page(
		`trtllm_request_error_total{model_name="m",http_code="400"} 3`,
		`trtllm_request_success_total{model_name="m",finished_reason="stop"} 7`,
	)
	require.Equal(t, 3.0, got.get(t, `requests_failed_total{class="client", model_id="m", reason="http_400"}`))
	require.Equal(t, 7.0, got.get(t, `requests_finished_total{class="ok", finish_reason="stop", model_id="m"}`))
	require.Equal(t, 7.0, got.get(t, `requests_total{class="ok", model_id="m"}`))
	require.Equal(t, 3.0, got.get(t, `requests_total{class="client", model_id="m"}`))
	got.lacks(t, `requests_total{class="server", model_id="m"}`, "nobody knows whether they are counted")
}

func TestUnknownIsAbsentNotZero(t *testing.T) {
	got := newBench(t, engine.TRTLLMServe, "m").page(
		`trtllm_max_batch_size_static{model_name="m",pid="1"} 0.0`,
		`trtllm_max_batch_size_runtime{model_name="m",pid="1"} 64.0`,
		`trtllm_cpu_memory_usage_bytes{model_name="m",pid="1"} 0.0`,
	)
	got.lacks(t, `batch_size_limit{kind="static", model_id="m"}`)
	require.Equal(t, 64.0, got.get(t, `batch_size_limit{kind="runtime", model_id="m"}`))
	got.lacks(t, `engine_memory_bytes{memory="cpu", model_id="m"}`)
}

func TestSaturation(t *testing.T) {
	const name = `saturation_ratio{model_id="ensemble"}`
	idle := replaceLines(
		trtllm(0, 0, 0, 64, 0, 120, 0),
		`nv_inference_pending_request_count{model="preprocessing",version="1"} 0`,
		`nv_inference_pending_request_count{model="tensorrt_llm",version="1"} 0`,
	)
	for _, tc := range []struct {
		name string
		page []string
		want float64
	}{
		{"without demand it is 0", idle, 0},
		{
			"without demand it is 0 before the first iteration too",
			replaceLines(idle, `nv_trt_llm_request_metrics{model="tensorrt_llm",version="1",request_type="max"} 0`),
			0,
		},
		{"requests in flight by the limit", trtllm(13, 13, 0, 64, 0, 120, 0), 16.0 / 64},
		{"a full KV cache counts", trtllm(13, 13, 0, 64, 90, 120, 0), 0.75},
		{"more than 1 while requests wait", trtllm(64, 64, 0, 64, 1, 120, 0), 67.0 / 64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := newBench(t, engine.Triton, models()...).page(tc.page...)
			got.get(t, name)
			require.InDelta(t, tc.want, got.get(t, name), 1e-9)
		})
	}
	got := newBench(t, engine.Triton, "m").page(`nv_inference_request_success{model="m",version="1"} 5`)
	got.lacks(t, `saturation_ratio{model_id="m"}`, "unknown is absent")
}

func TestSaturationWithoutLimit(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		running, waiting       int
		cache, ratio, saturate float64
	}{
		{"without demand it is 0, whatever its cache holds", 0, 0, 0.4, 0, 0},
		{"as full as its cache while none waits", 12, 0, 0.3, 0.3, 0},
		{"full when requests wait", 12, 6, 0.3, 1.5, 1},
		{"requests wait, and none runs yet", 0, 3, 0, 3, 1},
		{"a full cache makes requests wait", 2, 1, 0.99, 1.5, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vllm := newBench(t, engine.VLLM, "m").page(
				fmt.Sprintf(`vllm:num_requests_running{engine="0",model_name="m"} %d`, tc.running),
				fmt.Sprintf(`vllm:num_requests_waiting{engine="0",model_name="m"} %d`, tc.waiting),
				fmt.Sprintf(`vllm:kv_cache_usage_perc{engine="0",model_name="m"} %g`, tc.cache))
			sglang := newBench(t, engine.SGLang, "m").page(
				fmt.Sprintf(`sglang:num_running_reqs{model_name="m",tp_rank="0"} %d`, tc.running),
				fmt.Sprintf(`sglang:num_queue_reqs{model_name="m",tp_rank="0"} %d`, tc.waiting),
				fmt.Sprintf(`sglang:token_usage{model_name="m",tp_rank="0"} %g`, tc.cache))
			for _, got := range []values{vllm, sglang} {
				require.InDelta(t, tc.ratio, got.get(t, `saturation_ratio{model_id="m"}`), 1e-9)
				require.InDelta(t, tc.saturate, got.get(t, `saturated{model_id="m"}`), 0)
			}
		})
	}
	got := newBench(
		t,
		engine.VLLM,
		"m",
	).page(`vllm:num_requests_running{engine="0",model_name="m"} 3`, `vllm:num_requests_waiting{engine="0",model_name="m"} 0`)
	got.lacks(t, `saturation_ratio{model_id="m"}`, "neither a limit nor the use of the cache is known")
}

func TestWaitForSomethingElseIsNoSaturation(t *testing.T) {
	for _, tc := range []struct {
		name                        string
		running, capacity, deferred int
		ratio, saturate             float64
	}{
		{"a decode server whose requests wait for their KV cache", 2, 0, 40, 0.3, 0},
		{"nothing runs, all wait for their grammar", 0, 0, 5, 0, 0},
		{"some want capacity, too", 12, 6, 40, 1.5, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vllm := newBench(t, engine.VLLM, "m").page(
				fmt.Sprintf(`vllm:num_requests_running{engine="0",model_name="m"} %d`, tc.running),
				fmt.Sprintf(`vllm:num_requests_waiting{engine="0",model_name="m"} %d`, tc.capacity+tc.deferred),
				fmt.Sprintf(`vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} %d`, tc.capacity),
				fmt.Sprintf(`vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="deferred"} %d`, tc.deferred),
				`vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.3`)
			sglang := newBench(t, engine.SGLang, "m").page(
				fmt.Sprintf(`sglang:num_running_reqs{model_name="m",tp_rank="0"} %d`, tc.running),
				fmt.Sprintf(`sglang:num_queue_reqs{model_name="m",tp_rank="0"} %d`, tc.capacity),
				fmt.Sprintf(`sglang:num_grammar_queue_reqs{model_name="m",tp_rank="0"} %d`, tc.deferred),
				`sglang:token_usage{model_name="m",tp_rank="0"} 0.3`)
			for _, got := range []values{vllm, sglang} {
				require.InDelta(t, tc.ratio, got.get(t, `saturation_ratio{model_id="m"}`), 1e-9)
				require.InDelta(t, tc.saturate, got.get(t, `saturated{model_id="m"}`), 0)
				require.InDelta(t, tc.capacity+tc.deferred, got.get(t, `queue_depth{model_id="m"}`), 0, "they wait all the same")
			}
		})
	}
}

func TestUnloadedEntryKeepsOtherCounters(t *testing.T) {
	const (
		other = `requests_total{class="unknown", model="tensorrt_llm_bls", model_id="ensemble", version="1"}`
		own   = `requests_total{class="ok", model="ensemble", model_id="ensemble", version="1"}`
	)
	b := newBench(t, engine.Triton, append(models(), "tensorrt_llm_bls")...)
	bls := `nv_inference_request_success{model="tensorrt_llm_bls",version="1"} 3`
	got := b.page(`nv_inference_request_success{model="ensemble",version="1"} 6`, bls)
	require.Equal(t, []float64{6, 3}, []float64{got.get(t, own), got.get(t, other)})
	got = b.page(bls)
	got.lacks(t, own)
	require.Equal(t, 3.0, got.get(t, other))
	got = b.page(bls, `nv_inference_request_success{model="ensemble",version="1"} 0`)
	require.Equal(t, []float64{0, 3}, []float64{got.get(t, own), got.get(t, other)}, "a reset of one alone")
}

func TestQueueInTriton(t *testing.T) {
	page := []string{
		`nv_inference_request_success{model="resnet",version="1"} 5`,
		`nv_inference_pending_request_count{model="resnet",version="1"} 12`,
		`nv_inference_count{model="resnet",version="1"} 5`,
		`nv_inference_exec_count{model="resnet",version="1"} 5`,
	}
	b := newBench(t, engine.Triton, "resnet").facts(configured("resnet", "onnxruntime", false))
	require.Equal(t, 12.0, b.page(page...).get(t, `queue_depth{model_id="resnet"}`))
	got := b.page(
		replaceLines(
			page,
			`nv_inference_count{model="resnet",version="1"} 29`,
			`nv_inference_exec_count{model="resnet",version="1"} 9`,
		)...)
	require.Equal(
		t,
		6.0,
		got.get(t, `model_batch_size_average{model="resnet", model_id="resnet", role="single", version="1"}`),
	)
	got = newBench(t, engine.Triton, "resnet").facts(configured("resnet", "python", true)).page(page...)
	got.lacks(t, `queue_depth{model_id="resnet"}`, "a decoupled model's queue is elsewhere")
	require.Equal(t, 12.0, got.get(t, `queue_requests{model_id="resnet", queue="core"}`))
}

func TestPercentilesInterpolateWithinBucket(t *testing.T) {
	page := func(a, b, all int) []string {
		return histogram("trtllm_e2e_request_latency_seconds", `model_name="m"`, 2*all, "1.0 3.0 +Inf", a, b, all)
	}
	const p50, p99 = `request_duration_percentile_seconds{model_id="m", percentile="50"}`, `request_duration_percentile_seconds{model_id="m", percentile="99"}`
	b := newBench(t, engine.TRTLLMServe, "m")
	b.page(page(100, 100, 100)...).lacks(t, p50)
	got := b.page(page(140, 180, 200)...)
	require.InDelta(t, 1.5, got.get(t, p50), 1e-9, "50 of 100, 10 of the 40 between 1 and 3")
	got.lacks(t, p99, "beyond the last bound nothing is known")
	require.InDelta(t, 0.2, got.get(t, `request_duration_above_bound_ratio{model_id="m"}`), 1e-9)
	require.InDelta(t, 2, got.get(t, `request_duration_average_seconds{model_id="m"}`), 1e-9)
	got = b.repeat(13, page(140, 180, 200))
	got.lacks(t, p50, "without requests there is none")
	require.InDelta(t, 0.5, b.page(page(141, 181, 201)...).get(t, p50), 1e-9, "one request has percentiles")
	b.page(page(541, 581, 601)...).lacks(t, p99, "it would be below the mean")
}

func TestDerivedBlocksAreValid(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		s.spec.Workload = simulate.Workload{Rate: 4}
		r := newRig(t, s.spec)
		got := r.serve(14)
		var text []byte
		for i, f := range r.out.Shape().Families() {
			text = append(text, fmt.Sprintf("# TYPE %s %s\n", f.Name, f.Type)...)
			text = r.out.AppendFamily(text, i)
		}
		back, err := exposition.NewCache(exposition.Options{}).Parse(text, "", nil)
		require.NoError(t, err)
		require.Equal(t, len(got), back.Shape().Lines(), "%s: nothing of it is dropped", s.name)
	}
}

func TestCountReplacesEstimate(t *testing.T) {
	page := func(n int, more ...string) []string {
		return append([]string{
			fmt.Sprintf(`trtllm_kv_cache_reused_blocks_total{model_name="m"} %d`, n),
			fmt.Sprintf(`trtllm_prompt_tokens_total{model_name="m"} %d`, 128*n),
			`trtllm_kv_cache_tokens_per_block{model_name="m"} 64`,
		}, more...)
	}
	const exact, estimate = `kv_cache_reuse_ratio{model_id="m"}`, `kv_cache_reuse_ratio_estimate{model_id="m"}`
	b := newBench(t, engine.TRTLLMServe, "m")
	b.page(page(1)...)
	got := b.page(page(3)...)
	require.InDelta(t, 0.5, got.get(t, estimate), 1e-9, "64 of each 128 tokens")
	got.lacks(t, exact)
	b = newBench(t, engine.TRTLLMServe, "m")
	b.page(page(1, `trtllm_kv_cache_missed_blocks_total{model_name="m"} 1`)...)
	got = b.page(page(3, `trtllm_kv_cache_missed_blocks_total{model_name="m"} 2`)...)
	require.InDelta(t, 2.0/3, got.get(t, exact), 1e-9)
	got.lacks(t, estimate, "the misses are counted here")
}

// TestBucketsAreComparedOverOneSpan has a bucket that was NaN on one page, and no
// request that took more than 5 s.
func TestBucketsAreComparedOverOneSpan(t *testing.T) {
	b := newBench(t, engine.TRTLLMServe, "m")
	page := func(le1, le5, all string) values {
		return b.page(
			histogram(
				"trtllm_e2e_request_latency_seconds",
				`model_name="m"`,
				"3"+all,
				"1.0 5.0 +Inf",
				le1,
				le5,
				all,
			)...)
	}
	page("0", "0", "0")
	page("10", "NaN", "100")
	page("10", "100", "100")
	require.Zero(t, page("10", "110", "110").get(t, `request_duration_above_bound_ratio{model_id="m"}`))
}

// TestCachedTokensCountedBeforePrompt uses a vLLM that found most of a
// long prompt in its cache and is not done with the rest.
func TestCachedTokensCountedBeforePrompt(t *testing.T) {
	const ratio = `prompt_cache_hit_ratio{model_id="m"}`
	b := newBench(t, engine.VLLM, "m")
	page := func(found, prompts int) values {
		return b.page(
			fmt.Sprintf(`vllm:prefix_cache_hits_total{engine="0",model_name="m"} %d`, found),
			fmt.Sprintf(`vllm:prompt_tokens_total{engine="0",model_name="m"} %d`, prompts),
		)
	}
	page(0, 100)
	require.InDelta(t, 1, page(9000, 200).get(t, ratio), 1e-9)
	require.InDelta(t, 0.9, page(9000, 10_100).get(t, ratio), 1e-9)
}

// TestHitsAreReadWithTheirQueries has a vLLM that finds 60 % of each prompt of 1600 tokens in its cache, whose blocks
// have 16 tokens. Releases before 0.9.0 count blocks (vllm-project/vllm#18003), and nothing but the release tells.
func TestHitsAreReadWithTheirQueries(t *testing.T) {
	const (
		ratio, cached = `prompt_cache_hit_ratio{model_id="m"}`, `prompt_tokens_cached_total{model_id="m"}`
		gpu, plain    = "gpu_prefix_cache", "prefix_cache"
		blocks        = 16
	)
	for _, c := range []struct {
		name, version string
		// names begin those of the counters, which count in units of so many tokens.
		names []string
		unit  int
		// tokens is true if the number of cached tokens is known.
		tokens bool
	}{
		{"the first release that counts", "0.7.3", []string{gpu}, blocks, false},
		{"the last one that counts blocks", "0.8.5.post1", []string{gpu}, blocks, false},
		{"a build after it", "0.8.6.dev12+g0123abc", []string{gpu}, blocks, false},
		{"a server that does not tell its release", "", []string{gpu}, blocks, false},
		{"a server of tokens that does not tell its release", "", []string{gpu}, 1, false},
		{"the first release that counts tokens", "0.9.0", []string{gpu}, 1, true},
		{"one more", "0.9.0.1", []string{gpu}, 1, true},
		{"both names", "0.10.2", []string{gpu, plain}, 1, true},
		{"hidden names", "0.11.2", []string{plain, gpu}, 1, true},
		{"the new name", "0.15.1", []string{plain}, 1, true},
		{"the new name, without a release", "", []string{plain}, 1, true},
	} {
		b := newBench(t, engine.VLLM, "m").release(c.version)
		at := func(n int) values {
			page := []string{fmt.Sprintf(`vllm:prompt_tokens_total{engine="0",model_name="m"} %d`, 3200*n)}
			for _, name := range c.names {
				for rank, share := range []int{1, 3} {
					page = append(page,
						fmt.Sprintf(`vllm:%s_queries_total{engine="%d",model_name="m"} %d`, name, rank, n*share*800/c.unit),
						fmt.Sprintf(`vllm:%s_hits_total{engine="%d",model_name="m"} %d`, name, rank, n*share*480/c.unit),
					)
				}
			}
			return b.page(page...)
		}
		at(0)
		at(1)
		got := at(2)
		require.InDelta(t, 0.6, got.get(t, ratio), 1e-9, c.name)
		require.Equal(t, c.tokens, hasSeries(got, cached), c.name)
		if c.tokens {
			require.InDelta(t, 2*1920, got[cached], 1e-9, c.name)
		}
	}
}

// TestHitsOfRequestsThatAreTriedAgain has a vLLM without room for a request, whose prefix is looked up with each step.
func TestHitsOfRequestsThatAreTriedAgain(t *testing.T) {
	b := newBench(t, engine.VLLM, "m").release("0.15.1")
	at := func(lookups, prompts int) values {
		return b.page(
			fmt.Sprintf(`vllm:prefix_cache_queries_total{engine="0",model_name="m"} %d`, 1000*lookups),
			fmt.Sprintf(`vllm:prefix_cache_hits_total{engine="0",model_name="m"} %d`, 250*lookups),
			fmt.Sprintf(`vllm:prompt_tokens_total{engine="0",model_name="m"} %d`, 1000*prompts),
		)
	}
	const cached = `prompt_tokens_cached_total{model_id="m"}`
	at(0, 0)
	require.InDelta(t, 250, at(1, 1).get(t, cached), 1e-9)
	tried := at(40, 2)
	require.InDelta(t, 0.25, tried.get(t, `prompt_cache_hit_ratio{model_id="m"}`), 1e-9)
	tried.lacks(t, cached, "no prompts have that many tokens")
}

// TestReleaseOfAnEngineInside has servers around a vLLM: their release is not that of the engine.
func TestReleaseOfAnEngineInside(t *testing.T) {
	for kind, own := range map[engine.Name]string{
		engine.Dynamo: `dynamo_component_uptime_seconds{worker_id="w"} 9`,
		engine.NIM:    `vllm:num_requests_running{engine="0",model_name="m"} 1`,
	} {
		b := newBench(t, kind, "m").release("0.9.1")
		var got values
		for n := range 3 {
			got = b.page(
				own,
				fmt.Sprintf(`vllm:prompt_tokens_total{engine="0",model_name="m"} %d`, 1600*n),
				fmt.Sprintf(`vllm:gpu_prefix_cache_queries_total{engine="0",model_name="m"} %d`, 100*n),
				fmt.Sprintf(`vllm:gpu_prefix_cache_hits_total{engine="0",model_name="m"} %d`, 60*n),
			)
		}
		require.InDelta(t, 0.6, got.get(t, `prompt_cache_hit_ratio{model_id="m"}`), 1e-9, kind)
		got.lacks(t, `prompt_tokens_cached_total{model_id="m"}`)
	}
}

// TestSignsOfWork covers each thing that may move while a request runs and tokens stand still.
func TestSignsOfWork(t *testing.T) {
	for name, moves := range map[string]struct {
		line    string
		stalled bool
	}{
		"nothing":              {``, true},
		"a successful request": {`request_finish_total{finished_reason="stop"} %d`, false},
		"a failed request":     {`request_failure_total %d`, true},
		"a canceled request":   {`request_finish_total{finished_reason="abort"} %d`, true},
		"tokens":               {`generation_tokens_total %d`, false},
		"prompts":              {`prompt_tokens_total %d`, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, engine.NIM, "m")
			for n := range 2 + int(derive.DefaultStallAfter/(5*time.Second)) {
				page := []string{
					`num_requests_running 3`,
					`generation_tokens_total 100`, `prompt_tokens_total 100`, `request_failure_total 100`,
					`request_finish_total{finished_reason="stop"} 100`,
					`request_finish_total{finished_reason="abort"} 100`,
				}
				if moves.line != "" {
					page = replaceLines(page, fmt.Sprintf(moves.line, 100+n))
				}
				b.page(page...)
			}
			require.Equal(t, moves.stalled, longest(b).InFlight > 0)
		})
	}
}

// TestObjectivesAreInSeconds has buckets in milliseconds.
func TestObjectivesAreInSeconds(t *testing.T) {
	page := append(
		histogram(
			"nv_inference_first_response_histogram_ms",
			`model="m",version="1"`,
			9000,
			"500 2000 5000 +Inf",
			40,
			70,
			100,
			100,
		),
		`nv_inference_request_success{model="m",version="1"} 100`,
	)
	for within, want := range map[time.Duration]struct {
		lower, upper float64
		reason       string
	}{
		5 * time.Second: {0, 0, "a bucket of nv_inference_first_response_histogram_ms ends at the target"},
		2 * time.Second: {30, 30, "a bucket of nv_inference_first_response_histogram_ms ends at the target"},
		time.Second: {
			30, 60,
			"the target lies between the buckets of nv_inference_first_response_histogram_ms that end at 0.5 s and " +
				"2 s: bad requests are counted as two bounds",
		},
	} {
		b := newBench(t, engine.Triton, "m").promises(derive.Objective{
			Name:   derive.TTFT,
			Within: within,
			Share:  0.95,
		}).facts(configured("m", "tensorrtllm", true))
		got := b.page(page...)
		require.Equal(t, []target.Check{{Name: "ttft", OK: true, Reason: want.reason}}, b.deriver.Objectives())
		require.Equal(
			t,
			want.lower,
			got.get(t, `slo_requests_bad_total{bound="lower", model="m", model_id="m", slo="ttft", version="1"}`),
		)
		require.Equal(
			t,
			want.upper,
			got.get(t, `slo_requests_bad_total{bound="upper", model="m", model_id="m", slo="ttft", version="1"}`),
		)
	}
}

func TestUnmovedCountersNeedTwoRequests(t *testing.T) {
	frozen := []string{
		`nv_inference_request_success{model="m",version="1"} 0`,
		`nv_inference_request_failure{model="m",version="1",reason="OTHER"} 0`,
	}
	for requests, want := range map[int]float64{0: 0, 1: 0, 2: 1, 3: 1} {
		b := newBench(t, engine.Triton, "m")
		b.page(replaceLines(soundPage(10, 0), frozen...)...)
		got := b.page(replaceLines(soundPage(10+requests, 1000), frozen...)...)
		require.Equal(t, want, got.get(t, found("frozen_counters", "m")), requests)
	}
}

// TestTritonRequestTimes uses the histogram of core pull request 474,
// which is in no release: for a model that hands its requests over it means nothing.
func TestTritonRequestTimes(t *testing.T) {
	page := func(n int) []string {
		return append(
			histogram(
				"nv_inference_request_duration_histogram_us",
				`model="m",version="1"`,
				15_000_000*n,
				"100000 1000000 5000000 +Inf",
				0,
				5*n,
				10*n,
				10*n,
			),
			fmt.Sprintf(`nv_inference_request_success{model="m",version="1"} %d`, 10*n),
		)
	}
	for decoupled, shown := range map[bool]bool{false: true, true: false} {
		b := newBench(t, engine.Triton).facts(configured("m", "python", decoupled))
		b.page(page(1)...)
		got := b.page(page(2)...)
		for series, want := range map[string]float64{
			`request_duration_seconds_bucket{le="1", model="m", model_id="m", version="1"}`:              10,
			`request_duration_percentile_seconds{model="m", model_id="m", percentile="50", version="1"}`: 1,
			`request_duration_above_bound_ratio{model="m", model_id="m", version="1"}`:                   0,
		} {
			require.Equal(t, shown, hasSeries(got, series), series)
			if shown {
				require.InDelta(t, want, got[series], 1e-9, series)
			}
		}
	}
}

// TestComputedValuesAreFiniteOrAbsent uses two ranks of a vLLM with the largest numbers,
// so that the sum of both is infinite.
func TestComputedValuesAreFiniteOrAbsent(t *testing.T) {
	page := func(n string) []string {
		var all []string
		for _, rank := range []string{"0", "1"} {
			for _, name := range []string{
				"prompt_tokens_total", "generation_tokens_total", "prefix_cache_hits_total",
				"num_requests_running", "num_requests_waiting",
			} {
				all = append(all, `vllm:`+name+`{engine="`+rank+`",model_name="m"} `+n)
			}
			all = append(
				all,
				histogram(
					"vllm:time_to_first_token_seconds",
					`engine="`+rank+`",model_name="m"`,
					n,
					"1.0 +Inf",
					n,
					n,
				)...)
		}
		return all
	}
	b := newBench(t, engine.VLLM, "m")
	b.page(page("0")...)
	for series, v := range b.page(page("1.7e308")...) {
		require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "%s is %v", series, v)
	}
}

// TestHistogramsAreSummedOrAbsent uses two ranks of a vLLM with four observations each.
func TestHistogramsAreSummedOrAbsent(t *testing.T) {
	const name = "vllm:e2e_request_latency_seconds"
	rank := func(n, sum string, counts ...string) []string {
		return histogram(name, `engine="`+n+`",model_name="m"`, sum, "1.0 5.0 +Inf", counts...)
	}
	for _, c := range []struct {
		name  string
		other []string
		want  map[string]float64
	}{
		{
			"both are whole", rank("0", "15", "1", "3", "4"),
			map[string]float64{
				`bucket{le="1.0", `:  2,
				`bucket{le="5.0", `:  6,
				`bucket{le="+Inf", `: 8,
				"sum{":               9e18,
				"count{":             8,
			},
		},
		{"a sum NaN", rank("0", "NaN", "1", "3", "4"), nil},
		{"a sum beyond all numbers", rank("0", "1.7e308", "1", "3", "4"), nil},
		{"a sum below 0", rank("0", "-1", "1", "3", "4"), nil},
		{"a last bucket NaN", rank("0", "15", "1", "3", "NaN"), nil},
		{"decreasing buckets", rank("0", "15", "9", "3", "4"), nil},
		{
			"a bound that the other lacks", rank("0", "15", "9", "9", "9")[1:],
			map[string]float64{
				`bucket{le="1.0", `:  1,
				`bucket{le="5.0", `:  12,
				`bucket{le="+Inf", `: 13,
				"sum{":               9e18,
				"count{":             13,
			},
		},
		{"no last bucket", without(rank("0", "15", "9", "9", "9"), `le="+Inf"`), nil},
		{"a bound that only the other has", without(rank("0", "15", "9", "9", "9"), `le="5.0"`), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, broken := newBench(t, engine.VLLM, "m"), uint64(1)
			got := b.page(append(rank("1", "9e18", "1", "3", "4"), c.other...)...)
			for series, want := range c.want {
				broken = 0
				require.Equal(t, want, got.get(t, `request_duration_seconds_`+series+`model_id="m"}`))
			}
			require.Equal(t, len(c.want), got.count("request_duration_seconds"), "all or none")
			require.Equal(t, broken, b.deriver.Stats().BrokenHistograms)
		})
	}
}

// TestBoundsBelowZeroAreOfNoDuration uses a vLLM in which most times to the first token are below -1 s.
func TestBoundsBelowZeroAreOfNoDuration(t *testing.T) {
	for bound, want := range map[string]bool{"0": true, "-1": false} {
		b := newBench(t, engine.VLLM, "m")
		var got values
		for n := range 4 {
			got = b.page(histogram("vllm:time_to_first_token_seconds", `engine="0",model_name="m"`, 5*n,
				bound+" 20 +Inf", 9*n, 10*n, 10*n)...)
		}
		require.Equal(t, want, hasSeries(got, `time_to_first_token_seconds_count{model_id="m"}`), bound)
		require.Equal(t, want, hasSeries(got, `time_to_first_token_percentile_seconds{model_id="m", percentile="50"}`), bound)
	}
}

// TestModelWithoutTokensHasNoTokenTimes uses a vLLM with an embedding model: what it
// shows as the time to the first token is the time of the request.
func TestModelWithoutTokensHasNoTokenTimes(t *testing.T) {
	times := func(name string, n int) []string {
		return histogram("vllm:"+name, `engine="0",model_name="m"`, 17*n, "20 +Inf", n, n)
	}
	after := func(tokens int) (got values) {
		b := newBench(t, engine.VLLM, "m")
		for _, n := range []int{0, 10, 30} {
			got = b.page(slices.Concat(
				[]string{
					fmt.Sprintf(`vllm:generation_tokens_total{engine="0",model_name="m"} %d`, tokens*n),
					fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, n),
				},
				times("time_to_first_token_seconds", n),
				times("request_time_per_output_token_seconds", n),
				times("e2e_request_latency_seconds", n),
			)...)
			require.Equal(t, n == 0 || tokens > 0, hasSeries(got, `time_to_first_token_seconds_count{model_id="m"}`), n)
		}
		return got
	}
	got, usual := after(0), after(5)
	for _, quantity := range []string{"time_to_first_token", "time_per_output_token"} {
		for _, series := range []string{
			`_seconds_count{model_id="m"}`,
			`_average_seconds{model_id="m"}`,
			`_percentile_seconds{model_id="m", percentile="50"}`, `_above_bound_ratio{model_id="m"}`,
		} {
			got.lacks(t, quantity+series, "it has no tokens")
			usual.get(t, quantity+series)
		}
	}
	require.InDelta(t, 17, got.get(t, `request_duration_average_seconds{model_id="m"}`), 1e-9)
}

// TestKVCacheTransfersAreInSecondsAndBytes uses an SGLang whose ranks of one batch show the
// same, in other units.
func TestKVCacheTransfersAreInSecondsAndBytes(t *testing.T) {
	got := newBench(t, engine.SGLang, "m").page(
		`sglang:kv_transfer_latency_ms_sum{model_name="m",tp_rank="0"} 250`, `sglang:kv_transfer_latency_ms_sum{model_name="m",tp_rank="1"} 250`,
		`sglang:kv_transfer_total_mb_sum{model_name="m",tp_rank="0"} 3`, `sglang:num_transfer_failed_reqs_total{model_name="m",tp_rank="0"} 5`,
	)
	require.Equal(t, 0.25, got.get(t, `kv_cache_transfer_seconds_total{model_id="m"}`))
	require.Equal(t, float64(3<<20), got.get(t, `kv_cache_transfer_bytes_total{model_id="m"}`))
	require.Equal(t, 5.0, got.get(t, `kv_cache_transfer_failures_total{model_id="m", reason="transfer"}`))
}

// TestTransfersAreNoCacheHits uses a vLLM to which others hand KV cache over, by connectors with series of
// their own and without: it counts the tokens as cached.
func TestTransfersAreNoCacheHits(t *testing.T) {
	const transfer = `vllm:nixl_xfer_time_seconds_sum{engine="0",model_name="m"} %d`
	for _, c := range []struct{ name, line string }{
		{"with NIXL", transfer},
		{"with another connector", `vllm:num_requests_running{engine="0",model_name="m"} %d`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.VLLM, "m")
			page := func(n int) values {
				const from = `vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source=%q} %d`
				return b.page(
					fmt.Sprintf(c.line, n),
					fmt.Sprintf(`vllm:prompt_tokens_total{engine="0",model_name="m"} %d`, 100*n),
					fmt.Sprintf(`vllm:prompt_tokens_cached_total{engine="0",model_name="m"} %d`, 90*n),
					fmt.Sprintf(from, "local_cache_hit", 10*n),
					fmt.Sprintf(from, "external_kv_transfer", 80*n),
					fmt.Sprintf(from, "local_compute", 10*n),
				)
			}
			page(1)
			require.InDelta(t, 0.1, page(2).get(t, `prompt_cache_hit_ratio{model_id="m"}`), 1e-9)
		})
	}
}

// TestCachesWithSeveralPools has SGLang's servers of models with a pool for sliding windows or states: the fullest
// counts, whichever pool the tokens in use are of.
func TestCachesWithSeveralPools(t *testing.T) {
	for name, c := range map[string]struct {
		stated, states, used string
		want                 float64
	}{
		"one pool, and what is stated is rounded":              {"0.12", "0", "1210", 0.121},
		"the window is fuller":                                 {"0.95", "0", "1000", 0.95},
		"the window is emptier, and holds more":                {"0.3", "0", "6000", 0.3},
		"the states are fuller, and what is stated lacks them": {"0.1", "0.95", "1000", 0.95},
		"the states are emptier":                               {"0.5", "0.2", "5000", 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			got := newBench(t, engine.SGLang, "m").page(
				`sglang:token_usage{model_name="m"} `+c.stated,
				`sglang:mamba_usage{model_name="m"} `+c.states,
				`sglang:num_used_tokens{model_name="m"} `+c.used,
				`sglang:max_total_num_tokens{model_name="m"} 10000`,
			)
			require.Equal(t, c.want, got.get(t, `kv_cache_utilization_ratio{model_id="m"}`))
		})
	}
}

// TestBlocksThatAreReserved has vLLM's caches: each rank of engine V1 reserves a block, and none of V0, which alone has
// blocks in the memory of the host.
func TestBlocksThatAreReserved(t *testing.T) {
	for swapped, want := range map[string]float64{"None": 99 * 16, "0": 99 * 16, "512": 100 * 16} {
		got := newBench(t, engine.VLLM, "m").page(
			`vllm:num_requests_running{model_name="m"} 0`,
			`vllm:cache_config_info{block_size="16",num_cpu_blocks="`+swapped+`",num_gpu_blocks="100"} 1`,
		)
		require.Equal(t, want, got.get(t, `kv_cache_capacity_tokens{model_id="m"}`), swapped)
	}
}
