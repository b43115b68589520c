package engine

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestPagesOfReplicasShareWhatTheySayAndNoValue(t *testing.T) {
	t.Parallel()
	e, ok := Of(string(Triton))
	require.True(t, ok)
	read := func(e Engine, body []byte) (*Page, *exposition.Block) {
		b, err := exposition.NewCache(exposition.Options{Watch: Watch(e)}).Parse(body, "")
		require.NoError(t, err)
		return ReadPage(e, b), b
	}
	said := func() weak.Pointer[said] {
		first, _ := read(e, append(simulate.BenchPage(simulate.BenchTRTLLM, 1, 3), "vllm:num_requests_running{model_name=\"only here\"} 1\n"...))
		second, page := read(e, append(simulate.BenchPage(simulate.BenchTRTLLM, 2, 3), "vllm:num_requests_running{model_name=\"only here\"} 1\n"...))
		require.Same(t, first.said, second.said, "GPUs, values and the order of series are others")
		other, _ := read(e, simulate.BenchPage(simulate.BenchTRTLLM, 3, 3))
		require.NotSame(t, first.said, other.said, "a model less")
		for _, s := range second.Sources() {
			if gpu := s.Labels.Get(exposition.LabelGPU); gpu != "" {
				require.Contains(t, second.Shape().GPUs(), gpu)
				require.NotContains(t, first.Shape().GPUs(), gpu)
			}
		}
		first.values[KVBlockTokens] = 7
		v, _ := second.KVBlockTokens()
		require.InDelta(t, 64, v, 0)
		require.False(t, second.Refresh(page), "it was read")
		return weak.Make(first.said)
	}
	pointer := said()
	require.Eventually(t, func() bool {
		runtime.GC()
		return pointer.Value() == nil
	}, time.Minute, 10*time.Millisecond, "it is freed with the last page that says it")
}
