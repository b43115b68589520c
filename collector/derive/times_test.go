package derive_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestATimeOfZeroIsUnknown covers times that a server counts and does not measure: all observations are in the first
// bucket, and their sum is 0. A wait may take no time.
func TestATimeOfZeroIsUnknown(t *testing.T) {
	const lset = `model_name="m"`
	vllm := func(n int, more ...[]string) []string {
		page := []string{
			`vllm:num_requests_running{` + lset + `} 2`,
			fmt.Sprintf(`vllm:generation_tokens_total{%s} %d`, lset, 20*n),
			fmt.Sprintf(`vllm:request_success_total{%s,finished_reason="stop"} %d`, lset, n),
		}
		for _, lines := range more {
			page = append(page, lines...)
		}
		return page
	}
	times := func(name string, sum float64, n int) []string { return histogram(name, lset, sum, "0.001 +Inf", n, n) }
	for _, c := range []struct {
		name         string
		kind         engine.Name
		page         func(n int) []string
		wants, lacks string
	}{
		{
			"times to the first token without a sum", engine.VLLM, func(n int) []string {
				return vllm(n, times("vllm:time_to_first_token_seconds", 0, n), times("vllm:e2e_request_latency_seconds", float64(n)/2000, n))
			}, "request_duration_average_seconds", "time_to_first_token",
		},
		{
			"all times", engine.VLLM, func(n int) []string {
				return vllm(n, times("vllm:time_to_first_token_seconds", 0, n), times("vllm:e2e_request_latency_seconds", 0, n),
					times("vllm:inter_token_latency_seconds", 0, n))
			}, "requests_per_second", "time_to_first_token request_duration inter_token_latency",
		},
		{
			"times of parts of a request", engine.VLLM, func(n int) []string {
				return vllm(n, times("vllm:request_prefill_time_seconds", 0, n), times("vllm:request_decode_time_seconds", 0, n),
					times("vllm:e2e_request_latency_seconds", float64(n)/2000, n))
			}, "request_duration_average_seconds", "request_prefill request_decode",
		},
		{
			"a sum that no longer grows", engine.VLLM, func(n int) []string {
				return vllm(n, times("vllm:time_to_first_token_seconds", 0.0005, n))
			}, "requests_per_second", "time_to_first_token_average_seconds",
		},
		{
			"a queue in which nobody waits", engine.VLLM, func(n int) []string {
				return vllm(n, times("vllm:request_queue_time_seconds", 0, n))
			}, "request_queue_average_seconds", "",
		},
		{
			"times that are measured", engine.VLLM, func(n int) []string {
				return vllm(n, times("vllm:time_to_first_token_seconds", float64(n)/2000, n))
			}, "time_to_first_token_average_seconds time_to_first_token_seconds_bucket", "",
		},
		{
			"trtllm-serve", engine.TRTLLMServe, func(n int) []string {
				l := `engine_type="pytorch",model_name="m"`
				return append(histogram("trtllm_time_to_first_token_seconds", l, 0, "0.001 +Inf", n, n),
					histogram("trtllm_e2e_request_latency_seconds", l, float64(n), "0.001 +Inf", 0, n)...)
			}, "request_duration_average_seconds", "time_to_first_token",
		},
		{
			"SGLang", engine.SGLang, func(n int) []string {
				return append(histogram("sglang:inter_token_latency_seconds", lset, 0, "0.001 +Inf", n, n),
					histogram("sglang:e2e_request_latency_seconds", lset, float64(n), "0.001 +Inf", 0, n)...)
			}, "request_duration_average_seconds", "inter_token_latency",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.kind, "m")
			var got values
			for n := range 4 {
				got = b.page(c.page(10 + 5*n)...)
			}
			for family := range strings.FieldsSeq(c.wants) {
				require.NotZero(t, got.count(family), "%s: %v", family, got)
			}
			for family := range strings.FieldsSeq(c.lacks) {
				require.Zero(t, got.count(family), "%s: %v", family, got.near(family))
			}
		})
	}
}

func TestAServerWithoutRequestsHasNoTimesOfZero(t *testing.T) {
	b := newBench(t, engine.VLLM, "m")
	for range 3 {
		got := b.page(histogram("vllm:time_to_first_token_seconds", `model_name="m"`, 0, "0.001 +Inf", 0, 0)...)
		require.NotZero(t, got.count("time_to_first_token_seconds_bucket"))
	}
}
