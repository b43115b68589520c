package canary_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
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
	question canary.Question
} {
	type server = struct {
		spec     simulate.Spec
		question canary.Question
	}
	return map[string]server{
		"Triton":                   {simulate.Spec{Kind: simulate.KindTriton, Streaming: true}, triton()},
		"Triton's OpenAI frontend": {simulate.Spec{Kind: simulate.KindTritonOpenAI, Streaming: true}, canary.Question{Base: base, Model: "ensemble", Usage: true}},
		"trtllm-serve":             {simulate.Spec{Kind: simulate.KindServe}, openAI()},
		"an old trtllm-serve":      {simulate.Spec{Kind: simulate.KindServeOld}, openAI()},
		"NIM":                      {simulate.Spec{Kind: simulate.KindNIM}, canary.Question{Base: base, Model: "tiny-llama"}},
		"Dynamo":                   {simulate.Spec{Kind: simulate.KindDynamo}, openAI()},
		"vLLM":                     {simulate.Spec{Kind: simulate.KindVLLM}, openAI()},
		"SGLang":                   {simulate.Spec{Kind: simulate.KindSGLang}, openAI()},
	}
}

func TestTimesAreThoseThatTheServerKnows(t *testing.T) {
	for name, s := range questions() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		result canary.Result
	}
	dead := func(r *simulate.Replica) { r.FailRequests(true) }
	stuck := func(r *simulate.Replica) { r.Stick(1) }
	still := func(r *simulate.Replica) { r.Stall(true) }
	for _, f := range []fault{
		{"dead stubs", "Triton", dead, nil, canary.HTTPError},
		{"dead stubs", "Triton's OpenAI frontend", dead, nil, canary.HTTPError},
		{"a dead executor", "trtllm-serve", dead, nil, canary.HTTPError},
		{"stubs that die in the middle", "Triton", nil, dead, canary.ErrorFrame},
		{"an executor that dies in the middle", "trtllm-serve", nil, dead, canary.Truncated},
		{"an executor that dies in the middle", "NIM", nil, dead, canary.Truncated},
		// The error is inside a stream with status 200 that ends as it should.
		{"an engine that dies in the middle", "vLLM", nil, dead, canary.ErrorFrame},
		{"a scheduler that dies in the middle", "SGLang", nil, dead, canary.Truncated},
		{"a dead engine", "vLLM", dead, nil, canary.HTTPError},
		{"a stream that never ends", "Triton", stuck, nil, canary.NeverEnded},
		{"a stream that never ends", "Triton's OpenAI frontend", stuck, nil, canary.NeverEnded},
		{"a stream that never ends", "trtllm-serve", stuck, nil, canary.NeverEnded},
		{"a stream that never ends", "Dynamo", stuck, nil, canary.NeverEnded},
		{"an executor that stands still", "Triton", still, nil, canary.NoFirstToken},
		{"an executor that stands still", "Triton's OpenAI frontend", still, nil, canary.NoFirstToken},
		{"an engine that stands still", "vLLM", still, nil, canary.NoFirstToken},
		{"an engine that stands still in the middle", "vLLM", nil, still, canary.Stalled},
		{"a scheduler that stands still in the middle", "SGLang", nil, still, canary.Stalled},
		{"an executor that stands still in the middle", "Triton", nil, still, canary.Stalled},
		{"an executor that stands still in the middle", "trtllm-serve", nil, still, canary.Stalled},
		{"a model that is not loaded", "Triton", func(r *simulate.Replica) { r.Unload("ensemble"); r.Advance(5 * time.Second) }, nil, canary.HTTPError},
		{"a process that ends", "trtllm-serve", func(r *simulate.Replica) { r.Stop() }, nil, canary.Connect},
	} {
		t.Run(f.name+" of "+f.server, func(t *testing.T) {
			s := questions()[f.server]
			synctest.Test(t, func(t *testing.T) {
				r, n := simulated(t, s.spec)
				c := canary.DefaultConfig
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
