package derive

import (
	"maps"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// hold is what may hold a value of a model id back: it gives a gate.
type hold func(p *Plan, id string) Gate

// without holds a value back while a check finds its anomaly.
func without(check string) hold {
	return func(p *Plan, id string) Gate { return p.onlyWithout(check, id) }
}

// held is the gate that is open when nothing holds a value back.
func (p *Plan) held(id string, holds ...hold) Gate {
	gates := make([]Gate, len(holds))
	for i, h := range holds {
		gates[i] = h(p, id)
	}
	return every(gates...)
}

// sorted are the keys of a map in order.
func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// gateOf is what holds a group's value back: gauges of an executor that has
// not started or is several, durations that cannot be, what Triton counts
// together with durations and so not at all where durations are off.
func (p *Plan) gateOf(g *group) Gate {
	switch g.signal {
	case engine.SpecDraft, engine.SpecAccepted:
		if p.sharing == engine.RanksUnsure || p.sharing == engine.RanksApart {
			// Each rank's row repeats the same, so that only the ratio is right.
			return func(*Window) bool { return false }
		}
		return nil
	case engine.RequestsActive, engine.RequestsRunning, engine.RequestsWaiting, engine.RequestsPrefill,
		engine.RequestsDecode, engine.RequestsPaused, engine.RequestsLimit, engine.KVBlocksLimit,
		engine.KVBlocksUsed, engine.KVBlocksFree, engine.KVBlockTokens, engine.KVUtilization,
		engine.EngineMemory, engine.ContextTokens, engine.StaticGeneration, engine.StaticFreeSlots,
		engine.EngineLastIter, engine.IterationDuration, engine.PrefillOccupancy:
		return p.executorGate(g.id)
	case engine.EngineIterations, engine.KVBlocksReused:
		return p.onlyWithout(checkFlapping, g.id)
	case engine.FirstToken, engine.OutputToken, engine.InterToken:
		return p.tokenGate(g.id)
	case engine.ModelSuccess, engine.ModelFailed, engine.ModelInferences, engine.ModelExecutions, engine.ModelQueueSeconds:
		return p.onlyWithout(checkFrozen, g.id)
	default:
		if durationSignal(g.signal) {
			return p.onlyWithout(checkDurations, g.model)
		}
		return nil
	}
}

// executorGate holds back an engine's gauges until its first iteration:
// TensorRT-LLM shows all of them as 0, the limit of requests too, from load
// until then. It holds them back as well while what measures the engine stands
// still, or they are of a process that is gone.
func (p *Plan) executorGate(id string) Gate {
	flapping, stale := p.checks[checkFlapping+id].eval, p.checks[checkStale+id].eval
	limit := p.sum(p.byID[signalOf{engine.RequestsLimit, id}])
	beats := p.counted(p.byID[signalOf{engine.EngineHeartbeat, id}])
	if limit == nil && flapping == nil && stale == nil && len(beats) == 0 {
		return nil
	}
	return func(w *Window) bool {
		most, ok := given(limit, w)
		return !(ok && most <= 0) && !wrong(flapping, w) && !wrong(stale, w) && (len(beats) == 0 || w.beating(beats))
	}
}

// tokenGate holds the times of tokens back where requests ended and none was ever
// generated: vLLM's of models that embed or rank are those of whole requests.
func (p *Plan) tokenGate(id string) Gate {
	tokens, ended := p.sum(p.byID[signalOf{engine.GenerationTokens, id}]), p.sum(p.byID[signalOf{engine.RequestsFinished, id}])
	if tokens == nil || ended == nil {
		return nil
	}
	return func(w *Window) bool {
		n, known := tokens(w)
		requests, _ := ended(w)
		return !known || n > 0 || requests <= 0
	}
}

// gatesOf is what holds any of some groups back.
func (p *Plan) gatesOf(groups []*group) Gate {
	gates := make([]Gate, len(groups))
	for i, g := range groups {
		gates[i] = p.gateOf(g)
	}
	return every(gates...)
}

// beating says whether any of the heartbeats moved lately.
func (w *Window) beating(beats []int) bool {
	const patience = 3
	for _, c := range beats {
		if v, ok := w.Last(c); ok && v > 0 && w.now-w.changed[c] <= patience*w.gap {
			return true
		}
	}
	return false
}

// onlyWithout is open while an anomaly is not there.
func (p *Plan) onlyWithout(check, of string) Gate {
	a, ok := p.checks[check+of]
	if !ok {
		return nil
	}
	return func(w *Window) bool { return !wrong(a.eval, w) }
}

// every is a gate that is open when all are; nil where none can be closed.
func every(gates ...Gate) Gate {
	gates = slices.DeleteFunc(gates, func(g Gate) bool { return g == nil })
	if len(gates) < 2 {
		return append(gates, nil)[0]
	}
	return func(w *Window) bool { return !slices.ContainsFunc(gates, func(g Gate) bool { return !g(w) }) }
}

// wrong says whether a check found its anomaly; nil finds none.
func wrong(check Eval, w *Window) bool {
	v, ok := given(check, w)
	return ok && v > 0
}

// falsified says whether a group is not known to mean what it says: times of
// models that hand their requests over, or may do so.
func (p *Plan) falsified(g *group) bool {
	return durationSignal(g.signal) && !p.trusted(g.model)
}

// durationSignal says whether a signal is a time that ends with the request's
// hand-over in models that hand over.
func durationSignal(s engine.Signal) bool {
	switch s {
	case engine.ModelRequestSeconds, engine.ModelComputeSeconds, engine.ModelRequestDuration, engine.ModelRequestTimes,
		engine.ModelInputDuration, engine.ModelInferDuration, engine.ModelOutputDuration:
		return true
	default:
		return false
	}
}
