package engine

import (
	"slices"
	"strings"
)

const (
	// platformEnsemble is the platform in the config of an ensemble.
	platformEnsemble = "ensemble"
	// The other names are from TensorRT-LLM's model repositories.
	llmName, blsName, ensembleName = "tensorrt_llm", llmName + blsSuffix, "ensemble"
	preprocessing, postprocessing  = "preprocessing", "postprocessing"
	// blsSuffix ends the name of a BLS model, after that of the model which it calls.
	blsSuffix = "_bls"
)

// tritonArrange arranges the models. Ensembles and BLS models are entries; the models that they call
// are parts and share the entry's id. Without configs, the names in TensorRT-LLM's own model
// repositories decide.
func tritonArrange(t *Topology, models NamedModels, facts []ModelFacts) {
	configs := make(map[string]*ModelFacts, len(facts))
	for i := range facts {
		if facts[i].Configured {
			configs[facts[i].Name] = &facts[i]
		}
	}
	for _, n := range models.Names {
		m := tritonTreatment(n, configs[n], slices.Contains(models.Executors, n), slices.Contains(models.Inner, n))
		if m.backend == "" && slices.Contains(models.Native, n) {
			m.backend = backendCPP
		}
		t.models[n] = m
	}
	entries := tritonEntries(t, models.Names, facts, configs)
	tritonGroups(t, entries, models.Names, configs)
	tritonUnresolved(t, models.Names, configs)
	tritonUnasked(t, facts)
	for i := range facts {
		if draft := facts[i].Draft; t.known[draft] {
			t.roles[draft] = RoleDraft
		}
		if prefill := facts[i].Prefill; t.known[prefill] {
			t.treat(prefill, func(m *treatment) { m.prefills = true })
		}
	}
	tritonFollowers(t, configs)
}

// tritonEntries marks unloaded models, and returns the models that clients may call. If any is
// loaded, unloaded models are left out, unless their config is known from earlier.
func tritonEntries(t *Topology, names []string, facts []ModelFacts, configs map[string]*ModelFacts) []string {
	loaded := slices.ContainsFunc(facts, func(f ModelFacts) bool { return f.State == ModelReady })
	for i := range facts {
		// A model that was not loaded again after a restart still has its earlier config.
		never := facts[i].State == "" && (loaded || !facts[i].Configured)
		t.treat(facts[i].Name, func(m *treatment) { m.unloaded = never || facts[i].State == ModelUnavailable })
	}
	return slices.DeleteFunc(
		slices.Clone(names),
		func(n string) bool { return loaded && t.models[n].unloaded && configs[n] == nil },
	)
}

// tritonTreatment returns how a model treats its requests, by its config, or else by its name or
// by series of an executor. Decoupled models of the Python backend report when execute() returns
// (python_backend src/pb_metric_reporter.cc), which is when they hand over. Models of the vLLM
// backend are always decoupled (vllm_backend src/model.py, _init_engine_args). Python models that
// run TensorRT-LLM hand over even if they are not decoupled (seen on 2.51).
func tritonTreatment(name string, f *ModelFacts, executor, vllm bool) treatment {
	m := treatment{ensemble: name == ensembleName, inFlight: name == llmName || vllm}
	if f == nil {
		if vllm {
			m.handsOver = Yes
		}
		if m.ensemble || executor || name == preprocessing || name == postprocessing {
			m.handsOver = No
		}
		return m
	}
	m.configured, m.streams, m.handsOver, m.backend = true, f.Decoupled, No, f.Backend
	m.ensemble = f.Platform == platformEnsemble
	pythonBased := f.Backend == backendPython || f.Backend == backendVLLM
	if pythonBased && (f.Decoupled || executor || name == llmName) {
		m.handsOver = Yes
	}
	m.inFlight = m.inFlight || f.Decoupled && pythonBased || f.Backend == backendCPP || f.Backend == backendVLLM
	return m
}

// Releases of Triton in which backends count failed requests, verified in their sources. The counts of
// ensembles are the core's own, in all releases.
const (
	minorBackendFailures = 19 // 22.02: ONNX Runtime, PyTorch and OpenVINO; before, failed ones were not counted.
	minorPythonErrors    = 47 // 24.06: an answer that is an error counts as a success of a Python model.
)

// Uncounted explains why the failed requests of a model are not all counted, so that its successes
// prove nothing. It is empty if they are, as far as a server with that version is known.
func (t *Topology) Uncounted(model, version string) string {
	m, ok := t.models[model]
	minor, released := tritonMinor(version)
	switch {
	case !ok || m.ensemble:
		return ""
	case m.handsOver == Yes && (m.streams || !m.configured):
		return "model " + model + " is decoupled: a request counts as success once it is accepted, whatever its outcome"
	case m.handsOver == Yes:
		return "model " + model + " hands its requests over: they count as success once they are accepted"
	case m.backend == backendCPP:
		return ""
	case !m.configured:
		return "the config of model " + model + " is not known, " +
			"and requests of decoupled models count as done once they are accepted"
	case m.backend == backendPython && released && minor >= minorPythonErrors:
		return "model " + model + " is of the Python backend, " +
			"which since 24.06 (2.47) counts a request that it answers with an error as success"
	case m.backend != backendPython && !slices.Contains(countingBackends(), m.backend):
		return "it is not known whether backend " + m.backend + " of model " + model + " counts failed requests"
	case !released:
		return "the release is not known, and not in every one does backend " + m.backend +
			" of model " + model + " count all failed requests"
	case minor < minorBackendFailures:
		return "before 22.02 (2.19) backend " + m.backend + " of model " + model + " does not count all failed requests"
	}
	return ""
}

// countingBackends returns the backends that count failed requests since [minorBackendFailures].
func countingBackends() []string {
	return []string{"onnxruntime", "openvino", "pytorch", "tensorflow", "tensorrt"}
}

// tritonGroups finds entries and their parts. Ensembles come before BLS models, since a repository
// with both over the same parts is one deployment.
func tritonGroups(t *Topology, entries, names []string, configs map[string]*ModelFacts) {
	within := make(map[string]bool) // The steps of ensembles, which may be ensembles themselves.
	for _, n := range entries {
		for _, step := range ensembleParts(n, configs[n], names) {
			within[step] = true
		}
	}
	for _, n := range entries {
		if parts := ensembleParts(n, configs[n], names); len(parts) > 0 && !within[n] {
			t.join(n, nestedSteps(parts, configs))
			t.order(n, stepsInOrder(parts, configs, nil))
			if configs[n] == nil {
				t.treat(n, func(m *treatment) { m.ensemble, m.handsOver = true, No })
			}
		}
	}
	tritonCallers(t, entries, names, configs)
}

// tritonCallers finds BLS models and their parts. BLS models that are called by another come last,
// when they are already its parts, so that the order of names does not matter.
func tritonCallers(t *Topology, entries, names []string, configs map[string]*ModelFacts) {
	called := make(map[string]bool)
	for _, n := range entries {
		for _, part := range blsParts(n, configs[n], names) {
			called[part] = true
		}
	}
	for _, isCalled := range []bool{false, true} {
		for _, n := range entries {
			if parts := blsParts(n, configs[n], names); len(parts) > 0 && called[n] == isCalled {
				t.join(n, parts)
				t.order(n, templateParts("", "", parts))
			}
		}
	}
}

// nestedSteps returns the steps and, of ensembles among them, their steps, each of which gets a
// request.
func nestedSteps(steps []string, configs map[string]*ModelFacts) []string {
	all := slices.Clone(steps)
	for i := 0; i < len(all); i++ {
		if f := configs[all[i]]; f != nil && f.Platform == platformEnsemble {
			all = append(
				all,
				slices.DeleteFunc(slices.Clone(f.Steps), func(n string) bool { return slices.Contains(all, n) })...)
		}
	}
	return all
}

// stepsInOrder returns the steps of an ensemble in the order in which requests pass them: those of an ensemble among
// them come before it. Within are the ensembles around it.
func stepsInOrder(steps []string, configs map[string]*ModelFacts, within []string) (all []string) {
	for _, n := range steps {
		if f := configs[n]; f != nil && f.Platform == platformEnsemble && !slices.Contains(within, n) {
			all = append(all, stepsInOrder(f.Steps, configs, append(slices.Clone(within), n))...)
		}
		all = append(all, n)
	}
	return all
}

// tritonUnresolved makes the role of loaded models unknown whose config is not known, beside others: any of
// them may call another. So may a model that is called after another one and names none in its config.
func tritonUnresolved(t *Topology, names []string, configs map[string]*ModelFacts) {
	loaded := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return t.models[n].unloaded })
	if len(loaded) < 2 {
		return
	}
	for _, n := range loaded {
		if t.roles[n] == RoleSingle && configs[n] == nil {
			t.roles[n] = RoleUnknown
		}
		if !namesNobody(n, configs[n]) {
			continue
		}
		for _, part := range fixedParts(n, loaded) {
			if t.roles[part] == RoleSingle {
				t.roles[n], t.roles[part] = RoleUnknown, RoleUnknown
			}
		}
	}
}

// namesNobody reports whether a model has the name of a BLS model, and does not name in its config what it calls.
// The template's own has fixed parts.
func namesNobody(name string, f *ModelFacts) bool {
	return strings.HasSuffix(name, blsSuffix) && !strings.Contains(name, blsName) &&
		f != nil && f.Platform != platformEnsemble && len(f.Calls) == 0
}

// fixedParts returns the models that a BLS model may call without naming them: those of the template, and the one
// after which it is called.
func fixedParts(name string, names []string) []string {
	parts := templateParts("", "", names)
	base := strings.TrimSuffix(name, blsSuffix)
	if slices.Contains(names, base) && !slices.Contains(parts, base) {
		parts = append(parts, base)
	}
	return parts
}

// tritonUnasked makes the role of models unknown that are called by no known model, while the
// configs of other models were not asked for, or never will be: any of these may call them.
func tritonUnasked(t *Topology, facts []ModelFacts) {
	if len(facts) < readyLimit && !slices.ContainsFunc(facts, func(f ModelFacts) bool { return f.Unasked }) {
		return
	}
	for name, role := range t.roles {
		if role == RoleSingle {
			t.roles[name] = RoleUnknown
		}
	}
}

// templateParts returns the parts in TensorRT-LLM's model repositories that are in names
// (tensorrtllm_backend, all_models/inflight_batcher_llm). The names of a second deployment on the
// same server have a prefix or a suffix.
func templateParts(prefix, suffix string, names []string) (parts []string) {
	for _, word := range []string{preprocessing, llmName, postprocessing} {
		if n := prefix + word + suffix; slices.Contains(names, n) {
			parts = append(parts, n)
		}
	}
	return parts
}

// ensembleParts returns the steps of an ensemble, nil for other models.
func ensembleParts(name string, f *ModelFacts, names []string) []string {
	if f != nil && f.Platform == platformEnsemble {
		return f.Steps
	}
	if prefix, suffix, ok := strings.Cut(name, ensembleName); ok && f == nil {
		return templateParts(prefix, suffix, names)
	}
	return nil
}

// blsParts returns the models that a BLS model calls, nil for other models.
func blsParts(name string, f *ModelFacts, names []string) []string {
	var parts []string
	if f != nil {
		parts = slices.Clone(f.Calls)
	} else if prefix, suffix, ok := strings.Cut(name, blsName); ok {
		parts = templateParts(prefix, suffix, names)
	}
	known := f == nil && len(parts) > 1 || f != nil && f.Platform == platformEnsemble || namesNobody(name, f)
	if known || !strings.HasSuffix(name, blsSuffix) {
		return parts
	}
	// The template's parameters name only the LLM; its other parts have fixed names.
	for _, n := range fixedParts(name, names) {
		if !slices.Contains(parts, n) {
			parts = append(parts, n)
		}
	}
	return parts
}

// tritonFollowers marks the steps after the first decoupled one of every ensemble, and the
// postprocessing of the template: a streaming ensemble calls it once per token (seen on 2.51).
func tritonFollowers(t *Topology, configs map[string]*ModelFacts) {
	follows := func(m *treatment) { m.followsLLM = true }
	for _, f := range configs {
		afterDecoupled := false
		for _, step := range f.Steps {
			if afterDecoupled {
				t.treat(step, follows)
			}
			part := configs[step]
			afterDecoupled = afterDecoupled || part != nil && part.Decoupled
		}
	}
	if t.roles[postprocessing] == RolePart {
		t.treat(postprocessing, follows)
	}
}
