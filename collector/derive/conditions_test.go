package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// busy returns a page of an executor with active requests and iterations, and no queue before it.
func busy(active, iterations int) []string {
	return replaceLines(
		without(trtllm(active, active, 0, 8, 1, 100, 500), "pending"),
		fmt.Sprintf(
			`nv_trt_llm_general_metrics{general_type="iteration_counter",model="tensorrt_llm",version="1"} %d`,
			iterations,
		),
	)
}

func TestExecutorStall(t *testing.T) {
	const pages = int(derive.DefaultStallAfter / (5 * time.Second))
	for _, tc := range []struct {
		name string
		// then is the behavior after a first page with work.
		then func(b *bench)
		want bool
	}{
		{"frozen for as long as is allowed", func(b *bench) { b.frozen(pages) }, true},
		{"frozen for less", func(b *bench) { b.frozen(pages - 1) }, false},
		{"frozen without work", func(b *bench) { b.repeat(pages, busy(0, 100)) }, false},
		{"an iteration in between", func(b *bench) {
			b.frozen(pages - 1)
			b.page(busy(3, 101)...)
		}, false},
		{"frozen over a gap between scrapes", func(b *bench) {
			b.frozen(pages - 2)
			b.now += time.Minute
			b.frozen(1)
		}, true},
		{"new work for an idle executor", func(b *bench) {
			b.repeat(2*pages, busy(0, 100))
			b.frozen(1)
		}, false},
		{"a new process", func(b *bench) {
			b.frozen(pages - 1)
			b.page(busy(3, 1)...)
		}, false},
		{"completed work", func(b *bench) {
			b.frozen(pages)
			b.page(busy(0, 101)...)
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, models()...)
			require.Zero(t, longest(b), "before any page")
			b.page(busy(3, 100)...)
			tc.then(b)
			require.Equal(t, tc.want, longest(b).InFlight == 3)
		})
	}
}

// repeat shows a page several times and returns the values of the last.
func (b *bench) repeat(pages int, page []string) (got values) {
	for range pages {
		got = b.page(page...)
	}
	return got
}

// frozen returns pages of an executor with work that does nothing.
func (b *bench) frozen(pages int) { b.repeat(pages, busy(3, 100)) }

// ensemblePage returns a page of an ensemble: success, failures (each counted twice), clients that
// left, and iterations of the executor.
func ensemblePage(succeeded, failed, canceled, iterations int) []string {
	return []string{
		fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, succeeded),
		fmt.Sprintf(`nv_inference_request_failure{model="ensemble",reason="OTHER",version="1"} %d`, 2*failed),
		fmt.Sprintf(`nv_inference_request_failure{model="ensemble",reason="CANCELED",version="1"} %d`, canceled),
		`nv_inference_request_success{model="tensorrt_llm",version="1"} 7`,
		fmt.Sprintf(
			`nv_trt_llm_general_metrics{general_type="iteration_counter",model="tensorrt_llm",version="1"} %d`,
			iterations,
		),
	}
}

func TestFailing(t *testing.T) {
	for _, tc := range []struct {
		name  string
		pages [][4]int
		want  bool
	}{
		{"five failures on two pages", [][4]int{{7, 0}, {7, 1}, {7, 5}}, true},
		{"four, each of which the page counts twice", [][4]int{{7, 0}, {7, 1}, {7, 4}}, false},
		{"one bad page", [][4]int{{7, 0}, {7, 5}, {7, 5}}, false},
		{"one success among failures", [][4]int{{7, 0}, {7, 3}, {8, 6}}, false},
		{"disconnected clients", [][4]int{{7, 0, 0}, {7, 0, 3}, {7, 0, 6}}, false},
		{"a success afterwards", [][4]int{{7, 0}, {7, 3}, {7, 6}, {8, 6}}, false},
		{"failures of before the first page", [][4]int{{7, 9}, {7, 9}, {7, 9}}, false},
		{"failures behind the executor, which goes on", [][4]int{{7, 0, 0, 10}, {7, 1, 0, 20}, {7, 5, 0, 30}}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, models()...)
			for _, p := range tc.pages {
				b.page(ensemblePage(p[0], p[1], p[2], p[3])...)
			}
			c := b.conditions()
			require.Equal(t, tc.want, len(c.Failing) == 1, "%+v", c.Failing)
			if tc.want {
				require.Equal(t, "ensemble", c.Failing[0].Model)
				require.InDelta(t, 5, c.Failing[0].Requests, 0)
				require.False(t, c.Failing[0].Acquitted, "nothing speaks for it")
			}
		})
	}
}

// TestFailuresCountOverMissedPages has failures on both sides of a gap.
func TestFailuresCountOverMissedPages(t *testing.T) {
	b := newBench(t, engine.Triton, models()...)
	b.page(ensemblePage(7, 0, 0, 1)...)
	b.page(ensemblePage(7, 2, 0, 1)...)
	b.now += 10 * time.Minute
	b.page(ensemblePage(7, 5, 0, 1)...)
	require.Len(t, b.conditions().Failing, 1)
	b.now += 10 * time.Minute
	b.page(ensemblePage(9, 9, 0, 1)...)
	require.Empty(t, b.conditions().Failing, "a request ended well in between")
}

// TestAnswersAcquit has a vLLM that answers some requests with an error, on each page. What ends in the engine with no
// answer came by another way, or is one of several completions of a request that failed: the page does not tell, unless
// it counts those requests once each, too.
func TestAnswersAcquit(t *testing.T) {
	for _, c := range []struct {
		name             string
		ended, answers   [5]int
		once             int
		accused, unclear bool
	}{
		{"others are answered", [5]int{0, 5, 10, 15, 20}, [5]int{0, 5, 10, 15, 20}, 0, false, false},
		{"their answers are on the next page", [5]int{0, 5, 5, 10, 10}, [5]int{0, 0, 5, 5, 10}, 0, false, false},
		{"each ends eight times in the engine", [5]int{0, 8, 16, 24, 32}, [5]int{0, 1, 2, 3, 4}, 0, false, false},
		{"the API fails on what the engine did", [5]int{0, 3, 6, 9, 12}, [5]int{}, 0, true, false},
		{"others end over gRPC, or these eight times", [5]int{0, 24, 48, 72, 96}, [5]int{}, 0, true, true},
		{"nothing ends well", [5]int{}, [5]int{}, 0, true, false},
		{"each ends eight times, as the page tells", [5]int{0, 24, 48, 72, 96}, [5]int{}, 3, true, false},
		{"others end over gRPC, as the page tells", [5]int{0, 24, 48, 72, 96}, [5]int{}, 24, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.VLLM, "m")
			for n := range 5 {
				page := []string{
					fmt.Sprintf(`vllm:request_success_total{finished_reason="stop",model_name="m"} %d`, c.ended[n]),
					fmt.Sprintf(`vllm:generation_tokens_total{model_name="m"} %d`, 20*c.ended[n]),
					fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} %d`, 1+c.answers[n]),
					fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} %d`, 3*n),
				}
				if c.once > 0 {
					page = append(page, fmt.Sprintf(`vllm:request_params_n_count{model_name="m"} %d`, n*c.once))
				}
				b.page(page...)
			}
			accused, unclear := false, false
			for _, f := range b.conditions().Failing {
				accused, unclear = accused || !f.Acquitted, unclear || f.Unclear
			}
			require.Equal(t, c.accused, accused)
			require.Equal(t, c.unclear, unclear, "whether the page tells")
		})
	}
}

// TestEndsWithoutAnswersServeOnceNothingFails has a vLLM whose requests come by another way. For a few pages those of
// its API fail.
func TestEndsWithoutAnswersServeOnceNothingFails(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	var served []float64
	for n := range 40 {
		b.page(
			fmt.Sprintf(`vllm:request_success_total{finished_reason="stop",model_name="m"} %d`, 10*n),
			fmt.Sprintf(`vllm:generation_tokens_total{model_name="m"} %d`, 200*n),
			`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 1`,
			fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} %d`, 3*min(max(n-5, 0), 4)),
		)
		served = append(served, b.conditions().Served)
	}
	require.Positive(t, served[5], "nothing has failed yet")
	require.InDelta(t, served[7], served[20], 0, "nobody knows what became of them")
	require.Greater(t, served[39], served[20], "nothing has failed for a window")
	require.Empty(t, b.conditions().Failing)
}

// TestTokensAcquitAfterSeveralCompletions has a vLLM of which one request ended four times in the engine, and was
// answered once. One client's requests fail since, while tokens of another one's long answer move.
func TestTokensAcquitAfterSeveralCompletions(t *testing.T) {
	for _, before := range []int{0, 3} {
		b := newBench(t, engine.VLLM, "m")
		for n := range 8 {
			first := min(n, 1)
			b.page(
				`vllm:num_requests_running{model_name="m"} 1`,
				fmt.Sprintf(`vllm:request_success_total{finished_reason="stop",model_name="m"} %d`, 4*first),
				fmt.Sprintf(`vllm:generation_tokens_total{model_name="m"} %d`, 100+20*n),
				fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} %d`, first),
				fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} %d`, 3*max(n-before, 0)),
			)
		}
		for _, f := range b.conditions().Failing {
			require.True(t, f.Acquitted, "failures since page %d: %+v", before, f)
		}
	}
}

// TestSuccessRefutesForAWindow has an entry most of whose requests fail, and of which one ends well now and then:
// that it was accused once, and refuted, is remembered.
func TestSuccessRefutesForAWindow(t *testing.T) {
	b := newBench(t, engine.Triton, models()...)
	var accused []int
	for n := range 24 {
		b.page(ensemblePage(7+n/6, 4*n, 0, 1)...)
		for _, f := range b.conditions().Failing {
			if !f.Acquitted {
				accused = append(accused, n)
			}
		}
	}
	require.NotEmpty(t, accused, "before one ended well")
	require.Less(t, slices.Max(accused), 6, "accused on pages %v", accused)
	for n := range 40 {
		b.page(ensemblePage(10, 4*(24+n), 0, 1)...)
	}
	require.False(t, b.conditions().Failing[0].Acquitted, "none ended well for a window")
}

// TestTokensOfNobodyInFlightAcquitNobody has an SGLang all of whose requests are answered 500, while tokens of prompts or answers
// move: those of a kubelet's checks, those that the failed requests had, or those of a request in flight.
func TestTokensOfNobodyInFlightAcquitNobody(t *testing.T) {
	for _, c := range []struct {
		mode          string
		running, open int
		accused       bool
	}{
		{"prefill_compute", 0, 0, true},
		{"prefill_compute", 0, 1, true},
		{"prefill_compute", 1, 1, false},
		{"decode", 0, 0, true},
		{"decode", 1, 0, false},
	} {
		b := newBench(t, engine.SGLang, "m")
		for n := range 6 {
			b.page(
				`sglang:num_requests_total{is_streaming="false",model_name="m"} 7`,
				`sglang:realtime_tokens_total{mode="decode",model_name="m"} 7`,
				fmt.Sprintf(`sglang:num_running_reqs{model_name="m"} %d`, c.running),
				fmt.Sprintf(`sglang:http_requests_active{endpoint="/generate",method="POST"} %d`, c.open),
				fmt.Sprintf(`sglang:realtime_tokens_total{dp_rank="1",mode=%q,model_name="m"} %d`, c.mode, 7+n),
				fmt.Sprintf(`sglang:http_responses_total{endpoint="/generate",method="POST",status_code="500"} %d`, 3*n),
			)
		}
		require.Equal(t, c.accused, slices.ContainsFunc(b.conditions().Failing, func(f derive.Failures) bool {
			return !f.Acquitted
		}), "%+v: %+v", c, b.conditions().Failing)
	}
}

// TestPartsThatClientsCall has an ensemble whose LLM fails all requests, of which clients may have sent some to it
// and not to the ensemble.
func TestPartsThatClientsCall(t *testing.T) {
	for _, tc := range []struct {
		name string
		// Each page shows so many more requests to the ensemble, and failures of it and of the LLM.
		succeeded, failed, ofLLM int
		accused                  bool
	}{
		{"clients call the LLM", 0, 0, 3, true},
		{"clients call the ensemble, which fails too", 0, 3, 3, false},
		{"clients call the ensemble, and it does without", 3, 0, 3, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ensemble := configured("ensemble", "", false)
			ensemble.Platform, ensemble.Steps = "ensemble", []string{"preprocessing", "tensorrt_llm"}
			b := newBench(t, engine.Triton).facts(
				ensemble, configured("preprocessing", "python", false), configured("tensorrt_llm", "tensorrtllm", false),
			)
			for n := range 4 {
				b.page(append(
					ensemblePage(7+n*tc.succeeded, n*tc.failed, 0, 1),
					fmt.Sprintf(`nv_inference_request_failure{model="tensorrt_llm",reason="BACKEND",version="1"} %d`, n*tc.ofLLM),
				)...)
			}
			accused := slices.ContainsFunc(b.conditions().Failing, func(f derive.Failures) bool {
				return f.Model == "tensorrt_llm" && f.Part == "tensorrt_llm" && !f.Acquitted
			})
			require.Equal(t, tc.accused, accused, "%+v", b.conditions().Failing)
		})
	}
}

// besideEnsemble returns a Triton with an ensemble, a BLS model over the same parts, and a model of its own.
func besideEnsemble(t *testing.T) *bench {
	t.Helper()
	ensemble := configured("ensemble", "", false)
	ensemble.Steps = []string{"preprocessing", "tensorrt_llm", "postprocessing"}
	return newBench(t, engine.Triton).facts(
		ensemble,
		configured("preprocessing", "python", false),
		configured("tensorrt_llm", "tensorrtllm", false),
		configured("postprocessing", "python", false),
		configured("tensorrt_llm_bls", "python", true),
		configured("ranker", "onnxruntime", false),
	).with(func(o *derive.Options) { o.Naming.EngineVersion = "2.64.0" })
}

// TestAcquittal has an ensemble of which all requests fail, next to other entries.
func TestAcquittal(t *testing.T) {
	const bls = `nv_inference_request_success{model="tensorrt_llm_bls",version="1"} %d`
	const other = `nv_inference_request_success{model="ranker",version="1"} %d`
	for _, tc := range []struct {
		name string
		// line is of the other entry, whose counter and whose executor's iterations move.
		line              string
		moves, iterations bool
		acquitted         bool
	}{
		{"nobody else", other, false, false, false},
		{"tokens of the requests that fail", other, false, true, false},
		{"requests to a model that counts its failures end well", other, true, false, true},
		{"requests are accepted by a model that does not", bls, true, false, false},
		{"they are accepted, and tokens move", bls, true, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := besideEnsemble(t)
			b.page(append(ensemblePage(7, 0, 0, 1), fmt.Sprintf(tc.line, 1))...)
			for n := range 3 {
				page := ensemblePage(7, 2*(n+1), 0, 1+steps(tc.iterations, n))
				b.page(append(page, fmt.Sprintf(tc.line, 1+steps(tc.moves, n)))...)
			}
			c := b.conditions()
			require.Len(t, c.Failing, 1)
			require.Equal(t, "ensemble", c.Failing[0].Model)
			require.Equal(t, tc.acquitted, c.Failing[0].Acquitted)
			require.Equal(t, tc.line == bls && tc.moves, len(c.Uncounted) == 1, "%v", c.Uncounted)
		})
	}
}

// TestTokensOfBeforeTheFailuresAcquitNobody has a frontend that loses its workers between two pages:
// the tokens of until then are on the page that shows the first failures.
func TestTokensOfBeforeTheFailuresAcquitNobody(t *testing.T) {
	for _, tc := range []struct {
		name    string
		tokens  []int
		accused bool
	}{
		{"nothing moves any more", []int{120, 120, 120}, true},
		{"tokens of others go on", []int{120, 130, 140}, false},
		{"tokens of others go on, and then none", []int{120, 130, 130, 130}, true},
		{"they go on after a page without", []int{100, 100, 110}, false},
		{"and stop again", []int{100, 100, 110, 110, 110}, true},
		{"nothing moved before either", []int{100, 100, 100}, true},
		{"they stop, go on, and stop", []int{120, 120, 130, 130, 130}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.Dynamo, "m")
			page := func(failed, tokens int) {
				b.page(
					`dynamo_frontend_requests_total{error_type="",model="m",status="success"} 7`,
					fmt.Sprintf(
						`dynamo_frontend_requests_total{error_type="unavailable",model="m",status="error"} %d`,
						failed,
					),
					fmt.Sprintf(`dynamo_frontend_output_tokens_total{model="m"} %d`, tokens),
				)
			}
			page(0, 90)
			page(0, 100)
			for n, tokens := range tc.tokens {
				page(4*(n+1), tokens)
			}
			c := b.conditions()
			require.Equal(t, tc.accused, len(c.Failing) > 0 && !c.Failing[0].Acquitted, c.Failing)
		})
	}
}

// TestAcquittalLastsForAWindow has an entry that fails all the time, and another one that serves sometimes.
func TestAcquittalLastsForAWindow(t *testing.T) {
	const window = 12 // Pages, of 5 s each.
	for _, tc := range []struct {
		name string
		// served are the pages on which the other entry serves, of those on which the first fails.
		served []int
		pages  int
		want   bool
	}{
		{"all the time", []int{1, 2, 3, 4, 5, 6}, 6, true},
		{"within the window", []int{1, 2}, 2 + window, true},
		{"longer ago", []int{1, 2}, 2 + window + 1, false},
		{"again and again", []int{2, 12, 22, 32}, 40, true},
		{"never", nil, 4, false},
		{"on the page with the first failures, which may have come later", []int{0}, 4, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).facts(
				configured("a", "onnxruntime", false), configured("b", "onnxruntime", false),
			).with(func(o *derive.Options) { o.Naming.EngineVersion = "2.64.0" })
			served := 7
			page := func(failed int) {
				b.page(
					`nv_inference_request_success{model="a",version="1"} 7`,
					fmt.Sprintf(`nv_inference_request_success{model="b",version="1"} %d`, served),
					fmt.Sprintf(`nv_inference_request_failure{model="a",reason="BACKEND",version="1"} %d`, failed),
					`nv_inference_request_failure{model="b",reason="BACKEND",version="1"} 0`,
				)
			}
			page(0)
			for n := range tc.pages + 1 {
				if slices.Contains(tc.served, n) {
					served++
				}
				page(3 * (n + 1))
			}
			c := b.conditions()
			require.Len(t, c.Failing, 1)
			require.Equal(t, tc.want, c.Failing[0].Acquitted)
		})
	}
}

// TestCacheShowsSteps uses servers that count nothing while a request runs, and whose KV cache fills.
func TestCacheShowsSteps(t *testing.T) {
	for _, tc := range []struct {
		kind           engine.Name
		running, cache string
	}{
		{engine.SGLang, `sglang:num_running_reqs{model_name="m"} 4`, `sglang:token_usage{model_name="m"} 0.%d`},
		{
			engine.TRTLLMServe, `trtllm_num_requests_running{model_name="m"} 4`,
			`trtllm_kv_cache_utilization{model_name="m"} 0.%d`,
		},
	} {
		t.Run(string(tc.kind), func(t *testing.T) {
			for grows, want := range map[int]float64{0: 4, 1: 0} {
				b := newBench(t, tc.kind, "m")
				for n := range 9 {
					b.page(tc.running, fmt.Sprintf(tc.cache, 10+grows*n))
				}
				c := b.conditions()
				require.Equal(t, want, first(c.Still).InFlight, "requests of which nothing moves, growth %d", grows)
				require.Equal(t, 8*grows, c.Steps)
			}
		})
	}
}

// TestStepsAreShownWhileRequestsRun has servers that show how full their KV cache is, and of which nothing moves. Of
// one that writes this only when a request ends, a long request looks the same.
func TestStepsAreShownWhileRequestsRun(t *testing.T) {
	for _, c := range []struct {
		kind     engine.Name
		page     []string
		stepless bool
	}{
		{
			engine.TRTLLMServe,
			[]string{
				`trtllm_num_requests_running{model_name="m"} 4`, `trtllm_kv_cache_used_blocks{model_name="m"} 70`,
				`trtllm_kv_cache_utilization{model_name="m"} 0.3`,
				`trtllm_request_success_total{model_name="m",finished_reason="stop"} 9`,
			},
			true,
		},
		{
			engine.VLLM,
			[]string{`vllm:num_requests_running{model_name="m"} 4`, `vllm:kv_cache_usage_perc{model_name="m"} 0.3`},
			false,
		},
	} {
		b := newBench(t, c.kind, "m")
		for range 9 {
			b.page(c.page...)
		}
		conditions := b.conditions()
		require.Equal(t, c.stepless, first(conditions.Still).Stepless, c.kind)
		require.Equal(t, c.stepless, conditions.Stepless, c.kind)
	}
}

// TestUsedTokensShowSteps uses SGLang before 0.5.11, whose use of the KV cache is rounded to two digits and whose
// tokens count when their request ends.
func TestUsedTokensShowSteps(t *testing.T) {
	for _, tc := range []struct {
		name string
		used func(n int) int
		more []string
		want bool
	}{
		{"they grow with each token", func(n int) int { return 8000 + 200*n }, nil, false},
		{"they stay", func(int) int { return 8000 }, nil, true},
		{"nobody uses any", func(int) int { return 0 }, nil, true},
		{"they are set aside and computed again", func(n int) int { return 8000 + 200*(n%3) }, nil, true},
		{
			"one ends badly, and others go on", func(n int) int { return 8000 + 200*n - 2000*min(n/6, 1) }, nil, false,
		},
		{
			"the newer count stays", func(n int) int { return 8000 + 200*n },
			[]string{`sglang:kv_used_tokens{model_name="m",tp_rank="0"} 8000`},
			true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.SGLang, "m")
			for n := range 19 {
				b.page(append(tc.more,
					`sglang:num_running_reqs{model_name="m",tp_rank="0"} 4`,
					`sglang:num_requests_total{model_name="m"} 100`,
					`sglang:generation_tokens_total{model_name="m"} 2000`,
					`sglang:token_usage{model_name="m",tp_rank="0"} 0.01`,
					fmt.Sprintf(`sglang:num_used_tokens{model_name="m",tp_rank="0"} %d`, tc.used(n)))...)
			}
			require.Equal(t, tc.want, len(b.conditions().Still) > 0)
		})
	}
}

// TestPromptsThatAreComputedAgainAndAgain has requests whose prompts are computed, set aside and computed again, so that
// the KV cache fills and empties, and prompt tokens count, without a token or an end for anybody.
func TestPromptsThatAreComputedAgainAndAgain(t *testing.T) {
	again := func(n int) int { return 50 + 10*(n%4) }
	for _, tc := range []struct {
		name  string
		used  func(n int) int
		still bool
	}{
		{"the cache fills again and again", again, true},
		{"it fills during one long prefill", func(n int) int { return 50 + n }, false},
		{"one gives up, and the next prefill fills it from there", func(n int) int { return 50 + n - 20*(n/10) }, false},
		{"it stays as it is", func(int) int { return 50 }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vllm, sglang := newBench(t, engine.VLLM, "m"), newBench(t, engine.SGLang, "m")
			for n := range 19 {
				vllm.page(
					`vllm:num_requests_running{engine="0",model_name="m"} 2`,
					`vllm:num_requests_waiting{engine="0",model_name="m"} 9`,
					`vllm:generation_tokens_total{engine="0",model_name="m"} 70`,
					fmt.Sprintf(`vllm:num_preemptions_total{engine="0",model_name="m"} %d`, n),
					fmt.Sprintf(`vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.%d`, tc.used(n)))
				sglang.page(
					`sglang:num_running_reqs{model_name="m",tp_rank="0"} 2`,
					`sglang:num_queue_reqs{model_name="m",tp_rank="0"} 9`,
					`sglang:realtime_tokens_total{model_name="m",tp_rank="0",mode="decode"} 70`,
					fmt.Sprintf(`sglang:realtime_tokens_total{model_name="m",tp_rank="0",mode="prefill_compute"} %d`, 900*n),
					fmt.Sprintf(`sglang:token_usage{model_name="m",tp_rank="0"} 0.%d`, tc.used(n)))
			}
			require.Equal(t, tc.still, len(vllm.conditions().Still) > 0, "vLLM")
			require.Equal(t, tc.still, len(sglang.conditions().Still) > 0, "SGLang")
		})
	}
}

// TestForgottenFailures uses an entry that fails for a while beside another one, which goes on.
func TestForgottenFailures(t *testing.T) {
	b := newBench(t, engine.Dynamo, "a", "b")
	page := func(failed, served int) {
		b.page(
			fmt.Sprintf(`dynamo_frontend_requests_total{error_type="internal",model="a",status="error"} %d`, failed),
			fmt.Sprintf(`dynamo_frontend_requests_total{error_type="",model="b",status="success"} %d`, served),
			fmt.Sprintf(`dynamo_frontend_output_tokens_total{model="b"} %d`, 9*served),
		)
	}
	for n := range 5 {
		page(4*n, n)
	}
	failing := b.conditions().Failing
	require.Len(t, failing, 1)
	require.Equal(t, "a", failing[0].Model, "what clients call it")
	for n := range 14 {
		page(16, 5+n)
	}
	require.Empty(t, b.conditions().Failing, "nobody has called it for a window")
}

// TestLateAbortsAreNoSuccess uses an SGLang of which all requests fail, or are given up by their clients, and
// whose page counts the latter as ended one page before it counts them as aborted.
func TestLateAbortsAreNoSuccess(t *testing.T) {
	b := newBench(t, engine.SGLang, "m")
	failed := func(n int) string {
		const line = `sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="500"} %d`
		return fmt.Sprintf(line, n)
	}
	b.page(append(sglangCounts(10, 0), failed(0))...)
	for n := range 8 {
		b.page(append(sglangCounts(11+n, n), failed(2*(n+1)))...)
	}
	c := b.conditions()
	require.Len(t, c.Failing, 1)
	require.False(t, c.Failing[0].Acquitted, "acquitted: %+v", c.Failing[0])
	b.page(append(sglangCounts(20, 8), failed(16))...)
	const answered = `sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} 1`
	b.page(append(sglangCounts(21, 8), failed(16), answered)...)
	b.page(append(sglangCounts(21, 8), failed(16), answered)...)
	require.Empty(t, b.conditions().Failing, "a request ended well")
}

// TestTokensOfRequestsThatAreGivenUp uses servers that count tokens when a request ends, however it does.
func TestTokensOfRequestsThatAreGivenUp(t *testing.T) {
	for _, tc := range []struct {
		kind   engine.Name
		tokens string
	}{
		{engine.SGLang, `sglang:generation_tokens_total{is_streaming="true",model_name="m"} %d`},
		{engine.SGLang, `sglang:prompt_tokens_total{is_streaming="true",model_name="m"} %d`},
		{engine.TRTLLMServe, `trtllm_generation_tokens_total{model_name="m"} %d`},
		{engine.Dynamo, `dynamo_frontend_output_sequence_tokens_sum{model="m"} %d`},
	} {
		t.Run(tc.tokens, func(t *testing.T) {
			b := newBench(t, tc.kind, "m")
			for n := range 4 {
				b.page(fmt.Sprintf(tc.tokens, 100+n))
			}
			require.Zero(t, b.conditions().Movements, "pages on which tokens moved")
		})
	}
}

// TestClientsThatLeaveMayBeTheFailures has a frontend of which only requests of type internal end: early releases count
// a client that leaves before its first token as one, beside the clients that left.
func TestClientsThatLeaveMayBeTheFailures(t *testing.T) {
	type counts struct{ ok, internal, cancelled, gone int }
	for _, tc := range []struct {
		name string
		// then is what the pages after the first one count.
		then    []counts
		unclear bool
	}{
		{"as many left", []counts{{7, 2, 0, 2}, {7, 4, 0, 4}, {7, 6, 0, 6}}, true},
		{"nobody left", []counts{{7, 2, 0, 0}, {7, 4, 0, 0}, {7, 6, 0, 0}}, false},
		{"fewer left", []counts{{7, 2, 0, 1}, {7, 4, 0, 2}, {7, 6, 0, 3}}, false},
		{"they left while tokens came", []counts{{7, 2, 2, 2}, {7, 4, 4, 4}, {7, 6, 6, 6}}, false},
		{"as many left before", []counts{{8, 0, 0, 9}, {9, 0, 0, 9}, {9, 3, 0, 9}, {9, 6, 0, 9}}, false},
		{"the first left on a page with a success", []counts{{9, 0, 0, 1}, {9, 2, 0, 3}, {9, 5, 0, 5}}, true},
		{"they left, and then nobody did", []counts{{7, 3, 0, 3}, {7, 6, 0, 6}, {7, 9, 0, 6}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.Dynamo, "m")
			for _, n := range append([]counts{{ok: 7}}, tc.then...) {
				const failed = `dynamo_frontend_requests_total{error_type=%q,model="m",status="error"} %d`
				b.page(
					fmt.Sprintf(`dynamo_frontend_requests_total{error_type="",model="m",status="success"} %d`, n.ok),
					fmt.Sprintf(failed, "internal", n.internal),
					fmt.Sprintf(failed, "cancelled", n.cancelled),
					fmt.Sprintf(`dynamo_frontend_disconnected_clients %d`, n.gone),
				)
			}
			failing := b.conditions().Failing
			require.Len(t, failing, 1)
			require.Equal(t, tc.unclear, failing[0].Unclear, "%+v", failing[0])
		})
	}
}

// TestRequestsOfAWorkerEnd uses a worker, whose engine counts what it finished.
func TestRequestsOfAWorkerEnd(t *testing.T) {
	b := newBench(t, engine.Dynamo, "m")
	for n := range 4 {
		b.page(
			`dynamo_component_inflight_requests{dynamo_component="backend",dynamo_endpoint="generate"} 2`,
			`vllm:num_requests_running{dynamo_component="backend",model_name="m"} 2`,
			fmt.Sprintf(
				`vllm:request_success_total{dynamo_component="backend",finished_reason="stop",model_name="m"} %d`, 7+4*n,
			),
		)
	}
	require.Equal(t, 12.0, b.conditions().Served)
}

// TestFailuresBesideTokensAreSaid uses a frontend of two models: all requests to one fail, and nothing but the
// tokens of the other one move.
func TestFailuresBesideTokensAreSaid(t *testing.T) {
	b := newBench(t, engine.Dynamo, "a", "b")
	for n := range 5 {
		b.page(
			fmt.Sprintf(`dynamo_frontend_requests_total{error_type="internal",model="a",status="error"} %d`, 4*n),
			`dynamo_frontend_requests_total{error_type="",model="b",status="success"} 7`,
			fmt.Sprintf(`dynamo_frontend_output_tokens_total{model="b"} %d`, 100+9*n),
		)
	}
	c := b.conditions()
	require.Len(t, c.Failing, 1)
	require.Equal(t, 16.0, c.Failing[0].Requests)
	require.True(t, c.Failing[0].Acquitted, "tokens speak for the replica")
}

// TestPartsOfModelsThatCountNoFailures has an ensemble and a BLS model, whose error responses count as
// successes, over the same parts (seen in Triton 2.51, whose process of a part was killed).
func TestPartsOfModelsThatCountNoFailures(t *testing.T) {
	type counts struct{ bls, ranker, ensembleFailed, part, partFailed int }
	for _, tc := range []struct {
		name string
		// then is what a page counts, the nth after the first.
		then func(n int) counts
		want string
	}{
		{
			"requests are accepted, and a part only fails",
			func(n int) counts { return counts{bls: 3 * n, partFailed: 3 * n} },
			"postprocessing of tensorrt_llm_bls",
		},
		{"a part fails sometimes", func(n int) counts { return counts{bls: 3 * n, part: n, partFailed: 2 * n} }, ""},
		{"a part fails rarely", func(n int) counts { return counts{bls: 3 * n, partFailed: n} }, ""},
		{
			"nothing is accepted: clients call the part",
			func(n int) counts { return counts{partFailed: 3 * n} },
			"postprocessing of postprocessing",
		},
		{
			"the ensemble counts its own failures",
			func(n int) counts { return counts{ensembleFailed: 3 * n, partFailed: 3 * n} },
			"of ensemble",
		},
		{
			"both are in use",
			func(n int) counts { return counts{bls: 3 * n, ensembleFailed: 3 * n, partFailed: 6 * n} },
			"of ensemble, acquitted",
		},
		{
			"another model serves, which speaks for the replica",
			func(n int) counts { return counts{bls: 3 * n, ranker: n, partFailed: 3 * n} },
			"postprocessing of tensorrt_llm_bls, acquitted",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := besideEnsemble(t)
			for n := range 4 {
				c := tc.then(n)
				b.page(
					fmt.Sprintf(`nv_inference_request_success{model="tensorrt_llm_bls",version="1"} %d`, 7+c.bls),
					fmt.Sprintf(`nv_inference_request_success{model="ranker",version="1"} %d`, 7+c.ranker),
					`nv_inference_request_success{model="ensemble",version="1"} 7`,
					fmt.Sprintf(
						`nv_inference_request_failure{model="ensemble",reason="BACKEND",version="1"} %d`,
						c.ensembleFailed,
					),
					`nv_inference_request_success{model="tensorrt_llm",version="1"} 7`,
					fmt.Sprintf(`nv_inference_request_success{model="postprocessing",version="1"} %d`, 7+c.part),
					fmt.Sprintf(
						`nv_inference_request_failure{model="postprocessing",reason="BACKEND",version="1"} %d`,
						c.partFailed,
					),
					fmt.Sprintf(
						`nv_trt_llm_general_metrics{general_type="iteration_counter",model="tensorrt_llm",version="1"} %d`,
						100+n,
					),
				)
			}
			var got []string
			for _, f := range b.conditions().Failing {
				about := strings.TrimSpace(f.Part + " of " + f.Model)
				got = append(got, about+map[bool]string{true: ", acquitted"}[f.Acquitted])
			}
			require.Equal(t, tc.want, strings.Join(got, ", "))
		})
	}
}

// steps returns n steps further, or no step.
func steps(moves bool, n int) int {
	if moves {
		return n + 1
	}
	return 0
}

// TestOwnRequestsAreNoWitnesses has a server that only the exporter's own requests reach.
func TestOwnRequestsAreNoWitnesses(t *testing.T) {
	page := func(ok, failed, running int) []string {
		return []string{
			fmt.Sprintf(`vllm:num_requests_running{engine="0",model_name="m"} %d`, running),
			fmt.Sprintf(`vllm:generation_tokens_total{engine="0",model_name="m"} %d`, 10*ok),
			fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, ok),
			fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} %d`, failed),
		}
	}
	t.Run("its failures make no replica fail", func(t *testing.T) {
		b := newBench(t, engine.VLLM, "m")
		b.page(page(1, 0, 0)...)
		for n := range 8 {
			b.own(false)
			b.page(page(1, n+1, 0)...)
		}
		require.Empty(t, b.conditions().Failing)
	})
	t.Run("its failures at parts of a model accuse none", func(t *testing.T) {
		b := newBench(t, engine.Triton, models()...)
		page := func(failed int) []string {
			return replaceLines(
				without(busy(0, 100), "request_failure"),
				fmt.Sprintf(`nv_inference_request_failure{model="ensemble",version="1"} %d`, failed),
				fmt.Sprintf(`nv_inference_request_failure{model="preprocessing",version="1"} %d`, failed),
			)
		}
		b.page(page(0)...)
		for n := range 8 {
			b.deriver.BeginOwn(10)
			b.deriver.EndOwn("ensemble", false)
			b.page(page(n + 1)...)
		}
		require.Empty(t, b.conditions().Failing)
	})
	t.Run("those of others still do", func(t *testing.T) {
		b := newBench(t, engine.VLLM, "m")
		b.page(page(1, 0, 0)...)
		for n := range 8 {
			b.own(false)
			b.page(page(1, 3*(n+1), 0)...)
		}
		require.Len(t, b.conditions().Failing, 1)
	})
	t.Run("its answers acquit nobody", func(t *testing.T) {
		b := newBench(t, engine.VLLM, "m")
		b.page(page(1, 0, 0)...)
		b.page(page(1, 3, 0)...)
		b.page(page(1, 6, 0)...)
		b.own(true)
		b.page(page(2, 9, 0)...)
		c := b.conditions()
		require.Len(t, c.Failing, 1)
		require.False(t, c.Failing[0].Acquitted, "acquitted: %+v", c.Failing[0])
		b.page(page(3, 9, 0)...)
		require.Empty(t, b.conditions().Failing, "another request ended well")
	})
	t.Run("tokens beyond its limit belong to requests of others", func(t *testing.T) {
		b := newBench(t, engine.VLLM, "m")
		b.page(page(1, 0, 0)...)
		b.own(true)
		b.page(page(2, 0, 0)...)
		require.Zero(t, b.conditions().Movements)
		b.own(true)
		b.page(page(4, 0, 0)...)
		require.Equal(t, 1, b.conditions().Movements)
	})
	t.Run("iterations without tokens are no movement", func(t *testing.T) {
		b := newBench(t, engine.VLLM, "m")
		for n := range 4 {
			b.page(append(page(1, 0, 4), fmt.Sprintf(`vllm:iteration_tokens_total_count{engine="0",model_name="m"} %d`, n))...)
		}
		require.Zero(t, b.conditions().Movements)
		require.Positive(t, b.conditions().Steps)
	})
	t.Run("its answers are no progress of what stands still", func(t *testing.T) {
		b := newBench(t, engine.VLLM, "m")
		for range 8 {
			b.page(page(1, 0, 4)...)
		}
		require.InDelta(t, 4, longest(b).InFlight, 0)
		b.own(true)
		b.page(page(2, 0, 4)...)
		require.InDelta(t, 4, longest(b).InFlight, 0)
		b.page(page(2, 0, 4)...)
		b.page(page(3, 0, 4)...)
		require.Zero(t, longest(b), "another request ended")
	})
}

// servedPage is the page of a vLLM that has served ok requests, and runs others.
func servedPage(ok, running int) []string {
	return []string{
		fmt.Sprintf(`vllm:num_requests_running{engine="0",model_name="m"} %d`, running),
		fmt.Sprintf(`vllm:generation_tokens_total{engine="0",model_name="m"} %d`, 10*ok),
		fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, ok),
	}
}

// TestOwnRequestsAreNoWork has requests of the exporter's own in flight, alone and beside one of
// somebody else, which counts on whether or not the gauge shows ours.
func TestOwnRequestsAreNoWork(t *testing.T) {
	for _, tc := range []struct {
		name string
		// before, while and after are the numbers of running requests on the pages around ours, ended
		// how many requests have ended on the pages with it.
		before, while, after, ended int
		stands                      bool
	}{
		{"ours hangs alone", 0, 1, 0, 1, false},
		{"ours hangs after that of somebody else has ended", 2, 1, 0, 2, false},
		{"one of somebody else hangs, and the gauge does not show ours", 1, 1, 1, 1, true},
		{"one of somebody else hangs, and the gauge shows ours", 1, 2, 1, 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.VLLM, "m")
			b.repeat(4, servedPage(1, tc.before))
			b.deriver.BeginOwn(10)
			b.repeat(8, servedPage(tc.ended, tc.while))
			require.Equal(t, tc.stands, longest(b).InFlight > 0, "while ours is in flight")
			since := longest(b).Since
			b.deriver.EndOwn("m", false)
			b.repeat(2, servedPage(tc.ended, tc.after))
			still := longest(b)
			require.Equal(t, tc.stands, still.InFlight > 0, "after it ended")
			require.Equal(t, since, still.Since, "as long as before")
		})
	}
}

// TestOthersAreServedWhileOursIsInFlight has work that stood still, and others that are served before the
// exporter's own request has an answer.
func TestOthersAreServedWhileOursIsInFlight(t *testing.T) {
	page := func(ok int) []string {
		return append(servedPage(ok, 4), `http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 0`)
	}
	b := newBench(t, engine.VLLM, "m")
	b.repeat(8, page(1))
	require.InDelta(t, 4, longest(b).InFlight, 0)
	b.deriver.BeginOwn(10)
	b.page(page(1)...)
	require.InDelta(t, 4, longest(b).InFlight, 0)
	b.page(page(3)...)
	require.Zero(t, longest(b))
}

// TestClientsThatLeaveDoNotAcquit has work that stands still, of a server that did or did not answer a
// question, and what comes then.
func TestClientsThatLeaveDoNotAcquit(t *testing.T) {
	for _, tc := range []struct {
		name         string
		convicted    bool
		then         []string
		stands, left bool
	}{
		{"they leave a server that was not asked", false, servedPage(7, 0), false, false},
		{"they leave a server that did not answer", true, servedPage(7, 0), true, true},
		{"some of them leave", true, servedPage(7, 1), true, false},
		{"one of them was served", true, servedPage(8, 0), false, false},
		{"the process restarts", true, servedPage(1, 0), false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.VLLM, "m")
			b.repeat(8, servedPage(7, 4))
			require.InDelta(t, 4, longest(b).InFlight, 0)
			b.deriver.Convict(tc.convicted)
			b.repeat(3, tc.then)
			still := longest(b)
			require.Equal(t, tc.stands, still.InFlight > 0)
			require.Equal(t, tc.left, still.Left)
			b.deriver.Convict(false)
			b.page(tc.then...)
			require.Equal(t, tc.stands && !tc.left, longest(b).InFlight > 0, "it answered")
		})
	}
}

// TestWhatStandsWhilePausedStandsSinceItWentOn has a server that somebody pauses with requests in flight, for longer
// than work may stand still, and that goes on or hangs afterwards.
func TestWhatStandsWhilePausedStandsSinceItWentOn(t *testing.T) {
	const enough = 8 // Pages after which work that does not move stands still.
	b := newBench(t, engine.SGLang, "m")
	page := func(tokens int) []string {
		return []string{
			`sglang:num_running_reqs{model_name="m"} 4`,
			fmt.Sprintf(`sglang:realtime_tokens_total{mode="decode",model_name="m"} %d`, tokens),
		}
	}
	b.page(page(10)...)
	b.page(page(20)...)
	b.deriver.Pause(true)
	b.repeat(10*enough, page(20))
	require.Zero(t, longest(b), "paused")
	b.deriver.Pause(false)
	b.repeat(2, page(20))
	require.Zero(t, longest(b), "resumed, and the first page is not newer")
	b.repeat(enough, page(20))
	require.InDelta(t, 4, longest(b).InFlight, 0, "hung since it was resumed")
	b.page(page(30)...)
	require.Zero(t, longest(b), "moves")
}

// TestClientsThatLeaveOneByOne has clients each of which gives up after a while, at a server that answers
// none of them.
func TestClientsThatLeaveOneByOne(t *testing.T) {
	for _, tc := range []struct {
		name string
		// Before the next client comes, pages show so many requests that ended well, and ours is answered or not.
		pages, ok int
		ours      func(b *bench)
		stands    bool
	}{
		{"one after the other", 1, 7, nil, true},
		{"hours between them", 2000, 7, nil, true},
		{"one of others was served", 1, 8, nil, false},
		{"the exporter's own request is answered", 1, 7, func(b *bench) { b.own(true) }, false},
		{"the exporter's own request fails", 1, 7, func(b *bench) { b.own(false) }, true},
		{"the process restarts", 1, 1, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, engine.VLLM, "m")
			for range 4 {
				b.repeat(4, servedPage(7, 1))
				b.page(servedPage(7, 0)...)
				require.Zero(t, longest(b), "nothing is in flight")
			}
			if tc.ours != nil {
				tc.ours(b)
			}
			b.repeat(tc.pages, servedPage(tc.ok, 0))
			b.repeat(4, servedPage(tc.ok, 1))
			still := longest(b)
			require.Equal(t, tc.stands, still.InFlight > 0, "%+v", still)
			require.Equal(t, tc.stands, still.Pieced, "none was in flight for long: %+v", still)
		})
	}
}

// TestClientsThatLeaveAfterTheEngine has an SGLang whose detokenizer hangs: its engine computes each request, whose client
// gives up, so that most of the time none is open.
func TestClientsThatLeaveAfterTheEngine(t *testing.T) {
	b := newBench(t, engine.SGLang, "m")
	page := func(n, open, inside int) {
		b.page(
			fmt.Sprintf(`sglang:num_running_reqs{model_name="m",tp_rank="0"} %d`, inside),
			`sglang:num_queue_reqs{model_name="m",tp_rank="0"} 0`,
			`sglang:num_requests_total{model_name="m"} 7`,
			fmt.Sprintf(`sglang:num_aborted_requests_total{model_name="m"} %d`, n),
			fmt.Sprintf(`sglang:realtime_tokens_total{model_name="m",tp_rank="0",mode="decode"} %d`, 20*n),
			fmt.Sprintf(`sglang:http_requests_active{endpoint="/generate",method="POST"} %d`, open),
			fmt.Sprintf(`sglang:http_requests_total{endpoint="/generate",method="POST"} %d`, 7+n+open),
		)
	}
	for n := range 4 {
		page(n, 1, 1)
		for range 3 {
			page(n, 1, 0)
		}
		page(n+1, 0, 0)
	}
	require.Zero(t, longest(b).InFlight, "nothing is open")
	for range 2 {
		page(4, 1, 0)
	}
	require.Positive(t, longest(b).InFlight)
}

// own sends a request of the exporter's own, and ends it.
func (b *bench) own(answered bool) {
	b.deriver.BeginOwn(10)
	b.deriver.EndOwn("m", answered)
}

// TestStillness has one page shown again and again, as by a server that hangs, whatever it exposes.
func TestStillness(t *testing.T) {
	hang := derive.DefaultStallAfter
	vllm := func(running, waiting int) []string {
		return []string{
			fmt.Sprintf(`vllm:num_requests_running{engine="0",model_name="m"} %d`, running),
			fmt.Sprintf(`vllm:num_requests_waiting{engine="0",model_name="m"} %d`, waiting),
			`vllm:iteration_tokens_total_count{engine="0",model_name="m"} 7`,
		}
	}
	serve := func(running, ended int) []string {
		return append(
			histogram("trtllm_e2e_request_latency_seconds", `model_name="m"`, 5*ended, "10.0 40.0 +Inf", 0, 0, ended),
			fmt.Sprintf(`trtllm_num_requests_running{model_name="m"} %d`, running),
			fmt.Sprintf(`trtllm_request_success_total{model_name="m",finished_reason="stop"} %d`, ended),
		)
	}
	for _, c := range []struct {
		name string
		kind engine.Name
		page []string
		want time.Duration
	}{
		{"vLLM runs requests", engine.VLLM, vllm(3, 0), hang},
		{"vLLM lets requests wait, none runs", engine.VLLM, vllm(0, 5), hang},
		{"vLLM is idle", engine.VLLM, vllm(0, 0), 0},
		{
			"SGLang waits for KV caches of the other server", engine.SGLang,
			[]string{
				`sglang:num_running_reqs{model_name="m"} 0`,
				`sglang:num_decode_transfer_queue_reqs{model_name="m"} 6`,
			},
			hang,
		},
		{
			"SGLang before its first request ended", engine.SGLang,
			[]string{`sglang:num_running_reqs{model_name="m"} 2`},
			hang,
		},
		{"trtllm-serve runs long requests, as far as it shows them", engine.TRTLLMServe, serve(2, 8), hang},
		{"trtllm-serve before its first request ended", engine.TRTLLMServe, serve(2, 0), hang},
		{"trtllm-serve shows the request that ended", engine.TRTLLMServe, serve(1, 8), 0},
		{"a Triton lets requests of a slow model wait", engine.Triton, []string{
			`nv_inference_pending_request_count{model="m",version="1"} 1`,
			`nv_inference_request_success{model="m",version="1"} 10`,
			`nv_inference_request_duration_us{model="m",version="1"} 900000000`,
		}, hang},
		{"a Triton answers its first request, which builds the engine", engine.Triton, []string{
			`nv_inference_pending_request_count{model="m",version="1"} 3`,
			`nv_inference_request_success{model="m",version="1"} 0`,
		}, hang},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, newBench(t, c.kind, "m").stillAfter(c.page...))
		})
	}
}

// TestRequestsOfAnEntryThatCountsNoEnds has the repository of TensorRT-LLM as it is shipped, an ensemble and a decoupled
// BLS model over the same parts, of which all clients call the latter.
func TestRequestsOfAnEntryThatCountsNoEnds(t *testing.T) {
	page := func(arrived, iteration int) []string {
		count := func(model string, n int) string {
			return fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, model, n)
		}
		return append(busy(min(iteration, 1), iteration),
			count("ensemble", 0), count("tensorrt_llm_bls", arrived), count("preprocessing", arrived),
			count("postprocessing", 20*arrived))
	}
	for _, c := range []struct {
		name  string
		moves bool
		still bool
	}{
		{"the engine goes on", true, false},
		{"the engine hangs while idle, and requests arrive", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).facts(repositoryOfTensorRTLLM()...)
			for n := range 3 {
				b.page(page(10+n, 100+n)...)
			}
			for n := range 9 {
				iteration := 102
				if c.moves {
					iteration += n
				}
				b.page(page(13+n, iteration)...)
			}
			require.Equal(t, c.still, len(b.conditions().Still) > 0)
		})
	}
}

// TestQueueOfAnEntryIsItsOwn has two entries over the same parts. What waits for one of them is asked about there: the
// other one may answer.
func TestQueueOfAnEntryIsItsOwn(t *testing.T) {
	page := func(ensemble, bls, inside int) []string {
		waits := func(model string, n int) string {
			return fmt.Sprintf(`nv_inference_pending_request_count{model=%q,version="1"} %d`, model, n)
		}
		return append(busy(0, 100), waits("tensorrt_llm_bls", bls), waits("ensemble", ensemble), waits("preprocessing", inside),
			`nv_inference_request_success{model="tensorrt_llm_bls",version="1"} 10`)
	}
	for _, c := range []struct {
		name  string
		page  []string
		about []string
	}{
		{"the process of business logic died", page(0, 40, 0), []string{"tensorrt_llm_bls"}},
		{"the ensemble waits", page(40, 0, 0), []string{"ensemble"}},
		{"a part waits, which both call", page(0, 0, 40), []string{"ensemble"}},
		{"both wait", page(40, 30, 0), []string{"ensemble", "tensorrt_llm_bls"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).facts(repositoryOfTensorRTLLM()...)
			for range 12 {
				b.page(c.page...)
			}
			var about []string
			for _, still := range b.conditions().Still {
				about = append(about, still.Model)
			}
			slices.Sort(about)
			require.Equal(t, c.about, about)
		})
	}
}

// repositoryOfTensorRTLLM returns the models of TensorRT-LLM's repository as it is shipped.
func repositoryOfTensorRTLLM() []engine.ModelFacts {
	config := func(name string) engine.ModelFacts {
		return engine.ModelFacts{Name: name, Version: "1", State: engine.ModelReady, Configured: true, Backend: "python"}
	}
	front, bls, llm := config("ensemble"), config("tensorrt_llm_bls"), config("tensorrt_llm")
	front.Platform, front.Backend, front.Steps = "ensemble", "", []string{"preprocessing", "tensorrt_llm", "postprocessing"}
	bls.Decoupled = true
	llm.Backend = "tensorrtllm"
	return []engine.ModelFacts{front, bls, llm, config("preprocessing"), config("postprocessing")}
}

// TestUnansweredArrivals covers servers whose engine's own gauges show nothing, because it hung
// while idle, or because they have none. Requests that never ended before do not count.
func TestUnansweredArrivals(t *testing.T) {
	router := func(arrived, sent int) []string {
		return append(
			histogram("gen_complete_latency_seconds", `x="y"`, 50, "10.0 +Inf", 10, 10),
			fmt.Sprintf("total_requests_total %d", arrived),
			fmt.Sprintf("gen_total_requests_total %d", sent),
			"gen_completed_requests_total 10",
			"total_responses_total 10",
			"http_exceptions_total 3",
			"internal_errors_total 2",
			"validation_exceptions_total 7",
		)
	}
	frontend := func(started, ended int) []string {
		return []string{
			fmt.Sprintf(`dynamo_frontend_requests_started_total{model="m"} %d`, started),
			fmt.Sprintf(`dynamo_frontend_requests_total{error_type="",model="m",status="success"} %d`, ended),
			`dynamo_frontend_inflight_requests{model="m"} 0`,
		}
	}
	ensemble := func(preprocessed, ended int) []string {
		return replaceLines(
			busy(0, 100),
			fmt.Sprintf(`nv_inference_request_success{model="preprocessing",version="1"} %d`, preprocessed),
			fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, ended),
		)
	}
	for _, c := range []struct {
		name          string
		kind          engine.Name
		before, after []string
		want          time.Duration
	}{
		{"a router, nothing arrives", engine.TRTLLMDisaggregated, router(18, 12), router(18, 12), 0},
		{"a router, one arrives", engine.TRTLLMDisaggregated, router(18, 12), router(19, 12), derive.DefaultStallAfter},
		{
			"a router sends one on to decode", engine.TRTLLMDisaggregated, router(18, 12), router(18, 13),
			derive.DefaultStallAfter,
		},
		{"a frontend", engine.Dynamo, frontend(9, 9), frontend(10, 9), derive.DefaultStallAfter},
		{"a frontend, answered", engine.Dynamo, frontend(9, 9), frontend(10, 10), 0},
		{
			"SGLang, whose scheduler hung while idle", engine.SGLang, sglangOpen(0), sglangOpen(3),
			derive.DefaultStallAfter,
		},
		{"SGLang, asked for its page only", engine.SGLang, sglangOpen(0), sglangOpen(0), 0},
		{"an executor that hung while idle", engine.Triton, ensemble(5, 5), ensemble(6, 5), derive.DefaultStallAfter},
		{"an executor that is idle", engine.Triton, ensemble(5, 4), ensemble(5, 4), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.kind, map[bool][]string{true: models(), false: {"m"}}[c.kind == engine.Triton]...)
			b.page(c.before...)
			require.Equal(t, c.want, b.stillAfter(c.after...))
		})
	}
}

// TestIterationsThatRunNothing has an engine whose KV cache is full of what nobody frees: it looks for room again and
// again, and runs no request.
func TestIterationsThatRunNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		running func(n int) int
		still   bool
	}{
		{"none is run", func(int) int { return 0 }, true},
		{"some are run", func(int) int { return 2 }, false},
		{"none is run on one page of three", func(n int) int { return n % 3 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, models()...)
			for n := range 12 {
				b.page(replaceLines(
					busy(5, 100+10*n),
					fmt.Sprintf(`nv_trt_llm_request_metrics{model="tensorrt_llm",version="1",request_type="scheduled"} %d`, c.running(n)),
				)...)
			}
			require.Equal(t, c.still, longest(b).InFlight == 5)
		})
	}
}

// TestWorkersWithoutTheirEngine has a worker of Dynamo whose page shows nothing of the engine inside.
func TestWorkersWithoutTheirEngine(t *testing.T) {
	for _, answers := range []bool{true, false} {
		b := newBench(t, engine.Dynamo)
		for n := range 12 {
			bytes := 4000
			if answers {
				bytes += 100 * n
			}
			const l = `{dynamo_component="backend",dynamo_endpoint="generate",dynamo_namespace="ns"} `
			b.page(
				"dynamo_component_inflight_requests"+l+"3",
				"dynamo_component_requests_total"+l+"20",
				fmt.Sprint("dynamo_component_response_bytes_total", l, bytes),
			)
		}
		require.Equal(t, answers, len(b.conditions().Still) == 0, "it answers: %t", answers)
	}
}

// twoEnsembles returns two ensembles over one LLM, each with parts of its own around it.
func twoEnsembles() []engine.ModelFacts {
	config := func(name, platform, backend string, steps ...string) engine.ModelFacts {
		return engine.ModelFacts{
			Name: name, Version: "1", State: engine.ModelReady, Configured: true, Platform: platform, Backend: backend, Steps: steps,
		}
	}
	return []engine.ModelFacts{
		config("chat", "ensemble", "", "before_chat", "llm", "after_chat"),
		config("code", "ensemble", "", "before_code", "llm", "after_code"),
		config("llm", "", "tensorrtllm"),
		config("before_chat", "", "onnxruntime"), config("after_chat", "", "onnxruntime"),
		config("before_code", "", "onnxruntime"), config("after_code", "", "onnxruntime"),
	}
}

// TestEntriesThatShareAnEngine has one of two ensembles over one LLM hang while the other one serves. Nobody is asked
// about it, as a restart would end what serves.
func TestEntriesThatShareAnEngine(t *testing.T) {
	// What each page shows besides the requests of the second ensemble, which end on every page, two in the LLM.
	type counts struct{ arrived, passed, ended, waitsBefore, waitsAfter int }
	page := func(n int, serves bool, c counts) (lines []string) {
		second := 100
		if serves {
			second += 3 * n
		}
		count := func(n int, models ...string) {
			for _, model := range models {
				lines = append(lines,
					fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, model, n),
					fmt.Sprintf(`nv_inference_exec_count{model=%q,version="1"} %d`, model, n),
					fmt.Sprintf(`nv_inference_request_failure{model=%q,reason="BACKEND",version="1"} 0`, model),
				)
			}
		}
		count(c.arrived, "before_chat")
		count(c.ended, "chat", "after_chat")
		count(second, "code", "before_code", "after_code")
		count(c.passed+second, "llm")
		return append(lines,
			fmt.Sprintf(`nv_inference_pending_request_count{model="before_chat",version="1"} %d`, c.waitsBefore),
			fmt.Sprintf(`nv_inference_pending_request_count{model="after_chat",version="1"} %d`, c.waitsAfter),
			`nv_trt_llm_request_metrics{model="llm",request_type="active",version="1"} 2`,
			fmt.Sprintf(`nv_trt_llm_general_metrics{general_type="iteration_counter",model="llm",version="1"} %d`, 100+second),
		)
	}
	for _, c := range []struct {
		name    string
		serves  bool
		of      func(n int) counts
		partly  bool
		nothing bool
	}{
		{
			name: "its last part hangs", serves: true, partly: true,
			of: func(n int) counts { return counts{arrived: 50 + n, passed: 50 + n, ended: 50} },
		},
		{
			name: "its last part hangs, and nobody calls the other one",
			of:   func(n int) counts { return counts{arrived: 50 + n, passed: 50 + n, ended: 50} },
		},
		{
			name: "requests wait for its first part", serves: true, partly: true,
			of: func(n int) counts { return counts{50, 50, 50, n, 0} },
		},
		{
			name: "requests wait for its last part", serves: true, partly: true,
			of: func(n int) counts { return counts{50 + n, 50 + n, 50, 0, n} },
		},
		{
			name: "its requests end", serves: true, nothing: true,
			of: func(n int) counts { return counts{50 + n, 50 + n, 48 + n, 1, 1} },
		},
		{
			name: "nobody calls it", serves: true, nothing: true,
			of: func(int) counts { return counts{arrived: 50, passed: 50, ended: 50} },
		},
		{
			name: "one request takes long in the LLM", serves: true, nothing: true,
			of: func(int) counts { return counts{arrived: 51, passed: 50, ended: 50} },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).facts(twoEnsembles()...)
			b.page(page(0, c.serves, counts{50, 50, 50, 0, 0})...)
			for n := range 12 {
				b.page(page(n+1, c.serves, c.of(n+1))...)
			}
			still := b.conditions().Still
			require.Equal(t, c.nothing, len(still) == 0, "%+v", still)
			for _, s := range still {
				require.Equal(t, "chat", s.Model, "what stands still")
				if c.serves {
					require.Equal(t, c.partly, s.Partly, "other requests end")
				}
			}
			if !c.nothing && !c.serves {
				require.False(t, still[0].Partly, "a question tells more")
			}
		})
	}
}

// TestClientsThatCallTheLLM has an ensemble that nobody calls, or no longer: its LLM gets requests of clients.
func TestClientsThatCallTheLLM(t *testing.T) {
	for _, ensemble := range []int{0, 10} {
		t.Run(fmt.Sprintf("the ensemble was called %d times before", ensemble), func(t *testing.T) {
			b := newBench(t, engine.Triton, models()...)
			for n := range 12 {
				b.page(replaceLines(
					busy(2, 100+n),
					fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, ensemble),
					fmt.Sprintf(`nv_inference_request_success{model="preprocessing",version="1"} %d`, ensemble),
					fmt.Sprintf(`nv_inference_request_success{model="tensorrt_llm",version="1"} %d`, ensemble+5*n),
				)...)
			}
			require.Empty(t, b.conditions().Still)
		})
	}
}

// sglangOpen returns a page of an idle scheduler, beside requests that its API holds open.
func sglangOpen(requests int) []string {
	return []string{
		`sglang:num_running_reqs{model_name="m"} 0`,
		`sglang:http_requests_total{endpoint="/nowhere",method="POST"} 7`,
		`sglang:http_requests_active{endpoint="/metrics",method="GET"} 1`,
		`sglang:http_requests_active{endpoint="/flush_cache",method="POST"} 1`,
		fmt.Sprintf(`sglang:http_requests_active{endpoint="/v1/completions",method="POST"} %d`, requests),
	}
}

// TestFailuresAreNoProgress has requests of a server that hangs, each of which fails after a time.
func TestFailuresAreNoProgress(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	for n := range 12 {
		b.page(
			`vllm:num_requests_running{engine="0",model_name="m"} 3`,
			`vllm:generation_tokens_total{engine="0",model_name="m"} 100`,
			fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} %d`, n/4),
		)
	}
	require.InDelta(t, 3, longest(b).InFlight, 0)
}

// TestLatenciesOfTokensAreProgress has engines that count no tokens, only how long each one took, as
// Dynamo's mock engine does.
func TestLatenciesOfTokensAreProgress(t *testing.T) {
	page := func(first, others, ended int) []string {
		gap := histogram(
			"trtllm:inter_token_latency_seconds",
			`model_name="m",engine="0"`,
			others,
			"1.0 +Inf",
			others,
			others,
		)
		wait := histogram(
			"trtllm:time_to_first_token_seconds",
			`model_name="m",engine="0"`,
			first,
			"1.0 +Inf",
			first,
			first,
		)
		whole := histogram(
			"trtllm:e2e_request_latency_seconds",
			`model_name="m",engine="0"`,
			ended,
			"1.0 +Inf",
			ended,
			ended,
		)
		return append(
			append(append(gap, wait...), whole...),
			`trtllm:num_requests_running{model_name="m",engine="0"} 3`,
		)
	}
	for _, c := range []struct {
		name string
		page func(n int) []string
		want float64
	}{
		{"no token comes", func(int) []string { return page(4, 9, 1) }, 3},
		{"tokens come", func(n int) []string { return page(4, 9+n, 1) }, 0},
		{"first tokens come", func(n int) []string { return page(4+n, 9, 1) }, 0},
		{"requests end, which may have failed", func(n int) []string { return page(4, 9, 1+n) }, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Dynamo, "m")
			for n := range 12 {
				b.page(c.page(n)...)
			}
			require.InDelta(t, c.want, longest(b).InFlight, 0)
		})
	}
}

// TestStillnessOfOneRank has two ranks with requests, of which one moves.
func TestStillnessOfOneRank(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	for n := range 12 {
		b.page(
			`vllm:num_requests_running{engine="0",model_name="m"} 3`,
			`vllm:generation_tokens_total{engine="0",model_name="m"} 100`,
			`vllm:num_requests_running{engine="1",model_name="m"} 2`,
			fmt.Sprintf(`vllm:generation_tokens_total{engine="1",model_name="m"} %d`, 10*n),
		)
	}
	still := longest(b)
	require.InDelta(t, 3, still.InFlight, 0)
	require.True(t, still.Partly, "a request may reach the other")
}

// TestStillnessBeginsAnew has a gauge that stands still twice, at the same number.
func TestStillnessBeginsAnew(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	page := func(running, tokens int) time.Duration {
		return b.stillAfter(
			fmt.Sprintf(`vllm:num_requests_running{model_name="m"} %d`, running),
			fmt.Sprintf(`vllm:generation_tokens_total{model_name="m"} %d`, tokens),
		)
	}
	require.Equal(t, derive.DefaultStallAfter, page(3, 100))
	require.Equal(t, derive.DefaultStallAfter, page(3, 200), "something moved in between")
	require.Zero(t, page(0, 200))
	b.page(
		`vllm:num_requests_running{model_name="m"} 3`,
		`vllm:generation_tokens_total{model_name="m"} 200`,
	)
	require.True(t, longest(b).Pieced, "these are others, and nothing was answered in between: %+v", longest(b))
	require.Equal(t, derive.DefaultStallAfter, page(3, 300), "something moved again")
}

// stillAfter returns how long a target shows one page until it stands still, 0 above five minutes.
func (b *bench) stillAfter(page ...string) time.Duration {
	for begin := b.now; b.now-begin < 5*time.Minute; {
		shown := b.now - begin
		b.page(page...)
		if longest(b).InFlight > 0 {
			return shown
		}
	}
	return 0
}

// TestAcceptedRequestsAreNoSuccesses uses a model that hands its requests over,
// whatever its config states, and a module that counts how they end.
func TestAcceptedRequestsAreNoSuccesses(t *testing.T) {
	for _, decoupled := range []bool{true, false} {
		b := newBench(t, engine.Triton, "m").facts(configured("m", "python", decoupled))
		for n := range 4 {
			b.page(tritonCounts(map[string][4]int{"1": {10 * n, 0, 0, 2 * n}})...)
		}
		require.Len(t, b.conditions().Failing, 1, "decoupled: %v", decoupled)
	}
}

func TestRequestsInFlight(t *testing.T) {
	for name, c := range map[string]struct {
		kind engine.Name
		page []string
		want derive.Conditions
	}{
		"an executor": {
			engine.Triton, busy(3, 100),
			derive.Conditions{InFlight: 3, InFlightKnown: true},
		},
		"a server that runs and queues": {
			engine.VLLM,
			[]string{`vllm:num_requests_running{model_name="m"} 2`, `vllm:num_requests_waiting{model_name="m"} 5`},
			derive.Conditions{InFlight: 7, InFlightKnown: true},
		},
		"a server that counts them at the end": {
			engine.TRTLLMServe,
			[]string{`trtllm_num_requests_running{model_name="m"} 2`},
			derive.Conditions{},
		},
		"a server without a count": {
			engine.Triton,
			[]string{`nv_inference_request_success{model="m",version="1"} 2`},
			derive.Conditions{},
		},
	} {
		b := newBench(t, c.kind, models()...)
		b.page(c.page...)
		got := b.conditions()
		require.Equal(t, c.want, derive.Conditions{InFlight: got.InFlight, InFlightKnown: got.InFlightKnown}, name)
	}
}

// TestRequestsInFlightEndWithProcess uses a trtllm-serve in multiprocess mode in
// which a process died with three requests: its gauge stays as it was.
func TestRequestsInFlightEndWithProcess(t *testing.T) {
	b := newBench(t, engine.TRTLLMServe, "m")
	page := func(ended, running int) values {
		return b.page(append(
			histogram("trtllm_e2e_request_latency_seconds", `model_name="m"`, ended, "10.0 +Inf", ended, ended),
			`trtllm_num_requests_running{model_name="m",pid="10"} 3`,
			fmt.Sprintf(`trtllm_num_requests_running{model_name="m",pid="20"} %d`, running),
			fmt.Sprintf(`trtllm_request_success_total{model_name="m",finished_reason="stop"} %d`, ended),
			fmt.Sprintf(`trtllm_generation_tokens_total{model_name="m"} %d`, 10*ended),
		)...)
	}
	for n := range 5 {
		page(10+n, 2-n%2)
	}
	for range 40 {
		got := page(16, 0)
		require.Zero(t, got.get(t, `requests_active{model_id="m"}`))
		require.Zero(t, longest(b))
	}
	page(17, 2)
	for range 40 {
		page(17, 2)
	}
	require.Positive(t, longest(b).InFlight, "the process that is there has two")
}

func TestRequestsInFlightNeedExecutorGauges(t *testing.T) {
	b := newBench(t, engine.Triton, "m")
	b.page(replaceLines(soundPage(10, 0), zeroRows()...)...)
	got := b.page(replaceLines(soundPage(20, 0), zeroRows()...)...)
	got.lacks(t, `requests_active{model_id="m"}`)
	require.False(t, b.conditions().InFlightKnown, "whether requests are in flight is known")
}

// longest returns the work that stands still for the longest time, empty if none does.
func longest(b *bench) derive.Stillness { return first(b.conditions().Still) }

func first(all []derive.Stillness) (still derive.Stillness) {
	if len(all) > 0 {
		still = all[0]
	}
	return still
}

// TestModelThatHangsBesideOneThatServes has requests wait for one model while another one answers: a question could
// restart what serves.
func TestModelThatHangsBesideOneThatServes(t *testing.T) {
	for _, serves := range []bool{true, false} {
		b := newBench(t, engine.Triton, "hangs", "serves").
			facts(configured("hangs", "onnxruntime", false), configured("serves", "onnxruntime", false)).
			with(func(o *derive.Options) { o.Naming.EngineVersion = "2.64.0" })
		for n := range 10 {
			answered := 100
			if serves {
				answered += 5 * n
			}
			b.page(
				`nv_inference_pending_request_count{model="hangs",version="1"} 3`,
				`nv_inference_exec_count{model="hangs",version="1"} 50`,
				`nv_inference_request_success{model="hangs",version="1"} 50`,
				`nv_inference_request_failure{model="hangs",reason="BACKEND",version="1"} 0`,
				fmt.Sprintf(`nv_inference_request_success{model="serves",version="1"} %d`, answered),
				`nv_inference_request_failure{model="serves",reason="BACKEND",version="1"} 0`,
			)
		}
		still := longest(b)
		require.InDelta(t, 3, still.InFlight, 0, "requests that stand still")
		require.Equal(t, serves, still.Partly, "the other model serves: %t", serves)
	}
}
