package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// What an engine is limited by is not said where it is not known how much it has
// or how much waits, whatever else is.
func TestNothingIsSaidOfLimitsThatAreNotKnown(t *testing.T) {
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
	}{{"", true}, {"pending", true}, {"used", true}, {"blocks", true}, {"max", true}, {"active scheduled", false}, {"waiting scheduled", false}} {
		t.Run("without "+c.without, func(t *testing.T) {
			var page []string
			for name, row := range rows {
				if !strings.Contains(c.without, name) {
					page = append(page, row)
				}
			}
			slices.Sort(page)
			got := newBench(t, engine.Triton, "llm").facts(configured("llm", "tensorrtllm", false)).page(page...)
			said := 0
			for series := range got {
				if strings.HasPrefix(series, "limited_by{") {
					said++
				}
			}
			require.Equal(t, c.known, said > 0)
		})
	}
}

// TestNothingIsSaidOfLimitsThatAreNoNumbers is the same of a page that has the
// gauges, without numbers.
func TestNothingIsSaidOfLimitsThatAreNoNumbers(t *testing.T) {
	for _, c := range []struct {
		says, active, waiting string
		known                 bool
	}{
		{"both are numbers", "8", "2", true},
		{"how much it has is no number", "NaN", "2", false},
		{"how much waits is no number", "8", "NaN", false},
		{"neither is a number", "NaN", "NaN", false},
	} {
		t.Run(c.says, func(t *testing.T) {
			got := newBench(t, engine.Triton, "llm").facts(configured("llm", "tensorrtllm", false)).page(
				`nv_inference_request_success{model="llm",version="1"} 5`,
				`nv_trt_llm_request_metrics{model="llm",request_type="active",version="1"} `+c.active,
				`nv_trt_llm_request_metrics{model="llm",request_type="waiting",version="1"} `+c.waiting,
				`nv_trt_llm_request_metrics{model="llm",request_type="max",version="1"} 8`,
			)
			for _, resource := range []string{"slots", "kv_cache", "prefill", "core_queue", "none", "unknown"} {
				_, said := got[fmt.Sprintf(`limited_by{model_id="llm", resource=%q}`, resource)]
				require.Equal(t, c.known, said, resource)
			}
		})
	}
}

func TestALimitOfNothingIsNoLimit(t *testing.T) {
	page := func(limit int) []string {
		return []string{
			`trtllm_request_success_total{model_name="m",finished_reason="stop"} 5`,
			`trtllm_num_requests_running{model_name="m",pid="1"} 3`,
			`trtllm_num_requests_waiting{model_name="m",pid="1"} 0`,
			fmt.Sprintf(`trtllm_max_num_active_requests{model_name="m",pid="1"} %d`, limit),
		}
	}
	const name = `saturation_ratio{model_id="m"}`
	require.InDelta(t, 3.0/64, newBench(t, engine.TRTLLMServe, "m").page(page(64)...).at(t, name), 1e-9)
	newBench(t, engine.TRTLLMServe, "m").page(page(0)...).lacks(t, name, "three requests are no infinity of none")
}

// TestThePlacesOfAllWorkersAreFull has a router of two workers and three requests.
func TestThePlacesOfAllWorkersAreFull(t *testing.T) {
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
			require.Equal(t, resource == want, got.at(t, fmt.Sprintf(`limited_by{model_id="m", resource=%q}`, resource)) == 1, "a limit of %d, %s", limit, resource)
		}
	}
}

// What a latency measures of all requests is known while both are counted, and
// requests end.
func TestTheShareOfRequestsThatAreMeasuredNeedsBothCounts(t *testing.T) {
	requests := func(n int) []string {
		return []string{
			fmt.Sprintf(`sglang:num_requests_total{model_name="m",is_streaming="true"} %d`, 200*n),
			fmt.Sprintf(`sglang:http_requests_total{endpoint="/v1/completions",method="POST"} %d`, 200*n),
			fmt.Sprintf(`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="200"} %d`, 200*n),
		}
	}
	latency := func(n int) []string {
		return []string{
			fmt.Sprintf(`sglang:time_to_first_token_seconds_bucket{model_name="m",is_streaming="true",le="+Inf"} %d`, 50*n),
			fmt.Sprintf(`sglang:time_to_first_token_seconds_sum{model_name="m",is_streaming="true"} %d`, 50*n),
			fmt.Sprintf(`sglang:time_to_first_token_seconds_count{model_name="m",is_streaming="true"} %d`, 50*n),
		}
	}
	const name = `signal_coverage_ratio{model_id="m", signal="time_to_first_token"}`
	for _, c := range []struct {
		says          string
		first, second []string
		want          float64
	}{
		{"both from the first page on", slices.Concat(requests(1), latency(1)), slices.Concat(requests(2), latency(2)), 0.25},
		{"a latency that is new and counts from 0", requests(1), slices.Concat(requests(2), latency(1)), 0.25},
		{"more measured than requests", slices.Concat(requests(1), latency(1)), slices.Concat(requests(2), latency(9)), 1},
		{"none measured", slices.Concat(requests(1), latency(1)), slices.Concat(requests(2), latency(1)), 0},
		{"no request", slices.Concat(requests(1), latency(1)), slices.Concat(requests(1), latency(1)), -1},
		{"no request, and more measured", slices.Concat(requests(1), latency(1)), slices.Concat(requests(1), latency(2)), -1},
		{"requests that were counted no more", slices.Concat(requests(1), latency(1)), latency(2), -1},
		{"a latency that was measured no more", slices.Concat(requests(1), latency(1)), requests(2), -1},
		{"a latency that counts from 0 again", slices.Concat(requests(1), latency(3)), with(slices.Concat(requests(2), latency(3)), latency(2)[2]), -1},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBench(t, engine.SGLang, "m")
			b.page(c.first...).lacks(t, name, "one page is no increase")
			got := b.page(c.second...)
			if c.want < 0 {
				got.lacks(t, name)
				return
			}
			require.InDelta(t, c.want, got.at(t, name), 1e-9)
		})
	}
}

// The module's gauges are of an engine that it reads: its heartbeat has to move
// within three times after which a page is late, which is two intervals and a half.
func TestGaugesOfAnEngineWhoseHeartStandsStillAreHeldBack(t *testing.T) {
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
		without := func(page []string) []string {
			return slices.DeleteFunc(page, func(line string) bool { return strings.HasPrefix(line, part) })
		}
		b := newBench(t, engine.Triton, "m").facts(configured("m", "python", false))
		for n := 1; n <= 20; n++ {
			got := b.page(without(page(n, min(n, 10)))...)
			if n <= 10+7 {
				require.InDelta(t, 3, got.at(t, name), 0, "page %d without %s", n, part)
				continue
			}
			got.lacks(t, name, part)
		}
		require.InDelta(t, 3, b.page(without(page(21, 21))...).at(t, name), 0, "it beats again, without %s", part)
	}
}

// A counter of iterations that fell twice is that of two instances, until the first
// of the two is more than a window ago.
func TestAnIterationCounterThatFellTwiceIsDoubtedForAWindow(t *testing.T) {
	const windowPages, first, second = 12, 2, 5
	b := newBench(t, engine.Triton, "m")
	for n := range 2 * windowPages {
		iteration := 1000 + 10*n
		if n == first || n == second {
			iteration = 500
		}
		got := b.page(with(soundPage(10+n, 1000*n), iterationsAt(iteration))...)
		want := 0.0
		if n >= second && n-first <= windowPages {
			want = 1
		}
		require.InDelta(t, want, got.at(t, found("flapping_gauges", "m")), 0, "page %d", n)
	}
}

func TestTwoVersionsOfAVLLMInTritonAreNotFullerThanFull(t *testing.T) {
	for _, name := range []string{"vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc"} {
		var lines []string
		for _, v := range []string{"1", "2"} {
			l := `{model="m",version="` + v + `"}`
			lines = append(lines, `nv_inference_request_success`+l+` 5`, name+l+` 0.`+v+`5`, `vllm:num_requests_running`+l+` 3`, `vllm:num_requests_waiting`+l+` 0`)
		}
		got := newBench(t, engine.Triton, "m").facts(configured("m", "vllm", true)).page(lines...)
		require.InDelta(t, 0.25, got.at(t, `kv_cache_utilization_ratio{model_id="m"}`), 1e-9, name)
	}
}

func TestNothingIsConcludedFromAQueueThatIsNoNumber(t *testing.T) {
	page := func(n int, pending string) []string {
		return with(soundPage(10*n, 1000*n), `nv_inference_pending_request_count{model="m",version="1"} `+pending)
	}
	b := newBench(t, engine.Triton, "m").facts(configured("m", "tensorrtllm", false))
	b.page(page(1, "3")...)
	got := b.page(page(2, "3")...)
	require.Contains(t, got, `queue_hidden_requests_estimate{model_id="m"}`)
	require.Contains(t, got, `limited_by{model_id="m", resource="none"}`)
	got = b.page(page(3, "NaN")...)
	got.lacks(t, `queue_hidden_requests_estimate{model_id="m"}`)
	got.lacks(t, `limited_by{model_id="m", resource="none"}`)
}

// TestAQueueThatKeepsWhatFailedIsNone has a Triton whose count of pending requests keeps
// those that could not be queued, as in 23.09 and 23.10 (core, pull request 286).
func TestAQueueThatKeepsWhatFailedIsNone(t *testing.T) {
	page := []string{
		`nv_inference_request_success{model="m",version="1"} 50`, `nv_inference_request_failure{model="m",version="1"} 0`,
		`nv_inference_request_duration_us{model="m",version="1"} 5000000`, `nv_inference_pending_request_count{model="m",version="1"} 136`,
	}
	for version, counts := range map[string]bool{"2.38.0": false, "2.39.0": false, "2.40.0": true, "2.51.0": true, "unknown": true, "": true} {
		b := newBench(t, engine.Triton, "m")
		b.deriver.Identify(derive.Identity{
			Labels: labels.FromStrings("pool_id", "p", "replica_id", "r"), EngineVersion: version,
			Topology: engine.NewTopology(b.engine, engine.Seen{Names: []string{"m"}}, []engine.ModelFacts{configured("m", "pytorch", false)}, nil),
		})
		got := b.page(page...)
		for _, series := range []string{`queue_depth{model_id="m"}`, `queue_requests{model_id="m", queue="core"}`, `model_requests_pending{model="m", model_id="m", role="single", version="1"}`} {
			_, shown := got[series]
			require.Equal(t, counts, shown, "%s in %s", series, version)
		}
		if !counts {
			require.Zero(t, b.stallsAfter(page...), "an idle one in %s", version)
		}
	}
}
