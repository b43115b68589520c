package derive_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// The edges of rules: one request, none, and just enough of them.

func TestOneRequestHasPercentiles(t *testing.T) {
	page := func(all int) []string {
		return []string{
			"# TYPE trtllm_e2e_request_latency_seconds histogram",
			fmt.Sprintf(`trtllm_e2e_request_latency_seconds_bucket{model_name="m",le="1.0"} %d`, all),
			fmt.Sprintf(`trtllm_e2e_request_latency_seconds_bucket{model_name="m",le="+Inf"} %d`, all),
			fmt.Sprintf(`trtllm_e2e_request_latency_seconds_sum{model_name="m"} %d`, all),
			fmt.Sprintf(`trtllm_e2e_request_latency_seconds_count{model_name="m"} %d`, all),
		}
	}
	b := newBench(t, engine.TRTLLMServe, "m")
	b.page(page(7)...)
	got := b.page(page(8)...)
	for percentile, want := range map[string]float64{"50": 0.5, "95": 0.95} {
		require.InDelta(t, want, got.at(t, fmt.Sprintf(`request_duration_percentile_seconds{model_id="m", percentile=%q}`, percentile)), 1e-9)
	}
}

// TestTokensFoundBeforeTheirPromptCountsAreAllOfIt has a vLLM that found most of a
// long prompt in its cache, and is not done with the rest.
func TestTokensFoundBeforeTheirPromptCountsAreAllOfIt(t *testing.T) {
	const ratio = `prompt_cache_hit_ratio{model_id="m"}`
	b := newBench(t, engine.VLLM, "m")
	page := func(found, prompts int) values {
		return b.page(
			fmt.Sprintf(`vllm:prefix_cache_hits_total{engine="0",model_name="m"} %d`, found),
			fmt.Sprintf(`vllm:prompt_tokens_total{engine="0",model_name="m"} %d`, prompts),
		)
	}
	page(0, 100)
	require.InDelta(t, 1, page(9000, 200).at(t, ratio), 1e-9)
	require.InDelta(t, 0.9, page(9000, 10_100).at(t, ratio), 1e-9)
}

func TestAVersionWithoutRequestsIsNotCompared(t *testing.T) {
	for name, each := range map[string][2]served{
		"the older one":  {{"1", 0, 0, 0, 0}, {"2", 100, 50, 1000, 900}},
		"the newer one":  {{"1", 100, 50, 1000, 900}, {"2", 0, 0, 0, 0}},
		"both":           {{"1", 0, 0, 0, 0}, {"2", 0, 0, 0, 0}},
		"but not if one": {{"1", 0, 1, 0, 0}, {"2", 1, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVersions(t)
			v.serve(0, each[:]...)
			got := v.serve(1, each[:]...)
			if name == "but not if one" {
				got.differs(t, "version_error_ratio_difference", "2", "1")
				return
			}
			none(t, got)
		})
	}
}

// TestWhatShowsThatAnEngineWorks has each thing that may move while a request
// runs and tokens stand still.
func TestWhatShowsThatAnEngineWorks(t *testing.T) {
	for name, moves := range map[string]struct {
		line    string
		stalled bool
	}{
		"nothing":                         {``, true},
		"a request that ended well":       {`request_finish_total{finished_reason="stop"} %d`, false},
		"a request that failed":           {`request_failure_total %d`, false},
		"a request that its client ended": {`request_finish_total{finished_reason="abort"} %d`, true},
		"tokens":                          {`generation_tokens_total %d`, false},
		"prompts":                         {`prompt_tokens_total %d`, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, engine.NIM, "m")
			for n := range 2 + int(derive.DefaultStallAfter/(5*time.Second)) {
				page := []string{
					`num_requests_running 3`, `generation_tokens_total 100`, `prompt_tokens_total 100`, `request_failure_total 100`,
					`request_finish_total{finished_reason="stop"} 100`, `request_finish_total{finished_reason="abort"} 100`,
				}
				if moves.line != "" {
					page = with(page, fmt.Sprintf(moves.line, 100+n))
				}
				b.page(page...)
			}
			require.Equal(t, moves.stalled, b.deriver.Conditions().Still.For > 0)
		})
	}
}

// TestObjectivesAreInSecondsWhateverThePageCountsIn has buckets in milliseconds.
func TestObjectivesAreInSecondsWhateverThePageCountsIn(t *testing.T) {
	page := []string{"# TYPE nv_inference_first_response_histogram_ms histogram", `nv_inference_request_success{model="m",version="1"} 100`}
	for i, le := range []string{"500", "2000", "5000", "+Inf"} {
		page = append(page, fmt.Sprintf(`nv_inference_first_response_histogram_ms_bucket{model="m",version="1",le=%q} %d`, le, []int{40, 70, 90, 100}[i]))
	}
	page = append(page, `nv_inference_first_response_histogram_ms_sum{model="m",version="1"} 9000`, `nv_inference_first_response_histogram_ms_count{model="m",version="1"} 100`)
	for within, want := range map[time.Duration]struct {
		lower, upper float64
		reason       string
	}{
		2 * time.Second: {30, 30, "a bucket of nv_inference_first_response_histogram_ms ends at the target"},
		time.Second:     {30, 60, "between the buckets of nv_inference_first_response_histogram_ms that end at 0.5 s and 2 s: bad requests are counted as two bounds"},
	} {
		b := newBench(t, engine.Triton, "m").promises(derive.Objective{Name: derive.TTFT, Within: within, Share: 0.95}).facts(configured("m", "tensorrtllm", true))
		got := b.page(page...)
		require.Equal(t, []target.Check{{Name: "ttft", OK: true, Reason: want.reason}}, b.deriver.Objectives())
		require.Equal(t, want.lower, got.at(t, `slo_requests_bad_total{bound="lower", model="m", model_id="m", slo="ttft", version="1"}`))
		require.Equal(t, want.upper, got.at(t, `slo_requests_bad_total{bound="upper", model="m", model_id="m", slo="ttft", version="1"}`))
	}
}

// TestRowsOfZeroAreJudgedByThreeRequests has fewer, as many, and more.
func TestRowsOfZeroAreJudgedByThreeRequests(t *testing.T) {
	for requests, want := range map[int]float64{0: 0, 2: 0, 3: 1, 4: 1} {
		b := newBench(t, engine.Triton, "m")
		b.page(with(soundPage(10, 0), zeroRows()...)...)
		got := b.page(with(soundPage(10+requests, 0), zeroRows()...)...)
		require.Equal(t, want, got.at(t, found("engine_zero", "m")), requests)
	}
}

// TestCountersThatStayZeroAreJudgedByTwoRequests is the same of frozen counters.
func TestCountersThatStayZeroAreJudgedByTwoRequests(t *testing.T) {
	frozen := []string{`nv_inference_request_success{model="m",version="1"} 0`, `nv_inference_request_failure{model="m",version="1",reason="OTHER"} 0`}
	for requests, want := range map[int]float64{0: 0, 1: 0, 2: 1, 3: 1} {
		b := newBench(t, engine.Triton, "m")
		b.page(with(soundPage(10, 0), frozen...)...)
		got := b.page(with(soundPage(10+requests, 1000), frozen...)...)
		require.Equal(t, want, got.at(t, found("frozen_counters", "m")), requests)
	}
}

// TestTheTimesOfRequestsThatTritonWillShow has the histogram of core pull request 474,
// which no release has: of a model that hands its requests over it says nothing.
func TestTheTimesOfRequestsThatTritonWillShow(t *testing.T) {
	page := func(n int) []string {
		const l = `{model="m",version="1"`
		lines := []string{"# TYPE nv_inference_request_duration_histogram_us histogram", fmt.Sprintf(`nv_inference_request_success%s} %d`, l, 10*n)}
		for i, le := range []string{"100000", "1000000", "5000000", "+Inf"} {
			lines = append(lines, fmt.Sprintf(`nv_inference_request_duration_histogram_us_bucket%s,le=%q} %d`, l, le, []int{0, 5, 10, 10}[i]*n))
		}
		return append(lines, fmt.Sprintf(`nv_inference_request_duration_histogram_us_sum%s} %d`, l, 15_000_000*n), fmt.Sprintf(`nv_inference_request_duration_histogram_us_count%s} %d`, l, 10*n))
	}
	for decoupled, shown := range map[bool]bool{false: true, true: false} {
		b := newBench(t, engine.Triton, "m").facts(configured("m", "python", decoupled))
		b.page(page(1)...)
		got := b.page(page(2)...)
		for series, want := range map[string]float64{
			`request_duration_seconds_bucket{le="1", model="m", model_id="m", version="1"}`:              10,
			`request_duration_percentile_seconds{model="m", model_id="m", percentile="50", version="1"}`: 1,
			`request_duration_above_bound_ratio{model="m", model_id="m", version="1"}`:                   0,
		} {
			if !shown {
				got.lacks(t, series)
				continue
			}
			require.InDelta(t, want, got.at(t, series), 1e-9, series)
		}
	}
}
