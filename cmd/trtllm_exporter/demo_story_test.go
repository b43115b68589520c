package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestDemoFaultsFitFleetsOfAnySize(t *testing.T) {
	for _, replicas := range []int{1, 2, 6, 7} {
		fleet := (&demoFlags{replicas: replicas, staged: true}).fleet()
		got := 0
		for _, p := range fleet.Pools {
			got += len(p.Replicas)
		}
		require.Equal(t, replicas+8, got)
		started, err := simulate.StartFleet(t.Context(), fleet)
		require.NoError(t, err)
		s := &story{pools: started.Pools()}
		for _, f := range faults() {
			require.NotEmpty(t, s.victims(&f), f.name)
			for _, r := range s.victims(&f) {
				before := r.Spec()
				f.begin(r)
				f.end(r)
				require.Equal(t, before.TRTLLMVersion, r.Spec().TRTLLMVersion, "%s is undone", f.name)
			}
			require.Contains(t, faultNames(), f.name)
		}
		started.Close()
	}
}

func TestNothingFailsInACalmFleet(t *testing.T) {
	for _, p := range (&demoFlags{replicas: 6, speed: 1, calm: true, mixed: true, staged: true}).fleet().Pools {
		for i := range p.Replicas {
			failing := p.Replicas[i].Workload.ErrorRate + p.Replicas[i].Workload.AbandonRate
			require.Zero(t, failing, p.Replicas[i].Name)
		}
	}
}
