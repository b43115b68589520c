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
	// longest is how long one request may take before it moves anything, in seconds;
	// nil where something moves all the time. It has no value where that is not
	// known.
	longest Eval
}

// still says whether nothing has moved for some time, with work in flight since
// then.
func (k *work) still(w *Window, since int64, after time.Duration) bool {
	if k.longest != nil {
		v, ok := k.longest(w)
		if !ok || math.IsInf(v, 0) {
			return false
		}
		after = max(after, time.Duration(v*float64(time.Second)))
	}
	seen, last := false, since
	for _, c := range k.moves {
		if w.since[c] != never {
			seen, last = true, max(last, w.changed[c])
		}
	}
	return seen && w.now-last >= int64(after)
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
			open := p.program.gates[p.executorGate(id)]
			all = append(all, func(w *Window) (float64, bool) {
				v, ok := one(w)
				return v, ok && open(w)
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
			inFlight: p.awake(id, of, combine(p.ofRank(flying, of), engine.Sum)),
			moves:    p.movesOf(slices.Concat(p.of(engine.EngineIterations, id), p.tokens(id)), of),
		})
	}
	return works
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
	return works
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
// Nothing may move for as long as the longest request that was seen, and as much
// again for one that is longer. Gauges that are read then too still count the
// request that ended, and are of the past until the next ends.
func (p *Plan) ending(id string) []work {
	longest, ended := p.longestSeen(id), p.moving(id)
	if longest == nil || len(ended) == 0 {
		return nil
	}
	flying := slices.Concat(p.of(engine.RequestsActive, id), p.of(engine.RequestsRunning, id))
	inFlight := most(flying, func(g *group) []int { return p.columnsOf(g.members) })
	const again = 2
	least := 1.0
	if p.quirks.GaugesWhenRequestsEnd {
		least = again
	}
	return []work{{
		key: "ends of " + id, least: least, inFlight: inFlight, moves: p.counted(ended),
		longest: applied(longest, func(v float64) float64 { return again * v }),
	}}
}

// longestSeen is the bound of the last bucket that has any request of the engine,
// nil where there is no histogram.
func (p *Plan) longestSeen(id string) Eval {
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
			if v, there := columns[i](w); ok && there && v >= all {
				return buckets[i].at / divisor, all > 0
			}
		}
		return 0, false
	}
}

// queueing is the work of the models that a server queues for itself: requests
// wait, and none ends for much longer than they take.
func (p *Plan) queueing() []work {
	const much = 3
	var works []work
	for _, g := range p.all(engine.ModelPending) {
		seconds := p.same(engine.ModelRequestSeconds, g)
		if !p.identity.Topology.QueuedByCore(g.model) || p.executor(g.model) || len(seconds) != 1 {
			continue
		}
		works = append(works, work{
			key: "queue of " + g.model + " " + g.version, least: 1, inFlight: p.last(g),
			moves:   p.counted(slices.Concat(p.same(engine.ModelSuccess, g), p.same(engine.ModelFailed, g), p.same(engine.ModelExecutions, g))),
			longest: applied(p.meanOf(seconds[0]), func(v float64) float64 { return much * v }),
		})
	}
	return works
}
