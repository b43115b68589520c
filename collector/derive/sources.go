package derive

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// source is one series of the page with one meaning, under a public model id.
type source struct {
	engine.Source

	// meaning has another signal than the Source if the model is not loaded.
	meaning *engine.Meaning
	id      string
	// class is the outcome of the requests that it counts, if they ended.
	class engine.Class
}

// classOf returns the class of a source by the first label that its meaning keeps.
func classOf(s *engine.Source) engine.Class {
	if s.Meaning.Outcome == nil {
		return ""
	}
	reason := ""
	for _, dim := range s.Meaning.Dims {
		if reason = s.Labels.Get(dim.Theirs); reason != "" {
			break
		}
	}
	return s.Meaning.Outcome.Class(strings.ToLower(reason))
}

// key returns the key of the source's column; gpus are the GPUs of the page.
func (s *source) key(gpus []string) columnKey {
	gpu, lset := slices.Index(gpus, s.Labels.Get(exposition.LabelGPU))+1, s.Labels
	if gpu > 0 {
		lset = labels.NewBuilder(lset).Del(exposition.LabelGPU).Labels()
	}
	return columnKey{unique.Make(string(s.Meaning.Signal) + "\x00" + lset.String()), uint8(gpu)}
}

// addSources adds the sources of a page, except the executor of a draft model and models that are
// not loaded, of which only failures are added.
func (p *Plan) addSources() {
	for _, s := range p.page.Sources() {
		meaning := s.Meaning
		if s.Unloaded {
			if meaning.Signal != engine.ModelFailed {
				continue
			}
			failures := *meaning
			failures.Signal, failures.PerModel = unloadedFailures, true
			meaning = &failures
		}
		draft := meaning.Scope() == engine.OfEngine && p.identity.Topology.Role(s.Model) == engine.RoleDraft
		if !draft && meaning.Holds(p.identity.EngineVersion) {
			p.sources = append(p.sources, source{Source: s, meaning: meaning, id: p.identity.Topology.ModelID(s.Model), class: classOf(&s)})
		}
	}
}

// group holds the sources of one derived series, or of one histogram or summary.
type group struct {
	signal             engine.Signal
	labels             labels.Labels
	id, model, version string
	role               engine.Role
	class              engine.Class
	meaning            *engine.Meaning
	// members holds the sources of a value, the other fields the sources of a distribution.
	members            []int
	buckets, quantiles []point
	sum, count         []int
}

// point is a bucket of a histogram, with its bound in base units, or a quantile of a summary.
type point struct {
	bound   float64
	text    string
	members []int
}

// groupSources groups the sources by derived series, in a fixed order.
func (p *Plan) groupSources() {
	byKey := make(map[string]*group)
	for i := range p.sources {
		in := &p.sources[i]
		lset := p.labelsOf(in)
		signal := in.meaning.Signal
		key := string(signal) + "\x00" + strconv.Itoa(int(in.meaning.Form())) + lset.String()
		g, ok := byKey[key]
		if !ok {
			g = &group{
				signal: signal, labels: lset, id: in.id, model: in.Model, version: in.Version,
				role: p.identity.Topology.Role(in.Model), class: in.class, meaning: in.meaning,
			}
			byKey[key] = g
			p.groups[signal] = append(p.groups[signal], g)
		}
		g.add(i, in.Part, in.Labels)
	}
	for signal, groups := range p.groups {
		slices.SortFunc(groups, func(a, b *group) int { return labels.Compare(a.labels, b.labels) })
		for _, g := range groups {
			key := [2]string{string(signal), g.id}
			p.byID[key] = append(p.byID[key], g)
			for _, points := range [][]point{g.buckets, g.quantiles} {
				slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.bound, b.bound) })
			}
		}
	}
}

func (g *group) add(i int, part engine.Part, lset labels.Labels) {
	switch part {
	case engine.PartValue:
		g.members = append(g.members, i)
	case engine.PartSum:
		g.sum = append(g.sum, i)
	case engine.PartCount:
		g.count = append(g.count, i)
	case engine.PartBucket:
		g.buckets = addPoint(g.buckets, lset.Get("le"), g.meaning.Shift, i)
	case engine.PartQuantile:
		g.quantiles = addPoint(g.quantiles, lset.Get("quantile"), 0, i)
	}
}

// addPoint adds a source to the point with its bound, if that is a number.
func addPoint(points []point, text string, shift, i int) []point {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != v {
		return points
	}
	if shift != 0 && !math.IsInf(v, 0) {
		v /= math.Pow10(shift)
		text = string(exposition.AppendFloat(nil, v))
	}
	for n := range points {
		if points[n].bound == v {
			points[n].members = append(points[n].members, i)
			return points
		}
	}
	return append(points, point{bound: v, text: text, members: []int{i}})
}

// labelsOf returns the labels of the derived series of a source.
func (p *Plan) labelsOf(in *source) labels.Labels {
	b := labels.NewBuilder(p.identity.Labels)
	switch in.meaning.Scope() {
	case engine.OfModel:
		b.Set("model", in.Model).Set("version", in.Version).Set("model_id", in.id)
		b.Set("role", string(p.identity.Topology.Role(in.Model)))
	case engine.OfEngine:
		b.Set("model_id", in.id)
	case engine.OfServer:
	}
	for _, dim := range in.meaning.Dims {
		if v := in.Labels.Get(dim.Theirs); v != "" {
			if dim.Ours == "reason" {
				v = in.meaning.Outcome.ReasonPrefix() + strings.ToLower(v)
			}
			b.Set(dim.Ours, v)
		}
	}
	if in.class != "" && in.meaning.Signal != engine.ModelSuccess {
		b.Set(labelClass, string(in.class))
	}
	if added := in.meaning.Const; added.Name != "" {
		b.Set(added.Name, added.Value)
	}
	return b.Labels()
}

const labelClass = "class"

func withLabels(lset labels.Labels, pairs ...string) labels.Labels {
	b := labels.NewBuilder(lset)
	for pair := range slices.Chunk(pairs, 2) {
		b.Set(pair[0], pair[1])
	}
	return b.Labels()
}

// column returns the column of a source, which is added when a rule first reads it.
func (p *Plan) column(i int) int {
	if c, ok := p.columnOf[i]; ok {
		return c
	}
	in, out := &p.sources[i], p.program
	c := out.addColumn(in.Place, in.key(out.gpus), in.Counter)
	p.columnOf[i] = c
	if in.meaning.ZeroUnknown() {
		out.notZero = append(out.notZero, int32(c))
	}
	// Buckets and counts have no unit.
	if shift := in.meaning.Shift; shift != 0 && in.Part != engine.PartBucket && in.Part != engine.PartCount {
		out.scaled = append(out.scaled, scaledColumn{int32(c), math.Pow10(shift)})
	}
	p.checkSample(in)
	return c
}

func (p *Plan) columnsOf(members []int) []int {
	columns := make([]int, len(members))
	for i, m := range members {
		columns[i] = p.column(m)
	}
	return columns
}

func (p *Plan) groupColumns(groups []*group) []int {
	var columns []int
	for _, g := range groups {
		columns = append(columns, p.columnsOf(g.members)...)
	}
	return columns
}

// value returns the combined newest values of a group.
func (p *Plan) value(g *group) Eval { return combine(p.columnsOf(g.members), g.meaning.Combine) }

// sum adds up the newest values of groups. It returns nil without groups.
func (p *Plan) sum(groups []*group) Eval {
	evals := make([]Eval, len(groups))
	for i, g := range groups {
		evals[i] = p.value(g)
	}
	return add(evals...)
}

// total adds up the newest values of a signal of a model id. It returns nil if the page has none.
func (p *Plan) total(signal engine.Signal, id string) Eval { return p.sum(p.groupsOf(signal, id)) }
