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
	if g.meaning.Form != engine.Summary {
		p.histogram(f, g, lset)
		return
	}
	gate, shift := p.gateOf(g), g.meaning.Shift
	for _, at := range g.quantiles {
		p.pass(f, "", withLabel(lset, "quantile", at.text), gate, g, at.members, shift)
	}
	p.pass(f, "_sum", lset, gate, g, g.sum, shift)
	p.pass(f, "_count", lset, gate, g, g.count, 0)
}

// histogram adds the series of a histogram, which are passed on all or none.
func (p *Plan) histogram(f *Family, g *group, lset labels.Labels) {
	if !g.complete() {
		p.program.broken++
		return
	}
	h := passedHistogram{gate: p.gateOf(g), shift: g.meaning.Shift, first: len(p.program.series)}
	add := func(suffix string, lset labels.Labels, members []int) {
		p.series(f, suffix, lset)
		places := make([]exposition.ValueIndex, len(members))
		for i, m := range members {
			places[i] = p.sources[m].Place
		}
		h.parts = append(h.parts, places)
	}
	for _, b := range g.buckets {
		add("_bucket", withLabel(lset, "le", b.bound(h.shift)), b.members)
	}
	add("_sum", lset, g.sum)
	add("_count", lset, g.count)
	p.program.histograms = append(p.program.histograms, h)
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

// passedHistogram passes the series of one histogram on, all of them or none: the
// first is the first bucket, sum and count come last.
type passedHistogram struct {
	first, shift int
	gate         Gate
	// parts are the places of each of the series, which is their sum where there are
	// several.
	parts [][]exposition.ValueIndex
}

// number is the number of a part on a page, NaN where it cannot be one.
func (h *passedHistogram) number(page *exposition.Block, part int) (sum float64) {
	for _, place := range h.parts[part] {
		v := page.Number(place)
		if v < 0 {
			return math.NaN()
		}
		sum += v
	}
	return sum
}

// sum is which of the parts is the sum of what was observed.
func (h *passedHistogram) sum() int { return len(h.parts) - 2 }

// grows reports whether the buckets on a page grow up to the count, and all is
// finite.
func (h *passedHistogram) grows(page *exposition.Block) bool {
	before := 0.0
	for i := range h.parts {
		v := h.number(page, i)
		if !finite(v) || i != h.sum() && v < before {
			return false
		}
		if i != h.sum() {
			before = v
		}
	}
	return true
}

// copy passes a histogram's texts on, or what they add up to.
func (h *passedHistogram) copy(page, out *exposition.Block) {
	for i, places := range h.parts {
		n, moved := h.first+i, 1.0
		if i == h.sum() {
			moved = math.Pow10(h.shift)
		}
		switch {
		case len(places) > 1:
			out.SetShort(n, h.number(page, i)/moved)
		case moved != 1:
			out.Set(n, h.number(page, i)/moved)
		default:
			out.CopyText(n, page, places[0])
		}
	}
}
