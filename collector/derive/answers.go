package derive

import (
	"math"
	"slices"
)

// answers are the counters of an API, beside a [netCounter] of the requests that end in its engine. Both count most
// requests, on one page or the next, and neither counts all: the engine may end a request well whose answer fails, and
// the API answers clients that leave before the end. A request has ended well if both count it. Which one they count,
// the page does not tell, so that what one of them counts is compared with what the other one counts then, or on the
// next page: what stays without a counterpart is of other requests, and never one that the other counts later.
type answers struct {
	// well counts answers with a status of success. While any of sockets is more than 0, clients have requests of
	// which the API counts none, and the engine alone tells how they end.
	well, sockets []int
	// Answers may be ahead of the engine by as many requests as are open now, or more if moves shows that the
	// engine works although none seems to be. They may be later by as many as the API has accepted and not answered.
	open, accepted, moves []int
	// unanswered and ahead are columns with what has ended in the engine alone, and what was answered alone.
	unanswered, ahead int
	// The counters in [netCounter.minus] count requests that may have been answered and did not end well, back those
	// of them that were not, a page later at most. There are at most as many as mostAborted counts, if any does.
	// Owed is a column with what back may still give back.
	back, mostAborted []int
	owed              int
	// failed counts answers with an error, which show that the API counts at all.
	failed []int
}

// beginBoth sets what engine and API have both counted in the rows before the answers appeared. If these show the first
// request that ended, answers may be late for all of them, and what was exposed is not taken back.
func (n *netCounter) beginBoth(w *Window) {
	if n.answers == nil {
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
	row[n.column], row[n.unanswered], row[n.ahead], row[n.owed] = row[n.shown], unanswered, 0, 0
}

// setBoth sets what both have counted in the row of the next page.
func (n *netCounter) setBoth(previous, row []float64, restarted bool) {
	row[n.shown] = n.value(row, row)
	grown := func(columns []int) float64 { return sumOf(row, columns) - sumOf(previous, columns) }
	ended, answered := grown(n.plus), grown(n.well)
	switch {
	case restarted, ended < 0, answered < 0, math.IsNaN(previous[n.column] + ended + answered):
		n.begin(row)
	case sumOf(row, n.sockets) > 0:
		n.begin(row)
		row[n.column] = previous[n.column] + ended
	default:
		n.compare(previous, row, grown)
	}
	row[n.soon] = row[n.column]
}

// compare sets what both have counted on a page that goes on where the previous one ended.
func (n *netCounter) compare(previous, row []float64, grown func(columns []int) float64) {
	ended, answered := grown(n.plus), grown(n.well)+previous[n.ahead]
	aborted := n.newlyAborted(previous, row)
	row[n.owed] = min(max(aborted, 0), answered)
	answered = max(answered-aborted, 0)
	both := min(ended+previous[n.unanswered], answered)
	row[n.column] = previous[n.column] + both
	row[n.unanswered] = min(larger(ended, sumOf(row, n.accepted)), ended+previous[n.unanswered]-both)
	row[n.ahead] = max(answered-both, 0)
	if open := sumOf(row, n.open); open > 0 || grown(n.moves) == 0 {
		row[n.ahead] = min(row[n.ahead], larger(grown(n.well), open))
	}
	row[n.shown] = larger(previous[n.shown], row[n.shown])
}

// newlyAborted returns how many more requests than on the previous page the API has answered and did not end well, less
// those that were taken for such ones before.
func (n *netCounter) newlyAborted(previous, row []float64) float64 {
	sums := func(of []float64) func([]int) float64 {
		return func(columns []int) float64 { return sumOf(of, columns) }
	}
	if len(n.mostAborted) > 0 {
		return n.aborted(sums(row)) - n.aborted(sums(previous))
	}
	more := sumOf(row, n.minus) - sumOf(previous, n.minus) - sumOf(row, n.back) + sumOf(previous, n.back)
	return max(more, -previous[n.owed])
}

// aborted returns how many requests in all the API has answered and did not end well.
func (n *netCounter) aborted(sum func(columns []int) float64) float64 {
	return min(max(sum(n.minus)-sum(n.back), 0), sum(n.mostAborted))
}

// answeredWell returns how many requests in all the API has answered and ended well. If nothing tells which of minus it
// has answered, it is a lower bound: all of them, or all that ended and no failure explains.
func (n *netCounter) answeredWell(sum func(columns []int) float64) float64 {
	answered := sum(n.well)
	if len(n.mostAborted) > 0 {
		return answered - n.aborted(sum)
	}
	minus, back := sum(n.minus), sum(n.back)
	failed := sum(n.failed) - min(minus, back)
	return min(answered-max(minus-back, 0), max(answered, sum(n.plus)-failed)-minus)
}
