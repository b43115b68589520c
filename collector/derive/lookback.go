package derive

import (
	"math"
	"time"
)

// Increase is how much counters grew together over the window and over how many
// seconds: the longest stretch in which all of them are whole, without reset,
// restart, gap or absence. It has a value only over two pages and more.
func (w *Window) Increase(columns ...int) (grown, seconds float64, ok bool) {
	row, seconds, ok := w.common(columns)
	if !ok {
		return 0, 0, false
	}
	return w.grown(columns, row), seconds, true
}

// still says whether counters, if there are any, are known not to have grown while
// others did what [Window.Increase] says of them.
func (w *Window) still(counters, others []int) bool {
	if len(counters) == 0 {
		return true
	}
	_, whole, _ := w.Increase(others...)
	grown, seconds, ok := w.Increase(counters...)
	return ok && grown == 0 && seconds >= whole
}

// common is the first kept row of the longest stretch of the window in which
// all columns are whole, and how many seconds ago it was.
func (w *Window) common(columns []int) (row int, seconds float64, ok bool) {
	since := int64(math.MinInt64)
	for _, c := range columns {
		since = max(since, w.since[c])
	}
	row, at := w.whole(since)
	return row, float64(w.now-at) / float64(time.Second), at < w.now
}

// grown is how much counters grew together since a row of a stretch in which
// they are whole.
func (w *Window) grown(columns []int, row int) float64 {
	first, sum := w.rows[row*w.columns:(row+1)*w.columns], 0.0
	for _, c := range columns {
		sum += w.current[c] - first[c]
	}
	return max(sum, 0)
}

// Mean is the mean of a gauge over the pages of the window.
func (w *Window) Mean(column int) (float64, bool) {
	row, at := w.from(column)
	if at > w.now || math.IsNaN(w.current[column]) {
		return 0, false
	}
	return w.mean([]int{column}, row), true
}

// mean is the mean of what gauges add up to, over the pages from a row of a stretch
// on in which they are whole.
func (w *Window) mean(columns []int, row int) float64 {
	sum, n := sumOf(w.current, columns), 1
	for ; row >= 0 && w.times[row] < w.now; row = w.next(row) {
		sum += w.total(columns, row)
		n++
	}
	return sum / float64(n)
}

// Product is what a gauge adds up to over the growth of a counter, as tokens
// an iteration over iterations, and over how many seconds: between two pages
// the gauge counts with the mean of both.
func (w *Window) Product(gauge, counter int) (total, seconds float64, ok bool) {
	row, at := w.from(counter)
	if w.since[gauge] > w.since[counter] {
		row, at = w.from(gauge)
	}
	if at >= w.now || math.IsNaN(w.current[gauge]) {
		return 0, 0, false
	}
	g, c := w.kept(row, gauge), w.kept(row, counter)
	for t := at; t < w.now; {
		row = w.next(row)
		nextG, nextC := w.current[gauge], w.current[counter]
		if t = w.now; row >= 0 && w.times[row] < w.now {
			nextG, nextC, t = w.kept(row, gauge), w.kept(row, counter), w.times[row]
		}
		total += (g + nextG) / 2 * (nextC - c)
		g, c = nextG, nextC
	}
	if math.IsNaN(total) || total < 0 {
		return 0, 0, false
	}
	return total, float64(w.now-at) / float64(time.Second), true
}

// next is the row kept after a row, -1 for the newest.
func (w *Window) next(row int) int {
	if last := (w.first + w.count - 1) % len(w.times); row == last {
		return -1
	}
	return (row + 1) % len(w.times)
}

// from is the first kept row in which a column's present stretch is whole, no
// further back than the window, and its time; the time is after now when
// there is none.
func (w *Window) from(column int) (row int, at int64) { return w.whole(w.since[column]) }

// whole is the first kept row of a stretch that is whole since then.
func (w *Window) whole(since int64) (row int, at int64) {
	if since <= w.oldestAt {
		return w.oldestRow, w.oldestAt
	}
	if since > w.now {
		return 0, never
	}
	return w.oldest(since)
}

// oldest finds the first kept row that is not before from; its time is never
// when there is none.
func (w *Window) oldest(from int64) (row int, at int64) {
	lo, hi := 0, w.count
	for lo < hi {
		mid := (lo + hi) / 2
		if w.times[(w.first+mid)%len(w.times)] < from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == w.count {
		return 0, never
	}
	row = (w.first + lo) % len(w.times)
	return row, w.times[row]
}
