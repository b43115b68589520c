package derive

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Identity identifies a target in its derived series.
type Identity struct {
	// Labels holds engine, pool_id, replica_id and, if series carry them, the versions.
	Labels labels.Labels
	// EngineVersion, TRTLLMVersion and Source are labels of llm_server_info.
	EngineVersion, TRTLLMVersion string
	Source                       engine.VersionSource
	// Topology knows model ids and roles, and how models treat requests.
	Topology *engine.Topology
	// Relabel relabels the series, unless it is nil.
	Relabel exposition.Labeler
}

// Plan compiles the rules for one shape of a page and is then discarded.
type Plan struct {
	opts   *Options
	page   *engine.Page
	quirks engine.Quirks

	identity Identity
	sources  []source
	groups   map[engine.Signal][]*group
	// byID holds the groups by signal and model id.
	byID              map[[2]string][]*group
	columnOf          map[int]int
	checks            map[string]anomaly
	outcomes          map[[3]string]*outcome
	counted           []engine.Class
	program           *program
	lackFirstResponse bool // Some loaded models have no time to the first response.

	checkedPlaces map[exposition.ValueIndex]bool
}

// newPlan returns a plan for a page. The block holds its values and may be nil.
func newPlan(opts *Options, page *engine.Page, block *exposition.Block) *Plan {
	p := &Plan{
		opts: opts, page: page, quirks: opts.Engine.Quirks(page), identity: opts.Identity,
		groups: make(map[engine.Signal][]*group), byID: make(map[[2]string][]*group),
		columnOf: make(map[int]int), checks: make(map[string]anomaly), outcomes: make(map[[3]string]*outcome),
		checkedPlaces: make(map[exposition.ValueIndex]bool), program: &program{gpus: page.Shape().GPUs()},
		counted: countedClasses(page, opts.Engine.Meanings()),
	}
	p.identity.Labels = opts.Identity.ruleLabels()
	p.addSources()
	p.program.droppedModels = p.dropModels(opts.Output.Models, block)
	p.groupSources()
	p.lackFirstResponse = slices.ContainsFunc(page.Models(), func(model string) bool {
		loaded, _ := page.Loaded(model)
		groups := p.groupsOf(engine.ModelFirstResponse, p.identity.Topology.ModelID(model))
		return loaded && !slices.ContainsFunc(groups, func(g *group) bool { return g.model == model })
	})
	p.addChecks()
	return p
}

// countedClasses returns the classes all of whose requests the kind of server has counters for.
func countedClasses(page *engine.Page, meanings []engine.Meaning) []engine.Class {
	return filter(classOrder, func(class engine.Class) bool {
		return slices.ContainsFunc(meanings, func(m engine.Meaning) bool {
			return (m.Inside == "" || m.Inside == page.NamedModels().Inside) &&
				m.Outcome != nil && m.Outcome.Again == "" && m.Outcome.Counts(class) && !m.Outcome.Misses(class)
		})
	})
}

func (p *Plan) compile() *program {
	catalogue := Catalogue()
	for i := range catalogue {
		if rule := &catalogue[i].rule; rule.compile != nil && rule.inputs.met(p.has) {
			rule.compile(p, &catalogue[i])
		}
	}
	p.program.objectives, p.program.countersAppear = p.measurable(), p.quirks.CountersAppear
	for i := range p.sources {
		// A counter that no rule reads yet must not count as new when one does.
		if in := &p.sources[i]; p.quirks.CountersAppear && in.Counter {
			p.program.counters = append(p.program.counters, in.key(p.program.gpus))
		}
	}
	p.addAliases()
	p.watchConditions()
	return p.program
}

// groupsOf returns the groups of a signal of a model id. The slice must not be modified.
func (p *Plan) groupsOf(signal engine.Signal, id string) []*group {
	return p.byID[[2]string{string(signal), id}]
}

// countsFailures reports whether the page shows failed requests.
func (p *Plan) countsFailures() bool { return p.opts.Engine.CountsFailures(p.page) }

func (p *Plan) has(signal engine.Signal) bool { return p.shows(signal, p.groups[signal]) }

func (p *Plan) shows(signal engine.Signal, groups []*group) bool {
	return len(groups) > 0 || signal == engine.FailuresCounted && p.countsFailures()
}

// ids returns the sorted ids of the models that have the inputs.
func (p *Plan) ids(in inputs) []string {
	set := make(map[string]bool)
	for _, signals := range in {
		for _, g := range p.groups[signals[0]] {
			set[g.id] = true
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(set)), func(id string) bool {
		return !in.met(func(s engine.Signal) bool { return p.shows(s, p.groupsOf(s, id)) })
	})
}

// sameModel returns the groups of a signal with the model and version of another group.
func (p *Plan) sameModel(signal engine.Signal, other *group) []*group {
	return filter(p.groupsOf(signal, other.id), func(g *group) bool { return g.model == other.model && g.version == other.version })
}

// entryGroups returns the groups of models that clients call. Parts count their requests again.
func (p *Plan) entryGroups(signal engine.Signal, id string) []*group {
	return filter(p.groupsOf(signal, id), func(g *group) bool { return g.role.Front() })
}

func filter[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(item T) bool { return !keep(item) })
}

// forModel returns the identity labels with a model id and additional pairs.
func (p *Plan) forModel(id string, pairs ...string) labels.Labels {
	return withLabels(p.identity.Labels, append(slices.Clone(pairs), "model_id", id)...)
}

// handsOver reports whether requests count as completed when they are handed over.
func (p *Plan) handsOver(model string) bool {
	return p.identity.Topology.HandsOver(model) == engine.TrustYes
}

// trusted reports whether the counts of a model are known to cover complete requests.
func (p *Plan) trusted(model string) bool {
	return p.identity.Topology.HandsOver(model) == engine.TrustNo
}

// countsOutcomes reports whether a model counts all its failures, so that its successes are successes.
func (p *Plan) countsOutcomes(model string) bool {
	return p.identity.Topology.Uncounted(model, p.identity.EngineVersion) == ""
}

// executor reports whether a model batches in flight, which it does if it shows iterations.
func (p *Plan) executor(model string) bool {
	return p.identity.Topology.InFlight(model) ||
		slices.ContainsFunc(p.groups[engine.EngineIterations], func(g *group) bool { return g.model == model })
}
