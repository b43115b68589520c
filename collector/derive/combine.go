package derive

import (
	"math"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// combined combines the newest values of columns into one.
func (w *Window) combined(columns []int, method engine.Combine) (float64, bool) {
	if len(columns) == 1 {
		return w.Last(columns[0])
	}
	switch method {
	case engine.Newest:
		return w.newest(columns)
	case engine.Max:
		return w.largest(columns)
	case engine.ZeroOnly: // 0 if all values are 0, otherwise unknown.
		v, ok := w.largest(columns)
		return 0, ok && v == 0
	case engine.Sum:
	}
	return w.totals(columns)
}

// newest returns the value that changed last; on a tie, the later column wins.
func (w *Window) newest(columns []int) (value float64, ok bool) {
	changed := int64(-1)
	for _, c := range columns {
		if v, present := w.Last(c); present && w.changed[c] >= changed {
			value, ok, changed = v, true, w.changed[c]
		}
	}
	return value, ok
}

// largest returns the largest of the present values of columns.
func (w *Window) largest(columns []int) (value float64, ok bool) {
	value = math.Inf(-1)
	for _, c := range columns {
		if v, present := w.Last(c); present {
			value, ok = max(value, v), true
		}
	}
	return value, ok
}

// totals returns the sum of the newest values of columns. It reports false if any is absent.
func (w *Window) totals(columns []int) (float64, bool) {
	sum := sumOf(w.current, columns)
	return sum, !math.IsNaN(sum)
}

// has reports whether the sum of columns is a number.
func (w *Window) has(columns ...int) bool {
	_, ok := w.totals(columns)
	return ok
}

// present adds up the columns that have a value.
func (w *Window) present(columns []int) (sum float64) {
	for _, c := range columns {
		if v, ok := w.Last(c); ok {
			sum += v
		}
	}
	return sum
}

func sumOf(row []float64, columns []int) (sum float64) {
	for _, c := range columns {
		sum += row[c]
	}
	return sum
}

// finite reports whether a value is neither NaN nor infinite.
func finite(v float64) bool { return v-v == 0 }

// possible reports whether a server may count or measure a value.
func possible(v float64) bool { return v >= 0 && v < exposition.Overflow }

// flag returns 1 or 0.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// ratio divides two values. There is no result unless the divisor is positive.
func ratio(a float64, okA bool, b float64, okB bool) (float64, bool) {
	if !okB || !(b > 0) {
		return 0, false
	}
	return a / b, okA
}
