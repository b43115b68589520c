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

// Gate says whether a value may be shown on a page.
type Gate func(w *Window) bool

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
}

// Plan is what the rules make of one shape of a target's page. It is used up
// when its program is done.
type Plan struct {
	quirks   engine.Quirks
	identity Identity
	sources  []source
	groups   map[engine.Signal][]*group
	// loaded is how many models the page shows as loaded.
	loaded  int
	columns map[int]int
	gates   map[string]int
	checks  map[string]anomaly
	// judging are the places that the program judges.
	judging map[exposition.Place]bool
	program *program
}

// newPlan compiles the catalogue for pages of which this was read.
func newPlan(opts *Options, page *engine.Page) *program {
	p := &Plan{
		quirks: opts.Engine.Quirks(), identity: opts.Identity,
		groups:  make(map[engine.Signal][]*group),
		columns: make(map[int]int), gates: make(map[string]int), checks: make(map[string]anomaly),
		judging: make(map[exposition.Place]bool),
		program: &program{gates: []Gate{func(*Window) bool { return true }}},
	}
	for _, name := range page.Models() {
		if loaded, _ := page.Loaded(name); loaded {
			p.loaded++
		}
	}
	p.read(page)
	p.group()
	p.inspect()
	catalogue := Catalogue()
	for i := range catalogue {
		if rule := catalogue[i].rule; rule != nil {
			rule.Compile(p, &catalogue[i])
		}
	}
	p.alias(opts, page.Shape())
	p.observe()
	p.program.ready()
	return p.program
}

// ids are the model ids for which any of the signals is there, sorted.
func (p *Plan) ids(signals ...engine.Signal) []string {
	set := make(map[string]bool)
	for _, s := range signals {
		for _, g := range p.groups[s] {
			set[g.id] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// of are the groups of a signal for one model id.
func (p *Plan) of(signal engine.Signal, id string) []*group {
	var found []*group
	for _, g := range p.groups[signal] {
		if g.id == id {
			found = append(found, g)
		}
	}
	return found
}

// front are the groups of a signal of models that clients call, for one id: a
// request to an ensemble counts at each of its parts again.
func (p *Plan) front(signal engine.Signal, id string) []*group {
	return slices.DeleteFunc(p.of(signal, id), func(g *group) bool { return g.role == engine.RolePart })
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
func (p *Plan) handsOver(model string) bool { return p.identity.Topology.HandsOver(model) }

// ensemble says whether a model is an ensemble, whose compute times are sums
// over its steps.
func (p *Plan) ensemble(model string) bool { return p.identity.Topology.Ensemble(model) }

// executor says whether a model batches in flight, so that its executions say
// nothing of its batches: one that shows iterations does.
func (p *Plan) executor(model string) bool {
	return p.identity.Topology.InFlight(model) ||
		slices.ContainsFunc(p.groups[engine.EngineIterations], func(g *group) bool { return g.model == model })
}
