package derive_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// trtllm returns a page of a TensorRT-LLM in Triton with the given gauges.
func trtllm(active, scheduled, waiting, limit, used, blocks, tokens int) []string {
	const l = `model="tensorrt_llm",version="1"`
	return []string{
		`nv_inference_request_success{model="ensemble",version="1"} 7`,
		`nv_inference_request_failure{model="ensemble",reason="OTHER",version="1"} 1`,
		`nv_inference_request_success{` + l + `} 7`,
		`nv_inference_pending_request_count{model="ensemble",version="1"} 0`,
		`nv_inference_pending_request_count{model="preprocessing",version="1"} 2`,
		`nv_inference_request_success{model="preprocessing",version="1"} 7`,
		`nv_inference_pending_request_count{` + l + `} 1`,
		fmt.Sprintf(`nv_trt_llm_request_metrics{%s,request_type="active"} %d`, l, active),
		fmt.Sprintf(`nv_trt_llm_request_metrics{%s,request_type="scheduled"} %d`, l, scheduled),
		fmt.Sprintf(`nv_trt_llm_request_metrics{%s,request_type="waiting"} %d`, l, waiting),
		fmt.Sprintf(`nv_trt_llm_request_metrics{%s,request_type="max"} %d`, l, limit),
		fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{%s,kv_cache_block_type="used"} %d`, l, used),
		fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{%s,kv_cache_block_type="max"} %d`, l, blocks),
		fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{%s,kv_cache_block_type="tokens_per"} 64`, l),
		"# TYPE nv_llm_output_token_len histogram",
		fmt.Sprintf(`nv_llm_output_token_len_sum{%s} %d`, l, tokens),
		fmt.Sprintf(`nv_llm_output_token_len_count{%s} %d`, l, tokens/10),
	}
}

func models() []string { return []string{"ensemble", "preprocessing", "tensorrt_llm"} }

func TestDeriveQueueRequestsAndCacheOfTriton(t *testing.T) {
	b := newBench(t, engine.Triton, models()...)
	got := b.page(trtllm(64, 60, 4, 64, 30, 120, 1000)...)
	require.InDelta(
		t,
		7,
		got.get(t, `queue_depth{model_id="ensemble"}`),
		0,
		"2 wait for preprocessing and 1 for the LLM in the core, 4 in the engine",
	)
	require.InDelta(t, 3, got.get(t, `queue_requests{model_id="ensemble", queue="core"}`), 0)
	require.InDelta(t, 4, got.get(t, `queue_requests{model_id="ensemble", queue="engine"}`), 0)
	require.InDelta(t, 60, got.get(t, `requests_running{model_id="ensemble"}`), 0)
	require.InDelta(t, 1, got.get(t, `saturated{model_id="ensemble"}`), 0)
	require.InDelta(t, 0.25, got.get(t, `kv_cache_utilization_ratio{model_id="ensemble"}`), 0)
	require.InDelta(t, 120*64, got.get(t, `kv_cache_capacity_tokens{model_id="ensemble"}`), 0)
	require.InDelta(
		t,
		7,
		got.get(t, `requests_total{class="ok", model="ensemble", model_id="ensemble", version="1"}`),
		0,
		"requests count at the ensemble, not at its parts",
	)
	require.InDelta(
		t,
		1,
		got.get(t, `requests_total{class="server", model="ensemble", model_id="ensemble", version="1"}`),
		0,
	)
	require.InDelta(
		t,
		1,
		got.get(
			t,
			`info{engine_version="2.64.0", trtllm_version="1.1.0", trtllm_version_source="compatibility_table"}`,
		),
		0,
	)
}

func TestDeriveTokensOfRunningRequestsAreNotWaiting(t *testing.T) {
	page := append(trtllm(64, 60, 4, 64, 30, 120, 1000),
		`nv_inference_request_success{model="postprocessing",version="1"} 900`,
		`nv_inference_pending_request_count{model="postprocessing",version="1"} 17`)
	got := newBench(t, engine.Triton, append(models(), "postprocessing")...).page(page...)
	require.InDelta(t, 7, got.get(t, `queue_depth{model_id="ensemble"}`), 0, "what waits for postprocessing is "+
		"tokens of requests that run")
	require.InDelta(t, 3, got.get(t, `queue_requests{model_id="ensemble", queue="core"}`), 0)
	require.InDelta(
		t,
		17,
		got.get(t, `model_requests_pending{model="postprocessing", model_id="ensemble", role="part", version="1"}`),
		0,
	)
}

func TestDeriveWaitingWithoutQueueGauge(t *testing.T) {
	page := without(trtllm(12, 8, 0, 64, 1, 120, 0), "waiting")
	got := newBench(t, engine.Triton, models()...).page(page...)
	require.InDelta(t, 4, got.get(t, `queue_requests{model_id="ensemble", queue="engine"}`), 0)
}

func TestDeriveNothingFromExecutorBeforeStart(t *testing.T) {
	got := newBench(t, engine.Triton, models()...).page(trtllm(0, 0, 0, 0, 0, 0, 0)...)
	for _, gauge := range []string{"requests_running", "requests_limit", "queue_depth", "kv_cache", "saturated"} {
		require.Zero(t, got.count(gauge), "%s is not known before the first iteration", gauge)
	}
	got.get(t, `requests_total{class="ok", model="ensemble", model_id="ensemble", version="1"}`)
}

func TestDeriveNothingFromUnloadedModel(t *testing.T) {
	b := newBench(t, engine.Triton, models()...)
	b.page(trtllm(5, 5, 0, 64, 30, 120, 1000)...)
	got := b.page(without(trtllm(5, 5, 0, 64, 30, 120, 1000), `success{model="tensorrt_llm"`)...)
	got.lacks(t, `requests_running{model_id="ensemble"}`, "its gauges stay on the page, frozen")
	got.lacks(t, `kv_cache_utilization_ratio{model_id="ensemble"}`)
	got = b.page(trtllm(5, 5, 0, 64, 30, 120, 1000)...)
	require.InDelta(t, 5, got.get(t, `requests_running{model_id="ensemble"}`), 0)
	got.lacks(t, `generation_tokens_per_second{model_id="ensemble"}`, "what went on in between is not known")
}

// TestDeriveNothingFromVersionThatIsGone has series of another version of the model beside those of the one
// that is loaded.
func TestDeriveNothingFromVersionThatIsGone(t *testing.T) {
	const model = `{model="tensorrt_llm",version="`
	version := func(v string, running int) []string {
		return []string{
			`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="` + v + `"} ` +
				strconv.Itoa(running),
			`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="` + v + `"} 64`,
			`nv_trt_llm_inflight_batcher_metrics{model="tensorrt_llm",inflight_batcher_specific_metric="` +
				`total_context_tokens",version="` + v + `"} 0`,
			`nv_trt_llm_general_metrics{general_type="iteration_counter",model="tensorrt_llm",version="` + v + `"} 9`,
		}
	}
	for _, c := range []struct {
		name    string
		counted []string
		limit   float64
	}{
		{"1 gave way to 2", []string{`nv_inference_request_success` + model + `2"} 5`}, 64},
		{
			"and 1 once failed",
			[]string{
				`nv_inference_request_success` + model + `2"} 5`, `nv_inference_request_failure` + model + `1"} 5`,
				`nv_inference_request_failure` + model + `2"} 0`,
			},
			64,
		},
		{
			"both are loaded",
			[]string{
				`nv_inference_request_success` + model + `1"} 5`, `nv_inference_request_success` + model + `2"} 5`,
			},
			128,
		},
		{"the page counts no versions", []string{`nv_inference_request_success{model="tensorrt_llm"} 5`}, 128},
	} {
		b := newBench(t, engine.Triton, "tensorrt_llm")
		page := slices.Concat(c.counted, version("1", 7), version("2", 3))
		b.page(page...)
		got := b.page(page...)
		require.InDelta(t, c.limit, got.get(t, `requests_limit{model_id="tensorrt_llm"}`), 0, c.name)
	}
}

func TestDeriveNothingFromOnlyModelOnceUnloaded(t *testing.T) {
	got := newBench(t, engine.Triton, "tensorrt_llm").page(
		`nv_inference_request_failure{model="tensorrt_llm",reason="BACKEND",version="1"} 2`,
		`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 64`,
		`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled",version="1"} 5`,
		`nv_llm_output_token_len_sum{model="tensorrt_llm",version="1"} 900`,
	)
	for _, frozen := range []string{"requests_running", "requests_limit", "generation_tokens"} {
		require.Zero(t, got.count(frozen), "%s stays as it is on the page of a model that is gone", frozen)
	}
}

func TestDeriveNoTokensWithoutCounters(t *testing.T) {
	b := newBench(t, engine.Triton, "tensorrt_llm")
	for range 3 {
		got := b.page(
			`nv_inference_request_success{model="tensorrt_llm",version="1"} 5`,
			`nv_inference_pending_request_count{model="tensorrt_llm",version="1"} 0`,
		)
		require.Zero(t, got.count("generation_tokens")+got.count("prompt_tokens"))
		require.Zero(t, got.count("queue_depth"), "pending is 0 for a backend that hands over at once")
		require.InDelta(
			t,
			5,
			got.get(t, `requests_total{class="unknown", model="tensorrt_llm", model_id="tensorrt_llm", version="1"}`),
			0,
		)
	}
}

func TestDeriveNewestOfSeveralProcesses(t *testing.T) {
	page := func(old, live int) []string {
		return []string{
			fmt.Sprintf(`trtllm_num_requests_waiting{model_name="m",pid="10"} %d`, old),
			fmt.Sprintf(`trtllm_num_requests_waiting{model_name="m",pid="20"} %d`, live),
		}
	}
	b := newBench(t, engine.TRTLLMServe, "m")
	require.InDelta(
		t,
		1,
		b.page(page(9, 1)...).get(t, `queue_depth{model_id="m"}`),
		0,
		"of those that are all new, the last on the page",
	)
	require.InDelta(
		t,
		3,
		b.page(page(9, 3)...).get(t, `queue_depth{model_id="m"}`),
		0,
		"the gauge of a dead process stays as it was and does not count",
	)
	require.InDelta(t, 5, b.page(page(5, 3)...).get(t, `queue_depth{model_id="m"}`), 0)
}

func TestDeriveKeepsRatesWhenSeriesAreReordered(t *testing.T) {
	const rate = `generation_tokens_per_second{model_id="ensemble"}`
	b := newBench(t, engine.Triton, models()...)
	b.page(trtllm(1, 1, 0, 64, 1, 120, 1000)...)
	page := trtllm(1, 1, 0, 64, 1, 120, 1500)
	page[0], page[3] = page[3], page[0]
	require.InDelta(t, 100, b.page(page...).get(t, rate), 1e-9)
	page = append([]string{`nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5`}, trtllm(1, 1, 0, 64, 1, 120, 2000)...)
	got := b.page(page...)
	require.InDelta(t, 100, got.get(t, rate), 1e-9)
	require.InDelta(t, 0.5, got.get(t, `gpu_utilization_ratio{gpu_uuid="GPU-1"}`), 0)
}

// TestReplicasWithRelabeledGPUs uses replicas that may share an index.
// Only the ends of GPU names are shown and sorted by: they are in the order of the
// names for one replica, and in the opposite order for another.
func TestReplicasWithRelabeledGPUs(t *testing.T) {
	shortened := func(lset labels.Labels) exposition.Labeled {
		b := labels.NewBuilder(lset)
		if gpu := lset.Get(exposition.LabelGPU); gpu != "" {
			b.Set(exposition.LabelGPU, gpu[len(gpu)-2:])
		}
		return exposition.Labeled{Labels: b.Labels(), Keep: true}
	}
	var all []*bench // An index is shared for as long as a target has it.
	for _, gpus := range [][2]string{{"GPU-a-11", "GPU-b-22"}, {"GPU-z-11", "GPU-c-22"}, {"GPU-y-11", "GPU-d-22"}} {
		b := newBench(t, engine.Triton, "m").with(func(o *derive.Options) { o.Naming.Relabel = shortened })
		b.label = new(exposition.Labeler(shortened))
		all = append(all, b)
		got := b.page(
			`nv_inference_request_success{model="m",version="1"} 5`,
			`nv_gpu_power_usage{gpu_uuid="`+gpus[0]+`"} 100`, `nv_gpu_power_usage{gpu_uuid="`+gpus[1]+`"} 200`,
		)
		require.Equal(t, 100.0, got.get(t, `gpu_power_watts{gpu_uuid="11"}`), gpus)
		require.Equal(t, 200.0, got.get(t, `gpu_power_watts{gpu_uuid="22"}`), gpus)
	}
	require.Len(t, all, 3)
}
