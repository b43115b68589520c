package derive

import (
	"cmp"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// estimate exposes the rate of a gauge about the last iteration, integrated over iterations.
func estimate(gauges ...engine.Signal) Rule {
	return eachModel(allOf(engine.EngineIterations).and(anyOf(gauges...)), func(v *View, m *Model, out *Out) {
		iterations, single := v.column(m, engine.EngineIterations)
		for _, gauge := range gauges {
			if column, ok := v.column(m, gauge); ok && single {
				total, seconds, ok := v.window.Product(column, iterations)
				out.Set(m, total/seconds, ok && v.Runs(m))
				return
			}
		}
	}).because(whyPages)
}

// tokensOfAll returns the token counters of the replica, or none if any engine has none.
func (v *View) tokensOfAll() []int {
	if s := v.shown(v.index.replica, engine.EngineIterations); s != nil {
		for _, g := range s.groups {
			if !v.Has(g.model, engine.GenerationTokens) {
				return nil
			}
		}
	}
	return v.counters(v.index.replica, engine.GenerationTokens)
}

// byTokens returns a rule for a value of the replica that is computed from the tokens of all models.
func byTokens(needs inputs, set func(v *View, out *Out)) Rule {
	const reason = "it is absent if an engine of the replica does not count its tokens, " +
		"and a query would add up the others"
	return Rule{needs: needs.and(allOf(engine.GenerationTokens)), scope: OfReplica, why: reason, page: set}.
		reads(engine.EngineIterations)
}

func tokensPerGPURule() Rule {
	return byTokens(anyOf(engine.GPUMemoryTotal, engine.GPUUtilization), tokensPerGPU)
}

// tokensPerGPU exposes the rate of tokens per GPU.
func tokensPerGPU(v *View, out *Out) {
	replica, tokens := v.index.replica, v.tokensOfAll()
	if len(tokens) == 0 {
		return
	}
	gpus := v.count(replica, engine.GPUMemoryTotal)
	gpus = cmp.Or(gpus, v.count(replica, engine.GPUUtilization))
	rate, ok := v.window.rate(tokens)
	out.Set(replica, rate/float64(gpus), ok)
}

// count returns how many series the page shows of a signal.
func (v *View) count(m *Model, signal engine.Signal) int {
	if s := v.shown(m, signal); s != nil {
		return len(s.groups)
	}
	return 0
}

func energyPerTokenRule() Rule { return byTokens(allOf(engine.GPUEnergy), energyPerToken) }

// energyPerToken exposes the energy of all GPUs per token.
func energyPerToken(v *View, out *Out) {
	tokens := v.tokensOfAll()
	energy := v.counters(v.index.replica, engine.GPUEnergy)
	if len(tokens) == 0 || len(energy) == 0 {
		return
	}
	perToken, ok := v.window.grownRatio(energy, tokens)
	out.Set(v.index.replica, perToken, ok && perToken > 0 && v.window.moving(energy))
}

func lastIterationRule() Rule { return eachModel(allOf(engine.EngineLastIter), lastIteration) }

// lastIteration exposes a timestamp whose unit changed with the release.
func lastIteration(v *View, m *Model, out *Out) {
	const micros, perSecond = 1e14, 1e6
	at, ok := v.Sum(m, engine.EngineLastIter)
	if at > micros {
		at /= perSecond
	}
	out.Set(m, at, ok && at > 0 && v.Runs(m))
}

func executedBatchRule() Rule {
	needs := allOf(engine.ModelInferences, engine.ModelExecutions)
	return ofPage(needs, engine.ModelInferences, executedBatch).because(whyModels)
}

// executedBatch exposes the mean batch of models that do not batch in flight.
func executedBatch(v *View, out *Out) {
	v.grownByInstance(out, engine.ModelInferences, engine.ModelExecutions, func(g *group) (bool, bool) {
		return g.batches, v.Trust(g.model, frozenCounters)
	})
}

func queueComputeRule() Rule {
	needs := allOf(engine.ModelQueueSeconds, engine.ModelComputeSeconds)
	return ofPage(needs, engine.ModelQueueSeconds, queueCompute).because(whyModels)
}

// queueCompute exposes the time that requests of a model wait, by the time that it computes.
func queueCompute(v *View, out *Out) {
	v.grownByInstance(out, engine.ModelQueueSeconds, engine.ModelComputeSeconds, func(g *group) (bool, bool) {
		return g.computes, v.Trust(g.instance, decoupledDurations)
	})
}

// grownByInstance exposes the growth of a counter of each model and version by that of another one. The
// function tells which have a series, which depends on the shape alone, and whether it is trusted now.
func (v *View) grownByInstance(out *Out, counter, by engine.Signal, has func(g *group) (series, trusted bool)) {
	for _, g := range v.shown(v.index.replica, counter).groups {
		series, trusted := has(g)
		if !series {
			continue
		}
		dividend, divisor := v.columns(&g.value), v.counters(g.instance, by)
		if len(divisor) > 0 {
			grown, ok := v.window.grownRatio(dividend, divisor)
			out.SetLabels(g.labels, grown, ok && trusted)
		}
	}
}
