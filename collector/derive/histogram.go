package derive

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// distribute adds the series of one histogram or summary. A histogram without
// its last bucket, sum or count is broken and not passed on.
func (p *Plan) distribute(f *Family, g *group, lset labels.Labels) {
	if len(g.sum) == 0 || len(g.count) == 0 {
		return
	}
	gate, shift := p.gateOf(g), g.meaning.Shift
	points, label, suffix := g.buckets, "le", "_bucket"
	switch {
	case g.meaning.Form == engine.Summary:
		points, label, suffix = g.quantiles, "quantile", ""
	case !g.complete():
		p.program.broken++
		return
	case g.single():
		p.passWhole(f, g, lset, gate)
		return
	default:
		gate = p.and(gate, p.summed(g, f.Name+lset.String()))
	}
	for _, at := range points {
		text, moved := at.text, shift
		if label == "le" {
			text, moved = at.bound(shift), 0
		}
		p.pass(f, suffix, withLabel(lset, label, text), gate, g, at.members, moved)
	}
	p.pass(f, "_sum", lset, gate, g, g.sum, shift)
	p.pass(f, "_count", lset, gate, g, g.count, 0)
}

// bound is the text of a bucket's bound in base units.
func (b *point) bound(shift int) string {
	if shift == 0 || math.IsInf(b.at, 0) {
		return b.text
	}
	return string(exposition.AppendFloat(nil, b.at/math.Pow10(shift)))
}

// complete says whether the buckets of a histogram end with +Inf.
func (g *group) complete() bool {
	n := len(g.buckets)
	return n > 0 && math.IsInf(g.buckets[n-1].at, 1)
}

// single says whether each part of a histogram is one series of the page.
func (g *group) single() bool {
	for _, b := range g.buckets {
		if len(b.members) != 1 {
			return false
		}
	}
	return len(g.sum) == 1 && len(g.count) == 1
}

// passWhole adds the series of a histogram that are passed on all or none.
func (p *Plan) passWhole(f *Family, g *group, lset labels.Labels, gate int) {
	h := passedHistogram{gate: gate, shift: g.meaning.Shift, first: len(p.program.series)}
	add := func(suffix string, lset labels.Labels, members []int) {
		p.series(f, suffix, lset)
		h.places = append(h.places, p.sources[members[0]].Place)
	}
	for _, b := range g.buckets {
		add("_bucket", withLabel(lset, "le", b.bound(h.shift)), b.members)
	}
	add("_sum", lset, g.sum)
	add("_count", lset, g.count)
	p.program.histograms = append(p.program.histograms, h)
}

// passedHistogram passes the series of one histogram on, all of them or none: the
// first is the first bucket, sum and count come last.
type passedHistogram struct {
	first, gate, shift int
	places             []exposition.Place
}

// summedHistogram is a histogram each part of which is the sum of several columns:
// its buckets, then sum and count.
type summedHistogram [][]int

// summed is open while all parts of a histogram of several series may be shown.
func (p *Plan) summed(g *group, key string) int {
	var h summedHistogram
	for _, b := range g.buckets {
		h = append(h, p.columnsOf(b.members))
	}
	h = append(h, p.columnsOf(g.sum), p.columnsOf(g.count))
	p.program.summed = append(p.program.summed, h)
	return p.when("summed "+key, func(w *Window) bool { return h.grows(w.current) })
}

// grows says whether the buckets of a row grow up to the count, and all is finite.
func (h summedHistogram) grows(row []float64) bool {
	var r rising
	for i, columns := range h {
		if v := sumOf(row, columns); !finite(v) || !r.takes(v, i == len(h)-2) {
			return false
		}
	}
	return true
}

// grows says so of those of a page, whose numbers are finite or not there.
func (h *passedHistogram) grows(page *exposition.Block) bool {
	var r rising
	for i, n := range h.places {
		if !r.takes(page.Number(n), i == len(h.places)-2) {
			return false
		}
	}
	return true
}

// rising is the last bucket of a histogram that was looked at.
type rising struct{ before float64 }

// takes says whether the next bucket, the sum or the count of the histogram may be so.
func (r *rising) takes(v float64, sum bool) bool {
	if sum {
		return v >= 0
	}
	grows := v >= r.before
	r.before = v
	return grows
}

// copy passes a histogram's texts on.
func (h *passedHistogram) copy(page, out *exposition.Block) {
	for i, n := range h.places {
		out.Show(h.first+i, page, n)
	}
	if sum := len(h.places) - 2; h.shift != 0 {
		out.Took(h.first+sum, exposition.AppendFloat(out.Data(), page.Number(h.places[sum])/math.Pow10(h.shift)))
	}
}
