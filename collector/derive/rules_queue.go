package derive

import (
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func queueDepthRule() Rule {
	needs := waiting.needs().or(anyOf(engine.ModelPending))
	return eachModel(needs, queueDepth).reads(waitingReads()...)
}

// queueDepth exposes the number of requests known to wait. Without the engine's queue it has a
// value only for models that Triton itself queues: the queues of others are always empty.
func queueDepth(v *View, m *Model, out *Out) {
	core, inCore, okCore := v.pending(m)
	waits, okWaits := v.Of(m, waiting)
	switch inEngine := v.Shows(m, waiting); {
	case inCore && inEngine:
		out.Set(m, core+waits, okCore && okWaits && v.Runs(m))
	case inEngine:
		out.Set(m, waits, okWaits && v.Runs(m))
	case inCore && m.queuedByCore:
		out.Set(m, core, okCore)
	}
}

func queueSplitRule() Rule {
	needs := waiting.needs().or(anyOf(engine.ModelPending))
	return eachModel(needs, queueSplit).reads(waitingReads()...).by("queue")
}

// queueSplit exposes the requests that wait by queue.
func queueSplit(v *View, m *Model, out *Out) {
	if core, shown, ok := v.pending(m); shown {
		out.Set(m, core, ok, "queue", "core")
	}
	if v.Shows(m, waiting) {
		waits, ok := v.Of(m, waiting)
		out.Set(m, waits, ok && v.Runs(m), "queue", "engine")
	}
}

// pending returns the number of requests that wait in Triton's own queues, and whether pages of this
// shape show any. Ensembles have none (core ensemble_scheduler.cc); behind the LLM only tokens of
// running requests wait.
func (v *View) pending(m *Model) (requests float64, shown, ok bool) {
	v.ask(m, engine.ModelPending)
	requests, ok = v.sumOf(m.queues.groups)
	return requests, len(m.queues.groups) > 0, ok
}

// waitingReads returns the signals that tell besides how many requests wait.
func waitingReads() []engine.Signal {
	return []engine.Signal{engine.RequestsTransfer, engine.RequestsRouting, engine.ModelPending}
}

func (v *View) waitingExposed(m *Model) (float64, bool) {
	return v.Sum(m, engine.RequestsWaiting, engine.RequestsTransfer)
}

func (v *View) unscheduled(m *Model) (float64, bool) {
	return v.Excess(m, engine.RequestsActive, engine.RequestsRunning)
}

// unplaced returns how many of a router's requests in flight are known to wait: those beyond the
// limit of its workers that have no token yet, and at least those that the router holds back.
// Other requests without a token may be in their prefill.
func (v *View) unplaced(m *Model) (float64, bool) {
	active, okActive := v.Sum(m, engine.RequestsActive)
	limit, okLimit := v.Of(m, requestsLimit)
	unanswered, okUnanswered := v.Sum(m, engine.RequestsUnanswered)
	heldBack, okHeldBack := v.Sum(m, engine.RequestsRouting)
	n, ok := min(max(active-limit, 0), unanswered), okActive && okLimit && okUnanswered
	if v.Has(m, engine.RequestsRouting) {
		return max(n, heldBack), ok && okHeldBack
	}
	return n, ok
}

func requestsLimitRule() Rule { return copyOr(engine.RequestsLimit, requestsLimit) }

// workersLimit returns how many requests all workers of a router can admit.
func (v *View) workersLimit(m *Model) (float64, bool) {
	limit, ok := v.Sum(m, engine.WorkerRequestsLimit)
	workers, known := v.workers(m)
	return limit * workers, ok && known
}

// workers returns the number of workers that a router knows, or of ranks of an engine.
func (v *View) workers(m *Model) (n float64, ok bool) {
	v.ask(m, engine.WorkerKVBlocksUsed, engine.EngineRanks)
	return m.workers, m.workers > 0
}

func requestsWaitingRule() Rule {
	return eachModel(waiting.needs(), requestsWaiting).reads(waitingReads()...)
}

// requestsWaiting exposes the requests that wait in the engine.
func requestsWaiting(v *View, m *Model, out *Out) {
	waits, ok := v.Of(m, waiting)
	out.Set(m, waits, ok && v.Runs(m))
}

func fillRatioRule() Rule {
	const reason = "requests_running / requests_limit needs no window, so that the family stays"
	return eachModel(allOf(engine.RequestsRunning).and(requestsLimit.needs()), fillRatio).because(reason)
}

// fillRatio exposes how full the batch is.
func fillRatio(v *View, m *Model, out *Out) {
	running, okRunning := v.Sum(m, engine.RequestsRunning)
	limit, okLimit := v.Of(m, requestsLimit)
	filled, ok := ratio(running, okRunning, limit, okLimit)
	out.Set(m, filled, ok && v.Runs(m))
}

func saturatedRule() Rule {
	needs := admitted.needs().and(requestsLimit.needs()).or(runsFull.needs())
	return eachModel(needs, saturated).reads(engine.RequestsFinished, engine.RequestsDeferred)
}

// saturated exposes whether the executor is full, or requests wait if its limit is unknown.
func saturated(v *View, m *Model, out *Out) {
	switch {
	case v.Shows(m, admitted) && v.Shows(m, requestsLimit):
		busy, okBusy := v.Of(m, admitted)
		limit, okLimit := v.Of(m, requestsLimit)
		filled, ok := ratio(busy, okBusy, limit, okLimit)
		out.Set(m, flag(filled >= 1), ok && v.Runs(m))
	case v.isUnlimited(m):
		waits, ok := v.crowded(m)
		out.Set(m, flag(waits > 0), ok && v.Runs(m))
	}
}

func batchSizeRule() Rule {
	return eachModel(allOf(engine.RequestsRunning), batchSize).because(whyPages)
}

// batchSize exposes the mean size of the batch over the window.
func batchSize(v *View, m *Model, out *Out) {
	sum, ok := 0.0, true
	for _, g := range v.shown(m, engine.RequestsRunning).groups {
		if len(g.value.sources) > 1 && g.combine != engine.Sum {
			return
		}
	}
	for _, c := range v.counters(m, engine.RequestsRunning) {
		mean, known := v.window.Mean(c)
		sum += mean
		ok = ok && known
	}
	out.Set(m, sum, ok && v.Runs(m))
}

func saturationRule() Rule {
	needs := admitted.needs().and(requestsLimit.needs()).or(runsFull.needs())
	return eachModel(needs, saturation).reads(saturationReads()...)
}

// saturation exposes demand divided by capacity, 0 without requests that want any. An engine that does not
// expose its limit counts as full as its KV cache until requests wait in it, if those that run use the cache at all.
func saturation(v *View, m *Model, out *Out) {
	stated := v.Shows(m, requestsLimit)
	if !stated && !v.isUnlimited(m) {
		return
	}
	requests, ok := v.demand(m)
	requests = max(requests-v.deferred(m), 0)
	capacity, limited := v.Of(m, requestsLimit)
	if !stated {
		capacity, limited = v.Of(m, runsFull)
	}
	used, cached := v.Of(m, cacheUse)
	ok = ok && v.Trust(m, engineZero, flappingGauges, staleGauges, blocksMismatch, fractionMismatch)
	switch {
	case requests <= 0:
		out.Set(m, 0, ok)
	case limited && capacity > 0:
		out.Set(m, max(requests/capacity, used), ok)
	default:
		out.Set(m, used, ok && cached && used > 0 && !stated)
	}
}

// saturationReads returns the signals that tell besides how full an engine is.
func saturationReads() []engine.Signal {
	reads := []engine.Signal{
		engine.ModelPending, engine.RequestsWaiting, engine.RequestsDeferred, engine.RequestsFinished,
	}
	return append(reads, cacheUse.needs().all()...)
}

// isUnlimited reports whether an engine does not expose its limit, but running and waiting requests.
func (v *View) isUnlimited(m *Model) bool {
	return v.Shows(m, runsFull) && !v.Has(m, engine.RequestsActive)
}

func (v *View) runningWhileFull(m *Model) (float64, bool) {
	waits, okWaits := v.crowded(m)
	running, ok := v.Sum(m, engine.RequestsRunning)
	return max(running, 1), ok && okWaits && waits > 0
}

// crowded returns how many requests wait for capacity of the engine.
func (v *View) crowded(m *Model) (float64, bool) {
	waits, ok := v.Sum(m, engine.RequestsWaiting)
	return max(waits-v.deferred(m), 0), ok
}

// deferred returns how many requests are known to wait for something else than capacity of the engine.
func (v *View) deferred(m *Model) float64 {
	n, _ := v.Sum(m, engine.RequestsDeferred)
	return n
}

// demand returns how many requests are known to be in flight or waiting.
func (v *View) demand(m *Model) (float64, bool) {
	requests, ok := v.inEngine(m)
	if !v.index.quirks.ActiveHoldsWaiting {
		return v.orIdle(m, requests, ok)
	}
	if core, shown, okCore := v.pending(m); shown {
		return requests + core, ok && okCore
	}
	return requests, ok
}

// inEngine returns how many requests an engine says it holds.
func (v *View) inEngine(m *Model) (float64, bool) {
	requests, ok := v.Of(m, admitted)
	if v.index.quirks.ActiveHoldsWaiting || !v.Has(m, engine.RequestsWaiting) {
		return requests, ok
	}
	waits, okWaits := v.Sum(m, engine.RequestsWaiting)
	return requests + waits, ok && okWaits
}

// orIdle returns 0 if no request ended over the window and the gauges show at most one: they are
// updated only when requests end, and still count the ended request. A batch gauge that moves
// while requests run shows by itself whether there are any.
func (v *View) orIdle(m *Model, n float64, ok bool) (float64, bool) {
	if !v.index.quirks.GaugesWhenRequestsEnd {
		return n, ok
	}
	running, moves := v.Sum(m, engine.RequestsRunning)
	moves = moves && v.index.ranks != engine.RanksUnseen
	ended := v.counters(m, engine.RequestsFinished)
	switch {
	case !ok || moves && running > 0 || !moves && n > 1:
		return n, ok
	case moves && n <= 1:
		return 0, true
	}
	for _, c := range ended {
		if v.window.since[c] == never || v.window.now-v.window.changed[c] < v.window.length {
			return n, ok
		}
	}
	return 0, len(ended) > 0
}

// unlessIdle returns the value of a signal, 0 for an idle server.
func unlessIdle(signal engine.Signal) func(v *View, m *Model) (float64, bool) {
	return func(v *View, m *Model) (float64, bool) {
		n, ok := v.Sum(m, signal)
		return v.orIdle(m, n, ok)
	}
}
