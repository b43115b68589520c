package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// estimate is what a gauge of the last iteration comes to a second when each
// iteration since the page before was like it: the first of the gauges that the
// page has once.
func estimate(gauges ...engine.Signal) Rule {
	return perEntry(term{allOf(engine.EngineIterations).and(anyOf(gauges...)), func(p *Plan, id string) Eval {
		iterations := p.single(engine.EngineIterations, id)
		for _, s := range gauges {
			if each := p.single(s, id); each >= 0 && iterations >= 0 {
				return func(w *Window) (float64, bool) {
					total, seconds, ok := w.Product(each, iterations)
					return total / seconds, ok
				}
			}
		}
		return nil
	}}, (*Plan).executorGate).because(whyPages)
}

// tokensOfAll are the counters of tokens that all models of the replica
// generate, none where any engine of it does not count them.
func (p *Plan) tokensOfAll() []int {
	for _, g := range p.all(engine.EngineIterations) {
		if len(p.of(engine.GenerationTokens, g.id)) == 0 {
			return nil
		}
	}
	return p.counted(p.all(engine.GenerationTokens))
}

// byTokens is of the replica, with the tokens of all its models.
func byTokens(in inputs, of func(p *Plan, tokens []int) Eval) Rule {
	in = in.and(allOf(engine.GenerationTokens))
	const why = "it is absent where one engine of the replica does not count its tokens, and a query would add up the others"
	return Rule{inputs: in, scope: OfReplica, why: why, compile: func(p *Plan, f *Family) {
		p.emit(f, p.identity.Labels, nil, of(p, p.tokensOfAll()))
	}}
}

// tokensPerGPU is tokens by GPUs.
func tokensPerGPU() Rule {
	return byTokens(anyOf(engine.GPUMemoryTotal, engine.GPUUtilization), func(p *Plan, tokens []int) Eval {
		gpus := len(p.all(engine.GPUMemoryTotal))
		if gpus == 0 {
			gpus = len(p.all(engine.GPUUtilization))
		}
		return ratio(rates(tokens), constant(float64(gpus)))
	})
}

// energyPerToken is energy by tokens.
func energyPerToken() Rule {
	return byTokens(allOf(engine.GPUEnergy), func(p *Plan, tokens []int) Eval {
		return quotient(p.counted(p.all(engine.GPUEnergy)), tokens)
	})
}

// tokensOf are the tokens that blocks of the cache hold.
func tokensOf(tokens term) Rule { return perEntry(tokens, (*Plan).executorGate, without(checkBlocks)) }

// reuseEstimate is the share of prompt tokens that the blocks reused hold. Next to
// the blocks that were missed, which give the share itself, there is none.
func reuseEstimate() Rule {
	reused := both(rate(engine.KVBlocksReused), total(engine.KVBlockTokens), times)
	share := apply(func(v float64) float64 { return min(v, 1) }, both(reused, rate(engine.PromptTokens), ratio))
	return perEntry(term{share.inputs, func(p *Plan, id string) Eval {
		if len(p.of(engine.KVBlocksMissed, id)) > 0 {
			return nil
		}
		return share.of(p, id)
	}}, without(checkFlapping)).
		because("it is absent while several instances write the count of blocks in turn, and next to the count of blocks that were missed")
}

// lastIteration is a timestamp whose unit changed with the release.
func lastIteration() Rule {
	const micros, perSecond = 1e14, 1e6
	return eachEntry(allOf(engine.EngineLastIter), func(p *Plan, f *Family, id string) {
		at := p.total(engine.EngineLastIter, id)
		p.emit(f, p.forModel(id), p.executorGate(id), func(w *Window) (float64, bool) {
			v, ok := at(w)
			if v > micros {
				v /= perSecond
			}
			return v, ok && v > 0
		})
	})
}
