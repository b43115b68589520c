package engine_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestWhatAListOfTheOperatorMakesOfAModel covers every role that a model has
// without a list, in a list of its own and in one with a model that is gone.
func TestWhatAListOfTheOperatorMakesOfAModel(t *testing.T) {
	const entry, part, single, draft, unknown = engine.RoleEntry, engine.RolePart, engine.RoleSingle, engine.RoleDraft, engine.RoleUnknown
	seen := engine.Seen{
		Names:     []string{"ensemble", "preprocessing", "tensorrt_llm", "bls", "target", "little", "configured", "front", "back"},
		Executors: []string{"tensorrt_llm", "target", "little", "front"},
	}
	facts := []engine.ModelFacts{
		{Name: "bls", Configured: true, Backend: "python", Calls: []string{"target", "little"}, Draft: "little"},
		{Name: "target", Configured: true, Backend: "tensorrtllm"},
		{Name: "little", Configured: true, Backend: "tensorrtllm"},
		{Name: "configured", Configured: true, Backend: "onnxruntime"},
	}
	for _, c := range []struct {
		model                     string
		unlisted, alone, withGone engine.Role
	}{
		{"ensemble", entry, entry, entry},
		{"preprocessing", part, part, entry},
		{"configured", single, single, entry},
		{"little", draft, draft, entry},
		{"front", unknown, single, entry},
		{"back", unknown, single, entry},
		{"never seen", single, single, part},
	} {
		for says, listed := range map[string]struct {
			ids  map[string][]string
			want engine.Role
		}{
			"no list":             {nil, c.unlisted},
			"an empty list":       {map[string][]string{"id": {}}, c.unlisted},
			"the list of another": {map[string][]string{"id": {"gone"}}, c.unlisted},
			"alone":               {map[string][]string{"id": {c.model}}, c.alone},
			"behind one gone":     {map[string][]string{"id": {"gone", c.model}}, c.withGone},
		} {
			got := engine.NewTopology(of(t, engine.Triton), seen, facts, listed.ids)
			require.Equal(t, listed.want, got.Role(c.model), "%s: %s", c.model, says)
		}
	}
}

// TestModelsThatAreNotLoadedAreInNobodysWay has a repository with more models than
// the server loaded, as with --model-control-mode=explicit.
func TestModelsThatAreNotLoadedAreInNobodysWay(t *testing.T) {
	rest := []engine.ModelFacts{{Name: "never loaded"}, {Name: "unloaded", State: engine.ModelUnavailable}}
	for says, c := range map[string]struct {
		state, called string
		role          engine.Role
		more          []engine.ModelFacts
	}{
		"one that is loaded, and its config is not known": {engine.ModelReady, "tensorrt_llm", engine.RoleSingle, nil},
		"one that is about to be":                         {engine.ModelLoading, "tensorrt_llm", engine.RoleSingle, nil},
		"another that is loaded":                          {engine.ModelReady, "", engine.RoleUnknown, []engine.ModelFacts{{Name: "other", State: engine.ModelReady}}},
		"none that is loaded":                             {engine.ModelUnavailable, "", engine.RoleSingle, nil},
	} {
		facts := append(append(c.more, rest...), engine.ModelFacts{Name: "tensorrt_llm", State: c.state})
		got := engine.NewTopology(of(t, engine.Triton), engine.Seen{Names: []string{"tensorrt_llm"}, Executors: []string{"tensorrt_llm"}}, facts, nil)
		called, _ := got.EntryModel()
		require.Equal(t, c.called, called, says)
		require.Equal(t, c.role, got.Role("tensorrt_llm"), says)
	}
}

// TestAModelThatWasNotLoadedAgainIsInNobodysWay has a server that began again with
// another model, of whose former one the config is still known.
func TestAModelThatWasNotLoadedAgainIsInNobodysWay(t *testing.T) {
	llm := func(name string) engine.ModelFacts {
		return engine.ModelFacts{Name: name, State: engine.ModelReady, Configured: true, Backend: "tensorrtllm"}
	}
	before := engine.Facts{Listed: true, Models: []engine.ModelFacts{llm("a"), {Name: "b"}}}
	now := engine.Facts{Listed: true, Models: []engine.ModelFacts{llm("b"), {Name: "a"}}}.Over(&before)
	name, why := engine.NewTopology(of(t, engine.Triton), engine.Seen{Names: []string{"b"}}, now.Models, nil).EntryModel()
	require.Equal(t, "b", name, why)
}

// TestAnEntryThatIsNotLoadedIsNoEntry has a server that loaded some of the models
// of TensorRT-LLM's own repository, which lists them all.
func TestAnEntryThatIsNotLoadedIsNoEntry(t *testing.T) {
	all := []string{"ensemble", "preprocessing", "postprocessing", "tensorrt_llm", "tensorrt_llm_bls", "x_ensemble", "x_tensorrt_llm"}
	for called, loaded := range map[string][]string{
		"tensorrt_llm":     {"tensorrt_llm"},
		"x_tensorrt_llm":   {"x_tensorrt_llm"},
		"tensorrt_llm_bls": {"preprocessing", "postprocessing", "tensorrt_llm", "tensorrt_llm_bls"},
		"ensemble":         {"ensemble", "preprocessing", "postprocessing", "tensorrt_llm"},
	} {
		var facts []engine.ModelFacts
		for _, name := range all {
			f := engine.ModelFacts{Name: name}
			if slices.Contains(loaded, name) {
				f.State = engine.ModelReady
			}
			facts = append(facts, f)
		}
		got := engine.NewTopology(of(t, engine.Triton), engine.Seen{Names: loaded}, facts, nil)
		name, why := got.EntryModel()
		require.Equal(t, called, name, why)
		for _, name := range loaded {
			require.Equal(t, name == called, got.Role(name).Front(), "%s of %s", name, called)
			require.Equal(t, called, got.ModelID(name))
		}
	}
}
