package derive

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// work is something that has requests in flight, and what they move.
type work struct {
	// key finds it on pages of another shape.
	key string
	// inFlight is how many requests are, of which least is the fewest that say
	// something.
	inFlight Eval
	least    float64
	// moves are counters any of which moves with the work.
	moves []int
	// comes are counts that rise when a request comes although the work stands still:
	// of requests that wait, and of those that came and were not answered.
	comes []Eval
	// longest is how long one request may take before it moves anything, in seconds;
	// nil where something moves all the time. It has no value where that is not
	// known.
	longest Eval
	// elsewhere says that a request to the server need not reach this work, as that of
	// one of several ranks.
	elsewhere bool
	// room is above 0 while one more request would run at once; nil where that is not
	// known, or where something moves all the time.
	room Eval
}

// patience is how long nothing may move while the work is in flight, false where that
// is not known.
func (k *work) patience(w *Window, least time.Duration) (time.Duration, bool) {
	if k.longest == nil {
		return least, true
	}
	v, ok := k.longest(w)
	return max(least, time.Duration(v*float64(time.Second))), ok && !math.IsInf(v, 0)
}

// moved is when the work moved last, at the earliest when it began; false where the
// page has nothing that would move.
func (k *work) moved(w *Window, began int64) (last int64, ok bool) {
	last = began
	for _, c := range k.moves {
		if w.since[c] != never {
			ok, last = true, max(last, w.changed[c])
		}
	}
	return last, ok
}

// workInFlight is what was seen of a work since it has been in flight.
type workInFlight struct {
	began    int64
	inFlight float64
	// came are the counts of requests that came, rose is when one of them rose last.
	came []float64
	rose int64
}

// count takes the counts of a page. One that was not there before has not risen.
func (f *workInFlight) count(k *work, w *Window) {
	if len(f.came) != len(k.comes) {
		f.came = slices.Repeat([]float64{math.Inf(1)}, len(k.comes))
	}
	for i, count := range k.comes {
		v, ok := count(w)
		if !ok {
			v = math.Inf(1)
		}
		if ok && v > f.came[i] {
			f.rose = w.now
		}
		f.came[i] = v
	}
}

// observe prepares the judgement of conditions.
func (p *Plan) observe() {
	w := &p.program.watch
	for _, signal := range []engine.Signal{engine.ModelSuccess, engine.RequestsFinished, engine.ModelFailed, engine.RequestsFailed} {
		for _, g := range p.all(signal) {
			switch {
			case !g.role.Front():
			case p.takenOn(g):
			case g.class == engine.ClassOK:
				w.succeeded = append(w.succeeded, p.columnsOf(g.members)...)
			case g.class == engine.ClassServer:
				w.failed = append(w.failed, p.columnsOf(g.members)...)
			case g.meaning.Outcome.Again != "":
				w.refused = append(w.refused, p.columnsOf(g.members)...)
			}
		}
	}
	for _, id := range p.ids(anyOf(engine.RequestsActive, engine.RequestsRunning)) {
		switch {
		case len(p.of(engine.EngineIterations, id)) > 0:
			w.works = append(w.works, p.iterating(id)...)
		case p.quirks.GaugesWhenRequestsEnd:
			w.works = append(w.works, p.ending(id)...)
		default:
			works := p.generating(id)
			if len(works) == 0 {
				// What counts requests in flight is in front of the engine, of which
				// something moves only when a request ends.
				works = p.ending(id)
			}
			w.works = append(w.works, works...)
		}
	}
	w.works = append(w.works, p.queueing()...)
	for _, id := range p.ids(anyOf(engine.RequestsWaiting, engine.ModelPending)) {
		for _, e := range []Eval{p.total(engine.RequestsWaiting, id), p.pending(id)} {
			if e != nil {
				w.waits = append(w.waits, e)
			}
		}
	}
	w.inFlight = p.inFlight()
}

// inFlight is how many requests the server has; nil where its gauges are not
// read while they run.
func (p *Plan) inFlight() Eval {
	if p.quirks.GaugesWhenRequestsEnd {
		return nil
	}
	var all []Eval
	for _, id := range p.ids(anyOf(engine.RequestsActive, engine.RequestsRunning)) {
		taken, waiting := p.total(engine.RequestsActive, id), p.total(engine.RequestsWaiting, id)
		if taken == nil {
			taken = p.total(engine.RequestsRunning, id)
		}
		if p.quirks.ActiveHoldsWaiting {
			waiting = nil
		}
		if one := add(taken, waiting); one != nil {
			gate := p.executorGate(id)
			all = append(all, func(w *Window) (float64, bool) {
				v, ok := one(w)
				return v, ok && gate.open(w)
			})
		}
	}
	return add(all...)
}

// iterating is the work of an executor that counts its iterations, of each of its
// ranks.
func (p *Plan) iterating(id string) []work {
	flying := slices.Concat(p.of(engine.RequestsActive, id), p.of(engine.RequestsRunning, id))
	var works []work
	for _, of := range p.ranks(flying) {
		works = append(works, work{
			key: fmt.Sprint("iterations of ", id, of), least: 1,
			comes:    []Eval{combine(p.ofRank(p.of(engine.RequestsWaiting, id), of), engine.Sum)},
			inFlight: p.awake(id, of, combine(p.ofRank(flying, of), engine.Sum)),
			moves:    p.movesOf(slices.Concat(p.of(engine.EngineIterations, id), p.tokens(id)), of),
		})
	}
	return p.coming(id, works)
}

// coming adds to the works of an engine what shows that requests come. Of one of
// several ranks it is what is in flight there, for others get requests too.
func (p *Plan) coming(id string, works []work) []work {
	if len(works) == 1 {
		works[0].comes = append(works[0].comes, p.unanswered(id)...)
	}
	for i := range works {
		works[i].elsewhere = len(works) > 1
		works[i].comes = append(works[i].comes, works[i].inFlight)
	}
	return works
}

// unanswered are counts of requests that came and were not answered: started ones less
// those that ended, and, of a server that counts by model, what models count that take
// requests before the engine does, or hand them over to it.
func (p *Plan) unanswered(id string) (all []Eval) {
	ended := slices.Concat(p.of(engine.RequestsFinished, id), p.of(engine.RequestsFailed, id), p.of(engine.RequestsAborted, id))
	if started := p.counted(p.of(engine.RequestsStarted, id)); len(started) > 0 {
		all = append(all, p.without(started, p.counted(ended)))
	}
	answered := p.counted(slices.Concat(p.front(engine.ModelFailed, id), selected(p.front(engine.ModelSuccess, id), func(g *group) bool { return p.trusted(g.model) })))
	for _, g := range p.of(engine.ModelSuccess, id) {
		if p.handsOver(g.model) || g.role == engine.RolePart && !p.identity.Topology.FollowsLLM(g.model) {
			all = append(all, p.without(p.columnsOf(g.members), answered))
		}
	}
	return all
}

// without is what some counters count together and others do not.
func (*Plan) without(some, others []int) Eval {
	return func(w *Window) (float64, bool) { return w.sumOf(some) - w.sumOf(others), true }
}

// tokens are the counters of tokens of an engine. What reads its iterations may
// stop while it goes on.
func (p *Plan) tokens(id string) []*group {
	return slices.Concat(
		p.of(engine.GenerationTokensLive, id), p.of(engine.PromptTokensLive, id),
		p.of(engine.GenerationTokens, id), p.of(engine.PromptTokens, id),
	)
}

// moving are the signals of an engine that move while it works: tokens, and
// requests that end otherwise than by their client.
func (p *Plan) moving(id string) []*group {
	all := p.tokens(id)
	for _, signal := range []engine.Signal{engine.RequestsFinished, engine.RequestsFailed} {
		all = append(all, selected(p.of(signal, id), func(g *group) bool {
			return g.class == engine.ClassOK || g.class == engine.ClassServer
		})...)
	}
	return all
}

// generating is the work of an engine whose tokens move while it works, of each
// of its ranks: one that stands still is hidden by the tokens of the others.
func (p *Plan) generating(id string) []work {
	flying := slices.Concat(p.of(engine.RequestsActive, id), p.of(engine.RequestsRunning, id), p.of(engine.RequestsWaiting, id))
	var works []work
	for _, of := range p.ranks(flying) {
		inFlight := most(flying, func(g *group) []int { return p.ofRank([]*group{g}, of) })
		k := work{key: fmt.Sprint("tokens of ", id, of), least: 1, inFlight: p.awake(id, of, inFlight), moves: p.movesOf(p.moving(id), of)}
		if len(k.moves) > 0 {
			works = append(works, k)
		}
	}
	return p.coming(id, works)
}

// most is the largest value of some columns of groups that is there. Of processes
// the newest counts, as in what is shown: the others may be gone.
func most(groups []*group, of func(g *group) []int) Eval {
	var single []int
	var all []Eval
	for _, g := range groups {
		if g.meaning.Combine == engine.Newest {
			all = append(all, newest(of(g)))
		} else {
			single = append(single, of(g)...)
		}
	}
	all = append(all, largest(single))
	return func(w *Window) (float64, bool) {
		value, some := math.Inf(-1), false
		for _, e := range all {
			if v, ok := e(w); ok {
				value, some = max(value, v), true
			}
		}
		return value, some
	}
}

// ending is the work of an engine that shows something only when a request ends.
// Nothing may move for as long as nearly all requests took that were seen, and as
// much again. Gauges that are read then too still count the request that ended, and
// are of the past until the next ends. Requests that come say nothing there, but for
// those that wait: two long ones may run.
func (p *Plan) ending(id string) []work {
	longest, ended := p.longestSeen(id), p.moving(id)
	if longest == nil || len(ended) == 0 {
		return nil
	}
	const again = 2
	k := work{
		key: "ends of " + id, least: 1, moves: p.counted(ended),
		inFlight: most(slices.Concat(p.of(engine.RequestsActive, id), p.of(engine.RequestsRunning, id)), func(g *group) []int { return p.columnsOf(g.members) }),
		longest:  applied(longest, func(v float64) float64 { return again * v }),
		room:     excess(requestsLimit().of(p, id), admitted().of(p, id)),
	}
	if waits := p.total(engine.RequestsWaiting, id); waits != nil {
		k.comes = []Eval{waits}
	}
	if p.quirks.GaugesWhenRequestsEnd {
		k.least = again
	}
	return []work{k}
}

// longestSeen is the bound of the bucket within which nearly all requests of the
// engine ended, nil where there is no histogram.
func (p *Plan) longestSeen(id string) Eval {
	const nearly = 0.99
	groups := p.of(engine.RequestDuration, id)
	if len(groups) != 1 || !groups[0].complete() {
		return nil
	}
	buckets, divisor := groups[0].buckets, math.Pow10(groups[0].meaning.Shift)
	columns := make([]Eval, len(buckets))
	for i, b := range buckets {
		columns[i] = combine(p.columnsOf(b.members), engine.Sum)
	}
	return func(w *Window) (float64, bool) {
		all, ok := columns[len(columns)-1](w)
		for i := range columns {
			if v, there := columns[i](w); ok && there && v >= nearly*all {
				return buckets[i].at / divisor, all > 0
			}
		}
		return 0, false
	}
}

// queueing is the work of the models that a server queues for itself: requests
// wait, and none ends for much longer than they take. A model that hands its
// requests over takes them from the queue at once, whatever they take.
func (p *Plan) queueing() []work {
	const much = 3
	var works []work
	for _, g := range p.all(engine.ModelPending) {
		if p.identity.Topology.FollowsLLM(g.model) {
			continue
		}
		k := work{
			key: "queue of " + g.model + " " + g.version, least: 1, inFlight: p.last(g), comes: []Eval{p.last(g)},
			moves: p.counted(slices.Concat(p.same(engine.ModelSuccess, g), p.same(engine.ModelFailed, g), p.same(engine.ModelExecutions, g),
				p.of(engine.EngineIterations, g.id), p.tokens(g.id))),
		}
		if seconds := p.same(engine.ModelRequestSeconds, g); len(seconds) == 1 {
			mean := p.meanOf(seconds[0])
			k.longest = func(w *Window) (float64, bool) {
				v, _ := mean(w) // 0 while none has ended.
				return much * v, true
			}
		}
		works = append(works, k)
	}
	return works
}
