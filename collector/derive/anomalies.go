package derive

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// trouble is something in what a server exposes that cannot be true. A check looks for it on each
// page, and llm_server_source_anomaly shows it.
type trouble uint8

const (
	decoupledDurations trouble = iota
	frozenCounters
	engineZero
	blocksMismatch
	fractionMismatch
	survivedFailures
	flappingGauges
	staleGauges
	batchedRequests
	troubles
)

// checkKind looks for one trouble in what belongs to a model id.
type checkKind struct {
	name  string
	needs inputs
	// detect tells whether the newest page shows it. It is nil for a check of each model.
	detect func(v *View, m *Model) finding
}

// finding is the result of a check.
type finding struct {
	// possible is true if pages of this shape can show the trouble.
	possible bool
	// wrong is true if the newest page does, which it tells if ok is true.
	wrong, ok bool
}

// checkKinds returns the checks by trouble.
func checkKinds() [troubles]checkKind {
	const loaded, failed = engine.ModelSuccess, engine.ModelFailed
	return [troubles]checkKind{
		decoupledDurations: {
			name:  "decoupled_durations",
			needs: allOf(engine.ModelRequestSeconds, loaded, engine.ModelFirstResponse),
		},
		frozenCounters: {
			name:   "frozen_counters",
			needs:  allOf(loaded),
			detect: frozen,
		},
		engineZero: {
			name:   "engine_zero",
			needs:  allOf(engine.RequestsLimit, engine.EngineIterations, loaded),
			detect: zero,
		},
		blocksMismatch: {
			name:   "kv_blocks_mismatch",
			needs:  allOf(engine.KVBlocksUsed, engine.KVBlocksFree, engine.KVBlocksLimit),
			detect: blocksDiffer,
		},
		fractionMismatch: {
			name:   "kv_fraction_mismatch",
			needs:  allOf(engine.KVBlocksUsed, engine.KVBlocksLimit, engine.KVUtilization),
			detect: fractionDiffers,
		},
		survivedFailures: {
			name:   "failures_survived_unload",
			needs:  allOf(failed, loaded).or(allOf(engine.UnloadedFailures)),
			detect: survived,
		},
		flappingGauges: {
			name:   "flapping_gauges",
			needs:  allOf(engine.EngineIterations),
			detect: flapping,
		},
		staleGauges: {
			name:   "stale_gauges",
			needs:  allOf(engine.EngineIterations, failed).and(anyOf(engine.RequestsActive, engine.RequestsRunning)),
			detect: stale,
		},
		batchedRequests: {
			name: "batched_requests",
			needs: allOf(loaded, engine.ModelInferences).and(anyOf(
				engine.PromptTokens, engine.GenerationTokens, engine.RequestPromptTokens, engine.RequestOutputTokens,
			)),
			detect: batched,
		},
	}
}

func anomalyRule() Rule {
	var needs inputs
	for _, kind := range checkKinds() {
		needs = needs.or(kind.needs)
	}
	return Rule{
		needs:  needs,
		scope:  OfEntry,
		labels: []string{"check", "model"},
		why:    "the checks compare a page with those before it",
		page:   anomalies,
	}
}

// anomalies exposes what the checks found.
func anomalies(v *View, out *Out) {
	for i, c := range v.index.checks {
		out.SetLabels(c.labels, flag(v.found[i].wrong), v.found[i].ok)
	}
}

// check is a check of one model id, or of the times of one model.
type check struct {
	name   string
	n      int
	labels labels.Labels
	model  *Model
	detect func(v *View, m *Model) finding
	// times is set if the check is about the times of a model.
	times *timesCheck
}

// addChecks adds the checks that the page shows enough for.
func (ix *index) addChecks() {
	byName := ix.timesChecks()
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		ix.checks = append(ix.checks, byName[name])
	}
	for t, kind := range checkKinds() {
		if kind.detect == nil {
			continue
		}
		for _, m := range ix.having(kind.needs) {
			if kind.detect(ix.building.view, m).possible {
				m.checks[t] = &check{name: kind.name, labels: m.labels, model: m, detect: kind.detect}
				ix.checks = append(ix.checks, m.checks[t])
			}
		}
	}
	slices.SortStableFunc(ix.checks, func(a, b *check) int { return cmp.Compare(a.name, b.name) })
	for n, c := range ix.checks {
		c.n = n
		c.labels = withLabels(c.labels, "check", c.name)
	}
	for _, m := range ix.models {
		for _, version := range m.versions {
			version.checks = m.checks
			version.checks[decoupledDurations] = byName[version.name]
		}
	}
	for _, m := range ix.building.instances {
		m.checks[decoupledDurations] = byName[m.name]
	}
}

// timesChecks returns the checks of the times of models, by the name of the model.
func (ix *index) timesChecks() map[string]*check {
	byName := make(map[string]*check)
	for _, g := range ix.replica.groups(engine.ModelRequestSeconds) {
		if times := ix.timesCheck(g); times != nil {
			byName[g.name] = &check{
				name:   checkKinds()[decoupledDurations].name,
				labels: withLabels(g.model.labels, "model", g.name),
				model:  g.model,
				times:  times,
			}
		}
	}
	return byName
}

// frozen detects --metrics-config counter_latencies=false, with which all counters of Triton's
// core stay 0 and the durations are missing.
func frozen(v *View, m *Model) finding {
	const minRequests = 2
	ended := v.observations(v.shown(m, engine.ModelRequestDuration)).counts
	answered := v.observations(v.shown(m, engine.RequestOutputTokens)).counts
	durations := v.Has(m, engine.ModelRequestSeconds)
	if durations && len(ended)+len(answered) == 0 {
		return finding{}
	}
	success := v.counters(m, engine.ModelSuccess)
	if n, ok := v.window.totals(success); !ok || n > 0 {
		return finding{possible: true, ok: ok}
	}
	if !durations {
		return finding{possible: true, wrong: true, ok: true}
	}
	row, _, ok := v.window.stretch(success, ended, answered)
	grown := ok && v.window.increaseFrom(row, ended, answered) >= minRequests
	return finding{possible: true, wrong: grown, ok: true}
}

// zero detects rows that stay 0 while requests end, as with iter_stats_max_iterations=0.
func zero(v *View, m *Model) finding {
	const minRequests = 3
	var f finding
	ends := false
	for _, g := range v.shown(m, engine.ModelSuccess).groups {
		if !g.role.Front() {
			continue
		}
		f.possible = true
		for _, c := range v.columns(&g.value) {
			grown, _, ok := v.window.Increase(c)
			ends = ends || ok && grown >= minRequests
		}
	}
	if f.possible {
		_, limited := v.Sum(m, engine.RequestsLimit)
		iterations, ok := v.Sum(m, engine.EngineIterations)
		f.wrong, f.ok = !limited && iterations <= 0 && ends, ok
	}
	return f
}

// blocksDiffer detects used and free blocks that do not add up to all blocks.
func blocksDiffer(v *View, m *Model) finding {
	used, okUsed := v.column(m, engine.KVBlocksUsed)
	free, okFree := v.column(m, engine.KVBlocksFree)
	limit, okLimit := v.column(m, engine.KVBlocksLimit)
	if !okUsed || !okFree || !okLimit {
		return finding{}
	}
	differs := func(row []float64) bool { return math.Abs(row[used]+row[free]-row[limit]) > 0.5 }
	return finding{possible: true, wrong: v.window.twice(differs), ok: v.window.has(used, free, limit)}
}

// fractionDiffers detects a wrong fraction of used blocks on the server's page.
func fractionDiffers(v *View, m *Model) finding {
	const tolerated = 0.01
	used, okUsed := v.column(m, engine.KVBlocksUsed)
	limit, okLimit := v.column(m, engine.KVBlocksLimit)
	fraction, okFraction := v.column(m, engine.KVUtilization)
	if !okUsed || !okLimit || !okFraction {
		return finding{}
	}
	differs := func(row []float64) bool {
		return row[limit] > 0 && math.Abs(row[used]/row[limit]-row[fraction]) > tolerated
	}
	return finding{possible: true, wrong: v.window.twice(differs), ok: v.window.has(used, limit, fraction)}
}

// twice reports whether two pages in a row are wrong: gauges may change while a page is written.
func (w *Window) twice(wrong func(row []float64) bool) bool {
	return wrong(w.current) && wrong(w.previous)
}

// survived detects failures from before the model was loaded, which Triton retains since 24.07
// (core src/metric_model_reporter.cc).
func survived(v *View, m *Model) finding {
	if v.Has(m, engine.UnloadedFailures) {
		n, ok := v.Sum(m, engine.UnloadedFailures)
		return finding{possible: true, wrong: n > 0, ok: ok}
	}
	f := finding{ok: true}
	for _, failed := range v.shown(m, engine.ModelFailed).groups {
		for _, success := range failed.instance.groups(engine.ModelSuccess) {
			if success.countsEnds() {
				f.possible, f.wrong = true, v.outlive(failed, success) || f.wrong
			}
		}
	}
	return f
}

// countsEnds reports whether a group is a single series that counts requests when they end.
func (g *group) countsEnds() bool { return len(g.value.sources) == 1 && !g.acceptance }

// outlive reports whether failures are from before the successes began to be counted.
func (v *View) outlive(failed, success *group) (wrong bool) {
	s, failures := v.columns(&success.value)[0], v.columns(&failed.value)
	since := v.window.since
	for _, f := range failures {
		wrong = wrong || since[f] < since[s] && since[s] != never && v.window.current[f] > 0
	}
	return wrong
}

// flapping detects several instances of a model in one Triton that overwrite each other's gauges,
// so that even the iteration counter decreases.
func flapping(v *View, m *Model) finding {
	c, isOne := v.column(m, engine.EngineIterations)
	if !isOne {
		return finding{}
	}
	w := v.window
	_, ok := w.Last(c)
	return finding{possible: true, wrong: w.resetBefore[c] >= max(w.now-w.length, 0), ok: ok}
}

// stale detects an executor that shows requests although requests failed and none succeeded since
// its last iteration: its process ended, and its last values stay (seen on Triton 2.51).
func stale(v *View, m *Model) finding {
	inFlight, ok := v.Largest(m, engine.RequestsActive, engine.RequestsRunning)
	w := v.window
	moved := w.lastChange(0, v.counters(m, engine.EngineIterations))
	failed := int64(0)
	if s := v.shown(m, engine.ModelSuccess); s != nil {
		for _, g := range s.groups {
			if g.role.Front() {
				moved = w.lastChange(moved, v.columns(&g.value))
			}
		}
	}
	for _, g := range v.shown(m, engine.ModelFailed).groups {
		if g.class == engine.ClassServer && !g.doubles {
			failed = w.lastChange(failed, v.columns(&g.value))
		}
	}
	for _, version := range m.versions {
		if o := version.outcome; o != nil && o.tally(engine.ClassServer).once != nil {
			failed = w.lastChange(failed, []int{o.tally(engine.ClassServer).once.column})
		}
	}
	return finding{possible: true, wrong: inFlight > 0 && w.now-moved > w.gap && failed > moved, ok: ok}
}

// lastChange returns when any of the columns changed last, or a later time.
func (w *Window) lastChange(last int64, columns []int) int64 {
	for _, c := range columns {
		last = max(last, w.changed[c])
	}
	return last
}
