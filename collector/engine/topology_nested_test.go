package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestPartsThatHavePartsThemselves covers ensembles within ensembles, and steps
// that call other models.
func TestPartsThatHavePartsThemselves(t *testing.T) {
	const entry, part, single = engine.RoleEntry, engine.RolePart, engine.RoleSingle
	ensemble := func(name string, steps ...string) engine.ModelFacts {
		return engine.ModelFacts{Name: name, Configured: true, Platform: "ensemble", Steps: steps}
	}
	calls := func(name string, models ...string) engine.ModelFacts {
		return engine.ModelFacts{Name: name, Configured: true, Backend: "python", Calls: models}
	}
	llm := engine.ModelFacts{Name: "llm", Configured: true, Backend: "tensorrtllm"}
	for says, c := range map[string]struct {
		facts []engine.ModelFacts
		entry string
		want  map[string]engine.Role
	}{
		"an ensemble that is a step of another, with steps of its own": {
			[]engine.ModelFacts{ensemble("outer", "rerank", "inner"), ensemble("inner", "tok", "z"), ensemble("z", "llm"), {Name: "tok"}, {Name: "rerank"}, llm},
			"outer",
			map[string]engine.Role{"outer": entry, "rerank": part, "inner": part, "tok": part, "z": part, "llm": part},
		},
		"steps that call other models, of which one is not here": {
			[]engine.ModelFacts{ensemble("chat", "pre", "work"), calls("pre", "elsewhere"), calls("work", "llm"), llm},
			"chat",
			map[string]engine.Role{"chat": entry, "pre": part, "work": part, "llm": part},
		},
		"a BLS model over the steps of an ensemble": {
			[]engine.ModelFacts{ensemble("chat", "llm"), calls("bls", "llm"), llm},
			"chat",
			map[string]engine.Role{"chat": entry, "bls": entry, "llm": part},
		},
		"a BLS model that calls another, which comes before it by name": {
			[]engine.ModelFacts{calls("outer", "inner"), calls("inner", "llm"), llm},
			"outer",
			map[string]engine.Role{"outer": entry, "inner": part, "llm": part},
		},
		"ensembles that are made of each other, which Triton does not load": {
			[]engine.ModelFacts{ensemble("a", "b"), ensemble("b", "a", "b")},
			"",
			map[string]engine.Role{"a": single, "b": single},
		},
	} {
		got := engine.NewTopology(of(t, engine.Triton), engine.Seen{}, c.facts, nil)
		for name, role := range c.want {
			require.Equal(t, role, got.Role(name), "%s: %s", says, name)
			if c.entry != "" {
				require.Equal(t, c.entry, got.ModelID(name), "%s: %s", says, name)
			}
		}
		called, _ := got.EntryModel()
		require.Equal(t, c.entry, called, says)
	}
}
