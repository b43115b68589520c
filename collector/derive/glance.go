package derive

import (
	"math"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// glances read single series of a program without rendering the others.
type glances struct {
	program *program
	series  []int
	all     []glance
}

// glance is how one series is read: a source's number, or a value that is
// computed; neither for one that cannot be.
type glance struct {
	gate int
	of   *passed
	eval Eval
}

// Glance implements [exposition.Glancer].
func (d *Deriver) Glance(page *exposition.Block, series []int, into []float64) {
	for i := range into {
		into[i] = math.NaN()
	}
	if len(series) == 0 {
		return
	}
	look := func() { d.glance(page, series, into) }
	if d.opts.Guard == nil {
		look()
		return
	}
	_ = d.opts.Guard(look) // A number that cannot be computed is absent.
}

// glance reads the series.
func (d *Deriver) glance(page *exposition.Block, series []int, into []float64) {
	g := &d.glances
	if g.program != d.program || len(g.series) != len(series) || &g.series[0] != &series[0] {
		*g = glances{program: d.program, series: series, all: d.program.glances(series)}
	}
	for i := range g.all {
		if v, ok := g.all[i].read(d.program, d.window, page); ok {
			into[i] = v
		}
	}
}

// glances says how each of some series is read.
func (r *program) glances(series []int) []glance {
	all := make([]glance, len(series))
	for i, n := range series {
		all[i] = r.glanceOf(n)
	}
	return all
}

// glanceOf says how series n is read.
func (r *program) glanceOf(n int) glance {
	if slices.Contains(r.hidden, n) {
		return glance{}
	}
	for _, a := range r.repeats {
		if a.series == n {
			n = a.of
			break
		}
	}
	for _, list := range [][]passed{r.plainly, r.copies} {
		for i := range list {
			if p := &list[i]; int(p.series) == n {
				return glance{gate: int(p.gate), of: p}
			}
		}
	}
	for i := range r.evals {
		if e := &r.evals[i]; e.series == n {
			return glance{gate: e.gate, eval: e.eval}
		}
	}
	return glance{}
}

// read is the number of the series; false when it has none now.
func (g *glance) read(r *program, w *Window, page *exposition.Block) (float64, bool) {
	switch {
	case g.of == nil && g.eval == nil, !r.gates[g.gate](w):
		return 0, false
	case g.eval != nil:
		v, ok := g.eval(w)
		return v, ok && finite(v)
	}
	v := page.Number(g.of.place)
	if v != v || v < 0 && g.of.counter || v == 0 && g.of.notZero {
		return 0, false
	}
	return v * math.Pow10(-int(g.of.shift)), true
}
