package derive

import (
	"math"
	"slices"
	"strings"
	"unique"
)

// netCounter is a column that is not on any page: the sum of some counters minus what others
// count of the same requests.
//
// Both are not updated at once: the others may reach the page some scrapes later, or earlier, and
// may count requests that the first never count, like vLLM when it rejects a stream within an
// answer of 200. Each difference of two pages of today may thus be too large, and what was once
// exposed cannot be taken back: it would look like a reset. So only what both have settled counts:
// the first counters as of a page of some scrapes ago, minus the others as of now. A request that
// the others count up to that much later is never in it, and one that they never count is, once
// they rest. The column is the largest of these differences, each of which is a lower bound.
type netCounter struct {
	reason string
	column int
	// soon is a column with what is settled if the others are never more than a page late: enough to
	// say that a request ended, and not to count it.
	soon        int
	plus, minus []int
	// atLeast is a lower bound of the column, atMost an upper bound.
	atLeast, atMost []int
	// answers is nil unless an API counts the same requests once more. Then the column holds what both have counted.
	*answers

	// shown is the column to expose: with answers the smaller of both totals, which every exporter shows alike,
	// whenever it started.
	shown int
	// parts holds the columns of which it is computed.
	parts []int
}

// addNet adds a column. Its name is the same for pages of all shapes.
func (ix *index) addNet(version *Model, class string, n *netCounter) {
	of := []string{"net", version.id, version.name, version.version, class, n.reason}
	n.column = ix.addReplaced(n.plus[0], of...)
	n.soon = ix.addReplaced(n.plus[0], append(of, "soon")...)
	n.shown = n.column
	n.parts = slices.Concat(n.plus, n.minus, n.atLeast, n.atMost)
	if a := n.answers; a != nil {
		a.unanswered = ix.addReplaced(n.plus[0], append(of, "unanswered")...)
		a.ahead = ix.addReplaced(n.plus[0], append(of, "ahead")...)
		a.owed = ix.addReplaced(n.plus[0], append(of, "owed")...)
		n.shown = ix.addReplaced(n.plus[0], append(of, "shown")...)
		n.parts = slices.Concat(n.parts, a.well, a.sockets, a.back, a.mostAborted, a.failed)
	}
	ix.net = append(ix.net, n)
}

// addReplaced adds a column with a name, whose number, that of another column, is replaced on each page.
func (ix *index) addReplaced(like int, of ...string) int {
	ix.building.view.window.addColumn(false)
	return ix.add(ix.places[like], columnName{series: unique.Make(strings.Join(of, "\x00"))}, false)
}

// setNet sets the net counters in the row of the next page. They have no value before anything is
// settled, and again after a restart.
func (w *Window) setNet(now int64, t transition, all []*netCounter, row []float64) {
	restarted := t != continues || w.resets(row)
	for _, n := range all {
		row[n.column], row[n.soon] = math.NaN(), math.NaN()
		switch {
		case n.answers != nil:
			n.setBoth(w.current, row, t != continues)
			continue
		case restarted:
			continue
		}
		if earlier := w.settled(now, n.parts); earlier != nil {
			row[n.column] = n.value(earlier, row)
		}
		row[n.soon] = n.value(w.current, row)
		if shown := !math.IsNaN(n.value(row, row)); shown {
			row[n.column] = larger(w.current[n.column], row[n.column])
			row[n.soon] = larger(w.current[n.soon], row[n.soon])
		}
	}
}

// larger returns the larger of two numbers, or the one that is not NaN.
func larger(a, b float64) float64 {
	if a > b || math.IsNaN(b) {
		return a
	}
	return b
}

// settled returns the newest row that is older than what counts as contiguous, nil if any of the
// columns was interrupted since.
func (w *Window) settled(now int64, columns []int) []float64 {
	i, found := slices.BinarySearch(w.times, now-w.gap)
	if !found {
		i--
	}
	if i < 0 || slices.ContainsFunc(columns, func(c int) bool { return w.since[c] > w.times[i] }) {
		return nil
	}
	return w.rows[i]
}

// beginNet begins the net counters one of whose columns has just appeared, and was 0 until then:
// what was exposed before was settled.
func (w *Window) beginNet(all []*netCounter, appeared []int) {
	for _, n := range all {
		isNew := func(c int) bool { return slices.Contains(appeared, c) }
		if math.IsNaN(w.current[n.column]) && slices.ContainsFunc(n.parts, isNew) {
			w.current[n.column] = n.value(w.current, w.current)
			w.current[n.soon] = w.current[n.column]
			n.beginBoth(w)
		}
	}
}

// value returns the count of a row minus what the others count in a row that is not older. It is
// NaN if a counter is absent.
func (n *netCounter) value(row, newer []float64) float64 {
	return n.compute(row, func(columns []int) float64 { return sumOf(row, columns) }, sumOf(newer, n.minus))
}

// compute computes the number from sums of a row, or of what has happened up to it.
func (n *netCounter) compute(row []float64, sum func(columns []int) float64, minus float64) float64 {
	v := sum(n.plus)
	switch {
	case n.answers == nil:
		v -= minus
	case sumOf(row, n.sockets) == 0:
		v = min(v, max(n.answeredWell(sum), 0))
	}
	v = max(v, sum(n.atLeast))
	if len(n.atMost) > 0 {
		v = min(v, sum(n.atMost))
	}
	return v
}

// resets reports whether any counter of the next row is lower than on the previous page: its
// process restarted, and may show requests of a path that was not used before.
func (w *Window) resets(row []float64) bool {
	for c, v := range row {
		if w.counter[c] && v < w.current[c] {
			return true
		}
	}
	return false
}
