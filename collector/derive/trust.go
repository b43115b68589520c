package derive

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Trust reports whether none of the troubles is known of what belongs to a model.
func (v *View) Trust(m *Model, troubles ...trouble) bool {
	for _, t := range troubles {
		if c := m.checks[t]; c != nil && v.found[c.n].wrong && v.found[c.n].ok {
			return false
		}
	}
	return true
}

// Runs reports whether the gauges of a model's engine are those of an engine that runs. They are not
// before its first iteration, when TensorRT-LLM shows all gauges as 0, even the limit of requests,
// and while they stand still or belong to an ended process.
func (v *View) Runs(m *Model) bool { return v.runs[m.n] }

// judge finds out what of the newest page can be trusted.
func (v *View) judge() {
	for i := range v.ended {
		v.ended[i].computed = false
	}
	for i := range v.grown {
		v.grown[i].computed = false
	}
	for i, c := range v.index.checks {
		if c.times != nil {
			v.found[i] = v.impossible(c.times)
		} else {
			v.found[i] = c.detect(v, c.model)
		}
	}
	for i, m := range v.index.models {
		v.runs[i] = v.engineRuns(m) && v.Trust(m, flappingGauges, staleGauges)
		v.tokens[i] = v.generatesTokens(m)
	}
}

// engineRuns reports whether a page shows that an engine runs. A limit of 0 is unknown, so that
// requests in flight show that it does.
func (v *View) engineRuns(m *Model) bool {
	const patience = 3
	_, limited := v.Sum(m, engine.RequestsLimit)
	requests, ok := v.Sum(m, engine.RequestsActive, engine.RequestsRunning)
	heartbeats := v.counters(m, engine.EngineHeartbeat)
	beats := func(c int) bool {
		return v.window.current[c] > 0 && v.window.now-v.window.changed[c] <= patience*v.window.gap
	}
	runs := !v.Has(m, engine.RequestsLimit) || limited || ok && requests > 0
	return runs && (len(heartbeats) == 0 || slices.ContainsFunc(heartbeats, beats))
}

// generatesTokens reports false if requests ended but none generated a token: the token times of
// vLLM's embedding and ranking models are the durations of requests.
func (v *View) generatesTokens(m *Model) bool {
	if !v.Has(m, engine.FirstToken) && !v.Has(m, engine.OutputToken) && !v.Has(m, engine.InterToken) {
		return true
	}
	tokens, ok := v.Sum(m, engine.GenerationTokens)
	ended, _ := v.Sum(m, engine.RequestsFinished)
	return !ok || tokens > 0 || ended <= 0
}

// proviso is what must hold for a group's values to be right.
type proviso uint8

const (
	always proviso = iota
	// repeated never holds: ranks that all repeat the same values have only their ratio right.
	repeated
	// whileRunning is for gauges of an executor: one that does not run leaves its last ones, or 0.
	whileRunning
	// unlessFlapping is for counters of an executor: several of one server write theirs in turn.
	unlessFlapping
	// unlessFrozen is for counters that Triton updates together with durations: it does not count
	// them if these are disabled.
	unlessFrozen
	// unlessDecoupled is for times that end early if requests are handed over.
	unlessDecoupled
	// whileMoving is for what always grows, unless a sensor fails.
	whileMoving
	// unlessBatched is for tokens of one inference of each request.
	unlessBatched
	// withTokens is for times of tokens: a model that generates none has other times there.
	withTokens
	// withinPrompts is for tokens of prompts that were found in a cache: a server that looks those of a waiting
	// request up again and again counts more than all prompts have.
	withinPrompts
)

// qualify sets what rules need to know of a group, and what must hold for its values to be right.
func (ix *index) qualify(g *group) {
	for _, size := range ix.replica.groups(g.signal.Size()) {
		if labels.Equal(size.labels, g.labels) {
			g.sizes = append(g.sizes, size)
		}
	}
	g.times = g.signal.TakesTime()
	g.endsEarly = durationSignal(g.signal) && !ix.countsWhole(g.name)
	g.doubles = g.signal == engine.ModelFailed && g.labels.Get("reason") == doubledReason && ix.topology.Ensemble(g.name)
	g.acceptance = g.signal == engine.ModelSuccess && ix.countsOwnRequests(g.model, g.name, g.version)
	g.batches = !ix.executor(g.name) && !ix.topology.Ensemble(g.name)
	g.computes = !ix.handsOver(g.name) && !ix.topology.Ensemble(g.name)
	g.perRequest = ix.observesOne(g)
	if g.proviso = ix.provisoOf(g.signal); g.perRequest {
		g.proviso = unlessBatched
	}
	g.fails = ix.failsOf(g)
}

// failsOf returns the counters of what a histogram observes besides successes: failures of its model and, if that does
// not count all of them, those of the models behind the same id, which it may call.
func (ix *index) failsOf(g *group) (all []*group) {
	if len(g.fail) == 0 {
		return nil
	}
	of := g.model
	if g.ofModel && ix.countsOutcomes(g.name) {
		of = g.instance
	}
	return filter(of.all(engine.ModelFailed, engine.RequestsFailed, engine.RequestsFinished), func(f *group) bool {
		return slices.Contains(g.fail, f.class)
	})
}

// ofSuccesses reports whether what histograms observed in the window are times of requests that ended well, as far as
// the page counts the others.
func (v *View) ofSuccesses(s *shown) bool {
	if s == nil {
		return true
	}
	only := true
	for _, g := range s.groups {
		for _, f := range g.fails {
			only = !slices.ContainsFunc(v.columns(&f.value), v.window.counted) && only
		}
	}
	return only
}

// counted reports whether a counter has counted anything in the window.
func (w *Window) counted(column int) bool {
	_, start := w.firstRow(w.unbroken)
	return w.current[column] > 0 && w.changed[column] > start
}

func (ix *index) provisoOf(signal engine.Signal) proviso {
	t := signal.Type()
	switch {
	case t.Executor && t.Counter:
		return unlessFlapping
	case t.Executor:
		return whileRunning
	case durationSignal(signal):
		return unlessDecoupled
	}
	switch signal {
	case engine.SpecDraft, engine.SpecAccepted:
		if ix.ranks == engine.RanksUnsure || ix.ranks == engine.RanksApart {
			return repeated
		}
	case engine.GPUEnergy:
		return whileMoving
	case engine.CachedTokens:
		return withinPrompts
	case engine.FirstToken, engine.OutputToken, engine.InterToken:
		return withTokens
	case engine.ModelSuccess, engine.ModelFailed, engine.ModelInferences, engine.ModelExecutions,
		engine.ModelQueueSeconds:
		return unlessFrozen
	default:
	}
	return always
}

// durationSignal reports whether a signal is a time that ends early if requests are handed over.
func durationSignal(s engine.Signal) bool {
	switch s {
	case engine.ModelRequestSeconds, engine.ModelComputeSeconds, engine.ModelRequestDuration, engine.ModelRequestTimes,
		engine.ModelInputDuration, engine.ModelInferDuration, engine.ModelOutputDuration:
		return true
	default:
		return false
	}
}

// trusts reports whether the values of groups may be exposed: not while the size of what they are a
// part of is on the page and unknown.
func (v *View) trusts(groups ...*group) bool {
	trusted := true
	for _, g := range groups {
		for _, size := range g.sizes {
			_, known := v.value(size)
			trusted = trusted && known
		}
		if !v.holds(g) || v.timeless(g) {
			trusted = false
		}
	}
	return trusted
}

// timeless reports whether a group holds times of requests that are 0 all together: nobody measured them.
func (v *View) timeless(g *group) bool {
	if !g.times {
		return false
	}
	count, counted := v.combined(&g.count.numbers, engine.Sum)
	sum, summed := v.combined(&g.sum.numbers, engine.Sum)
	return counted && summed && count > 0 && sum == 0
}

// holds reports whether the proviso of a group does.
func (v *View) holds(g *group) bool {
	switch g.proviso {
	case repeated:
		return false
	case whileRunning:
		return v.Runs(g.model)
	case unlessFlapping:
		return v.Trust(g.model, flappingGauges)
	case unlessFrozen:
		return v.Trust(g.model, frozenCounters)
	case unlessDecoupled:
		return v.Trust(g.instance, decoupledDurations)
	case whileMoving:
		return v.window.moving(v.columns(&g.value))
	case unlessBatched:
		return v.Trust(g.model, batchedRequests)
	case withTokens:
		return v.tokens[g.model.n]
	case withinPrompts:
		return v.withinPrompts(g)
	case always:
	}
	return true
}

// withinPrompts reports whether a counter is not above the tokens of all prompts, as far as these are known.
func (v *View) withinPrompts(g *group) bool {
	part, _ := v.combined(&g.value, g.combine)
	all, ok := v.Sum(g.model, engine.PromptTokens)
	return !ok || part <= all
}

// moving reports false while any of the columns stood still for a whole window.
func (w *Window) moving(columns []int) bool {
	return !slices.ContainsFunc(columns, func(c int) bool { return w.now-w.changed[c] > w.length })
}
