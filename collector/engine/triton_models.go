package engine

import (
	"maps"
	"slices"
	"strings"
)

const (
	// platformEnsemble is what the config of an ensemble says it is.
	platformEnsemble = "ensemble"
	// llmName, ensembleName and postprocessing are names in TensorRT-LLM's own
	// model repositories.
	llmName, blsName, ensembleName = "tensorrt_llm", "tensorrt_llm_bls", "ensemble"
	preprocessing, postprocessing  = "preprocessing", "postprocessing"
)

// arrange implements Engine. Ensembles and BLS models are entries, what they are
// made of are parts and share the entry's id. What the server's configs do not
// say is taken from the names that TensorRT-LLM's own model repositories use.
func (*tritonPage) arrange(t *Topology, seen Seen, facts []ModelFacts) {
	byName := make(map[string]*ModelFacts, len(facts)) // Of those whose config is known.
	for i := range facts {
		if facts[i].Configured {
			byName[facts[i].Name] = &facts[i]
		}
	}
	for _, n := range seen.Names {
		t.models[n] = tritonTreatment(n, byName[n], slices.Contains(seen.Executors, n), slices.Contains(seen.Inner, n))
	}
	entries := tritonEntries(t, seen.Names, facts, byName)
	tritonGroups(t, entries, seen.Names, byName)
	tritonAffixed(t, entries, seen.Names, byName)
	tritonUnresolved(t, seen, byName)
	for i := range facts {
		if draft := facts[i].Draft; t.known[draft] {
			t.roles[draft] = RoleDraft
		}
	}
	tritonBehind(t, byName)
}

// tritonEntries notes which models are not loaded, and gives those that clients may
// call: where some are loaded, not those that are not. One whose config was answered
// before it was unloaded stays what it was.
func tritonEntries(t *Topology, names []string, facts []ModelFacts, known map[string]*ModelFacts) []string {
	loaded := slices.ContainsFunc(facts, func(f ModelFacts) bool { return f.State == ModelReady })
	for i := range facts {
		m := t.models[facts[i].Name]
		// Configs are kept of answers before, also of a model that the server did not
		// load when it began again.
		never := facts[i].State == "" && (loaded || !facts[i].Configured)
		m.unloaded = never || facts[i].State == ModelUnavailable
		t.models[facts[i].Name] = m
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return loaded && t.models[n].unloaded && known[n] == nil })
}

// tritonTreatment is how a model treats its requests, by its config, else by its
// name, or by the executor's series that it shows on the page. Decoupled models
// of the Python backend report when execute() returns (python_backend
// src/pb_metric_reporter.cc), which is when they hand over. Those of the vLLM
// backend always are (vllm_backend src/model.py, _init_engine_args), and those that
// run TensorRT-LLM hand over even if they are not (seen on 2.51).
func tritonTreatment(name string, f *ModelFacts, executor, vllm bool) treatment {
	m := treatment{ensemble: name == ensembleName, inFlight: name == llmName || vllm}
	if f == nil {
		if vllm {
			m.handsOver = TrustYes
		}
		if m.ensemble || executor || name == preprocessing || name == postprocessing {
			m.handsOver = TrustNo
		}
		return m
	}
	m.configured, m.streams, m.handsOver = true, f.Decoupled, TrustNo
	m.ensemble = f.Platform == platformEnsemble
	own := f.Backend == backendPython || f.Backend == backendVLLM
	if own && (f.Decoupled || executor || name == llmName) {
		m.handsOver = TrustYes
	}
	m.inFlight = m.inFlight || f.Decoupled && own || f.Backend == backendCPP || f.Backend == backendVLLM
	return m
}

// tritonGroups finds entries and their parts. Ensembles come before BLS models, for
// a repository that has both over the same parts is one deployment.
func tritonGroups(t *Topology, entries, names []string, facts map[string]*ModelFacts) {
	within := make(map[string]bool) // What ensembles are made of, ensembles among it.
	for _, n := range entries {
		for _, step := range ensembleParts(n, facts[n], names) {
			within[step] = true
		}
	}
	for _, n := range entries {
		if parts := ensembleParts(n, facts[n], names); len(parts) > 0 && !within[n] {
			t.join(n, inner(parts, facts))
		}
	}
	tritonCallers(t, entries, names, facts)
}

// tritonCallers finds BLS models and their parts. Those that another calls come last,
// when they are its parts already, whatever the order of their names.
func tritonCallers(t *Topology, entries, names []string, facts map[string]*ModelFacts) {
	called := make(map[string]bool)
	for _, n := range entries {
		for _, part := range blsParts(n, facts[n], names) {
			called[part] = true
		}
	}
	for _, last := range []bool{false, true} {
		for _, n := range entries {
			if parts := blsParts(n, facts[n], names); len(parts) > 0 && called[n] == last {
				t.join(n, parts)
			}
		}
	}
}

// inner are some steps with those of the ensembles among them: a request to the
// outermost is one to each.
func inner(steps []string, facts map[string]*ModelFacts) []string {
	all := slices.Clone(steps)
	for i := 0; i < len(all); i++ {
		if f := facts[all[i]]; f != nil && f.Platform == platformEnsemble {
			all = append(all, slices.DeleteFunc(slices.Clone(f.Steps), func(n string) bool { return slices.Contains(all, n) })...)
		}
	}
	return all
}

// tritonAffixed finds deployments of the template's models whose names have
// something before or behind them, of models whose config is not known: a second
// deployment on the same server.
func tritonAffixed(t *Topology, entries, names []string, facts map[string]*ModelFacts) {
	groups := make(map[[2]string]map[string]string)
	for _, n := range names {
		if word, affix := tritonTemplate(n); word != "" && facts[n] == nil {
			if groups[affix] == nil {
				groups[affix] = make(map[string]string)
			}
			groups[affix][word] = n
		}
	}
	for _, group := range groups {
		for _, front := range []string{ensembleName, blsName} {
			entry := group[front]
			if !slices.Contains(entries, entry) || len(group) == 1 {
				continue
			}
			t.join(entry, slices.DeleteFunc(slices.Sorted(maps.Values(group)), func(n string) bool {
				return n == group[ensembleName] || n == group[blsName]
			}))
			if m := t.models[entry]; front == ensembleName {
				m.ensemble, m.handsOver = true, TrustNo
				t.models[entry] = m
			}
		}
	}
}

// tritonTemplate is the template's model of which a name is, with what is before
// and behind it in the name; empty for other names, and those without any.
func tritonTemplate(name string) (word string, affix [2]string) {
	for _, word := range []string{blsName, preprocessing, postprocessing, llmName, ensembleName} {
		if before, behind, ok := strings.Cut(name, word); ok && before+behind != "" {
			return word, [2]string{before, behind}
		}
	}
	return "", affix
}

// tritonUnresolved finds models that may be parts of each other: next to an
// executor, several that are loaded, whose config is not known and of whom no name
// says what they are.
func tritonUnresolved(t *Topology, seen Seen, facts map[string]*ModelFacts) {
	var open []string
	for _, n := range seen.Names {
		if t.roles[n] == RoleSingle && facts[n] == nil && !t.models[n].unloaded {
			open = append(open, n)
		}
	}
	executor := func(n string) bool { return slices.Contains(seen.Executors, n) || n == llmName }
	if len(open) < 2 || !slices.ContainsFunc(open, executor) {
		return
	}
	for _, n := range open {
		t.roles[n] = RoleUnknown
	}
}

// conventional are the parts in TensorRT-LLM's model repositories
// (tensorrtllm_backend, all_models/inflight_batcher_llm).
func conventional(names []string) []string {
	return slices.DeleteFunc([]string{preprocessing, llmName, postprocessing}, func(n string) bool { return !slices.Contains(names, n) })
}

// ensembleParts are the models an ensemble is made of; none for other models.
func ensembleParts(name string, f *ModelFacts, names []string) []string {
	switch {
	case f != nil && f.Platform == platformEnsemble:
		return f.Steps
	case f == nil && name == ensembleName:
		return conventional(names)
	}
	return nil
}

// blsParts are the models a BLS model calls; none for other models.
func blsParts(name string, f *ModelFacts, names []string) []string {
	var parts []string
	if f != nil {
		parts = slices.Clone(f.Calls)
	}
	base, ok := strings.CutSuffix(name, "_bls")
	if !ok || f != nil && f.Platform == platformEnsemble {
		return parts
	}
	// The template names only the LLM in its parameters; it calls the models
	// before and behind it by the names they have in the template.
	for _, n := range append(conventional(names), base) {
		if !slices.Contains(parts, n) && slices.Contains(names, n) {
			parts = append(parts, n)
		}
	}
	return parts
}

// tritonBehind notes the steps behind the first decoupled one of every
// ensemble, and the part that has the name of the template: a streaming
// ensemble asks postprocessing once a token (seen on Triton 2.51).
func tritonBehind(t *Topology, facts map[string]*ModelFacts) {
	behind := func(name string) {
		m := t.models[name]
		m.behind = true
		t.models[name] = m
	}
	for _, f := range facts {
		seen := false
		for _, step := range f.Steps {
			if seen {
				behind(step)
			}
			part := facts[step]
			seen = seen || part != nil && part.Decoupled
		}
	}
	if t.roles[postprocessing] == RolePart {
		behind(postprocessing)
	}
}
