package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestModelTopology has role and id of models, and ">" for those that follow the LLM.
func TestModelTopology(t *testing.T) {
	const parts = "postprocessing preprocessing tensorrt_llm tensorrt_llm_bls"
	model := func(name, backend string, calls ...string) engine.ModelFacts {
		return engine.ModelFacts{Name: name, Configured: true, Backend: backend, Calls: calls}
	}
	ensemble := func(name string, steps ...string) engine.ModelFacts {
		return engine.ModelFacts{Name: name, Configured: true, Platform: "ensemble", Steps: steps}
	}
	decoupled, drafting := model("llm", ""), model("bls", "python", "target", "little")
	decoupled.Decoupled, drafting.Draft = true, "little"
	llm := model("llm", "tensorrtllm")
	type (
		list []engine.ModelFacts
		ids  map[string][]string
	)
	for _, c := range []struct {
		name string
		kind engine.Name
		// page has the models that it names, "*" behind those with an executor.
		page       string
		configured ids
		facts      list
		want       string
		// called is the model that clients call, "-" if that is unclear; not compared if it is empty.
		called string
	}{
		{
			"the template's names make one deployment", engine.Triton, "ensemble " + parts, nil, nil,
			"ensemble=entry/ensemble preprocessing=part/ensemble tensorrt_llm=part/ensemble " +
				"tensorrt_llm_bls=entry/ensemble postprocessing=part>/ensemble",
			"",
		},
		{
			"a BLS model alone names the deployment", engine.Triton, parts, nil, nil,
			"tensorrt_llm_bls=entry/tensorrt_llm_bls tensorrt_llm=part/tensorrt_llm_bls " +
				"postprocessing=part>/tensorrt_llm_bls",
			"",
		},
		{
			"a BLS model with a known config also calls the models of " +
				"the template", engine.Triton, "x preprocessing", nil,
			list{model("x_bls", "", "draft"), {Name: "x"}, {Name: "draft"}},
			"x_bls=entry/x_bls x=part/x_bls draft=part/x_bls preprocessing=part/x_bls", "",
		},
		{
			"a model with the name of a BLS model that names nobody in its config may call others", engine.Triton, "", nil,
			list{model("x_bls", ""), model("x", ""), model("y", "")},
			"x_bls=unknown/x_bls x=unknown/x y=single/y", "",
		},
		{
			"two LLMs with one tokenizer are two deployments", engine.Triton, "", nil,
			list{
				ensemble("a", "tokens", "llm_a", "text"), ensemble("b", "tokens", "llm_b", "text"),
				model("tokens", "python"), model("text", "python"),
				model("llm_a", "tensorrtllm"), model("llm_b", "vllm"),
			},
			"a=entry/a llm_a=part/a tokens=part/a text=part/a b=entry/b llm_b=part/b", "-",
		},
		{
			"two ways to one LLM are one deployment", engine.Triton, "", nil,
			list{
				ensemble("a", "tokens", "llm"), ensemble("b", "other_tokens", "llm"),
				model("tokens", "python"), model("other_tokens", "python"), llm,
			},
			"a=entry/a b=entry/a llm=part/a other_tokens=part/a", "",
		},
		{
			"an ensemble named like a BLS model only has its steps", engine.Triton, "x preprocessing", nil,
			list{ensemble("x_bls", "y"), {Name: "x"}, {Name: "y"}},
			"x_bls=entry/x_bls y=part/x_bls x=single/x preprocessing=unknown/preprocessing", "",
		},
		{
			"only BLS and LLM have a prefix", engine.Triton, "a_tensorrt_llm_bls a_tensorrt_llm preprocessing",
			nil, nil,
			"a_tensorrt_llm=part/a_tensorrt_llm_bls preprocessing=part/a_tensorrt_llm_bls",
			"a_tensorrt_llm_bls",
		},
		{
			"an unloaded deployment", engine.Triton, "", nil,
			list{
				{Name: "ensemble", State: engine.ModelUnavailable},
				{Name: "tensorrt_llm", State: engine.ModelUnavailable},
			},
			"tensorrt_llm=part/ensemble", "ensemble",
		},
		{
			"the LLM alone is its own entry", engine.Triton, "tensorrt_llm", nil, nil,
			"tensorrt_llm=single/tensorrt_llm", "",
		},
		{
			"configs define the steps of an ensemble, whatever the names", engine.Triton, "llm", nil,
			list{
				ensemble("chat", "tok", "llm", "detok"), model("tok", ""), decoupled, model("detok", ""),
				model("resnet", ""),
			},
			"chat=entry/chat tok=part/chat llm=part/chat detok=part>/chat resnet=single/resnet", "",
		},
		{
			"series without a name belong to the only model", engine.TRTLLMServe, engine.UnnamedModel, nil,
			list{{Name: "qwen"}},
			"undefined=single/qwen =single/qwen qwen=single/qwen",
			"",
		},
		{
			"a name in lower case is the listed one's", engine.Dynamo, "Org/Qwen org/qwen QWEN", nil,
			list{{Name: "Org/Qwen"}},
			"Org/Qwen=single/Org/Qwen org/qwen=single/Org/Qwen QWEN=single/QWEN",
			"",
		},
		{
			"series without a name belong to the only name, in two cases",
			engine.Dynamo, "A a", nil,
			list{{Name: "A"}},
			"a=single/A =single/A", "A",
		},
		{
			"two models whose names only differ in case", engine.Triton, "a A", nil,
			list{{Name: "a"}, {Name: "A"}},
			"a=single/a A=single/A", "",
		},
		{
			"series without a name belong to the only one on the page",
			engine.VLLM, "m", nil, nil, "m=single/m =single/m", "m",
		},
		{
			"a server without names is unknown", engine.TRTLLMServe, engine.UnnamedModel, nil, nil,
			"undefined=single/unknown", "",
		},
		{
			"two deployments with an affix, without configs", engine.Triton, "ensemble_a preprocessing_a " +
				"tensorrt_llm_a* postprocessing_a b_tensorrt_llm_bls b_tensorrt_llm* b_preprocessing", nil, nil,
			"ensemble_a=entry/ensemble_a preprocessing_a=part/ensemble_a tensorrt_llm_a=part/ensemble_a " +
				"postprocessing_a=part/ensemble_a b_tensorrt_llm_bls=entry/b_tensorrt_llm_bls " +
				"b_tensorrt_llm=part/b_tensorrt_llm_bls b_preprocessing=part/b_tensorrt_llm_bls", "",
		},
		{
			"two deployments, one with an affix, without configs", engine.Triton,
			"ensemble " + parts + " b_ensemble b_postprocessing b_preprocessing b_tensorrt_llm " +
				"b_tensorrt_llm_bls", nil, nil,
			"ensemble=entry/ensemble tensorrt_llm_bls=entry/ensemble tensorrt_llm=part/ensemble " +
				"preprocessing=part/ensemble postprocessing=part>/ensemble b_ensemble=entry/b_ensemble " +
				"b_tensorrt_llm_bls=entry/b_ensemble b_tensorrt_llm=part/b_ensemble " +
				"b_preprocessing=part/b_ensemble b_postprocessing=part/b_ensemble", "",
		},
		{
			"models that may be parts of each other are no parts",
			engine.Triton, "front engine* back", nil, nil,
			"front=unknown/front engine=unknown/engine back=unknown/back",
			"",
		},
		{
			"without configs any of several models may call another", engine.Triton, "resnet bert", nil, nil,
			"resnet=unknown/resnet bert=unknown/bert", "-",
		},
		{
			"a model beside others whose configs are known", engine.Triton, "resnet bert", nil,
			list{model("resnet", "onnxruntime")},
			"resnet=single/resnet bert=unknown/bert", "-",
		},
		{
			"a model alone without config is called", engine.Triton, "resnet", nil, nil,
			"resnet=single/resnet", "resnet",
		},
		{"an executor alone is called", engine.Triton, "engine*", nil, nil, "engine=single/engine", "engine"},
		{
			"a draft model is not an entry model", engine.Triton, "bls target* little*", nil,
			list{drafting, model("target", "tensorrtllm"), model("little", "tensorrtllm")},
			"bls=entry/bls target=part/bls little=draft/bls", "bls",
		},
		{
			"an ensemble that is a step of another, with steps of its own", engine.Triton, "", nil,
			list{
				ensemble("outer", "rerank", "inner"), ensemble("inner", "tok", "z"), ensemble("z", "llm"),
				{Name: "tok"},
				{Name: "rerank"},
				llm,
			},
			"outer=entry/outer rerank=part/outer inner=part/outer tok=part/outer z=part/outer llm=part/outer", "outer",
		},
		{
			"steps that call other models, one of them missing", engine.Triton, "", nil,
			list{
				ensemble("chat", "pre", "work"), model("pre", "python", "elsewhere"),
				model("work", "python", "llm"), llm,
			},
			"chat=entry/chat pre=part/chat work=part/chat llm=part/chat", "chat",
		},
		{
			"a BLS model over the steps of an ensemble", engine.Triton, "", nil,
			list{ensemble("chat", "llm"), model("bls", "python", "llm"), llm},
			"chat=entry/chat bls=entry/chat llm=part/chat", "chat",
		},
		{
			"a BLS model that calls another, which precedes it by name", engine.Triton, "", nil,
			list{model("outer", "python", "inner"), model("inner", "python", "llm"), llm},
			"outer=entry/outer inner=part/outer llm=part/outer", "outer",
		},
		{
			"ensembles of each other, which Triton does not load",
			engine.Triton, "", nil,
			list{ensemble("a", "b"), ensemble("b", "a", "b")},
			"a=single/a b=single/b", "-",
		},

		{
			"a configured id applies to the whole deployment", engine.Triton, "ensemble " + parts,
			ids{"llama-70b": {"ensemble"}},
			nil,
			"ensemble=entry/llama-70b postprocessing=part>/llama-70b tensorrt_llm_bls=entry/llama-70b",
			"",
		},
		{
			"the configuration names the entry model", engine.Triton, "front engine* back",
			ids{"llama": {"front", "engine", "back"}},
			nil,
			"front=entry/llama engine=part/llama back=part/llama",
			"front",
		},
		{
			"the only id is also that of series without a model",
			engine.NIM, "a b",
			ids{"id": {"a"}},
			nil, "a=single/id b=single/b =single/id", "",
		},
		{"unknown models", engine.NIM, "a b", nil, nil, "other=single/other =single/unknown", ""},
		{
			"two ids", engine.NIM, "a b",
			ids{"one": {"a"}, "two": {"b"}},
			nil, "a=single/one b=single/two =single/unknown", "",
		},
		{
			"the only model has one of two ids", engine.NIM, "a",
			ids{"one": {"a"}, "two": {"c"}},
			nil, "a=single/one c=single/two =single/one", "",
		},
		{
			"a part with its own id", engine.Triton, "ensemble preprocessing tensorrt_llm",
			ids{"chat": {"ensemble"}, "tokens": {"preprocessing"}},
			nil,
			"ensemble=entry/chat preprocessing=part/tokens tensorrt_llm=part/tokens", "",
		},
		{"a model that does not exist yet", engine.Triton, "", ids{"id": {"later"}}, nil, "later=single/id", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var named engine.NamedModels
			for name := range strings.FieldsSeq(c.page) {
				name, executor := strings.CutSuffix(name, "*")
				if named.Names = append(named.Names, name); executor {
					named.Executors = append(named.Executors, name)
				}
			}
			top := engine.NewTopology(engineOf(t, c.kind), named, c.facts, c.configured)
			var got []string
			for one := range strings.FieldsSeq(c.want) {
				name, _, _ := strings.Cut(one, "=")
				follows := map[bool]string{true: ">"}[top.FollowsLLM(name)]
				got = append(got, fmt.Sprintf("%s=%s%s/%s", name, top.Role(name), follows, top.ModelID(name)))
			}
			require.Equal(t, c.want, strings.Join(got, " "))
			again := engine.NewTopology(engineOf(t, c.kind), named, c.facts, c.configured)
			require.True(t, top.Equal(again), "the same facts give the same topology")
			if called, _ := top.EntryModel(); c.called != "" {
				require.Equal(t, strings.Trim(c.called, "-"), called)
			}
		})
	}
}

func TestModelRequestHandling(t *testing.T) {
	model := func(name, backend string, decoupled bool) engine.ModelFacts {
		return engine.ModelFacts{Name: name, Configured: true, Backend: backend, Decoupled: decoupled}
	}
	facts := []engine.ModelFacts{
		model(
			"cpp",
			"tensorrtllm",
			false,
		), model("cpp streaming", "tensorrtllm", true), model("python", "python", false),
		model(
			"llm api",
			"python",
			true,
		), model("vllm", "vllm", true), model("vllm whole", "vllm", false), model("onnx", "onnxruntime", false),
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
	for _, kind := range []engine.Name{engine.Triton, engine.TritonOpenAI} {
		got := engine.NewTopology(engineOf(t, kind), engine.NamedModels{}, facts, nil)
		require.Equal(
			t,
			[]string{"llm api", "vllm", "tensorrt_llm"},
			names(func(m string) bool { return got.HandsOver(m) == engine.Yes }),
		)
		require.Equal(
			t,
			[]string{"not configured"},
			names(func(m string) bool { return got.HandsOver(m) == engine.Unsure }),
		)
		require.Equal(t, []string{"chat"}, names(got.Ensemble))
		require.Equal(t, []string{
			"cpp", "cpp streaming", "llm api", "vllm", "vllm whole", "tensorrt_llm",
		}, names(got.InFlight))
		require.Equal(t, []string{"python", "onnx", "chat", "ensemble"}, names(got.QueuedByCore))
		require.Equal(t, []string{"cpp streaming", "llm api", "vllm", "onnx streaming"}, names(func(m string) bool {
			streams, known := got.Streams(m)
			require.Equal(t, m != "not configured", known, m)
			return streams
		}))
	}
	byName := engine.NewTopology(
		engineOf(t, engine.Triton),
		engine.NamedModels{Names: []string{"ensemble", "tensorrt_llm", "other"}},
		nil,
		nil,
	)
	require.True(t, byName.Ensemble("ensemble"), "ensemble is an ensemble")
	require.False(t, byName.Ensemble("tensorrt_llm"), "tensorrt_llm is no ensemble")
	require.True(t, byName.InFlight("tensorrt_llm"), "tensorrt_llm batches in flight")
	require.False(t, byName.InFlight("other"), "nothing is known of other")
	require.False(t, byName.QueuedByCore("other"), "nothing is known of it")
	served := engine.NewTopology(engineOf(t, engine.TRTLLMServe), engine.NamedModels{}, facts, nil)
	for _, f := range facts {
		require.False(
			t,
			served.HandsOver(f.Name) != engine.No || served.Ensemble(f.Name) || served.InFlight(f.Name) ||
				served.QueuedByCore(f.Name),
			"only Triton has such models",
		)
	}
}

func TestModelRoleFromNameOrExecutor(t *testing.T) {
	for _, kind := range []engine.Name{engine.Triton, engine.TritonOpenAI} {
		got := engine.NewTopology(engineOf(t, kind), engine.NamedModels{
			Names:     []string{"ensemble", "engine", "bls", "ensemble_b", "tensorrt_llm_b"},
			Executors: []string{"engine"},
		}, nil, nil)
		for name, want := range map[string]engine.Ternary{
			"ensemble": engine.No, "engine": engine.No, "ensemble_b": engine.No,
			"bls": engine.Unsure, "tensorrt_llm_b": engine.Unsure,
		} {
			require.Equal(t, want, got.HandsOver(name), "%s of %s", name, kind)
		}
	}
}

// TestConfiguredModelRoles covers every role of a model without a list, in a list of
// its own and in one with a removed model.
func TestConfiguredModelRoles(t *testing.T) {
	const entry, part, single, draft, unknown = engine.RoleEntry, engine.RolePart, engine.RoleSingle, engine.RoleDraft, engine.RoleUnknown
	seen := engine.NamedModels{
		Names: []string{
			"ensemble", "preprocessing", "tensorrt_llm", "bls", "target", "little", "configured", "front", "back",
		},
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
		for name, listed := range map[string]struct {
			ids  map[string][]string
			want engine.Role
		}{
			"no list":             {nil, c.unlisted},
			"an empty list":       {map[string][]string{"id": {}}, c.unlisted},
			"the list of another": {map[string][]string{"id": {"gone"}}, c.unlisted},
			"alone":               {map[string][]string{"id": {c.model}}, c.alone},
			"after a removed one": {map[string][]string{"id": {"gone", c.model}}, c.withGone},
		} {
			got := engine.NewTopology(engineOf(t, engine.Triton), seen, facts, listed.ids)
			require.Equal(t, listed.want, got.Role(c.model), "%s: %s", c.model, name)
		}
	}
}

// TestUnloadedModelsAreIgnored has a repository with more models than
// the server loaded, as with --model-control-mode=explicit.
func TestUnloadedModelsAreIgnored(t *testing.T) {
	rest := []engine.ModelFacts{{Name: "never loaded"}, {Name: "unloaded", State: engine.ModelUnavailable}}
	for name, c := range map[string]struct {
		state, called string
		role          engine.Role
		more          []engine.ModelFacts
	}{
		"loaded, without config": {engine.ModelReady, "tensorrt_llm", engine.RoleSingle, nil},
		"loading":                {engine.ModelLoading, "tensorrt_llm", engine.RoleSingle, nil},
		"another loaded one": {
			engine.ModelReady, "", engine.RoleUnknown,
			[]engine.ModelFacts{{Name: "other", State: engine.ModelReady}},
		},
		"none loaded": {engine.ModelUnavailable, "", engine.RoleSingle, nil},
	} {
		facts := append(append(c.more, rest...), engine.ModelFacts{Name: "tensorrt_llm", State: c.state})
		got := engine.NewTopology(engineOf(t, engine.Triton), engine.NamedModels{
			Names:     []string{"tensorrt_llm"},
			Executors: []string{"tensorrt_llm"},
		}, facts, nil)
		called, _ := got.EntryModel()
		require.Equal(t, c.called, called, name)
		require.Equal(t, c.role, got.Role("tensorrt_llm"), name)
	}
}

// TestModelNotLoadedAgainIsIgnored has a server that restarted with another model while
// the config of the former one is still known.
func TestModelNotLoadedAgainIsIgnored(t *testing.T) {
	llm := func(name string) engine.ModelFacts {
		return engine.ModelFacts{Name: name, State: engine.ModelReady, Configured: true, Backend: "tensorrtllm"}
	}
	before := engine.Facts{Listed: true, Models: []engine.ModelFacts{llm("a"), {Name: "b"}}}
	now := engine.Facts{Listed: true, Models: []engine.ModelFacts{llm("b"), {Name: "a"}}}.WithEarlier(&before)
	top := engine.NewTopology(engineOf(t, engine.Triton), engine.NamedModels{Names: []string{"b"}}, now.Models, nil)
	name, why := top.EntryModel()
	require.Equal(t, "b", name, why)
	require.Equal(t, map[string]bool{"b": true}, top.Served())
}

// TestUnloadedEntryIsNoEntry has a server that loaded some of the models
// of TensorRT-LLM's own repository, which lists them all.
func TestUnloadedEntryIsNoEntry(t *testing.T) {
	all := []string{
		"ensemble", "preprocessing", "postprocessing", "tensorrt_llm", "tensorrt_llm_bls", "x_ensemble",
		"x_tensorrt_llm",
	}
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
