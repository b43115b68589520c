package engine

import (
	"maps"
	"slices"
	"strings"
)

// Role says what a model of a server is to its clients.
type Role string

// The roles of models. Requests are counted at entry and single models only:
// a request to an ensemble counts at each of its parts again.
const (
	RoleEntry  Role = "entry"
	RolePart   Role = "part"
	RoleSingle Role = "single"
)

// Topology tells which models of a server belong together, under which public
// id, and which of them clients call. It is immutable.
type Topology struct {
	ids   map[string]string
	roles map[string]Role
	// behind are the parts that work on an LLM's tokens.
	behind map[string]bool
	// fallback is the id of series whose model is not named or "undefined".
	fallback string
}

// UnnamedModel is how trtllm-serve up to 1.2 labels its only model
// (openai_server.py, _init_llm).
const UnnamedModel = "undefined"

// NewTopology orders the models of a server: those its page names, those it
// listed, and those the operator put under a public id. Ensembles and BLS
// models are entries, what they are made of are parts and share the entry's
// id. What the server's configs do not tell is taken from the names that
// TensorRT-LLM's own model repositories use.
func NewTopology(kind Kind, onPage []string, facts []ModelFacts, configured map[string][]string) *Topology {
	t := &Topology{ids: make(map[string]string), roles: make(map[string]Role), behind: make(map[string]bool)}
	names := slices.Clone(onPage)
	byName := make(map[string]*ModelFacts, len(facts))
	for i := range facts {
		byName[facts[i].Name] = &facts[i]
		names = append(names, facts[i].Name)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" || n == UnnamedModel })
	for _, n := range names {
		t.ids[n], t.roles[n] = n, RoleSingle
	}
	if kind == Triton || kind == TritonOpenAI {
		t.group(names, byName)
		t.placeBehind(byName)
	} else if len(names) == 1 {
		t.fallback = names[0]
	}
	t.rename(configured)
	return t
}

// group finds entries and their parts. Ensembles come before BLS models, for
// a repository that has both over the same parts is one deployment.
func (t *Topology) group(names []string, facts map[string]*ModelFacts) {
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

// join makes a model the entry of its parts.
func (t *Topology) join(entry string, parts []string) {
	t.roles[entry] = RoleEntry
	id := entry
	for _, p := range parts {
		if t.roles[p] == RolePart {
			// Shared parts keep the id of the entry that came first.
			id = t.ids[p]
		}
	}
	t.ids[entry] = id
	for _, p := range parts {
		if _, known := t.roles[p]; known && t.roles[p] != RoleEntry {
			t.roles[p], t.ids[p] = RolePart, id
		}
	}
}

// conventional are the parts in TensorRT-LLM's model repositories
// (tensorrtllm_backend, all_models/inflight_batcher_llm).
func conventional(names []string) []string {
	var parts []string
	for _, n := range []string{"preprocessing", "tensorrt_llm", "postprocessing"} {
		if slices.Contains(names, n) {
			parts = append(parts, n)
		}
	}
	return parts
}

// ensembleParts are the models an ensemble is made of; none for other models.
func ensembleParts(name string, f *ModelFacts, names []string) []string {
	if f != nil && f.Configured {
		if f.Platform != "ensemble" {
			return nil
		}
		return f.Steps
	}
	if name == "ensemble" {
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
	if !ok || f != nil && f.Configured && f.Platform == "ensemble" {
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

// Behind says whether a model works on what the LLM has put out. Requests
// that wait for it are tokens of requests that run, not requests that wait:
// a streaming ensemble asks postprocessing once a token (seen on Triton 2.51).
func (t *Topology) Behind(model string) bool { return t.behind[model] }

// placeBehind notes the steps behind the first decoupled one of every
// ensemble, and the part that bears the name of the template.
func (t *Topology) placeBehind(facts map[string]*ModelFacts) {
	for _, f := range facts {
		seen := false
		for _, step := range f.Steps {
			if seen {
				t.behind[step] = true
			}
			part := facts[step]
			seen = seen || part != nil && part.Decoupled
		}
	}
	if t.roles["postprocessing"] == RolePart {
		t.behind["postprocessing"] = true
	}
}

// rename applies the operator's ids: to the names listed, and to the whole
// group of each of them.
func (t *Topology) rename(configured map[string][]string) {
	chosen := make(map[string]string)
	for _, id := range slices.Sorted(maps.Keys(configured)) {
		for _, name := range configured[id] {
			if group, known := t.ids[name]; known {
				chosen[group] = id
			}
		}
	}
	for name, group := range t.ids {
		if id, ok := chosen[group]; ok {
			t.ids[name] = id
		}
	}
	// Names of the list win over groups, and count before they are seen.
	for id, names := range configured {
		for _, name := range names {
			t.ids[name] = id
			if _, known := t.roles[name]; !known {
				t.roles[name] = RoleSingle
			}
		}
	}
	if len(configured) == 1 {
		for id := range configured {
			t.fallback = id
		}
	} else if id, ok := chosen[t.fallback]; ok {
		t.fallback = id
	}
}

// ModelID is the public id of the server's model; a model that is not named
// has the id of the only one there is, else "unknown".
func (t *Topology) ModelID(model string) string {
	if id, ok := t.ids[model]; ok {
		return id
	}
	if model != "" && model != UnnamedModel {
		return model
	}
	if t.fallback != "" {
		return t.fallback
	}
	return "unknown"
}

// Role is the model's role; models that were never seen are single.
func (t *Topology) Role(model string) Role {
	if r, ok := t.roles[model]; ok {
		return r
	}
	return RoleSingle
}

// Equal says whether both topologies label every model alike.
func (t *Topology) Equal(o *Topology) bool {
	if t == nil || o == nil {
		return t == o
	}
	return t.fallback == o.fallback && maps.Equal(t.ids, o.ids) && maps.Equal(t.roles, o.roles) && maps.Equal(t.behind, o.behind)
}
