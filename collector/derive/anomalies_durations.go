package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// impossible checks the times of a model's requests: a first response later
// than the mean request took, or an LLM done within a millisecond under an
// ensemble that is not. Both compare all that was counted since the load.
func (p *Plan) impossible(g *group) Eval {
	if p.handsOver(g.model) {
		return p.asked(g)
	}
	mean, first, whole := p.meanOf(g), p.firstResponse(g), p.ensembleOver(g)
	if mean == nil || first == nil && whole == nil {
		return nil
	}
	const instant, slow, later = 1e-3, 1e-2, 2
	return func(w *Window) (float64, bool) {
		took, ok := mean(w)
		if !ok {
			return 0, false
		}
		if v, ok := given(first, w); ok && v > later*took && v > instant {
			return 1, true
		}
		v, ok := given(whole, w)
		return flag(ok && v > slow && took < instant), true
	}
}

// given is a value that may be nil.
func given(e Eval, w *Window) (float64, bool) {
	if e == nil {
		return 0, false
	}
	return e(w)
}

// asked is 1 when a model had any request since its load.
func (p *Plan) asked(g *group) Eval { return positive(p.sum(p.same(engine.ModelSuccess, g))) }

// firstResponse is the mean time to a model's first response since its load.
func (p *Plan) firstResponse(g *group) Eval {
	for _, r := range p.same(engine.ModelFirstResponse, g) {
		if len(r.sum) == 1 && len(r.count) == 1 {
			return ratio(combine(p.columnsOf(r.sum), engine.Sum), combine(p.columnsOf(r.count), engine.Sum))
		}
	}
	return nil
}

// ensembleOver is the mean time of the ensemble over an LLM since its load.
func (p *Plan) ensembleOver(g *group) Eval {
	if !p.executor(g.model) {
		return nil
	}
	for _, e := range p.of(engine.ModelRequestSeconds, g.id) {
		if e.role == engine.RoleEntry && p.ensemble(e.model) {
			return p.meanOf(e)
		}
	}
	return nil
}

// meanOf is the mean time of a model's requests since its load.
func (p *Plan) meanOf(seconds *group) Eval {
	return ratio(p.last(seconds), p.sum(p.same(engine.ModelSuccess, seconds)))
}
