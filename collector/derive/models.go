package derive

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Model is what a rule is about: a public model id, a version of a model behind it that clients
// call, or the whole replica.
type Model struct {
	id string
	// name and version are empty if the server does not count per model.
	name, version string
	labels        labels.Labels
	index         *index
	// n is the place of the model id in [index.models].
	n int
	// signals holds what the page shows of each signal, nil where that is nothing.
	signals [engine.SignalCount]*shown
	checks  [troubles]*check

	// versions are what clients call under the id, in order. A version is the nth of its id, which is
	// of.
	versions []*Model
	of       *Model
	nth      int

	// Of a model id: queues are the queues of the server itself in which its requests wait, and queuedByCore is true
	// if the requests of all its models wait there. workers is the number of workers that a router knows, or of ranks.
	queues       *shown
	queuedByCore bool
	workers      float64
	cache        statedCache
	// caches are those of its ranks, nil until a rule asks for them.
	caches []rankCache
	// batched is nil if the tokens of all inferences are counted.
	batched *batchCheck

	// Of a version: how its requests ended, and what measures their times.
	outcome                    *outcome
	failures                   []failure
	firstTokens, wholeRequests *shown
}

// instance is a model and version behind a model id.
type instance struct{ id, name, version string }

// ordinal returns labels in which a GPU has its place on the page for a name. Replicas name their GPUs at
// random, and share an index whatever the order of these names is.
func (ix *index) ordinal(lset labels.Labels) labels.Labels {
	place := slices.Index(ix.gpus, lset.Get(exposition.LabelGPU))
	if place < 0 {
		return lset
	}
	return labels.NewBuilder(lset).Set(exposition.LabelGPU, fmt.Sprintf("%04d", place)).Labels()
}

// addModels groups the sources by derived series, in a fixed order, and these by model.
func (ix *index) addModels() {
	ix.replica = &Model{index: ix, labels: ix.naming.Labels}
	ix.addGroups()
	byID := func(a, b *Model) int { return strings.Compare(a.id, b.id) }
	ix.models = slices.SortedFunc(maps.Values(ix.building.byID), byID)
	ix.finishGroups()
	for n, m := range ix.models {
		m.n = n
	}
	ix.lackFirstResponse = slices.ContainsFunc(ix.building.page.Models(), ix.lacksFirstResponse)
	for signal := range ix.replica.signals {
		for _, g := range ix.replica.groups(engine.Signal(signal)) {
			ix.qualify(g)
		}
	}
	for _, m := range ix.models {
		ix.complete(m)
	}
}

// addGroups adds a group for each derived series, with its sources.
func (ix *index) addGroups() {
	byKey := make(map[string]*group)
	for i := range ix.building.sources {
		s := &ix.building.sources[i]
		lset := ix.labelsOf(s)
		key := s.groupKey(lset)
		g, ok := byKey[key]
		if !ok {
			g = newGroup(s, lset, ix.topology.Role(s.name))
			g.model = ix.modelOf(s.id)
			byKey[key] = g
			ix.replica.show(g)
		}
		g.add(i, s)
	}
}

// finishGroups sorts the groups, and shows each to its model and to its instance.
func (ix *index) finishGroups() {
	for signal := range ix.replica.signals {
		groups := ix.replica.groups(engine.Signal(signal))
		slices.SortFunc(groups, func(a, b *group) int {
			return labels.Compare(ix.ordinal(a.labels), ix.ordinal(b.labels))
		})
		for _, g := range groups {
			g.finish(ix.building.sources)
			ix.addsUp = ix.addsUp || g.addsUp(ix.building.sources)
			g.model.show(g)
			g.instance = ix.instanceOf(g)
			g.instance.show(g)
		}
	}
}

// modelOf returns the model of an id, which is added if it is new.
func (ix *index) modelOf(id string) *Model {
	m, ok := ix.building.byID[id]
	if !ok {
		m = &Model{
			id:     id,
			index:  ix,
			labels: withLabels(ix.naming.Labels, "model_id", id),
		}
		ix.building.byID[id] = m
	}
	return m
}

func (ix *index) instanceOf(g *group) *Model {
	key := instance{g.model.id, g.name, g.version}
	m, ok := ix.building.instances[key]
	if !ok {
		m = &Model{
			id:      g.model.id,
			name:    g.name,
			version: g.version,
			index:   ix,
			of:      g.model,
		}
		ix.building.instances[key] = m
	}
	return m
}

func (m *Model) show(g *group) {
	if m.signals[g.signal] == nil {
		m.signals[g.signal] = &shown{}
	}
	s := m.signals[g.signal]
	s.groups = append(s.groups, g)
}

// groups returns the groups of a signal. The slice must not be modified.
func (m *Model) groups(signal engine.Signal) []*group {
	if s := m.signals[signal]; s != nil {
		return s.groups
	}
	return nil
}

// has reports whether the page shows a signal of the model.
func (m *Model) has(signal engine.Signal) bool {
	return m.signals[signal] != nil || signal == engine.FailuresCounted && m.index.countsFailures
}

// all returns the groups of several signals.
func (m *Model) all(signals ...engine.Signal) (groups []*group) {
	for _, s := range signals {
		groups = append(groups, m.groups(s)...)
	}
	return groups
}

// entryGroups returns the groups of models that clients call. Parts count their requests again.
func (m *Model) entryGroups(signal engine.Signal) []*group {
	return filter(m.groups(signal), func(g *group) bool { return g.role.Front() })
}

// single returns the only number of a signal, nil if it is not the only one.
func (m *Model) single(signal engine.Signal) *numbers {
	if groups := m.groups(signal); len(groups) == 1 && len(groups[0].value.sources) == 1 {
		return &groups[0].value
	}
	return nil
}

// complete adds to a model id what follows from its groups.
func (ix *index) complete(m *Model) {
	follows := func(g *group) bool { return !ix.topology.FollowsLLM(g.name) }
	elsewhere := func(g *group) bool { return !ix.topology.QueuedByCore(g.name) || ix.executor(g.name) }
	pending := m.groups(engine.ModelPending)
	m.queues = &shown{groups: filter(pending, follows)}
	m.queuedByCore = !slices.ContainsFunc(pending, elsewhere)
	var workers []string
	for _, g := range m.all(engine.WorkerKVBlocksUsed, engine.EngineRanks) {
		for _, source := range g.value.sources {
			workers = append(workers, ix.building.sources[source].labels.Get(engine.WorkerLabel))
		}
	}
	m.workers = float64(ix.topology.Reachable(workers))
	m.cache = ix.statedCache(m)
	m.batched = ix.batchedOf(m)
	ix.addVersions(m)
}

// addVersions adds what clients call under a model id.
func (ix *index) addVersions(m *Model) {
	for _, called := range m.called() {
		v := ix.newVersion(m, called)
		m.versions = append(m.versions, v)
		v.firstTokens = ix.firstTokensOf(v)
		v.wholeRequests = ix.wholeRequestsOf(v)
	}
}

// called returns what clients call under a model id, in order: the versions of models if the server counts per
// model, else the id itself.
func (m *Model) called() []instance {
	seen := make(map[instance]bool)
	for _, signal := range []engine.Signal{
		engine.ModelSuccess, engine.ModelFailed, engine.ModelRequestSeconds, engine.ModelRequestDuration,
		engine.ModelFirstResponse,
	} {
		for _, g := range m.entryGroups(signal) {
			seen[instance{m.id, g.name, g.version}] = true
		}
	}
	if len(seen) == 0 {
		seen[instance{id: m.id}] = true
	}
	return slices.SortedFunc(maps.Keys(seen), instance.compare)
}

// newVersion returns the next version of a model id, with the groups that are about it.
func (ix *index) newVersion(m *Model, called instance) *Model {
	v := &Model{
		id:      m.id,
		name:    called.name,
		version: called.version,
		labels:  m.labels,
		index:   ix,
		n:       m.n,
		of:      m,
		nth:     len(m.versions),
	}
	if v.name != "" {
		v.labels = withLabels(m.labels, "model", v.name, "version", v.version)
	}
	for signal := range m.signals {
		for _, g := range m.entryGroups(engine.Signal(signal)) {
			if !g.ofModel || g.name == v.name && g.version == v.version && !g.acceptance {
				v.show(g)
			}
		}
	}
	return v
}

// compare orders versions, which are directory names in Triton: numbers first, by value.
func (i instance) compare(other instance) int {
	number := func(version string) uint64 {
		if n, err := strconv.ParseUint(version, 10, 64); err == nil {
			return n
		}
		return math.MaxUint64
	}
	return cmp.Or(
		strings.Compare(i.name, other.name),
		cmp.Compare(number(i.version), number(other.version)),
		strings.Compare(i.version, other.version),
	)
}

func (ix *index) lacksFirstResponse(model string) bool {
	loaded, _ := ix.building.page.Loaded(model)
	shows := func(g *group) bool { return g.name == model }
	id := ix.building.byID[ix.topology.ModelID(model)]
	return loaded && (id == nil || !slices.ContainsFunc(id.groups(engine.ModelFirstResponse), shows))
}

// countsOwnRequests reports whether a model itself counts how its requests ended.
func (ix *index) countsOwnRequests(m *Model, name, version string) bool {
	return ix.countsFailures && slices.ContainsFunc(m.groups(engine.EngineHeartbeat), func(g *group) bool {
		return slices.ContainsFunc(g.value.sources, func(i int) bool {
			s := &ix.building.sources[i]
			return s.name == name && s.version == version
		})
	})
}

// handsOver reports whether requests count as completed when they are handed over.
func (ix *index) handsOver(name string) bool { return ix.topology.HandsOver(name) == engine.Yes }

// countsWhole reports whether the counts of a model are known to cover complete requests.
func (ix *index) countsWhole(name string) bool { return ix.topology.HandsOver(name) == engine.No }

// executor reports whether a model batches in flight, which it does if it shows iterations.
func (ix *index) executor(name string) bool {
	return ix.topology.InFlight(name) ||
		slices.ContainsFunc(ix.replica.groups(engine.EngineIterations), func(g *group) bool { return g.name == name })
}
