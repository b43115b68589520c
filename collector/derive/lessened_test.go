package derive_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestARefusalWithinAStreamTakesNoFailureBack has a vLLM that refuses streams
// within answers of 200, which nothing but the refusals counts.
func TestARefusalWithinAStreamTakesNoFailureBack(t *testing.T) {
	const least, all = `slo_requests_bad_total{bound="lower", model_id="m", slo="availability"}`, `slo_requests_total{model_id="m", slo="availability"}`
	b := newBench(t, engine.VLLM, "m").promises(derive.Objective{Name: derive.Availability, Share: 0.995})
	for _, c := range []struct {
		says             string
		refused, failed  string
		wantBad, wantAll float64
	}{
		{"none was refused", "", "100", 100, 1100},
		{"three streams were", "3", "100", 100, 1103},
		{"two more failed", "3", "102", 100, 1103},
		{"seven more", "3", "109", 106, 1109},
		{"one was refused and answered 503", "4", "110", 106, 1110},
		{"a process that began again", "0", "2", 2, 1002},
		{"and refused a stream", "1", "2", 2, 1003},
	} {
		page := []string{
			`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 1000`,
			`http_requests_total{handler="/v1/completions",method="POST",status="5xx"} ` + c.failed,
		}
		if c.refused != "" {
			page = append(page, `vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} `+c.refused)
		}
		got := b.page(page...)
		require.Equal(t, c.wantBad, got.at(t, least), c.says)
		require.Equal(t, c.wantAll, got.at(t, all), c.says)
	}
	require.Equal(t, derive.Stats{Resets: 2}, b.deriver.Stats(), "what is made of counters is no counter that fell")
}

// TestAFailureAfterARestartCountsWhateverItsPath has a vLLM that failed at one path,
// began again, and fails at another.
func TestAFailureAfterARestartCountsWhateverItsPath(t *testing.T) {
	b := newBench(t, engine.VLLM, "m").promises(derive.Objective{Name: derive.Availability, Share: 0.995})
	for _, c := range []struct {
		path         string
		good, failed int
	}{{"completions", 1000, 100}, {"completions", 1100, 110}, {"chat/completions", 10, 2}, {"chat/completions", 20, 5}} {
		got := b.page(
			fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, c.good),
			`vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} 0`,
			fmt.Sprintf(`http_requests_total{handler="/v1/%s",method="POST",status="5xx"} %d`, c.path, c.failed),
		)
		require.Equal(t, float64(c.failed), got.at(t, `slo_requests_bad_total{bound="lower", model_id="m", slo="availability"}`), c)
	}
}

// TestAnAbortTakesNoAnswerBack has an SGLang that counts an abort before the end
// of the request, and its first at once.
func TestAnAbortTakesNoAnswerBack(t *testing.T) {
	b := newBench(t, engine.SGLang, "m")
	for _, c := range []struct {
		says           string
		ended, aborted int
		want           float64
	}{
		{"none was aborted", 100, 0, 100},
		{"the first is, and has not ended", 100, 1, 100},
		{"it has", 101, 1, 100},
		{"two more are", 101, 3, 100},
		{"they have ended, and one well", 104, 3, 101},
		{"a process that began again", 5, 1, 4},
	} {
		page := []string{
			`sglang:http_responses_total{endpoint="/metrics",method="GET",status_code="200"} 1`,
			fmt.Sprintf(`sglang:num_requests_total{is_streaming="true",model_name="m"} %d`, c.ended),
		}
		if c.aborted > 0 {
			page = append(page, fmt.Sprintf(`sglang:num_aborted_requests_total{model_name="m"} %d`, c.aborted))
		}
		require.Equal(t, c.want, b.page(page...).at(t, `requests_total{class="ok", model_id="m"}`), c.says)
	}
}
