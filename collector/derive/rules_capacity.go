package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// hiddenQueue estimates how many requests wait without being shown by any metric. By Little's
// law, the total duration of the requests that ended, divided by time, is the number in the
// server; requests that the executor and the core show are not hidden. Entry models whose times
// do not cover complete requests must have had no requests over the window.
func hiddenQueue() Rule {
	in := allOf(engine.ModelRequestSeconds, engine.RequestsActive)
	return eachEntry(in, func(p *Plan, f *Family, id string) {
		active := p.singleColumn(engine.RequestsActive, id)
		var durations, otherEnds []int
		gates := []Gate{p.executorGate(id), p.gate(id, checkFrozen)}
		for _, mv := range p.modelVersions(id) {
			if !p.trusted(mv.model) {
				otherEnds = append(otherEnds, p.groupColumns(p.versionGroups(engine.ModelSuccess, id, mv))...)
				continue
			}
			durations = append(durations, p.groupColumns(p.versionGroups(engine.ModelRequestSeconds, id, mv))...)
			gates = append(gates, p.gate(mv.model, checkDurations))
		}
		if len(durations) == 0 || active < 0 {
			return
		}
		visible := append(p.groupColumns(p.queues(id)), active)
		all := slices.Concat(durations, visible)
		p.emit(f, p.forModel(id), every(gates...), func(w *Window) (float64, bool) {
			row, seconds, ok := w.stretch(all)
			if !ok {
				return 0, false
			}
			hidden := max(w.increaseFrom(row, durations)/seconds-w.meanFrom(row, visible), 0)
			if len(otherEnds) == 0 {
				return hidden, true
			}
			_, period, _ := w.Increase(durations...)
			ended, otherPeriod, ok := w.Increase(otherEnds...)
			return hidden, ok && ended == 0 && otherPeriod >= period
		})
	}).because(whyPages)
}

// headroom exposes how many more requests fit into the batch and the KV cache.
func headroom() Rule {
	free, limits := cacheFree(), requestsLimit()
	return eachEntry(admitted().inputs.and(limits.inputs), func(p *Plan, f *Family, id string) {
		busy, limit, tokens := admitted().eval(p, id), limits.eval(p, id), free.eval(p, id)
		prompt, output := p.meanOver(p.groupsOf(engine.RequestPromptTokens, id)), p.meanOver(p.groupsOf(engine.RequestOutputTokens, id))
		p.emit(f, p.forModel(id), p.gate(id, executorRuns, checkBlocks), func(w *Window) (float64, bool) {
			now, okNow := busy(w)
			all, okAll := limit(w)
			v := max(all-now, 0)
			freeTokens, okTokens := valueOf(tokens, w)
			in, okIn := valueOf(prompt, w)
			out, okOut := valueOf(output, w)
			if okTokens && okIn && okOut && in+out > 0 {
				v = min(v, freeTokens/(in+out))
			}
			return v, okNow && okAll
		})
	})
}

// limitedBy exposes the resource that requests wait for. A KV cache that is full, or for which
// requests were paused, takes precedence over the batch, which it keeps from filling; then come
// prefills, for which others wait although both have capacity left; then the server's own queue
// in front of an engine with free slots.
func limitedBy() Rule {
	waits, cache := waiting(), cacheUse()
	return eachEntry(admitted().inputs.and(waits.inputs), func(p *Plan, f *Family, id string) {
		const full = 0.95
		busy, limit, waits, core, cache := admitted().eval(p, id), requestsLimit().eval(p, id), waits.eval(p, id), p.pending(id), cache.eval(p, id)
		paused := p.sum(slices.Concat(p.groupsOf(engine.RequestsPaused, id), p.groupsOf(engine.RequestsPreempted, id)))
		prefill := p.total(engine.RequestsPrefill, id)
		by := oncePerPage(p, func(w *Window) (string, bool) {
			now, okNow := valueOf(busy, w)
			slots, limited := valueOf(limit, w)
			wait, okWaits := valueOf(waits, w)
			queue, okQueue := valueOf(core, w)
			used, _ := valueOf(cache, w)
			pauses, _ := valueOf(paused, w)
			prefills, _ := valueOf(prefill, w)
			ok := okWaits && okNow
			switch {
			case pauses > 0 || used >= full && wait > 0:
				return "kv_cache", ok
			case limited && now >= slots:
				return "slots", ok
			case wait > 0 && prefills > 0:
				return "prefill", ok
			case wait > 0:
				return "unknown", ok
			case queue > 0:
				return "core_queue", ok && okQueue
			}
			return "none", ok && (okQueue || core == nil)
		})
		for _, resource := range []string{"slots", "kv_cache", "prefill", "core_queue", "none", "unknown"} {
			p.emit(f, p.forModel(id, "resource", resource), p.gate(id, executorRuns, checkBlocks, checkFraction), func(w *Window) (float64, bool) {
				v, ok := by(w)
				return flag(v == resource), ok
			})
		}
	}).by("resource")
}

// measured returns the latencies whose coverage is exposed, by the name of the family.
func measured() map[string]histograms {
	return map[string]histograms{
		"request_duration": wholeRequests(), "time_to_first_token": firstTokens(),
		"time_per_output_token": observed(engine.OutputToken), "request_queue": observed(engine.RequestQueue),
	}
}

// coverage exposes the share of the ended requests that a latency metric measured.
func coverage() Rule {
	in := inputs{}
	for _, name := range sorted(measured()) {
		in = in.or(measured()[name].inputs)
	}
	return eachModelVersion(in.and(failuresCounted()), func(p *Plan, f *Family, id string, mv modelVersion) {
		for _, name := range sorted(measured()) {
			groups := measured()[name].groups(p, id, mv)
			if share := p.covered(groups, id, mv); share != nil {
				p.emit(f, p.forGroups(groups, id, mv, "signal", name), every(p.gatesOf(groups), p.gate(id, checkFrozen)), share)
			}
		}
	}).by("signal").because(whyOnce)
}

// covered returns the share of the ended requests that histograms measured, if all are known.
func (p *Plan) covered(groups []*group, id string, mv modelVersion) Eval {
	_, counts := p.observations(groups)
	all, outcomes := slices.Clone(counts), p.outcomesOf(groups, id, mv)
	for _, o := range outcomes {
		all = append(all, o.all...)
	}
	if len(counts) == 0 || len(outcomes) == 0 {
		return nil
	}
	return func(w *Window) (float64, bool) {
		row, _, ok := w.stretch(all)
		if !ok {
			return 0, false
		}
		ended := 0.0
		for _, o := range outcomes {
			ended += o.total(w, row)
		}
		return min(w.increaseFrom(row, counts)/ended, 1), ended > 0
	}
}

// outcomesOf returns the outcomes of the measured requests, or nil if any is incomplete.
func (p *Plan) outcomesOf(groups []*group, id string, mv modelVersion) (all []*outcome) {
	versions := []modelVersion{mv}
	if len(groups) > 0 && groups[0].meaning.Scope() != engine.OfModel {
		versions = p.modelVersions(id)
	}
	for _, version := range versions {
		o := p.outcome(id, version)
		if o == nil || !o.complete {
			return nil
		}
		all = append(all, o)
	}
	return all
}
