package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// pending is what waits in Triton's own queues for one model id. Ensembles
// have no queue of their own (core ensemble_scheduler.cc); what waits for a
// model behind the LLM is tokens of requests that run.
func (p *Plan) pending(id string) Eval { return p.sum(p.queues(id)) }

// queues are those queues.
func (p *Plan) queues(id string) []*group {
	return selected(p.of(engine.ModelPending, id), func(g *group) bool { return !p.identity.Topology.FollowsLLM(g.model) })
}

// queueDepth is everything that is known to wait. Without the engine's part
// it has a value only for models that Triton itself queues: its queues are
// empty for models that hand over at once, and say nothing.
func queueDepth() Rule {
	inEngine := waiting()
	return eachEntry(inEngine.inputs.or(anyOf(engine.ModelPending)), func(p *Plan, f *Family, id string) {
		core := p.pending(id)
		if waits := inEngine.of(p, id); waits != nil {
			p.emit(f, p.forModel(id), p.executorGate(id), add(core, waits))
		} else if p.queuedByCore(id) {
			p.emit(f, p.forModel(id), nil, core)
		}
	})
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
func queueSplit() Rule {
	inEngine := waiting()
	return eachEntry(inEngine.inputs.or(anyOf(engine.ModelPending)), func(p *Plan, f *Family, id string) {
		p.emit(f, p.forModel(id, "queue", "core"), nil, p.pending(id))
		p.emit(f, p.forModel(id, "queue", "engine"), p.executorGate(id), inEngine.of(p, id))
	}).by("queue")
}

// saturated says whether the executor admits no more: one that does not say how
// many it may, while requests wait in it.
func saturated() Rule {
	full := func(filled float64) float64 { return flag(filled >= 1) }
	waits := term{unlimited(), func(p *Plan, id string) Eval {
		if p.runsFull(id) == nil {
			return nil
		}
		return applied(p.total(engine.RequestsWaiting, id), func(n float64) float64 { return flag(n > 0) })
	}}
	return perEntry(known(apply(full, both(admitted(), requestsLimit(), ratio)), waits), (*Plan).executorGate)
}

// batchSize is the mean in-flight batch over the window.
func batchSize() Rule {
	return perEntry(term{allOf(engine.RequestsRunning), func(p *Plan, id string) Eval {
		var means []Eval
		for _, g := range p.of(engine.RequestsRunning, id) {
			if len(g.members) > 1 && g.meaning.Combine != engine.Sum {
				return nil
			}
			for _, c := range p.columnsOf(g.members) {
				means = append(means, func(w *Window) (float64, bool) { return w.Mean(c) })
			}
		}
		return add(means...)
	}}, (*Plan).executorGate).because(whyPages)
}

// saturation is demand by capacity. Without requests it is 0 whatever the
// limits are, for they are unknown before the first iteration; a replica that
// nothing asks has room. An engine that does not say how many requests it takes
// at once is as full as its KV cache, until requests wait in it.
func saturation() Rule {
	cacheUse, limit := cacheUse(), requestsLimit()
	return eachEntry(admitted().inputs.and(limit.inputs).or(unlimited()), func(p *Plan, f *Family, id string) {
		demand, most, cache := p.demand(id), limit.of(p, id), cacheUse.of(p, id)
		stated := most != nil
		if !stated {
			most = p.runsFull(id)
		}
		if most == nil {
			return
		}
		p.emit(f, p.forModel(id), p.held(id, without(checkZero), without(checkFlapping), without(checkStale), without(checkBlocks), without(checkFraction)), func(w *Window) (float64, bool) {
			asked, ok := demand(w)
			if !ok || asked <= 0 {
				return 0, ok
			}
			places, limited := most(w)
			used, cached := given(cache, w)
			if limited = limited && places > 0; limited {
				return max(asked/places, used), true
			}
			return used, cached && !stated
		})
	})
}

// unlimited are the signals of an engine that says what runs and what waits in it,
// if not how much may run.
func unlimited() inputs { return allOf(engine.RequestsRunning, engine.RequestsWaiting) }

// runsFull is how many requests an engine takes at once that does not say so: as
// many as run while others wait. It has no value while none waits, and is nil for
// what admits requests without saying how many of them run.
func (p *Plan) runsFull(id string) Eval {
	running, waits := p.total(engine.RequestsRunning, id), p.total(engine.RequestsWaiting, id)
	if running == nil || waits == nil || p.total(engine.RequestsActive, id) != nil {
		return nil
	}
	return func(w *Window) (float64, bool) {
		n, known := waits(w)
		v, ok := running(w)
		return max(v, 1), ok && known && n > 0
	}
}

// demand is how many requests are known to be in flight or to wait. Active
// requests of some servers hold the waiting ones; those of others do not.
func (p *Plan) demand(id string) Eval {
	admitted := admitted().of(p, id)
	if p.quirks.ActiveHoldsWaiting {
		return add(admitted, p.pending(id))
	}
	return p.orIdle(id, add(admitted, p.total(engine.RequestsWaiting, id)))
}

// orIdle takes a server for idle when no request ended over the window and its
// gauges show one at most: they are read only when requests end, and
// an executor's last iteration still counts the request that ended with it. Where
// the batch moves while requests run, it says itself whether there are any.
func (p *Plan) orIdle(id string, asked Eval) Eval {
	if asked == nil || !p.quirks.GaugesWhenRequestsEnd {
		return asked
	}
	ended := p.counted(p.of(engine.RequestsFinished, id))
	batch := p.total(engine.RequestsRunning, id)
	if p.sharing == engine.RanksUnseen {
		batch = nil
	}
	return func(w *Window) (float64, bool) {
		v, ok := asked(w)
		running, moves := given(batch, w)
		switch {
		case !ok || moves && running > 0 || !moves && v > 1:
			return v, ok
		case moves && v <= 1:
			return 0, true
		}
		for _, c := range ended {
			if w.since[c] == never || w.now-w.changed[c] < w.length {
				return v, ok
			}
		}
		return 0, len(ended) > 0
	}
}
