package engine

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Role is the role of a model towards the clients of its server.
type Role string

// The roles of models. Only requests to entry and single models count: a request to an ensemble
// counts at each of its parts again, and a draft model proposes tokens to another. Models are of
// unknown role if they may be parts of each other.
const (
	RoleEntry   Role = "entry"
	RolePart    Role = "part"
	RoleSingle  Role = "single"
	RoleDraft   Role = "draft"
	RoleUnknown Role = "unknown"
)

// Front reports whether clients call models of the role.
func (r Role) Front() bool { return r == RoleEntry || r == RoleSingle }

// Topology groups the models of a server and tells how each treats requests. It is immutable.
type Topology struct {
	// known has the models that the server lists or counts, served those that it lists as ready.
	known, served map[string]bool
	ids           map[string]string
	roles         map[string]Role
	models        map[string]treatment
	// fallback is the id of series without a model, first the model that is listed first.
	fallback, first string
}

// treatment is how a model treats its requests; see the methods of [Topology].
type treatment struct {
	// configured is true if the model's config was answered; streams is from it.
	configured, streams            bool
	handsOver                      Trust
	ensemble, inFlight, followsLLM bool
	// unloaded is true if the server lists the model and has not loaded it.
	unloaded bool
}

// NamedModels are the models on a page: all, those with an executor, and those that hand requests
// to an engine inside the server. Inside is the kind of the engine whose page is passed on.
type NamedModels struct {
	Names, Executors, Inner []string
	Inside                  Kind
}

// UnnamedModel names the only model of a trtllm-serve up to 1.2 (openai_server.py, _init_llm).
const UnnamedModel = "undefined"

// NewTopology groups the models of page and API, and those configured under a public id.
func NewTopology(e Engine, named NamedModels, facts []ModelFacts, configured map[string][]string) *Topology {
	t := &Topology{known: make(map[string]bool), ids: make(map[string]string), roles: make(map[string]Role), models: make(map[string]treatment), served: make(map[string]bool)}
	var names []string
	for i := range facts {
		names = append(names, facts[i].Name)
		t.ids[strings.ToLower(facts[i].Name)] = facts[i].Name
		if facts[i].State == ModelReady {
			t.served[facts[i].Name] = true
		}
	}
	// Dynamo before 1.2 has some names in lower case only (pull request 9775).
	names = append(names, slices.DeleteFunc(slices.Clone(named.Names), func(n string) bool { return cmp.Or(t.ids[n], n) != n })...)
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" || n == UnnamedModel })
	for _, n := range names {
		t.known[n], t.ids[n], t.roles[n] = true, n, RoleSingle
	}
	named.Names = names
	e.arrange(t, named, facts)
	t.rename(configured)
	for _, id := range sorted(configured) {
		t.choose(configured[id])
	}
	return t
}

// treat changes the treatment of a model.
func (t *Topology) treat(name string, change func(m *treatment)) {
	m := t.models[name]
	change(&m)
	t.models[name] = m
}

// join makes a model the entry of its parts, or puts them into the entry that it is part of.
func (t *Topology) join(entry string, parts []string) {
	id := entry
	if t.roles[entry] == RolePart {
		id = t.ids[entry]
	} else {
		t.roles[entry] = RoleEntry
	}
	for _, p := range parts {
		if t.roles[p] == RolePart {
			// Shared parts keep the id of the entry that came first.
			id = t.ids[p]
		}
	}
	t.ids[entry] = id
	for _, p := range parts {
		if t.known[p] && t.roles[p] != RoleEntry {
			t.roles[p], t.ids[p] = RolePart, id
		}
	}
}

// rename applies the operator's ids to the configured names and to their groups.
func (t *Topology) rename(configured map[string][]string) {
	chosen := make(map[string]string)
	for _, id := range sorted(configured) {
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
	// Configured names win over groups, and count before the server shows them.
	for id, names := range configured {
		for _, name := range names {
			t.ids[name] = id
			t.roles[name] = cmp.Or(t.roles[name], RoleSingle)
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

// choose decides which of the models under one configured id clients call: an ensemble or BLS
// model, or else the first that the server has. The others become parts.
func (t *Topology) choose(names []string) {
	if len(names) == 0 {
		return
	}
	if !slices.ContainsFunc(names, func(n string) bool { return t.roles[n] == RoleEntry }) {
		role := RoleEntry
		if len(names) == 1 {
			role = RoleSingle
		}
		known := slices.IndexFunc(names, func(n string) bool { return t.known[n] })
		if first := names[max(0, known)]; role == RoleEntry || t.roles[first] == RoleUnknown {
			t.roles[first] = role
		}
	}
	for _, n := range names {
		if r := t.roles[n]; len(names) > 1 && r != RoleEntry && r != RoleDraft {
			t.roles[n] = RolePart
		}
	}
}

// ModelID returns the public id of a model: without one, that of the only model or "unknown".
func (t *Topology) ModelID(model string) string {
	switch id, known := t.ids[model]; {
	case known:
		return id
	case model != "" && model != UnnamedModel:
		return model
	}
	return cmp.Or(t.fallback, "unknown")
}

// Served returns the public ids of the models that the server lists as ready.
func (t *Topology) Served() map[string]bool {
	ids := make(map[string]bool)
	for name := range t.served {
		ids[t.ModelID(name)] = true
	}
	return ids
}

// Role returns the role of a model; single for one that was never seen.
func (t *Topology) Role(model string) Role { return cmp.Or(t.roles[model], RoleSingle) }

// FollowsLLM reports whether a model processes the LLM's output: what it queues is tokens.
func (t *Topology) FollowsLLM(model string) bool { return t.models[model].followsLLM }

// HandsOver reports whether a model's requests count as done long before the last token.
func (t *Topology) HandsOver(model string) Trust {
	if m, ok := t.models[model]; ok {
		return m.handsOver
	}
	return TrustNo
}

// Ensemble reports whether a model only calls others, so that its times are sums.
func (t *Topology) Ensemble(model string) bool { return t.models[model].ensemble }

// InFlight reports whether a model batches in flight, so that executions show no batches.
func (t *Topology) InFlight(model string) bool { return t.models[model].inFlight }

// Streams reports whether a model may answer many times; known is false without its config.
func (t *Topology) Streams(model string) (streams, known bool) {
	m := t.models[model]
	return m.streams, m.configured
}

// QueuedByCore reports whether a model is known to take a batch at a time from Triton's queue.
func (t *Topology) QueuedByCore(model string) bool {
	m := t.models[model]
	return m.configured && !m.streams && !m.inFlight
}

// EntryModel returns the model that clients call, or why that is unclear. An ensemble is preferred
// to a BLS model over the same parts, and a loaded model to one that is not.
func (t *Topology) EntryModel() (name, why string) {
	names := t.inRole(RoleEntry)
	if len(names) == 0 {
		names = append(t.inRole(RoleSingle), t.inRole(RoleUnknown)...)
		if loaded := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return t.models[n].unloaded }); len(loaded) > 0 {
			names = loaded
		}
	}
	switch {
	case len(names) == 0:
		return "", "no model of the server is known yet"
	case len(names) == 1:
		return names[0], ""
	case t.first != "":
		return t.first, ""
	}
	best := slices.IndexFunc(names, t.Ensemble)
	for _, n := range names {
		if best < 0 || t.ids[n] != t.ids[names[best]] {
			return "", fmt.Sprintf("clients may call any of %s; set canary.model", strings.Join(names, ", "))
		}
	}
	return names[best], ""
}

// inRole returns the models of a role, sorted.
func (t *Topology) inRole(role Role) []string {
	return slices.DeleteFunc(sorted(t.roles), func(n string) bool { return t.roles[n] != role })
}

// Equal reports whether both topologies are the same.
func (t *Topology) Equal(o *Topology) bool { return reflect.DeepEqual(t, o) }
