package derive

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// program computes the derived series for pages of one shape, of any target. It is immutable.
type program struct {
	// places holds the value indexes of the window's columns, keys identifies the columns across
	// programs. Only scaled and notZero columns differ from the numbers on the page.
	places  []exposition.ValueIndex
	keys    []columnKey
	scaled  []scaledColumn
	notZero []int32
	// counter is true for columns that are counters. If countersAppear, counters appear with
	// their first event, and counters holds all of the page.
	counter        []bool
	countersAppear bool
	counters       []columnKey
	// samples are checked for invalid values. net holds columns that are computed from others.
	samples []checkedSample
	net     []*netCounter

	// series has the labels set by rules, and belongs to a page with these GPUs.
	series []exposition.ComputedSeries
	gpus   []string

	copies     []copiedSeries
	histograms []copiedHistogram
	evals      []computedSeries
	repeats    []aliasSeries
	// The first hidden series are computed only for their aliases.
	hidden int
	watch  watch
	// caches holds the KV caches that have their size in labels.
	caches []sizedCache
	// objectives lists which objectives of the pool are measured by pages of the shape.
	objectives []target.Check
	// broken counts incomplete histograms, droppedModels the models beyond the limit.
	broken        uint64
	droppedModels int
	// results counts the values that are computed once per page, see [oncePerPage].
	results int
}

// seriesOf returns the series of the program with the labels and GPUs of a target.
func (r *program) seriesOf(id *Identity, gpus []string) []exposition.ComputedSeries {
	all := slices.Clone(r.series)
	base := id.Labels.MatchLabels(false, ruleLabelNames()...)
	b := labels.NewBuilder(base)
	for i := range all {
		b.Reset(base)
		all[i].Labels.Range(func(l labels.Label) {
			if pos := slices.Index(r.gpus, l.Value); pos >= 0 && l.Name == exposition.LabelGPU {
				l.Value = gpus[pos]
			}
			b.Set(l.Name, l.Value)
		})
		all[i].Labels = b.Labels()
	}
	return all
}

// copiedSeries is a series with the text of a source, with a shifted decimal point.
type copiedSeries struct {
	series int32
	place  exposition.ValueIndex
	gate   Gate
	shift  uint8
	// counter values must not be negative; notZero values are absent if 0.
	counter, notZero bool
}

func (c *copiedSeries) copy(page, out *exposition.Block) {
	v := page.Number(c.place)
	if v != v || v < 0 && c.counter || v == 0 && c.notZero {
		return
	}
	if c.shift == 0 {
		out.CopyText(int(c.series), page, c.place)
		return
	}
	out.Set(int(c.series), v/math.Pow10(int(c.shift)))
}

type computedSeries struct {
	series int
	gate   Gate
	eval   Eval
}

// aliasSeries is a series with the value of another series.
type aliasSeries struct{ series, original int }

func (p *Plan) series(f *Family, suffix string, lset labels.Labels) int {
	p.program.series = append(p.program.series, exposition.ComputedSeries{
		Family: f.Family, Suffix: suffix, Labels: lset, Hidden: p.opts.NoWindowGauges && f.InPromQL.Query != "",
	})
	return len(p.program.series) - 1
}

// emit adds a computed series, unless eval is nil.
func (p *Plan) emit(f *Family, lset labels.Labels, gate Gate, eval Eval) {
	if eval != nil {
		p.program.evals = append(p.program.evals, computedSeries{p.series(f, "", lset), gate, eval})
	}
}

// pass adds a series with the text of a single source, or the combined value of several.
func (p *Plan) pass(f *Family, suffix string, lset labels.Labels, g *group, members []int, shift int) {
	n, gate := p.series(f, suffix, lset), p.gateOf(g)
	if len(members) > 1 {
		p.program.evals = append(p.program.evals, computedSeries{n, gate, combine(p.columnsOf(members), g.meaning.Combine)})
		return
	}
	in := &p.sources[members[0]]
	p.checkSample(in)
	p.program.copies = append(p.program.copies, copiedSeries{
		series: int32(n), place: in.Place, gate: gate, shift: uint8(shift),
		counter: in.Counter, notZero: in.meaning.ZeroUnknown(),
	})
}

func (r *program) render(w *Window, page, out *exposition.Block) {
	for i := range r.copies {
		if c := &r.copies[i]; c.gate.open(w) {
			c.copy(page, out)
		}
	}
	for i := range r.histograms {
		if h := &r.histograms[i]; h.gate.open(w) && h.valid(page) {
			h.copy(page, out)
		}
	}
	for i := range r.evals {
		e := &r.evals[i]
		if !e.gate.open(w) {
			continue
		}
		if v, ok := e.eval(w); ok && finite(v) {
			out.SetShort(e.series, v)
		}
	}
	for _, a := range r.repeats {
		out.Repeat(a.series, a.original)
	}
	for n := range r.hidden {
		out.Unset(n)
	}
}

// finite reports whether a value is neither NaN nor infinite.
func finite(v float64) bool { return v-v == 0 }
