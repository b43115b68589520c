package derive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// firstResponses returns a histogram of first responses of a model: good ones after 0.8 s, errors at once.
func firstResponses(model string, good, errors int) []string {
	l := fmt.Sprintf(`model=%q,version="1"`, model)
	const name = "nv_inference_first_response_histogram_ms"
	return []string{
		fmt.Sprintf("%s_bucket{%s,le=\"100\"} %d", name, l, errors),
		fmt.Sprintf("%s_bucket{%s,le=\"2000\"} %d", name, l, good+errors),
		fmt.Sprintf("%s_bucket{%s,le=\"+Inf\"} %d", name, l, good+errors),
		fmt.Sprintf("%s_sum{%s} %d", name, l, 800*good),
		fmt.Sprintf("%s_count{%s} %d", name, l, good+errors),
	}
}

// failuresSoFar returns how many requests have failed up to a page.
type failuresSoFar func(page int) int

func none(int) int { return 0 }

func each(page int) int { return 20 * page }

func longAgo(page int) int { return 20 * min(page, 5) }

// TestTimesAreOfSuccesses has a model whose requests take 0.8 s, or fail at once.
func TestTimesAreOfSuccesses(t *testing.T) {
	bls := configured("llm", "python", true)
	bls.Calls = []string{"part"}
	ensemble := configured("llm", "", true)
	ensemble.Platform, ensemble.Steps = "ensemble", []string{"part"}
	for _, c := range []struct {
		name           string
		llm            engine.ModelFacts
		model, reason  string
		failed         failuresSoFar
		streams, wants bool
	}{
		{"none failed", configured("llm", "tensorrtllm", true), "llm", "BACKEND", none, true, true},
		{"half of them fail", configured("llm", "tensorrtllm", true), "llm", "BACKEND", each, true, false},
		{"as the ensemble says twice", ensemble, "llm", "OTHER", each, true, false},
		{"their clients leave", configured("llm", "tensorrtllm", true), "llm", "CANCELED", each, true, false},
		{"the queue rejects them", configured("llm", "tensorrtllm", true), "llm", "REJECTED", each, true, false},
		{"another model fails", configured("llm", "tensorrtllm", true), "other", "BACKEND", each, true, true},
		{"long ago", configured("llm", "tensorrtllm", true), "llm", "BACKEND", longAgo, true, true},
		{"a part of a model that counts no failures", bls, "part", "BACKEND", each, true, false},
		{"whole requests of a model that does not stream", configured("llm", "tensorrtllm", false), "llm", "BACKEND", each, false, false},
		{"none of these", configured("llm", "tensorrtllm", false), "llm", "BACKEND", none, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).
				facts(c.llm, configured("other", "tensorrtllm", true), configured("part", "tensorrtllm", true)).release("2.70.0")
			var got values
			for page := range 20 {
				var lines []string
				for _, model := range []string{"llm", "other", "part"} {
					failed := 0
					if model == c.model {
						failed = c.failed(page)
					}
					lines = append(lines, fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, model, 20*page),
						fmt.Sprintf(`nv_inference_request_failure{model=%q,version="1",reason=%q} %d`, model, c.reason, failed))
				}
				errors := c.failed(page)
				if c.model == "other" {
					errors = 0
				}
				got = b.page(append(lines, firstResponses("llm", 20*page, errors)...)...)
			}
			family := map[bool]string{true: "time_to_first_token_", false: "request_duration_"}[c.streams]
			for _, series := range []string{
				family + `percentile_seconds{model="llm", model_id="llm", percentile="50", version="1"}`,
				family + `percentile_seconds{model="llm", model_id="llm", percentile="95", version="1"}`,
			} {
				if c.wants {
					require.Greater(t, got.get(t, series), 0.1)
				} else {
					got.lacks(t, series)
				}
			}
			if average := family + `average_seconds{model="llm", model_id="llm", version="1"}`; c.streams && !c.wants {
				got.lacks(t, average)
			} else if c.streams {
				require.InDelta(t, 0.8, got.get(t, average), 1e-9)
			}
			require.Positive(t, got.sum(family+"seconds_count"), "the server's own histogram is passed on")
		})
	}
}

// TestFailuresMayHaveMissedTheObjective has errors that the histogram shows among the fast responses.
func TestFailuresMayHaveMissedTheObjective(t *testing.T) {
	b := newBench(t, engine.Triton).facts(configured("llm", "tensorrtllm", true)).release("2.70.0").
		promises(derive.Objective{Name: derive.TTFT, Within: 100 * time.Millisecond, Share: 0.95})
	got := b.page(append(firstResponses("llm", 30, 20), `nv_inference_request_success{model="llm",version="1"} 30`,
		`nv_inference_request_failure{model="llm",version="1",reason="BACKEND"} 20`)...)
	const bad = `slo_requests_bad_total{bound=%q, model="llm", model_id="llm", slo="ttft", version="1"}`
	require.Equal(t, 30.0, got.get(t, fmt.Sprintf(bad, "lower")))
	require.Equal(t, 50.0, got.get(t, fmt.Sprintf(bad, "upper")))
}

// sum adds up the series that begin with a prefix.
func (v values) sum(prefix string) (total float64) {
	for series, value := range v {
		if strings.HasPrefix(series, prefix) {
			total += value
		}
	}
	return total
}
