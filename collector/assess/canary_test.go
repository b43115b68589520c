package assess_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

const base = "http://10.0.0.1:8000"

// identityFrom returns the identity that follows from a basis.
func identityFrom(b *assess.Basis) *assess.Identity {
	return assess.NewIdentity(&target.Target{TRTLLMVersion: "1.1.0"}, &assess.Labels{}, b.Engine, b.Page, b.Facts)
}

func TestCanaryAllowed(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 4)
	b := triton(t)
	o := assess.CanaryOrder(b.Engine, identityFrom(&b), base, "llm", assess.Ready)
	require.Equal(t, &canary.Order{
		Question: canary.Question{Base: base, Model: "llm", Generate: true},
		ModelID:  "llm",
		Group:    "triton\x002.64.0\x001.1.0\x00llm",
		Key:      "triton\x002.64.0\x001.1.0\x00llm\x00" + hash,
	}, o)
	serve, ok := engine.ByName("trtllm-serve")
	require.True(t, ok, "trtllm-serve is a kind")
	b = assess.Basis{
		Engine: serve,
		Knowledge: engine.Knowledge{
			Facts: &engine.Facts{EngineVersion: "1.1.0", Models: []engine.ModelFacts{{Name: "llama"}}},
		},
	}
	o = assess.CanaryOrder(serve, identityFrom(&b), base, "", assess.Failing)
	require.Equal(
		t, canary.Question{Base: base, Model: "llama", Usage: true, Seed: true, IgnoreEOS: true}, o.Question,
		"its one model",
	)
	b.Facts = nil
	o = assess.CanaryOrder(serve, identityFrom(&b), base, "llama", assess.Ready)
	require.Empty(t, o.Hold)
	require.Equal(t, o.Group+"\x00", o.Key, "no config is known")
}

func TestCanaryHeld(t *testing.T) {
	for _, c := range []struct {
		name, base, model string
		change            func(*assess.Basis)
		hold              string
	}{
		{"the API is nowhere", "", "llm", same, "the API of the server was not found; set api_port or api_path"},
		{"an API over gRPC", "grpc://10.0.0.1:8001", "llm", same, ""},
		{
			"a stream may crash it", base, "llm", func(b *assess.Basis) { b.Facts.EngineVersion = "2.40.0" },
			"before 23.12 (2.41) an aborted stream may crash Triton",
		},
		{"several candidate models", base, "", func(b *assess.Basis) {
			b.Facts.Models = append(b.Facts.Models, engine.ModelFacts{Name: "other", Version: "1", State: "READY"})
		}, "set canary.model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := triton(t)
			c.change(&b)
			require.Contains(
				t, assess.CanaryOrder(b.Engine, identityFrom(&b), c.base, c.model, assess.Ready).Hold, c.hold,
			)
		})
	}
	b := triton(t)
	require.Equal(
		t, "the server was not recognised yet", assess.CanaryOrder(b.Engine, nil, base, "llm", assess.Down).Hold,
	)
	holds := map[assess.State]string{
		assess.Unknown: "unknown", assess.Starting: "starting", assess.NotReady: "not ready",
		assess.Draining: "draining", assess.Down: "down", assess.Unserved: "unserved", assess.Silent: "silent",
	}
	for _, state := range slices.Concat(assess.States(), []assess.State{assess.Silent}) {
		want := holds[state]
		if want != "" {
			want = "the replica is " + want
		}
		require.Equal(t, want, assess.CanaryOrder(b.Engine, identityFrom(&b), base, "llm", state).Hold, state)
	}
}
