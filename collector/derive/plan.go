package derive

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Eval computes one value from the window; false when there is none.
type Eval func(w *Window) (float64, bool)

// Gate reports whether a value may be shown on a page; nil always does.
type Gate func(w *Window) bool

// open reports what a gate says.
func (g Gate) open(w *Window) bool { return g == nil || g(w) }

// Identity is what every derived series of a target says of the target.
type Identity struct {
	// Labels are engine, pool_id, replica_id and, unless they are kept in the
	// info family only, the versions.
	Labels labels.Labels
	// EngineVersion, TRTLLMVersion and Source go into llm_server_info.
	EngineVersion, TRTLLMVersion string
	Source                       engine.VersionSource
	// Topology gives model ids and roles, and says how models treat requests.
	Topology *engine.Topology
	// Relabel gives the series their labels at last; nil leaves them.
	Relabel exposition.Labeler
}

// Plan is what the rules make of one shape of a target's page. It is used up
// when its program is done.
type Plan struct {
	quirks engine.Quirks
	// sharing says whose requests the batches of the ranks of the page are.
	sharing engine.Ranks
	// failures says that requests that failed would be on the page, where models
	// do not count their own; countedClasses are those for which the server has counters.
	failures       bool
	countedClasses []engine.Class
	// wanted are the objectives of the pool; leave says that families which a query
	// computes are not shown.
	wanted []Objective
	leave  bool

	identity Identity
	sources  []source
	// gpus are those of the page.
	gpus   []string
	groups map[engine.Signal][]*group
	byID   map[signalOf][]*group
	// loaded is how many models the page shows as loaded.
	loaded  int
	columns map[int]int
	checks  map[string]anomaly
	// judging are the places that the program judges.
	judging map[exposition.ValueIndex]bool
	program *program
}

// newPlan takes in what was read of a page; its numbers, nil for none, say which
// models have most of the traffic.
func newPlan(opts *Options, page *engine.Page, numbers *exposition.Block) *Plan {
	p := &Plan{
		quirks: opts.Engine.Quirks(page), sharing: page.Ranks(), failures: opts.Engine.CountsFailures(page), countedClasses: countedClasses(opts.Engine, page),
		identity: opts.Identity, wanted: opts.Objectives, leave: opts.NoWindowGauges, gpus: page.Shape().GPUs(),
		groups: make(map[engine.Signal][]*group), byID: make(map[signalOf][]*group),
		columns: make(map[int]int), checks: make(map[string]anomaly),
		judging: make(map[exposition.ValueIndex]bool),
		program: &program{gpus: page.Shape().GPUs()},
	}
	p.identity.Labels = opts.Identity.named()
	for _, name := range page.Models() {
		if loaded, _ := page.Loaded(name); loaded {
			p.loaded++
		}
	}
	p.read(page)
	p.program.unread = p.boundModels(opts.Budget.Models, numbers)
	p.group()
	p.inspect()
	return p
}

// countedClasses are the classes of requests of which a kind of server counts
// all, with counters that may come with their first event: what is refused and
// counted again elsewhere has a counter of its own from the start, or none.
func countedClasses(e engine.Engine, page *engine.Page) []engine.Class {
	meanings := slices.DeleteFunc(e.Meanings(), func(m engine.Meaning) bool { return m.Inside != "" && m.Inside != page.NamedModels().Inside })
	return slices.DeleteFunc(engine.Classes(), func(class engine.Class) bool {
		return !slices.ContainsFunc(meanings, func(m engine.Meaning) bool {
			return m.Outcome != nil && m.Outcome.Again == "" && m.Outcome.Counts(class) && !m.Outcome.Misses(class)
		})
	})
}

// compile makes the program of the catalogue.
func (p *Plan) compile(opts *Options, shape *exposition.Shape) *program {
	catalogue := Catalogue()
	for i := range catalogue {
		if rule := &catalogue[i].rule; rule.compile != nil && rule.inputs.met(p.has) {
			rule.compile(p, &catalogue[i])
		}
	}
	p.program.objectives = p.objectives()
	p.appear()
	p.alias(opts, shape)
	p.observe()
	return p.program
}

// appear notes the counters that come with their first event: one that no rule reads
// yet is not new when one does.
func (p *Plan) appear() {
	for i := range p.sources {
		if in := &p.sources[i]; p.quirks.CountersAppear && in.meaning.Counter {
			p.program.counters = append(p.program.counters, in.key(p.gpus))
		}
	}
}

// all are the groups of a signal. The slice is shared and only read.
func (p *Plan) all(signal engine.Signal) []*group {
	return p.groups[signal]
}

// of are the groups of a signal for one model id. The slice is shared and only
// read.
func (p *Plan) of(signal engine.Signal, id string) []*group {
	return p.byID[signalOf{signal, id}]
}

// has says whether the page has a signal.
func (p *Plan) has(signal engine.Signal) bool {
	return len(p.groups[signal]) > 0 || signal == engine.FailuresCounted && p.failures
}

// ids are the model ids for which the page has what is needed, sorted.
func (p *Plan) ids(in inputs) []string {
	set := make(map[string]bool)
	for _, signals := range in {
		for _, g := range p.groups[signals[0]] {
			set[g.id] = true
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(set)), func(id string) bool {
		return !in.met(func(s engine.Signal) bool {
			return len(p.byID[signalOf{s, id}]) > 0 || s == engine.FailuresCounted && p.failures
		})
	})
}

// signalOf is a signal of a model id.
type signalOf struct {
	signal engine.Signal
	id     string
}

// same are the groups of a signal for the model and version of another group.
func (p *Plan) same(signal engine.Signal, as *group) []*group {
	return selected(p.of(signal, as.id), func(g *group) bool { return g.model == as.model && g.version == as.version })
}

// front are the groups of a signal of models that clients call, for one id: a
// request to an ensemble counts at each of its parts again.
func (p *Plan) front(signal engine.Signal, id string) []*group {
	return selected(p.of(signal, id), func(g *group) bool { return g.role.Front() })
}

// selected are the groups that are wanted.
func selected(groups []*group, wanted func(*group) bool) []*group {
	return slices.DeleteFunc(slices.Clone(groups), func(g *group) bool { return !wanted(g) })
}

// forModel are the identity labels with a model id and further pairs.
func (p *Plan) forModel(id string, pairs ...string) labels.Labels {
	b := labels.NewBuilder(p.identity.Labels)
	b.Set("model_id", id)
	for i := 0; i+1 < len(pairs); i += 2 {
		b.Set(pairs[i], pairs[i+1])
	}
	return b.Labels()
}

// handsOver says whether a model's requests count as done when they are handed
// over, long before the last token.
func (p *Plan) handsOver(model string) bool {
	return p.identity.Topology.HandsOver(model) == engine.TrustYes
}

// trusted says whether what the server counts of a model's requests is known to
// be of whole requests.
func (p *Plan) trusted(model string) bool {
	return p.identity.Topology.HandsOver(model) == engine.TrustNo
}

// ensemble says whether a model is an ensemble, whose compute times are sums
// over its steps.
func (p *Plan) ensemble(model string) bool { return p.identity.Topology.Ensemble(model) }

// executor says whether a model batches in flight, so that its executions say
// nothing of its batches: one that shows iterations does.
func (p *Plan) executor(model string) bool {
	return p.identity.Topology.InFlight(model) ||
		slices.ContainsFunc(p.all(engine.EngineIterations), func(g *group) bool { return g.model == model })
}
