package derive_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestACounterThatWasGoneDidNotCountAllAgain has servers whose counters come with
// their first event: one that is not on a single page is not new.
func TestACounterThatWasGoneDidNotCountAllAgain(t *testing.T) {
	page := func(n int) []string {
		lines := []string{`trtllm_prompt_cached_tokens_total{model_name="llama"} 0`}
		if n > 0 {
			lines = append(lines, fmt.Sprintf(`trtllm_request_success_total{finished_reason="stop",model_name="llama"} %d`, n))
		}
		return lines
	}
	b := newBench(t, engine.TRTLLMServe, "llama")
	b.page(page(1000)...)
	b.page(page(0)...)
	got := b.page(page(1010)...)
	got.lacks(t, `requests_per_second{model_id="llama"}`, "what went on meanwhile is not known")
	require.InDelta(t, 2, b.page(page(1020)...).at(t, `requests_per_second{model_id="llama"}`), 1e-9)
}

// TestAnAbortMayBeCountedBeforeTheEnd has more requests aborted over a window
// than ended.
func TestAnAbortMayBeCountedBeforeTheEnd(t *testing.T) {
	page := func(ended, aborted int) []string {
		return []string{
			`sglang:http_responses_total{endpoint="/metrics",method="GET",status_code="200"} 1`,
			fmt.Sprintf(`sglang:num_requests_total{is_streaming="true",model_name="tiny"} %d`, ended),
			fmt.Sprintf(`sglang:num_aborted_requests_total{model_name="tiny"} %d`, aborted),
		}
	}
	b := newBench(t, engine.SGLang, "tiny")
	b.page(page(100, 10)...)
	got := b.page(page(103, 15)...)
	require.InDelta(t, 1, got.at(t, `request_error_ratio{class="canceled", model_id="tiny"}`), 1e-9)
	require.InDelta(t, 1, got.at(t, `requests_per_second{model_id="tiny"}`), 1e-9)
	got = b.page(page(110, 15)...)
	require.InDelta(t, 0.5, got.at(t, `request_error_ratio{class="canceled", model_id="tiny"}`), 1e-9, "5 of the 10 that ended")
}

// TestClientsThatLeaveAnSGLang holds what became of requests against what clients did
// to a real one: those that are aborted while they wait are in no other counter, and
// those that are not streamed are answered 400 too.
func TestClientsThatLeaveAnSGLang(t *testing.T) {
	for _, c := range []struct {
		says                                                     string
		streamed, unstreamed, aborted, wholeStreams, wholeOthers int
		badly                                                    int
		ok, client, canceled                                     float64
	}{
		{"nobody left", 8, 4, 0, 8, 4, 2, 12, 2, 0},
		{"4 ended, 4 streams and 4 others were left, 3 of which waited", 8, 4, 11, 4, 0, 7, 4, 0, 11},
		{"the same, and 2 requests that were wrong", 8, 4, 11, 4, 0, 9, 4, 2, 11},
		{"streams that were left take no mistake back", 30, 0, 20, 10, 0, 5, 10, 5, 20},
		{"an answer of one token is no stream that was left", 11, 0, 0, 10, 0, 3, 11, 3, 0},
	} {
		b := newBench(t, engine.SGLang, "tiny")
		page := []string{
			fmt.Sprintf(`sglang:num_requests_total{is_streaming="true",model_name="tiny"} %d`, c.streamed),
			fmt.Sprintf(`sglang:num_requests_total{is_streaming="false",model_name="tiny"} %d`, c.unstreamed),
			"# TYPE sglang:request_time_per_output_token_seconds histogram",
			fmt.Sprintf(`sglang:request_time_per_output_token_seconds_count{is_streaming="true",model_name="tiny"} %d`, c.wholeStreams),
			fmt.Sprintf(`sglang:request_time_per_output_token_seconds_count{is_streaming="false",model_name="tiny"} %d`, c.wholeOthers),
			fmt.Sprintf(`sglang:http_responses_total{endpoint="/v1/completions",method="POST",status_code="400"} %d`, c.badly),
		}
		if c.aborted > 0 {
			page = append(page, fmt.Sprintf(`sglang:num_aborted_requests_total{model_name="tiny"} %d`, c.aborted))
		}
		got := b.page(page...)
		require.Equal(t, c.ok, got.at(t, `requests_total{class="ok", model_id="tiny"}`), c.says)
		require.Equal(t, c.client, got.at(t, `requests_total{class="client", model_id="tiny"}`), c.says)
		require.Equal(t, c.canceled, got.at(t, `requests_total{class="canceled", model_id="tiny"}`), c.says)
		require.Equal(t, c.client, got.at(t, `requests_failed_total{class="client", model_id="tiny", reason="http_400"}`), c.says)
	}
}

// TestARefusedRequestCountsOnce has a vLLM that refuses 10 of 20, each of which is
// among its answers as well, and fails 3 otherwise.
func TestARefusedRequestCountsOnce(t *testing.T) {
	got := newBench(t, engine.VLLM, "m").page(
		`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 10`,
		`vllm:request_success_total{engine="0",finished_reason="error",model_name="m"} 1`,
		`vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} 10`,
		`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 12`,
		`http_requests_total{handler="/v1/completions",method="POST",status="4xx"} 1`,
	)
	for class, want := range map[string]float64{"ok": 10, "overload": 10, "server": 3, "client": 1} {
		require.Equal(t, want, got.at(t, fmt.Sprintf(`requests_total{class=%q, model_id="m"}`, class)), class)
	}
	require.Equal(t, 2.0, got.at(t, `requests_failed_total{class="server", model_id="m", reason="http_5xx"}`))
	require.Equal(t, 10.0, got.at(t, `requests_failed_total{class="overload", model_id="m", reason="max_num_queued_reqs"}`))
}

// TestOneOfTwoEntriesFails has two deployments on one Triton: the ratio of the
// one that fails is its own, and the replica still serves.
func TestOneOfTwoEntriesFails(t *testing.T) {
	b := newBench(t, engine.Triton).facts(configured("good", "onnxruntime", false), configured("bad", "onnxruntime", false))
	for n := range 4 {
		got := b.page(
			fmt.Sprintf(`nv_inference_request_success{model="good",version="1"} %d`, 10*n),
			`nv_inference_request_success{model="bad",version="1"} 0`,
			`nv_inference_request_failure{model="good",reason="BACKEND",version="1"} 0`,
			fmt.Sprintf(`nv_inference_request_duration_us{model="good",version="1"} %d`, 1000*n),
			`nv_inference_request_duration_us{model="bad",version="1"} 0`,
			fmt.Sprintf(`nv_inference_request_failure{model="bad",reason="BACKEND",version="1"} %d`, 5*n),
		)
		if n > 0 {
			require.InDelta(t, 1, got.at(t, `request_error_ratio{class="server", model="bad", model_id="bad", version="1"}`), 1e-9)
			require.InDelta(t, 0, got.at(t, `request_error_ratio{class="server", model="good", model_id="good", version="1"}`), 1e-9)
			require.InDelta(t, 1, got.at(t, `requests_per_second{model="bad", model_id="bad", version="1"}`), 1e-9)
		}
	}
	require.False(t, b.deriver.Conditions().Failing)
}

// TestRefusalsAreNoFailuresOfTheServer has a vLLM that refuses requests for want
// of room, which answers with a status of its own and counts it again.
func TestRefusalsAreNoFailuresOfTheServer(t *testing.T) {
	page := func(ok, refused, answered5xx int) []string {
		return []string{
			fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="tiny"} %d`, ok),
			fmt.Sprintf(`vllm:admission_rejections_total{model_name="tiny",reason="max_num_queued_reqs"} %d`, refused),
			fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} %d`, answered5xx),
		}
	}
	b := newBench(t, engine.VLLM, "tiny")
	for n := range 4 {
		got := b.page(page(7, 8*n, 6*n)...)
		if n > 0 {
			require.InDelta(t, 1, got.at(t, `request_error_ratio{class="overload", model_id="tiny"}`), 1e-9)
			require.InDelta(t, 0, got.at(t, `request_error_ratio{class="server", model_id="tiny"}`), 1e-9)
		}
	}
	require.False(t, b.deriver.Conditions().Failing, "all were refused, none failed")
	b.page(page(7, 24, 25)...)
	b.page(page(7, 24, 30)...)
	require.True(t, b.deriver.Conditions().Failing)
}

// TestARefusalIsNoFailureWhenItsAnswerCountsLater has a vLLM that only refuses, and
// on each second page one refusal of which the answer is not counted yet.
func TestARefusalIsNoFailureWhenItsAnswerCountsLater(t *testing.T) {
	b := newBench(t, engine.VLLM, "tiny")
	page := func(refused, failed int) bool {
		b.page(
			`vllm:request_success_total{engine="0",finished_reason="stop",model_name="tiny"} 7`,
			fmt.Sprintf(`vllm:admission_rejections_total{model_name="tiny",reason="max_num_queued_reqs"} %d`, refused),
			fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} %d`, failed),
		)
		return b.deriver.Conditions().Failing
	}
	for n := range 20 {
		require.False(t, page(100*n, 100*n-n%2), "page %d", n)
	}
	require.False(t, page(2050, 2000), "fifty streams were refused within answers of 200")
	for n := range 13 {
		require.False(t, page(2050, 2000), "page %d", n)
	}
	require.False(t, page(2050, 2002), "one page may be one bad client")
	require.True(t, page(2050, 2005), "that they were refused is over")
}

// TestAClassThatIsCountedInPartHasAShareOnceOneWasCounted has a vLLM, which counts
// those of the requests whose clients left that its engine knew of.
func TestAClassThatIsCountedInPartHasAShareOnceOneWasCounted(t *testing.T) {
	page := func(ended, aborted int) []string {
		return []string{
			fmt.Sprintf(`vllm:request_success_total{finished_reason="stop",model_name="m"} %d`, ended),
			fmt.Sprintf(`vllm:request_success_total{finished_reason="abort",model_name="m"} %d`, aborted),
			`http_requests_total{handler="/v1/completions",method="POST",status="4xx"} 0`,
			`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 0`,
		}
	}
	const canceled = `request_error_ratio{class="canceled", model_id="m"}`
	b := newBench(t, engine.VLLM, "m")
	b.page(page(10, 0)...)
	got := b.page(page(16, 0)...)
	require.Zero(t, got.at(t, `request_error_ratio{class="server", model_id="m"}`))
	got.lacks(t, canceled, "none was ever counted")
	require.InDelta(t, 1.0/13, b.page(page(22, 1)...).at(t, canceled), 1e-9, "one is enough")
	require.InDelta(t, 4.0/16, b.page(page(22, 4)...).at(t, canceled), 1e-9)
}
