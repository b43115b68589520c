package derive

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// work is a part of a server that has requests in flight, and what shows their progress.
type work struct {
	// key identifies the work on pages of all shapes, callee is the model that clients call for it.
	key, callee string
	// inFlight tells the number of its requests, minInFlight is the smallest one that is significant.
	inFlight    requestsNow
	minInFlight float64
	// counted is true if that is a difference of counters, which may never return to 0: what
	// it showed at the last progress is over.
	counted bool
	// progress holds counters of steps, and ends the requests that ended well. If any of them moves, or any of the
	// levels rises beyond what it was since one did, the work makes progress. Failures are none. Steps are those of
	// the engine of its model, which count while a request runs.
	progress, levels, steps []int
	ends                    []*tally
	// batches are the iterations among its progress.
	batches batches
	// countersAppear is true if absent counters are 0.
	countersAppear bool
	// serves is true if its progress is that of requests which may end well, false for a part of
	// what every request passes.
	serves bool
	// apart is true if what the engine of its model does is no progress of it: its requests have left the engine, or
	// never got there. Beside is then the model whose requests in the engine are not of this work, nil if none are
	// counted.
	apart  bool
	beside *Model
	// mixed is true if some of its requests may be another entry's, which does not count how they end.
	mixed bool
	// aside is true if it is only a part of what other work shows, so that nobody is asked about it.
	aside bool
}

// batches are the iterations of an engine, which are no progress while they run no request: an engine may look again
// and again for room in its KV cache. Running shows how many requests the last one ran, if the page does.
type batches struct{ iterations, running []int }

// moves reports whether any of the counters moved on the newest page, iterations without a request left out.
func (b *batches) moves(w *Window, counters []int) bool {
	running, known := w.largest(b.running)
	return slices.ContainsFunc(counters, func(counter int) bool {
		return w.moved(counter) && !(known && running <= 0 && slices.Contains(b.iterations, counter))
	})
}

// requestsNow tells how many requests of a work are in flight: those that arrived and did not leave, or
// what gauges show.
type requestsNow struct {
	arrived, left []int
	// The largest of the gauges counts, unless all engines sleep by their own account.
	gauges []gauge
	awake  []int
}

// gauge is a number in some columns.
type gauge struct {
	columns []int
	combine engine.Combine
}

// gaugeSignals returns the signals that show requests in flight, workSignals also those that show
// requests which arrived.
func gaugeSignals() []engine.Signal {
	return []engine.Signal{
		engine.RequestsActive, engine.RequestsRunning, engine.RequestsWaiting,
		engine.RequestsTransfer, engine.RequestsHandedOn,
	}
}

func workSignals() []engine.Signal {
	return append(gaugeSignals(), engine.RequestsStarted, engine.RequestsOpen)
}

// works returns the work of an engine: that of its ranks, that of each stage behind a router, and the requests that
// arrived and were not answered.
func (ix *index) works(m *Model) []work {
	works := slices.Concat(ix.rankWorks(m), ix.stageWorks(m), ix.arrivalWorks(m))
	steps := ix.steps(m)
	for i := range works {
		works[i].steps = steps
	}
	return works
}

// showsInEngine reports whether the page shows how many requests of a model are in its engine, while they are.
func (ix *index) showsInEngine(m *Model) bool {
	ix.building.view.inEngine(m)
	return anyOf(engine.RequestsActive, engine.RequestsRunning).met(m.has) && !ix.quirks.GaugesWhenRequestsEnd
}

// arrivalWorks returns the requests that arrived at a server and were not answered, whatever the gauges of its engine
// show: an engine that hangs while idle goes on showing 0. Where the page shows what is in the engine, these works are
// the requests outside of it.
func (ix *index) arrivalWorks(m *Model) []work {
	progress, ends := ix.progress(m)
	works := ix.arrivals(m, ends)
	for i := range works {
		k := &works[i]
		k.minInFlight, k.countersAppear = 1, ix.quirks.CountersAppear
		if !k.mixed && len(k.ends) > 0 && ix.showsInEngine(m) {
			k.apart, k.beside = true, m
		} else {
			k.progress = ix.columnsOfAll(progress)
		}
	}
	return works
}

// arrivals returns works with their requests in flight: the requests that an API says are open or, if it does not say
// so, for each counter of arrivals, the requests that arrived and have not ended. Ends counts the model's requests that
// ended well.
func (ix *index) arrivals(m *Model, ends []*tally) (all []work) {
	add := func(requests requestsNow, counted bool) {
		all = append(all, work{
			key:      fmt.Sprint("arrivals ", len(all), " of ", m.id),
			callee:   ix.callee(m),
			inFlight: requests,
			counted:  counted,
			ends:     ends,
		})
	}
	if open := m.groups(engine.RequestsOpen); len(open) > 0 {
		add(requestsNow{gauges: []gauge{{columns: ix.allColumns(open)}}}, false)
		return all
	}
	ended := ix.allColumns(m.all(engine.RequestsFinished, engine.RequestsFailed, engine.RequestsAborted))
	if started := ix.allColumns(m.groups(engine.RequestsStarted)); len(started) > 0 {
		add(requestsNow{arrived: started, left: ended}, true)
	}
	for _, g := range m.groups(engine.ModelSuccess) {
		if g.acceptance {
			add(requestsNow{arrived: ix.columnsOf(&g.value), left: ended}, true)
		}
	}
	return append(all, ix.arrivalsAtParts(m)...)
}

// arrivalsAtParts returns the requests that passed the first part of an entry model, and did not end. What later parts
// count passed it as well, or came from clients that call these parts. Of entry models that do not count how their
// requests end nobody knows which were answered.
func (ix *index) arrivalsAtParts(m *Model) (all []work) {
	entries := m.entryGroups(engine.ModelSuccess)
	counting := filter(entries, func(g *group) bool { return ix.countsWhole(g.name) && !g.acceptance })
	for _, g := range m.groups(engine.ModelSuccess) {
		if g.acceptance || g.role != engine.RolePart || ix.topology.FollowsLLM(g.name) || len(counting) == 0 {
			continue
		}
		callers := counting
		if len(counting) == len(entries) {
			callers = ix.callersOf(g, counting)
		}
		if !slices.ContainsFunc(callers, func(caller *group) bool { return ix.first(g, caller) }) {
			continue
		}
		k := work{
			key:      "arrivals at " + g.name + " " + g.version + " of " + m.id,
			inFlight: requestsNow{arrived: ix.columnsOf(&g.value), left: ix.endedAt(m, callers)},
			counted:  true,
			ends:     endsOf(m, callers),
			mixed:    len(counting) < len(entries),
		}
		if !k.mixed {
			k.callee = ix.calleeOf(g)
		}
		all = append(all, k)
	}
	return all
}

// callersOf returns the entry models that call a part, all of them if it is not known which do.
func (ix *index) callersOf(part *group, entries []*group) []*group {
	callers := filter(entries, func(entry *group) bool {
		_, calls := ix.topology.Place(entry.name, part.name)
		return calls
	})
	if len(callers) == 0 {
		return entries
	}
	return callers
}

// first reports whether requests to an entry model pass no other model before a part that counts them.
func (ix *index) first(part, entry *group) bool {
	place, known := ix.topology.Place(entry.name, part.name)
	return !known || !slices.ContainsFunc(part.model.groups(engine.ModelSuccess), func(other *group) bool {
		before, calls := ix.topology.Place(entry.name, other.name)
		return calls && before < place && !ix.topology.FollowsLLM(other.name)
	})
}

// endedAt returns the counters of requests to entry models that ended.
func (ix *index) endedAt(m *Model, entries []*group) (columns []int) {
	for _, signal := range []engine.Signal{engine.ModelSuccess, engine.ModelFailed} {
		for _, g := range m.entryGroups(signal) {
			if slices.ContainsFunc(entries, func(entry *group) bool { return entry.name == g.name }) {
				columns = append(columns, ix.columnsOf(&g.value)...)
			}
		}
	}
	return columns
}

// endsOf returns the requests to entry models that ended well.
func endsOf(m *Model, entries []*group) (all []*tally) {
	for _, version := range m.versions {
		if slices.ContainsFunc(entries, func(entry *group) bool { return entry.name == version.name }) {
			all = append(all, version.ownEnds()...)
		}
	}
	return all
}

// now returns the number of requests in flight on the newest page; absent counters are 0.
func (f *requestsNow) now(w *Window) (float64, bool) {
	if len(f.gauges) == 0 {
		return w.present(f.arrived) - w.present(f.left), true
	}
	if awake, ok := w.largest(f.awake); ok && awake <= 0 {
		return 0, false
	}
	largest, found := math.Inf(-1), false
	for _, g := range f.gauges {
		if v, ok := w.combined(g.columns, g.combine); ok {
			largest, found = max(largest, v), true
		}
	}
	return largest, found
}

// stepSignals returns the signals of iterations and tokens, which may stop being read.
func stepSignals() []engine.Signal {
	return []engine.Signal{
		engine.EngineIterations, engine.EngineOutputs, engine.GenerationTokensLive, engine.PromptTokensLive,
		engine.GenerationTokens, engine.PromptTokens,
	}
}

// comes reports whether tokens count as they come.
func (g *group) comes() bool { return !g.late }

// cacheSignals returns the signals of what is used of the KV cache.
func cacheSignals() []engine.Signal {
	return []engine.Signal{engine.KVBlocksUsed, engine.KVTokensUsed, engine.KVUtilization}
}

// stepsOf returns the counters of iterations and tokens among the groups of signals. Of latencies it
// is how many were observed, each that of a token. What counts when a request ends is no step: its
// client may have left a server that hangs.
func stepsOf(groups func(engine.Signal) []*group) (all []*numbers) {
	for _, signal := range stepSignals() {
		for _, g := range groups(signal) {
			if !g.late {
				all = append(all, &g.value)
			}
		}
	}
	for _, signal := range []engine.Signal{engine.FirstToken, engine.InterToken} {
		for _, g := range groups(signal) {
			if !g.late {
				all = append(all, &g.count.numbers)
			}
		}
	}
	return all
}

// tokenGroups returns the groups of a signal that counts tokens. An iteration may compute none, as of ranks that wait
// for others, or for requests that are set aside again and again.
func (m *Model) tokenGroups(signal engine.Signal) []*group {
	switch signal { //nolint:exhaustive // The others count tokens.
	case engine.EngineIterations, engine.EngineOutputs:
		return nil
	}
	return m.groups(signal)
}

// answerGroups returns the groups of a signal that counts tokens of answers. A prompt is computed for a check of
// somebody's health as well, which answers nobody.
func (m *Model) answerGroups(signal engine.Signal) []*group {
	switch signal { //nolint:exhaustive // The others count tokens.
	case engine.EngineIterations, engine.EngineOutputs, engine.PromptTokens, engine.PromptTokensLive:
		return nil
	}
	return m.groups(signal)
}

// steps returns the columns of what changes with the steps of a model's engine.
func (ix *index) steps(m *Model) (columns []int) {
	columns = ix.columnsOfAll(stepsOf(m.groups))
	if ix.quirks.GaugesWhenRequestsEnd { // The use of the cache, too, is what the last request left.
		return columns
	}
	return append(columns, ix.allColumns(m.all(cacheSignals()...))...)
}

// progress returns what moves while an engine works: steps, and requests that end well. Failures
// are no progress: those of an engine that hangs run into their timeouts, or their clients leave.
// Where the page shows the tokens of answers and the use of the cache, no other steps are: what is computed of a
// prompt fills the cache, unless it is given up and computed again, or was for a check of somebody's health.
// Gauges without a model go with the counters of all. Bytes of answers, which errors have as well, are progress where
// nothing else shows any.
func (ix *index) progress(m *Model) (steps []*numbers, ends []*tally) {
	steps, ends = stepsOf(m.groups), m.ends()
	if outputs := stepsOf(m.answerGroups); len(outputs) > 0 && len(m.all(cacheSignals()...)) > 0 {
		steps = outputs
	}
	if len(steps) > 0 || len(ends) > 0 {
		return steps, ends
	}
	steps = stepsOf(ix.replica.groups)
	for _, other := range ix.having(ended()) {
		ends = append(ends, other.ends()...)
	}
	if len(steps) > 0 || len(ends) > 0 {
		return steps, ends
	}
	for _, g := range m.groups(engine.AnswerBytes) {
		steps = append(steps, &g.value)
	}
	return steps, nil
}

// ends returns the requests of versions that ended well.
func (m *Model) ends() (all []*tally) {
	for _, version := range m.versions {
		all = append(all, version.ownEnds()...)
	}
	return all
}

// ownEnds returns the requests of a version that ended well: what the engine counts, whatever becomes of its answer.
func (m *Model) ownEnds() []*tally {
	if o := m.outcome; o != nil && o.classes[engine.ClassOK] != nil && o.trusted(m) {
		return []*tally{&o.well}
	}
	return nil
}

// rankWorks returns the work of each rank of an engine by its gauges. In the sum of all ranks, the
// others would hide a rank that stands still.
func (ix *index) rankWorks(m *Model) (works []work) {
	gauges := m.all(gaugeSignals()...)
	progress, ends := ix.progress(m)
	var levels []*numbers
	for _, g := range m.all(cacheSignals()...) {
		levels = append(levels, &g.value)
	}
	ranks := ix.ranksOf(gauges)
	for _, r := range ranks {
		k := work{
			key:            fmt.Sprint("rank ", r, " of ", m.id),
			callee:         ix.callee(m),
			serves:         true,
			minInFlight:    1,
			countersAppear: ix.quirks.CountersAppear,
			inFlight:       ix.gaugesOfRank(m, gauges, r),
		}
		if ix.quirks.GaugesWhenRequestsEnd {
			k.minInFlight = 2 // They still count the request that ended.
		}
		ix.addProgress(&k, r, len(ranks) == 1, progress, levels, ends)
		k.batches = ix.batchesOf(m.groups(engine.EngineIterations), m.groups(engine.RequestsRunning))
		works = append(works, k)
	}
	return works
}

func (ix *index) batchesOf(iterations, running []*group) batches {
	return batches{ix.allColumns(iterations), ix.allColumns(running)}
}

// addProgress adds to the work of a rank what shows its progress: what is its own or, if it has nothing or is the
// only one, also what ranks share, which keeps moving while one of several stands still.
func (ix *index) addProgress(k *work, r rank, only bool, progress, levels []*numbers, ends []*tally) {
	var shared, sharedLevels []int
	k.progress, shared = ix.columnsOfRank(progress, r)
	k.levels, sharedLevels = ix.columnsOfRank(levels, r)
	if only || r.number == "" || len(k.progress)+len(k.levels) == 0 {
		k.progress, k.levels, k.ends = append(k.progress, shared...), append(k.levels, sharedLevels...), ends
	}
	if len(k.progress)+len(k.levels)+len(k.ends) == 0 {
		k.progress = ix.columnsOfAll(progress)
	}
}

// gaugesOfRank returns what shows the requests of a rank, while its engine is awake. Of several
// processes the newest counts, as in the exposed gauge, since the others may have ended.
func (ix *index) gaugesOfRank(m *Model, groups []*group, r rank) (f requestsNow) {
	for _, g := range groups {
		how := engine.Max
		if g.combine == engine.Newest {
			how = engine.Newest
		}
		ofRank, shared := ix.columnsOfRank([]*numbers{&g.value}, r)
		if columns := slices.Concat(ofRank, shared); len(columns) > 0 {
			f.gauges = append(f.gauges, gauge{columns, how})
		}
	}
	for _, g := range m.groups(engine.EngineAwake) {
		ofRank, shared := ix.columnsOfRank([]*numbers{&g.value}, r)
		f.awake = slices.Concat(f.awake, ofRank, shared)
	}
	return f
}

// stageWorks returns the work of each stage behind a router, which goes on with a stream that
// counts as answered.
func (ix *index) stageWorks(m *Model) (works []work) {
	for _, sent := range m.groups(engine.StageRequests) {
		alike := func(g *group) bool { return labels.Equal(g.labels, sent.labels) }
		ended := ix.allColumns(filter(m.groups(engine.StageEnded), alike))
		works = append(works, work{
			key:         fmt.Sprint("stage of ", m.id, sent.labels),
			callee:      ix.callee(m),
			inFlight:    requestsNow{arrived: ix.columnsOf(&sent.value), left: ended},
			minInFlight: 1,
			counted:     true,
			progress:    ended,
		})
	}
	return works
}

// queueWorks returns the works of models with a queue of their own. Steps of an engine are no progress of what has
// left it.
func (ix *index) queueWorks() (works []work) {
	for _, g := range ix.replica.groups(engine.ModelPending) {
		progress := ix.allColumns(g.instance.groups(engine.ModelExecutions))
		steps, follows := ix.steps(g.model), ix.topology.FollowsLLM(g.name)
		if !follows {
			progress = append(progress, steps...)
		}
		works = append(works, work{
			key:         "queue of " + g.name + " " + g.version,
			callee:      ix.calleeOf(g),
			serves:      g.role.Front(),
			apart:       follows,
			minInFlight: 1,
			inFlight:    requestsNow{gauges: []gauge{{ix.columnsOf(&g.value), g.combine}}},
			progress:    progress,
			steps:       steps,
			ends:        []*tally{newTally(ix.allColumns(g.instance.groups(engine.ModelSuccess)))},
		})
		if len(steps) > 0 && !follows && ix.callsForOne(g) {
			alone := works[len(works)-1]
			alone.key, alone.aside = alone.key+" alone", true
			alone.progress = ix.allColumns(g.instance.groups(engine.ModelExecutions))
			works = append(works, alone)
		}
	}
	return works
}

// callsForOne reports whether a part, which is no engine, belongs to one of several entries that share an engine: its
// steps may be for the others.
func (ix *index) callsForOne(part *group) bool {
	entries := part.model.entryGroups(engine.ModelSuccess)
	callers := ix.callersOf(part, entries)
	return part.role == engine.RolePart && !ix.executor(part.name) && len(callers) == 1 && len(entries) > 1
}

// calleeOf returns what clients call the model of a group: the model itself, or of a part the first entry that calls
// it. Several entries of one public model may have the same parts.
func (ix *index) calleeOf(g *group) string {
	called := ix.callee(g.model)
	switch {
	case called != "" && g.role.Front():
		return g.name
	case g.role != engine.RolePart:
		return called
	}
	for _, version := range g.model.versions {
		if _, calls := ix.topology.Place(version.name, g.name); calls {
			return version.name
		}
	}
	return called
}

// newTally returns a tally of counters that count each request once.
func newTally(single []int) *tally { return &tally{single: single, columns: single} }

// rank is a data-parallel rank of a model. Its fields are empty if unknown.
type rank struct{ model, number string }

// ranksOf returns the ranks of groups, sorted.
func (ix *index) ranksOf(groups []*group) []rank {
	all := make(map[rank]bool)
	for _, g := range groups {
		for _, source := range g.value.sources {
			all[ix.building.sources[source].rank()] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b rank) int {
		return cmp.Or(strings.Compare(a.model, b.model), strings.Compare(a.number, b.number))
	})
}

// columnsOfRank returns the columns of a rank, and those that several ranks share.
func (ix *index) columnsOfRank(all []*numbers, wanted rank) (ofRank, shared []int) {
	for _, n := range all {
		for _, source := range n.sources {
			switch r := ix.building.sources[source].rank(); {
			case r.model != wanted.model && r.model != "":
			case r.number == wanted.number:
				ofRank = append(ofRank, ix.column(source))
			case r.number == "":
				shared = append(shared, ix.column(source))
			}
		}
	}
	return ofRank, shared
}
