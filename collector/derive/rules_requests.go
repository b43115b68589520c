package derive

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// requestsTotal are the requests of entry and single models, so that a request
// to an ensemble counts once. Each of Triton's has a series of its own: with the
// sum of two, one that is unloaded would look like a reset of both.
type requestsTotal struct{}

// Compile implements Rule.
func (requestsTotal) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelSuccess, engine.RequestsFinished) {
		gate := p.both(p.onlyWithout(checkFrozen, id), p.onlyWithout(checkSurvived, id))
		for _, s := range p.front(engine.ModelSuccess, id) {
			p.emit(f, p.entry(s), gate, plus(p.last(s), p.sum(p.failuresOf(s))))
		}
		p.emit(f, p.forModel(id), gate, p.sum(append(p.front(engine.RequestsFinished, id), p.front(engine.RequestsFailed, id)...)))
	}
}

// entry are the labels of what is counted of one entry model, with further
// pairs.
func (p *Plan) entry(g *group, pairs ...string) labels.Labels {
	return p.forModel(g.id, append(pairs, "model", g.model, "version", g.version)...)
}

// modelRequests are the requests of each model.
type modelRequests struct{}

// Compile implements Rule.
func (modelRequests) Compile(p *Plan, f *Family) {
	for _, s := range p.groups[engine.ModelSuccess] {
		gate := p.both(p.onlyWithout(checkFrozen, s.id), p.onlyWithout(checkSurvived, s.id))
		p.emit(f, s.labels, gate, plus(p.last(s), p.sum(p.failuresOf(s))))
	}
}

// failuresOf are the failures of the model of which s are the successes.
func (p *Plan) failuresOf(s *group) []*group {
	var found []*group
	for _, g := range p.groups[engine.ModelFailed] {
		if g.model == s.model && g.version == s.version {
			found = append(found, g)
		}
	}
	return found
}

// requestsFailed are the failures at the entry.
type requestsFailed struct{}

// Compile implements Rule.
func (requestsFailed) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelFailed, engine.RequestsFailed) {
		gate := p.onlyWithout(checkFrozen, id)
		for _, g := range p.front(engine.ModelFailed, id) {
			p.emit(f, p.entry(g, "reason", g.labels.Get("reason")), gate, p.last(g))
		}
		byReason := p.failuresOfSignals(id, engine.RequestsFailed)
		for _, reason := range sorted(byReason) {
			p.emit(f, p.reason(id, reason), gate, p.sum(byReason[reason]))
		}
	}
}

// reason are the labels of an entry's failures of one reason.
func (p *Plan) reason(id, reason string) labels.Labels {
	if reason == "" {
		return p.forModel(id)
	}
	return p.forModel(id, "reason", reason)
}

// failures are the failures at the entry by reason.
func (p *Plan) failures(id string) map[string][]*group {
	return p.failuresOfSignals(id, engine.ModelFailed, engine.RequestsFailed)
}

// failuresOfSignals are the failures at the entry of some signals by reason.
func (p *Plan) failuresOfSignals(id string, signals ...engine.Signal) map[string][]*group {
	byReason := make(map[string][]*group)
	for _, s := range signals {
		for _, g := range p.front(s, id) {
			reason := g.labels.Get("reason")
			byReason[reason] = append(byReason[reason], g)
		}
	}
	return byReason
}

// outcome are the counters of requests that ended at one entry. They are
// compared over one stretch in which all of them are whole.
type outcome struct {
	succeeded, steps, all []int
	reasons               []failed
	// at is the page of which row, seconds, total and whole tell.
	at             int64
	row            int
	seconds, total float64
	whole          bool
}

// failed are the failures of one reason.
type failed struct {
	reason string
	// twice are the counters of ensembles that count each failure twice, once
	// those of all others.
	once, twice []int
}

// outcome gathers the counters of an entry; nil where they are not counted.
func (p *Plan) outcome(id string) *outcome {
	o := &outcome{at: -1, succeeded: p.counted(append(p.front(engine.ModelSuccess, id), p.of(engine.RequestsFinished, id)...))}
	if len(o.succeeded) == 0 {
		return nil
	}
	for _, g := range p.of(engine.ModelFailed, id) {
		if g.role == engine.RolePart {
			o.steps = append(o.steps, p.columnsOf(g.members)...)
		}
	}
	byReason := p.failures(id)
	o.all = slices.Concat(o.succeeded, o.steps)
	for _, reason := range sorted(byReason) {
		one := failed{reason: reason}
		for _, g := range byReason[reason] {
			// An ensemble gives other as the reason of all its failures.
			if reason == "other" && p.ensemble(g.model) {
				one.twice = append(one.twice, p.columnsOf(g.members)...)
			} else {
				one.once = append(one.once, p.columnsOf(g.members)...)
			}
		}
		o.reasons = append(o.reasons, one)
		o.all = slices.Concat(o.all, one.once, one.twice)
	}
	return o
}

// failures is how many requests failed for one reason since a row. Since 24.07,
// which brought the reasons, an ensemble counts each of its failures when it
// answers and again when it lets go of the request (core ensemble_scheduler.cc,
// FinishEnsemble), whatever its steps count. One that fails while other steps
// still run may be counted once, so what the steps counted is the least.
func (o *outcome) failures(w *Window, row int, f *failed) float64 {
	n := w.grown(f.once, row)
	if len(f.twice) > 0 {
		whole := w.grown(f.twice, row)
		n += min(max(whole/2, w.grown(o.steps, row)), whole)
	}
	return n
}

// read counts, once a page, how many requests ended over the longest stretch
// in which all counters are whole; false when there is none.
func (o *outcome) read(w *Window) bool {
	if o.at == w.now {
		return o.whole
	}
	o.at = w.now
	if o.row, o.seconds, o.whole = w.common(o.all); !o.whole {
		return false
	}
	o.total = w.grown(o.succeeded, o.row)
	for i := range o.reasons {
		o.total += o.failures(w, o.row, &o.reasons[i])
	}
	return true
}

// requestRate is how many requests ended a second at the entry.
type requestRate struct{}

// Compile implements Rule.
func (requestRate) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelSuccess, engine.RequestsFinished) {
		o := p.outcome(id)
		if o == nil {
			continue
		}
		p.emit(f, p.forModel(id), p.onlyWithout(checkFrozen, id), func(w *Window) (float64, bool) {
			if !o.read(w) {
				return 0, false
			}
			return o.total / o.seconds, true
		})
	}
}

// errorRatio is the share of requests that failed, by reason. Entries that
// hand their requests over never count errors after that.
type errorRatio struct{}

// Compile implements Rule.
func (errorRatio) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelFailed, engine.RequestsFailed) {
		entries := p.front(engine.ModelSuccess, id)
		blind := len(entries) > 0 && !slices.ContainsFunc(entries, func(g *group) bool { return !p.handsOver(g.model) })
		o := p.outcome(id)
		if o == nil || blind {
			continue
		}
		gate := p.both(p.onlyWithout(checkFrozen, id), p.quiet(id))
		for i := range o.reasons {
			one := &o.reasons[i]
			p.emit(f, p.reason(id, one.reason), gate, func(w *Window) (float64, bool) {
				if !o.read(w) || o.total <= 0 {
					return 0, false
				}
				return o.failures(w, o.row, one) / o.total, true
			})
		}
	}
}

// executedBatch is the mean batch of models that Triton batches.
type executedBatch struct{}

// Compile implements Rule.
func (executedBatch) Compile(p *Plan, f *Family) {
	for _, n := range p.groups[engine.ModelInferences] {
		if p.executor(n.model) || p.ensemble(n.model) {
			continue
		}
		for _, x := range p.groups[engine.ModelExecutions] {
			if x.model == n.model && x.version == n.version {
				p.emit(f, n.labels, p.onlyWithout(checkFrozen, n.id), quotient(p.columnsOf(n.members), p.columnsOf(x.members)))
			}
		}
	}
}

// queueCompute is time in queue by time of computing.
type queueCompute struct{}

// Compile implements Rule.
func (queueCompute) Compile(p *Plan, f *Family) {
	for _, q := range p.groups[engine.ModelQueueSeconds] {
		if p.ensemble(q.model) || p.handsOver(q.model) {
			continue
		}
		var phases []*group
		for _, c := range p.groups[engine.ModelComputeSeconds] {
			if c.model == q.model && c.version == q.version {
				phases = append(phases, c)
			}
		}
		p.emit(f, q.labels, p.onlyWithout(checkDurations, q.model), quotient(p.columnsOf(q.members), p.counted(phases)))
	}
}
