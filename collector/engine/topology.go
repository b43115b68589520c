package engine

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Role says what a model of a server is to its clients.
type Role string

// The roles of models. Requests are counted at entry and single models only:
// a request to an ensemble counts at each of its parts again. A draft model
// proposes tokens to another, and its own count for nothing. Of models that may
// be parts of each other, as far as is known, none counts.
const (
	RoleEntry   Role = "entry"
	RolePart    Role = "part"
	RoleSingle  Role = "single"
	RoleDraft   Role = "draft"
	RoleUnknown Role = "unknown"
)

// Front says whether clients call a model of the role.
func (r Role) Front() bool { return r == RoleEntry || r == RoleSingle }

// Topology says which models of a server belong together, under which public
// id, which of them clients call, and how each treats its requests. It is
// immutable.
type Topology struct {
	// known are the models that the server has: it lists or counts them.
	known  map[string]bool
	ids    map[string]string
	roles  map[string]Role
	models map[string]treatment
	// fallback is the id of series whose model is not named or "undefined",
	// first the model that the server lists first, where that is the one that
	// clients call.
	fallback, first string
	// served are the models that the server lists as ready.
	served map[string]bool
}

// treatment is how a model treats its requests.
type treatment struct {
	// configured is true when the model's config was answered; streams is from
	// it.
	configured, streams bool
	// handsOver and the others are explained with the methods of [Topology].
	handsOver                  Trust
	ensemble, inFlight, behind bool
	// unloaded is true of one that the server lists and does not have loaded.
	unloaded bool
}

// Seen are the models that a page names: all, those that show an executor of
// their own, and those that show an engine inside the server, to which they hand
// their requests over; and the kind of the engine whose page a server passes on.
type Seen struct {
	Names, Executors, Inner []string
	Inside                  Kind
}

// UnnamedModel is how trtllm-serve up to 1.2 labels its only model
// (openai_server.py, _init_llm).
const UnnamedModel = "undefined"

// NewTopology orders the models of a server: those its page names, those it
// listed, and those the operator put under a public id.
func NewTopology(e Engine, seen Seen, facts []ModelFacts, configured map[string][]string) *Topology {
	t := &Topology{known: make(map[string]bool), ids: make(map[string]string), roles: make(map[string]Role), models: make(map[string]treatment), served: make(map[string]bool)}
	names := slices.Clone(seen.Names)
	for i := range facts {
		names = append(names, facts[i].Name)
		if facts[i].State == ModelReady {
			t.served[facts[i].Name] = true
		}
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" || n == UnnamedModel })
	for _, n := range names {
		t.known[n], t.ids[n], t.roles[n] = true, n, RoleSingle
	}
	e.arrange(t, Seen{names, seen.Executors, seen.Inner, seen.Inside}, facts)
	t.rename(configured)
	for _, id := range sorted(configured) {
		t.choose(configured[id])
	}
	return t
}

// join makes a model the entry of its parts; one that is a part itself stays that,
// and theirs are parts of the same entry.
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

// rename applies the operator's ids: to the names listed, and to the whole
// group of each of them.
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

// choose makes one of the models that the operator put under an id the one that
// clients call: an ensemble or BLS model, else the first of the list that the
// server has. The others are parts, whatever they are called.
func (t *Topology) choose(names []string) {
	if len(names) == 0 {
		return
	}
	if !slices.ContainsFunc(names, func(n string) bool { return t.roles[n] == RoleEntry }) {
		role := RoleEntry
		if len(names) == 1 {
			role = RoleSingle
		}
		if first := t.firstKnown(names); role == RoleEntry || t.roles[first] == RoleUnknown {
			t.roles[first] = role
		}
	}
	for _, n := range names {
		if r := t.roles[n]; len(names) > 1 && r != RoleEntry && r != RoleDraft {
			t.roles[n] = RolePart
		}
	}
}

// firstKnown is the first of some names that the server has, or the first.
func (t *Topology) firstKnown(names []string) string {
	if i := slices.IndexFunc(names, func(n string) bool { return t.known[n] }); i >= 0 {
		return names[i]
	}
	return names[0]
}

// ModelID is the public id of the server's model; a model that is not named
// has the id of the only one there is, else "unknown".
func (t *Topology) ModelID(model string) string {
	switch id, known := t.ids[model]; {
	case known:
		return id
	case model != "" && model != UnnamedModel:
		return model
	}
	return cmp.Or(t.fallback, "unknown")
}

// Served are the public ids of the models that the server lists as ready.
func (t *Topology) Served() map[string]bool {
	ids := make(map[string]bool)
	for name := range t.served {
		ids[t.ModelID(name)] = true
	}
	return ids
}

// Role is the model's role; models that were never seen are single.
func (t *Topology) Role(model string) Role { return cmp.Or(t.roles[model], RoleSingle) }

// Behind says whether a model works on what the LLM has put out. Requests that
// wait for it are tokens of requests that run, not requests that wait.
func (t *Topology) Behind(model string) bool { return t.models[model].behind }

// HandsOver says whether a model's requests count as done when they were handed
// over, long before the last token. Servers whose models say nothing of
// themselves do not.
func (t *Topology) HandsOver(model string) Trust {
	if m, ok := t.models[model]; ok {
		return m.handsOver
	}
	return TrustNo
}

// Ensemble says whether a model only calls others, so that its times are sums
// over its steps.
func (t *Topology) Ensemble(model string) bool { return t.models[model].ensemble }

// InFlight says whether a model batches in flight, so that its executions say
// nothing of its batches. The page may know more of models that did not say.
func (t *Topology) InFlight(model string) bool { return t.models[model].inFlight }

// Streams says whether a model may answer a request with many responses; known
// is false while its config is not.
func (t *Topology) Streams(model string) (streams, known bool) {
	m := t.models[model]
	return m.streams, m.configured
}

// QueuedByCore says whether a model is known to take its requests one batch at a
// time from the server's queue.
func (t *Topology) QueuedByCore(model string) bool {
	m := t.models[model]
	return m.configured && !m.streams && !m.inFlight
}

// EntryModel is the model that clients call; where it is not clear which that
// is, why not, for people. Of ensemble and BLS model over the same parts it is
// the ensemble, and of models that are no parts one that is loaded.
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

// inRole are the models of a role in order.
func (t *Topology) inRole(role Role) []string {
	return slices.DeleteFunc(sorted(t.roles), func(n string) bool { return t.roles[n] != role })
}

// Equal reports whether both topologies say the same of every model.
func (t *Topology) Equal(o *Topology) bool { return reflect.DeepEqual(t, o) }
