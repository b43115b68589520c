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
	// witness counts the same requests once more, if witnessed is true, unless any of the columns in unbound is
	// more than 0. The column then counts what both have counted, on one page or the next: what the one alone
	// counts is of other requests, and never one that the other counts later. The witness may be earlier by as
	// many as are open now, or more if moves shows that the engine works although none seems to be, and later by as
	// many as the API has accepted and not answered. Spare and early are columns with what either has counted alone.
	witnessed             bool
	witness, unbound      []int
	open, accepted, moves []int
	spare, early          int
	// With a witness, minus counts requests that it may have counted and that did not end well, back those of
	// them that it did not count, a page later than minus at most; there are at most as many as most counts, if
	// any does. Owed is a column with what back may still give back.
	back, most []int
	owed       int
	// failed counts what shows that the witness counts at all.
	failed []int
	// shown is the column to expose: with a witness the smaller of both totals, which every exporter shows
	// alike, whenever it started.
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
	if n.witnessed {
		n.spare = ix.addReplaced(n.plus[0], append(of, "spare")...)
		n.early = ix.addReplaced(n.plus[0], append(of, "early")...)
		n.owed = ix.addReplaced(n.plus[0], append(of, "owed")...)
		n.shown = ix.addReplaced(n.plus[0], append(of, "shown")...)
	}
	n.parts = slices.Concat(n.plus, n.minus, n.atLeast, n.atMost, n.witness, n.unbound, n.back, n.most, n.failed)
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
		case n.witnessed:
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

// beginBoth sets what two counters have both counted in the rows before the witness appeared. If these show the first
// that ended, the witness may be late for all of them, and what was exposed is not taken back.
func (n *netCounter) beginBoth(w *Window) {
	if !n.witnessed {
		return
	}
	rows := append(slices.Clone(w.rows), w.current)
	late := !(sumOf(rows[0], n.plus) > 0)
	for _, row := range rows {
		if row[n.shown] = n.value(row, row); late {
			row[n.shown] = sumOf(row, n.plus)
		}
		n.begin(row)
	}
}

// begin makes both counters have counted the same until a row, but for what has left the engine by then and is not
// answered.
func (n *netCounter) begin(row []float64) {
	unanswered := 0.0
	if more := sumOf(row, n.accepted) - sumOf(row, n.open); more > 0 { // Not if either is not on the page yet.
		unanswered = more
	}
	row[n.column], row[n.spare], row[n.early], row[n.owed] = row[n.shown], unanswered, 0, 0
}

// setBoth sets what two counters have both counted in the row of the next page.
func (n *netCounter) setBoth(previous, row []float64, restarted bool) {
	row[n.shown] = n.value(row, row)
	grown := func(columns []int) float64 { return sumOf(row, columns) - sumOf(previous, columns) }
	ended, witnessed := grown(n.plus), grown(n.witness)
	switch {
	case restarted, ended < 0, witnessed < 0, math.IsNaN(previous[n.column] + ended + witnessed):
		n.begin(row)
	case sumOf(row, n.unbound) > 0:
		n.begin(row)
		row[n.column] = previous[n.column] + ended
	default:
		n.compare(previous, row, grown)
	}
	row[n.soon] = row[n.column]
}

// compare sets what both have counted on a page that goes on where the previous one ended.
func (n *netCounter) compare(previous, row []float64, grown func(columns []int) float64) {
	ended, witnessed := grown(n.plus), grown(n.witness)+previous[n.early]
	left := n.left(previous, row)
	row[n.owed] = min(max(left, 0), witnessed)
	witnessed = max(witnessed-left, 0)
	both := min(ended+previous[n.spare], witnessed)
	row[n.column] = previous[n.column] + both
	row[n.spare] = min(larger(ended, sumOf(row, n.accepted)), ended+previous[n.spare]-both)
	row[n.early] = max(witnessed-both, 0)
	if open := sumOf(row, n.open); open > 0 || grown(n.moves) == 0 {
		row[n.early] = min(row[n.early], larger(grown(n.witness), open))
	}
	row[n.shown] = larger(previous[n.shown], row[n.shown])
}

// left returns how many more requests than on the previous page the witness has counted and did not end well, less
// those that were taken for such ones before.
func (n *netCounter) left(previous, row []float64) float64 {
	sums := func(of []float64) func([]int) float64 {
		return func(columns []int) float64 { return sumOf(of, columns) }
	}
	if len(n.most) > 0 {
		return n.taken(sums(row)) - n.taken(sums(previous))
	}
	left := sumOf(row, n.minus) - sumOf(previous, n.minus) - sumOf(row, n.back) + sumOf(previous, n.back)
	return max(left, -previous[n.owed])
}

// taken returns how many requests in all the witness has counted and did not end well.
func (n *netCounter) taken(sum func(columns []int) float64) float64 {
	return min(max(sum(n.minus)-sum(n.back), 0), sum(n.most))
}

// answered returns how many requests in all the witness has counted and ended well. If nothing tells which of minus
// the witness has counted, it is a lower bound: all of them, or all that ended and no failure explains.
func (n *netCounter) answered(sum func(columns []int) float64) float64 {
	witnessed := sum(n.witness)
	if len(n.most) > 0 {
		return witnessed - n.taken(sum)
	}
	minus, back := sum(n.minus), sum(n.back)
	failed := sum(n.failed) - min(minus, back)
	return min(witnessed-max(minus-back, 0), max(witnessed, sum(n.plus)-failed)-minus)
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
	case !n.witnessed:
		v -= minus
	case sumOf(row, n.unbound) == 0:
		v = min(v, max(n.answered(sum), 0))
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
