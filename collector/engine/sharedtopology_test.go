package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestEqualTopologiesAreShared(t *testing.T) {
	t.Parallel()
	vllm, ok := engine.ByName(string(engine.VLLM))
	require.True(t, ok, "vllm is a kind")
	of := func(configured map[string][]string, names ...string) *engine.Topology {
		return engine.NewTopology(vllm, engine.NamedModels{Names: names}, nil, configured).Shared()
	}
	one := of(nil, "llama")
	require.Same(t, one, of(nil, "llama"))
	require.NotSame(t, one, of(nil, "llama", "qwen"), "with another model")
	require.NotSame(t, one, of(map[string][]string{"public": {"llama"}}, "llama"), "with another public id")
}

// TestTopologiesStaySharedBesideSimilarOnes uses replicas of which some have not told yet which models are
// ready.
func TestTopologiesStaySharedBesideSimilarOnes(t *testing.T) {
	t.Parallel()
	vllm := engineOf(t, engine.VLLM)
	of := func(facts ...engine.ModelFacts) *engine.Topology {
		return engine.NewTopology(vllm, engine.NamedModels{Names: []string{"llama", "qwen"}}, facts, nil).Shared()
	}
	llama, qwen := engine.ModelFacts{Name: "llama"}, engine.ModelFacts{Name: "qwen"}
	ready := engine.ModelFacts{Name: "llama", State: engine.ModelReady}
	for says, another := range map[string]func() *engine.Topology{
		"a model is ready":              func() *engine.Topology { return of(ready, qwen) },
		"another model is listed first": func() *engine.Topology { return of(qwen, llama) },
	} {
		one, other := of(llama, qwen), another()
		require.NotSame(t, one, other, says)
		require.Same(t, one, of(llama, qwen), says)
		require.Same(t, other, another(), says)
	}
}

// TestTopologiesOfRoutersStayShared uses frontends with the same models and other workers.
func TestTopologiesOfRoutersStayShared(t *testing.T) {
	t.Parallel()
	of := func(workers ...string) *engine.Topology {
		named := engine.NamedModels{Names: []string{"llama"}}
		return engine.NewTopology(engineOf(t, engine.Dynamo), named, nil, nil).WithWorkers(workers).Shared()
	}
	one, other := of("1", "2"), of("3")
	require.NotSame(t, one, other)
	require.Same(t, one, of("1", "2"))
	require.Same(t, other, of("3"))
}
