package engine_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func TestTopologyOfModels(t *testing.T) {
	template := []string{"ensemble", "postprocessing", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls"}
	configured := func(f engine.ModelFacts) engine.ModelFacts {
		f.Configured = true
		return f
	}
	steps := []engine.ModelFacts{
		configured(engine.ModelFacts{Name: "chat", Platform: "ensemble", Steps: []string{"tok", "llm", "detok"}}),
		configured(engine.ModelFacts{Name: "tok"}),
		configured(engine.ModelFacts{Name: "llm", Decoupled: true}),
		configured(engine.ModelFacts{Name: "detok"}),
		configured(engine.ModelFacts{Name: "resnet"}),
	}
	for _, tc := range []struct {
		name       string
		kind       engine.Kind
		page       []string
		facts      []engine.ModelFacts
		configured map[string][]string
		ids        map[string]string
		roles      map[string]engine.Role
		behind     []string
	}{
		{
			name: "the template's names make one deployment", kind: engine.Triton, page: template,
			ids:    map[string]string{"ensemble": "ensemble", "preprocessing": "ensemble", "tensorrt_llm": "ensemble", "tensorrt_llm_bls": "ensemble"},
			roles:  map[string]engine.Role{"ensemble": engine.RoleEntry, "tensorrt_llm_bls": engine.RoleEntry, "tensorrt_llm": engine.RolePart, "postprocessing": engine.RolePart},
			behind: []string{"postprocessing"},
		},
		{
			name: "a BLS model alone names the deployment", kind: engine.Triton, page: template[1:],
			ids:    map[string]string{"tensorrt_llm_bls": "tensorrt_llm_bls", "tensorrt_llm": "tensorrt_llm_bls", "postprocessing": "tensorrt_llm_bls"},
			roles:  map[string]engine.Role{"tensorrt_llm_bls": engine.RoleEntry, "tensorrt_llm": engine.RolePart},
			behind: []string{"postprocessing"},
		},
		{
			name: "a BLS model whose config is known calls the models of the template too", kind: engine.Triton, page: []string{"x", "preprocessing"},
			facts: []engine.ModelFacts{configured(engine.ModelFacts{Name: "x_bls", Calls: []string{"draft"}}), {Name: "x"}, {Name: "draft"}},
			ids:   map[string]string{"x": "x_bls", "draft": "x_bls", "preprocessing": "x_bls"},
			roles: map[string]engine.Role{"x_bls": engine.RoleEntry, "x": engine.RolePart},
		},
		{
			name: "an ensemble that is called like a BLS model has its steps alone", kind: engine.Triton, page: []string{"x", "preprocessing"},
			facts: []engine.ModelFacts{configured(engine.ModelFacts{Name: "x_bls", Platform: "ensemble", Steps: []string{"y"}}), {Name: "x"}, {Name: "y"}},
			ids:   map[string]string{"x": "x", "y": "x_bls", "preprocessing": "preprocessing"},
			roles: map[string]engine.Role{"x_bls": engine.RoleEntry, "y": engine.RolePart},
		},
		{
			name: "the LLM alone is its own entry", kind: engine.Triton, page: []string{"tensorrt_llm"},
			ids:   map[string]string{"tensorrt_llm": "tensorrt_llm"},
			roles: map[string]engine.Role{"tensorrt_llm": engine.RoleSingle},
		},
		{
			name: "configs tell what an ensemble is made of, whatever the names", kind: engine.Triton, page: []string{"llm"}, facts: steps,
			ids:    map[string]string{"chat": "chat", "tok": "chat", "llm": "chat", "detok": "chat", "resnet": "resnet"},
			roles:  map[string]engine.Role{"chat": engine.RoleEntry, "tok": engine.RolePart, "detok": engine.RolePart, "resnet": engine.RoleSingle},
			behind: []string{"detok"},
		},
		{
			name: "the operator's id goes to the whole deployment", kind: engine.Triton, page: template,
			configured: map[string][]string{"llama-70b": {"ensemble"}},
			ids:        map[string]string{"ensemble": "llama-70b", "postprocessing": "llama-70b", "tensorrt_llm_bls": "llama-70b"},
			roles:      map[string]engine.Role{"ensemble": engine.RoleEntry},
			behind:     []string{"postprocessing"},
		},
		{
			name: "a server of one model gives its name to series that name none", kind: engine.TRTLLMServe, page: []string{engine.UnnamedModel},
			facts: []engine.ModelFacts{{Name: "qwen"}},
			ids:   map[string]string{engine.UnnamedModel: "qwen", "": "qwen", "qwen": "qwen"},
		},
		{
			name: "a server that names nothing is unknown", kind: engine.TRTLLMServe, page: []string{engine.UnnamedModel},
			ids: map[string]string{engine.UnnamedModel: "unknown"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := engine.NewTopology(engineOf(t, tc.kind), engine.NamedModels{Names: tc.page}, tc.facts, tc.configured)
			for model, id := range tc.ids {
				require.Equal(t, id, got.ModelID(model), model)
			}
			for model, role := range tc.roles {
				require.Equal(t, role, got.Role(model), model)
			}
			for _, model := range template {
				require.Equal(t, model == "postprocessing" && len(tc.behind) > 0 && tc.behind[0] == model, got.FollowsLLM(model), model)
			}
			for _, model := range tc.behind {
				require.True(t, got.FollowsLLM(model), model)
			}
			require.True(t, got.Equal(engine.NewTopology(engineOf(t, tc.kind), engine.NamedModels{Names: tc.page}, tc.facts, tc.configured)))
		})
	}
}

func TestHowModelsTreatTheirRequests(t *testing.T) {
	model := func(name, backend string, decoupled bool) engine.ModelFacts {
		return engine.ModelFacts{Name: name, Configured: true, Backend: backend, Decoupled: decoupled}
	}
	facts := []engine.ModelFacts{
		model("cpp", "tensorrtllm", false), model("cpp streaming", "tensorrtllm", true), model("python", "python", false),
		model("llm api", "python", true), model("vllm", "vllm", true), model("vllm whole", "vllm", false), model("onnx", "onnxruntime", false),
		model("onnx streaming", "onnxruntime", true), model("tensorrt_llm", "python", false),
		{Name: "chat", Configured: true, Platform: "ensemble"},
		{Name: "ensemble", Configured: true, Backend: "python"},
		{Name: "not configured", Backend: "vllm", Decoupled: true},
	}
	names := func(holds func(model string) bool) (all []string) {
		for _, f := range facts {
			if holds(f.Name) {
				all = append(all, f.Name)
			}
		}
		return all
	}
	for _, kind := range []engine.Kind{engine.Triton, engine.TritonOpenAI} {
		got := engine.NewTopology(engineOf(t, kind), engine.NamedModels{}, facts, nil)
		require.Equal(t, []string{"llm api", "vllm", "tensorrt_llm"}, names(func(m string) bool { return got.HandsOver(m) == engine.TrustYes }))
		require.Equal(t, []string{"not configured"}, names(func(m string) bool { return got.HandsOver(m) == engine.TrustUnknown }))
		require.Equal(t, []string{"chat"}, names(got.Ensemble))
		require.Equal(t, []string{"cpp", "cpp streaming", "llm api", "vllm", "vllm whole", "tensorrt_llm"}, names(got.InFlight))
		require.Equal(t, []string{"python", "onnx", "chat", "ensemble"}, names(got.QueuedByCore))
		require.Equal(t, []string{"cpp streaming", "llm api", "vllm", "onnx streaming"}, names(func(m string) bool {
			streams, known := got.Streams(m)
			require.Equal(t, m != "not configured", known, m)
			return streams
		}))
	}
	byName := engine.NewTopology(engineOf(t, engine.Triton), engine.NamedModels{Names: []string{"ensemble", "tensorrt_llm", "other"}}, nil, nil)
	require.True(t, byName.Ensemble("ensemble"))
	require.False(t, byName.Ensemble("tensorrt_llm"))
	require.True(t, byName.InFlight("tensorrt_llm"))
	require.False(t, byName.InFlight("other"))
	require.False(t, byName.QueuedByCore("other"), "nothing is known of it")
	served := engine.NewTopology(engineOf(t, engine.TRTLLMServe), engine.NamedModels{}, facts, nil)
	for _, f := range facts {
		require.False(t, served.HandsOver(f.Name) != engine.TrustNo || served.Ensemble(f.Name) || served.InFlight(f.Name) || served.QueuedByCore(f.Name), "only Triton has such models")
	}
}

func TestModelsThatWereNeverSeen(t *testing.T) {
	got := engine.NewTopology(engineOf(t, engine.NIM), engine.NamedModels{}, []engine.ModelFacts{{Name: "a"}, {Name: "b"}}, nil)
	require.Equal(t, "other", got.ModelID("other"))
	require.Equal(t, engine.RoleSingle, got.Role("other"))
	require.Equal(t, "unknown", got.ModelID(""), "of two models")
	_, known := got.Streams("other")
	require.False(t, known)
}

func TestIDsOfTheOperator(t *testing.T) {
	list := func(names ...string) (f []engine.ModelFacts) {
		for _, n := range names {
			f = append(f, engine.ModelFacts{Name: n})
		}
		return f
	}
	for _, c := range []struct {
		says  string
		kind  engine.Kind
		facts []engine.ModelFacts
		ids   map[string][]string
		want  map[string]string
	}{
		{"the only id is also that of series without a model", engine.NIM, list("a", "b"), map[string][]string{"id": {"a"}}, map[string]string{"a": "id", "b": "b", "": "id"}},
		{"two ids", engine.NIM, list("a", "b"), map[string][]string{"one": {"a"}, "two": {"b"}}, map[string]string{"a": "one", "b": "two", "": "unknown"}},
		{"the only model has one of two ids", engine.NIM, list("a"), map[string][]string{"one": {"a"}, "two": {"c"}}, map[string]string{"a": "one", "c": "two", "": "one"}},
		{
			"a part with an id of its own", engine.Triton, list("ensemble", "preprocessing", "tensorrt_llm"),
			map[string][]string{"chat": {"ensemble"}, "tokens": {"preprocessing"}},
			map[string]string{"ensemble": "chat", "preprocessing": "tokens", "tensorrt_llm": "tokens"},
		},
		{"a model that is not there yet", engine.Triton, nil, map[string][]string{"id": {"later"}}, map[string]string{"later": "id"}},
	} {
		got := engine.NewTopology(engineOf(t, c.kind), engine.NamedModels{}, c.facts, c.ids)
		for name, id := range c.want {
			require.Equal(t, id, got.ModelID(name), "%s: %s", c.says, name)
		}
	}
}

// TestWhichModelsClientsCall covers configs, names, the operator's list, and unclear cases.
func TestWhichModelsClientsCall(t *testing.T) {
	const entry, part, single, draft, unknown = engine.RoleEntry, engine.RolePart, engine.RoleSingle, engine.RoleDraft, engine.RoleUnknown
	bls := engine.ModelFacts{Name: "bls", Configured: true, Backend: "python", Calls: []string{"target", "little"}, Draft: "little"}
	for _, c := range []struct {
		says       string
		seen       engine.NamedModels
		facts      []engine.ModelFacts
		configured map[string][]string
		want       map[string]engine.Role
	}{
		{
			"two deployments whose names have an affix, of which no config is known",
			engine.NamedModels{
				Names:     []string{"ensemble_a", "preprocessing_a", "tensorrt_llm_a", "postprocessing_a", "b_tensorrt_llm_bls", "b_tensorrt_llm", "b_preprocessing"},
				Executors: []string{"tensorrt_llm_a", "b_tensorrt_llm"},
			},
			nil, nil,
			map[string]engine.Role{"ensemble_a": entry, "preprocessing_a": part, "tensorrt_llm_a": part, "postprocessing_a": part, "b_tensorrt_llm_bls": entry, "b_tensorrt_llm": part, "b_preprocessing": part},
		},
		{
			"models that may be parts of each other count for none",
			engine.NamedModels{Names: []string{"front", "engine", "back"}, Executors: []string{"engine"}},
			nil, nil,
			map[string]engine.Role{"front": unknown, "engine": unknown, "back": unknown},
		},
		{
			"the operator says which of them is called",
			engine.NamedModels{Names: []string{"front", "engine", "back"}, Executors: []string{"engine"}},
			nil,
			map[string][]string{"llama": {"front", "engine", "back"}},
			map[string]engine.Role{"front": entry, "engine": part, "back": part},
		},
		{
			"without an executor nothing says that models are parts",
			engine.NamedModels{Names: []string{"resnet", "bert"}},
			nil, nil,
			map[string]engine.Role{"resnet": single, "bert": single},
		},
		{
			"an executor alone is called",
			engine.NamedModels{Names: []string{"engine"}, Executors: []string{"engine"}},
			nil, nil,
			map[string]engine.Role{"engine": single},
		},
		{
			"the model that drafts is none of those that are called",
			engine.NamedModels{Names: []string{"bls", "target", "little"}, Executors: []string{"target", "little"}},
			[]engine.ModelFacts{bls, {Name: "target", Configured: true, Backend: "tensorrtllm"}, {Name: "little", Configured: true, Backend: "tensorrtllm"}},
			nil,
			map[string]engine.Role{"bls": entry, "target": part, "little": draft},
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			got := engine.NewTopology(engineOf(t, engine.Triton), c.seen, c.facts, c.configured)
			for name, role := range c.want {
				require.Equal(t, role, got.Role(name), name)
			}
		})
	}
}

func TestWhatIsNotKnownOfAModelIsShownByItsNameOrItsExecutor(t *testing.T) {
	for _, kind := range []engine.Kind{engine.Triton, engine.TritonOpenAI} {
		got := engine.NewTopology(engineOf(t, kind), engine.NamedModels{Names: []string{"ensemble", "engine", "bls", "ensemble_b", "tensorrt_llm_b"}, Executors: []string{"engine"}}, nil, nil)
		for name, want := range map[string]engine.Trust{
			"ensemble": engine.TrustNo, "engine": engine.TrustNo, "ensemble_b": engine.TrustNo,
			"bls": engine.TrustUnknown, "tensorrt_llm_b": engine.TrustUnknown,
		} {
			require.Equal(t, want, got.HandsOver(name), "%s of %s", name, kind)
		}
	}
}

// TestWhatAListOfTheOperatorMakesOfAModel covers every role of a model without a list, in a list of
// its own and in one with a removed model.
func TestWhatAListOfTheOperatorMakesOfAModel(t *testing.T) {
	const entry, part, single, draft, unknown = engine.RoleEntry, engine.RolePart, engine.RoleSingle, engine.RoleDraft, engine.RoleUnknown
	seen := engine.NamedModels{
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
			got := engine.NewTopology(engineOf(t, engine.Triton), seen, facts, listed.ids)
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
		got := engine.NewTopology(engineOf(t, engine.Triton), engine.NamedModels{Names: []string{"tensorrt_llm"}, Executors: []string{"tensorrt_llm"}}, facts, nil)
		called, _ := got.EntryModel()
		require.Equal(t, c.called, called, says)
		require.Equal(t, c.role, got.Role("tensorrt_llm"), says)
	}
}

// TestAModelThatWasNotLoadedAgainIsInNobodysWay has a server that restarted with another model while
// the config of the former one is still known.
func TestAModelThatWasNotLoadedAgainIsInNobodysWay(t *testing.T) {
	llm := func(name string) engine.ModelFacts {
		return engine.ModelFacts{Name: name, State: engine.ModelReady, Configured: true, Backend: "tensorrtllm"}
	}
	before := engine.Facts{Listed: true, Models: []engine.ModelFacts{llm("a"), {Name: "b"}}}
	now := engine.Facts{Listed: true, Models: []engine.ModelFacts{llm("b"), {Name: "a"}}}.WithEarlier(&before)
	name, why := engine.NewTopology(engineOf(t, engine.Triton), engine.NamedModels{Names: []string{"b"}}, now.Models, nil).EntryModel()
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
		got := engine.NewTopology(engineOf(t, engine.Triton), engine.NamedModels{Names: loaded}, facts, nil)
		name, why := got.EntryModel()
		require.Equal(t, called, name, why)
		for _, name := range loaded {
			require.Equal(t, name == called, got.Role(name).Front(), "%s of %s", name, called)
			require.Equal(t, called, got.ModelID(name))
		}
	}
}

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
		got := engine.NewTopology(engineOf(t, engine.Triton), engine.NamedModels{}, c.facts, nil)
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
