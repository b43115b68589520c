package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// pending returns the number of requests that wait in Triton's own queues for a model id.
func (p *Plan) pending(id string) Eval { return p.sum(p.queues(id)) }

// queues returns Triton's own queues for a model id. Ensembles have none (core
// ensemble_scheduler.cc); behind the LLM only tokens of running requests wait.
func (p *Plan) queues(id string) []*group {
	return filter(p.groupsOf(engine.ModelPending, id), func(g *group) bool { return !p.identity.Topology.FollowsLLM(g.model) })
}

// queueDepth exposes the number of requests known to wait. Without the engine's queue it has a
// value only for models that Triton itself queues: the queues of others are always empty.
func queueDepth() Rule {
	inEngine := waiting()
	return eachEntry(inEngine.inputs.or(anyOf(engine.ModelPending)), func(p *Plan, f *Family, id string) {
		core := p.pending(id)
		elsewhere := func(g *group) bool { return !p.identity.Topology.QueuedByCore(g.model) || p.executor(g.model) }
		if waits := inEngine.eval(p, id); waits != nil {
			p.emit(f, p.forModel(id), p.executorGate(id), add(core, waits))
		} else if !slices.ContainsFunc(p.groupsOf(engine.ModelPending, id), elsewhere) {
			p.emit(f, p.forModel(id), nil, core)
		}
	})
}

func queueSplit() Rule {
	inEngine := waiting()
	return eachEntry(inEngine.inputs.or(anyOf(engine.ModelPending)), func(p *Plan, f *Family, id string) {
		p.emit(f, p.forModel(id, "queue", "core"), nil, p.pending(id))
		p.emit(f, p.forModel(id, "queue", "engine"), p.executorGate(id), inEngine.eval(p, id))
	}).by("queue")
}

// saturated exposes whether the executor is full, or requests wait if its limit is unknown.
func saturated() Rule {
	full := func(filled float64) float64 { return flag(filled >= 1) }
	waits := term{unlimited(), func(p *Plan, id string) Eval {
		if p.runsFull(id) == nil {
			return nil
		}
		return positive(p.total(engine.RequestsWaiting, id))
	}}
	return perEntry(orElse(transformTerm(full, combineTerms(admitted(), requestsLimit(), ratio)), waits), executorRuns)
}

func batchSize() Rule {
	return perEntry(term{allOf(engine.RequestsRunning), func(p *Plan, id string) Eval {
		var means []Eval
		for _, g := range p.groupsOf(engine.RequestsRunning, id) {
			if len(g.members) > 1 && g.meaning.Combine != engine.Sum {
				return nil
			}
			for _, c := range p.columnsOf(g.members) {
				means = append(means, func(w *Window) (float64, bool) { return w.Mean(c) })
			}
		}
		return add(means...)
	}}, executorRuns).because(whyPages)
}

// saturation exposes demand divided by capacity, 0 without requests. An engine that does not
// expose its limit counts as full as its KV cache until requests wait in it.
func saturation() Rule {
	cacheUse, limits := cacheUse(), requestsLimit()
	return eachEntry(admitted().inputs.and(limits.inputs).or(unlimited()), func(p *Plan, f *Family, id string) {
		demand, limit, cache := p.demand(id), limits.eval(p, id), cacheUse.eval(p, id)
		stated := limit != nil
		if !stated {
			limit = p.runsFull(id)
		}
		if limit == nil {
			return
		}
		p.emit(f, p.forModel(id), p.gate(id, checkZero, checkFlapping, checkStale, checkBlocks, checkFraction), func(w *Window) (float64, bool) {
			requests, ok := demand(w)
			if !ok || requests <= 0 {
				return 0, ok
			}
			capacity, limited := limit(w)
			used, cached := valueOf(cache, w)
			if limited = limited && capacity > 0; limited {
				return max(requests/capacity, used), true
			}
			return used, cached && !stated
		})
	})
}

// unlimited returns the signals of an engine that does not expose its limit.
func unlimited() inputs { return allOf(engine.RequestsRunning, engine.RequestsWaiting) }

// runsFull returns the limit of an engine that does not expose it: the number of running requests
// while others wait. It returns nil if the engine exposes only admitted requests.
func (p *Plan) runsFull(id string) Eval {
	running, waits := p.total(engine.RequestsRunning, id), p.total(engine.RequestsWaiting, id)
	if running == nil || waits == nil || p.total(engine.RequestsActive, id) != nil {
		return nil
	}
	return func(w *Window) (float64, bool) {
		n, okWaits := waits(w)
		v, ok := running(w)
		return max(v, 1), ok && okWaits && n > 0
	}
}

// demand returns how many requests are known to be in flight or waiting.
func (p *Plan) demand(id string) Eval {
	admitted := admitted().eval(p, id)
	if p.quirks.ActiveHoldsWaiting {
		return add(admitted, p.pending(id))
	}
	return p.orIdle(id, add(admitted, p.total(engine.RequestsWaiting, id)))
}

// orIdle returns 0 if no request ended over the window and the gauges show at most one: they are
// updated only when requests end, and still count the ended request. A batch gauge that moves
// while requests run shows by itself whether there are any.
func (p *Plan) orIdle(id string, demand Eval) Eval {
	if demand == nil || !p.quirks.GaugesWhenRequestsEnd {
		return demand
	}
	ended := p.groupColumns(p.groupsOf(engine.RequestsFinished, id))
	batch := p.total(engine.RequestsRunning, id)
	if p.page.Ranks() == engine.RanksUnseen {
		batch = nil
	}
	return func(w *Window) (float64, bool) {
		v, ok := demand(w)
		running, moves := valueOf(batch, w)
		switch {
		case !ok || moves && running > 0 || !moves && v > 1:
			return v, ok
		case moves && v <= 1:
			return 0, true
		}
		if slices.ContainsFunc(ended, func(c int) bool { return w.since[c] == never || w.now-w.changed[c] < w.length }) {
			return v, ok
		}
		return 0, len(ended) > 0
	}
}

func executedBatch() Rule {
	in := allOf(engine.ModelInferences, engine.ModelExecutions)
	return Rule{inputs: in, like: engine.ModelInferences, why: whyModels, compile: func(p *Plan, f *Family) {
		for _, n := range p.groups[engine.ModelInferences] {
			if executions := p.sameModel(engine.ModelExecutions, n); !p.executor(n.model) && !p.identity.Topology.Ensemble(n.model) {
				p.emit(f, n.labels, p.gate(n.id, checkFrozen), growthRatio(p.columnsOf(n.members), p.groupColumns(executions)))
			}
		}
	}}
}

func queueCompute() Rule {
	in := allOf(engine.ModelQueueSeconds, engine.ModelComputeSeconds)
	return Rule{inputs: in, like: engine.ModelQueueSeconds, why: whyModels, compile: func(p *Plan, f *Family) {
		for _, q := range p.groups[engine.ModelQueueSeconds] {
			if phases := p.sameModel(engine.ModelComputeSeconds, q); !p.identity.Topology.Ensemble(q.model) && !p.handsOver(q.model) {
				p.emit(f, q.labels, p.gate(q.model, checkDurations), growthRatio(p.columnsOf(q.members), p.groupColumns(phases)))
			}
		}
	}}
}
