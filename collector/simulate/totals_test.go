package simulate_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// endedRequests returns the counters of requests on a page. Reasons of good ends are added up.
func endedRequests(t *testing.T, page []byte) map[string]float64 {
	t.Helper()
	counter := regexp.MustCompile(`request_(success|failure|error|finish)|(requests|responses|exceptions|errors)_` +
		`(ended_|started_)?total|e2e_request_latency_seconds_count`)
	reason := regexp.MustCompile(`"(stop|length)"`)
	others := regexp.MustCompile(`/v1/models|/metrics|/health`) // The simulated clients request none of them.
	all, _ := parsePage(t, page)
	sums := make(map[string]float64)
	for series, n := range all {
		if counter.MatchString(series) && !others.MatchString(series) {
			sums[reason.ReplaceAllString(series, `"well"`)] += n
		}
	}
	return sums
}

func TestTotalsCountLikeSimulation(t *testing.T) {
	for _, kind := range simulate.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			r := newReplica(t, simulate.Spec{Kind: kind, Workload: simulate.Workload{Rate: 2, ErrorRate: 0.3}})
			r.Advance(time.Minute)
			r.SetRate(0)
			r.Advance(time.Minute)
			page, truth := r.Observe()
			require.Zero(t, truth.InFlight)
			r.SetTotals(&simulate.Totals{
				Begun: truth.Arrived, OK: truth.Finished, Failed: truth.Failed,
				Tokens: truth.GeneratedTokensSoFar, Steps: truth.Iterations,
			})
			want, got := endedRequests(t, page), endedRequests(t, r.Page())
			for series, n := range want {
				require.Equal(t, n, got[series], series)
			}
			require.NotEmpty(t, want)
		})
	}
}
