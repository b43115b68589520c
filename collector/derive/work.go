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

// work is a part of a server that has requests in flight, and what they move.
type work struct {
	// key identifies it on pages of other shapes.
	key string
	// inFlight is how many requests it has, minInFlight the fewest that mean anything.
	inFlight    Eval
	minInFlight float64
	// counted reports that inFlight may never be 0 again, as a difference of counters.
	counted bool
	// progress holds counters any of which moves with the work.
	progress []int
	// arrivals rise when a request arrives although the work stands still: requests
	// that wait, and those that arrived and were not answered.
	arrivals []Eval
	// maxDuration is how many seconds a request may take before it moves anything. It
	// is nil if something moves all the time, and has no value while it is unknown.
	maxDuration Eval
	// deferred is above 0 while all requests may wait for another server; nil if none does.
	deferred Eval
	// bypassable reports that a request need not reach this work, as one of several ranks.
	bypassable bool
	// free is above 0 while one more request would run at once, or nil if that is unknown.
	free Eval
}

// patience returns how long nothing may move, or false if that is unknown.
func (k *work) patience(w *Window, minimum time.Duration) (time.Duration, bool) {
	v, ok := valueOf(k.maxDuration, w)
	return max(minimum, time.Duration(v*float64(time.Second))), k.maxDuration == nil || ok && !math.IsInf(v, 0)
}

// lastProgress returns when the work moved last, or false if the page shows no progress.
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
	// stale is how many requests are not in flight, whatever the gauges show.
	stale float64
	// active reports that requests are in flight; the rest is since that began.
	active   bool
	began    int64
	inFlight float64
	// arrivals holds the newest counts of arrivals, lastArrival when one of them rose.
	arrivals    []float64
	lastArrival int64
}

// countArrivals takes the counts of a page. One that was absent before has not risen.
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
		// The gauge is of something in front of the engine, which moves when a request ends.
	}
	return p.requestWorks(id)
}

// requestsInFlight is nil if the gauges are not updated while requests run.
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

// unanswered returns counts of requests that arrived and were not answered: started ones,
// and those of models in front of the engine, less those that ended.
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

// difference returns what some counters count more than others; absent ones are 0.
func difference(some, others []int) Eval {
	sum := func(w *Window, columns []int) (sum float64) {
		for _, c := range columns {
			if v, ok := w.Last(c); ok {
				sum += v
			}
		}
		return sum
	}
	return func(w *Window) (float64, bool) { return sum(w, some) - sum(w, others), true }
}

// tokenCounters returns an engine's tokens: its iterations may stop being read.
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

// steadyWorks returns the work of each rank of an engine that counts steps or tokens while it
// has requests, even if all wait: a rank that stands still is hidden by those of the others.
// Only its own gauges show that requests arrive at it, since others get requests too.
func (p *Plan) steadyWorks(what, id string, progress []*group) (works []work) {
	running := slices.Concat(p.groupsOf(engine.RequestsActive, id), p.groupsOf(engine.RequestsRunning, id))
	waiting, deferred := p.groupsOf(engine.RequestsWaiting, id), p.groupsOf(engine.RequestsDeferred, id)
	gauges := slices.Concat(running, waiting, deferred)
	ranks, longest := p.ranks(gauges), Eval(nil)
	if p.quirks.TokensWhenRequestsEnd { // Otherwise something moves all the time.
		longest = p.twiceLongestRequest(id)
	}
	for _, r := range ranks {
		most := func(groups []*group) Eval {
			return largestOf(groups, func(g *group) []int { return p.rankColumns([]*group{g}, r) })
		}
		inFlight := p.whileAwake(id, r, most(gauges))
		moves, shared := p.columnsOfRank(progress, r)
		if len(moves) == 0 || r.number == "" {
			moves = append(moves, shared...) // What ranks count together goes on while one stands still.
		}
		if len(moves) > 0 {
			works = append(works, work{
				key: fmt.Sprint(what, id, r), minInFlight: 1, inFlight: inFlight, progress: moves, bypassable: len(ranks) > 1,
				arrivals:    []Eval{combine(p.rankColumns(waiting, r), engine.Sum), inFlight},
				maxDuration: longest, free: transform(p.total(engine.RequestsWaiting, id), func(v float64) float64 { return flag(v <= 0) }),
				deferred: pairwise(most(deferred), most(running), func(waits, runs float64) float64 { return flag(waits > 0 && runs <= 0) }),
			})
		}
	}
	if len(works) == 1 {
		works[0].arrivals = append(works[0].arrivals, p.unanswered(id)...)
	}
	return works
}

// largestOf returns the largest value of columns of groups. Among processes the newest
// counts, as in the exposed gauge: the others may have ended.
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

// requestWorks returns the work of an engine that shows something only when a request
// ends. Nothing may move for twice as long as nearly all requests took. Gauges updated then
// too still count the request that ended; without gauges, what arrived since and was not
// answered counts. New requests mean nothing unless they wait: two long ones may run.
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
			if v, there := columns[i](w); ok && there && v >= nearly*all {
				return 2 * buckets[i].bound, all > 0
			}
		}
		return 0, false
	}
}

// queueWorks returns the works of models that a server queues for itself: requests
// wait, and none ends for three times as long as they take.
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
				v, _ := mean(w) // 0 while none has ended.
				return 3 * v, true
			}
		}
		works = append(works, k)
	}
	return works
}

// rank is a data-parallel rank of a model; its fields are empty if unknown.
type rank struct{ model, number string }

// whileAwake returns a value that is absent while a rank's engine sleeps.
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

// rankColumns returns the columns that belong to a rank, or to several together.
func (p *Plan) rankColumns(groups []*group, wanted rank) []int {
	own, shared := p.columnsOfRank(groups, wanted)
	return slices.Concat(own, shared)
}

func (p *Plan) columnsOfRank(groups []*group, wanted rank) (own, shared []int) {
	for _, g := range groups {
		for _, m := range g.members {
			switch r := p.rankOf(m); {
			case r.model != wanted.model && r.model != "":
			case r.number == wanted.number:
				own = append(own, p.column(m))
			case r.number == "":
				shared = append(shared, p.column(m))
			}
		}
	}
	return own, shared
}
