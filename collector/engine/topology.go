package engine

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Role is the role of a model for the clients of its server.
type Role string

// Roles of models. Only requests to entry and single models count: a request to an ensemble is
// counted again by each of its parts, and a draft model proposes tokens to another model. The role
// of models that may be parts of each other is unknown.
const (
	RoleEntry   Role = "entry"
	RolePart    Role = "part"
	RoleSingle  Role = "single"
	RoleDraft   Role = "draft"
	RoleUnknown Role = "unknown"
)

// Front reports whether clients call models of the role.
func (r Role) Front() bool { return r == RoleEntry || r == RoleSingle }

// MayFront reports whether clients may call them.
func (r Role) MayFront() bool { return r.Front() || r == RoleUnknown }

// Topology groups the models of a server and knows how each treats requests. It is immutable.
type Topology struct {
	// known holds the models that the server lists or counts, served the ones it lists as ready.
	known, served map[string]bool
	ids           map[string]string
	roles         map[string]Role
	models        map[string]treatment
	// places tells in which order requests to an entry model pass the models that it calls.
	places map[call]int
	// workers are those that a router can reach, nil if it does not list them.
	workers map[string]bool
	// fallback is the id of series without a model, first the first listed model.
	fallback, first string
}

// call names an entry model and a model that it calls.
type call struct{ entry, model string }

// treatment is how a model treats its requests; see the methods of [Topology].
type treatment struct {
	// configured is true if the model's config is known. streams is from it.
	configured, streams            bool
	handsOver                      Ternary
	ensemble, inFlight, followsLLM bool
	// prefills is true if another model generates its answers.
	prefills bool
	// backend runs the model, empty if unknown.
	backend string
	// unloaded is true if the server lists the model but has not loaded it.
	unloaded bool
}

// NamedModels are the models on a page. Executors have an executor, Native ones that of the C++
// backend of TensorRT-LLM, Inner models hand requests to an engine inside the server. Inside is the
// kind of the engine whose page is passed on.
type NamedModels struct {
	Names, Executors, Native, Inner []string
	Inside                          Name
}

// UnnamedModel is the only model of trtllm-serve up to 1.2 (openai_server.py, _init_llm).
const UnnamedModel = "undefined"

// NewTopology groups the models of page and API. The map configured holds names by public id.
func NewTopology(e *Kind, models NamedModels, facts []ModelFacts, configured map[string][]string) *Topology {
	t := &Topology{
		known:  make(map[string]bool),
		ids:    make(map[string]string),
		roles:  make(map[string]Role),
		models: make(map[string]treatment),
		served: make(map[string]bool),
		places: make(map[call]int),
	}
	for i := range facts {
		t.ids[strings.ToLower(facts[i].Name)] = facts[i].Name
		if facts[i].State == ModelReady {
			t.served[facts[i].Name] = true
		}
	}
	models.Names = t.names(models.Names, facts)
	for _, n := range models.Names {
		t.known[n], t.ids[n], t.roles[n] = true, n, RoleSingle
	}
	e.arrangeModels(t, models, facts)
	t.rename(configured)
	for _, id := range sorted(configured) {
		t.choose(configured[id])
	}
	return t
}

// names returns the names of all models, sorted. Dynamo before 1.2 has some in lower case only on its page (pull
// request 9775).
func (t *Topology) names(onPage []string, facts []ModelFacts) (all []string) {
	for i := range facts {
		all = append(all, facts[i].Name)
	}
	for _, name := range onPage {
		if cmp.Or(t.ids[name], name) == name {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(n string) bool { return n == "" || n == UnnamedModel })
}

// treat changes how a model treats requests.
func (t *Topology) treat(name string, change func(m *treatment)) {
	m := t.models[name]
	change(&m)
	t.models[name] = m
}

// order sets the order in which requests to an entry model pass others.
func (t *Topology) order(entry string, steps []string) {
	for i, n := range steps {
		t.places[call{entry, n}] = i
	}
}

// join makes a model the entry of its parts, or adds them to the entry that it is part of.
func (t *Topology) join(entry string, parts []string) {
	id := entry
	if t.roles[entry] == RolePart {
		id = t.ids[entry]
	} else {
		t.roles[entry] = RoleEntry
	}
	isShared := func(p string) bool { return t.roles[p] == RolePart }
	runsLLM := func(p string) bool { return t.known[p] && t.models[p].inFlight }
	// Shared parts keep the id of the entry that came first. If they are no LLM, and the entry has one of its own, it is
	// another deployment, as of two LLMs with one tokenizer.
	other := !slices.ContainsFunc(parts, func(p string) bool { return runsLLM(p) && isShared(p) }) &&
		slices.ContainsFunc(parts, runsLLM)
	for _, p := range parts {
		if isShared(p) && !other {
			id = t.ids[p]
		}
	}
	t.ids[entry] = id
	for _, p := range parts {
		if t.known[p] && t.roles[p] != RoleEntry && (!other || !isShared(p)) {
			t.roles[p], t.ids[p] = RolePart, id
		}
	}
}

// rename applies the operator's ids to the configured names and to their groups.
func (t *Topology) rename(configured map[string][]string) {
	chosen := make(map[string]string)
	for _, id := range sorted(configured) {
		for _, name := range configured[id] {
			if group, ok := t.ids[name]; ok {
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
// model, or else the first that the server has. The other models become parts.
func (t *Topology) choose(names []string) {
	if len(names) == 0 {
		return
	}
	if !slices.ContainsFunc(names, func(n string) bool { return t.roles[n] == RoleEntry }) {
		role := RoleEntry
		if len(names) == 1 {
			role = RoleSingle
		}
		i := slices.IndexFunc(names, func(n string) bool { return t.known[n] })
		if candidate := names[max(0, i)]; role == RoleEntry || t.roles[candidate] == RoleUnknown {
			t.roles[candidate] = role
		}
	}
	for _, n := range names {
		if r := t.roles[n]; len(names) > 1 && r != RoleEntry && r != RoleDraft {
			t.roles[n] = RolePart
		}
	}
}

// ModelID returns the public id of a model; without one, the id of the only model or "unknown".
func (t *Topology) ModelID(model string) string {
	switch id, known := t.ids[model]; {
	case known:
		return id
	case model != "" && model != UnnamedModel:
		return model
	}
	return cmp.Or(t.fallback, "unknown")
}

// WithWorkers returns the topology of a router that can reach workers with these ids; nil means that it does
// not list them.
func (t *Topology) WithWorkers(ids []string) *Topology {
	if ids == nil {
		return t
	}
	routes := *t
	routes.workers = make(map[string]bool, len(ids))
	for _, id := range ids {
		routes.workers[id] = true
	}
	return &routes
}

// Reachable returns how many of the series of workers are of those that a router can reach: those of one that
// is gone may stay on its page. It is 0 if that is unclear, as workers without a series are listed too.
func (t *Topology) Reachable(workers []string) int {
	listed, seen := 0, make(map[string]bool)
	for _, worker := range workers {
		if t.workers[worker] {
			listed++
			seen[worker] = true
		}
	}
	switch {
	case listed == 0: // It lists none, or lists them by other names.
		return len(workers)
	case listed < len(workers) && len(seen) < len(t.workers):
		return 0
	}
	return listed
}

// Served returns the public ids of the models that the server lists as ready.
func (t *Topology) Served() map[string]bool {
	ids := make(map[string]bool)
	for name := range t.served {
		ids[t.ModelID(name)] = true
	}
	return ids
}

// Role returns the role of a model, single for an unknown one.
func (t *Topology) Role(model string) Role { return cmp.Or(t.roles[model], RoleSingle) }

// FollowsLLM reports whether a model processes the LLM's output, so that it queues tokens.
func (t *Topology) FollowsLLM(model string) bool { return t.models[model].followsLLM }

// Prefills reports whether a model only computes prompts, whose tokens the model counts again that generates the
// answers.
func (t *Topology) Prefills(model string) bool { return t.models[model].prefills }

// Place returns in which place a request to an entry model passes a model that it calls, as far as the order is
// known: of an ensemble, and of a model of TensorRT-LLM's template.
func (t *Topology) Place(entry, model string) (place int, known bool) {
	place, known = t.places[call{entry, model}]
	return place, known
}

// HandsOver reports whether a model's requests count as completed long before the last token.
func (t *Topology) HandsOver(model string) Ternary {
	if m, ok := t.models[model]; ok {
		return m.handsOver
	}
	return No
}

// Ensemble reports whether a model only calls other models, so that its times are sums.
func (t *Topology) Ensemble(model string) bool { return t.models[model].ensemble }

// InFlight reports whether a model batches in flight, so that executions show no batches.
func (t *Topology) InFlight(model string) bool { return t.models[model].inFlight }

// Streams reports whether a model may answer several times; known is false without its config.
func (t *Topology) Streams(model string) (streams, known bool) {
	m := t.models[model]
	return m.streams, m.configured
}

// QueuedByCore reports whether a model is known to take a batch at a time from Triton's queue.
func (t *Topology) QueuedByCore(model string) bool {
	m := t.models[model]
	return m.configured && !m.streams && !m.inFlight
}

// EntryModel returns the model that clients call, or the reason why that is unclear. An ensemble
// is preferred to a BLS model with the same parts, and a loaded model to an unloaded one.
func (t *Topology) EntryModel() (name, reason string) {
	names := t.inRole(RoleEntry)
	if len(names) == 0 {
		names = append(t.inRole(RoleSingle), t.inRole(RoleUnknown)...)
		unloaded := func(n string) bool { return t.models[n].unloaded }
		if loaded := slices.DeleteFunc(slices.Clone(names), unloaded); len(loaded) > 0 {
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
