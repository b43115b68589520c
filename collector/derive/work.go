package derive

import (
	"cmp"
	"fmt"
	"maps"
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
	// counted is true if inFlight is a difference of counters, which may never return to 0: what
	// it showed at the last progress is over.
	counted bool
	// progress holds counters of steps, and ends the requests that ended well. If any of them
	// moves, the work makes progress. Failures are none.
	progress []int
	ends     []*tally
	// countersAppear is true if absent counters are 0.
	countersAppear bool
	// serves is true if its progress is that of requests which may end well, false for a part of
	// what every request passes.
	serves bool
}

type workState struct {
	// over is how many requests a difference of counters shows although they are not in flight,
	// since it was first seen.
	over float64
	seen bool
	// active is true while requests are in flight, since began. Progressed is when something moved
	// last since then.
	active            bool
	began, progressed int64
	inFlight          float64
	// ours is how many of its requests may be the exporter's own: none of those that were in flight
	// before these were sent, and of which nothing has moved since.
	ours float64
	// left is true if its requests are gone, and none of them ended.
	left bool
}

func (d *Deriver) watchWork() {
	w := d.window
	for i := range d.program.watch.works {
		k := &d.program.watch.works[i]
		s := d.works[k.key]
		moved := k.moves(w)
		v, ok := k.inFlight(w)
		if ok && k.counted && (moved || v < s.over || !s.seen) {
			s.seen, s.over = true, v
		} else if k.counted {
			s.over += d.own.dropped
		}
		// What may be an answer to the exporter's own request is no progress of work that stands still.
		mayBeOurs := d.own.onPage && s.stands(d) && !k.endsMore(w, d.own.mayEnd)
		progress := moved && !mayBeOurs
		if s.active && !progress {
			s.ours = min(s.ours, d.own.inFlight)
		} else {
			s.ours = d.own.inFlight
		}
		inFlight := v - s.over - s.ours
		gone := !ok || inFlight < k.minInFlight || !k.showsProgress(w)
		switch s.left = gone && !moved && d.convicted && w.restarted != w.now && s.stands(d); {
		case s.left:
			continue
		case gone:
			*s = workState{seen: s.seen, over: s.over}
			continue
		case !s.active || s.began > w.now:
			*s = workState{seen: s.seen, over: s.over, active: true, began: w.now, progressed: w.now, ours: s.ours}
		}
		s.inFlight = v - s.over
		if progress {
			s.progressed = w.now
		}
	}
}

// moves reports whether the newest page shows progress.
func (k *work) moves(w *Window) bool {
	ended := func(t *tally) bool { return t.growth(w) > 0 }
	return slices.ContainsFunc(k.progress, w.moved) || slices.ContainsFunc(k.ends, ended)
}

// endsMore reports whether more than so many requests ended well on the newest page.
func (k *work) endsMore(w *Window, n float64) bool {
	return slices.ContainsFunc(k.ends, func(t *tally) bool { return t.growth(w) > n })
}

// showsProgress reports whether the page would show progress.
func (k *work) showsProgress(w *Window) bool {
	present := func(c int) bool { return w.since[c] != never }
	ended := func(t *tally) bool { return slices.ContainsFunc(t.columns(), present) }
	return k.countersAppear || slices.ContainsFunc(k.progress, present) || slices.ContainsFunc(k.ends, ended)
}

// stands reports whether the work made no progress for as long as is needed to say so.
func (s *workState) stands(d *Deriver) bool {
	patience := cmp.Or(d.opts.StallAfter, DefaultStallAfter)
	return s.active && time.Duration(d.window.now-s.progressed) >= patience
}

// still returns the work that stands still for the longest time.
func (d *Deriver) still() (worst Stillness) {
	moves := false
	for i := range d.program.watch.works {
		k := &d.program.watch.works[i]
		switch s := d.works[k.key]; {
		case !s.stands(d):
			moves = moves || k.serves && s.active && s.progressed > s.began
		case worst.InFlight == 0 || time.Duration(s.progressed) < worst.Since:
			worst = Stillness{InFlight: s.inFlight, Since: time.Duration(s.progressed), Left: s.left}
		}
	}
	worst.Partly = worst.InFlight > 0 && moves
	return worst
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

// works returns the work of an engine: that of its ranks, the requests that arrived and were not
// answered, and those of each stage behind a router.
func (p *Plan) works(id string) []work {
	works := p.rankWorks(id)
	works = append(works, p.stageWorks(id)...)
	progress, ends := p.progress(id)
	for i, arrivals := range p.arrivals(id) {
		arrivals.key = fmt.Sprint("arrivals ", i, " of ", id)
		arrivals.minInFlight = 1
		arrivals.progress, arrivals.ends = p.groupColumns(progress), ends
		arrivals.countersAppear = p.quirks.CountersAppear
		works = append(works, arrivals)
	}
	return works
}

// arrivals returns the requests that arrived at a server and were not answered, whatever the
// gauges of its engine show: an engine that hangs while idle goes on showing 0. Of models that do
// not count how their requests end nobody knows which were answered.
func (p *Plan) arrivals(id string) (all []work) {
	if open := p.groupsOf(engine.RequestsOpen, id); len(open) > 0 {
		return []work{{inFlight: combine(p.groupColumns(open), engine.Sum)}}
	}
	ended := slices.Concat(
		p.groupsOf(engine.RequestsFinished, id), p.groupsOf(engine.RequestsFailed, id), p.groupsOf(engine.RequestsAborted, id),
	)
	if started := p.groupColumns(p.groupsOf(engine.RequestsStarted, id)); len(started) > 0 {
		all = append(all, work{inFlight: difference(started, p.groupColumns(ended)), counted: true})
	}
	answered := p.entryGroups(engine.ModelFailed, id)
	for _, g := range p.entryGroups(engine.ModelSuccess, id) {
		if p.trusted(g.model) && !p.countsAcceptance(g) {
			answered = append(answered, g)
		}
	}
	for _, g := range p.groupsOf(engine.ModelSuccess, id) {
		switch {
		case p.countsAcceptance(g):
			all = append(all, work{inFlight: difference(p.columnsOf(g.members), p.groupColumns(ended)), counted: true})
		case g.role == engine.RolePart && !p.identity.Topology.FollowsLLM(g.model) && len(answered) > 0:
			all = append(all, work{inFlight: difference(p.columnsOf(g.members), p.groupColumns(answered)), counted: true})
		}
	}
	return all
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

// stepSignals returns the signals of iterations and tokens, which may stop being read.
func stepSignals() []engine.Signal {
	return []engine.Signal{
		engine.EngineIterations, engine.GenerationTokensLive, engine.PromptTokensLive,
		engine.GenerationTokens, engine.PromptTokens,
	}
}

// steps returns the counters of iterations and tokens of an engine.
func (p *Plan) steps(id string) []*group {
	return stepsOf(func(signal engine.Signal) []*group { return p.groupsOf(signal, id) })
}

// stepsOf returns the counters of iterations and tokens among the groups of signals. Of latencies it
// is how many were observed, each that of a token.
func stepsOf(groups func(engine.Signal) []*group) (all []*group) {
	for _, signal := range stepSignals() {
		all = append(all, groups(signal)...)
	}
	for _, signal := range []engine.Signal{engine.FirstToken, engine.InterToken} {
		for _, g := range groups(signal) {
			observed := *g
			observed.members = g.count
			all = append(all, &observed)
		}
	}
	return all
}

// progress returns what moves while an engine works: steps, and requests that end well. Failures
// are no progress: those of an engine that hangs run into their timeouts, or their clients leave.
// Gauges without a model go with the counters of all.
func (p *Plan) progress(id string) (steps []*group, ends []*tally) {
	steps, ends = p.steps(id), p.ends(id)
	if len(steps) > 0 || len(ends) > 0 {
		return steps, ends
	}
	steps = stepsOf(func(signal engine.Signal) []*group { return p.groups[signal] })
	for _, other := range p.ids(ended()) {
		ends = append(ends, p.ends(other)...)
	}
	return steps, ends
}

// ends returns the requests of entries that ended well.
func (p *Plan) ends(id string) (all []*tally) {
	for _, mv := range p.modelVersions(id) {
		if o := p.outcome(id, mv); o != nil && o.classes[engine.ClassOK] != nil && o.trusted(mv) {
			all = append(all, o.classes[engine.ClassOK])
		}
	}
	return all
}

// rankWorks returns the work of each rank of an engine by its gauges. In the sum of all ranks, the
// others would hide a rank that stands still.
func (p *Plan) rankWorks(id string) (works []work) {
	var gauges []*group
	for _, signal := range gaugeSignals() {
		gauges = append(gauges, p.groupsOf(signal, id)...)
	}
	progress, ends := p.progress(id)
	ranks := p.ranks(gauges)
	for _, r := range ranks {
		k := work{
			key:            fmt.Sprint("rank ", r, " of ", id),
			serves:         true,
			minInFlight:    1,
			countersAppear: p.quirks.CountersAppear,
			inFlight:       p.whileAwake(id, r, largestOf(gauges, func(g *group) []int { return p.rankColumns([]*group{g}, r) })),
		}
		if p.quirks.GaugesWhenRequestsEnd {
			k.minInFlight = 2 // They still count the request that ended.
		}
		ofRank, shared := p.columnsOfRank(progress, r)
		k.progress = ofRank
		if len(ofRank) == 0 || r.number == "" || len(ranks) == 1 {
			k.progress, k.ends = append(k.progress, shared...), ends // They keep moving while one rank stands still.
		}
		if len(k.progress)+len(k.ends) == 0 {
			k.progress = p.groupColumns(progress)
		}
		works = append(works, k)
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

// stageWorks returns the work of each stage behind a router, which goes on with a stream that
// counts as answered.
func (p *Plan) stageWorks(id string) (works []work) {
	for _, sent := range p.groupsOf(engine.StageRequests, id) {
		ended := p.groupColumns(filter(p.groupsOf(engine.StageEnded, id), func(g *group) bool { return labels.Equal(g.labels, sent.labels) }))
		works = append(works, work{
			key:         fmt.Sprint("stage of ", id, sent.labels),
			inFlight:    difference(p.columnsOf(sent.members), ended),
			minInFlight: 1,
			counted:     true,
			progress:    ended,
		})
	}
	return works
}

// queueWorks returns the works of models with a queue of their own.
func (p *Plan) queueWorks() (works []work) {
	for _, g := range p.groups[engine.ModelPending] {
		if p.identity.Topology.FollowsLLM(g.model) {
			continue
		}
		works = append(works, work{
			key:         "queue of " + g.model + " " + g.version,
			serves:      g.role.Front(),
			minInFlight: 1,
			inFlight:    p.value(g),
			progress:    p.groupColumns(slices.Concat(p.sameModel(engine.ModelExecutions, g), p.steps(g.id))),
			ends:        []*tally{{single: p.groupColumns(p.sameModel(engine.ModelSuccess, g))}},
		})
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
