package derive_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestWhatIsComputedIsFiniteOrAbsent has two ranks of a vLLM whose numbers are as
// large as numbers can be, so that no sum of both is one.
func TestWhatIsComputedIsFiniteOrAbsent(t *testing.T) {
	page := func(n string) []string {
		var all []string
		for _, rank := range []string{"0", "1"} {
			for _, name := range []string{"prompt_tokens_total", "generation_tokens_total", "prefix_cache_hits_total", "num_requests_running", "num_requests_waiting"} {
				all = append(all, `vllm:`+name+`{engine="`+rank+`",model_name="m"} `+n)
			}
			for _, part := range []string{`bucket{le="1.0",`, `bucket{le="+Inf",`, "sum{", "count{"} {
				all = append(all, `vllm:time_to_first_token_seconds_`+part+`engine="`+rank+`",model_name="m"} `+n)
			}
		}
		return all
	}
	b := newBench(t, engine.VLLM, "m")
	b.page(page("0")...)
	for series, v := range b.page(page("1.7e308")...) {
		require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "%s is %v", series, v)
	}
}
