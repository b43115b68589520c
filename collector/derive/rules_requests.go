package derive

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// ended are the signals of requests that ended: Triton's, and those of
// servers that count for one model.
func ended() []engine.Signal {
	return []engine.Signal{engine.ModelSuccess, engine.ModelFailed, engine.RequestsFinished, engine.RequestsFailed}
}

// requestsTotal adds counters of entry and single models, so that a request
// to an ensemble counts once.
type requestsTotal struct{}

// Compile implements Rule.
func (requestsTotal) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelSuccess, engine.RequestsFinished) {
		var all []*group
		for _, s := range ended() {
			all = append(all, p.front(s, id)...)
		}
		p.emit(f, p.forModel(id), p.both(p.onlyWithout(checkFrozen, id), p.onlyWithout(checkSurvived, id)), p.sum(all))
	}
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
		byReason := p.failures(id)
		for _, reason := range sorted(byReason) {
			p.emit(f, p.reason(id, reason), p.onlyWithout(checkFrozen, id), p.sum(byReason[reason]))
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
	byReason := make(map[string][]*group)
	for _, s := range []engine.Signal{engine.ModelFailed, engine.RequestsFailed} {
		for _, g := range p.front(s, id) {
			reason := g.labels.Get("reason")
			byReason[reason] = append(byReason[reason], g)
		}
	}
	return byReason
}

// failureRate is how many requests failed a second at the entry for one
// reason. An ensemble counts the failure of a step twice, or, from 24.10 with
// steps of the Python backend, once while the step counts none: what it counts
// beyond its steps is right, and at least what they count.
func (p *Plan) failureRate(id, reason string, groups []*group) Eval {
	rate := p.rateOf(groups)
	if reason != "other" && reason != "" {
		return rate
	}
	var steps []*group
	for _, g := range p.of(engine.ModelFailed, id) {
		if g.role == engine.RolePart {
			steps = append(steps, g)
		}
	}
	ensemble := false
	for _, g := range groups {
		ensemble = ensemble || p.ensemble(g.model)
	}
	parts := p.rateOf(steps)
	if !ensemble || parts == nil {
		return rate
	}
	return func(w *Window) (float64, bool) {
		whole, okW := rate(w)
		part, okP := parts(w)
		return min(max(whole-part, part), whole), okW && okP
	}
}

// requestRate is how many requests ended a second at the entry.
type requestRate struct{}

// Compile implements Rule.
func (requestRate) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelSuccess, engine.RequestsFinished) {
		p.emit(f, p.forModel(id), p.onlyWithout(checkFrozen, id), p.endedRate(id))
	}
}

// endedRate is how many requests ended a second at the entry, nil where that
// is not counted.
func (p *Plan) endedRate(id string) Eval {
	rate := plus(p.rateOf(p.front(engine.ModelSuccess, id)), p.rateOf(p.of(engine.RequestsFinished, id)))
	if rate == nil {
		return nil
	}
	byReason := p.failures(id)
	for _, reason := range sorted(byReason) {
		rate = plus(rate, p.failureRate(id, reason, byReason[reason]))
	}
	return rate
}

// errorRatio is the share of requests that failed, by reason.
type errorRatio struct{}

// Compile implements Rule.
func (errorRatio) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelFailed, engine.RequestsFailed) {
		all := once(p.endedRate(id))
		entries := p.front(engine.ModelSuccess, id)
		blind := len(entries) > 0 && !slices.ContainsFunc(entries, func(g *group) bool { return !p.handsOver(g.model) })
		if all == nil || blind {
			continue
		}
		byReason := p.failures(id)
		for _, reason := range sorted(byReason) {
			p.emit(f, p.reason(id, reason), p.both(p.onlyWithout(checkFrozen, id), p.quiet(id)), ratio(p.failureRate(id, reason, byReason[reason]), all))
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
				p.emit(f, n.labels, p.onlyWithout(checkFrozen, n.id), ratio(p.rate(n), p.rate(x)))
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
		p.emit(f, q.labels, p.onlyWithout(checkDurations, q.model), ratio(p.rate(q), p.rateOf(phases)))
	}
}
