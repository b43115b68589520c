package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// executedBatch is the mean batch of models that Triton batches.
func executedBatch() Rule {
	in := allOf(engine.ModelInferences, engine.ModelExecutions).with(engine.EngineIterations)
	return Rule{inputs: in, like: engine.ModelInferences, compile: func(p *Plan, f *Family) {
		for _, n := range p.all(engine.ModelInferences) {
			if executions := p.same(engine.ModelExecutions, n); !p.executor(n.model) && !p.ensemble(n.model) {
				p.emit(f, n.labels, p.onlyWithout(checkFrozen, n.id), quotient(p.columnsOf(n.members), p.counted(executions)))
			}
		}
	}}
}

// queueCompute is time in queue by time of computing.
func queueCompute() Rule {
	in := allOf(engine.ModelQueueSeconds, engine.ModelComputeSeconds)
	return Rule{inputs: in, like: engine.ModelQueueSeconds, compile: func(p *Plan, f *Family) {
		for _, q := range p.all(engine.ModelQueueSeconds) {
			if phases := p.same(engine.ModelComputeSeconds, q); !p.ensemble(q.model) && !p.handsOver(q.model) {
				p.emit(f, q.labels, p.onlyWithout(checkDurations, q.model), quotient(p.columnsOf(q.members), p.counted(phases)))
			}
		}
	}}
}
