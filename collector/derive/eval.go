package derive

import (
	"math"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Eval computes a value from the window, or returns false if there is none.
type Eval func(w *Window) (float64, bool)

func valueOf(e Eval, w *Window) (float64, bool) {
	if e == nil {
		return 0, false
	}
	return e(w)
}

// combine combines the newest values of columns into one.
func combine(columns []int, method engine.Combine) Eval {
	if len(columns) == 1 {
		column := columns[0]
		return func(w *Window) (float64, bool) { return w.Last(column) }
	}
	switch method {
	case engine.Newest:
		return newest(columns)
	case engine.Max:
		return largest(columns)
	case engine.ZeroOnly: // 0 if all values are 0, otherwise unknown.
		largestValue := largest(columns)
		return func(w *Window) (float64, bool) {
			v, ok := largestValue(w)
			return 0, ok && v == 0
		}
	case engine.Sum:
	}
	return func(w *Window) (float64, bool) { return w.totals(columns) }
}

// newest returns the value that changed last; on a tie, the later column wins.
func newest(columns []int) Eval {
	return func(w *Window) (float64, bool) {
		value, found, changed := 0.0, false, int64(-1)
		for _, c := range columns {
			if v, ok := w.Last(c); ok && w.changed[c] >= changed {
				value, found, changed = v, true, w.changed[c]
			}
		}
		return value, found
	}
}

// largest returns the largest of the present values of columns.
func largest(columns []int) Eval {
	all := make([]Eval, len(columns))
	for i, c := range columns {
		all[i] = func(w *Window) (float64, bool) { return w.Last(c) }
	}
	return maximum(all)
}

// maximum returns the largest of the present values.
func maximum(evals []Eval) Eval {
	return func(w *Window) (float64, bool) {
		value, found := math.Inf(-1), false
		for _, e := range evals {
			if v, ok := e(w); ok {
				value, found = max(value, v), true
			}
		}
		return value, found
	}
}

// growthRate returns the total increase of counters per second. It returns nil without counters.
func growthRate(columns []int) Eval {
	if len(columns) == 0 {
		return nil
	}
	return func(w *Window) (float64, bool) {
		increase, seconds, ok := w.Increase(columns...)
		return increase / seconds, ok
	}
}

// growthRatio divides the increase of dividend by that of divisor. It returns nil if either is
// empty.
func growthRatio(dividend, divisor []int) Eval {
	if len(dividend) == 0 || len(divisor) == 0 {
		return nil
	}
	all := slices.Concat(dividend, divisor)
	return func(w *Window) (float64, bool) {
		row, _, ok := w.stretch(all)
		if !ok {
			return 0, false
		}
		by := w.increaseFrom(row, divisor)
		return w.increaseFrom(row, dividend) / by, by > 0
	}
}

// add adds values, all of which must be present. It skips nil ones.
func add(evals ...Eval) Eval {
	evals = slices.DeleteFunc(evals, func(e Eval) bool { return e == nil })
	switch len(evals) {
	case 0:
		return nil
	case 1:
		return evals[0]
	}
	return func(w *Window) (float64, bool) {
		sum := 0.0
		for _, e := range evals {
			v, ok := e(w)
			if !ok {
				return 0, false
			}
			sum += v
		}
		return sum, true
	}
}

// ratio divides two values. There is no result unless the divisor is positive.
func ratio(a, b Eval) Eval {
	if a == nil || b == nil {
		return nil
	}
	return func(w *Window) (float64, bool) {
		y, ok := b(w)
		if !ok || !(y > 0) {
			return 0, false
		}
		x, ok := a(w)
		return x / y, ok
	}
}

func product(a, b Eval) Eval {
	return pairwise(a, b, func(x, y float64) float64 { return x * y })
}

func excess(a, b Eval) Eval {
	return pairwise(a, b, func(x, y float64) float64 { return max(x-y, 0) })
}

// pairwise applies f to two values. It returns nil if either is nil.
func pairwise(a, b Eval, f func(x, y float64) float64) Eval {
	if a == nil || b == nil {
		return nil
	}
	return func(w *Window) (float64, bool) {
		x, okX := a(w)
		y, okY := b(w)
		return f(x, y), okX && okY
	}
}

// transform applies f to a value. It returns nil if e is nil.
func transform(e Eval, f func(float64) float64) Eval {
	if e == nil {
		return nil
	}
	return func(w *Window) (float64, bool) {
		v, ok := e(w)
		return f(v), ok
	}
}

func positive(e Eval) Eval {
	return transform(e, func(v float64) float64 { return flag(v > 0) })
}

func constant(v float64) Eval { return func(*Window) (float64, bool) { return v, true } }

// result caches what was computed for the page at a time.
type result[T any] struct {
	time  int64
	value T
	ok    bool
}

// oncePerPage returns compute with its result cached per page, for values that several rules need.
func oncePerPage[T any](p *Plan, compute func(*Window) (T, bool)) func(*Window) (T, bool) {
	number := p.program.results
	p.program.results++
	return func(w *Window) (T, bool) {
		r, _ := w.results[number].(*result[T])
		if r == nil {
			r = &result[T]{time: -1}
			w.results[number] = r
		}
		if r.time != w.now {
			r.time = w.now
			r.value, r.ok = compute(w)
		}
		return r.value, r.ok
	}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
