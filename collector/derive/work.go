package derive

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// work is a part of a server that has requests in flight, and what shows their progress.
type work struct {
	// key identifies the work on pages of all shapes.
	key string
	// inFlight is the number of its requests, minInFlight the smallest number that is significant.
	inFlight    Eval
	minInFlight float64
	// counted is true if inFlight is a difference of counters, which may never return to 0.
	counted bool
	// progress holds counters. If any of them moves, the work makes progress.
	progress []int
	// arrivals rise when a request arrives even while the work stands still: waiting requests,
	// and requests that arrived and were not answered.
	arrivals []Eval
	// maxDuration is how many seconds a request may take before it shows progress. It is nil if
	// progress shows all the time, and has no value while unknown.
	maxDuration Eval
	// deferred is above 0 while all requests may wait for another server; nil if they never do.
	deferred Eval
	// bypassable is true if requests may not reach this work, since it is one of several ranks.
	bypassable bool
	// free is above 0 while another request would run at once; nil if unknown.
	free Eval
}

// patience returns how long the work may make no progress. It reports false if that is unknown.
func (k *work) patience(w *Window, minimum time.Duration) (time.Duration, bool) {
	v, ok := valueOf(k.maxDuration, w)
	return max(minimum, time.Duration(v*float64(time.Second))), k.maxDuration == nil || ok && !math.IsInf(v, 0)
}

// lastProgress returns when the work last made progress, false if the page does not show it.
func (k *work) lastProgress(w *Window, began int64) (last int64, ok bool) {
	last = began
	for _, c := range k.progress {
		if w.since[c] != never {
			ok, last = true, max(last, w.changed[c])
		}
	}
	return last, ok
}

type workState struct {
	// stale is how many requests the gauges show although they are not in flight.
	stale float64
	// active is true while requests are in flight, since began. The fields below begin then too.
	active   bool
	began    int64
	inFlight float64
	// arrivals holds the newest counts of arrivals, lastArrival is when one of them last rose.
	arrivals    []float64
	lastArrival int64
}

// countArrivals updates the counts of arrivals. A count that was absent before has not risen.
func (s *workState) countArrivals(k *work, w *Window) {
	if len(s.arrivals) != len(k.arrivals) {
		s.arrivals = slices.Repeat([]float64{math.Inf(1)}, len(k.arrivals))
	}
	for i, count := range k.arrivals {
		v, ok := valueOf(count, w)
		if !ok {
			v = math.Inf(1)
		}
		if ok && v > s.arrivals[i] {
			s.lastArrival = w.now
		}
		s.arrivals[i] = v
	}
}

func (p *Plan) watchConditions() {
	w := &p.program.watch
	for _, signal := range []engine.Signal{engine.ModelSuccess, engine.RequestsFinished, engine.ModelFailed, engine.RequestsFailed} {
		for _, g := range p.groups[signal] {
			switch {
			case !g.role.Front():
			case p.countsAcceptance(g):
			case g.class == engine.ClassOK:
				w.succeeded = append(w.succeeded, p.columnsOf(g.members)...)
			case g.class == engine.ClassServer:
				w.failed = append(w.failed, p.columnsOf(g.members)...)
			case g.meaning.Outcome.Again != "":
				w.refused = append(w.refused, p.columnsOf(g.members)...)
			}
		}
	}
	for _, id := range p.ids(anyOf(engine.RequestsActive, engine.RequestsRunning, engine.RequestsStarted)) {
		w.works = append(w.works, p.works(id)...)
	}
	w.works = append(w.works, p.queueWorks()...)
	for _, id := range p.ids(anyOf(engine.RequestsWaiting, engine.ModelPending)) {
		w.waits = append(w.waits, p.total(engine.RequestsWaiting, id), p.pending(id))
	}
	w.inFlight = p.requestsInFlight()
}

func (p *Plan) works(id string) []work {
	if iterations := p.groupsOf(engine.EngineIterations, id); len(iterations) > 0 {
		return p.steadyWorks("iterations of ", id, slices.Concat(iterations, p.tokenCounters(id)))
	}
	if !p.quirks.GaugesWhenRequestsEnd {
		if works := p.steadyWorks("tokens of ", id, p.progressCounters(id)); len(works) > 0 {
			return works
		}
		// The gauge belongs to something in front of the engine, which moves when a request ends.
	}
	return p.requestWorks(id)
}

// requestsInFlight returns the number of requests in flight. It returns nil if the gauges are not
// updated while requests run.
func (p *Plan) requestsInFlight() Eval {
	if p.quirks.GaugesWhenRequestsEnd {
		return nil
	}
	var all []Eval
	for _, id := range p.ids(anyOf(engine.RequestsActive, engine.RequestsRunning)) {
		requests, gate := admitted().eval(p, id), p.executorGate(id)
		if !p.quirks.ActiveHoldsWaiting {
			requests = p.demand(id)
		}
		all = append(all, func(w *Window) (float64, bool) {
			v, ok := requests(w)
			return v, ok && gate.open(w)
		})
	}
	return add(all...)
}

// unanswered returns counts of requests that arrived and were not answered: started requests and
// requests of models in front of the engine, minus ended ones.
func (p *Plan) unanswered(id string) (all []Eval) {
	ended := slices.Concat(p.groupsOf(engine.RequestsFinished, id), p.groupsOf(engine.RequestsFailed, id), p.groupsOf(engine.RequestsAborted, id))
	if started := p.groupColumns(p.groupsOf(engine.RequestsStarted, id)); len(started) > 0 {
		all = append(all, difference(started, p.groupColumns(ended)))
	}
	answered := p.groupColumns(slices.Concat(p.entryGroups(engine.ModelFailed, id), filter(p.entryGroups(engine.ModelSuccess, id), func(g *group) bool { return p.trusted(g.model) })))
	for _, g := range p.groupsOf(engine.ModelSuccess, id) {
		if p.handsOver(g.model) || g.role == engine.RolePart && !p.identity.Topology.FollowsLLM(g.model) {
			all = append(all, difference(p.columnsOf(g.members), answered))
		}
	}
	return all
}

// difference returns the sum of minuends minus the sum of subtrahends; absent counters are 0.
func difference(minuends, subtrahends []int) Eval {
	sum := func(w *Window, columns []int) (sum float64) {
		for _, c := range columns {
			if v, ok := w.Last(c); ok {
				sum += v
			}
		}
		return sum
	}
	return func(w *Window) (float64, bool) { return sum(w, minuends) - sum(w, subtrahends), true }
}

// tokenCounters returns the token counters of an engine, whose iterations may stop being read.
func (p *Plan) tokenCounters(id string) []*group {
	return slices.Concat(
		p.groupsOf(engine.GenerationTokensLive, id), p.groupsOf(engine.PromptTokensLive, id),
		p.groupsOf(engine.GenerationTokens, id), p.groupsOf(engine.PromptTokens, id),
	)
}

// progressCounters returns counters that move while an engine works: tokens, ended requests.
func (p *Plan) progressCounters(id string) []*group {
	all := p.tokenCounters(id)
	for _, signal := range []engine.Signal{engine.RequestsFinished, engine.RequestsFailed} {
		all = append(all, filter(p.groupsOf(signal, id), func(g *group) bool {
			return g.class == engine.ClassOK || g.class == engine.ClassServer
		})...)
	}
	return all
}

// steadyWorks returns the work of each rank of an engine that counts steps or tokens while it has
// requests, even if all of them wait. In the sum of all ranks, the others would hide a rank that
// stands still. Only its own gauges show that requests arrive at it.
func (p *Plan) steadyWorks(prefix, id string, progress []*group) (works []work) {
	running := slices.Concat(p.groupsOf(engine.RequestsActive, id), p.groupsOf(engine.RequestsRunning, id))
	waiting, deferred := p.groupsOf(engine.RequestsWaiting, id), p.groupsOf(engine.RequestsDeferred, id)
	gauges := slices.Concat(running, waiting, deferred)
	ranks, longest := p.ranks(gauges), Eval(nil)
	if p.quirks.TokensWhenRequestsEnd { // Otherwise progress shows all the time.
		longest = p.twiceLongestRequest(id)
	}
	for _, r := range ranks {
		ofRank := func(groups []*group) Eval {
			return largestOf(groups, func(g *group) []int { return p.rankColumns([]*group{g}, r) })
		}
		inFlight := p.whileAwake(id, r, ofRank(gauges))
		moves, shared := p.columnsOfRank(progress, r)
		if len(moves) == 0 || r.number == "" {
			moves = append(moves, shared...) // Shared counters keep moving while one rank stands still.
		}
		if len(moves) > 0 {
			works = append(works, work{
				key: fmt.Sprint(prefix, id, r), minInFlight: 1, inFlight: inFlight, progress: moves, bypassable: len(ranks) > 1,
				arrivals:    []Eval{combine(p.rankColumns(waiting, r), engine.Sum), inFlight},
				maxDuration: longest, free: transform(p.total(engine.RequestsWaiting, id), func(v float64) float64 { return flag(v <= 0) }),
				deferred: pairwise(ofRank(deferred), ofRank(running), func(waits, runs float64) float64 { return flag(waits > 0 && runs <= 0) }),
			})
		}
	}
	if len(works) == 1 {
		works[0].arrivals = append(works[0].arrivals, p.unanswered(id)...)
	}
	return works
}

// largestOf returns the largest value of the columns of groups. Of several processes the newest
// counts, as in the exposed gauge, since the others may have ended.
func largestOf(groups []*group, columns func(g *group) []int) Eval {
	var all []Eval
	for _, g := range groups {
		if g.meaning.Combine == engine.Newest {
			all = append(all, newest(columns(g)))
		} else {
			all = append(all, largest(columns(g)))
		}
	}
	return maximum(all)
}

// requestWorks returns the work of an engine that shows progress only when a request ends. It may
// stand still for twice as long as nearly all requests took. Gauges that are updated only then
// still count the ended request; without gauges, requests that arrived since and were not
// answered count. New requests are significant only if they wait, since two long ones may run.
func (p *Plan) requestWorks(id string) []work {
	longest, ended := p.twiceLongestRequest(id), p.progressCounters(id)
	if longest == nil || len(ended) == 0 {
		return nil
	}
	inFlight, gauges := p.unanswered(id), slices.Concat(p.groupsOf(engine.RequestsActive, id), p.groupsOf(engine.RequestsRunning, id))
	if len(gauges) > 0 {
		inFlight = []Eval{largestOf(gauges, func(g *group) []int { return p.columnsOf(g.members) })}
	}
	k := work{
		key: "ends of " + id, inFlight: maximum(inFlight), minInFlight: 1, counted: len(gauges) == 0, progress: p.groupColumns(ended),
		arrivals:    []Eval{p.total(engine.RequestsWaiting, id)},
		maxDuration: longest,
		free:        excess(requestsLimit().eval(p, id), admitted().eval(p, id)),
	}
	if p.quirks.GaugesWhenRequestsEnd {
		k.minInFlight = 2
	}
	return append(p.stageWorks(id, longest), k)
}

// stageWorks returns the work of each stage behind a router, which goes on with a stream that
// counts as answered.
func (p *Plan) stageWorks(id string, longest Eval) (works []work) {
	for _, sent := range p.groupsOf(engine.StageRequests, id) {
		ended := p.groupColumns(filter(p.groupsOf(engine.StageEnded, id), func(g *group) bool { return labels.Equal(g.labels, sent.labels) }))
		works = append(works, work{
			key: fmt.Sprint("stage of ", id, sent.labels), inFlight: difference(p.columnsOf(sent.members), ended), minInFlight: 1,
			counted: true, progress: ended, maxDuration: longest,
		})
	}
	return works
}

// twiceLongestRequest returns twice the bound within which nearly all requests ended, or nil.
func (p *Plan) twiceLongestRequest(id string) Eval {
	const nearly = 0.99
	groups := p.groupsOf(engine.RequestDuration, id)
	if len(groups) == 0 {
		groups = p.groupsOf(engine.RequestDecode, id)
	}
	if len(groups) != 1 || !groups[0].complete() {
		return nil
	}
	buckets := groups[0].buckets
	columns := make([]Eval, len(buckets))
	for i, b := range buckets {
		columns[i] = combine(p.columnsOf(b.members), engine.Sum)
	}
	return func(w *Window) (float64, bool) {
		all, ok := columns[len(columns)-1](w)
		for i := range columns {
			if v, present := columns[i](w); ok && present && v >= nearly*all {
				return 2 * buckets[i].bound, all > 0
			}
		}
		return 0, false
	}
}

// queueWorks returns the works of models with a queue of their own: requests wait, and none ends
// for three times as long as they take.
func (p *Plan) queueWorks() []work {
	var works []work
	for _, g := range p.groups[engine.ModelPending] {
		if p.identity.Topology.FollowsLLM(g.model) {
			continue
		}
		k := work{
			key: "queue of " + g.model + " " + g.version, minInFlight: 1, inFlight: p.value(g), arrivals: []Eval{p.value(g)},
			progress: p.groupColumns(slices.Concat(p.sameModel(engine.ModelSuccess, g), p.sameModel(engine.ModelFailed, g), p.sameModel(engine.ModelExecutions, g),
				p.groupsOf(engine.EngineIterations, g.id), p.tokenCounters(g.id))),
		}
		if seconds := p.sameModel(engine.ModelRequestSeconds, g); len(seconds) == 1 {
			mean := p.meanOf(seconds[0])
			k.maxDuration = func(w *Window) (float64, bool) {
				v, _ := mean(w) // It is 0 before any has ended.
				return 3 * v, true
			}
		}
		works = append(works, k)
	}
	return works
}

// rank is a data-parallel rank of a model. Its fields are empty if unknown.
type rank struct{ model, number string }

// whileAwake returns e, without a value while the rank's engine sleeps.
func (p *Plan) whileAwake(id string, r rank, e Eval) Eval {
	awake := largest(p.rankColumns(p.groupsOf(engine.EngineAwake, id), r))
	return func(w *Window) (float64, bool) {
		if v, ok := awake(w); ok && v <= 0 {
			return 0, false
		}
		return e(w)
	}
}

func (p *Plan) ranks(groups []*group) []rank {
	all := make(map[rank]bool)
	for _, g := range groups {
		for _, m := range g.members {
			all[p.rankOf(m)] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b rank) int {
		return cmp.Or(strings.Compare(a.model, b.model), strings.Compare(a.number, b.number))
	})
}

func (p *Plan) rankOf(source int) rank {
	in := &p.sources[source]
	return rank{in.Model, in.Labels.Get(in.meaning.Rank)}
}

// rankColumns returns the columns of a rank, including columns that several ranks share.
func (p *Plan) rankColumns(groups []*group, r rank) []int {
	ofRank, shared := p.columnsOfRank(groups, r)
	return slices.Concat(ofRank, shared)
}

func (p *Plan) columnsOfRank(groups []*group, wanted rank) (ofRank, shared []int) {
	for _, g := range groups {
		for _, m := range g.members {
			switch r := p.rankOf(m); {
			case r.model != wanted.model && r.model != "":
			case r.number == wanted.number:
				ofRank = append(ofRank, p.column(m))
			case r.number == "":
				shared = append(shared, p.column(m))
			}
		}
	}
	return ofRank, shared
}
