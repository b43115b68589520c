package derive_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestAnExecutorIsZeroOnlyIfBothOfItsRowsSaySo has every pair of what the rows
// for the most requests and for iterations may be, while requests end.
func TestAnExecutorIsZeroOnlyIfBothOfItsRowsSaySo(t *testing.T) {
	const l = `model="m",version="1"`
	const most, iterations = `nv_trt_llm_request_metrics{` + l + `,request_type="max"} `, `nv_trt_llm_general_metrics{` + l + `,general_type="iteration_counter"} `
	for _, c := range []struct {
		most, iterations string
		zero             bool
		verdict          bool
	}{
		{"0", "0", true, true},
		{"0", "7", false, true},
		{"8", "0", false, true},
		{"8", "7", false, true},
		{"NaN", "0", false, false},
		{"0", "NaN", false, false},
		{"NaN", "7", false, false},
		{"8", "NaN", false, false},
		{"NaN", "NaN", false, false},
	} {
		for ended, enough := range map[int]bool{2: false, 3: true} {
			b := newBench(t, engine.Triton, "m")
			page := func(requests int) values {
				return b.page(with(soundPage(requests, 0), append(zeroRows(), most+c.most, iterations+c.iterations)...)...)
			}
			page(10)
			got := page(10 + ended)
			says := fmt.Sprintf("most %s, iterations %s, %d ended", c.most, c.iterations, ended)
			if !c.verdict {
				got.lacks(t, found("engine_zero", "m"), says)
				continue
			}
			require.Equal(t, c.zero && enough, got.at(t, found("engine_zero", "m")) == 1, says)
		}
	}
}
