package derive

import (
	"math"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// CopyDistribution sets the next series to the series of a histogram or summary. They are about a
// model, or have the labels of the group if that is nil.
func (o *Out) CopyDistribution(g *group, m *Model) {
	switch {
	case len(g.sum.sources) == 0 || len(g.count.sources) == 0:
	case g.form == engine.Summary:
		o.copySummary(g, m)
	case g.complete():
		o.copyHistogram(g, m)
	case o.view.index.building != nil:
		o.view.index.broken++
	}
}

// copySummary copies the quantiles: the sum and the count of what a summary is about are counters of their own.
func (o *Out) copySummary(g *group, m *Model) {
	for i := range g.quantiles {
		q := &g.quantiles[i]
		o.part(g, m, "", "quantile", q.text)
		o.copy(g, &q.numbers, g.shift)
	}
}

// part adds a series of a distribution while the index is built.
func (o *Out) part(g *group, m *Model, suffix string, pairs ...string) {
	if o.series == nil {
		return
	}
	lset := g.labels
	if m != nil {
		lset = m.labels
	}
	o.add(suffix, withLabels(lset, slices.Clone(pairs)...))
}

// copyHistogram copies either all series of a histogram or none.
func (o *Out) copyHistogram(g *group, m *Model) {
	if o.series != nil {
		for i := range g.buckets {
			o.part(g, m, "_bucket", "le", g.buckets[i].text)
			o.repeats(&g.buckets[i].numbers)
		}
		o.part(g, m, "_sum")
		o.repeats(&g.sum.numbers)
		o.part(g, m, "_count")
		o.repeats(&g.count.numbers)
		o.view.index.addHistogram(g)
		o.view.trusts(g)
		return
	}
	first := o.next
	o.next += len(g.buckets) + 2
	if o.next > o.end || !o.view.trusts(g) || !g.valid(o.page) {
		return
	}
	for i := range g.buckets {
		g.buckets[i].copyPart(first+i, 0, o.page, o.block)
	}
	g.sum.copyPart(first+len(g.buckets), g.shift, o.page, o.block)
	g.count.copyPart(first+len(g.buckets)+1, 0, o.page, o.block)
}

// addHistogram notes where on the page the numbers of a histogram are, while the index is built.
func (ix *index) addHistogram(g *group) {
	if ix.building == nil {
		return
	}
	ix.copied = append(ix.copied, g)
	for i := range g.buckets {
		g.buckets[i].places = ix.placesOf(&g.buckets[i].numbers)
	}
	g.sum.places = ix.placesOf(&g.sum.numbers)
	g.count.places = ix.placesOf(&g.count.numbers)
}

func (ix *index) placesOf(n *numbers) (places []exposition.ValueIndex) {
	for _, source := range n.sources {
		places = append(places, ix.building.sources[source].place)
	}
	return places
}

// complete reports whether the buckets of a histogram end with +Inf, and begin at 0 or above: none is of what can be
// negative, and a percentile must not be.
func (g *group) complete() bool {
	n := len(g.buckets)
	return n > 0 && math.IsInf(g.buckets[n-1].bound, 1) && g.buckets[0].bound >= 0
}

// valid reports whether all numbers of a histogram are finite and the buckets cumulative up to the
// count.
func (g *group) valid(page *exposition.Block) bool {
	previous := 0.0
	for i := range g.buckets {
		v := g.buckets[i].onPage(page)
		if !finite(v) || v < previous {
			return false
		}
		previous = v
	}
	count := g.count.onPage(page)
	return finite(g.sum.onPage(page)) && finite(count) && count >= previous
}

// onPage returns the sum of the numbers on a page, or NaN if any is impossible.
func (n *part) onPage(page *exposition.Block) (sum float64) {
	for _, place := range n.places {
		v := page.Number(place)
		if !possible(v) {
			return math.NaN()
		}
		sum += v
	}
	return sum
}

// copyPart copies a part of a histogram as text, or the sum of its numbers.
func (n *part) copyPart(series, shift int, page, block *exposition.Block) {
	switch {
	case len(n.places) > 1:
		block.SetShort(series, n.onPage(page)/math.Pow10(shift))
	case shift != 0:
		block.Set(series, n.onPage(page)/math.Pow10(shift))
	default:
		block.CopyText(series, page, n.places[0])
	}
}

// growth returns by how much the buckets of a complete histogram grew over the window, cumulated as
// on the page. There is no result if it has no new observations.
func (v *View) growth(g *group) ([]float64, bool) {
	if v.index.building != nil {
		for i := range g.buckets {
			v.columns(&g.buckets[i].numbers)
		}
		v.index.numberHistogram(g)
		return nil, false
	}
	r := &v.grown[g.histogram-1]
	if !r.computed {
		r.computed = true
		r.value, r.ok = v.window.bucketGrowth(g.buckets, r.value)
	}
	return r.value, r.ok
}

// numberHistogram gives a histogram a number from 1, by which its growth is cached.
func (ix *index) numberHistogram(g *group) {
	if g.histogram == 0 {
		ix.histograms++
		g.histogram = ix.histograms
	}
}

// bucketGrowth writes the growth of buckets to grown, over the stretch that they have in common.
func (w *Window) bucketGrowth(buckets []point, grown []float64) ([]float64, bool) {
	row, ok := w.bucketStretch(buckets)
	if !ok {
		return grown, false
	}
	grown = slices.Grow(grown[:0], len(buckets))
	for i := range buckets {
		grown = append(grown, w.increaseFrom(row, buckets[i].columns))
	}
	return grown, slices.IsSorted(grown) && grown[len(grown)-1] > 0
}

func (w *Window) bucketStretch(buckets []point) (row int, ok bool) {
	since := int64(math.MinInt64)
	for i := range buckets {
		since = max(since, w.latest(buckets[i].columns))
	}
	row, start := w.firstRow(since)
	return row, start < w.now
}

// quantile is like Prometheus' histogram_quantile, but has no value in the last bucket.
func quantile(buckets []point, grown []float64, q float64) (float64, bool) {
	last := len(grown) - 1
	rank := q * grown[last]
	i := slices.IndexFunc(grown, func(n float64) bool { return n >= rank })
	if i == last {
		return 0, false
	}
	below, from := 0.0, 0.0
	if i > 0 {
		below, from = grown[i-1], buckets[i-1].bound
	} else if buckets[0].bound <= 0 {
		return buckets[0].bound, true
	}
	return from + (buckets[i].bound-from)*(rank-below)/(grown[i]-below), true
}
