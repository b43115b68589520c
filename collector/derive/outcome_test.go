package derive_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestARequestThatTwoCountersHaveIsOneRequest has a vLLM that rejects requests: one
// that is not streamed is answered 503, and so is among the failures too.
func TestARequestThatTwoCountersHaveIsOneRequest(t *testing.T) {
	page := func(finished, rejected, failed int) []string {
		return []string{
			`http_requests_total{handler="/metrics",method="GET",status="2xx"} 5`,
			fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, finished),
			`vllm:request_success_total{engine="0",finished_reason="abort",model_name="m"} 0`,
			fmt.Sprintf(`vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} %d`, rejected),
			fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} %d`, failed),
		}
	}
	b := newBench(t, engine.VLLM, "m")
	b.page(page(10, 0, 0)...)
	got := b.page(page(20, 6, 10)...)
	require.InDelta(t, 6.0/20, got.at(t, `request_error_ratio{class="overload", model_id="m"}`), 1e-9)
	require.InDelta(t, 4.0/20, got.at(t, `request_error_ratio{class="server", model_id="m"}`), 1e-9, "ten were answered 5xx, six of them for want of room")
	require.Zero(t, got.at(t, `request_error_ratio{class="client", model_id="m"}`), "its counter comes with the first")
	got.lacks(t, `request_error_ratio{class="canceled", model_id="m"}`, "who left is not counted")
	for n := range 5 {
		b.page(page(20, 6+n, 10+n)...)
	}
	require.False(t, b.deriver.Conditions().Failing, "a server that is full does not fail")
	for n := range 3 {
		b.page(page(20, 10, 14+3*n)...)
	}
	require.True(t, b.deriver.Conditions().Failing)
}

// TestTheFirstFailureOfAServerIsSeen has servers whose counters come with their
// first event.
func TestTheFirstFailureOfAServerIsSeen(t *testing.T) {
	const good, bad = `trtllm_request_success_total{model_name="m",finished_reason="stop"} %d`, `trtllm_request_error_total{model_name="m",http_code="500"} %d`
	idle := `trtllm_prompt_cached_tokens_total{model_name="m"} 0`
	const ratio = `request_error_ratio{class="server", model_id="m"}`
	t.Run("after successes", func(t *testing.T) {
		b := newBench(t, engine.TRTLLMServe, "m")
		b.page(idle, fmt.Sprintf(good, 6))
		require.InDelta(t, 0.25, b.page(idle, fmt.Sprintf(good, 9), fmt.Sprintf(bad, 1)).at(t, ratio), 1e-9)
	})
	t.Run("from the start", func(t *testing.T) {
		b := newBench(t, engine.TRTLLMServe, "m")
		b.page(idle)
		require.InDelta(t, 1, b.page(idle, fmt.Sprintf(bad, 4)).at(t, ratio), 1e-9)
		require.False(t, b.deriver.Conditions().Failing, "one page may be one bad client")
		b.page(idle, fmt.Sprintf(bad, 8))
		require.True(t, b.deriver.Conditions().Failing)
	})
	t.Run("not of a page that is the first", func(t *testing.T) {
		b := newBench(t, engine.TRTLLMServe, "m")
		b.page(idle, fmt.Sprintf(bad, 400)).lacks(t, ratio)
		b.page(idle, fmt.Sprintf(bad, 400)).lacks(t, ratio, "when they failed nobody knows")
		require.False(t, b.deriver.Conditions().Failing)
	})
	t.Run("not of a counter that was away", func(t *testing.T) {
		b := newBench(t, engine.TRTLLMServe, "m")
		b.page(idle, fmt.Sprintf(good, 6), fmt.Sprintf(bad, 400))
		b.page(idle, fmt.Sprintf(good, 7))
		b.page(idle, fmt.Sprintf(good, 8), fmt.Sprintf(bad, 400)).lacks(t, ratio, "it did not grow by 400")
		require.False(t, b.deriver.Conditions().Failing)
	})
}

// TestAbortedRequestsAreNotAmongThoseThatEndedWell has ten requests that ended, of
// which SGLang aborted four.
func TestAbortedRequestsAreNotAmongThoseThatEndedWell(t *testing.T) {
	page := func(ended, aborted int) []string {
		return []string{
			fmt.Sprintf(`sglang:num_requests_total{model_name="m",is_streaming="true"} %d`, ended),
			fmt.Sprintf(`sglang:num_aborted_requests_total{model_name="m"} %d`, aborted),
			`sglang:http_responses_total{endpoint="/metrics",method="GET",status_code="200"} 3`,
		}
	}
	b := newBench(t, engine.SGLang, "m")
	b.page(page(5, 1)...)
	got := b.page(page(15, 5)...)
	require.InDelta(t, 2, got.at(t, `requests_per_second{model_id="m"}`), 1e-9)
	require.InDelta(t, 0.4, got.at(t, `request_error_ratio{class="canceled", model_id="m"}`), 1e-9)
	require.Equal(t, 10.0, got.at(t, `requests_total{class="ok", model_id="m"}`))
	require.Equal(t, 5.0, got.at(t, `requests_total{class="canceled", model_id="m"}`))
}

// TestRequestsAreComparedOverAStretchInWhichAbortsAreCountedToo has a counter of
// aborts that is gone for one page: what it counted meanwhile is not known.
func TestRequestsAreComparedOverAStretchInWhichAbortsAreCountedToo(t *testing.T) {
	page := func(ended int, aborted ...int) []string {
		lines := []string{
			fmt.Sprintf(`sglang:num_requests_total{model_name="m",is_streaming="true"} %d`, ended),
			`sglang:http_responses_total{endpoint="/metrics",method="GET",status_code="200"} 3`,
		}
		for _, n := range aborted {
			lines = append(lines, fmt.Sprintf(`sglang:num_aborted_requests_total{model_name="m"} %d`, n))
		}
		return lines
	}
	const ratio, rate = `request_error_ratio{class="canceled", model_id="m"}`, `requests_per_second{model_id="m"}`
	b := newBench(t, engine.SGLang, "m")
	b.page(page(100, 10)...)
	b.page(page(200)...)
	got := b.page(page(300, 60)...)
	got.lacks(t, ratio)
	got.lacks(t, rate)
	got = b.page(page(310, 64)...)
	require.InDelta(t, 0.4, got.at(t, ratio), 1e-9)
	require.InDelta(t, 2, got.at(t, rate), 1e-9, "the ten since then")
}

// tritonCounts is a page of a Triton with model m: by version what its core counts as
// succeeded and failed by its backend, and what the metrics module counts as ended
// well and as failed; -1 without the module.
func tritonCounts(versions map[string][4]int) (lines []string) {
	for _, v := range slices.Sorted(maps.Keys(versions)) {
		n := versions[v]
		lines = append(lines,
			fmt.Sprintf(`nv_inference_request_success{model="m",version=%q} %d`, v, n[0]),
			fmt.Sprintf(`nv_inference_request_failure{model="m",reason="BACKEND",version=%q} %d`, v, n[1]))
		if n[2] >= 0 {
			lines = append(lines, `nv_llmapi_heartbeat_timestamp_seconds{model="m",version="`+v+`"} 1`,
				fmt.Sprintf(`nv_llmapi_iterations_total{model="m",version=%q} %d`, v, 100*n[2]),
				fmt.Sprintf(`nv_llmapi_requests_ended_total{model="m",class="ok",finish_reason="stop",version=%q} %d`, v, n[2]),
				fmt.Sprintf(`nv_llmapi_requests_ended_total{model="m",class="server",finish_reason="error",version=%q} %d`, v, n[3]))
		}
	}
	return lines
}

// TestWhatBecameOfRequestsThatAModuleCounts has a Triton whose core takes requests for
// succeeded once the model was given them, decoupled or not (seen on 2.51), and counts
// as failed those that it could not give it.
func TestWhatBecameOfRequestsThatAModuleCounts(t *testing.T) {
	const total, rate, failed = `requests_total{class="%s", model="m", model_id="m", version="%s"}`, `requests_per_second{model="m", model_id="m", version="1"}`,
		`requests_failed_total{class="server", model="m", model_id="m", reason="%s", version="1"}`
	for _, c := range []struct {
		says    string
		counts  map[string][4]int
		handles bool // The model is decoupled.
		want    map[string]float64
		lacks   []string
	}{
		{
			"the module's counts, and not the core's successes",
			map[string][4]int{"1": {10, 0, 8, 2}},
			true,
			map[string]float64{fmt.Sprintf(total, "ok", "1"): 8, fmt.Sprintf(total, "server", "1"): 2, rate: 2},
			[]string{fmt.Sprintf(total, "unknown", "1"), `requests_per_second{model_id="m"}`},
		},
		{
			"so too of a model that is not decoupled",
			map[string][4]int{"1": {10, 0, 8, 2}},
			false,
			map[string]float64{fmt.Sprintf(total, "ok", "1"): 8, fmt.Sprintf(total, "server", "1"): 2, rate: 2},
			nil,
		},
		{
			"a dead process: what it was never given",
			map[string][4]int{"1": {10, 25, 8, 2}},
			true,
			map[string]float64{fmt.Sprintf(total, "ok", "1"): 8, fmt.Sprintf(total, "server", "1"): 27, fmt.Sprintf(failed, "backend"): 25, fmt.Sprintf(failed, "error"): 2, rate: 7},
			nil,
		},
		{
			"two versions are apart",
			map[string][4]int{"1": {10, 0, 10, 0}, "2": {30, 0, 29, 1}},
			true,
			map[string]float64{fmt.Sprintf(total, "ok", "1"): 10, fmt.Sprintf(total, "ok", "2"): 29, fmt.Sprintf(total, "server", "2"): 1, fmt.Sprintf(total, "server", "1"): 0, rate: 2},
			nil,
		},
		{
			"without the module, requests that were taken on",
			map[string][4]int{"1": {10, 0, -1, 0}},
			true,
			map[string]float64{fmt.Sprintf(total, "unknown", "1"): 10, rate: 2},
			nil,
		},
		{
			"without the module, whole requests",
			map[string][4]int{"1": {10, 5, -1, 0}},
			false,
			map[string]float64{fmt.Sprintf(total, "ok", "1"): 10, fmt.Sprintf(total, "server", "1"): 5, rate: 3},
			nil,
		},
		{
			"one version has the module, the other not",
			map[string][4]int{"1": {10, 0, 8, 2}, "2": {30, 4, -1, 0}},
			true,
			map[string]float64{fmt.Sprintf(total, "ok", "1"): 8, fmt.Sprintf(total, "unknown", "2"): 30, fmt.Sprintf(total, "server", "2"): 4},
			[]string{fmt.Sprintf(total, "client", "2")},
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			b := newBench(t, engine.Triton, "m").facts(configured("m", "python", c.handles))
			none := make(map[string][4]int)
			for v, n := range c.counts {
				none[v] = [4]int{0, 0, min(n[2], 0), 0}
			}
			b.page(tritonCounts(none)...)
			got := b.page(tritonCounts(c.counts)...)
			for series, want := range c.want {
				require.InDelta(t, want, got.at(t, series), 1e-9, series)
			}
			for _, series := range c.lacks {
				got.lacks(t, series)
			}
		})
	}
}

// TestTheModuleCountsOnOverALoad has failures that Triton keeps over an unload, next
// to counters of a module that go on as well: nothing is held back.
func TestTheModuleCountsOnOverALoad(t *testing.T) {
	b := newBench(t, engine.Triton, "m").facts(configured("m", "python", true))
	b.page(tritonCounts(map[string][4]int{"1": {10, 5, 8, 2}})...)
	b.page(slices.DeleteFunc(tritonCounts(map[string][4]int{"1": {10, 5, 8, 2}}), func(line string) bool { return strings.Contains(line, "success") })...)
	got := b.page(tritonCounts(map[string][4]int{"1": {1, 5, 9, 2}})...)
	require.InDelta(t, 9, got.at(t, `requests_total{class="ok", model="m", model_id="m", version="1"}`), 0)
	require.InDelta(t, 7, got.at(t, `requests_total{class="server", model="m", model_id="m", version="1"}`), 0)
}
