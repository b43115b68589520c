package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestDemoFleetServesAndMoves(t *testing.T) {
	t.Parallel()
	fleet, err := simulate.StartFleet(t.Context(), simulate.DemoFleet(50))
	require.NoError(t, err)
	defer fleet.Close()
	require.Len(t, fleet.Pools(), 2)
	seen := map[string]bool{}
	for _, pool := range fleet.Pools() {
		require.Len(t, pool.Replicas, 3)
		for _, r := range pool.Replicas {
			require.False(t, seen[r.MetricsAddr()], "every replica has its own port")
			seen[r.MetricsAddr()] = true
			require.Equal(t, r, fleet.Replica(pool.Name, r.Name()))
			require.Eventually(t, func() bool { return r.Truth().Finished > 50 }, time.Minute, 10*time.Millisecond)
			samples, _ := parsePage(t, []byte(get(t, r.MetricsURL()).body))
			require.NotEmpty(t, samples)
		}
	}
}

func TestMixedFleetHasOneMixedPool(t *testing.T) {
	t.Parallel()
	plain, mixed := simulate.DemoFleet(1), simulate.MixedFleet(1)
	require.Equal(t, plain.Pools[1].Name, mixed.Pools[1].Name)
	kinds := map[simulate.Kind]bool{}
	for _, spec := range mixed.Pools[2].Replicas {
		r := newReplica(t, spec)
		r.Advance(time.Minute)
		require.Greater(t, r.Truth().Finished, uint64(50), spec.Name)
		kinds[spec.Kind] = true
	}
	require.Len(t, kinds, 5)
}

func TestDemoReplicasQueueInBurstsAndRecover(t *testing.T) {
	t.Parallel()
	for _, pool := range simulate.DemoFleet(0).Pools {
		for _, spec := range pool.Replicas {
			r := newReplica(t, spec)
			peak, idle := 0, false
			for range 180 {
				r.Advance(time.Second)
				truth := r.Truth()
				peak = max(peak, truth.Queued)
				idle = idle || peak > 10 && truth.Queued == 0
			}
			require.Greater(t, peak, 10, spec.Name)
			require.True(t, idle, "%s recovers from its bursts", spec.Name)
			require.Greater(t, r.Truth().GeneratedTokensSoFar, uint64(180*300), spec.Name)
		}
	}
}
