package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// found returns the result of a check for a model id.
func found(check, id string) string {
	return fmt.Sprintf("source_anomaly{check=%q, model_id=%q}", check, id)
}

// soundPage returns a consistent page of one model.
func soundPage(requests, iterations int) []string {
	const l = `model="m",version="1"`
	return []string{
		fmt.Sprintf(`nv_inference_request_success{%s} %d`, l, requests),
		fmt.Sprintf(`nv_inference_request_failure{%s,reason="OTHER"} 3`, l),
		fmt.Sprintf(`nv_inference_request_duration_us{%s} %d`, l, 2_000_000*requests),
		fmt.Sprintf(`nv_inference_first_response_histogram_ms_sum{%s} %d`, l, 400*requests),
		fmt.Sprintf(`nv_inference_first_response_histogram_ms_count{%s} %d`, l, requests),
		fmt.Sprintf(`nv_llm_output_token_len_count{%s} %d`, l, requests),
		fmt.Sprintf(`nv_llm_output_token_len_sum{%s} %d`, l, 100*requests),
		fmt.Sprintf(`nv_llm_output_token_len_bucket{%s,le="+Inf"} %d`, l, requests),
		fmt.Sprintf(`nv_trt_llm_general_metrics{%s,general_type="iteration_counter"} %d`, l, iterations),
		fmt.Sprintf(`nv_trt_llm_request_metrics{%s,request_type="active"} 4`, l),
		fmt.Sprintf(`nv_trt_llm_request_metrics{%s,request_type="scheduled"} 4`, l),
		fmt.Sprintf(`nv_trt_llm_request_metrics{%s,request_type="max"} 8`, l),
		fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{%s,kv_cache_block_type="used"} 30`, l),
		fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{%s,kv_cache_block_type="free"} 70`, l),
		fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{%s,kv_cache_block_type="max"} 100`, l),
		fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{%s,kv_cache_block_type="fraction"} 0.3`, l),
	}
}

func TestSoundPagesHaveNoAnomaly(t *testing.T) {
	b := newBench(t, engine.Triton, "m")
	for n := range 20 {
		got := b.page(soundPage(10+n, 1000*n)...)
		require.Equal(t, 8, got.count("source_anomaly"))
		for series, v := range got {
			require.False(t, strings.HasPrefix(series, "source_anomaly") && v != 0, series)
		}
	}
	second := strings.ReplaceAll(strings.Join(soundPage(30, 20000), "\n"), `version="1"`, `version="2"`)
	b.page(append(soundPage(30, 20000), second)...).
		lacks(t, found("kv_blocks_mismatch", "m"), "nothing says which blocks are of which version")
}

// TestInterTokenLatencyEstimate uses requests of 2 s: 400 ms pass before the first of 100 tokens.
func TestInterTokenLatencyEstimate(t *testing.T) {
	const series, first = `time_per_output_token_average_seconds_estimate{model_id="m"}`, `nv_inference_first_response_histogram_ms_sum{model="m",version="1"} 4000`
	b := newBench(t, engine.Triton, "m").facts(configured("m", "tensorrtllm", true))
	b.page(soundPage(10, 0)...)
	require.InDelta(t, 1.6/99, b.page(soundPage(20, 1000)...).get(t, series), 1e-9)

	b = newBench(t, engine.Triton, "m").facts(configured("m", "tensorrtllm", true))
	b.page(soundPage(10, 0)...)
	got := b.page(
		replaceLines(
			soundPage(20, 1000),
			first,
			`nv_inference_first_response_histogram_ms_count{model="m",version="1"} 10`,
		)...)
	got.lacks(t, series, "no first token was measured")

	for _, part := range []string{"nv_inference_first_response_histogram_ms_count", "nv_llm_output_token_len_count"} {
		b = newBench(t, engine.Triton, "m").facts(configured("m", "tensorrtllm", true))
		for n := range 2 {
			b.page(without(soundPage(10+10*n, 1000*n), part)...).lacks(t, series, part+" is not there")
		}
	}
}

func TestAnomaliesSuppressFamilies(t *testing.T) {
	const l, kind = `model="m",version="1"`, `nv_trt_llm_kv_cache_block_metrics{model="m",version="1",kv_cache_block_type=`
	page := func(n int, changed ...string) []string { return replaceLines(soundPage(10+n, 1000*n), changed...) }
	stopped := []string{
		`nv_inference_request_success{` + l + `} 0`,
		`nv_inference_request_failure{` + l + `,reason="OTHER"} 0`,
	}
	none := []string{kind + `"max"} 0`, kind + `"used"} 30`, kind + `"free"} 0`}
	for _, tc := range []struct {
		name, check   string
		pages         [][]string
		absent, stays string
	}{
		{
			"a first response later than requests took", "decoupled_durations",
			[][]string{
				page(0, `nv_inference_request_duration_us{`+l+`} 2790`),
				page(1, `nv_inference_request_duration_us{`+l+`} 3069`),
			},
			"request_duration_average_seconds model_request_seconds_total",
			"requests_per_second requests_total",
		},
		{
			"counters that stay 0 while tokens of requests grow",
			"frozen_counters",
			[][]string{page(0, stopped...), page(5, stopped...)},
			"requests_total requests_per_second request_error_ratio request_duration_average",
			"generation_tokens_per_second",
		},
		{
			"an executor whose rows stay 0", "engine_zero",
			[][]string{page(0, zeroRows()...), page(9, zeroRows()...)},
			"saturation_ratio requests_running queue_depth kv_cache_utilization",
			"requests_per_second",
		},
		{
			"blocks that do not add up", "kv_blocks_mismatch",
			[][]string{page(0, kind+`"free"} 10`), page(1, kind+`"free"} 10`)},
			"kv_cache_utilization_ratio", "kv_cache_blocks{ requests_running",
		},
		{
			"a ratio that does not match the blocks", "kv_fraction_mismatch",
			[][]string{page(0, kind+`"fraction"} 0.64`), page(1, kind+`"fraction"} 0.64`)},
			"kv_cache_utilization_ratio", "kv_cache_blocks{",
		},
		{
			"failures that continue across a load", "failures_survived_unload",
			[][]string{page(0), page(1), page(2, stopped[0]), page(3, stopped[0])},
			"requests_total model_requests_total", "requests_failed_total",
		},
		{
			"an iteration counter of two instances", "flapping_gauges",
			[][]string{page(3), page(4, iterationsAt(20)), page(5), page(6, iterationsAt(40))},
			"requests_running saturation_ratio generation_tokens_per_second_estimate engine_iterations_total",
			"requests_per_second",
		},
		{
			"blocks that changed while the page was written", "kv_blocks_mismatch",
			[][]string{page(0), page(1, kind+`"free"} 69`)},
			"", "kv_cache_utilization_ratio",
		},
		{
			"a ratio of no blocks", "kv_fraction_mismatch",
			[][]string{page(0, none...), page(1, none...)},
			"", "requests_running",
		},
		{
			"a load after no failures", "failures_survived_unload",
			[][]string{page(0, stopped[1]), page(1, stopped[1]), page(2, stopped...), page(3, stopped...)},
			"", "requests_total",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, "m")
			var got values
			for _, p := range tc.pages {
				got = b.page(p...)
			}
			series := found(tc.check, "m")
			if tc.check == "decoupled_durations" {
				series = `source_anomaly{check="decoupled_durations", model="m", model_id="m"}`
			}
			require.Equal(t, tc.absent != "", got[series] == 1)
			for part := range strings.FieldsSeq(tc.absent) {
				require.Zero(t, got.count(part), "%s is falsified", part)
			}
			for part := range strings.FieldsSeq(tc.stays) {
				require.NotZero(t, got.count(part), "%s is right all the same", part)
			}
		})
	}
}

func zeroRows() []string {
	const l = `model="m",version="1"`
	zero := []string{`nv_trt_llm_general_metrics{` + l + `,general_type="iteration_counter"} 0`}
	for _, v := range []string{"active", "scheduled", "max"} {
		zero = append(zero, `nv_trt_llm_request_metrics{`+l+`,request_type="`+v+`"} 0`)
	}
	for _, v := range []string{"used", "free", "max", "fraction"} {
		zero = append(zero, `nv_trt_llm_kv_cache_block_metrics{`+l+`,kv_cache_block_type="`+v+`"} 0`)
	}
	return zero
}

func iterationsAt(n int) string {
	return fmt.Sprintf(`nv_trt_llm_general_metrics{model="m",version="1",general_type="iteration_counter"} %d`, n)
}

// TestInstantLLMUnderSlowEnsemble uses an ensemble whose LLM takes less than a millisecond, and
// whose requests take more than ten or less.
func TestInstantLLMUnderSlowEnsemble(t *testing.T) {
	line := func(model string, requests, micros int) []string {
		return []string{
			fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, model, requests),
			fmt.Sprintf(`nv_inference_request_duration_us{model=%q,version="1"} %d`, model, micros),
		}
	}
	for micros, want := range map[[2]int]float64{
		{10_000, 279}:    0,
		{10_001, 999}:    1,
		{10_001, 1000}:   0,
		{2_000_000, 279}: 1,
	} {
		got := newBench(
			t,
			engine.Triton,
			models()...).page(slices.Concat(line("ensemble", 10, 10*micros[0]), line("preprocessing", 10, 4000), line("tensorrt_llm", 10, 10*micros[1]))...)
		require.Equal(
			t,
			want,
			got.get(t, `source_anomaly{check="decoupled_durations", model="tensorrt_llm", model_id="ensemble"}`),
			micros,
		)
		got.get(
			t,
			`model_request_seconds_total{model="preprocessing", model_id="ensemble", role="part", version="1"}`,
			"a fast step is not an LLM",
		)
		got.get(t, `model_request_seconds_total{model="ensemble", model_id="ensemble", role="entry", version="1"}`)
	}
}

func TestTimesOfDecoupledModel(t *testing.T) {
	for requests, want := range map[int]float64{0: 0, 1: 1} {
		got := newBench(t, engine.Triton, "m").facts(configured("m", "python", true)).page(
			fmt.Sprintf(`nv_inference_request_success{model="m",version="1"} %d`, requests),
			fmt.Sprintf(`nv_inference_request_duration_us{model="m",version="1"} %d`, 100*requests),
		)
		require.Equal(
			t,
			want,
			got.get(t, `source_anomaly{check="decoupled_durations", model="m", model_id="m"}`),
			requests,
		)
	}
}

func TestImpossibleBlocksAreIgnored(t *testing.T) {
	b := newBench(t, engine.Triton, "m").facts(configured("m", "tensorrtllm", false))
	concluded := []string{
		`kv_cache_utilization_ratio{model_id="m"}`,
		`kv_cache_free_tokens{model_id="m"}`, `saturation_ratio{model_id="m"}`,
		`limited_by{model_id="m", resource="unknown"}`, `headroom_requests{model_id="m"}`,
	}
	page := func(n, used int) values {
		return b.page(replaceLines(soundPage(10+n, 1000*n),
			fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{model="m",version="1",kv_cache_block_type="used"} %d`, used),
			`nv_trt_llm_kv_cache_block_metrics{model="m",version="1",kv_cache_block_type="tokens_per"} 64`,
			`nv_trt_llm_request_metrics{model="m",version="1",request_type="waiting"} 2`)...)
	}
	for n := range 3 {
		for _, series := range concluded {
			require.Contains(t, page(3*n, 30), series)
		}
	}
	var got values
	for n := range 3 {
		got = page(10+n, 97)
	}
	require.Equal(t, 1.0, got.get(t, found("kv_blocks_mismatch", "m")))
	for _, series := range concluded {
		got.lacks(t, series)
	}
}

// TestGaugesOfGoneExecutor uses an executor whose iterations stand still: while it hangs it keeps
// its requests, after its process was killed it has none and requests to it fail.
func TestGaugesOfGoneExecutor(t *testing.T) {
	const running, limit = `requests_running{model_id="m"}`, `requests_limit{model_id="m"}`
	for _, c := range []struct {
		name     string
		failed   func(n int) int
		requests func(n int) int
		idle     bool
		absent   bool
	}{
		{"nothing is sent to it", func(int) int { return 3 }, func(int) int { return 20 }, false, false},
		{"all requests to it fail", func(n int) int { return 3 + n }, func(int) int { return 20 }, false, true},
		{"others end well", func(n int) int { return 3 + n }, func(n int) int { return 20 + n }, false, false},
		{"it had none", func(n int) int { return 3 + n }, func(int) int { return 20 }, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, "m")
			page := func(n, iterations int) []string {
				lines := replaceLines(
					soundPage(c.requests(n), 1000),
					iterationsAt(iterations),
					fmt.Sprintf(`nv_inference_request_failure{model="m",version="1",reason="OTHER"} %d`, c.failed(n)),
				)
				if c.idle {
					lines = replaceLines(
						lines,
						`nv_trt_llm_request_metrics{model="m",version="1",request_type="active"} 0`,
						`nv_trt_llm_request_metrics{model="m",version="1",request_type="scheduled"} 0`,
					)
				}
				return lines
			}
			b.page(page(0, 1000)...)
			var got values
			for n := range 5 {
				got = b.page(page(n, 1100)...)
				require.True(
					t,
					n > 2 || got[found("stale_gauges", "m")] == 0,
					"it may have iterated since the page before",
				)
			}
			require.Equal(t, c.absent, got.get(t, found("stale_gauges", "m")) == 1)
			require.Equal(t, !c.absent, hasSeries(got, running))
			require.Equal(t, !c.absent, hasSeries(got, limit))
			got = b.page(page(5, 1200)...)
			got.get(t, running, "it iterates again")
		})
	}
}

// TestExecutorIsZeroIfBothRowsAreZero tries every pair of values of the rows
// for the request limit and for iterations, while requests end.
func TestExecutorIsZeroIfBothRowsAreZero(t *testing.T) {
	const l = `model="m",version="1"`
	for _, limit := range []string{"0", "8"} {
		for _, iterations := range []string{"0", "7", "NaN"} {
			for ended, enough := range map[int]bool{0: false, 2: false, 3: true} {
				b := newBench(t, engine.Triton, "m")
				rows := append(
					zeroRows(),
					`nv_trt_llm_request_metrics{`+l+`,request_type="max"} `+limit,
					`nv_trt_llm_general_metrics{`+l+`,general_type="iteration_counter"} `+iterations,
				)
				b.page(replaceLines(soundPage(10, 0), rows...)...)
				got := b.page(replaceLines(soundPage(10+ended, 0), rows...)...)
				name := fmt.Sprintf("limit %s, iterations %s, %d ended", limit, iterations, ended)
				require.Equal(t, iterations != "NaN", hasSeries(got, found("engine_zero", "m")), name)
				require.Equal(t, limit == "0" && iterations == "0" && enough, got[found("engine_zero", "m")] == 1, name)
			}
		}
	}
}

// TestExecutorThatHangsIsNotGone uses an ensemble whose executor hangs, so that the scheduler in front of it rejects
// all requests: its gauges are those of a living process.
func TestExecutorThatHangsIsNotGone(t *testing.T) {
	for reason, gone := range map[string]bool{"REJECTED": false, "CANCELED": false, "BACKEND": true} {
		b := newBench(t, engine.Triton).facts(shipped()...).release("2.51.0")
		const llm = `model="tensorrt_llm",version="1"`
		var got values
		for n := range 10 {
			got = b.page(append(
				endings(map[string]ended{
					"ensemble": {"ok": 5, "OTHER": 8 * n}, "preprocessing": {"ok": 5 + 4*n},
					"tensorrt_llm": {"ok": 5, reason: 4 * n}, "postprocessing": {"ok": 5},
				}),
				`nv_trt_llm_general_metrics{`+llm+`,general_type="iteration_counter"} 100`,
				`nv_trt_llm_request_metrics{`+llm+`,request_type="active"} 8`,
				`nv_trt_llm_request_metrics{`+llm+`,request_type="max"} 8`,
			)...)
		}
		require.Equal(t, gone, got.get(t, found("stale_gauges", "ensemble")) == 1, reason)
		require.Equal(t, gone, len(b.conditions().Failing) > 0, reason)
		require.NotEmpty(t, b.conditions().Still, reason)
	}
}
