package derive

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func (p *Plan) distribute(f *Family, g *group, lset labels.Labels) {
	if len(g.sum) == 0 || len(g.count) == 0 {
		return
	}
	if g.meaning.Form() != engine.Summary {
		p.histogram(f, g, lset)
		return
	}
	for _, q := range g.quantiles {
		p.pass(f, "", withLabels(lset, "quantile", q.text), g, q.members, g.meaning.Shift)
	}
	p.pass(f, "_sum", lset, g, g.sum, g.meaning.Shift)
	p.pass(f, "_count", lset, g, g.count, 0)
}

// histogram adds the series of a histogram, unless it lacks its last bucket.
func (p *Plan) histogram(f *Family, g *group, lset labels.Labels) {
	if !g.complete() {
		p.program.broken++
		return
	}
	h := copiedHistogram{gate: p.gateOf(g), shift: g.meaning.Shift, first: len(p.program.series)}
	add := func(suffix string, lset labels.Labels, members []int) {
		p.series(f, suffix, lset)
		places := make([]exposition.ValueIndex, len(members))
		for i, m := range members {
			places[i] = p.sources[m].Place
		}
		h.parts = append(h.parts, places)
	}
	for _, b := range g.buckets {
		add("_bucket", withLabels(lset, "le", b.text), b.members)
	}
	add("_sum", lset, g.sum)
	add("_count", lset, g.count)
	p.program.histograms = append(p.program.histograms, h)
}

// complete reports whether the buckets of a histogram end with +Inf.
func (g *group) complete() bool {
	n := len(g.buckets)
	return n > 0 && math.IsInf(g.buckets[n-1].bound, 1)
}

// copiedHistogram copies either all series of a histogram or none. Sum and count are the last two.
type copiedHistogram struct {
	first, shift int
	gate         Gate
	// parts holds the places whose sum is the value, for each series.
	parts [][]exposition.ValueIndex
}

// number returns the value of a part on a page, or NaN if any number is negative.
func (h *copiedHistogram) number(page *exposition.Block, part int) (sum float64) {
	for _, place := range h.parts[part] {
		v := page.Number(place)
		if v < 0 {
			return math.NaN()
		}
		sum += v
	}
	return sum
}

// valid reports whether all numbers are finite and the buckets cumulative up to the count.
func (h *copiedHistogram) valid(page *exposition.Block) bool {
	previous, sum := 0.0, len(h.parts)-2
	for i := range h.parts {
		v := h.number(page, i)
		if !finite(v) || i != sum && v < previous {
			return false
		}
		if i != sum {
			previous = v
		}
	}
	return true
}

// copy copies the values of a histogram as text, or their sums.
func (h *copiedHistogram) copy(page, out *exposition.Block) {
	for i, places := range h.parts {
		n, divisor := h.first+i, 1.0
		if i == len(h.parts)-2 {
			divisor = math.Pow10(h.shift)
		}
		switch {
		case len(places) > 1:
			out.SetShort(n, h.number(page, i)/divisor)
		case divisor != 1:
			out.Set(n, h.number(page, i)/divisor)
		default:
			out.CopyText(n, page, places[0])
		}
	}
}
