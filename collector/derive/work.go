package derive

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
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
			case g.meaning.Outcome.Again == engine.ClassServer:
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
		all = append(all, taken, waiting)
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
		k := work{key: fmt.Sprint("tokens of ", id, of), least: 1, inFlight: p.awake(id, of, largest(p.ofRank(flying, of))), moves: p.movesOf(p.moving(id), of)}
		if len(k.moves) > 0 {
			works = append(works, k)
		}
	}
	return works
}

// rank is one of the engines behind a model id: of a model, and a data-parallel
// rank of it; empty where the server makes no difference.
type rank struct{ model, number string }

// awake has a value only while an engine does not sleep.
func (p *Plan) awake(id string, of rank, e Eval) Eval {
	states := p.ofRank(p.of(engine.EngineAwake, id), of)
	if len(states) == 0 {
		return e
	}
	awake := largest(states)
	return func(w *Window) (float64, bool) {
		if v, ok := awake(w); ok && v <= 0 {
			return 0, false
		}
		return e(w)
	}
}

// ranks are the ranks of some groups in order.
func (p *Plan) ranks(groups []*group) []rank {
	all := make(map[rank]bool)
	for _, g := range groups {
		for _, m := range g.members {
			all[p.rankOf(m)] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b rank) int {
		return strings.Compare(a.model+"\x00"+a.number, b.model+"\x00"+b.number)
	})
}

// rankOf is the rank that a source is of.
func (p *Plan) rankOf(source int) rank {
	in := &p.sources[source]
	of := rank{model: in.Model}
	if in.meaning.Rank != "" {
		of.number = in.Labels.Get(in.meaning.Rank)
	}
	return of
}

// ofRank are the columns of groups that are of a rank, or of several together.
func (p *Plan) ofRank(groups []*group, wanted rank) []int {
	var columns []int
	for _, g := range groups {
		for _, m := range g.members {
			of := p.rankOf(m)
			if (of.model == wanted.model || of.model == "") && (of.number == wanted.number || of.number == "") {
				columns = append(columns, p.column(m))
			}
		}
	}
	return columns
}

// movesOf are the columns of groups that move with the work of a rank: those of
// its own, if it has any, for what several ranks count together goes on while one
// of them stands still.
func (p *Plan) movesOf(groups []*group, wanted rank) []int {
	if wanted.number != "" {
		var own []int
		for _, g := range groups {
			for _, m := range g.members {
				if of := p.rankOf(m); of.number == wanted.number && (of.model == wanted.model || of.model == "") {
					own = append(own, p.column(m))
				}
			}
		}
		if len(own) > 0 {
			return own
		}
	}
	return p.ofRank(groups, wanted)
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
	inFlight := largest(p.counted(slices.Concat(p.of(engine.RequestsActive, id), p.of(engine.RequestsRunning, id))))
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
