package derive

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// copyOf passes a signal on, in base units and with our labels.
type copyOf struct{ signal engine.Signal }

// Compile implements Rule.
func (r copyOf) Compile(p *Plan, f *Family) {
	for _, g := range p.groups[r.signal] {
		p.emit(f, g.labels, p.started(g.id, r.signal, g.last()))
	}
}

// started holds back an engine's gauges until its first iteration: TensorRT-LLM
// shows all of them as 0, the limit of requests too, from load until then.
func (p *Plan) started(id string, signal engine.Signal, eval Eval) Eval {
	if !zeroBeforeStart(signal) {
		return eval
	}
	limit := sum(p.of(engine.RequestsLimit, id))
	if limit == nil || eval == nil {
		return eval
	}
	return func(w *Window) (float64, bool) {
		if max, ok := limit(w); ok && max <= 0 {
			return 0, false
		}
		return eval(w)
	}
}

// zeroBeforeStart says whether a signal is one of the executor's gauges.
func zeroBeforeStart(s engine.Signal) bool {
	switch s {
	case engine.RequestsActive, engine.RequestsRunning, engine.RequestsWaiting, engine.RequestsPrefill,
		engine.RequestsDecode, engine.RequestsPaused, engine.RequestsLimit, engine.KVBlocksLimit,
		engine.KVBlocksUsed, engine.KVBlocksFree, engine.KVBlockTokens, engine.KVUtilization,
		engine.EngineMemory, engine.ContextTokens:
		return true
	default:
		return false
	}
}

// rateOf is the growth a second of a counter, by model id.
type rateOf struct{ signal engine.Signal }

// Compile implements Rule.
func (r rateOf) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(r.signal) {
		var evals []Eval
		for _, g := range p.of(r.signal, id) {
			evals = append(evals, g.rate())
		}
		p.emit(f, p.forModel(id), add(evals))
	}
}

// entryRequests adds counters of entry and single models, so that a request
// to an ensemble counts once.
type entryRequests struct{ signals []engine.Signal }

// Compile implements Rule.
func (r entryRequests) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(r.signals...) {
		var evals []Eval
		for _, s := range r.signals {
			for _, g := range p.of(s, id) {
				if g.role != engine.RolePart {
					evals = append(evals, g.last())
				}
			}
		}
		if eval := add(evals); eval != nil {
			p.emit(f, p.forModel(id), eval)
		}
	}
}

// requestRate is how many requests ended a second at the entry.
type requestRate struct{}

// Compile implements Rule.
func (requestRate) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelSuccess, engine.RequestsFinished) {
		var evals []Eval
		for _, s := range []engine.Signal{engine.ModelSuccess, engine.ModelFailed, engine.RequestsFinished} {
			for _, g := range p.of(s, id) {
				if s == engine.RequestsFinished || g.role != engine.RolePart {
					evals = append(evals, g.rate())
				}
			}
		}
		if eval := add(evals); eval != nil {
			p.emit(f, p.forModel(id), eval)
		}
	}
}

// pending is what waits in Triton's own queues for one model id. Ensembles
// have no queue of their own (core ensemble_scheduler.cc).
func (p *Plan) pending(id string) Eval { return sum(p.of(engine.ModelPending, id)) }

// waiting is what waits in the engine: as told, or, before TensorRT-LLM 0.18
// told it, admitted less scheduled.
func (p *Plan) waiting(id string) Eval {
	if told := sum(p.of(engine.RequestsWaiting, id)); told != nil {
		return p.started(id, engine.RequestsWaiting, told)
	}
	active, running := sum(p.of(engine.RequestsActive, id)), sum(p.of(engine.RequestsRunning, id))
	if active == nil || running == nil {
		return nil
	}
	return p.started(id, engine.RequestsWaiting, func(w *Window) (float64, bool) {
		a, okA := active(w)
		r, okR := running(w)
		return max(a-r, 0), okA && okR
	})
}

// queueDepth is everything that is known to wait. Without the engine's part
// it has no value: Triton's queues alone are empty for models that hand over
// at once, and say nothing.
type queueDepth struct{}

// Compile implements Rule.
func (queueDepth) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.RequestsWaiting, engine.RequestsActive) {
		waiting := p.waiting(id)
		if waiting == nil {
			continue
		}
		evals := []Eval{waiting}
		if core := p.pending(id); core != nil {
			evals = append(evals, core)
		}
		p.emit(f, p.forModel(id), add(evals))
	}
}

// queueSplit is the queue depth by queue.
type queueSplit struct{}

// Compile implements Rule.
func (queueSplit) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.ModelPending, engine.RequestsWaiting, engine.RequestsActive) {
		if core := p.pending(id); core != nil {
			p.emit(f, p.forModel(id, "queue", "core"), core)
		}
		if waiting := p.waiting(id); waiting != nil {
			p.emit(f, p.forModel(id, "queue", "engine"), waiting)
		}
	}
}

// saturated says whether the executor admits no more.
type saturated struct{}

// Compile implements Rule.
func (saturated) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.RequestsLimit) {
		active, limit := sum(p.of(engine.RequestsActive, id)), sum(p.of(engine.RequestsLimit, id))
		if active == nil {
			active = sum(p.of(engine.RequestsRunning, id))
		}
		fill := ratio(active, limit)
		if fill == nil {
			continue
		}
		p.emit(f, p.forModel(id), func(w *Window) (float64, bool) {
			v, ok := fill(w)
			if ok && v >= 1 {
				return 1, true
			}
			return 0, ok
		})
	}
}

// cacheUse is the share of KV cache blocks in use.
type cacheUse struct{}

// Compile implements Rule.
func (cacheUse) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.KVBlocksUsed, engine.KVUtilization) {
		computed := ratio(sum(p.of(engine.KVBlocksUsed, id)), sum(p.of(engine.KVBlocksLimit, id)))
		eval := either(computed, p.started(id, engine.KVUtilization, sum(p.of(engine.KVUtilization, id))))
		if eval != nil {
			p.emit(f, p.forModel(id), eval)
		}
	}
}

// cacheBlocks are the blocks by state.
type cacheBlocks struct{}

// Compile implements Rule.
func (cacheBlocks) Compile(p *Plan, f *Family) {
	for _, s := range []struct {
		signal engine.Signal
		state  string
	}{{engine.KVBlocksUsed, "used"}, {engine.KVBlocksFree, "free"}} {
		for _, g := range p.groups[s.signal] {
			p.emit(f, p.forModel(g.id, "state", s.state), p.started(g.id, s.signal, g.last()))
		}
	}
}

// cacheCapacity is how many tokens the KV cache holds.
type cacheCapacity struct{}

// Compile implements Rule.
func (cacheCapacity) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.KVBlocksLimit) {
		blocks, each := sum(p.of(engine.KVBlocksLimit, id)), sum(p.of(engine.KVBlockTokens, id))
		if each == nil {
			continue
		}
		p.emit(f, p.forModel(id), p.started(id, engine.KVBlocksLimit, func(w *Window) (float64, bool) {
			b, okB := blocks(w)
			e, okE := each(w)
			return b * e, okB && okE
		}))
	}
}

// info tells the versions of the replica.
type info struct{}

// Compile implements Rule.
func (info) Compile(p *Plan, f *Family) {
	b := labels.NewBuilder(p.identity.Labels)
	b.Set("engine_version", p.identity.EngineVersion)
	b.Set("trtllm_version", p.identity.TRTLLMVersion)
	b.Set("trtllm_version_source", string(p.identity.Source))
	p.emit(f, b.Labels(), func(*Window) (float64, bool) { return 1, true })
}
