package derive

import (
	"math"
	"slices"

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
// server gives them; not all families have a summary.
func percentiles(of histograms, given ...engine.Signal) Rule {
	return eachEntry(of.inputs.or(anyOf(given...)), func(p *Plan, f *Family, id string) {
		if groups := of.of(p, id); len(groups) == 1 {
			if h := p.windowed(groups[0]); h != nil {
				for _, q := range percentages() {
					p.emit(f, p.forModel(id, "percentile", q.label), 0, func(w *Window) (float64, bool) { return h.quantile(w, q.at) })
				}
			}
			return
		}
		for _, signal := range given {
			p.given(f, id, p.front(signal, id))
		}
	}).by("percentile")
}

// given passes quantiles of a summary on. Of several entries into a deployment
// one may have had requests; quantiles of two cannot be made one.
func (p *Plan) given(f *Family, id string, groups []*group) {
	for _, q := range percentages() {
		var columns []int
		gate := p.quiet(id)
		for _, g := range groups {
			i := slices.IndexFunc(g.quantiles, func(v point) bool { return v.at == q.at })
			if i < 0 || p.falsified(g) {
				continue
			}
			columns = append(columns, p.columnsOf(g.quantiles[i].members)...)
			gate = p.and(gate, p.gateOf(g))
		}
		if len(columns) > 0 {
			p.emit(f, p.forModel(id, "percentile", q.label), gate, theOnly(columns))
		}
	}
}

// theOnly is the value of the one column that has any.
func theOnly(columns []int) Eval {
	return func(w *Window) (float64, bool) {
		value, n := 0.0, 0
		for _, c := range columns {
			if v, ok := w.Last(c); ok {
				value, n = v, n+1
			}
		}
		return value, n == 1
	}
}

// windowed is a histogram of the observations of the window. It computes the
// growth of its buckets once a page.
type windowed struct {
	bounds  []float64
	columns [][]int
	grown   []float64
	at      int64
	whole   bool
}

// windowed reads the buckets of a histogram; nil without its last one.
func (p *Plan) windowed(g *group) *windowed {
	if len(g.buckets) < 2 || !g.complete() {
		return nil
	}
	h := &windowed{grown: make([]float64, len(g.buckets)), at: -1}
	divisor := math.Pow10(g.meaning.Shift)
	for _, b := range g.buckets {
		h.bounds = append(h.bounds, b.at/divisor)
		h.columns = append(h.columns, p.columnsOf(b.members))
	}
	return h
}

// read computes how many observations the window has up to each bound.
func (h *windowed) read(w *Window) bool {
	if h.at == w.now {
		return h.whole
	}
	h.at, h.whole = w.now, false
	for i, columns := range h.columns {
		grown, _, ok := w.Increase(columns...)
		if !ok || i > 0 && grown < h.grown[i-1] {
			return false
		}
		h.grown[i] = grown
	}
	h.whole = true
	return true
}

// quantile interpolates inside the bucket that the quantile falls into, as
// Prometheus' histogram_quantile does; there is none without observations.
func (h *windowed) quantile(w *Window, q float64) (float64, bool) {
	last := len(h.bounds) - 1
	if !h.read(w) || !(h.grown[last] > 0) {
		return 0, false
	}
	rank := q * h.grown[last]
	i := slices.IndexFunc(h.grown, func(n float64) bool { return n >= rank })
	if i == last {
		return h.bounds[last-1], true
	}
	below, from := 0.0, 0.0
	if i > 0 {
		below, from = h.grown[i-1], h.bounds[i-1]
	} else if h.bounds[0] <= 0 {
		return h.bounds[0], true
	}
	return from + (h.bounds[i]-from)*(rank-below)/(h.grown[i]-below), true
}
