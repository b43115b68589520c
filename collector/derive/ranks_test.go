package derive_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestARankThatStandsStillIsAStall has servers of two engines that add all up, as
// they were seen: one of them stands still, and the sums go on.
func TestARankThatStandsStillIsAStall(t *testing.T) {
	vllm := func(steps [2]int) (lines []string) {
		for rank, n := range steps {
			l := fmt.Sprintf(`engine="%d",model_name="m"`, rank)
			lines = append(lines,
				fmt.Sprintf(`vllm:num_requests_running{%s} 4`, l), fmt.Sprintf(`vllm:num_requests_waiting{%s} 0`, l),
				fmt.Sprintf(`vllm:prompt_tokens_total{%s} %d`, l, 10*n), fmt.Sprintf(`vllm:generation_tokens_total{%s} %d`, l, 4*n),
				fmt.Sprintf(`vllm:request_success_total{%s,finished_reason="stop"} %d`, l, n), fmt.Sprintf(`vllm:iteration_tokens_total_count{%s} %d`, l, n),
				fmt.Sprintf(`vllm:engine_sleep_state{%s,sleep_state="awake"} 1`, l))
		}
		return append(lines, fmt.Sprintf(`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} %d`, steps[0]+steps[1]))
	}
	vllmWithoutSteps := func(steps [2]int) (lines []string) {
		for rank, n := range steps {
			l := fmt.Sprintf(`engine="%d",model_name="m"`, rank)
			lines = append(lines, fmt.Sprintf(`vllm:num_requests_running{%s} 4`, l), fmt.Sprintf(`vllm:generation_tokens_total{%s} %d`, l, 4*n))
		}
		return lines
	}
	sglang := func(steps [2]int) (lines []string) {
		for rank, n := range steps {
			l := fmt.Sprintf(`dp_rank="%d",engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="0"`, rank)
			lines = append(lines,
				fmt.Sprintf(`sglang:num_running_reqs{%s} 4`, l), fmt.Sprintf(`sglang:num_queue_reqs{%s} 1`, l),
				fmt.Sprintf(`sglang:realtime_tokens_total{mode="decode",%s} %d`, l, 4*n), fmt.Sprintf(`sglang:cuda_graph_passes_total{mode="decode_none",%s} %d`, l, n))
		}
		// What requests are booked with has no rank.
		const l = `engine_type="unified",is_streaming="true",model_name="m"`
		all := steps[0] + steps[1]
		return append(lines, fmt.Sprintf(`sglang:generation_tokens_total{%s} %d`, l, all), fmt.Sprintf(`sglang:prompt_tokens_total{%s} %d`, l, all), fmt.Sprintf(`sglang:num_requests_total{%s} %d`, l, all))
	}
	for _, server := range []struct {
		name string
		kind engine.Kind
		page func(steps [2]int) []string
	}{
		{"vLLM", engine.VLLM, vllm},
		{"vLLM without iterations", engine.VLLM, vllmWithoutSteps},
		{"NIM 2.x with vLLM", engine.NIM, vllm},
		{"SGLang", engine.SGLang, sglang},
		{"NIM 2.x with SGLang", engine.NIM, sglang},
	} {
		for _, c := range []struct {
			says    string
			moves   [2]int
			stalled bool
		}{
			{"both go on", [2]int{1, 1}, false},
			{"the second stands still", [2]int{1, 0}, true},
			{"the first stands still", [2]int{0, 1}, true},
			{"both stand still", [2]int{0, 0}, true},
		} {
			t.Run(server.name+", "+c.says, func(t *testing.T) {
				b := newBench(t, server.kind, "m")
				steps := [2]int{100, 100}
				for range 8 {
					b.page(server.page(steps)...)
					steps[0], steps[1] = steps[0]+c.moves[0], steps[1]+c.moves[1]
				}
				require.Equal(t, c.stalled, b.deriver.Conditions().Still.For > 0)
			})
		}
	}
}
