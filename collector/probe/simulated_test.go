package probe_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/probe"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// step is how exactly the simulated servers follow the clock.
const step = time.Millisecond

// simulated runs a server that lives by the clock of the bubble.
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

// questions are how simulated servers are asked.
func questions() map[string]struct {
	spec     simulate.Spec
	question probe.Question
} {
	type server = struct {
		spec     simulate.Spec
		question probe.Question
	}
	return map[string]server{
		"Triton":                   {simulate.Spec{Kind: simulate.KindTriton, Streaming: true}, triton()},
		"Triton's OpenAI frontend": {simulate.Spec{Kind: simulate.KindTritonOpenAI, Streaming: true}, probe.Question{Base: base, Model: "ensemble", Usage: true}},
		"trtllm-serve":             {simulate.Spec{Kind: simulate.KindServe}, openAI()},
		"an old trtllm-serve":      {simulate.Spec{Kind: simulate.KindServeOld}, openAI()},
		"NIM":                      {simulate.Spec{Kind: simulate.KindNIM}, probe.Question{Base: base, Model: "tiny-llama"}},
		"Dynamo":                   {simulate.Spec{Kind: simulate.KindDynamo}, openAI()},
	}
}

func TestTimesAreThoseThatTheServerKnows(t *testing.T) {
	for name, s := range questions() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, n := simulated(t, s.spec)
				c := probe.DefaultConfig
				report := c.Ask(t.Context(), n, s.question)
				require.Equal(t, probe.OK, report.Result, report.Reason)
				synctest.Wait()
				truth := r.Truth()
				require.Len(t, truth.Latencies, 1)
				l := truth.Latencies[0]
				require.Equal(t, l.Output, report.Tokens)
				require.Equal(t, c.MaxTokens, report.Frames)
				require.InDelta(t, l.TTFT, report.FirstToken, float64(2*step))
				require.InDelta(t, l.E2E, report.Duration, float64(2*step))
				require.InDelta(t, l.TPOT, report.LongestGap, float64(2*step))
			})
		})
	}
}

func TestFaultsOfServers(t *testing.T) {
	type fault struct {
		name   string
		server string
		begin  func(r *simulate.Replica)
		// during is what happens while the answer comes.
		during func(r *simulate.Replica)
		result probe.Result
	}
	dead := func(r *simulate.Replica) { r.FailRequests(true) }
	stuck := func(r *simulate.Replica) { r.Stick(1) }
	still := func(r *simulate.Replica) { r.Stall(true) }
	for _, f := range []fault{
		{"dead stubs", "Triton", dead, nil, probe.HTTPError},
		{"dead stubs", "Triton's OpenAI frontend", dead, nil, probe.HTTPError},
		{"a dead executor", "trtllm-serve", dead, nil, probe.HTTPError},
		{"stubs that die in the middle", "Triton", nil, dead, probe.ErrorFrame},
		{"an executor that dies in the middle", "trtllm-serve", nil, dead, probe.Truncated},
		{"an executor that dies in the middle", "NIM", nil, dead, probe.Truncated},
		{"a stream that never ends", "Triton", stuck, nil, probe.NeverEnded},
		{"a stream that never ends", "Triton's OpenAI frontend", stuck, nil, probe.NeverEnded},
		{"a stream that never ends", "trtllm-serve", stuck, nil, probe.NeverEnded},
		{"a stream that never ends", "Dynamo", stuck, nil, probe.NeverEnded},
		{"an executor that stands still", "Triton", still, nil, probe.NoFirstToken},
		{"an executor that stands still", "Triton's OpenAI frontend", still, nil, probe.NoFirstToken},
		{"an executor that stands still in the middle", "Triton", nil, still, probe.Stalled},
		{"an executor that stands still in the middle", "trtllm-serve", nil, still, probe.Stalled},
		{"a model that is not loaded", "Triton", func(r *simulate.Replica) { r.Unload("ensemble"); r.Advance(5 * time.Second) }, nil, probe.HTTPError},
		{"a process that ends", "trtllm-serve", func(r *simulate.Replica) { r.Stop() }, nil, probe.Connect},
	} {
		t.Run(f.name+" of "+f.server, func(t *testing.T) {
			s := questions()[f.server]
			synctest.Test(t, func(t *testing.T) {
				r, n := simulated(t, s.spec)
				c := probe.DefaultConfig
				if f.begin != nil {
					f.begin(r)
				}
				if f.during != nil {
					timer := time.AfterFunc(50*time.Millisecond, func() { f.during(r) })
					defer timer.Stop()
				}
				report := c.Ask(t.Context(), n, s.question)
				require.Equal(t, f.result, report.Result, report.Reason)
				require.NotEmpty(t, report.Reason)
			})
		})
	}
}
