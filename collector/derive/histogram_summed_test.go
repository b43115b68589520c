package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestAHistogramOfSeveralSeriesIsWholeOrAbsent has two ranks of a vLLM, with four
// observations each.
func TestAHistogramOfSeveralSeriesIsWholeOrAbsent(t *testing.T) {
	const name = "vllm:e2e_request_latency_seconds"
	rank := func(n, one, five, all, sum, count string) []string {
		return []string{
			name + `_bucket{engine="` + n + `",le="1.0",model_name="m"} ` + one, name + `_bucket{engine="` + n + `",le="5.0",model_name="m"} ` + five,
			name + `_bucket{engine="` + n + `",le="+Inf",model_name="m"} ` + all,
			name + `_sum{engine="` + n + `",model_name="m"} ` + sum, name + `_count{engine="` + n + `",model_name="m"} ` + count,
		}
	}
	good := rank("1", "1", "3", "4", "1.7e308", "4")
	for _, c := range []struct {
		says  string
		other []string
		shown bool
	}{
		{"both are whole", rank("0", "1", "3", "4", "15", "4"), true},
		{"a sum that is no number", rank("0", "1", "3", "4", "NaN", "4"), false},
		{"a sum beyond all numbers", rank("0", "1", "3", "4", "1.7e308", "4"), false},
		{"a sum below 0", rank("0", "1", "3", "4", "-1", "4"), false},
		{"a last bucket that is no number", rank("0", "1", "3", "NaN", "15", "4"), false},
		{"buckets that fall", rank("0", "9", "3", "4", "15", "4"), false},
		{"a bound that the other has not", rank("0", "9", "9", "9", "15", "9")[1:], true},
		{"a bound that only the other has", append(rank("0", "9", "9", "9", "15", "9")[:1], rank("0", "9", "9", "9", "15", "9")[2:]...), false},
	} {
		t.Run(c.says, func(t *testing.T) {
			b, shown, broken := newBench(t, engine.VLLM, "m"), 0, uint64(1)
			for series := range b.page(append(append([]string{"# TYPE " + name + " histogram"}, good...), c.other...)...) {
				if strings.HasPrefix(series, "request_duration_seconds") {
					shown++
				}
			}
			if c.shown {
				broken = 0
			}
			require.Equal(t, c.shown, shown == 5, "%d series", shown)
			require.Equal(t, c.shown, shown > 0, "all or none")
			require.Equal(t, broken, b.deriver.Stats().BrokenHistograms)
		})
	}
}

// TestAModelWithoutTokensHasNoTimesOfThem has a vLLM whose model embeds: what it shows
// as the time to the first token is that of the request.
func TestAModelWithoutTokensHasNoTimesOfThem(t *testing.T) {
	times := func(name string, n int) []string {
		return []string{
			"# TYPE vllm:" + name + " histogram",
			fmt.Sprintf(`vllm:%s_bucket{engine="0",le="20",model_name="m"} %d`, name, n), fmt.Sprintf(`vllm:%s_bucket{engine="0",le="+Inf",model_name="m"} %d`, name, n),
			fmt.Sprintf(`vllm:%s_sum{engine="0",model_name="m"} %d`, name, 17*n), fmt.Sprintf(`vllm:%s_count{engine="0",model_name="m"} %d`, name, n),
		}
	}
	after := func(tokens int) (got values) {
		b := newBench(t, engine.VLLM, "m")
		for _, n := range []int{0, 10, 30} {
			got = b.page(slices.Concat(
				[]string{
					fmt.Sprintf(`vllm:generation_tokens_total{engine="0",model_name="m"} %d`, tokens*n),
					fmt.Sprintf(`vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} %d`, n),
				},
				times("time_to_first_token_seconds", n), times("request_time_per_output_token_seconds", n), times("e2e_request_latency_seconds", n),
			)...)
		}
		return got
	}
	got, usual := after(0), after(5)
	for _, of := range []string{"time_to_first_token", "time_per_output_token"} {
		for _, series := range []string{
			`_seconds_count{model_id="m"}`, `_average_seconds{model_id="m"}`, `_percentile_seconds{model_id="m", percentile="50"}`, `_above_bound_ratio{model_id="m"}`,
		} {
			got.lacks(t, of+series, "it has no tokens")
			usual.at(t, of+series)
		}
	}
	require.InDelta(t, 17, got.at(t, `request_duration_average_seconds{model_id="m"}`), 1e-9)
}
