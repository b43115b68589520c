package derive

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// program computes the derived series of all targets' pages of one shape. It is immutable.
type program struct {
	// places holds where the columns of the window are on a page, keys what they are
	// across programs. Only scaled and notZero columns differ from the numbers there.
	places  []exposition.ValueIndex
	keys    []columnKey
	scaled  []scaledColumn
	notZero []int32
	// counter reports which columns only grow, countersAppear that those appear with their
	// first event; counters holds all such series of the page then.
	counter        []bool
	countersAppear bool
	counters       []columnKey
	// samples are checked for invalid values. net holds columns computed from others.
	samples []checkedSample
	net     []*netCounter

	// series has the labels that rules made, for a page with these GPUs.
	series []exposition.ComputedSeries
	gpus   []string

	copies     []copiedSeries
	histograms []copiedHistogram
	evals      []computedSeries
	repeats    []aliasSeries
	// hidden is how many series, the first ones, are computed only for their aliases.
	hidden int
	watch  watch
	// caches holds the KV caches whose sizes are in labels.
	caches []sizedCache
	// objectives reports which objectives of the pool pages of the shape measure.
	objectives []target.Check
	// broken counts incomplete histograms, droppedModels models that exceed the budget.
	broken        uint64
	droppedModels int
	// results counts the values that it computes once per page, see [oncePerPage].
	results int
}

// seriesOf returns the series of the program with the labels and GPUs of a target.
func (r *program) seriesOf(id *Identity, gpus []string) []exposition.ComputedSeries {
	all := slices.Clone(r.series)
	others := id.Labels.MatchLabels(false, ruleLabelNames()...)
	b := labels.NewBuilder(others)
	for i := range all {
		b.Reset(others)
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

// copiedSeries is a series with a source's text, its decimal point moved.
type copiedSeries struct {
	series int32
	place  exposition.ValueIndex
	gate   Gate
	shift  uint8
	// counter values may not be negative; notZero values are absent when 0.
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

// aliasSeries is a series with the value of another one.
type aliasSeries struct{ series, original int }

func (p *Plan) series(f *Family, suffix string, lset labels.Labels) int {
	p.program.series = append(p.program.series, exposition.ComputedSeries{
		Family: f.Family, Suffix: suffix, Labels: lset, Hidden: p.opts.NoWindowGauges && f.InPromQL.Query != "",
	})
	return len(p.program.series) - 1
}

// emit adds a series that is computed, unless eval is nil.
func (p *Plan) emit(f *Family, lset labels.Labels, gate Gate, eval Eval) {
	if eval != nil {
		p.program.evals = append(p.program.evals, computedSeries{p.series(f, "", lset), gate, eval})
	}
}

// pass adds the text of a single source, or what several combine to.
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
		counter: in.meaning.Counter, notZero: in.meaning.NotZero,
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
