package derive

import "unique"

// netCounter is a column that no page has: what some counters count, less what others
// count of the same requests. The others may count a request earlier, or one that the
// first never count, as a vLLM does that refuses a stream within an answer of 200. A
// decrease would look like a reset, and all that was ever counted like new: the
// column keeps its highest value instead.
type netCounter struct {
	reason      string
	key         columnKey
	column      int
	plus, minus []int
	// atLeast holds counters of requests that all belong to the column, atMost those of
	// requests that include all of the column.
	atLeast, atMost []int
}

// addNet adds a column, whose key is the same on pages of all shapes.
func (p *Plan) addNet(id string, mv modelVersion, class string, n *netCounter) {
	n.key = columnKey{series: unique.Make("net\x00" + id + "\x00" + mv.model + "\x00" + mv.version + "\x00" + class + "\x00" + n.reason)}
	// The number at the place is replaced.
	n.column = p.program.addColumn(p.program.places[n.plus[0]], n.key, false, false)
	p.program.net = append(p.program.net, n)
}

// setNet sets the net counters in the row of the next page.
func (w *Window) setNet(all []*netCounter, row []float64) {
	for _, n := range all {
		v, before := n.value(row), w.current[n.column]
		if before != before {
			before = n.value(w.current)
		}
		if before > v && !w.resets(row) {
			v = before
		}
		row[n.column] = v
	}
}

// value returns the net count of a row, or NaN if a counter is absent.
func (n *netCounter) value(row []float64) float64 {
	return n.compute(func(columns []int) float64 { return sumOf(row, columns) })
}

func (n *netCounter) compute(sum func(columns []int) float64) float64 {
	v := max(sum(n.plus)-sum(n.minus), sum(n.atLeast))
	if len(n.atMost) > 0 {
		v = min(v, sum(n.atMost))
	}
	return v
}

// resets reports whether any counter of the next row is lower than on the page before:
// its process restarted, and may show requests of a path that nobody used until then.
func (w *Window) resets(row []float64) bool {
	for c, v := range row {
		if w.counter[c] && v < w.current[c] {
			return true
		}
	}
	return false
}
