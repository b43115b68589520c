package derive

import (
	"cmp"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// estimate exposes the rate of a gauge about the last iteration, integrated over iterations.
func estimate(gauges ...engine.Signal) Rule {
	return perEntry(term{allOf(engine.EngineIterations).and(anyOf(gauges...)), func(p *Plan, id string) Eval {
		iterations := p.singleColumn(engine.EngineIterations, id)
		for _, s := range gauges {
			if column := p.singleColumn(s, id); column != -1 && iterations != -1 {
				return func(w *Window) (float64, bool) {
					total, seconds, ok := w.Product(column, iterations)
					return total / seconds, ok
				}
			}
		}
		return nil
	}}, executorRuns).because(whyPages)
}

// tokensOfAll returns the token counters of the replica, or nil if any engine has none.
func (p *Plan) tokensOfAll() []int {
	for _, g := range p.groups[engine.EngineIterations] {
		if len(p.groupsOf(engine.GenerationTokens, g.id)) == 0 {
			return nil
		}
	}
	return p.groupColumns(p.groups[engine.GenerationTokens])
}

// byTokens exposes a value of the replica, computed from the tokens of all its models.
func byTokens(in inputs, eval func(p *Plan, tokens []int) Eval) Rule {
	in = in.and(allOf(engine.GenerationTokens))
	const reason = "it is absent if an engine of the replica does not count its tokens, and a query would add up the others"
	return Rule{inputs: in, scope: OfReplica, why: reason, compile: func(p *Plan, f *Family) {
		p.emit(f, p.identity.Labels, nil, eval(p, p.tokensOfAll()))
	}}
}

func tokensPerGPU() Rule {
	return byTokens(anyOf(engine.GPUMemoryTotal, engine.GPUUtilization), func(p *Plan, tokens []int) Eval {
		gpus := cmp.Or(len(p.groups[engine.GPUMemoryTotal]), len(p.groups[engine.GPUUtilization]))
		return ratio(growthRate(tokens), constant(float64(gpus)))
	})
}

func energyPerToken() Rule {
	return byTokens(allOf(engine.GPUEnergy), func(p *Plan, tokens []int) Eval {
		energy := p.groupColumns(p.groups[engine.GPUEnergy])
		perToken, moves := growthRatio(energy, tokens), moving(energy)
		if perToken == nil {
			return nil
		}
		return func(w *Window) (float64, bool) {
			v, ok := perToken(w)
			return v, ok && v > 0 && moves(w)
		}
	})
}

// reuseEstimate exposes the share of prompt tokens in reused blocks, unless the server counts it.
func reuseEstimate() Rule {
	reused := combineTerms(rate(engine.KVBlocksReused), total(engine.KVBlockTokens), product)
	share := transformTerm(func(v float64) float64 { return min(v, 1) }, combineTerms(reused, rate(engine.PromptTokens), ratio))
	return perEntry(term{share.inputs, func(p *Plan, id string) Eval {
		if len(p.groupsOf(engine.KVBlocksMissed, id)) > 0 {
			return nil
		}
		return share.eval(p, id)
	}}, checkFlapping).
		because("it is absent while several instances write the count of blocks in turn, and if missed blocks are counted")
}

// lastIteration exposes a timestamp whose unit changed with the release.
func lastIteration() Rule {
	const micros, perSecond = 1e14, 1e6
	return eachEntry(allOf(engine.EngineLastIter), func(p *Plan, f *Family, id string) {
		timestamp := p.total(engine.EngineLastIter, id)
		p.emit(f, p.forModel(id), p.executorGate(id), func(w *Window) (float64, bool) {
			v, ok := timestamp(w)
			if v > micros {
				v /= perSecond
			}
			return v, ok && v > 0
		})
	})
}
