package derive

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Eval computes one value from the window; false when there is none.
type Eval func(w *Window) (float64, bool)

// Plan is what the rules make of one shape of a target's page: the inputs
// they read and the series they write.
type Plan struct {
	identity Identity
	inputs   []input
	groups   map[engine.Signal][]group
	series   []exposition.ComputedSeries
	evals    []Eval
}

// Identity is what every derived series of a target says of the target.
type Identity struct {
	// Labels are engine, pool_id, replica_id and, unless they are kept in the
	// info family only, the versions.
	Labels labels.Labels
	// EngineVersion, TRTLLMVersion and Source go into llm_server_info.
	EngineVersion, TRTLLMVersion string
	Source                       engine.VersionSource
	// Topology gives model ids and roles.
	Topology *engine.Topology
}

// input is one watched series in one meaning.
type input struct {
	watched int
	key     string
	meaning *engine.Meaning
	// model is the server's name of the model, id its public one.
	model, version, id string
}

// group are the inputs that mean the same of the same thing.
type group struct {
	labels  labels.Labels
	id      string
	model   string
	role    engine.Role
	combine engine.Combine
	columns []int
	scales  []float64
}

// newPlan reads the watched series of a shape and compiles the catalogue.
func newPlan(catalogue []Family, index engine.Index, kind engine.Kind, identity Identity, shape *exposition.Shape) *Plan {
	p := &Plan{identity: identity, groups: make(map[engine.Signal][]group)}
	p.read(index, kind, shape)
	p.gather()
	for i := range catalogue {
		if rule := catalogue[i].rule; rule != nil {
			rule.Compile(p, &catalogue[i])
		}
	}
	return p
}

// read finds the inputs. Series of a Triton model that is not loaded are left
// out: after an unload its custom gauges stay on the page, frozen, and only
// nv_inference_request_success leaves it.
func (p *Plan) read(index engine.Index, kind engine.Kind, shape *exposition.Shape) {
	watched := shape.Watched()
	loaded := make(map[string]bool)
	for i := range watched {
		if watched[i].Labels.Get(labels.MetricName) == "nv_inference_request_success" {
			loaded[watched[i].Labels.Get("model")] = true
		}
	}
	judge := len(loaded) > 0 && (kind == engine.Triton || kind == engine.TritonOpenAI)
	seen := make(map[string]bool)
	for i := range watched {
		lset := watched[i].Labels
		model := modelOf(lset)
		if judge && model != "" && !loaded[model] {
			continue
		}
		meanings := index[lset.Get(labels.MetricName)]
		for m := range meanings {
			meaning := &meanings[m]
			if meaning.Label != "" && lset.Get(meaning.Label) != meaning.Value {
				continue
			}
			key := string(meaning.Signal) + "\x00" + lset.String()
			if seen[key] {
				continue
			}
			seen[key] = true
			p.inputs = append(p.inputs, input{
				watched: i, key: key, meaning: meaning, model: model, version: lset.Get("version"),
				id: p.identity.Topology.ModelID(model),
			})
		}
	}
	p.group(watched)
}

// modelOf is the server's name of the model a series speaks of.
func modelOf(lset labels.Labels) string {
	for _, name := range engine.ModelLabels() {
		if v := lset.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// group puts inputs together that become one series.
func (p *Plan) group(watched []exposition.Watched) {
	at := make(map[string]int)
	for column := range p.inputs {
		in := &p.inputs[column]
		lset := p.labelsOf(in, watched[in.watched].Labels)
		signal := in.meaning.Signal
		key := string(signal) + "\x00" + lset.String()
		i, ok := at[key]
		if !ok {
			i = len(p.groups[signal])
			at[key] = i
			g := group{labels: lset, id: in.id, model: in.model, combine: in.meaning.Combine}
			g.role = p.identity.Topology.Role(in.model)
			p.groups[signal] = append(p.groups[signal], g)
		}
		g := &p.groups[signal][i]
		g.columns = append(g.columns, column)
		g.scales = append(g.scales, in.meaning.Scale)
	}
}

// labelsOf are the labels of the series an input becomes a part of.
func (p *Plan) labelsOf(in *input, source labels.Labels) labels.Labels {
	b := labels.NewBuilder(p.identity.Labels)
	switch in.meaning.Scope {
	case engine.OfModel:
		b.Set("model", in.model).Set("version", in.version).Set("model_id", in.id)
		b.Set("stage", string(p.identity.Topology.Role(in.model)))
	case engine.OfEngine:
		b.Set("model_id", in.id)
	case engine.OfServer:
	}
	for _, dim := range in.meaning.Dims {
		theirs, ours, _ := strings.Cut(dim, "=")
		b.Set(ours, source.Get(theirs))
	}
	if name, value, ok := strings.Cut(in.meaning.Const, "="); ok {
		b.Set(name, value)
	}
	return b.Labels()
}

// gather orders groups, so that series come out in one order whatever the
// server's is.
func (p *Plan) gather() {
	for _, groups := range p.groups {
		slices.SortFunc(groups, func(a, b group) int { return labels.Compare(a.labels, b.labels) })
	}
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
func (p *Plan) of(signal engine.Signal, id string) []group {
	var found []group
	for _, g := range p.groups[signal] {
		if g.id == id {
			found = append(found, g)
		}
	}
	return found
}

// emit adds one series of a family.
func (p *Plan) emit(f *Family, lset labels.Labels, eval Eval) {
	p.series = append(p.series, exposition.ComputedSeries{
		Family: exposition.Family{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit},
		Labels: lset,
	})
	p.evals = append(p.evals, eval)
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

// counters says which columns only grow.
func (p *Plan) counters() []bool {
	is := make([]bool, len(p.inputs))
	for i := range p.inputs {
		is[i] = p.inputs[i].meaning.Counter
	}
	return is
}

// values reads the inputs of one block into row, NaN for what is not there or
// not finite, and returns how many were not finite.
func (p *Plan) values(b *exposition.Block, row []float64) (nonFinite uint64) {
	for i := range p.inputs {
		v, ok := b.WatchedValue(p.inputs[i].watched)
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			nonFinite++
			v = math.NaN()
		}
		row[i] = v
	}
	return nonFinite
}
