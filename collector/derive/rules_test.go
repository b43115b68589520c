package derive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// facts gives a bench what the server said of its models.
func (b *bench) facts(models ...engine.ModelFacts) *bench {
	b.t.Helper()
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
	}
	b.deriver.Identify(derive.Identity{
		Labels: labels.FromStrings("pool_id", "p", "replica_id", "r"), Source: engine.SourceTable,
		Topology: engine.NewTopology(b.engine, engine.Seen{Names: names}, models, nil),
	})
	return b
}

// configured is a model whose config is known.
func configured(name, backend string, decoupled bool) engine.ModelFacts {
	return engine.ModelFacts{Name: name, State: "READY", Configured: true, Backend: backend, Decoupled: decoupled}
}

// with replaces the values of series in lines, and adds those that are not there.
func with(lines []string, changed ...string) []string {
	out := append([]string(nil), lines...)
next:
	for _, c := range changed {
		series := c[:strings.LastIndexByte(c, ' ')+1]
		for i, l := range out {
			if strings.HasPrefix(l, series) {
				out[i] = c
				continue next
			}
		}
		out = append(out, c)
	}
	return out
}

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
	require.Equal(t, 1.234567, got.at(t, "model_request_seconds_total"+l))
	require.Equal(t, 0.000007, got.at(t, "model_queue_seconds_total"+l))
	require.Equal(t, 2.0, got.at(t, `model_compute_seconds_total{model="m", model_id="m", phase="infer", role="single", version="1"}`))
	require.Equal(t, 0.0015, got.at(t, "model_response_cache_hit_seconds_total"+l))
	require.Equal(t, 0.000421875, got.at(t, `kv_cache_transfer_seconds_total{model_id="m"}`))
	require.Equal(t, 1753462474.140189, got.at(t, `engine_last_iteration_timestamp_seconds{model_id="m"}`))
}

func TestHistogramsAndSummariesAreInSeconds(t *testing.T) {
	page := []string{
		`nv_inference_request_success{model="m",version="1"} 5`,
		"# TYPE nv_inference_first_response_histogram_ms histogram",
		`nv_inference_first_response_histogram_ms_count{model="m",version="1"} 4`,
		`nv_inference_first_response_histogram_ms_sum{model="m",version="1"} 1500`,
		`nv_inference_first_response_histogram_ms_bucket{model="m",version="1",le="100"} 1`,
		`nv_inference_first_response_histogram_ms_bucket{model="m",version="1",le="2000"} 4`,
		`nv_inference_first_response_histogram_ms_bucket{model="m",version="1",le="+Inf"} 4`,
		"# TYPE nv_inference_queue_summary_us summary",
		`nv_inference_queue_summary_us_count{model="m",version="1"} 4`,
		`nv_inference_queue_summary_us_sum{model="m",version="1"} 100`,
		`nv_inference_queue_summary_us{model="m",version="1",quantile="0.5"} 25`,
		`nv_inference_queue_summary_us{model="m",version="1",quantile="0.99"} Nan`,
	}
	const l = `model="m", model_id="m", `
	const end = `role="single", version="1"}`
	b := newBench(t, engine.Triton, "m")
	got := b.page(page...)
	require.Equal(t, 1.0, got.at(t, `model_first_response_seconds_bucket{le="0.1", `+l+end))
	require.Equal(t, 4.0, got.at(t, `model_first_response_seconds_bucket{le="2", `+l+end))
	require.Equal(t, 4.0, got.at(t, `model_first_response_seconds_bucket{le="+Inf", `+l+end))
	require.Equal(t, 1.5, got.at(t, `model_first_response_seconds_sum{`+l+end))
	require.Equal(t, 4.0, got.at(t, `model_first_response_seconds_count{`+l+end))
	require.Equal(t, 0.000025, got.at(t, `model_queue_duration_seconds{`+l+`quantile="0.5", `+end))
	got.lacks(t, `model_queue_duration_seconds{`+l+`quantile="0.99", `+end, "NaN is left out")
	require.Zero(t, b.deriver.Stats().NonFinite, "an idle summary is no fault")

	page[4] = `nv_inference_first_response_histogram_ms_bucket{model="m",version="1",le="100"} 9`
	for series := range b.page(page...) {
		require.False(t, strings.HasPrefix(series, "model_first_response"), "%s: buckets that fall are not passed on", series)
	}
	require.Equal(t, uint64(1), b.deriver.Stats().BrokenHistograms)
}

func TestAHistogramOfSeveralSeriesIsTheirSum(t *testing.T) {
	page := []string{"# TYPE e2e_request_latency_seconds histogram"}
	for _, of := range []string{"a", "b"} {
		page = append(page,
			`e2e_request_latency_seconds_bucket{engine_type="`+of+`",le="1",model_name="m"} 1`,
			`e2e_request_latency_seconds_bucket{engine_type="`+of+`",le="+Inf",model_name="m"} 4`,
			`e2e_request_latency_seconds_sum{engine_type="`+of+`",model_name="m"} 15`,
			`e2e_request_latency_seconds_count{engine_type="`+of+`",model_name="m"} 4`,
		)
	}
	got := newBench(t, engine.TRTLLMServe, "m").page(page...)
	require.Equal(t, 2.0, got.at(t, `request_duration_seconds_bucket{le="1", model_id="m"}`))
	require.Equal(t, 8.0, got.at(t, `request_duration_seconds_bucket{le="+Inf", model_id="m"}`))
	require.Equal(t, 30.0, got.at(t, `request_duration_seconds_sum{model_id="m"}`))
	require.Equal(t, 8.0, got.at(t, `request_duration_seconds_count{model_id="m"}`))
}

func TestNegativeCountersAreNotPassedOn(t *testing.T) {
	b := newBench(t, engine.Triton, models()...)
	got := b.page(with(trtllm(1, 1, 0, 64, 1, 120, 10), `nv_llm_output_token_len_sum{model="tensorrt_llm",version="1"} -5`, `nv_energy_consumption{gpu_uuid="GPU-1"} 0`)...)
	got.lacks(t, `generation_tokens_total{model_id="ensemble"}`)
	require.Equal(t, uint64(1), b.deriver.Stats().Negative, "0 is not negative")
}

// TestTokensAreEstimatedFromWhatAnIterationHas has a hundred iterations in five
// seconds, each with thirty tokens of prompts and four requests.
func TestTokensAreEstimatedFromWhatAnIterationHas(t *testing.T) {
	const batcher = `nv_trt_llm_inflight_batcher_metrics{model="llm",version="1",inflight_batcher_specific_metric=`
	b := newBench(t, engine.Triton, "llm")
	var got values
	for n := range 2 {
		got = b.page(
			fmt.Sprintf(`nv_inference_request_success{model="llm",version="1"} %d`, n),
			fmt.Sprintf(`nv_trt_llm_general_metrics{model="llm",version="1",general_type="iteration_counter"} %d`, 1000+100*n),
			batcher+`"total_context_tokens"} 30`, batcher+`"generation_requests"} 4`,
		)
	}
	require.InDelta(t, 600, got.at(t, `prompt_tokens_per_second_estimate{model_id="llm"}`), 1e-9)
	require.InDelta(t, 80, got.at(t, `generation_tokens_per_second_estimate{model_id="llm"}`), 1e-9)
}

func TestHowTheCacheWasSetUpIsShown(t *testing.T) {
	got := newBench(t, engine.TRTLLMServe, "m").page(
		`trtllm_request_success_total{model_name="m",finished_reason="stop"} 1`,
		`trtllm_kv_cache_config_info{model_name="m",cache_dtype="fp8",enable_block_reuse="true",enable_partial_reuse="true",free_gpu_memory_fraction="0.9",page_size="32"} 1`,
	)
	require.Equal(t, 1.0, got.at(t, `kv_cache_config_info{cache_dtype="fp8", enable_block_reuse="true", enable_partial_reuse="true", free_gpu_memory_fraction="0.9", model_id="m", page_size="32"}`))
}

// TestBatchesOfAModelThatShowsIterationsAreNotThoseThatTritonMakes has such a model
// next to another.
func TestBatchesOfAModelThatShowsIterationsAreNotThoseThatTritonMakes(t *testing.T) {
	b := newBench(t, engine.Triton, "llm", "resnet")
	var got values
	for n := range 2 {
		page := []string{fmt.Sprintf(`nv_trt_llm_general_metrics{model="llm",version="1",general_type="iteration_counter"} %d`, 100*n)}
		for _, name := range []string{"llm", "resnet"} {
			page = append(page, fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, name, 40*n), fmt.Sprintf(`nv_inference_count{model=%q,version="1"} %d`, name, 40*n), fmt.Sprintf(`nv_inference_exec_count{model=%q,version="1"} %d`, name, 10*n))
		}
		got = b.page(page...)
	}
	require.InDelta(t, 4, got.at(t, `model_batch_size_average{model="resnet", model_id="resnet", role="single", version="1"}`), 1e-9)
	got.lacks(t, `model_batch_size_average{model="llm", model_id="llm", role="single", version="1"}`)
}

func TestValuesThatAreNoNumbersAreCounted(t *testing.T) {
	for value, want := range map[string]uint64{"99": 0, "NaN": 1, "+Inf": 1, "-Inf": 1} {
		b := newBench(t, engine.Triton, models()...)
		b.page(with(trtllm(1, 1, 0, 64, 1, 120, 10), `nv_gpu_power_usage{gpu_uuid="GPU-1"} `+value)...)
		require.Equal(t, want, b.deriver.Stats().NonFinite, value)
	}
}

func TestReasonsAreInLowerCaseAndCodesAreReasons(t *testing.T) {
	got := newBench(t, engine.Triton, models()...).page(trtllm(1, 1, 0, 64, 1, 120, 10)...)
	require.Equal(t, 1.0, got.at(t, `requests_failed_total{class="server", model="ensemble", model_id="ensemble", reason="other", version="1"}`))
	got = newBench(t, engine.TRTLLMServe, "m").page(
		`trtllm_request_error_total{model_name="m",http_code="400"} 3`,
		`trtllm_request_success_total{model_name="m",finished_reason="stop"} 7`,
	)
	require.Equal(t, 3.0, got.at(t, `requests_failed_total{class="client", model_id="m", reason="http_400"}`))
	require.Equal(t, 7.0, got.at(t, `requests_finished_total{class="ok", finish_reason="stop", model_id="m"}`))
	require.Equal(t, 7.0, got.at(t, `requests_total{class="ok", model_id="m"}`))
	require.Equal(t, 3.0, got.at(t, `requests_total{class="client", model_id="m"}`))
	require.Equal(t, 0.0, got.at(t, `requests_total{class="server", model_id="m"}`), "it comes with the first")
}

func TestZeroOfTheUnknownIsAbsent(t *testing.T) {
	got := newBench(t, engine.TRTLLMServe, "m").page(
		`trtllm_max_batch_size_static{model_name="m",pid="1"} 0.0`,
		`trtllm_max_batch_size_runtime{model_name="m",pid="1"} 64.0`,
		`trtllm_cpu_memory_usage_bytes{model_name="m",pid="1"} 0.0`,
	)
	got.lacks(t, `batch_size_limit{kind="static", model_id="m"}`)
	require.Equal(t, 64.0, got.at(t, `batch_size_limit{kind="runtime", model_id="m"}`))
	got.lacks(t, `engine_memory_bytes{memory="cpu", model_id="m"}`)
}

func TestSaturation(t *testing.T) {
	const name = `saturation_ratio{model_id="ensemble"}`
	idle := with(trtllm(0, 0, 0, 64, 0, 120, 0), `nv_inference_pending_request_count{model="preprocessing",version="1"} 0`, `nv_inference_pending_request_count{model="tensorrt_llm",version="1"} 0`)
	for _, tc := range []struct {
		name string
		page []string
		want float64
	}{
		{"nothing asked for is 0", idle, 0},
		{"nothing asked for is 0 before the first iteration too", with(idle, `nv_trt_llm_request_metrics{model="tensorrt_llm",version="1",request_type="max"} 0`), 0},
		{"requests in flight by the limit", trtllm(13, 13, 0, 64, 0, 120, 0), 16.0 / 64},
		{"a full KV cache counts", trtllm(13, 13, 0, 64, 90, 120, 0), 0.75},
		{"more than 1 while requests wait", trtllm(64, 64, 0, 64, 1, 120, 0), 67.0 / 64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := newBench(t, engine.Triton, models()...).page(tc.page...)
			got.at(t, name)
			require.InDelta(t, tc.want, got.at(t, name), 1e-9)
		})
	}
	got := newBench(t, engine.Triton, "m").page(`nv_inference_request_success{model="m",version="1"} 5`)
	got.lacks(t, `saturation_ratio{model_id="m"}`, "unknown is absent")
}

func TestSaturationOfAnEngineThatSaysNoLimit(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		running, waiting       int
		cache, ratio, saturate float64
	}{
		{"nothing asked for is 0, whatever its cache holds", 0, 0, 0.4, 0, 0},
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
				require.InDelta(t, tc.ratio, got.at(t, `saturation_ratio{model_id="m"}`), 1e-9)
				require.InDelta(t, tc.saturate, got.at(t, `saturated{model_id="m"}`), 0)
			}
		})
	}
	got := newBench(t, engine.VLLM, "m").page(`vllm:num_requests_running{engine="0",model_name="m"} 3`, `vllm:num_requests_waiting{engine="0",model_name="m"} 0`)
	got.lacks(t, `saturation_ratio{model_id="m"}`, "neither a limit nor the use of the cache is known")
}

func TestSaturationOfAnIdleServeWhoseGaugesStandStill(t *testing.T) {
	page := func(active, done int) []string {
		return []string{
			fmt.Sprintf(`trtllm_request_success_total{model_name="m",finished_reason="stop"} %d`, done),
			fmt.Sprintf(`trtllm_num_requests_running{model_name="m",pid="1"} %d`, active),
			`trtllm_num_requests_waiting{model_name="m",pid="1"} 0`,
			`trtllm_max_num_active_requests{model_name="m",pid="1"} 64`,
		}
	}
	const name = `saturation_ratio{model_id="m"}`
	b := newBench(t, engine.TRTLLMServe, "m")
	require.Equal(t, 1.0/64, b.page(page(1, 5)...).at(t, name))
	require.Equal(t, 1.0/64, b.page(page(1, 6)...).at(t, name))
	var got values
	for range 13 {
		got = b.page(page(1, 6)...)
	}
	require.Zero(t, got.at(t, name), "no request ended for a window: the last one is done")
	require.Equal(t, 3.0/64, b.page(page(3, 6)...).at(t, name), "several in flight are")
}

func TestSetCHasNothingThatItsServerCannotKnow(t *testing.T) {
	r := newRig(t, simulate.Spec{
		Kind: simulate.KindTritonLLMAPI, Setup: simulate.Setup{Histograms: true, Summaries: true}, Workload: simulate.Workload{Rate: 4, ErrorRate: 0.1},
	}, scrapeEvery)
	unknowable := []string{"tokens", "queue_depth", "saturat", "requests_running", "requests_active", "kv_cache", "error_ratio", "request_duration_average", "request_duration_percentile", "model_request_seconds", "model_compute", "engine_iter", "engine_mem"}
	for range 30 {
		r.replica.Advance(scrapeEvery)
		got, _ := r.scrape()
		for series := range got {
			for _, part := range unknowable {
				require.NotContains(t, series, part)
			}
		}
		got.at(t, `requests_total{class="unknown", model="tensorrt_llm", model_id="tensorrt_llm", version="1"}`)
	}
	got, _ := r.scrape()
	require.Equal(t, 1.0, got.at(t, `source_anomaly{check="decoupled_durations", model="tensorrt_llm", model_id="tensorrt_llm"}`))
	got.at(t, `time_to_first_token_average_seconds{model="tensorrt_llm", model_id="tensorrt_llm", version="1"}`, "the first response of a stream is known")
}

func TestPoolOfEnsemblesCountsEachRequestOnce(t *testing.T) {
	t.Parallel()
	total, rate, want := 0.0, 0.0, 0.0
	for seed := range uint64(4) {
		r := newRig(t, simulate.Spec{Seed: seed, Streaming: seed%2 == 0, Workload: simulate.Workload{Rate: 5}}, scrapeEvery)
		var got values
		var truth, before simulate.Truth
		for n := range 30 {
			r.replica.Advance(scrapeEvery)
			got, truth = r.scrape()
			if n == 29-windowPages {
				before = truth
			}
		}
		for series, v := range got {
			if strings.HasPrefix(series, "requests_total{") {
				total += v
			}
			if strings.HasPrefix(series, "requests_per_second{") {
				rate += v
			}
		}
		total -= float64(truth.Finished + truth.Failed)
		want += float64(truth.Finished-before.Finished) / time.Minute.Seconds()
	}
	require.Zero(t, total)
	require.InDelta(t, want, rate, 1e-9)
}

func TestAnEntryThatIsUnloadedTakesNothingFromAnothersCounters(t *testing.T) {
	const (
		other = `requests_total{class="unknown", model="tensorrt_llm_bls", model_id="ensemble", version="1"}`
		own   = `requests_total{class="ok", model="ensemble", model_id="ensemble", version="1"}`
	)
	b := newBench(t, engine.Triton, append(models(), "tensorrt_llm_bls")...)
	bls := `nv_inference_request_success{model="tensorrt_llm_bls",version="1"} 3`
	got := b.page(`nv_inference_request_success{model="ensemble",version="1"} 6`, bls)
	require.Equal(t, []float64{6, 3}, []float64{got.at(t, own), got.at(t, other)})
	got = b.page(bls)
	got.lacks(t, own)
	require.Equal(t, 3.0, got.at(t, other))
	got = b.page(bls, `nv_inference_request_success{model="ensemble",version="1"} 0`)
	require.Equal(t, []float64{0, 3}, []float64{got.at(t, own), got.at(t, other)}, "a reset of one alone")
}

func TestQueueOfModelsThatTritonItselfQueues(t *testing.T) {
	page := []string{
		`nv_inference_request_success{model="resnet",version="1"} 5`,
		`nv_inference_pending_request_count{model="resnet",version="1"} 12`,
		`nv_inference_count{model="resnet",version="1"} 5`,
		`nv_inference_exec_count{model="resnet",version="1"} 5`,
	}
	b := newBench(t, engine.Triton, "resnet").facts(configured("resnet", "onnxruntime", false))
	require.Equal(t, 12.0, b.page(page...).at(t, `queue_depth{model_id="resnet"}`))
	got := b.page(with(page, `nv_inference_count{model="resnet",version="1"} 29`, `nv_inference_exec_count{model="resnet",version="1"} 9`)...)
	require.Equal(t, 6.0, got.at(t, `model_batch_size_average{model="resnet", model_id="resnet", role="single", version="1"}`))
	got = newBench(t, engine.Triton, "resnet").facts(configured("resnet", "python", true)).page(page...)
	got.lacks(t, `queue_depth{model_id="resnet"}`, "a decoupled model's queue is elsewhere")
	require.Equal(t, 12.0, got.at(t, `queue_requests{model_id="resnet", queue="core"}`))
}

func TestPercentilesInterpolateInsideTheirBucket(t *testing.T) {
	page := func(a, b, all int) []string {
		return []string{
			"# TYPE trtllm_e2e_request_latency_seconds histogram",
			fmt.Sprintf(`trtllm_e2e_request_latency_seconds_bucket{model_name="m",le="1.0"} %d`, a),
			fmt.Sprintf(`trtllm_e2e_request_latency_seconds_bucket{model_name="m",le="3.0"} %d`, b),
			fmt.Sprintf(`trtllm_e2e_request_latency_seconds_bucket{model_name="m",le="+Inf"} %d`, all),
			fmt.Sprintf(`trtllm_e2e_request_latency_seconds_sum{model_name="m"} %d`, 2*all),
			fmt.Sprintf(`trtllm_e2e_request_latency_seconds_count{model_name="m"} %d`, all),
		}
	}
	const p50, p99 = `request_duration_percentile_seconds{model_id="m", percentile="50"}`, `request_duration_percentile_seconds{model_id="m", percentile="99"}`
	b := newBench(t, engine.TRTLLMServe, "m")
	b.page(page(100, 100, 100)...).lacks(t, p50)
	got := b.page(page(140, 180, 200)...)
	require.InDelta(t, 1.5, got.at(t, p50), 1e-9, "50 of 100, 10 of the 40 between 1 and 3")
	got.lacks(t, p99, "beyond the last bound nothing is known")
	require.InDelta(t, 0.2, got.at(t, `request_duration_above_bound_ratio{model_id="m"}`), 1e-9)
	require.InDelta(t, 2, got.at(t, `request_duration_average_seconds{model_id="m"}`), 1e-9)
	for range 13 {
		got = b.page(page(140, 180, 200)...)
	}
	got.lacks(t, p50, "without requests there is none")
}

func TestInterruptionsAddUp(t *testing.T) {
	s := derive.Stats{Resets: 1, NonFinite: 2}
	s.Add(derive.Stats{Resets: 1, Restarts: 2, Gaps: 3, ClockJumps: 4, NonFinite: 5, Negative: 6, BrokenHistograms: 7})
	require.Equal(t, derive.Stats{Resets: 2, Restarts: 2, Gaps: 3, ClockJumps: 4, NonFinite: 7, Negative: 6, BrokenHistograms: 7}, s)
}

func TestDerivedBlocksAreGoodPages(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		r := newRig(t, func() simulate.Spec {
			spec := s.spec
			spec.Workload = simulate.Workload{Rate: 4}
			return spec
		}(), scrapeEvery)
		for range 14 {
			r.replica.Advance(scrapeEvery)
			r.scrape()
		}
		page, _ := r.replica.Observe()
		raw, err := r.cache.Parse(page, "")
		require.NoError(t, err)
		out := r.deriver.Derive(time.Hour, raw)
		var text []byte
		for i, f := range out.Shape().Families() {
			text = append(text, fmt.Sprintf("# TYPE %s %s\n", f.Name, f.Type)...)
			text = out.AppendFamily(text, i)
		}
		again := exposition.NewCache(exposition.Options{})
		back, err := again.Parse(text, "")
		require.NoError(t, err)
		require.Equal(t, strings.Count(string(text), "\n")-len(out.Shape().Families()), back.Shape().Lines(), "%s: nothing of it is dropped", s.name)
	}
}

func TestAnEstimateGivesWayToWhatIsCounted(t *testing.T) {
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
	require.InDelta(t, 0.5, got.at(t, estimate), 1e-9, "64 of each 128 tokens")
	got.lacks(t, exact)
	b = newBench(t, engine.TRTLLMServe, "m")
	b.page(page(1, `trtllm_kv_cache_missed_blocks_total{model_name="m"} 1`)...)
	got = b.page(page(3, `trtllm_kv_cache_missed_blocks_total{model_name="m"} 2`)...)
	require.InDelta(t, 2.0/3, got.at(t, exact), 1e-9)
	got.lacks(t, estimate, "the misses are counted here")
}

// TestBucketsAreComparedOverOneStretch has a bucket that was no number on one page,
// and no request that took more than 5 s.
func TestBucketsAreComparedOverOneStretch(t *testing.T) {
	b := newBench(t, engine.TRTLLMServe, "m")
	page := func(le1, le5, all string) values {
		const name = "trtllm_e2e_request_latency_seconds"
		return b.page("# TYPE "+name+" histogram",
			name+`_bucket{model_name="m",le="1.0"} `+le1, name+`_bucket{model_name="m",le="5.0"} `+le5,
			name+`_bucket{model_name="m",le="+Inf"} `+all, name+`_sum{model_name="m"} 3`+all, name+`_count{model_name="m"} `+all)
	}
	page("0", "0", "0")
	page("10", "NaN", "100")
	page("10", "100", "100")
	require.Zero(t, page("10", "110", "110").at(t, `request_duration_above_bound_ratio{model_id="m"}`))
}
