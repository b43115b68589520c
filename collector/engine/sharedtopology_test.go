package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestEqualTopologiesAreShared(t *testing.T) {
	t.Parallel()
	vllm, ok := engine.ByName(string(engine.VLLM))
	require.True(t, ok)
	of := func(configured map[string][]string, names ...string) *engine.Topology {
		return engine.NewTopology(vllm, engine.NamedModels{Names: names}, nil, configured).Shared()
	}
	one := of(nil, "llama")
	require.Same(t, one, of(nil, "llama"))
	require.NotSame(t, one, of(nil, "llama", "qwen"), "with another model")
	require.NotSame(t, one, of(map[string][]string{"public": {"llama"}}, "llama"), "with another public id")
}
