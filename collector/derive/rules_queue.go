package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// pending is what waits in Triton's own queues for one model id. Ensembles
// have no queue of their own (core ensemble_scheduler.cc); what waits for a
// model behind the LLM is tokens of requests that run.
func (p *Plan) pending(id string) Eval {
	before := slices.DeleteFunc(slices.Clone(p.of(engine.ModelPending, id)), func(g *group) bool {
		return p.identity.Topology.Behind(g.model)
	})
	return p.sum(before)
}

// waiting is what waits in the engine: as told, or, before TensorRT-LLM 0.18
// told it, admitted less scheduled.
func (p *Plan) waiting(id string) Eval {
	if told := p.total(engine.RequestsWaiting, id); told != nil {
		return told
	}
	active, running := p.total(engine.RequestsActive, id), p.total(engine.RequestsRunning, id)
	if active == nil || running == nil {
		return nil
	}
	return func(w *Window) (float64, bool) {
		a, okA := active(w)
		r, okR := running(w)
		return max(a-r, 0), okA && okR
	}
}

// requestsWaiting is what waits in the engine.
type requestsWaiting struct{}

// Compile implements Rule.
func (requestsWaiting) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.RequestsWaiting, engine.RequestsActive) {
		p.emit(f, p.forModel(id), p.executorGate(id), p.waiting(id))
	}
}

// queueDepth is everything that is known to wait. Without the engine's part
// it has a value only for models that Triton itself queues: its queues are
// empty for models that hand over at once, and say nothing.
type queueDepth struct{}

// Compile implements Rule.
func (queueDepth) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.RequestsWaiting, engine.RequestsActive, engine.ModelPending) {
		core := p.pending(id)
		if waiting := p.waiting(id); waiting != nil {
			p.emit(f, p.forModel(id), p.executorGate(id), plus(core, waiting))
		} else if p.queuedByCore(id) {
			p.emit(f, p.forModel(id), 0, core)
		}
	}
}

// queuedByCore says whether all models of an id are known to take their
// requests from Triton's queue one batch at a time.
func (p *Plan) queuedByCore(id string) bool {
	for _, g := range p.of(engine.ModelPending, id) {
		if !p.identity.Topology.QueuedByCore(g.model) || p.executor(g.model) {
			return false
		}
	}
	return true
}

// queueSplit is the queue depth by queue.
type queueSplit struct{}

// Compile implements Rule.
func (queueSplit) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelPending, engine.RequestsWaiting, engine.RequestsActive) {
		p.emit(f, p.forModel(id, "queue", "core"), 0, p.pending(id))
		p.emit(f, p.forModel(id, "queue", "engine"), p.executorGate(id), p.waiting(id))
	}
}

// admitted is how many requests the executor has taken on: active ones, or
// running ones where the server does not tell more.
func (p *Plan) admitted(id string) Eval {
	if active := p.total(engine.RequestsActive, id); active != nil {
		return active
	}
	return p.total(engine.RequestsRunning, id)
}

// saturated says whether the executor admits no more.
type saturated struct{}

// Compile implements Rule.
func (saturated) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.RequestsLimit) {
		filled := ratio(p.admitted(id), p.total(engine.RequestsLimit, id))
		if filled == nil {
			continue
		}
		p.emit(f, p.forModel(id), p.executorGate(id), func(w *Window) (float64, bool) {
			v, ok := filled(w)
			return flag(v >= 1), ok
		})
	}
}

// fill is how full the batch is.
type fill struct{}

// Compile implements Rule.
func (fill) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.RequestsLimit) {
		p.emit(f, p.forModel(id), p.executorGate(id), ratio(p.total(engine.RequestsRunning, id), p.total(engine.RequestsLimit, id)))
	}
}

// batchSize is the mean in-flight batch over the window.
type batchSize struct{}

// Compile implements Rule.
func (batchSize) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.RequestsRunning) {
		if c := p.single(engine.RequestsRunning, id); c >= 0 {
			p.emit(f, p.forModel(id), p.executorGate(id), func(w *Window) (float64, bool) { return w.Mean(c) })
		}
	}
}

// saturation is demand by capacity. Without requests it is 0 whatever the
// limits are, for they are unknown before the first iteration; a replica that
// was never asked must not look busy, and not unknown either.
type saturation struct{}

// Compile implements Rule.
func (saturation) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.RequestsLimit) {
		demand := p.demand(id)
		if demand == nil {
			continue
		}
		limit, cache := p.total(engine.RequestsLimit, id), p.cacheUse(id)
		gate := p.both(p.onlyWithout(checkZero, id), p.onlyWithout(checkFlapping, id))
		p.emit(f, p.forModel(id), gate, func(w *Window) (float64, bool) {
			asked, ok := demand(w)
			if !ok || asked <= 0 {
				return 0, ok
			}
			most, ok := limit(w)
			if !ok || most <= 0 {
				return 0, false
			}
			v := asked / most
			if cache != nil {
				if used, ok := cache(w); ok {
					v = max(v, used)
				}
			}
			return v, true
		})
	}
}

// demand is how many requests are known to be in flight or to wait. Active
// requests of some servers hold the waiting ones; those of others do not.
func (p *Plan) demand(id string) Eval {
	admitted := p.admitted(id)
	if admitted == nil {
		return nil
	}
	if p.quirks.ActiveHoldsWaiting {
		return plus(admitted, p.pending(id))
	}
	asked := plus(admitted, p.total(engine.RequestsWaiting, id))
	if !p.quirks.GaugesWhenRequestsEnd {
		return asked
	}
	return p.orIdle(id, asked)
}

// orIdle takes a server for idle when no request ended over the window
// and its gauges show one at most: they are read only when requests end, and
// an executor's last iteration still counts the request that ended with it.
func (p *Plan) orIdle(id string, asked Eval) Eval {
	var ended []int
	for _, g := range p.of(engine.RequestsFinished, id) {
		ended = append(ended, p.columnsOf(g.members)...)
	}
	return func(w *Window) (float64, bool) {
		v, ok := asked(w)
		if !ok || v > 1 {
			return v, ok
		}
		for _, c := range ended {
			if w.since[c] == never || w.now-w.changed[c] < w.length {
				return v, ok
			}
		}
		return 0, len(ended) > 0
	}
}
