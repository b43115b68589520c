package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestLimitingResource covers each resource, and which one counts if two are scarce.
func TestLimitingResource(t *testing.T) {
	type gauges struct{ active, waiting, context, paused, used, pending int }
	for _, c := range []struct {
		name string
		now  gauges
		want string
	}{
		{"nothing waits", gauges{active: 3, used: 30}, "none"},
		{"the batch is full", gauges{active: 8, used: 30}, "slots"},
		{"the cache is full", gauges{active: 4, waiting: 2, used: 97}, "kv_cache"},
		{"a full cache without a queue", gauges{active: 4, used: 97}, "none"},
		{"requests were paused for the cache", gauges{active: 8, paused: 1, used: 60}, "kv_cache"},
		{"prefills let others wait", gauges{active: 5, waiting: 2, context: 1, used: 30}, "prefill"},
		{"prefills let one wait", gauges{active: 5, waiting: 1, context: 1, used: 30}, "prefill"},
		{"Triton's queue before an engine with room", gauges{active: 3, used: 30, pending: 4}, "core_queue"},
		{"nothing explains it", gauges{active: 3, waiting: 2, used: 30}, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton, "llm").facts(configured("llm", "tensorrtllm", false))
			got := b.page(
				`nv_inference_request_success{model="llm",version="1"} 5`,
				fmt.Sprintf(`nv_inference_pending_request_count{model="llm",version="1"} %d`, c.now.pending),
				fmt.Sprintf(
					`nv_trt_llm_request_metrics{model="llm",request_type="active",version="1"} %d`,
					c.now.active,
				),
				fmt.Sprintf(
					`nv_trt_llm_request_metrics{model="llm",request_type="waiting",version="1"} %d`,
					c.now.waiting,
				),
				fmt.Sprintf(
					`nv_trt_llm_request_metrics{model="llm",request_type="context",version="1"} %d`,
					c.now.context,
				),
				`nv_trt_llm_request_metrics{model="llm",request_type="max",version="1"} 8`,
				fmt.Sprintf(
					`nv_trt_llm_inflight_batcher_metrics{inflight_batcher_specific_metric="paused_requests",model="llm",version="1"} %d`,
					c.now.paused,
				),
				fmt.Sprintf(
					`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="llm",version="1"} %d`,
					c.now.used,
				),
				`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="llm",version="1"} 100`,
			)
			require.Equal(t, 1.0, got.get(t, fmt.Sprintf(`limited_by{model_id="llm", resource=%q}`, c.want)))
			require.Equal(t, 1, got.count("limited_by{"), "what it is not has no series")
		})
	}
}

// TestHeadroomOfScarcestResource uses 8 slots, 100 blocks of 64 tokens, and requests of
// 100 prompt and 60 generated tokens.
func TestHeadroomOfScarcestResource(t *testing.T) {
	page := func(n, active, free int) []string {
		return slices.Concat(
			histogram("nv_llm_input_token_len", `model="llm",version="1"`, 100*n, "+Inf", n),
			histogram("nv_llm_output_token_len", `model="llm",version="1"`, 60*n, "+Inf", n),
			[]string{
				fmt.Sprintf(`nv_inference_request_success{model="llm",version="1"} %d`, n),
				fmt.Sprintf(`nv_trt_llm_request_metrics{model="llm",request_type="active",version="1"} %d`, active),
				`nv_trt_llm_request_metrics{model="llm",request_type="max",version="1"} 8`,
				fmt.Sprintf(
					`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="free",model="llm",version="1"} %d`,
					free,
				),
				`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="llm",version="1"} 64`,
			},
		)
	}
	const series = `headroom_requests{model_id="llm"}`
	b := newBench(t, engine.Triton, "llm").facts(configured("llm", "tensorrtllm", false))
	require.Equal(t, 6.0, b.page(page(10, 2, 5)...).get(t, series), "of lengths nothing is known yet: places alone")
	require.Equal(t, 2.0, b.page(page(20, 2, 5)...).get(t, series), "320 free tokens hold two of 160")
	require.Equal(t, 6.0, b.page(page(30, 2, 90)...).get(t, series))
	require.Zero(t, b.page(page(40, 9, 90)...).get(t, series), "more than the limit is none")
}

// TestHiddenRequests uses a model that always has
// 24 requests, of which its executor and Triton's queue show some.
func TestHiddenRequests(t *testing.T) {
	for _, c := range []struct {
		name    string
		pending []int
		// active is the number shown by the executor, negative if it is not on the page.
		active []int
		want   float64
	}{
		{"as many wait on each page", []int{8, 8, 8}, []int{4, 4, 4}, 12},
		{"none on the last", []int{12, 12, 0}, []int{4, 4, 4}, 12},
		{"all on the last", []int{0, 0, 24}, []int{4, 4, 4}, 12},
		{"the executor is not on the first", []int{8, 4, 4}, []int{-1, 4, 4}, 16},
		{"one page makes no rate", []int{8}, []int{4}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).facts(configured("llm", "tensorrtllm", false))
			var got values
			for n, pending := range c.pending {
				page := []string{
					fmt.Sprintf(`nv_inference_request_success{model="llm",version="1"} %d`, 25*n),
					fmt.Sprintf(`nv_inference_request_duration_us{model="llm",version="1"} %d`, 24*5*n*1_000_000),
					fmt.Sprintf(`nv_inference_pending_request_count{model="llm",version="1"} %d`, pending),
					fmt.Sprintf(
						`nv_trt_llm_request_metrics{model="llm",request_type="active",version="1"} %d`,
						c.active[n],
					),
				}
				got = b.page(without(page, " -1")...)
			}
			if c.want < 0 {
				got.lacks(t, `queue_hidden_requests_estimate{model_id="llm"}`)
				return
			}
			require.InDelta(t, c.want, got.get(t, `queue_hidden_requests_estimate{model_id="llm"}`), 1e-9)
		})
	}
}

// TestNoHiddenRequestsWithSeveralEntries uses an ensemble that always has
// 24 requests, of which the executor shows 4, and a Python model that hands its requests
// over and whose counter may have been reset.
func TestNoHiddenRequestsWithSeveralEntries(t *testing.T) {
	const series = `queue_hidden_requests_estimate{model_id="ensemble"}`
	for _, c := range []struct {
		name string
		// other is the counter of the other entry, negative if it is not on the page.
		other []int
		known bool
	}{
		{"none", []int{7, 7, 7, 7}, true},
		{"one, before", []int{6, 7, 7, 7}, false},
		{"a counter reset on the last page", []int{7, 7, 7, 0}, false},
		{"a counter reset within the window", []int{7, 7, 0, 0}, false},
		{"a counter missing on a page", []int{7, -1, 7, 7}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).facts(
				engine.ModelFacts{
					Name:       "ensemble",
					Configured: true,
					Platform:   "ensemble",
					Steps:      []string{"preprocessing", "tensorrt_llm", "postprocessing"},
				},
				engine.ModelFacts{Name: "tensorrt_llm"}, configured("tensorrt_llm_bls", "python", true),
			)
			var got values
			for n, other := range c.other {
				page := []string{
					fmt.Sprintf(`nv_inference_request_success{model="ensemble",version="1"} %d`, 25*n),
					fmt.Sprintf(`nv_inference_request_duration_us{model="ensemble",version="1"} %d`, 24*5*n*1_000_000),
					fmt.Sprintf(`nv_inference_request_success{model="tensorrt_llm",version="1"} %d`, 25*n),
					fmt.Sprintf(`nv_inference_request_success{model="tensorrt_llm_bls",version="1"} %d`, other),
					`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 4`,
					`nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 4`,
				}
				got = b.page(without(page, " -1")...)
			}
			if c.known {
				require.InDelta(t, 20, got.get(t, series), 1e-9)
			} else {
				got.lacks(t, series, "the other entry may have had requests")
			}
		})
	}
}

// TestLatencyIsComparedOverItsOwnSpan uses a vLLM whose histogram measures all requests and was
// NaN on one page.
func TestLatencyIsComparedOverItsOwnSpan(t *testing.T) {
	const series = `signal_coverage_ratio{model_id="m", signal="time_to_first_token"}`
	b := newBench(t, engine.VLLM, "m")
	page := func(ended int, measured string) values {
		return b.page(append(
			histogram("vllm:time_to_first_token_seconds", `engine="0",model_name="m"`, measured, "+Inf", measured),
			`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 0`,
			fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, ended),
		)...)
	}
	page(0, "0")
	require.InDelta(t, 1, page(100, "100").get(t, series), 1e-9)
	page(200, "NaN").lacks(t, series)
	page(300, "300").lacks(t, series, "what went on meanwhile is not known")
	require.InDelta(t, 1, page(310, "310").get(t, series), 1e-9, "the ten since then")
}

// TestCacheOfAllRanks uses data-parallel ranks that each report all blocks of their own.
func TestCacheOfAllRanks(t *testing.T) {
	for _, c := range []struct {
		name, states string
		ranks        int
		blocks       float64
		tokens       float64
	}{
		{"one engine of an older release", `block_size="128",num_gpu_blocks="341"`, 1, 340, 43520},
		{"one engine", `block_size="128",kv_cache_size_tokens="43648",num_gpu_blocks="341"`, 1, 340, 43520},
		{"two ranks of an older release", `block_size="128",num_gpu_blocks="682"`, 2, 680, 87040},
		{"two ranks", `block_size="128",kv_cache_size_tokens="43648",num_gpu_blocks="682"`, 2, 680, 87040},
		{
			"layers of several kinds",
			`block_size="8",kv_cache_size_tokens="463360",num_gpu_blocks="320"`,
			1, 319, 461912,
		},
		{
			"an unknown number of tokens",
			`block_size="128",kv_cache_size_tokens="None",num_gpu_blocks="341"`,
			1, 340, 43520,
		},
	} {
		var page []string
		for rank := range c.ranks {
			page = append(page, fmt.Sprintf(`vllm:cache_config_info{engine="%d",%s} 1`, rank, c.states),
				fmt.Sprintf(`vllm:kv_cache_usage_perc{engine="%d",model_name="m"} 0.5`, rank))
		}
		got := newBench(t, engine.VLLM, "m").page(page...)
		require.InDelta(t, c.blocks, got.get(t, `kv_cache_blocks_limit{model_id="m"}`), 1e-9, c.name)
		require.InDelta(t, c.tokens, got.get(t, `kv_cache_capacity_tokens{model_id="m"}`), 1e-6, c.name)
	}
}

// TestRequestsWaitingElsewhereDoNotSaturate uses an SGLang that only decodes.
func TestRequestsWaitingElsewhereDoNotSaturate(t *testing.T) {
	page := func(room, transfer int) []string {
		const l = `{engine_type="decode",model_name="m",tp_rank="0"}`
		return []string{
			"sglang:num_running_reqs" + l + " 32",
			"sglang:num_queue_reqs" + l + " 0", "sglang:token_usage" + l + " 0.5",
			fmt.Sprintf("sglang:num_decode_prealloc_queue_reqs%s %d", l, room),
			fmt.Sprintf("sglang:num_decode_transfer_queue_reqs%s %d", l, transfer),
		}
	}
	b := newBench(t, engine.SGLang, "m")
	got := b.page(page(0, 6)...)
	require.Equal(t, 6.0, got.get(t, `queue_depth{model_id="m"}`))
	require.Equal(t, 0.0, got.get(t, `saturated{model_id="m"}`))
	require.Equal(t, 1.0, got.get(t, `limited_by{model_id="m", resource="unknown"}`))
	got = b.page(page(40, 6)...)
	require.Equal(t, 46.0, got.get(t, `queue_depth{model_id="m"}`))
	require.Equal(t, 1.0, got.get(t, `saturated{model_id="m"}`))
}

// The limiting resource is absent if either its size or its demand is unknown.
func TestUnknownLimitsAreAbsent(t *testing.T) {
	rows := map[string]string{
		"requests":  `nv_inference_request_success{model="llm",version="1"} 5`,
		"pending":   `nv_inference_pending_request_count{model="llm",version="1"} 4`,
		"active":    `nv_trt_llm_request_metrics{model="llm",request_type="active",version="1"} 8`,
		"waiting":   `nv_trt_llm_request_metrics{model="llm",request_type="waiting",version="1"} 2`,
		"max":       `nv_trt_llm_request_metrics{model="llm",request_type="max",version="1"} 8`,
		"scheduled": `nv_trt_llm_request_metrics{model="llm",request_type="scheduled",version="1"} 6`,
		"used":      `nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="llm",version="1"} 99`,
		"blocks":    `nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="llm",version="1"} 100`,
	}
	for _, c := range []struct {
		without string
		known   bool
	}{
		{"", true},
		{"pending", true},
		{"used", true},
		{"blocks", true},
		{"max", true},
		{"active scheduled", false},
		{"waiting scheduled", false},
	} {
		t.Run("without "+c.without, func(t *testing.T) {
			var page []string
			for name, row := range rows {
				if !strings.Contains(c.without, name) {
					page = append(page, row)
				}
			}
			slices.Sort(page)
			got := newBench(t, engine.Triton, "llm").facts(configured("llm", "tensorrtllm", false)).page(page...)
			require.Equal(t, c.known, got.count("limited_by{") > 0)
		})
	}
}

func TestZeroLimitIsIgnored(t *testing.T) {
	page := func(limit int) []string {
		return []string{
			`trtllm_request_success_total{model_name="m",finished_reason="stop"} 5`,
			`trtllm_num_requests_running{model_name="m",pid="1"} 3`,
			`trtllm_num_requests_waiting{model_name="m",pid="1"} 0`,
			fmt.Sprintf(`trtllm_max_num_active_requests{model_name="m",pid="1"} %d`, limit),
		}
	}
	const name = `saturation_ratio{model_id="m"}`
	require.InDelta(t, 3.0/64, newBench(t, engine.TRTLLMServe, "m").page(page(64)...).get(t, name), 1e-9)
	newBench(t, engine.TRTLLMServe, "m").page(page(0)...).lacks(t, name, "three requests are not an infinity of none")
}

// TestEngineWithoutUseOfItsCache has a vLLM that computes embeddings, whose cache says nothing about how full it is.
func TestEngineWithoutUseOfItsCache(t *testing.T) {
	page := func(running int, used float64) values {
		return newBench(t, engine.VLLM, "m").page(
			fmt.Sprintf(`vllm:num_requests_running{engine="0",model_name="m"} %d`, running),
			`vllm:num_requests_waiting{engine="0",model_name="m"} 0`,
			fmt.Sprintf(`vllm:kv_cache_usage_perc{engine="0",model_name="m"} %g`, used),
		)
	}
	const name = `saturation_ratio{model_id="m"}`
	require.InDelta(t, 0.25, page(60, 0.25).get(t, name), 1e-9, "as full as its cache")
	require.Zero(t, page(0, 0).get(t, name), "no request is in it")
	page(60, 0).lacks(t, name, "requests that need no cache")
}

// TestSlotsOfAllWorkersAreFull uses a router with two workers and three requests.
func TestSlotsOfAllWorkersAreFull(t *testing.T) {
	for limit, want := range map[int]string{1: "slots", 2: "none"} {
		got := newBench(t, engine.Dynamo, "m").page(
			`dynamo_frontend_requests_total{model="m",status="success"} 5`,
			`dynamo_frontend_queued_requests{model="m"} 0`,
			`dynamo_frontend_inflight_requests{model="m"} 3`,
			`dynamo_frontend_worker_active_decode_blocks{model="m",worker_id="1"} 7`,
			`dynamo_frontend_worker_active_decode_blocks{model="m",worker_id="2"} 7`,
			fmt.Sprintf(`dynamo_frontend_model_max_num_seqs{model="m"} %d`, limit),
		)
		for _, resource := range []string{"slots", "none"} {
			named := got[fmt.Sprintf(`limited_by{model_id="m", resource=%q}`, resource)] == 1
			require.Equal(t, resource == want, named, "a limit of %d, %s", limit, resource)
		}
	}
}

// A latency covers all requests only while both are counted and requests end.
func TestMeasuredRatioNeedsBothCounts(t *testing.T) {
	requests := func(n int) []string {
		return []string{
			fmt.Sprintf(`sglang:num_requests_total{model_name="m",is_streaming="true"} %d`, 200*n),
			fmt.Sprintf(`sglang:http_requests_total{endpoint="/v1/completions",method="POST"} %d`, 200*n),
			fmt.Sprintf(
				`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} %d`,
				200*n,
			),
		}
	}
	latency := func(n int) []string {
		return histogram("sglang:time_to_first_token_seconds", `model_name="m",is_streaming="true"`, 50*n, "+Inf", 50*n)
	}
	const name = `signal_coverage_ratio{model_id="m", signal="time_to_first_token"}`
	for _, c := range []struct {
		name          string
		first, second []string
		want          float64
	}{
		{
			"both from the first page on", slices.Concat(requests(1), latency(1)),
			slices.Concat(requests(2), latency(2)), 0.25,
		},
		{"a new latency that counts from 0", requests(1), slices.Concat(requests(2), latency(1)), 0.25},
		{
			"more measured than requests", slices.Concat(requests(1), latency(1)),
			slices.Concat(requests(2), latency(9)), 1,
		},
		{"none measured", slices.Concat(requests(1), latency(1)), slices.Concat(requests(2), latency(1)), 0},
		{"no request", slices.Concat(requests(1), latency(1)), slices.Concat(requests(1), latency(1)), -1},
		{
			"no request, and more measured", slices.Concat(requests(1), latency(1)),
			slices.Concat(requests(1), latency(2)), -1,
		},
		{"requests no longer counted", slices.Concat(requests(1), latency(1)), latency(2), -1},
		{"a latency no longer measured", slices.Concat(requests(1), latency(1)), requests(2), -1},
		{
			"a latency that was reset", slices.Concat(requests(1), latency(3)),
			replaceLines(slices.Concat(requests(2), latency(3)), latency(2)[2]),
			-1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.SGLang, "m")
			b.page(c.first...).lacks(t, name, "one page is not an increase")
			got := b.page(c.second...)
			if c.want < 0 {
				got.lacks(t, name)
				return
			}
			require.InDelta(t, c.want, got.get(t, name), 1e-9)
		})
	}
}

// The module's gauges are valid only while its heartbeat moves within three times the limit for
// late pages, which is two and a half intervals.
func TestGaugesNeedMovingHeartbeat(t *testing.T) {
	page := func(n, beat int) []string {
		return []string{
			fmt.Sprintf(`nv_inference_request_success{model="m",version="1"} %d`, 10*n),
			`nv_llmapi_requests_in_flight{model="m",model_instance="0"} 3`,
			`nv_llmapi_requests_waiting{model="m",model_instance="0"} 1`,
			fmt.Sprintf(`nv_llmapi_iterations_total{model="m",model_instance="0"} %d`, 100*n),
			fmt.Sprintf(`nv_llmapi_heartbeat_timestamp_seconds{model="m"} %d`, beat),
		}
	}
	const name = `requests_active{model_id="m"}`
	for _, part := range []string{"nothing", "nv_llmapi_iterations_total"} {
		b := newBench(t, engine.Triton, "m").facts(configured("m", "python", false))
		for n := 1; n <= 20; n++ {
			got := b.page(without(page(n, min(n, 10)), part)...)
			if n <= 10+7 {
				require.InDelta(t, 3, got.get(t, name), 0, "page %d without %s", n, part)
				continue
			}
			got.lacks(t, name, part)
		}
		require.InDelta(
			t,
			3,
			b.page(without(page(21, 21), part)...).get(t, name),
			0,
			"it beats again, without %s",
			part,
		)
		b.page(without(page(22, 0), part)...).lacks(t, name, part)
	}
}

// TestIterationCounterWithTwoResets uses a counter of two instances, with and without the row of
// the limit that also identifies an executor.
func TestIterationCounterWithTwoResets(t *testing.T) {
	const first, second = 2, 5
	for _, row := range []string{"nothing", `request_type="max"`} {
		b := newBench(t, engine.Triton, "m")
		for n := range 2 * windowPages {
			iteration := 1000 + 10*n
			if n == first || n == second {
				iteration = 500
			}
			got := b.page(without(replaceLines(soundPage(10+n, 1000*n), iterationsAt(iteration)), row)...)
			doubted := n >= second && n-first <= windowPages
			require.Equal(t, doubted, got.get(t, found("flapping_gauges", "m")) == 1, "page %d without %s", n, row)
			require.Equal(t, !doubted, hasSeries(got, `requests_active{model_id="m"}`), "page %d without %s", n, row)
		}
	}
}

func TestTwoVersionsOfVLLMBackendStayBelowOne(t *testing.T) {
	for _, name := range []string{"vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc"} {
		var lines []string
		for _, v := range []string{"1", "2"} {
			l := `{model="m",version="` + v + `"}`
			lines = append(
				lines,
				`nv_inference_request_success`+l+` 5`,
				name+l+` 0.`+v+`5`,
				`vllm:num_requests_running`+l+` 3`,
				`vllm:num_requests_waiting`+l+` 0`,
			)
		}
		got := newBench(t, engine.Triton, "m").facts(configured("m", "vllm", true)).page(lines...)
		require.InDelta(t, 0.25, got.get(t, `kv_cache_utilization_ratio{model_id="m"}`), 1e-9, name)
	}
}

func TestNaNQueueIsIgnored(t *testing.T) {
	page := func(n int, pending string) []string {
		return replaceLines(
			soundPage(10*n, 1000*n),
			`nv_inference_pending_request_count{model="m",version="1"} `+pending,
		)
	}
	b := newBench(t, engine.Triton, "m").facts(configured("m", "tensorrtllm", false))
	b.page(page(1, "3")...)
	got := b.page(page(2, "3")...)
	require.Contains(t, got, `queue_hidden_requests_estimate{model_id="m"}`)
	require.Contains(t, got, `limited_by{model_id="m", resource="core_queue"}`)
	got = b.page(page(3, "NaN")...)
	got.lacks(t, `queue_hidden_requests_estimate{model_id="m"}`)
	require.Zero(t, got.count("limited_by{"))
}

// TestQueueIncludingFailuresIsIgnored uses a Triton whose count of pending requests
// includes those that could not be queued, as in 23.09 and 23.10 (core, pull request
// 286).
func TestQueueIncludingFailuresIsIgnored(t *testing.T) {
	page := []string{
		`nv_inference_request_success{model="m",version="1"} 50`,
		`nv_inference_request_failure{model="m",version="1"} 0`,
		`nv_inference_request_duration_us{model="m",version="1"} 5000000`,
		`nv_inference_pending_request_count{model="m",version="1"} 136`,
	}
	for version, counts := range map[string]bool{
		"2.38.0":  false,
		"2.39.0":  false,
		"2.40.0":  true,
		"2.51.0":  true,
		"unknown": true,
		"":        true,
	} {
		b := newBench(t, engine.Triton).facts(configured("m", "pytorch", false)).
			with(func(o *derive.Options) { o.Naming.EngineVersion = version })
		got := b.page(page...)
		for _, series := range []string{
			`queue_depth{model_id="m"}`, `queue_requests{model_id="m", queue="core"}`,
			`model_requests_pending{model="m", model_id="m", role="single", version="1"}`,
		} {
			require.Equal(t, counts, hasSeries(got, series), "%s in %s", series, version)
		}
		if !counts {
			require.Zero(t, b.stillAfter(page...), "an idle one in %s", version)
		}
	}
}
