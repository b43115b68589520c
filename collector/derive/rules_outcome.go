package derive

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// front is what clients call under a model id: a model of a server that counts
// by model, in one of its versions; of other servers the id itself.
type front struct{ model, version string }

// fronts are those of a model id, in order.
func (p *Plan) fronts(id string) []front {
	seen := make(map[front]bool)
	for _, signal := range []engine.Signal{
		engine.ModelSuccess, engine.ModelFailed, engine.ModelRequestSeconds, engine.ModelRequestDuration, engine.ModelFirstResponse,
	} {
		for _, g := range p.byID[signalOf{signal, id}] {
			if g.role.Front() {
				seen[front{g.model, g.version}] = true
			}
		}
	}
	if len(seen) == 0 {
		return []front{{}}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b front) int {
		return cmp.Or(strings.Compare(a.model, b.model), strings.Compare(a.version, b.version))
	})
}

// countedInside says whether a model counts its own requests when they end: what
// measures its engine does.
func (p *Plan) countedInside(id string, of front) bool {
	return p.failures && slices.ContainsFunc(p.byID[signalOf{engine.EngineHeartbeat, id}], func(g *group) bool {
		return slices.ContainsFunc(g.members, func(m int) bool {
			return p.sources[m].Model == of.model && p.sources[m].Version == of.version
		})
	})
}

// takenOn says whether a group counts successes that are of requests which a model
// took on only, where it counts itself how they ended. The server's failures are
// then those that the model was never given.
func (p *Plan) takenOn(g *group) bool {
	return g.signal == engine.ModelSuccess && p.countedInside(g.id, front{g.model, g.version})
}

// at are the groups of a signal for one front.
func (p *Plan) at(signal engine.Signal, id string, of front) []*group {
	return selected(p.front(signal, id), func(g *group) bool {
		return g.meaning.Scope != engine.OfModel || g.model == of.model && g.version == of.version && !p.takenOn(g)
	})
}

// forFront are the labels of a front, with further pairs.
func (p *Plan) forFront(id string, of front, pairs ...string) labels.Labels {
	if of.model != "" {
		pairs = append(slices.Clone(pairs), "model", of.model, "version", of.version)
	}
	return p.forModel(id, pairs...)
}

// eachFront makes the series of one front after the other, of those model ids for
// which the page has what is needed.
func eachFront(in inputs, of func(p *Plan, f *Family, id string, at front)) Rule {
	return eachEntry(in, func(p *Plan, f *Family, id string) {
		for _, at := range p.fronts(id) {
			of(p, f, id, at)
		}
	}).by("model", "version")
}

// ended are the counters of requests that ended, well or not.
func ended() inputs {
	return anyOf(engine.ModelSuccess, engine.RequestsFinished, engine.RequestsFailed)
}

// outcome is what became of the requests of one front: the counters of those that
// ended by class. They are compared over one stretch in which all of them are
// whole.
type outcome struct {
	classes map[engine.Class]*tally
	// steps are the failures of the parts, others those of the other fronts, which
	// may have the same parts; only of ensembles that count a failure twice.
	steps, others, all []int
	// known says that all requests that failed are counted, and of which class they are;
	// inside that the model itself counts them.
	known, inside bool
	// ended are the requests that ended over the longest stretch in which all
	// counters are whole; false when there is none.
	ended func(w *Window) (endedSince, bool)
}

// endedSince is how many requests ended since a row, that many seconds ago.
type endedSince struct {
	row            int
	seconds, total float64
}

// tally are the counters of one class: those that count each request once, those
// of ensembles, which count each failure twice, and those by reason some of whose
// requests are counted in another class as well.
type tally struct {
	once, twice []int
	again       map[string]*lessened
	// inOrder are those of again in the order of their reasons.
	inOrder []*lessened
	// partial says that the server counts only some requests of the class.
	partial bool
}

// outcome gathers the counters of a front; nil where it has none.
func (p *Plan) outcome(id string, of front) *outcome {
	o := &outcome{classes: make(map[engine.Class]*tally), known: p.failures, inside: p.failures}
	if of.model != "" {
		o.inside = p.countedInside(id, of)
		o.known = o.inside || p.trusted(of.model)
	}
	again := p.again(id, of)
	for _, signal := range []engine.Signal{engine.ModelSuccess, engine.RequestsFinished, engine.ModelFailed, engine.RequestsFailed} {
		for _, g := range p.at(signal, id, of) {
			less := slices.Concat(again[g.labels.Get("reason")], p.repeated(g))
			o.take(p, g, less)
		}
	}
	if len(o.all) == 0 {
		return nil
	}
	o.known = o.known && o.classes[engine.ClassUnknown] == nil
	o.abort(p, id)
	for _, class := range classOrder {
		if c := o.classes[class]; c != nil {
			for _, reason := range sorted(c.again) {
				c.again[reason] = p.lessen(id, of, string(class)+"\x00"+reason, c.again[reason])
				c.inOrder = append(c.inOrder, c.again[reason])
			}
		}
	}
	if slices.ContainsFunc(classOrder, func(class engine.Class) bool { return o.classes[class] != nil && len(o.classes[class].twice) > 0 }) {
		o.bound(p, p.of(engine.ModelFailed, id), of)
	}
	o.ended = once(p, o.count)
	return o
}

// repeated are the counters of other models whose requests a group of no model counts
// once more.
func (p *Plan) repeated(g *group) (columns []int) {
	for _, other := range p.all(g.signal) {
		if other.class == g.class && slices.Contains(g.meaning.Outcome.Repeats, other.labels.Get("reason")) {
			columns = append(columns, p.columnsOf(other.members)...)
		}
	}
	return columns
}

// soFar is how often requests of the class, and of no other, were counted since the
// server started.
func (c *tally) soFar(w *Window) (float64, bool) {
	columns := slices.Concat(c.once, c.twice)
	for _, l := range c.inOrder {
		columns = append(columns, l.column)
	}
	return w.totals(columns)
}

// bound adds what bounds how many of a front's failures were counted once.
func (o *outcome) bound(p *Plan, failures []*group, of front) {
	for _, g := range failures {
		switch columns := p.columnsOf(g.members); {
		case g.role == engine.RolePart:
			o.steps = append(o.steps, columns...)
		case g.role.Front() && (front{g.model, g.version}) != of:
			o.others = append(o.others, columns...)
		}
	}
	o.all = slices.Concat(o.all, o.steps, o.others)
}

// abort takes requests that were aborted, most of which the server counts as
// finished as well, from those that ended well: at least those that it measured
// whole did.
func (o *outcome) abort(p *Plan, id string) {
	aborted := p.counted(p.of(engine.RequestsAborted, id))
	if len(aborted) == 0 {
		return
	}
	own := p.counted(p.of(engine.RequestsUnaborted, id))
	if ended := o.classes[engine.ClassOK]; ended != nil {
		ended.again = map[string]*lessened{"": {of: ended.once, less: aborted, least: own}}
		ended.once = nil
	}
	o.classes[engine.ClassCanceled] = &tally{once: aborted}
	o.all = slices.Concat(o.all, aborted, own)
	o.stream(p, id)
}

// stream leaves out of the aborted requests that are counted once more by how they
// were answered the streamed ones that did not come to their own end: those had
// their answer, of 200, when they were aborted.
func (o *outcome) stream(p *Plan, id string) {
	streamed, own := p.counted(p.of(engine.RequestsStreamed, id)), p.counted(p.of(engine.StreamsUnaborted, id))
	if len(streamed) == 0 || len(own) == 0 {
		return
	}
	for _, g := range p.of(engine.RequestsAborted, id) {
		for _, c := range o.classes {
			if l := c.again[g.meaning.Outcome.Again]; l != nil && g.meaning.Outcome.Again != "" {
				l.most, l.of, l.less = l.of, slices.Concat(l.of, streamed), slices.Concat(l.less, own)
			}
		}
	}
	o.all = slices.Concat(o.all, streamed, own)
}

// again are the counters of requests that others count once more, by the reason
// under which those do.
func (p *Plan) again(id string, of front) map[string][]int {
	again := make(map[string][]int)
	for _, signal := range []engine.Signal{engine.RequestsFailed, engine.RequestsAborted} {
		for _, g := range p.at(signal, id, of) {
			if reason := g.meaning.Outcome.Again; reason != "" {
				again[reason] = append(again[reason], p.columnsOf(g.members)...)
			}
		}
	}
	return again
}

// of are the counters of a class.
func (o *outcome) of(class engine.Class) *tally {
	if o.classes[class] == nil {
		o.classes[class] = &tally{}
	}
	return o.classes[class]
}

// take adds the counters of a group, less those of requests that they count once
// more. An ensemble gives other as the reason of all its failures, since there are
// reasons.
func (o *outcome) take(p *Plan, g *group, less []int) {
	columns, reason := p.columnsOf(g.members), g.labels.Get("reason")
	c := o.of(g.class)
	// What the server misses of a model that counts inside, the model has.
	c.partial = c.partial || g.meaning.Outcome.Misses(g.class) && (!o.inside || g.signal != engine.ModelFailed)
	switch {
	case reason == "other" && p.ensemble(g.model):
		c.twice = append(c.twice, columns...)
	case len(less) > 0:
		if c.again == nil {
			c.again = make(map[string]*lessened)
		}
		if c.again[reason] == nil {
			c.again[reason] = &lessened{less: less}
		}
		c.again[reason].of = append(c.again[reason].of, columns...)
	default:
		c.once = append(c.once, columns...)
	}
	o.all = slices.Concat(o.all, columns, less)
}

// since is how many requests of a class ended since a row. Since 24.07, which
// brought the reasons, an ensemble counts each of its failures when it answers
// and again when it lets go of the request (core ensemble_scheduler.cc,
// FinishEnsemble), whatever its steps count. One that fails while other steps
// still run may be counted once, so what the steps counted, but for what they may
// have counted for other fronts, is the least.
func (o *outcome) since(w *Window, row int, class engine.Class) float64 {
	c := o.classes[class]
	if c == nil {
		return 0
	}
	n := w.grown(c.once, row)
	for _, l := range c.inOrder {
		n += l.from(func(columns []int) float64 { return w.grown(columns, row) })
	}
	if len(c.twice) > 0 {
		whole := w.grown(c.twice, row)
		n += min(max(whole/2, w.grown(o.steps, row)-w.grown(o.others, row)), whole)
	}
	return n
}

// count counts how many requests ended over the longest stretch in which all
// counters are whole; false when there is none.
func (o *outcome) count(w *Window) (ended endedSince, whole bool) {
	if ended.row, ended.seconds, whole = w.common(o.all); whole {
		ended.total = o.total(w, ended.row)
	}
	return ended, whole
}

// total is how many requests ended since a row.
func (o *outcome) total(w *Window, row int) (sum float64) {
	for _, class := range classOrder {
		sum += o.since(w, row, class)
	}
	return sum
}

// classOrder are the classes in one order, in which they are added up.
//
//nolint:gochecknoglobals // constant data.
var classOrder = append(engine.Classes(), engine.ClassUnknown)

// ever says whether a request of a class was ever counted.
func (o *outcome) ever(w *Window, class engine.Class) bool {
	c, grew := o.classes[class], func(column int) bool { return w.current[column] > 0 }
	return c != nil && (slices.ContainsFunc(c.once, grew) || slices.ContainsFunc(c.twice, grew) ||
		slices.ContainsFunc(c.inOrder, func(l *lessened) bool { return grew(l.column) }))
}

// requestRate is how many requests ended a second at the entry.
func requestRate() Rule {
	return eachFront(ended(), func(p *Plan, f *Family, id string, at front) {
		if o := p.outcome(id, at); o != nil {
			p.emit(f, p.forFront(id, at), p.onlyWithout(checkFrozen, id), func(w *Window) (float64, bool) {
				ended, ok := o.ended(w)
				return ended.total / ended.seconds, ok
			})
		}
	}).because(whyOnce)
}

// failuresCounted are the counters of requests that ended of servers that count those that
// failed.
func failuresCounted() inputs {
	return allOf(engine.ModelSuccess, engine.ModelFailed).or(allOf(engine.RequestsFailed, engine.FailuresCounted)).
		or(allOf(engine.RequestsFinished, engine.FailuresCounted))
}

// errorRatio is the share of the requests that ended otherwise than well, by
// class. It is of fronts all of whose failures are counted: entries that hand
// their requests over never count errors after that. Where the server counts only
// some requests of a class, it has a share once one was counted.
func errorRatio() Rule {
	return eachFront(failuresCounted(), func(p *Plan, f *Family, id string, at front) {
		o := p.outcome(id, at)
		if o == nil || !o.known {
			return
		}
		for _, class := range p.classes(o) {
			if class == engine.ClassOK {
				continue
			}
			partial := o.classes[class] != nil && o.classes[class].partial
			p.emit(f, p.forFront(id, at, labelClass, string(class)), p.onlyWithout(checkFrozen, id), func(w *Window) (float64, bool) {
				ended, ok := o.ended(w)
				if !ok || ended.total <= 0 || partial && !o.ever(w, class) {
					return 0, false
				}
				return o.since(w, ended.row, class) / ended.total, true
			})
		}
	}).by(labelClass).because(whyOnce)
}

// classes are those of which the counters of a front say something: those that
// the page has, and, of servers whose counters appear with their first event and
// that count all failures, the rest too, which are 0.
func (p *Plan) classes(o *outcome) []engine.Class {
	return slices.DeleteFunc(slices.Clone(classOrder), func(class engine.Class) bool {
		zero := p.quirks.CountersAppear && o.inside && slices.Contains(p.countedClasses, class)
		return o.classes[class] == nil && !zero
	})
}

// requestsTotal are the requests of entry and single models by class, so that a
// request to an ensemble counts once. Each of Triton's has a series of its own:
// with the sum of two, one that is unloaded would look like a reset of both. Of
// models that hand their requests over, or may do so, the class of those that
// they took on is not known.
func requestsTotal() Rule {
	return eachFront(ended(), func(p *Plan, f *Family, id string, at front) {
		o := p.outcome(id, at)
		if o == nil {
			return
		}
		gate := p.held(id, without(checkFrozen), without(checkSurvived))
		for _, class := range p.classes(o) {
			e := constant(0)
			if c := o.classes[class]; c != nil {
				e = c.soFar
			}
			if class == engine.ClassOK && at.model != "" && !o.known {
				class = engine.ClassUnknown
			}
			p.emit(f, p.forFront(id, at, labelClass, string(class)), gate, e)
		}
	}).by(labelClass).because(whyShown)
}

// modelRequests are the requests of each model.
func modelRequests() Rule {
	return Rule{inputs: allOf(engine.ModelSuccess), like: engine.ModelSuccess, why: whyShown, compile: func(p *Plan, f *Family) {
		for _, s := range p.all(engine.ModelSuccess) {
			failures := p.same(engine.ModelFailed, s)
			p.emit(f, s.labels, p.held(s.id, without(checkFrozen), without(checkSurvived)), add(p.last(s), p.sum(failures)))
		}
	}}
}

// requestsFailed are the failures at the entry by class and reason.
func requestsFailed() Rule {
	return eachFront(anyOf(engine.ModelFailed, engine.RequestsFailed), func(p *Plan, f *Family, id string, at front) {
		byReason := make(map[string][]*group)
		for _, g := range slices.Concat(p.at(engine.ModelFailed, id, at), p.at(engine.RequestsFailed, id, at)) {
			key := g.labels.Get("reason") + "\x00" + string(g.class)
			byReason[key] = append(byReason[key], g)
		}
		o := p.outcome(id, at)
		for _, key := range sorted(byReason) {
			e := p.sum(byReason[key])
			reason, class, _ := strings.Cut(key, "\x00")
			if l := o.of(engine.Class(class)).again[reason]; l != nil {
				e = func(w *Window) (float64, bool) { return w.Last(l.column) }
			}
			p.emit(f, p.forFront(id, at, "reason", reason, labelClass, class), p.onlyWithout(checkFrozen, id), e)
		}
	}).by(labelClass, "reason").because(whyShown)
}
