package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// executedBatch is the mean batch of models that Triton batches.
func executedBatch() Rule {
	in := allOf(engine.ModelInferences, engine.ModelExecutions)
	return Rule{inputs: in, like: engine.ModelInferences, why: whyModels, compile: func(p *Plan, f *Family) {
		for _, n := range p.all(engine.ModelInferences) {
			if executions := p.same(engine.ModelExecutions, n); !p.executor(n.model) && !p.ensemble(n.model) {
				p.emit(f, n.labels, p.onlyWithout(checkFrozen, n.id), quotient(p.columnsOf(n.members), p.counted(executions)))
			}
		}
	}}
}

// adapters is 1 with the labels of the last of several sets, each of which says
// when it was written.
func adapters() Rule {
	return Rule{inputs: allOf(engine.AdaptersWritten), like: engine.AdaptersWritten, why: whyShown, compile: func(p *Plan, f *Family) {
		groups := p.all(engine.AdaptersWritten)
		latest := make([]Eval, len(groups))
		for i, g := range groups {
			latest[i] = p.last(g)
		}
		for i, g := range groups {
			p.emit(f, g.labels, nil, func(w *Window) (float64, bool) {
				own, ok := latest[i](w)
				for n, other := range latest {
					if v, there := other(w); there && g.id == groups[n].id && v > own {
						return 0, false
					}
				}
				return 1, ok
			})
		}
	}}
}

// queueCompute is time in queue by time of computing.
func queueCompute() Rule {
	in := allOf(engine.ModelQueueSeconds, engine.ModelComputeSeconds)
	return Rule{inputs: in, like: engine.ModelQueueSeconds, why: whyModels, compile: func(p *Plan, f *Family) {
		for _, q := range p.all(engine.ModelQueueSeconds) {
			if phases := p.same(engine.ModelComputeSeconds, q); !p.ensemble(q.model) && !p.handsOver(q.model) {
				p.emit(f, q.labels, p.onlyWithout(checkDurations, q.model), quotient(p.columnsOf(q.members), p.counted(phases)))
			}
		}
	}}
}
