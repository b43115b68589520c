package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// estimate is what a gauge of the last iteration comes to a second when each
// iteration since the page before was like it.
type estimate struct{ signals []engine.Signal }

// Compile implements Rule.
func (r estimate) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.EngineIterations) {
		iterations := p.single(engine.EngineIterations, id)
		for _, s := range r.signals {
			each := p.single(s, id)
			if each < 0 || iterations < 0 {
				continue
			}
			p.emit(f, p.forModel(id), p.executorGate(id), func(w *Window) (float64, bool) {
				total, seconds, ok := w.Product(each, iterations)
				return total / seconds, ok
			})
			break
		}
	}
}

// tokensOfAll are the counters of tokens that all models of the replica
// generate, none where any engine of it does not count them.
func (p *Plan) tokensOfAll() []int {
	for _, id := range p.ids(engine.EngineIterations) {
		if len(p.of(engine.GenerationTokens, id)) == 0 {
			return nil
		}
	}
	return p.counted(p.groups[engine.GenerationTokens])
}

// tokensPerGPU is tokens by GPUs.
type tokensPerGPU struct{}

// Compile implements Rule.
func (tokensPerGPU) Compile(p *Plan, f *Family) {
	gpus := len(p.groups[engine.GPUMemoryTotal])
	if gpus == 0 {
		gpus = len(p.groups[engine.GPUUtilization])
	}
	if gpus > 0 {
		p.emit(f, p.identity.Labels, 0, ratio(rates(p.tokensOfAll()), constant(float64(gpus))))
	}
}

// energyPerToken is energy by tokens.
type energyPerToken struct{}

// Compile implements Rule.
func (energyPerToken) Compile(p *Plan, f *Family) {
	p.emit(f, p.identity.Labels, 0, quotient(p.counted(p.groups[engine.GPUEnergy]), p.tokensOfAll()))
}

// cacheUse is the share of KV cache blocks in use: computed, else told.
func (p *Plan) cacheUse(id string) Eval {
	computed := ratio(p.total(engine.KVBlocksUsed, id), p.total(engine.KVBlocksLimit, id))
	return either(computed, p.total(engine.KVUtilization, id))
}

// cacheUse is the share of KV cache blocks in use.
type cacheUse struct{}

// Compile implements Rule.
func (cacheUse) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.KVBlocksUsed, engine.KVUtilization) {
		gate := p.both(p.executorGate(id), p.both(p.onlyWithout(checkBlocks, id), p.onlyWithout(checkFraction, id)))
		p.emit(f, p.forModel(id), gate, p.cacheUse(id))
	}
}

// cacheTokens are blocks in tokens.
type cacheTokens struct{ blocks engine.Signal }

// Compile implements Rule.
func (r cacheTokens) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(r.blocks) {
		gate := p.both(p.executorGate(id), p.onlyWithout(checkBlocks, id))
		p.emit(f, p.forModel(id), gate, times(p.total(r.blocks, id), p.total(engine.KVBlockTokens, id)))
	}
}

// reuseEstimate is the share of prompt tokens that the blocks reused hold.
type reuseEstimate struct{}

// Compile implements Rule.
func (reuseEstimate) Compile(p *Plan, f *Family) {
	for _, id := range p.ids(engine.KVBlocksReused) {
		if len(p.of(engine.KVBlocksMissed, id)) > 0 {
			continue
		}
		reused := times(p.rateOf(p.of(engine.KVBlocksReused, id)), p.total(engine.KVBlockTokens, id))
		p.emit(f, p.forModel(id), p.onlyWithout(checkFlapping, id), atMost(ratio(reused, p.rateOf(p.of(engine.PromptTokens, id))), 1))
	}
}

// lastIteration is a timestamp whose unit changed with the release.
type lastIteration struct{}

// Compile implements Rule.
func (lastIteration) Compile(p *Plan, f *Family) {
	const micros, perSecond = 1e14, 1e6
	for _, id := range p.ids(engine.EngineLastIter) {
		at := p.total(engine.EngineLastIter, id)
		p.emit(f, p.forModel(id), p.executorGate(id), func(w *Window) (float64, bool) {
			v, ok := at(w)
			if v > micros {
				v /= perSecond
			}
			return v, ok && v > 0
		})
	}
}
