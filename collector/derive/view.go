package derive

import (
	"math"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// View is what a rule sees of a target: the window of its pages, by signal and model. What is absent
// is never 0: each question also tells whether there is a value.
//
// A rule asks for all that it may need before it looks at any value: what is asked for while the
// index of a shape is built, when nothing has a value, is what windows store.
type View struct {
	index  *index
	window *Window

	// What was found out about the newest page, by number: whether checks found what cannot be,
	// whether engines run and models generate tokens, the requests that ended, and histograms.
	found  []finding
	runs   []bool
	tokens []bool
	ended  []lately[endedRequests]
	grown  []lately[[]float64]
	// asked is told of each signal that is asked for, late of numbers that were not asked for when the
	// index was built. Both are nil outside of tests.
	asked func(m *Model, signal engine.Signal)
	late  func()
}

// lately is what was computed for the page at a time.
type lately[T any] struct {
	computed bool
	value    T
	ok       bool
}

func newView(ix *index, window *Window) *View {
	return &View{
		index:  ix,
		window: window,
		found:  make([]finding, len(ix.checks)),
		runs:   make([]bool, len(ix.models)),
		tokens: make([]bool, len(ix.models)),
		ended:  make([]lately[endedRequests], len(ix.outcomes)),
		grown:  make([]lately[[]float64], ix.histograms),
	}
}

// onStack is how many columns lists of rules hold without allocating memory.
const onStack = 32

// shown returns what the page shows of a signal of a model, nil if nothing.
func (v *View) shown(m *Model, signal engine.Signal) *shown {
	if v.asked != nil {
		v.asked(m, signal)
	}
	return m.signals[signal]
}

// ask tells that a rule depends on signals, of which it knows what it needs by another way.
func (v *View) ask(m *Model, signals ...engine.Signal) {
	if v.asked == nil {
		return
	}
	for _, s := range signals {
		v.asked(m, s)
	}
}

// Has reports whether pages of this shape show all of the signals, with or without a value.
func (v *View) Has(m *Model, signals ...engine.Signal) bool {
	for _, s := range signals {
		if v.shown(m, s) == nil {
			return false
		}
	}
	return true
}

// Sum returns the sum of the newest values of signals. Each of them that the page shows must have a
// value. There is none if it shows none of them.
func (v *View) Sum(m *Model, signals ...engine.Signal) (float64, bool) {
	var sum total
	for _, signal := range signals {
		if s := v.shown(m, signal); s != nil {
			sum.add(v, s.groups)
		}
	}
	return sum.result()
}

// sumOf adds up the newest values of groups.
func (v *View) sumOf(groups []*group) (float64, bool) {
	var sum total
	sum.add(v, groups)
	return sum.result()
}

// total is a sum of values, of which some may be absent.
type total struct {
	value      float64
	n, present int
}

func (t *total) add(v *View, groups []*group) {
	for _, g := range groups {
		value, ok := v.value(g)
		t.value += value
		t.n++
		if ok {
			t.present++
		}
	}
}

func (t *total) result() (float64, bool) {
	if t.n > 1 && t.present < t.n {
		return 0, false
	}
	return t.value, t.n > 0 && t.present == t.n
}

// value returns the newest value of a group.
func (v *View) value(g *group) (float64, bool) { return v.combined(&g.value, g.combine) }

func (v *View) combined(n *numbers, method engine.Combine) (float64, bool) {
	return v.window.combined(v.columns(n), method)
}

// columns returns where the window has some numbers.
func (v *View) columns(n *numbers) []int {
	if v.late != nil && n.columns == nil && len(n.sources) > 0 {
		v.late()
	}
	return v.index.columnsOf(n)
}

// Excess returns by how much one signal exceeds another, at least 0.
func (v *View) Excess(m *Model, signal, other engine.Signal) (float64, bool) {
	a, okA := v.Sum(m, signal)
	b, okB := v.Sum(m, other)
	return max(a-b, 0), okA && okB
}

// Ratio divides one signal by another. There is no result unless that is positive.
func (v *View) Ratio(m *Model, signal, other engine.Signal) (float64, bool) {
	a, okA := v.Sum(m, signal)
	b, okB := v.Sum(m, other)
	return ratio(a, okA, b, okB)
}

// Largest returns the largest of the present values of the series of signals.
func (v *View) Largest(m *Model, signals ...engine.Signal) (largest float64, ok bool) {
	largest = math.Inf(-1)
	for _, signal := range signals {
		if value, present := v.window.largest(v.counters(m, signal)); present {
			largest, ok = max(largest, value), true
		}
	}
	return largest, ok
}

// Rate returns the increase of counters over the window per second.
func (v *View) Rate(m *Model, signal engine.Signal) (float64, bool) {
	return v.window.rate(v.counters(m, signal))
}

// counters returns the columns of a signal.
func (v *View) counters(m *Model, signal engine.Signal) []int { return v.values(v.shown(m, signal)) }

// values returns the columns of the values of groups.
func (v *View) values(s *shown) []int {
	if s == nil {
		return nil
	}
	if s.values == nil && v.mayAsk() {
		s.values = make([]int, 0, len(s.groups))
		for _, g := range s.groups {
			s.values = append(s.values, v.columns(&g.value)...)
		}
	}
	return s.values
}

// observations returns the columns of the sums and counts of distributions.
func (v *View) observations(s *shown) observations {
	if s == nil {
		return observations{}
	}
	if s.observed == nil {
		if !v.mayAsk() {
			return observations{}
		}
		s.observed = &observations{}
		for _, g := range s.groups {
			s.observed.sums = append(s.observed.sums, v.columns(&g.sum.numbers)...)
			s.observed.counts = append(s.observed.counts, v.columns(&g.count.numbers)...)
		}
	}
	return *s.observed
}

// mayAsk reports whether the index is being built. What is asked for later has no columns.
func (v *View) mayAsk() bool {
	if v.index.building == nil && v.late != nil {
		v.late()
	}
	return v.index.building != nil
}

// Mean returns the mean of what a distribution observed over the window.
func (v *View) Mean(m *Model, signal engine.Signal) (float64, bool) {
	return v.meanOf(v.shown(m, signal))
}

func (v *View) meanOf(s *shown) (float64, bool) { return v.mean(v.observations(s)) }

func (v *View) mean(o observations) (float64, bool) { return v.window.grownRatio(o.sums, o.counts) }

// column returns the only column of a signal of a model, false if it is not the only one.
func (v *View) column(m *Model, signal engine.Signal) (int, bool) {
	v.ask(m, signal)
	if n := m.single(signal); n != nil {
		if columns := v.columns(n); len(columns) == 1 {
			return columns[0], true
		}
	}
	return 0, false
}
