package matrix_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDerivedNumbersMatchBook compares the numbers that a server shows with what happened: a series
// that is taken for another one shows here.
func TestDerivedNumbersMatchBook(t *testing.T) {
	// Each page of the scenario has six more requests of 200 prompt and 100 generated tokens in five
	// seconds; eight with 30 blocks of 1000 run, and five wait.
	want := map[string]float64{
		"requests_running":                      8,
		"requests_waiting":                      5,
		"queue_depth":                           5,
		"kv_cache_utilization_ratio":            0.24,
		"prompt_tokens_per_second":              240,
		"generation_tokens_per_second":          120,
		"generation_tokens_live_per_second":     120,
		"time_to_first_token_average_seconds":   0.4,
		"inter_token_latency_average_seconds":   0.008,
		"time_per_output_token_average_seconds": 0.008,
		"request_queue_average_seconds":         0.05,
		"request_duration_average_seconds":      2,
	}
	histograms := map[string]float64{ // The mean of a request.
		"request_prefill_seconds":   0.35,
		"request_decode_seconds":    1.6,
		"request_inference_seconds": 1.95,
		"request_prompt_tokens":     200,
		"request_generation_tokens": 100,
	}
	except := map[string][]string{
		"Dynamo, frontend with the KV router":              {"requests_waiting", "queue_depth"}, // Of the router.
		"trtllm-serve 1.3 with attention data parallelism": {"kv_cache_utilization_ratio"},      // Of one rank.
	}
	everyCell(t, func(c *cell) {
		if c.scenario.Name != "overload" {
			return
		}
		last := &c.seen[len(c.seen)-1]
		for family, n := range want {
			v, shown := last.Value(family)
			if exceptions := except[c.server.Name]; shown && !slices.Contains(exceptions, family) {
				require.InEpsilon(c, n, v, 0.002, family)
			}
		}
		for family, n := range histograms {
			sum, shown := last.Value(family + "_sum")
			if requests, _ := last.Value(family + "_count"); shown {
				require.InEpsilon(c, n, sum/requests, 0.002, family)
			}
		}
	})
}
