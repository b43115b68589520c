package derive

import (
	"math"
	"time"
)

// maxRows bounds what a window keeps; scrapes that come faster than a
// hundred and twentieth of the window are thinned out for looking back, while
// resets are still judged between every two of them.
const maxRows = 120

// Window holds the values of a target's inputs over its length. A column is
// one input; a value that was absent or not finite is NaN there.
type Window struct {
	ring

	length, gap int64
	counter     []bool

	now     int64
	current []float64
	// unbroken is the time from which there was no restart and no gap, restarted
	// that of the last restart.
	unbroken, restarted int64
	// since is the time from which a column is whole: no reset, restart or
	// absence after it. A column without value has since in the future.
	since []int64
	// changed is when a column's value last changed, fell when it last fell
	// and fellBefore when it fell the time before; restarts do not count.
	changed, fell, fellBefore []int64

	stats *Stats
	// results are what rules computed of the newest page, see [once].
	results []any
}

// ring are the rows that a window keeps, in a ring buffer.
type ring struct {
	times        []int64
	rows         []float64
	columns      int
	first, count int
	// oldestRow is the first kept row of the window and oldestAt its time.
	oldestRow int
	oldestAt  int64
}

// kept is the value of a column in a kept row.
func (r *ring) kept(row, column int) float64 { return r.rows[row*r.columns+column] }

// Stats counts what interrupted windows.
type Stats struct {
	// Resets are counters that fell, Restarts processes that began again.
	Resets, Restarts uint64
	// Gaps are scrapes that came too late after the one before.
	Gaps uint64
	// ClockJumps are pages that were not younger than the one before.
	ClockJumps uint64
	// NonFinite are values that were NaN or infinite.
	NonFinite uint64
	// Negative are counters below 0, BrokenHistograms are histograms without
	// +Inf or whose buckets do not grow.
	Negative, BrokenHistograms uint64
}

// lateAfter is how many intervals may pass between two pages before what
// happened in between counts as unknown: one missed scrape is tolerated.
const lateAfter = 2.5

// never is a time no page has.
const never = math.MaxInt64

// newWindow returns an empty window over columns of which some are counters,
// for pages that come once an interval.
func newWindow(length, interval time.Duration, counter []bool) *Window {
	n := len(counter)
	size := maxRows
	if interval > 0 {
		size = int(min(length/interval, maxRows))
	}
	size += 3
	w := &Window{
		ring:  ring{times: make([]int64, size), rows: make([]float64, size*n), columns: n},
		stats: &Stats{}, length: int64(length), gap: int64(lateAfter * float64(interval)), counter: counter,
		current: make([]float64, n), since: make([]int64, n), changed: make([]int64, n),
		fell: make([]int64, n), fellBefore: make([]int64, n),
	}
	for i := range w.current {
		w.current[i], w.since[i], w.fell[i], w.fellBefore[i] = math.NaN(), never, -1, -1
	}
	return w
}

// adopt takes over the columns that an older window has as well; from maps
// our columns to its, -1 for new ones.
func (w *Window) adopt(old *Window, from []int) {
	rows, columns := w.rows, w.columns
	w.ring, w.now, w.unbroken = old.ring, old.now, old.unbroken
	w.rows, w.columns = rows, columns
	for i, o := range from {
		if o < 0 {
			continue
		}
		w.current[i], w.since[i], w.changed[i] = old.current[o], old.since[o], old.changed[o]
		w.fell[i], w.fellBefore[i] = old.fell[o], old.fellBefore[o]
	}
	for r := range len(w.times) {
		for i, o := range from {
			v := math.NaN()
			if o >= 0 {
				v = old.kept(r, o)
			}
			w.rows[r*w.columns+i] = v
		}
	}
}

// begin gives columns that no page had before the value 0 on all of them: they are
// of counters that come with their first event.
func (w *Window) begin(columns []int) {
	if w.count == 0 {
		return
	}
	for _, i := range columns {
		w.current[i], w.since[i] = 0, w.unbroken
		for r := range len(w.times) {
			w.rows[r*w.columns+i] = 0
		}
	}
}

// push adds the values of one page; row is copied. It returns false, and leaves
// the window as it is, when the page is not younger than the last. Over a page that
// does not continue the one before nothing is made of both.
func (w *Window) push(at int64, row []float64, t turn) bool {
	if w.count > 0 && at <= w.now {
		w.stats.ClockJumps++
		return false
	}
	whole := w.count > 0 && at-w.now <= w.gap
	if w.count > 0 && !whole {
		w.stats.Gaps++
	}
	if t != continues {
		w.restarted, whole = at, false
	}
	if t == restarts {
		w.stats.Restarts++
	}
	if !whole {
		w.unbroken = at
	}
	for i, v := range row {
		if w.step(i, v, at, whole) && t != breaks {
			w.stats.Resets++
		}
	}
	w.now = at
	w.store(at)
	w.oldestRow, w.oldestAt = w.oldest(w.now - w.length)
	return true
}

// step moves one column to the next page, and reports whether it is a counter that
// fell.
func (w *Window) step(i int, v float64, at int64, whole bool) (fell bool) {
	before := w.current[i]
	fell = w.counter[i] && v < before
	switch {
	case math.IsNaN(v):
		w.since[i] = never
	case !whole || w.since[i] == never || fell:
		w.since[i] = at
	}
	if fell && whole {
		w.fellBefore[i], w.fell[i] = w.fell[i], at
	}
	if v != before {
		w.changed[i] = at
	}
	w.current[i] = v
	return fell
}

// store keeps the current row for looking back, unless the last kept one is
// too close, and forgets rows that no rule can reach any more.
func (w *Window) store(at int64) {
	size := len(w.times)
	if w.count > 0 {
		last := w.times[(w.first+w.count-1)%size]
		if at-last < w.length/maxRows {
			return
		}
	}
	for w.count > 0 && (w.count == size || w.times[w.first] < at-w.length) {
		w.first = (w.first + 1) % size
		w.count--
	}
	slot := (w.first + w.count) % size
	w.times[slot] = at
	copy(w.rows[slot*w.columns:(slot+1)*w.columns], w.current)
	w.count++
}

// Last is the newest value of a column; false when it has none.
func (w *Window) Last(column int) (float64, bool) {
	v := w.current[column]
	return v, !math.IsNaN(v)
}

// sumOf is the sum of the newest values of columns, of which those without one are 0.
func (w *Window) sumOf(columns []int) (sum float64) {
	for _, c := range columns {
		if v, ok := w.Last(c); ok {
			sum += v
		}
	}
	return sum
}

// value is the newest value of a column, NaN when it has none.
func (w *Window) value(column int) float64 { return w.current[column] }

// Before is the value that a column had on the page before, or on the last one
// that was kept, NaN when it had none.
func (w *Window) Before(column int) float64 {
	size := len(w.times)
	for n := w.count - 1; n >= max(w.count-2, 0); n-- {
		if row := (w.first + n) % size; w.times[row] < w.now {
			return w.kept(row, column)
		}
	}
	return math.NaN()
}

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
	row, at := w.whole(w.since[column])
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
	row, at := w.whole(max(w.since[gauge], w.since[counter]))
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

// whole is the first kept row of a stretch that is whole since then, no further back
// than the window, and its time; the time is after now when there is none.
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
