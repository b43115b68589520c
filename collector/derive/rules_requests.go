package derive

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// requestsTotal are the requests of entry and single models, so that a request
// to an ensemble counts once. Each of Triton's has a series of its own: with the
// sum of two, one that is unloaded would look like a reset of both.
func requestsTotal() Rule {
	return eachEntry(ended(), func(p *Plan, f *Family, id string) {
		gate := p.held(id, without(checkFrozen), without(checkSurvived))
		for _, s := range p.front(engine.ModelSuccess, id) {
			p.emit(f, p.entry(s), gate, add(p.last(s), p.sum(p.failuresOf(s))))
		}
		p.emit(f, p.forModel(id), gate, p.sum(slices.Concat(p.front(engine.RequestsFinished, id), p.front(engine.RequestsFailed, id))))
	}).by("model", "version")
}

// ended are the counters of requests that ended, well or not.
func ended() inputs {
	return anyOf(engine.ModelSuccess, engine.RequestsFinished).with(engine.ModelFailed, engine.RequestsFailed)
}

// entry are the labels of what is counted of one entry model, with further
// pairs.
func (p *Plan) entry(g *group, pairs ...string) labels.Labels {
	return p.forModel(g.id, append(pairs, "model", g.model, "version", g.version)...)
}

// modelRequests are the requests of each model.
func modelRequests() Rule {
	return Rule{inputs: allOf(engine.ModelSuccess).with(engine.ModelFailed), like: engine.ModelSuccess, compile: func(p *Plan, f *Family) {
		for _, s := range p.all(engine.ModelSuccess) {
			p.emit(f, s.labels, p.held(s.id, without(checkFrozen), without(checkSurvived)), add(p.last(s), p.sum(p.failuresOf(s))))
		}
	}}
}

// failuresOf are the failures of the model of which s are the successes.
func (p *Plan) failuresOf(s *group) []*group { return p.same(engine.ModelFailed, s) }

// requestsFailed are the failures at the entry.
func requestsFailed() Rule {
	return eachEntry(anyOf(engine.ModelFailed, engine.RequestsFailed), func(p *Plan, f *Family, id string) {
		gate := p.onlyWithout(checkFrozen, id)
		for _, g := range p.front(engine.ModelFailed, id) {
			p.emit(f, p.entry(g, "reason", g.labels.Get("reason")), gate, p.last(g))
		}
		byReason := p.failures(id, engine.RequestsFailed)
		for _, reason := range sorted(byReason) {
			p.emit(f, p.forModel(id, "reason", reason), gate, p.sum(byReason[reason]))
		}
	}).by("model", "reason", "version")
}

// failures are the failures at the entry of some signals by reason.
func (p *Plan) failures(id string, signals ...engine.Signal) map[string][]*group {
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
	// at is the page that row, seconds, total and whole are of.
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
	o := &outcome{at: -1, succeeded: p.counted(slices.Concat(p.front(engine.ModelSuccess, id), p.of(engine.RequestsFinished, id)))}
	if len(o.succeeded) == 0 {
		return nil
	}
	o.steps = p.counted(selected(p.of(engine.ModelFailed, id), func(g *group) bool { return g.role == engine.RolePart }))
	byReason := p.failures(id, engine.ModelFailed, engine.RequestsFailed)
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
func requestRate() Rule {
	return eachEntry(ended(), func(p *Plan, f *Family, id string) {
		o := p.outcome(id)
		if o == nil {
			return
		}
		p.emit(f, p.forModel(id), p.onlyWithout(checkFrozen, id), func(w *Window) (float64, bool) {
			if !o.read(w) {
				return 0, false
			}
			return o.total / o.seconds, true
		})
	})
}

// errorRatio is the share of requests that failed, by reason. Entries that
// hand their requests over never count errors after that.
func errorRatio() Rule {
	failed := anyOf(engine.ModelFailed, engine.RequestsFailed)
	return eachEntry(ended().and(failed), func(p *Plan, f *Family, id string) {
		entries := p.front(engine.ModelSuccess, id)
		blind := len(entries) > 0 && !slices.ContainsFunc(entries, func(g *group) bool { return !p.handsOver(g.model) })
		o := p.outcome(id)
		if o == nil || blind {
			return
		}
		gate := p.and(p.onlyWithout(checkFrozen, id), p.quiet(id))
		for i := range o.reasons {
			one := &o.reasons[i]
			p.emit(f, p.forModel(id, "reason", one.reason), gate, func(w *Window) (float64, bool) {
				if !o.read(w) || o.total <= 0 {
					return 0, false
				}
				return o.failures(w, o.row, one) / o.total, true
			})
		}
	}).by("reason")
}

// executedBatch is the mean batch of models that Triton batches.
func executedBatch() Rule {
	in := allOf(engine.ModelInferences, engine.ModelExecutions).with(engine.EngineIterations)
	return Rule{inputs: in, like: engine.ModelInferences, compile: func(p *Plan, f *Family) {
		for _, n := range p.all(engine.ModelInferences) {
			if executions := p.same(engine.ModelExecutions, n); !p.executor(n.model) && !p.ensemble(n.model) {
				p.emit(f, n.labels, p.onlyWithout(checkFrozen, n.id), quotient(p.columnsOf(n.members), p.counted(executions)))
			}
		}
	}}
}

// queueCompute is time in queue by time of computing.
func queueCompute() Rule {
	in := allOf(engine.ModelQueueSeconds, engine.ModelComputeSeconds)
	return Rule{inputs: in, like: engine.ModelQueueSeconds, compile: func(p *Plan, f *Family) {
		for _, q := range p.all(engine.ModelQueueSeconds) {
			if phases := p.same(engine.ModelComputeSeconds, q); !p.ensemble(q.model) && !p.handsOver(q.model) {
				p.emit(f, q.labels, p.onlyWithout(checkDurations, q.model), quotient(p.columnsOf(q.members), p.counted(phases)))
			}
		}
	}}
}
