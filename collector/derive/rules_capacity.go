package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// hiddenQueue estimates how many requests wait where no metric shows them: by
// Little's law the time of all requests that ended, by time, is how many were in
// the server, and those that the executor and the core show are not hidden. It
// adds up all fronts of an executor; one whose times are not those of whole
// requests must have had none over the window.
func hiddenQueue() Rule {
	in := allOf(engine.ModelRequestSeconds, engine.RequestsActive)
	return eachEntry(in, func(p *Plan, f *Family, id string) {
		active := p.single(engine.RequestsActive, id)
		var times, others []int
		gates := []Gate{p.executorGate(id), p.onlyWithout(checkFrozen, id)}
		for _, front := range p.fronts(id) {
			if !p.trusted(front.model) {
				others = append(others, p.counted(p.at(engine.ModelSuccess, id, front))...)
				continue
			}
			times = append(times, p.counted(p.at(engine.ModelRequestSeconds, id, front))...)
			gates = append(gates, p.onlyWithout(checkDurations, front.model))
		}
		if len(times) == 0 || active < 0 {
			return
		}
		shown := append(p.counted(p.queues(id)), active)
		all := slices.Concat(times, shown)
		p.emit(f, p.forModel(id), every(gates...), func(w *Window) (float64, bool) {
			row, seconds, ok := w.common(all)
			if !ok {
				return 0, false
			}
			return max(w.grown(times, row)/seconds-w.mean(shown, row), 0), w.still(others, times)
		})
	}).because(whyPages)
}

// headroom is how many more requests fit in: free places of the batch, and of
// the KV cache as many as its free tokens hold of the mean request.
func headroom() Rule {
	free, limit := cacheFree(), requestsLimit()
	return eachEntry(admitted().inputs.and(limit.inputs), func(p *Plan, f *Family, id string) {
		busy, most, tokens := admitted().of(p, id), limit.of(p, id), free.of(p, id)
		prompt, output := p.meanOver(p.of(engine.RequestPromptTokens, id)), p.meanOver(p.of(engine.RequestOutputTokens, id))
		p.emit(f, p.forModel(id), p.held(id, (*Plan).executorGate, without(checkBlocks)), func(w *Window) (float64, bool) {
			now, okNow := busy(w)
			all, okAll := most(w)
			v := max(all-now, 0)
			left, okLeft := given(tokens, w)
			in, okIn := given(prompt, w)
			out, okOut := given(output, w)
			if okLeft && okIn && okOut && in+out > 0 {
				v = min(v, left/(in+out))
			}
			return v, okNow && okAll && all > 0
		})
	})
}

// The resources that may limit an engine.
const (
	limitedByCache   = "kv_cache"
	limitedBySlots   = "slots"
	limitedByPrefill = "prefill"
	limitedByCore    = "core_queue"
	limitedByNothing = "none"
	limitedByUnknown = "unknown"
)

// limits are the values that say what an engine is limited by.
type limits struct {
	admitted, most, waits, core, cache, paused, prefill Eval
}

// by is the resource for want of which requests wait, false where it is not
// known: a KV cache that is full, or for which requests were paused, before the
// batch that it keeps from filling; then prefills, which let others wait although
// both have room; then the server's own queue before an engine with room.
func (l *limits) by(w *Window) (string, bool) {
	const full = 0.95
	now, okNow := given(l.admitted, w)
	most, okMost := given(l.most, w)
	waits, okWaits := given(l.waits, w)
	if !okWaits || !okNow {
		return "", false
	}
	core, okCore := l.core(w)
	cache, _ := given(l.cache, w)
	paused, _ := given(l.paused, w)
	prefill, _ := given(l.prefill, w)
	saturated := okMost && most > 0 && now >= most
	switch {
	case paused > 0 || cache >= full && waits > 0:
		return limitedByCache, true
	case saturated:
		return limitedBySlots, true
	case waits > 0 && prefill > 0:
		return limitedByPrefill, true
	case waits > 0:
		return limitedByUnknown, true
	case !okCore:
		return "", false
	case core > 0:
		return limitedByCore, true
	}
	return limitedByNothing, true
}

// limitedBy is 1 for the resource that limits the engine now.
func limitedBy() Rule {
	waits, cache := waiting(), cacheUse()
	return eachEntry(admitted().inputs.and(waits.inputs), func(p *Plan, f *Family, id string) {
		l := &limits{
			admitted: admitted().of(p, id), most: requestsLimit().of(p, id), waits: waits.of(p, id), core: orNone(p.pending(id)),
			cache: cache.of(p, id), paused: p.sum(slices.Concat(p.of(engine.RequestsPaused, id), p.of(engine.RequestsPreempted, id))),
			prefill: p.total(engine.RequestsPrefill, id),
		}
		limit := once(p, l.by)
		for _, resource := range []string{limitedBySlots, limitedByCache, limitedByPrefill, limitedByCore, limitedByNothing, limitedByUnknown} {
			p.emit(f, p.forModel(id, "resource", resource), p.held(id, (*Plan).executorGate, without(checkBlocks), without(checkFraction)), func(w *Window) (float64, bool) {
				by, ok := limit(w)
				return flag(by == resource), ok
			})
		}
	}).by("resource")
}

// measured are the latencies of which the share of requests that they measured
// is shown, by the word of the family's name.
func measured() map[string]histograms {
	return map[string]histograms{
		"request_duration": wholeRequests(), "time_to_first_token": firstTokens(),
		"time_per_output_token": observed(engine.OutputToken), "request_queue": observed(engine.RequestQueue),
	}
}

// coverage is the share of the requests that ended over the window which a
// latency measured: what is not measured, nobody sees. It is of fronts all of whose
// failures are counted; of others nobody knows how many were not measured.
func coverage() Rule {
	in := inputs{}
	for _, name := range sorted(measured()) {
		in = in.or(measured()[name].inputs)
	}
	return eachFront(in.and(failuresCounted()), func(p *Plan, f *Family, id string, at front) {
		for _, name := range sorted(measured()) {
			groups := measured()[name].of(p, id, at)
			if share := p.covered(groups, id, at); share != nil {
				p.emit(f, p.forGroups(groups, id, at, "signal", name), every(p.gatesOf(groups), p.onlyWithout(checkFrozen, id)), share)
			}
		}
	}).by("signal").because(whyOnce)
}

// covered is the share of the requests that ended which histograms measured; nil where
// not all that ended are known.
func (p *Plan) covered(groups []*group, id string, at front) Eval {
	_, counts := p.observations(groups)
	all, outcomes := slices.Clone(counts), p.outcomesOf(groups, id, at)
	for _, o := range outcomes {
		all = append(all, o.all...)
	}
	if len(counts) == 0 || len(outcomes) == 0 {
		return nil
	}
	return func(w *Window) (float64, bool) {
		row, _, ok := w.common(all)
		if !ok {
			return 0, false
		}
		ended := 0.0
		for _, o := range outcomes {
			ended += o.total(w, row)
		}
		return min(w.grown(counts, row)/ended, 1), ended > 0
	}
}

// outcomesOf are what became of the requests that histograms are of: those of the
// front, or, of an engine's, of all fronts; none where any front's are not known.
func (p *Plan) outcomesOf(groups []*group, id string, at front) (all []*outcome) {
	fronts := []front{at}
	if len(groups) > 0 && groups[0].meaning.Scope != engine.OfModel {
		fronts = p.fronts(id)
	}
	for _, of := range fronts {
		o := p.outcome(id, of)
		if o == nil || !o.known {
			return nil
		}
		all = append(all, o)
	}
	return all
}
