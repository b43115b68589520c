package derive

import (
	"math"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// combine makes one value of the newest values of columns.
func combine(columns []int, how engine.Combine) Eval {
	if len(columns) == 1 {
		column := columns[0]
		return func(w *Window) (float64, bool) { return w.Last(column) }
	}
	switch how {
	case engine.Newest:
		return newest(columns)
	case engine.Max:
		return largest(columns)
	case engine.ZeroOnly:
		return nothing(largest(columns))
	case engine.Sum:
	}
	return func(w *Window) (float64, bool) { return w.totals(columns) }
}

// newest takes the value that changed last, the later column on a tie.
func newest(columns []int) Eval {
	return func(w *Window) (float64, bool) {
		value, found, at := 0.0, false, int64(-1)
		for _, c := range columns {
			if v, ok := w.Last(c); ok && w.changed[c] >= at {
				value, found, at = v, true, w.changed[c]
			}
		}
		return value, found
	}
}

// largest takes the largest value that is there.
func largest(columns []int) Eval {
	return func(w *Window) (float64, bool) {
		most, some := math.Inf(-1), false
		for _, c := range columns {
			if v, ok := w.Last(c); ok {
				most, some = max(most, v), true
			}
		}
		return most, some
	}
}

// nothing is 0 where the largest value is, and no value else.
func nothing(most Eval) Eval {
	return func(w *Window) (float64, bool) {
		v, ok := most(w)
		return 0, ok && v == 0
	}
}

// rates is the growth a second of counters together; nil for none.
func rates(columns []int) Eval {
	if len(columns) == 0 {
		return nil
	}
	return func(w *Window) (float64, bool) {
		grown, seconds, ok := w.Increase(columns...)
		return grown / seconds, ok
	}
}

// quotient is the growth of some counters by that of others, over the longest
// stretch in which all of them are whole; nil without both.
func quotient(of, by []int) Eval {
	if len(of) == 0 || len(by) == 0 {
		return nil
	}
	all := slices.Concat(of, by)
	return func(w *Window) (float64, bool) {
		row, _, ok := w.common(all)
		if !ok {
			return 0, false
		}
		divisor := w.grown(by, row)
		if !(divisor > 0) {
			return 0, false
		}
		return w.grown(of, row) / divisor, true
	}
}

// add adds values all of which must be there; nil ones do not count, and none
// is no value.
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

// ratio divides; no value where the divisor is not positive.
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

// times multiplies.
func times(a, b Eval) Eval {
	return pairwise(a, b, func(x, y float64) float64 { return x * y })
}

// excess is by how much one value is above another.
func excess(a, b Eval) Eval {
	return pairwise(a, b, func(x, y float64) float64 { return max(x-y, 0) })
}

// pairwise is a function of two values; nil without both.
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

// result is what was computed of the page of that time.
type result[T any] struct {
	at    int64
	value T
	ok    bool
}

// once computes what several rules need once a page, for each window apart: the rules
// of one program serve the windows of many targets.
func once[T any](p *Plan, compute func(*Window) (T, bool)) func(*Window) (T, bool) {
	number := p.program.results
	p.program.results++
	return func(w *Window) (T, bool) {
		r, _ := w.results[number].(*result[T])
		if r == nil {
			r = &result[T]{at: -1}
			w.results[number] = r
		}
		if r.at != w.now {
			r.at = w.now
			r.value, r.ok = compute(w)
		}
		return r.value, r.ok
	}
}

// constant is always the same value.
func constant(v float64) Eval { return func(*Window) (float64, bool) { return v, true } }

// orNone is a value, and 0 where there is nothing that could have one.
func orNone(e Eval) Eval {
	if e == nil {
		return constant(0)
	}
	return e
}

// positive is 1 for a value above 0, else 0.
func positive(e Eval) Eval {
	return applied(e, func(v float64) float64 { return flag(v > 0) })
}

// applied is a function of a value; nil without it.
func applied(e Eval, f func(float64) float64) Eval {
	if e == nil {
		return nil
	}
	return func(w *Window) (float64, bool) {
		v, ok := e(w)
		return f(v), ok
	}
}

// flag is 1 for true.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
