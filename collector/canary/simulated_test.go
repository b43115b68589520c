package canary_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// step is the time resolution of simulated servers.
const step = time.Millisecond

// simulated runs a server on the clock of the bubble.
func simulated(t *testing.T, spec simulate.Spec) (*simulate.Replica, *network) {
	t.Helper()
	spec.Seed = 1
	spec.Workload.Rate = 0.00001
	r, err := simulate.NewReplica(spec)
	require.NoError(t, err)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(step)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.Advance(step)
			case <-done:
				return
			}
		}
	}()
	t.Cleanup(func() { close(done); <-ended })
	return r, serve(t, r.APIHandler())
}

// questions returns the requests to simulated servers.
func questions() map[string]struct {
	spec     simulate.Spec
	question canary.Question
} {
	type server = struct {
		spec     simulate.Spec
		question canary.Question
	}
	return map[string]server{
		"Triton": {simulate.Spec{Kind: simulate.KindTriton, Streaming: true}, triton()},
		"Triton's OpenAI frontend": {
			simulate.Spec{Kind: simulate.KindTritonOpenAI, Streaming: true},
			canary.Question{Base: base, Model: "ensemble", Usage: true},
		},
		"trtllm-serve":        {simulate.Spec{Kind: simulate.KindServe}, openAI()},
		"an old trtllm-serve": {simulate.Spec{Kind: simulate.KindServeOld}, openAI()},
		"NIM": {
			simulate.Spec{Kind: simulate.KindNIM},
			canary.Question{Base: base, Model: "tiny-llama"},
		},
		"Dynamo": {simulate.Spec{Kind: simulate.KindDynamo}, openAI()},
		"vLLM":   {simulate.Spec{Kind: simulate.KindVLLM}, openAI()},
		"SGLang": {simulate.Spec{Kind: simulate.KindSGLang}, openAI()},
	}
}

func TestTimesFromServer(t *testing.T) {
	for name, s := range questions() {
		t.Run(name, bubble(func(t *testing.T) {
			r, n := simulated(t, s.spec)
			c := canary.DefaultConfig
			report := c.Ask(t.Context(), n, s.question)
			require.Equal(t, canary.OK, report.Result, report.Reason)
			synctest.Wait()
			require.Len(t, r.Latencies(), 1)
			l := r.Latencies()[0]
			require.Equal(t, l.Output, report.Tokens)
			require.Equal(t, c.MaxTokens, report.Frames)
			require.InDelta(t, l.TTFT, report.FirstToken, float64(2*step))
			require.InDelta(t, l.E2E, report.Duration, float64(2*step))
			require.InDelta(t, l.TPOT, report.LongestGap, float64(2*step))
		}))
	}
}
