package derive

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Checks of llm_server_source_anomaly.
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

// check detects an anomaly in what a server exposes for a model id: its value is 1 if that cannot
// be true. Its Eval is nil if the page shows too little.
type check struct {
	name string
	term
}

// checks returns the checks per model id; [Plan.impossible] is per model.
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

// unloadedFailures is the signal of failures of a model that is no longer loaded.
const unloadedFailures engine.Signal = "unloaded_failures"

func (p *Plan) addChecks() {
	for _, g := range p.groups[engine.ModelRequestSeconds] {
		p.addCheck(checkDurations, g.model, withLabels(p.forModel(g.id), "model", g.model), p.impossible(g))
	}
	for _, c := range checks() {
		for _, id := range p.ids(c.inputs) {
			p.addCheck(c.name, id, p.forModel(id), c.eval(p, id))
		}
	}
}

func (p *Plan) addCheck(name, id string, lset labels.Labels, eval Eval) {
	if eval != nil {
		p.checks[name+id] = anomaly{withLabels(lset, "check", name), oncePerPage(p, eval)}
	}
}

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

// frozen detects --metrics-config counter_latencies=false, with which all counters of Triton's
// core stay 0 and the durations are missing.
func (p *Plan) frozen(id string) Eval {
	success := p.groupColumns(p.groupsOf(engine.ModelSuccess, id))
	durationsOff := len(p.groupsOf(engine.ModelRequestSeconds, id)) == 0
	_, counts := p.observations(slices.Concat(p.groupsOf(engine.ModelRequestDuration, id), p.groupsOf(engine.RequestOutputTokens, id)))
	if len(counts) == 0 && !durationsOff {
		return nil
	}
	const minRequests = 2
	all := slices.Concat(success, counts)
	return func(w *Window) (float64, bool) {
		if v, ok := w.totals(success); !ok || v > 0 {
			return 0, ok
		}
		if durationsOff {
			return 1, true
		}
		row, _, ok := w.stretch(all)
		return flag(ok && w.increaseFrom(row, counts) >= minRequests), true
	}
}

// zero detects rows that stay 0 while requests end, as with iter_stats_max_iterations=0.
func (p *Plan) zero(id string) Eval {
	limit, iterations := p.total(engine.RequestsLimit, id), p.total(engine.EngineIterations, id)
	ended := p.groupColumns(p.entryGroups(engine.ModelSuccess, id))
	if len(ended) == 0 {
		return nil
	}
	const minRequests = 3
	return func(w *Window) (float64, bool) {
		_, limited := limit(w)
		n, ok := iterations(w)
		if !ok || limited || n > 0 {
			return 0, ok
		}
		return flag(slices.ContainsFunc(ended, func(c int) bool {
			grown, _, ok := w.Increase(c)
			return ok && grown >= minRequests
		})), true
	}
}

// singleColumn returns the only column of a signal of a model id, -1 if it is not the only one.
func (p *Plan) singleColumn(signal engine.Signal, id string) int {
	if groups := p.groupsOf(signal, id); len(groups) == 1 && len(groups[0].members) == 1 {
		return p.column(groups[0].members[0])
	}
	return -1
}

// blocksDiffer detects used and free blocks that do not add up to all blocks.
func (p *Plan) blocksDiffer(id string) Eval {
	used, free, limit := p.singleColumn(engine.KVBlocksUsed, id), p.singleColumn(engine.KVBlocksFree, id), p.singleColumn(engine.KVBlocksLimit, id)
	return twice(func(v func(int) float64) bool { return math.Abs(v(used)+v(free)-v(limit)) > 0.5 }, used, free, limit)
}

// fractionDiffers detects a wrong fraction of used blocks on the server's page.
func (p *Plan) fractionDiffers(id string) Eval {
	used, limit, fraction := p.singleColumn(engine.KVBlocksUsed, id), p.singleColumn(engine.KVBlocksLimit, id), p.singleColumn(engine.KVUtilization, id)
	const tolerated = 0.01
	return twice(func(v func(int) float64) bool {
		return v(limit) > 0 && math.Abs(v(used)/v(limit)-v(fraction)) > tolerated
	}, used, limit, fraction)
}

// twice returns 1 if two pages in a row are wrong: gauges may change while a page is written.
func twice(wrong func(v func(int) float64) bool, columns ...int) Eval {
	if slices.Contains(columns, -1) {
		return nil
	}
	return func(w *Window) (float64, bool) {
		_, ok := w.totals(columns)
		newest := func(c int) float64 { return w.current[c] }
		before := func(c int) float64 { return w.previous[c] }
		return flag(wrong(newest) && wrong(before)), ok
	}
}

// survived detects failures from before the model was loaded, which Triton retains since 24.07
// (core src/metric_model_reporter.cc).
func (p *Plan) survived(id string) Eval {
	if unloaded := p.total(unloadedFailures, id); unloaded != nil {
		return positive(unloaded)
	}
	type pair struct{ failed, succeeded int }
	var pairs []pair
	for _, f := range p.groupsOf(engine.ModelFailed, id) {
		for _, s := range p.sameModel(engine.ModelSuccess, f) {
			if len(s.members) == 1 && !p.countsAcceptance(s) {
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
		return flag(slices.ContainsFunc(pairs, func(c pair) bool {
			return w.since[c.failed] < w.since[c.succeeded] && w.since[c.succeeded] != never && w.current[c.failed] > 0
		})), true
	}
}

// flapping detects several instances of a model in one Triton that overwrite each other's gauges,
// so that even the iteration counter decreases.
func (p *Plan) flapping(id string) Eval {
	iterations := p.singleColumn(engine.EngineIterations, id)
	if iterations == -1 {
		return nil
	}
	return func(w *Window) (float64, bool) {
		_, ok := w.Last(iterations)
		return flag(w.resetBefore[iterations] >= max(w.now-w.length, 0)), ok
	}
}

// stale detects an executor that shows requests although requests failed and none succeeded since
// its last iteration: its process ended, and its last values stay (seen on Triton 2.51).
func (p *Plan) stale(id string) Eval {
	inFlight := largest(p.groupColumns(slices.Concat(p.groupsOf(engine.RequestsActive, id), p.groupsOf(engine.RequestsRunning, id))))
	moves := p.groupColumns(slices.Concat(p.groupsOf(engine.EngineIterations, id), p.entryGroups(engine.ModelSuccess, id)))
	failures := p.groupColumns(filter(p.groupsOf(engine.ModelFailed, id), func(g *group) bool { return g.class == engine.ClassServer }))
	return func(w *Window) (float64, bool) {
		n, ok := inFlight(w)
		last := w.lastChange(moves)
		return flag(n > 0 && w.now-last > w.gap && w.lastChange(failures) > last), ok
	}
}

func (w *Window) lastChange(columns []int) (last int64) {
	for _, c := range columns {
		last = max(last, w.changed[c])
	}
	return last
}

// impossible detects impossible times of a model's requests: a mean first response later than the
// mean duration, or an LLM that takes under a millisecond within an ensemble that takes longer.
// Both compare everything counted since the model was loaded.
func (p *Plan) impossible(g *group) Eval {
	if p.handsOver(g.model) {
		return positive(p.sum(p.sameModel(engine.ModelSuccess, g))) // One request is enough.
	}
	mean, firstResponse, ensemble := p.meanOf(g), p.firstResponse(g), p.ensembleOver(g)
	if mean == nil || firstResponse == nil && ensemble == nil {
		return nil
	}
	const instant, slow, later = 1e-3, 1e-2, 2
	return func(w *Window) (float64, bool) {
		duration, ok := mean(w)
		if !ok {
			return 0, false
		}
		if v, ok := valueOf(firstResponse, w); ok && v > later*duration && v > instant {
			return 1, true
		}
		v, ok := valueOf(ensemble, w)
		return flag(ok && v > slow && duration < instant), true
	}
}

// firstResponse returns the mean time to a model's first response since it was loaded.
func (p *Plan) firstResponse(g *group) Eval {
	sums, counts := p.observations(p.sameModel(engine.ModelFirstResponse, g))
	if len(sums) != 1 || len(counts) != 1 {
		return nil
	}
	return ratio(combine(sums, engine.Sum), combine(counts, engine.Sum))
}

// ensembleOver returns the mean time of the ensemble around an LLM since it was loaded.
func (p *Plan) ensembleOver(g *group) Eval {
	if !p.executor(g.model) {
		return nil
	}
	for _, e := range p.groupsOf(engine.ModelRequestSeconds, g.id) {
		if e.role == engine.RoleEntry && p.identity.Topology.Ensemble(e.model) {
			return p.meanOf(e)
		}
	}
	return nil
}

// meanOf returns the mean time of a model's requests since it was loaded.
func (p *Plan) meanOf(seconds *group) Eval {
	return ratio(p.value(seconds), p.sum(p.sameModel(engine.ModelSuccess, seconds)))
}
