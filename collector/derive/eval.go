package derive

import (
	"math"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// last combines the newest values of a group.
func (g *group) last() Eval {
	columns, scales := g.columns, g.scales
	if len(columns) == 1 {
		column, scale := columns[0], scales[0]
		return func(w *Window) (float64, bool) {
			v, ok := w.Last(column)
			return v * scale, ok
		}
	}
	switch g.combine {
	case engine.Newest:
		return newest(columns, scales)
	case engine.Max:
		return func(w *Window) (float64, bool) {
			most, any := math.Inf(-1), false
			for i, c := range columns {
				if v, ok := w.Last(c); ok {
					most, any = max(most, v*scales[i]), true
				}
			}
			return most, any
		}
	case engine.Sum:
	}
	return func(w *Window) (float64, bool) {
		sum := 0.0
		for i, c := range columns {
			v, ok := w.Last(c)
			if !ok {
				return 0, false
			}
			sum += v * scales[i]
		}
		return sum, true
	}
}

// newest takes the value that changed last, the later column on a tie.
func newest(columns []int, scales []float64) Eval {
	return func(w *Window) (float64, bool) {
		value, found, at := 0.0, false, int64(-1)
		for i, c := range columns {
			v, ok := w.Last(c)
			if ok && w.Changed(c) >= at {
				value, found, at = v*scales[i], true, w.Changed(c)
			}
		}
		return value, found
	}
}

// rate adds the growth a second of the group's counters; all must be whole.
func (g *group) rate() Eval {
	columns, scales := g.columns, g.scales
	return func(w *Window) (float64, bool) {
		sum := 0.0
		for i, c := range columns {
			v, ok := w.Rate(c)
			if !ok {
				return 0, false
			}
			sum += v * scales[i]
		}
		return sum, true
	}
}

// add adds values all of which must be there; none is no value.
func add(evals []Eval) Eval {
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

// sum adds the newest values of groups; nil when there are none.
func sum(groups []group) Eval {
	evals := make([]Eval, len(groups))
	for i := range groups {
		evals[i] = groups[i].last()
	}
	return add(evals)
}

// either takes the first of two values that is there; both may be nil.
func either(a, b Eval) Eval {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(w *Window) (float64, bool) {
		if v, ok := a(w); ok {
			return v, true
		}
		return b(w)
	}
}

// ratio divides; no value where the divisor is not positive.
func ratio(a, b Eval) Eval {
	if a == nil || b == nil {
		return nil
	}
	return func(w *Window) (float64, bool) {
		x, okX := a(w)
		y, okY := b(w)
		if !okX || !okY || !(y > 0) {
			return 0, false
		}
		return x / y, true
	}
}
