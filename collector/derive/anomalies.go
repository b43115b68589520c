package derive

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// The checks of llm_server_source_anomaly.
const (
	checkDurations = "decoupled_durations"
	checkFrozen    = "frozen_counters"
	checkZero      = "engine_zero"
	checkBlocks    = "kv_blocks_mismatch"
	checkFraction  = "kv_fraction_mismatch"
	checkSurvived  = "failures_survived_unload"
	checkFlapping  = "flapping_gauges"
	checkStale     = "stale_gauges"
)

// check is one check of what a server exposes, by model id: the value is 1 when
// it cannot be true, and nil where the page has too little for the check.
type check struct {
	name string
	term
}

// checks are those by model id; [Plan.impossible] is by model.
func checks() []check {
	const loaded, failed = engine.ModelSuccess, engine.ModelFailed
	return []check{
		{checkFrozen, term{allOf(loaded), (*Plan).frozen}},
		{checkZero, term{allOf(engine.RequestsLimit, engine.EngineIterations, loaded), (*Plan).zero}},
		{checkBlocks, term{allOf(engine.KVBlocksUsed, engine.KVBlocksFree, engine.KVBlocksLimit), (*Plan).blocksDiffer}},
		{checkFraction, term{allOf(engine.KVBlocksUsed, engine.KVBlocksLimit, engine.KVUtilization), (*Plan).fractionDiffers}},
		{checkSurvived, term{allOf(failed, loaded).or(allOf(unloadedFailures)), (*Plan).survived}},
		{checkFlapping, term{allOf(engine.EngineIterations), (*Plan).flapping}},
		{checkStale, term{allOf(engine.EngineIterations, failed).and(anyOf(engine.RequestsActive, engine.RequestsRunning)), (*Plan).stale}},
	}
}

// anomaly is a check of one model id or model of the page.
type anomaly struct {
	labels labels.Labels
	eval   Eval
}

// unloadedFailures are the failures of a model that is not loaded any more.
const unloadedFailures engine.Signal = "unloaded_failures"

// inspect prepares the checks that the page allows; rules ask for them.
func (p *Plan) inspect() {
	for _, g := range p.all(engine.ModelRequestSeconds) {
		p.check(checkDurations, g.model, withLabel(p.forModel(g.id), "model", g.model), p.impossible(g))
	}
	for _, c := range checks() {
		for _, id := range p.ids(c.inputs) {
			p.check(c.name, id, p.forModel(id), c.of(p, id))
		}
	}
}

// check adds one check of a model or of a model id; nil is none.
func (p *Plan) check(name, of string, lset labels.Labels, eval Eval) {
	if eval != nil {
		p.checks[name+of] = anomaly{withLabel(lset, "check", name), once(p, eval)}
	}
}

// anomalies are the checks as a family.
func anomalies() Rule {
	in := allOf(engine.ModelRequestSeconds, engine.ModelSuccess, engine.ModelFirstResponse)
	for _, c := range checks() {
		in = in.or(c.inputs)
	}
	return Rule{inputs: in, scope: OfEntry, labels: []string{"check", "model"}, why: "the checks compare a page with those before it", compile: func(p *Plan, f *Family) {
		for _, key := range sorted(p.checks) {
			p.emit(f, p.checks[key].labels, nil, p.checks[key].eval)
		}
	}}
}

// frozen checks for --metrics-config counter_latencies=false, which stops all
// counters of Triton's core at 0 and leaves the durations out.
func (p *Plan) frozen(id string) Eval {
	success := p.total(engine.ModelSuccess, id)
	left := len(p.of(engine.ModelRequestSeconds, id)) == 0
	all := p.counted(p.of(engine.ModelSuccess, id))
	_, counts := p.observations(slices.Concat(p.of(engine.ModelRequestDuration, id), p.of(engine.RequestOutputTokens, id)))
	if len(counts) == 0 && !left {
		return nil
	}
	const enough = 2
	all = append(all, counts...)
	return func(w *Window) (float64, bool) {
		if v, ok := success(w); !ok || v > 0 {
			return 0, ok
		}
		if left {
			return 1, true
		}
		row, _, ok := w.common(all)
		return flag(ok && w.grown(counts, row) >= enough), true
	}
}

// zero checks for an executor whose rows stay 0 while requests end, as with
// iter_stats_max_iterations=0.
func (p *Plan) zero(id string) Eval {
	limit, iterations := p.total(engine.RequestsLimit, id), p.total(engine.EngineIterations, id)
	ended := p.counted(p.front(engine.ModelSuccess, id))
	if len(ended) == 0 {
		return nil
	}
	const enough = 3
	return func(w *Window) (float64, bool) {
		most, okM := limit(w)
		n, okN := iterations(w)
		if !okM || !okN || most > 0 || n > 0 {
			return 0, okM && okN
		}
		for _, c := range ended {
			if grown, _, ok := w.Increase(c); ok && grown >= enough {
				return 1, true
			}
		}
		return 0, true
	}
}

// single is the one column of a signal of a model id, -1 when there are none
// or several.
func (p *Plan) single(signal engine.Signal, id string) int {
	if groups := p.of(signal, id); len(groups) == 1 && len(groups[0].members) == 1 {
		return p.column(groups[0].members[0])
	}
	return -1
}

// blocksDiffer checks that used and free blocks make up all blocks. A page can
// be written while the gauges change, so it takes two pages.
func (p *Plan) blocksDiffer(id string) Eval {
	used, free, most := p.single(engine.KVBlocksUsed, id), p.single(engine.KVBlocksFree, id), p.single(engine.KVBlocksLimit, id)
	return twice(func(v func(int) float64) bool { return math.Abs(v(used)+v(free)-v(most)) > 0.5 }, used, free, most)
}

// fractionDiffers checks the server's own share of used blocks.
func (p *Plan) fractionDiffers(id string) Eval {
	used, most, fraction := p.single(engine.KVBlocksUsed, id), p.single(engine.KVBlocksLimit, id), p.single(engine.KVUtilization, id)
	const tolerated = 0.01
	return twice(func(v func(int) float64) bool {
		return v(most) > 0 && math.Abs(v(used)/v(most)-v(fraction)) > tolerated
	}, used, most, fraction)
}

// twice is 1 when something is wrong on this page and on the one before.
func twice(wrong func(v func(int) float64) bool, columns ...int) Eval {
	for _, c := range columns {
		if c < 0 {
			return nil
		}
	}
	return func(w *Window) (float64, bool) {
		for _, c := range columns {
			if _, ok := w.Last(c); !ok {
				return 0, false
			}
		}
		return flag(wrong(w.value) && wrong(w.Before)), true
	}
}

// survived checks for failures that count on from before the model's load,
// which Triton keeps since 24.07 (core src/metric_model_reporter.cc).
func (p *Plan) survived(id string) Eval {
	if gone := p.of(unloadedFailures, id); len(gone) > 0 {
		return positive(p.sum(gone))
	}
	type pair struct{ failed, succeeded int }
	var pairs []pair
	for _, f := range p.of(engine.ModelFailed, id) {
		for _, s := range p.same(engine.ModelSuccess, f) {
			if len(s.members) == 1 && !p.takenOn(s) {
				for _, c := range p.columnsOf(f.members) {
					pairs = append(pairs, pair{c, p.column(s.members[0])})
				}
			}
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	return func(w *Window) (float64, bool) {
		for _, c := range pairs {
			if w.since[c.failed] < w.since[c.succeeded] && w.since[c.succeeded] != never && w.current[c.failed] > 0 {
				return 1, true
			}
		}
		return 0, true
	}
}

// flapping checks for several instances of a model in one Triton, which write
// the same gauges in turn, so that even the count of iterations falls.
func (p *Plan) flapping(id string) Eval {
	iterations := p.single(engine.EngineIterations, id)
	if iterations < 0 {
		return nil
	}
	return func(w *Window) (float64, bool) {
		_, ok := w.Last(iterations)
		return flag(w.fellBefore[iterations] >= max(w.now-w.length, 0)), ok
	}
}

// stale checks for an executor that says it has requests, while those that were sent
// failed and none succeeded since its last iteration: its process is gone, and what
// it wrote last stays on the page (seen on Triton 2.51).
func (p *Plan) stale(id string) Eval {
	flying := largest(p.counted(slices.Concat(p.of(engine.RequestsActive, id), p.of(engine.RequestsRunning, id))))
	moves := p.counted(slices.Concat(p.of(engine.EngineIterations, id), p.front(engine.ModelSuccess, id)))
	failures := p.counted(selected(p.of(engine.ModelFailed, id), func(g *group) bool { return g.class == engine.ClassServer }))
	return func(w *Window) (float64, bool) {
		n, ok := flying(w)
		last := w.latest(moves)
		return flag(n > 0 && w.now-last > w.gap && w.latest(failures) > last), ok
	}
}

// latest is when any of some columns changed last.
func (w *Window) latest(columns []int) (at int64) {
	for _, c := range columns {
		at = max(at, w.changed[c])
	}
	return at
}

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
