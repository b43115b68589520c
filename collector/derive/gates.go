package derive

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Gate reports whether a value may be exposed on a page; a nil gate is always open.
type Gate func(w *Window) bool

func (g Gate) open(w *Window) bool { return g == nil || g(w) }

// executorRuns makes [Plan.gate] include [Plan.executorGate].
const executorRuns = "executor_runs"

// gate returns a gate that is closed while any of the checks detects its anomaly.
func (p *Plan) gate(id string, checks ...string) Gate {
	var gates []Gate
	for _, name := range checks {
		if name == executorRuns {
			gates = append(gates, p.executorGate(id))
		} else if check, ok := p.checks[name+id]; ok {
			gates = append(gates, func(w *Window) bool { return !isPositive(check.eval, w) })
		}
	}
	return every(gates...)
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// gateOf returns the gate of a group's value, which is closed while the size of what it is a part of
// is on the page and unknown.
func (p *Plan) gateOf(g *group) Gate {
	var gates []Gate
	for _, size := range p.groups[g.signal.Size()] {
		if labels.Equal(size.labels, g.labels) {
			gates = append(gates, known(p.value(size)))
		}
	}
	return every(append(gates, p.gateOfSignal(g))...)
}

func known(e Eval) Gate {
	return func(w *Window) bool {
		_, ok := e(w)
		return ok
	}
}

// gateOfSignal returns the gate of a group's signal. If durations are disabled, Triton does not
// count the other counters that it updates with them.
func (p *Plan) gateOfSignal(g *group) Gate {
	switch g.signal {
	case engine.SpecDraft, engine.SpecAccepted:
		if ranks := p.page.Ranks(); ranks == engine.RanksUnsure || ranks == engine.RanksApart {
			// The rows of all ranks repeat the same values, so that only the ratio is right.
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
		return p.gate(g.id, checkFlapping)
	case engine.GPUEnergy:
		return moving(p.columnsOf(g.members))
	case engine.FirstToken, engine.OutputToken, engine.InterToken:
		return p.tokenGate(g.id)
	case engine.ModelSuccess, engine.ModelFailed, engine.ModelInferences, engine.ModelExecutions, engine.ModelQueueSeconds:
		return p.gate(g.id, checkFrozen)
	default:
		if durationSignal(g.signal) {
			return p.gate(g.model, checkDurations)
		}
		return nil
	}
}

// executorGate is closed before an engine's first iteration, when TensorRT-LLM shows all gauges as
// 0, even the limit of requests, and while its gauges stand still or belong to an ended process.
// A limit of 0 is unknown, so that requests in flight show that the engine runs.
func (p *Plan) executorGate(id string) Gate {
	flapping, stale := p.checks[checkFlapping+id].eval, p.checks[checkStale+id].eval
	limit, heartbeats := p.total(engine.RequestsLimit, id), p.groupColumns(p.groupsOf(engine.EngineHeartbeat, id))
	requests := p.sum(slices.Concat(p.groupsOf(engine.RequestsActive, id), p.groupsOf(engine.RequestsRunning, id)))
	const patience = 3
	return func(w *Window) bool {
		_, limited := valueOf(limit, w)
		runs := limit == nil || limited || isPositive(requests, w)
		beats := func(c int) bool { return w.current[c] > 0 && w.now-w.changed[c] <= patience*w.gap }
		alive := len(heartbeats) == 0 || slices.ContainsFunc(heartbeats, beats)
		return runs && alive && !isPositive(flapping, w) && !isPositive(stale, w)
	}
}

// moving is closed while any of the columns stood still for a whole window: the energy of a GPU always
// grows, unless its sensor fails.
func moving(columns []int) Gate {
	return func(w *Window) bool {
		return !slices.ContainsFunc(columns, func(c int) bool { return w.now-w.changed[c] > w.length })
	}
}

// tokenGate is closed while requests ended but none generated a token: the token times of vLLM's
// embedding and ranking models are the durations of requests.
func (p *Plan) tokenGate(id string) Gate {
	tokens, ended := p.total(engine.GenerationTokens, id), p.total(engine.RequestsFinished, id)
	return func(w *Window) bool {
		n, ok := valueOf(tokens, w)
		requests, _ := valueOf(ended, w)
		return !ok || n > 0 || requests <= 0
	}
}

func (p *Plan) gatesOf(groups []*group) Gate {
	gates := make([]Gate, len(groups))
	for i, g := range groups {
		gates[i] = p.gateOf(g)
	}
	return every(gates...)
}

// every returns a gate that is open if all gates are.
func every(gates ...Gate) Gate {
	gates = slices.DeleteFunc(gates, func(g Gate) bool { return g == nil })
	if len(gates) < 2 {
		return append(gates, nil)[0]
	}
	return func(w *Window) bool { return !slices.ContainsFunc(gates, func(g Gate) bool { return !g(w) }) }
}

// isPositive reports whether there is a value and it is above 0.
func isPositive(e Eval, w *Window) bool {
	v, ok := valueOf(e, w)
	return ok && v > 0
}

// endsEarly reports whether the times of a group may end when a model hands its requests over.
func (p *Plan) endsEarly(g *group) bool { return durationSignal(g.signal) && !p.trusted(g.model) }

// durationSignal reports whether a signal is a time that ends early if requests are handed over.
func durationSignal(s engine.Signal) bool {
	switch s {
	case engine.ModelRequestSeconds, engine.ModelComputeSeconds, engine.ModelRequestDuration, engine.ModelRequestTimes,
		engine.ModelInputDuration, engine.ModelInferDuration, engine.ModelOutputDuration:
		return true
	default:
		return false
	}
}
