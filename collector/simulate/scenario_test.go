package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestScenarioTimes(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{
		Streaming: true, Workload: simulate.Workload{Rate: 4}, Engine: simulate.Engine{MaxActive: 8},
		Scenario: simulate.Burst(30*time.Second, 10*time.Second, 1, 40).Repeat(2, 100*time.Second),
	})
	hidden := func(t time.Duration) int {
		r.Advance(t - r.Truth().At)
		return r.Truth().Hidden
	}
	require.Zero(t, hidden(29*time.Second))
	require.Greater(t, hidden(40*time.Second), 50)
	require.Zero(t, hidden(129*time.Second))
	require.Greater(t, hidden(140*time.Second), 50)
	require.Zero(t, hidden(239*time.Second))
}

func TestPlainModelsQueueInTriton(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{Kind: simulate.KindTritonCore, Workload: simulate.Workload{Rate: 400}})
	r.Advance(20 * time.Second)
	page, truth := r.Observe()
	s, _ := parsePage(t, page)
	require.Positive(t, truth.Hidden)
	require.Equal(t, float64(truth.Hidden), s[`nv_inference_pending_request_count{model="resnet50",version="1"}`])
}

func TestInvalidSpecsAreRefused(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]simulate.Spec{
		"unknown server":          {Kind: "apache"},
		"not a Triton version":    {EngineVersion: "25.12"},
		"outside 0 to 1000":       {Speed: 5000},
		"needs at least 4 blocks": {Engine: simulate.Engine{KVBlocks: 2}},
	} {
		_, err := simulate.NewReplica(spec)
		require.ErrorContains(t, err, want)
	}
}

// TestOverloadOutlastsTheScenario has a burst every minute, whose end sets the usual rate again.
func TestOverloadOutlastsTheScenario(t *testing.T) {
	arrived := func(factor float64) uint64 {
		r := newReplica(t, simulate.Spec{
			Workload: simulate.Workload{Rate: 1},
			Scenario: simulate.Burst(time.Second, time.Second, 1, 2).Repeat(10, time.Minute),
		})
		r.Overload(factor)
		r.Advance(10 * time.Minute)
		return r.Truth().Arrived
	}
	usual, overloaded := arrived(1), arrived(4)
	require.InDelta(t, 4*600, overloaded, 200)
	require.InDelta(t, 600, usual, 100)
}
