package engine

import (
	"slices"
	"strings"
)

const (
	// platformEnsemble is what the config of an ensemble says it is.
	platformEnsemble = "ensemble"
	// llmName, ensembleName and postprocessing are names in TensorRT-LLM's own
	// model repositories.
	llmName, ensembleName, postprocessing = "tensorrt_llm", "ensemble", "postprocessing"
)

// arrange implements Engine. Ensembles and BLS models are entries, what they are
// made of are parts and share the entry's id. What the server's configs do not
// say is taken from the names that TensorRT-LLM's own model repositories use.
func (*tritonPage) arrange(t *Topology, names []string, facts []ModelFacts) {
	byName := make(map[string]*ModelFacts, len(facts))
	for i := range facts {
		byName[facts[i].Name] = &facts[i]
	}
	for _, n := range names {
		t.models[n] = tritonTreatment(n, byName[n])
	}
	tritonGroups(t, names, byName)
	tritonBehind(t, byName)
}

// tritonTreatment is how a model treats its requests, by its config, else by its
// name. Decoupled models of the Python backend report when execute() returns
// (python_backend src/pb_metric_reporter.cc), which is when they hand over.
func tritonTreatment(name string, f *ModelFacts) treatment {
	m := treatment{ensemble: name == ensembleName, inFlight: name == llmName}
	if f == nil || !f.Configured {
		return m
	}
	m.configured, m.streams = true, f.Decoupled
	m.handsOver = f.Decoupled && (f.Backend == backendPython || f.Backend == backendVLLM)
	m.ensemble = f.Platform == platformEnsemble
	m.inFlight = m.inFlight || m.handsOver || f.Backend == backendCPP || f.Backend == backendVLLM
	return m
}

// tritonGroups finds entries and their parts. Ensembles come before BLS models, for
// a repository that has both over the same parts is one deployment.
func tritonGroups(t *Topology, names []string, facts map[string]*ModelFacts) {
	for _, pass := range []func(string, *ModelFacts, []string) []string{ensembleParts, blsParts} {
		for _, n := range names {
			parts := pass(n, facts[n], names)
			if len(parts) == 0 {
				continue
			}
			t.join(n, parts)
		}
	}
}

// conventional are the parts in TensorRT-LLM's model repositories
// (tensorrtllm_backend, all_models/inflight_batcher_llm).
func conventional(names []string) []string {
	var parts []string
	for _, n := range []string{"preprocessing", llmName, postprocessing} {
		if slices.Contains(names, n) {
			parts = append(parts, n)
		}
	}
	return parts
}

// ensembleParts are the models an ensemble is made of; none for other models.
func ensembleParts(name string, f *ModelFacts, names []string) []string {
	if f != nil && f.Configured {
		if f.Platform != platformEnsemble {
			return nil
		}
		return f.Steps
	}
	if name == ensembleName {
		return conventional(names)
	}
	return nil
}

// blsParts are the models a BLS model calls; none for other models.
func blsParts(name string, f *ModelFacts, names []string) []string {
	var parts []string
	if f != nil && f.Configured {
		parts = slices.Clone(f.Calls)
	}
	base, ok := strings.CutSuffix(name, "_bls")
	if !ok || f != nil && f.Configured && f.Platform == platformEnsemble {
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
