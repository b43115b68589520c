package engine_test

import (
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
			got := engine.NewTopology(of(t, tc.kind), engine.Seen{Names: tc.page}, tc.facts, tc.configured)
			for model, id := range tc.ids {
				require.Equal(t, id, got.ModelID(model), model)
			}
			for model, role := range tc.roles {
				require.Equal(t, role, got.Role(model), model)
			}
			for _, model := range template {
				require.Equal(t, model == "postprocessing" && len(tc.behind) > 0 && tc.behind[0] == model, got.Behind(model), model)
			}
			for _, model := range tc.behind {
				require.True(t, got.Behind(model), model)
			}
			require.True(t, got.Equal(engine.NewTopology(of(t, tc.kind), engine.Seen{Names: tc.page}, tc.facts, tc.configured)))
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
		got := engine.NewTopology(of(t, kind), engine.Seen{}, facts, nil)
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
	byName := engine.NewTopology(of(t, engine.Triton), engine.Seen{Names: []string{"ensemble", "tensorrt_llm", "other"}}, nil, nil)
	require.True(t, byName.Ensemble("ensemble"))
	require.False(t, byName.Ensemble("tensorrt_llm"))
	require.True(t, byName.InFlight("tensorrt_llm"))
	require.False(t, byName.InFlight("other"))
	require.False(t, byName.QueuedByCore("other"), "nothing is known of it")
	served := engine.NewTopology(of(t, engine.TRTLLMServe), engine.Seen{}, facts, nil)
	for _, f := range facts {
		require.False(t, served.HandsOver(f.Name) != engine.TrustNo || served.Ensemble(f.Name) || served.InFlight(f.Name) || served.QueuedByCore(f.Name), "only Triton has such models")
	}
}

func TestTopologiesAreEqualWhenTheySayTheSame(t *testing.T) {
	facts := func(change func(f []engine.ModelFacts)) []engine.ModelFacts {
		f := []engine.ModelFacts{
			{Name: "ensemble", Configured: true, Platform: "ensemble", Steps: []string{"pre", "llm", "post"}},
			{Name: "pre", Configured: true, Backend: "python"},
			{Name: "llm", Configured: true, Backend: "python"},
			{Name: "post", Configured: true, Backend: "python"},
		}
		change(f)
		return f
	}
	topology := func(kind engine.Kind, f []engine.ModelFacts, ids map[string][]string) *engine.Topology {
		return engine.NewTopology(of(t, kind), engine.Seen{}, f, ids)
	}
	same := func([]engine.ModelFacts) {}
	one := topology(engine.Triton, facts(same), nil)
	require.True(t, one.Equal(topology(engine.Triton, facts(func(f []engine.ModelFacts) { f[1].MaxBatchSize = 4 }), nil)), "no rule asks for it")
	for says, other := range map[string]*engine.Topology{
		"a model streams":               topology(engine.Triton, facts(func(f []engine.ModelFacts) { f[3].Decoupled = true }), nil),
		"the LLM streams":               topology(engine.Triton, facts(func(f []engine.ModelFacts) { f[2].Decoupled = true }), nil),
		"another backend":               topology(engine.Triton, facts(func(f []engine.ModelFacts) { f[2].Backend = "vllm" }), nil),
		"a config is not known":         topology(engine.Triton, facts(func(f []engine.ModelFacts) { f[1].Configured = false }), nil),
		"a step more":                   topology(engine.Triton, facts(func(f []engine.ModelFacts) { f[0].Steps = f[0].Steps[:2] }), nil),
		"no ensemble":                   topology(engine.Triton, facts(func(f []engine.ModelFacts) { f[0].Platform = "" }), nil),
		"a model less":                  topology(engine.Triton, facts(same)[:3], nil),
		"an id that the operator chose": topology(engine.Triton, facts(same), map[string][]string{"id": {"llm"}}),
		"nothing":                       nil,
	} {
		require.False(t, one.Equal(other), says)
		if other != nil {
			require.False(t, other.Equal(one), says)
		}
	}
	var none *engine.Topology
	require.True(t, none.Equal(nil))
	require.False(t, none.Equal(one))
	listed := []engine.ModelFacts{{Name: "a"}, {Name: "b"}}
	require.True(t, topology(engine.NIM, listed, nil).Equal(topology(engine.NIM, listed, nil)))
	require.False(t, topology(engine.NIM, listed, nil).Equal(topology(engine.NIM, []engine.ModelFacts{{Name: "b"}, {Name: "a"}}, nil)), "clients call the first")
	require.False(t, topology(engine.NIM, listed[:1], nil).Equal(topology(engine.NIM, listed, nil)))
}

func TestModelsThatWereNeverSeen(t *testing.T) {
	got := engine.NewTopology(of(t, engine.NIM), engine.Seen{}, []engine.ModelFacts{{Name: "a"}, {Name: "b"}}, nil)
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
		got := engine.NewTopology(of(t, c.kind), engine.Seen{}, c.facts, c.ids)
		for name, id := range c.want {
			require.Equal(t, id, got.ModelID(name), "%s: %s", c.says, name)
		}
	}
}

// TestWhichModelsClientsCall covers what configs, names and the operator's list
// say, and what is left open.
func TestWhichModelsClientsCall(t *testing.T) {
	const entry, part, single, draft, unknown = engine.RoleEntry, engine.RolePart, engine.RoleSingle, engine.RoleDraft, engine.RoleUnknown
	bls := engine.ModelFacts{Name: "bls", Configured: true, Backend: "python", Calls: []string{"target", "little"}, Draft: "little"}
	for _, c := range []struct {
		says       string
		seen       engine.Seen
		facts      []engine.ModelFacts
		configured map[string][]string
		want       map[string]engine.Role
	}{
		{
			"without an ensemble the first of the list is called",
			engine.Seen{Names: []string{"my_llm_bls", "pre", "engine", "post"}},
			nil,
			map[string][]string{"llama": {"my_llm_bls", "pre", "engine", "post"}},
			map[string]engine.Role{"my_llm_bls": entry, "pre": part, "engine": part, "post": part},
		},
		{
			"the first that the server has",
			engine.Seen{Names: []string{"pre", "engine"}},
			nil,
			map[string][]string{"llama": {"gone", "engine", "pre"}},
			map[string]engine.Role{"engine": entry, "pre": part, "gone": part},
		},
		{
			"an ensemble of the list is called wherever it is there",
			engine.Seen{Names: []string{"ensemble", "tensorrt_llm", "other"}},
			nil,
			map[string][]string{"llama": {"other", "ensemble"}},
			map[string]engine.Role{"ensemble": entry, "tensorrt_llm": part, "other": part},
		},
		{
			"a list of one leaves the others alone",
			engine.Seen{Names: []string{"a", "b"}},
			nil,
			map[string][]string{"llama": {"a"}},
			map[string]engine.Role{"a": single, "b": single},
		},
		{
			"two deployments whose names have an affix, of which no config is known",
			engine.Seen{
				Names:     []string{"ensemble_a", "preprocessing_a", "tensorrt_llm_a", "postprocessing_a", "b_tensorrt_llm_bls", "b_tensorrt_llm", "b_preprocessing"},
				Executors: []string{"tensorrt_llm_a", "b_tensorrt_llm"},
			},
			nil, nil,
			map[string]engine.Role{"ensemble_a": entry, "preprocessing_a": part, "tensorrt_llm_a": part, "postprocessing_a": part, "b_tensorrt_llm_bls": entry, "b_tensorrt_llm": part, "b_preprocessing": part},
		},
		{
			"models that may be parts of each other count for none",
			engine.Seen{Names: []string{"front", "engine", "back"}, Executors: []string{"engine"}},
			nil, nil,
			map[string]engine.Role{"front": unknown, "engine": unknown, "back": unknown},
		},
		{
			"the operator says which of them is called",
			engine.Seen{Names: []string{"front", "engine", "back"}, Executors: []string{"engine"}},
			nil,
			map[string][]string{"llama": {"front", "engine", "back"}},
			map[string]engine.Role{"front": entry, "engine": part, "back": part},
		},
		{
			"without an executor nothing says that models are parts",
			engine.Seen{Names: []string{"resnet", "bert"}},
			nil, nil,
			map[string]engine.Role{"resnet": single, "bert": single},
		},
		{
			"an executor alone is called",
			engine.Seen{Names: []string{"engine"}, Executors: []string{"engine"}},
			nil, nil,
			map[string]engine.Role{"engine": single},
		},
		{
			"the model that drafts is none of those that are called",
			engine.Seen{Names: []string{"bls", "target", "little"}, Executors: []string{"target", "little"}},
			[]engine.ModelFacts{bls, {Name: "target", Configured: true, Backend: "tensorrtllm"}, {Name: "little", Configured: true, Backend: "tensorrtllm"}},
			nil,
			map[string]engine.Role{"bls": entry, "target": part, "little": draft},
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			got := engine.NewTopology(of(t, engine.Triton), c.seen, c.facts, c.configured)
			for name, role := range c.want {
				require.Equal(t, role, got.Role(name), name)
			}
		})
	}
}

func TestWhatIsNotKnownOfAModelIsShownByItsNameOrItsExecutor(t *testing.T) {
	for _, kind := range []engine.Kind{engine.Triton, engine.TritonOpenAI} {
		got := engine.NewTopology(of(t, kind), engine.Seen{Names: []string{"ensemble", "engine", "bls", "ensemble_b", "tensorrt_llm_b"}, Executors: []string{"engine"}}, nil, nil)
		for name, want := range map[string]engine.Trust{
			"ensemble": engine.TrustNo, "engine": engine.TrustNo, "ensemble_b": engine.TrustNo,
			"bls": engine.TrustUnknown, "tensorrt_llm_b": engine.TrustUnknown,
		} {
			require.Equal(t, want, got.HandsOver(name), "%s of %s", name, kind)
		}
	}
}
