package derive_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestWhatAnEngineIsLimitedBy covers each resource, and which of two that are
// scarce counts.
func TestWhatAnEngineIsLimitedBy(t *testing.T) {
	type gauges struct{ active, waiting, context, paused, used, pending int }
	for _, c := range []struct {
		says string
		now  gauges
		want string
	}{
		{"nothing waits", gauges{active: 3, used: 30}, "none"},
		{"the batch is full", gauges{active: 8, used: 30}, "slots"},
		{"the cache is full", gauges{active: 4, waiting: 2, used: 97}, "kv_cache"},
		{"a full cache for which nobody waits", gauges{active: 4, used: 97}, "none"},
		{"requests were paused for the cache", gauges{active: 8, paused: 1, used: 60}, "kv_cache"},
		{"prefills let others wait", gauges{active: 5, waiting: 2, context: 1, used: 30}, "prefill"},
		{"prefills let one wait", gauges{active: 5, waiting: 1, context: 1, used: 30}, "prefill"},
		{"Triton's queue before an engine with room", gauges{active: 3, used: 30, pending: 4}, "core_queue"},
		{"nothing explains it", gauges{active: 3, waiting: 2, used: 30}, "unknown"},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBench(t, engine.Triton, "llm").facts(configured("llm", "tensorrtllm", false))
			got := b.page(
				`nv_inference_request_success{model="llm",version="1"} 5`,
				fmt.Sprintf(`nv_inference_pending_request_count{model="llm",version="1"} %d`, c.now.pending),
				fmt.Sprintf(`nv_trt_llm_request_metrics{model="llm",request_type="active",version="1"} %d`, c.now.active),
				fmt.Sprintf(`nv_trt_llm_request_metrics{model="llm",request_type="waiting",version="1"} %d`, c.now.waiting),
				fmt.Sprintf(`nv_trt_llm_request_metrics{model="llm",request_type="context",version="1"} %d`, c.now.context),
				`nv_trt_llm_request_metrics{model="llm",request_type="max",version="1"} 8`,
				fmt.Sprintf(`nv_trt_llm_inflight_batcher_metrics{inflight_batcher_specific_metric="paused_requests",model="llm",version="1"} %d`, c.now.paused),
				fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="llm",version="1"} %d`, c.now.used),
				`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="llm",version="1"} 100`,
			)
			for _, resource := range []string{"slots", "kv_cache", "prefill", "core_queue", "none", "unknown"} {
				want := 0.0
				if resource == c.want {
					want = 1
				}
				require.Equal(t, want, got.at(t, fmt.Sprintf(`limited_by{model_id="llm", resource=%q}`, resource)), resource)
			}
		})
	}
}

// TestHeadroomIsOfWhatIsScarcest has 8 places and 100 blocks of 64 tokens, and
// requests of 100 tokens in and 60 out.
func TestHeadroomIsOfWhatIsScarcest(t *testing.T) {
	page := func(n, active, free int) []string {
		hist := func(name, kind string, mean int) []string {
			return []string{
				fmt.Sprintf(`%s_bucket{model="llm",response_metric_type=%q,version="1",le="+Inf"} %d`, name, kind, n),
				fmt.Sprintf(`%s_sum{model="llm",response_metric_type=%q,version="1"} %d`, name, kind, mean*n),
				fmt.Sprintf(`%s_count{model="llm",response_metric_type=%q,version="1"} %d`, name, kind, n),
			}
		}
		all := []string{
			fmt.Sprintf(`nv_inference_request_success{model="llm",version="1"} %d`, n),
			fmt.Sprintf(`nv_trt_llm_request_metrics{model="llm",request_type="active",version="1"} %d`, active),
			`nv_trt_llm_request_metrics{model="llm",request_type="max",version="1"} 8`,
			fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="free",model="llm",version="1"} %d`, free),
			`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="llm",version="1"} 64`,
		}
		all = append(all, hist("nv_llm_input_token_len", "total_input_tokens", 100)...)
		return append(all, hist("nv_llm_output_token_len", "total_output_tokens", 60)...)
	}
	const series = `headroom_requests{model_id="llm"}`
	b := newBench(t, engine.Triton, "llm").facts(configured("llm", "tensorrtllm", false))
	require.Equal(t, 6.0, b.page(page(10, 2, 5)...).at(t, series), "of lengths nothing is known yet: places alone")
	require.Equal(t, 2.0, b.page(page(20, 2, 5)...).at(t, series), "320 free tokens hold two of 160")
	require.Equal(t, 6.0, b.page(page(30, 2, 90)...).at(t, series))
	require.Zero(t, b.page(page(40, 9, 90)...).at(t, series), "more than the limit is none")
}

// TestWhatTheExecutorHidesIsEstimated has an ensemble in which 24 requests are all
// the time, of which the executor shows 4.
func TestWhatTheExecutorHidesIsEstimated(t *testing.T) {
	b := newBench(t, engine.Triton, models()...).facts(
		engine.ModelFacts{Name: "ensemble", Configured: true, Platform: "ensemble", Steps: []string{"preprocessing", "tensorrt_llm", "postprocessing"}},
		engine.ModelFacts{Name: "tensorrt_llm"},
	)
	page := func(n int) values {
		const each = 5 // One page is five seconds, one request 24 times a fifth of a second.
		return b.page(
			fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, 5*each*n),
			fmt.Sprintf(`nv_inference_request_duration_us{model="ensemble",version="1"} %d`, 24*each*n*1_000_000),
			fmt.Sprintf(`nv_inference_request_success{model="tensorrt_llm",version="1"} %d`, 5*each*n),
			`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 4`,
			`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 4`,
		)
	}
	page(1).lacks(t, `queue_hidden_requests_estimate{model_id="ensemble"}`, "one page makes no rate")
	require.InDelta(t, 20, page(2).at(t, `queue_hidden_requests_estimate{model_id="ensemble"}`), 1e-9)
}

// TestWhatIsHiddenIsLessThanWhatIsShownOverTheSameTime has 24 requests in a model
// all the time, of which its executor shows 4 and Triton's queue so many.
func TestWhatIsHiddenIsLessThanWhatIsShownOverTheSameTime(t *testing.T) {
	for _, c := range []struct {
		says    string
		pending []int
		// active are what the executor shows, below zero where it is not on the page.
		active []int
		want   float64
	}{
		{"as many wait on each page", []int{8, 8, 8}, []int{4, 4, 4}, 12},
		{"none on the last", []int{12, 12, 0}, []int{4, 4, 4}, 12},
		{"all on the last", []int{0, 0, 24}, []int{4, 4, 4}, 12},
		{"the executor is not on the first", []int{8, 4, 4}, []int{-1, 4, 4}, 16},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBench(t, engine.Triton, "llm").facts(configured("llm", "tensorrtllm", false))
			var got values
			for n, pending := range c.pending {
				page := []string{
					fmt.Sprintf(`nv_inference_request_success{model="llm",version="1"} %d`, 25*n),
					fmt.Sprintf(`nv_inference_request_duration_us{model="llm",version="1"} %d`, 24*5*n*1_000_000),
					fmt.Sprintf(`nv_inference_pending_request_count{model="llm",version="1"} %d`, pending),
				}
				if c.active[n] >= 0 {
					page = append(page, fmt.Sprintf(`nv_trt_llm_request_metrics{model="llm",request_type="active",version="1"} %d`, c.active[n]))
				}
				got = b.page(page...)
			}
			require.InDelta(t, c.want, got.at(t, `queue_hidden_requests_estimate{model_id="llm"}`), 1e-9)
		})
	}
}

// TestNothingIsHiddenWhereAnotherFrontMayHaveHadRequests has next to that ensemble a
// Python model that hands its requests over, whose counter may have begun again.
func TestNothingIsHiddenWhereAnotherFrontMayHaveHadRequests(t *testing.T) {
	const series = `queue_hidden_requests_estimate{model_id="ensemble"}`
	for _, c := range []struct {
		name string
		// other is the counter of the other front, below zero where it is not on the page.
		other []int
		known bool
	}{
		{"none", []int{7, 7, 7, 7}, true},
		{"one, before", []int{6, 7, 7, 7}, false},
		{"a counter that has just begun again", []int{7, 7, 7, 0}, false},
		{"a counter that began again in the window", []int{7, 7, 0, 0}, false},
		{"a counter that was not on a page", []int{7, -1, 7, 7}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, append(models(), "tensorrt_llm_bls")...).facts(
				engine.ModelFacts{Name: "ensemble", Configured: true, Platform: "ensemble", Steps: []string{"preprocessing", "tensorrt_llm", "postprocessing"}},
				engine.ModelFacts{Name: "tensorrt_llm"}, configured("tensorrt_llm_bls", "python", true),
			)
			var got values
			for n, other := range c.other {
				page := []string{
					fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, 25*n),
					fmt.Sprintf(`nv_inference_request_duration_us{model="ensemble",version="1"} %d`, 24*5*n*1_000_000),
					fmt.Sprintf(`nv_inference_request_success{model="tensorrt_llm",version="1"} %d`, 25*n),
					`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 4`,
					`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 4`,
				}
				if other >= 0 {
					page = append(page, fmt.Sprintf(`nv_inference_request_success{model="tensorrt_llm_bls",version="1"} %d`, other))
				}
				got = b.page(page...)
			}
			if c.known {
				require.InDelta(t, 20, got.at(t, series), 1e-9)
			} else {
				got.lacks(t, series, "the other front may have had requests")
			}
		})
	}
}

// TestALatencyThatMeasuresFewRequestsSaysSo has 200 requests that ended, of which
// 50 were streamed.
func TestALatencyThatMeasuresFewRequestsSaysSo(t *testing.T) {
	page := func(n int) []string {
		return []string{
			fmt.Sprintf(`sglang:num_requests_total{model_name="m",is_streaming="true"} %d`, 50*n),
			fmt.Sprintf(`sglang:num_requests_total{model_name="m",is_streaming="false"} %d`, 150*n),
			fmt.Sprintf(`sglang:time_to_first_token_seconds_bucket{model_name="m",is_streaming="true",le="+Inf"} %d`, 50*n),
			fmt.Sprintf(`sglang:time_to_first_token_seconds_sum{model_name="m",is_streaming="true"} %d`, 50*n),
			fmt.Sprintf(`sglang:time_to_first_token_seconds_count{model_name="m",is_streaming="true"} %d`, 50*n),
			fmt.Sprintf(`sglang:http_requests_total{endpoint="/v1/completions",method="POST"} %d`, 200*n),
			fmt.Sprintf(`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} %d`, 200*n),
		}
	}
	b := newBench(t, engine.SGLang, "m")
	b.page(page(1)...)
	require.InDelta(t, 0.25, b.page(page(2)...).at(t, `signal_coverage_ratio{model_id="m", signal="time_to_first_token"}`), 1e-9)
}

// TestALatencyIsComparedWithTheRequestsOfItsOwnStretch has a vLLM all of whose
// requests are measured, by a histogram that was no number on one page.
func TestALatencyIsComparedWithTheRequestsOfItsOwnStretch(t *testing.T) {
	const series = `signal_coverage_ratio{model_id="m", signal="time_to_first_token"}`
	b := newBench(t, engine.VLLM, "m")
	page := func(ended int, measured string) values {
		return b.page(
			`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 0`,
			fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, ended),
			`vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="+Inf"} `+measured,
			`vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} `+measured,
			`vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} `+measured,
		)
	}
	page(0, "0")
	require.InDelta(t, 1, page(100, "100").at(t, series), 1e-9)
	page(200, "NaN").lacks(t, series)
	page(300, "300").lacks(t, series, "what went on meanwhile is not known")
	require.InDelta(t, 1, page(310, "310").at(t, series), 1e-9, "the ten since then")
}

// TestTheCacheOfAllRanks has data-parallel ranks that state all of their blocks each.
func TestTheCacheOfAllRanks(t *testing.T) {
	for _, c := range []struct {
		says, states string
		ranks        int
		blocks       float64
		tokens       float64
	}{
		{"one engine of an older release", `block_size="128",num_gpu_blocks="341"`, 1, 340, 43520},
		{"one engine", `block_size="128",kv_cache_size_tokens="43648",num_gpu_blocks="341"`, 1, 340, 43520},
		{"two ranks of an older release", `block_size="128",num_gpu_blocks="682"`, 2, 680, 87040},
		{"two ranks", `block_size="128",kv_cache_size_tokens="43648",num_gpu_blocks="682"`, 2, 680, 87040},
		{"layers of several kinds", `block_size="8",kv_cache_size_tokens="463360",num_gpu_blocks="320"`, 1, 319, 461912},
		{"the number of tokens is not said", `block_size="128",kv_cache_size_tokens="None",num_gpu_blocks="341"`, 1, 340, 43520},
	} {
		var page []string
		for rank := range c.ranks {
			page = append(page, fmt.Sprintf(`vllm:cache_config_info{engine="%d",%s} 1`, rank, c.states),
				fmt.Sprintf(`vllm:kv_cache_usage_perc{engine="%d",model_name="m"} 0.5`, rank))
		}
		got := newBench(t, engine.VLLM, "m").page(page...)
		require.InDelta(t, c.blocks, got.at(t, `kv_cache_blocks_limit{model_id="m"}`), 1e-9, c.says)
		require.InDelta(t, c.tokens, got.at(t, `kv_cache_capacity_tokens{model_id="m"}`), 1e-6, c.says)
	}
}

// TestWhatWaitsForAnotherServerDoesNotFillThisOne has an SGLang that only decodes.
func TestWhatWaitsForAnotherServerDoesNotFillThisOne(t *testing.T) {
	page := func(room, transfer int) []string {
		const l = `{engine_type="decode",model_name="m",tp_rank="0"}`
		return []string{
			"sglang:num_running_reqs" + l + " 32", "sglang:num_queue_reqs" + l + " 0", "sglang:token_usage" + l + " 0.5",
			fmt.Sprintf("sglang:num_decode_prealloc_queue_reqs%s %d", l, room), fmt.Sprintf("sglang:num_decode_transfer_queue_reqs%s %d", l, transfer),
		}
	}
	b := newBench(t, engine.SGLang, "m")
	got := b.page(page(0, 6)...)
	require.Equal(t, 6.0, got.at(t, `queue_depth{model_id="m"}`))
	require.Equal(t, 0.0, got.at(t, `saturated{model_id="m"}`))
	require.Equal(t, 1.0, got.at(t, `limited_by{model_id="m", resource="unknown"}`))
	got = b.page(page(40, 6)...)
	require.Equal(t, 46.0, got.at(t, `queue_depth{model_id="m"}`))
	require.Equal(t, 1.0, got.at(t, `saturated{model_id="m"}`))
}
