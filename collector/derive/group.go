package derive

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// group are the sources that mean the same of the same thing; a histogram or
// summary is one group.
type group struct {
	signal             engine.Signal
	labels             labels.Labels
	id, model, version string
	role               engine.Role
	class              engine.Class
	meaning            *engine.Meaning
	// members are the sources of a single value, buckets, quantiles, sum and
	// count those of a distribution.
	members            []int
	buckets, quantiles []point
	sum, count         []int
}

// point is one bucket of a histogram or one quantile of a summary.
type point struct {
	at      float64
	text    string
	members []int
}

// group puts sources together that become one series, and orders groups so
// that series come out in one order whatever the server's is.
func (p *Plan) group() {
	at := make(map[string]*group)
	for i := range p.sources {
		in := &p.sources[i]
		lset := p.labelsOf(in)
		signal := in.meaning.Signal
		key := string(signal) + "\x00" + strconv.Itoa(int(in.meaning.Form)) + lset.String()
		g, ok := at[key]
		if !ok {
			g = &group{
				signal: signal, labels: lset, id: in.id, model: in.Model, version: in.Version,
				role: p.identity.Topology.Role(in.Model), class: in.class, meaning: in.meaning,
			}
			at[key] = g
			p.groups[signal] = append(p.groups[signal], g)
		}
		g.take(i, in.Part, in.Labels)
	}
	for signal, groups := range p.groups {
		slices.SortFunc(groups, func(a, b *group) int { return labels.Compare(a.labels, b.labels) })
		for _, g := range groups {
			p.byID[signalOf{signal, g.id}] = append(p.byID[signalOf{signal, g.id}], g)
			for _, points := range [][]point{g.buckets, g.quantiles} {
				slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
			}
		}
	}
}

// take adds a source to the part of the group it is.
func (g *group) take(i int, part engine.Part, lset labels.Labels) {
	switch part {
	case engine.PartValue:
		g.members = append(g.members, i)
	case engine.PartSum:
		g.sum = append(g.sum, i)
	case engine.PartCount:
		g.count = append(g.count, i)
	case engine.PartBucket:
		g.buckets = takePoint(g.buckets, lset.Get("le"), i)
	case engine.PartQuantile:
		g.quantiles = takePoint(g.quantiles, lset.Get("quantile"), i)
	}
}

// takePoint adds a source to the point of that bound; bounds that are not
// numbers are left out.
func takePoint(points []point, text string, i int) []point {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != v {
		return points
	}
	for n := range points {
		if points[n].at == v {
			points[n].members = append(points[n].members, i)
			return points
		}
	}
	return append(points, point{at: v, text: text, members: []int{i}})
}

// labelsOf are the labels of the series a source becomes a part of.
func (p *Plan) labelsOf(in *source) labels.Labels {
	b := labels.NewBuilder(p.identity.Labels)
	switch in.meaning.Scope {
	case engine.OfModel:
		b.Set("model", in.Model).Set("version", in.Version).Set("model_id", in.id)
		b.Set("role", string(p.identity.Topology.Role(in.Model)))
	case engine.OfEngine:
		b.Set("model_id", in.id)
	case engine.OfServer:
	}
	for _, dim := range in.meaning.Dims {
		from, to := dimension(dim)
		if v := in.Labels.Get(from); v != "" {
			if to == "reason" {
				v = in.meaning.Outcome.ReasonPrefix() + strings.ToLower(v)
			}
			b.Set(to, v)
		}
	}
	if in.class != "" && in.meaning.Signal != engine.ModelSuccess {
		b.Set(labelClass, string(in.class))
	}
	if name, value, ok := strings.Cut(in.meaning.Const, "="); ok {
		b.Set(name, value)
	}
	return b.Labels()
}

// labelClass says what became of requests.
const labelClass = "class"

// withLabel adds one label.
func withLabel(lset labels.Labels, name, value string) labels.Labels {
	return labels.NewBuilder(lset).Set(name, value).Labels()
}

// column is the place in the window of a source's values, made when a rule
// first reads it.
func (p *Plan) column(i int) int {
	if c, ok := p.columns[i]; ok {
		return c
	}
	in, out := &p.sources[i], &p.program.intake
	c := len(out.places)
	p.columns[i] = c
	out.places = append(out.places, in.Place)
	out.counter = append(out.counter, in.meaning.Counter)
	out.keys = append(out.keys, in.key(p.gpus))
	out.appears = append(out.appears, p.quirks.CountersAppear && in.meaning.Counter)
	// Numbers of observations have no unit.
	part, shift := in.Part, in.meaning.Shift
	switch {
	case in.meaning.NotZero:
		out.notZero = append(out.notZero, int32(c))
	case shift != 0 && part != engine.PartBucket && part != engine.PartCount:
		out.scaled = append(out.scaled, scaled{int32(c), math.Pow10(shift)})
	}
	p.judge(in)
	return c
}

// columnsOf are the places in the window of several sources.
func (p *Plan) columnsOf(members []int) []int {
	columns := make([]int, len(members))
	for i, m := range members {
		columns[i] = p.column(m)
	}
	return columns
}

// last combines the newest values of a group.
func (p *Plan) last(g *group) Eval { return combine(p.columnsOf(g.members), g.meaning.Combine) }

// sum adds the newest values of groups; nil when there are none.
func (p *Plan) sum(groups []*group) Eval {
	evals := make([]Eval, len(groups))
	for i, g := range groups {
		evals[i] = p.last(g)
	}
	return add(evals...)
}

// total is the sum of a signal's groups of one model id, nil when there are
// none.
func (p *Plan) total(signal engine.Signal, id string) Eval { return p.sum(p.of(signal, id)) }

// counted are the columns of groups.
func (p *Plan) counted(groups []*group) []int {
	var columns []int
	for _, g := range groups {
		columns = append(columns, p.columnsOf(g.members)...)
	}
	return columns
}
