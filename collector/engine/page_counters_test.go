package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestCountersAreTheWatchedSeriesThatCountEachOnceAndInOrder(t *testing.T) {
	several := false
	for simulated, kind := range map[simulate.Kind]engine.Kind{
		simulate.KindTriton: engine.Triton, simulate.KindTritonLLMAPIModule: engine.Triton, simulate.KindTritonVLLM: engine.Triton,
		simulate.KindServe: engine.TRTLLMServe, simulate.KindNIM: engine.NIM, simulate.KindDynamo: engine.Dynamo, simulate.KindVLLM: engine.VLLM, simulate.KindSGLang: engine.SGLang,
	} {
		worked := replica(t, simulate.Spec{Kind: simulated, Workload: simulate.Workload{Rate: 5, OutputTokens: 20}}, 20*time.Second)
		page := readPage(t, kind, worked.Page())
		var want, got []exposition.Place
		for _, s := range page.Sources() {
			if s.Meaning.Counter {
				want = append(want, s.Place)
			}
		}
		slices.Sort(want)
		once := slices.Compact(slices.Clone(want))
		several = several || len(once) < len(want)
		counters := page.Counters()
		require.True(t, slices.IsSorted(counters), simulated)
		for _, at := range counters {
			got = append(got, page.Shape().Place(at))
		}
		require.NotEmpty(t, got, simulated)
		require.ElementsMatch(t, once, got, simulated)
	}
	require.True(t, several, "some series counts for two signals")
}

func TestAPageWithoutCountersHasNone(t *testing.T) {
	require.Empty(t, readPage(t, engine.VLLM, []byte("vllm:num_requests_running 1\n")).Counters())
	require.Len(t, readPage(t, engine.VLLM, []byte("vllm:num_requests_running 1\nvllm:prompt_tokens_total 1\n")).Counters(), 1)
}
