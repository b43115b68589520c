package simulate_test

import (
	"testing"
	"testing/synctest"
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
			require.Eventually(t, func() bool { return r.Truth().Finished > 50 }, 5*time.Minute, 10*time.Millisecond)
			samples, _ := parsePage(t, []byte(get(t, r.MetricsURL()).body))
			require.NotEmpty(t, samples)
		}
	}
}

// A machine that needs two seconds for each second of a server would be ever further behind the clock, and in the
// end not answer any more.
func TestServerIsSlowerOnBusyMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t, simulate.Spec{
			Name: "r", Kind: simulate.KindTriton, Speed: 1, Scenario: simulate.Costly(1000, 2*time.Second),
		})
		for range 20 {
			time.Sleep(3 * time.Second)
			asked := time.Now()
			r.Truth()
			require.LessOrEqual(t, time.Since(asked), 10*time.Second, "until it answers")
		}
	})
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

func TestStagesShareTheWork(t *testing.T) {
	t.Parallel()
	stage := func(s simulate.Stage) *simulate.Replica {
		return newReplica(t, simulate.Spec{
			Kind:     simulate.KindVLLM,
			Setup:    simulate.Setup{Stage: s},
			Workload: simulate.Workload{Rate: 5},
			Engine:   simulate.Engine{PerContextToken: 2 * time.Microsecond},
		})
	}
	shown := func(r *simulate.Replica) (s map[string]float64, truth simulate.Truth) {
		r.Advance(time.Minute)
		page, truth := r.Observe()
		s, _ = parsePage(t, page)
		return s, truth
	}
	const labels = `{engine="0",model_name="tiny-llama"}`
	s, truth := shown(stage(simulate.StagePrefill))
	require.Equal(t, truth.Finished, truth.GenerationTokens, "a prefill server generates one token of each answer")
	require.Zero(t, s["vllm:nixl_bytes_transferred_sum"+labels], "the decode server counts what it fetches")

	r := stage(simulate.StageDecode)
	s, truth = shown(r)
	fetched := s[`vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny-llama",source="external_kv_transfer"}`]
	require.Greater(t, truth.GenerationTokens, 10*truth.Finished)
	require.Positive(t, fetched)
	require.Zero(t, s[`vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny-llama",source="local_compute"}`])
	require.InDelta(t, fetched*131072, s["vllm:nixl_bytes_transferred_sum"+labels], 1)
	require.InDelta(t, fetched*2e-6, s["vllm:nixl_xfer_time_seconds_sum"+labels], 1e-6)
	require.Zero(t, s["vllm:nixl_num_failed_transfers_total"+labels])

	r.SlowLink(true)
	before := s
	s, _ = shown(r)
	grown := func(name string) float64 { return s["vllm:"+name+labels] - before["vllm:"+name+labels] }
	fast := before["vllm:nixl_xfer_time_seconds_sum"+labels] / before["vllm:nixl_bytes_transferred_sum"+labels]
	require.InDelta(t, 12*fast, grown("nixl_xfer_time_seconds_sum")/grown("nixl_bytes_transferred_sum"), fast/100)
	require.InDelta(t, grown("nixl_xfer_time_seconds_count")/3, grown("nixl_num_failed_transfers_total"), 1)
}
