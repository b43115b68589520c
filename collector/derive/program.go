package derive

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// program makes the derived series of pages of one shape. It never changes once it
// is compiled, and serves all targets whose pages have that shape.
type program struct {
	intake

	// series have the labels that rules made, and gpus are those of the page that they
	// were made for; see [program.seriesOf].
	series []exposition.ComputedSeries
	gpus   []string
	// copies are text that is passed on as it is, or with its point moved, evals
	// values that are computed, repeats those that repeat others.
	copies     []passed
	histograms []passedHistogram
	evals      []computed
	repeats    []repeated
	// hidden are the series that are computed for their repeats alone.
	hidden []int
	watch  watch
	// caches are those whose sizes are in labels.
	caches []sizedCache
	// objectives are those of the pool, and whether pages of the shape measure them.
	objectives []target.Check
	// broken are the histograms of the shape that are not whole.
	broken uint64
	// unread are how many models the budget leaves out.
	unread int
	// results are how many values it computes once a page, see [once].
	results int
}

// seriesOf are the series of the program with the labels and GPUs of a target.
func (r *program) seriesOf(id *Identity, gpus []string) []exposition.ComputedSeries {
	all := slices.Clone(r.series)
	others := id.others()
	b := labels.NewBuilder(others)
	for i := range all {
		b.Reset(others)
		all[i].Labels.Range(func(l labels.Label) {
			if at := slices.Index(r.gpus, l.Value); at >= 0 && l.Name == exposition.LabelGPU {
				l.Value = gpus[at]
			}
			b.Set(l.Name, l.Value)
		})
		all[i].Labels = b.Labels()
	}
	return all
}

// passed is a series that is a source's text, its decimal point moved.
type passed struct {
	series int32
	place  exposition.ValueIndex
	gate   Gate
	shift  uint8
	// counter values may not be below 0; notZero ones are absent when 0.
	counter, notZero bool
}

// copy passes a source's text on, unless it may not be shown.
func (c *passed) copy(page, out *exposition.Block) {
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

// computed is a series that is computed from the window.
type computed struct {
	series int
	gate   Gate
	eval   Eval
}

// repeated is a series under another name.
type repeated struct{ series, of int }

// series adds one series of a family and returns its number.
func (p *Plan) series(f *Family, suffix string, lset labels.Labels) int {
	p.program.series = append(p.program.series, exposition.ComputedSeries{
		Family: exposition.Family{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit},
		Suffix: suffix, Labels: lset, Hidden: p.leave && f.InPromQL.Query != "",
	})
	return len(p.program.series) - 1
}

// emit adds a series that is computed; nil adds none.
func (p *Plan) emit(f *Family, lset labels.Labels, gate Gate, eval Eval) {
	if eval != nil {
		p.program.evals = append(p.program.evals, computed{series: p.series(f, "", lset), gate: gate, eval: eval})
	}
}

// pass adds a series that is one part of a group: its text where it is of one
// source, else their combination.
func (p *Plan) pass(f *Family, suffix string, lset labels.Labels, gate Gate, g *group, members []int, shift int) {
	n := p.series(f, suffix, lset)
	if len(members) > 1 {
		p.program.evals = append(p.program.evals, computed{series: n, gate: gate, eval: combine(p.columnsOf(members), g.meaning.Combine)})
		return
	}
	in := &p.sources[members[0]]
	p.judge(in)
	p.program.copies = append(p.program.copies, passed{
		series: int32(n), place: in.Place, gate: gate, shift: uint8(shift),
		counter: in.meaning.Counter, notZero: in.meaning.NotZero,
	})
}

// render gives the block of one page its values.
func (r *program) render(w *Window, page, out *exposition.Block) {
	for i := range r.copies {
		if c := &r.copies[i]; c.gate.open(w) {
			c.copy(page, out)
		}
	}
	for i := range r.histograms {
		if h := &r.histograms[i]; h.gate.open(w) && h.grows(page) {
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
		out.Repeat(a.series, a.of)
	}
	for _, n := range r.hidden {
		out.Unset(n)
	}
}

// finite says whether a value is a number: sums of the largest are none.
func finite(v float64) bool { return v-v == 0 }
