package derive

import (
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// percentages returns the percentages of percentiles in rising order.
func percentages() []float64 { return []float64{50, 95, 99} }

// percentiles exposes percentiles of a histogram over the window, or of a summary as
// the server gives them. There is none in the last bucket, which has no upper bound,
// and no highest percentile below the mean: a few requests that took far longer than
// all others may have moved the mean there.
func percentiles(h histograms, summaries ...engine.Signal) Rule {
	rule := h.rule(anyOf(summaries...), func(p *Plan, f *Family, id string, mv modelVersion, groups []*group, lset labels.Labels) {
		if window := p.windowHistogram(groups); window != nil {
			mean := p.meanOver(groups)
			for _, percentage := range percentages() {
				p.emit(f, withLabel(lset, "percentile", fmt.Sprint(percentage)), p.gatesOf(groups), func(w *Window) (float64, bool) {
					v, ok := window.quantile(w, percentage/100)
					average, known := mean(w)
					tail := known && percentage == slices.Max(percentages()) && v < average
					return v, ok && !tail
				})
			}
			return
		}
		for _, signal := range summaries {
			p.passQuantiles(f, id, mv, p.versionGroups(signal, id, mv))
		}
	}).by("percentile")
	if len(summaries) > 0 {
		return rule.because("for a Triton without the histogram it is the quantile of its own summary")
	}
	return rule.queried("histogram_quantile(0.95, rate(" + Prefix + string(h.signal) + "_bucket[1m]))").
		computes("quantile of " + string(h.signal) + " over the window")
}

// aboveBound exposes the share of the observations of the window above the largest bound of
// their histogram, where no percentile can be known.
func aboveBound(h histograms) Rule {
	name := Prefix + string(h.signal)
	return h.rule(inputs{}, func(p *Plan, f *Family, _ string, _ modelVersion, groups []*group, lset labels.Labels) {
		window := p.windowHistogram(groups)
		if window == nil {
			return
		}
		last := len(window.bounds) - 1
		p.emit(f, lset, p.gatesOf(groups), func(w *Window) (float64, bool) {
			grown, ok := window.growth(w)
			if !ok {
				return 0, false
			}
			return 1 - grown[last-1]/grown[last], true
		})
	}).queried("1 - max without (le) (rate(" + name + `_bucket{le!="+Inf"}[1m])) / rate(` + name + "_count[1m])").
		computes("1 - rate(bucket of the largest bound) / rate(count) of " + string(h.signal))
}

// passQuantiles passes on the quantiles of a summary.
func (p *Plan) passQuantiles(f *Family, id string, mv modelVersion, groups []*group) {
	for _, percentage := range percentages() {
		for _, g := range groups {
			i := slices.IndexFunc(g.quantiles, func(v point) bool { return v.bound == percentage/100 })
			if i < 0 || p.endsEarly(g) {
				continue
			}
			p.emit(f, p.forModelVersion(id, mv, "percentile", fmt.Sprint(percentage)), p.gateOf(g), combine(p.columnsOf(g.quantiles[i].members), engine.Max))
		}
	}
}

// windowHistogram is a histogram of the observations of the window. Its growth, which has
// no value without observations, is computed once per page.
type windowHistogram struct {
	bounds []float64
	growth func(w *Window) ([]float64, bool)
}

// windowHistogram returns the one complete histogram of groups, or nil.
func (p *Plan) windowHistogram(groups []*group) *windowHistogram {
	if len(groups) != 1 || len(groups[0].buckets) < 2 || !groups[0].complete() || p.meanOver(groups) == nil {
		return nil
	}
	h := &windowHistogram{}
	var columns [][]int
	for _, b := range groups[0].buckets {
		h.bounds = append(h.bounds, b.bound)
		columns = append(columns, p.columnsOf(b.members))
	}
	all := slices.Concat(columns...)
	h.growth = oncePerPage(p, func(w *Window) ([]float64, bool) {
		row, _, ok := w.stretch(all)
		if !ok {
			return nil, false
		}
		grown := make([]float64, len(columns))
		for i := range columns {
			grown[i] = w.increaseFrom(row, columns[i])
		}
		return grown, slices.IsSorted(grown) && grown[len(grown)-1] > 0
	})
	return h
}

// quantile interpolates within the bucket of the quantile, as Prometheus'
// histogram_quantile does. It has no value in the last bucket, for which that returns the
// largest bound.
func (h *windowHistogram) quantile(w *Window, q float64) (float64, bool) {
	grown, ok := h.growth(w)
	if !ok {
		return 0, false
	}
	last := len(grown) - 1
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
