package derive

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// percentile is a percentage and the quantile it is.
type percentile struct {
	label string
	at    float64
}

// percentages are the percentiles that are exposed.
func percentages() []percentile { return []percentile{{"50", 0.5}, {"95", 0.95}, {"99", 0.99}} }

// percentiles are those of a histogram over the window, or of a summary as the
// server gives them; not all families have a summary. There is none in the last
// bucket, which has no end, and none of the highest that is below the mean: a few
// requests that took far longer than all others may have brought it there.
func percentiles(of histograms, given ...engine.Signal) Rule {
	rule := of.rule(anyOf(given...), func(p *Plan, f *Family, id string, at front, groups []*group, lset labels.Labels) {
		if h, mean := p.histogramOf(groups); h != nil {
			highest := percentages()[len(percentages())-1]
			for _, q := range percentages() {
				p.emit(f, withLabel(lset, "percentile", q.label), p.gatesOf(groups), func(w *Window) (float64, bool) {
					v, ok := h.quantile(w, q.at)
					if average, known := mean(w); ok && known && q == highest && v < average {
						return 0, false
					}
					return v, ok
				})
			}
			return
		}
		for _, signal := range given {
			p.given(f, id, at, p.at(signal, id, at))
		}
	}).by("percentile")
	if len(given) > 0 {
		return rule.because("of a Triton it is the quantile of its own summary, where there is no histogram")
	}
	return rule.queried("histogram_quantile(0.95, rate(" + Prefix + string(of.signal) + "_bucket[1m]))")
}

// histogramOf is the one histogram of some groups with its mean, nil where there
// is none or several.
func (p *Plan) histogramOf(groups []*group) (*windowed, Eval) {
	mean := p.meanOver(groups)
	if len(groups) != 1 || mean == nil {
		return nil, nil
	}
	return p.windowed(groups[0]), mean
}

// aboveBound is the share of the observations of the window that are beyond the
// largest bound of their histogram, of which no percentile can be known.
func aboveBound(of histograms) Rule {
	name := Prefix + string(of.signal)
	return of.rule(inputs{}, func(p *Plan, f *Family, _ string, _ front, groups []*group, lset labels.Labels) {
		h, _ := p.histogramOf(groups)
		if h == nil {
			return
		}
		last := len(h.bounds) - 1
		p.emit(f, lset, p.gatesOf(groups), func(w *Window) (float64, bool) {
			grown, ok := h.growth(w)
			if !ok || !(grown[last] > 0) {
				return 0, false
			}
			return 1 - grown[last-1]/grown[last], true
		})
	}).queried("1 - max without (le) (rate(" + name + `_bucket{le!="+Inf"}[1m])) / rate(` + name + "_count[1m])")
}

// given passes the quantiles of a summary on.
func (p *Plan) given(f *Family, id string, at front, groups []*group) {
	for _, q := range percentages() {
		for _, g := range groups {
			i := slices.IndexFunc(g.quantiles, func(v point) bool { return v.at == q.at })
			if i < 0 || p.falsified(g) {
				continue
			}
			p.emit(f, p.forFront(id, at, "percentile", q.label), p.gateOf(g), combine(p.columnsOf(g.quantiles[i].members), engine.Max))
		}
	}
}

// windowed is a histogram of the observations of the window: how many there are up to
// each bound is computed once a page.
type windowed struct {
	bounds []float64
	growth func(w *Window) ([]float64, bool)
}

// windowed reads the buckets of a histogram; nil without its last one.
func (p *Plan) windowed(g *group) *windowed {
	if len(g.buckets) < 2 || !g.complete() {
		return nil
	}
	h := &windowed{}
	var columns [][]int
	divisor := math.Pow10(g.meaning.Shift)
	for _, b := range g.buckets {
		h.bounds = append(h.bounds, b.at/divisor)
		columns = append(columns, p.columnsOf(b.members))
	}
	all := slices.Concat(columns...)
	h.growth = once(p, func(w *Window) ([]float64, bool) {
		row, _, ok := w.common(all)
		if !ok {
			return nil, false
		}
		grown := make([]float64, len(columns))
		for i := range columns {
			grown[i] = w.grown(columns[i], row)
		}
		return grown, slices.IsSorted(grown)
	})
	return h
}

// quantile interpolates inside the bucket that the quantile falls into, as
// Prometheus' histogram_quantile does; there is none without observations, and
// none in the last bucket, where that gives the largest bound.
func (h *windowed) quantile(w *Window, q float64) (float64, bool) {
	last := len(h.bounds) - 1
	grown, ok := h.growth(w)
	if !ok || !(grown[last] > 0) {
		return 0, false
	}
	rank := q * grown[last]
	i := slices.IndexFunc(grown, func(n float64) bool { return n >= rank })
	if i == last {
		return 0, false
	}
	below, from := 0.0, 0.0
	if i > 0 {
		below, from = grown[i-1], h.bounds[i-1]
	} else if h.bounds[0] <= 0 {
		return h.bounds[0], true
	}
	return from + (h.bounds[i]-from)*(rank-below)/(grown[i]-below), true
}
