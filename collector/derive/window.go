package derive

import (
	"math"
	"sort"
	"time"
)

// maxRows limits the rows that a window stores. Pages that arrive faster than a
// 120th of the window are thinned out for looking back; resets are still detected
// between any two of them.
const maxRows = 120

// Window stores the values of a target's inputs over its length. A column is one
// input; NaN stands for a value that was absent or not finite.
type Window struct {
	ring

	length, gap int64
	counter     []bool

	now     int64
	current []float64
	// unbroken is the time of the first page after the last restart or gap, restarted
	// that of the last restart.
	unbroken, restarted int64
	// since is the time from which a column has no reset, restart or absence, and
	// never for a column without a value.
	since []int64
	// changed is when a column's value last changed, reset when it last decreased and
	// resetBefore the time before that; restarts do not count.
	changed, reset, resetBefore []int64

	stats *Stats
	// results holds what rules computed for the newest page, see [oncePerPage].
	results []any
}

// ring holds the rows of a window in a ring buffer.
type ring struct {
	times        []int64
	rows         []float64
	columns      int
	first, count int
	// oldestRow is the first stored row within the window, oldestTime its time.
	oldestRow  int
	oldestTime int64
}

func (r *ring) row(row int) []float64 { return r.rows[row*r.columns : (row+1)*r.columns] }

// Stats counts what interrupted windows.
type Stats struct {
	// Resets counts counters that decreased, Restarts processes that restarted.
	Resets, Restarts uint64
	// Gaps counts pages that came too late after the page before.
	Gaps uint64
	// ClockJumps counts pages that were not younger than the page before.
	ClockJumps uint64
	// NonFinite counts values that were NaN or infinite.
	NonFinite uint64
	// Negative counts counters below 0, BrokenHistograms histograms without a +Inf
	// bucket or with buckets that are not cumulative.
	Negative, BrokenHistograms uint64
}

// lateAfter is how many intervals may pass between two pages before what happened
// in between counts as unknown: one missed scrape is tolerated.
const lateAfter = 2.5

const never = math.MaxInt64

// newWindow returns an empty window for pages that arrive once per interval; counter
// reports which of its columns are counters.
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
		reset: make([]int64, n), resetBefore: make([]int64, n),
	}
	for i := range w.current {
		w.current[i], w.since[i], w.reset[i], w.resetBefore[i] = math.NaN(), never, -1, -1
	}
	return w
}

// adopt takes over the columns of an older window; from maps each column to the old
// one, or to -1 if it is new.
func (w *Window) adopt(old *Window, from []int) {
	rows, columns := w.rows, w.columns
	w.ring, w.now, w.unbroken = old.ring, old.now, old.unbroken
	w.rows, w.columns = rows, columns
	for i, o := range from {
		if o >= 0 {
			w.current[i], w.since[i], w.changed[i] = old.current[o], old.since[o], old.changed[o]
			w.reset[i], w.resetBefore[i] = old.reset[o], old.resetBefore[o]
		}
		for r := range w.times {
			v := math.NaN()
			if o >= 0 {
				v = old.row(r)[o]
			}
			w.row(r)[i] = v
		}
	}
}

// startAtZero sets columns to 0 on all pages so far: those of counters that servers
// expose only after their first event.
func (w *Window) startAtZero(columns []int) {
	if w.count == 0 {
		return
	}
	for _, i := range columns {
		w.current[i], w.since[i] = 0, w.unbroken
		for r := range w.times {
			w.row(r)[i] = 0
		}
	}
}

// push adds a copy of the values of one page. It returns false, and leaves the window
// unchanged, if the page is not younger than the last one. Nothing is computed across
// a page that does not continue the one before.
func (w *Window) push(now int64, row []float64, t transition) bool {
	if w.count > 0 && now <= w.now {
		w.stats.ClockJumps++
		return false
	}
	contiguous := w.count > 0 && now-w.now <= w.gap
	if w.count > 0 && !contiguous {
		w.stats.Gaps++
	}
	if t != continues {
		w.restarted, contiguous = now, false
	}
	if t == restarts {
		w.stats.Restarts++
	}
	if !contiguous {
		w.unbroken = now
	}
	for i, v := range row {
		if w.step(i, v, now, contiguous) && t != breaks {
			w.stats.Resets++
		}
	}
	w.now = now
	w.store()
	w.oldestRow, w.oldestTime = w.search(w.now - w.length)
	return true
}

// step moves one column to the next page, and reports whether it is a counter that
// decreased.
func (w *Window) step(i int, v float64, now int64, contiguous bool) (decreased bool) {
	before := w.current[i]
	decreased = w.counter[i] && v < before
	switch {
	case math.IsNaN(v):
		w.since[i] = never
	case !contiguous || w.since[i] == never || decreased:
		w.since[i] = now
	}
	if decreased && contiguous {
		w.resetBefore[i], w.reset[i] = w.reset[i], now
	}
	if v != before {
		w.changed[i] = now
	}
	w.current[i] = v
	return decreased
}

// store copies the current row into the ring, unless the last stored one is too
// recent, and drops rows that no rule can reach any more.
func (w *Window) store() {
	size := len(w.times)
	if w.count > 0 && w.now-w.times[(w.first+w.count-1)%size] < w.length/maxRows {
		return
	}
	for w.count > 0 && (w.count == size || w.times[w.first] < w.now-w.length) {
		w.first = (w.first + 1) % size
		w.count--
	}
	slot := (w.first + w.count) % size
	w.times[slot] = w.now
	copy(w.row(slot), w.current)
	w.count++
}

// Last returns the newest value of a column, or false if it has none.
func (w *Window) Last(column int) (float64, bool) {
	v := w.current[column]
	return v, !math.IsNaN(v)
}

// Before returns the value that a column had on the page before, or on the last one
// that was stored, and NaN if it had none.
func (w *Window) Before(column int) float64 {
	size := len(w.times)
	for n := w.count - 1; n >= max(w.count-2, 0); n-- {
		if row := (w.first + n) % size; w.times[row] < w.now {
			return w.row(row)[column]
		}
	}
	return math.NaN()
}

// Increase returns how much counters grew together and over how many seconds: over
// the longest stretch of the window without a reset, restart, gap or absence of any
// of them. It needs at least two pages.
func (w *Window) Increase(columns ...int) (increase, seconds float64, ok bool) {
	row, seconds, ok := w.stretch(columns)
	if !ok {
		return 0, 0, false
	}
	return w.increaseFrom(row, columns), seconds, true
}

// stretch returns the first row of the longest stretch of the window in which no
// column is interrupted, and how many seconds ago that was.
func (w *Window) stretch(columns []int) (row int, seconds float64, ok bool) {
	since := int64(math.MinInt64)
	for _, c := range columns {
		since = max(since, w.since[c])
	}
	row, start := w.firstRow(since)
	return row, float64(w.now-start) / float64(time.Second), start < w.now
}

// increaseFrom returns how much counters grew together since the first row of a
// stretch.
func (w *Window) increaseFrom(row int, columns []int) float64 {
	first, sum := w.row(row), 0.0
	for _, c := range columns {
		sum += w.current[c] - first[c]
	}
	return max(sum, 0)
}

// Mean returns the mean of a gauge over the pages of the window.
func (w *Window) Mean(column int) (float64, bool) {
	row, start := w.firstRow(w.since[column])
	if start > w.now || math.IsNaN(w.current[column]) {
		return 0, false
	}
	return w.meanFrom(row, []int{column}), true
}

// meanFrom returns the mean of the sum of gauges over the pages of a stretch.
func (w *Window) meanFrom(row int, columns []int) float64 {
	sum, n := sumOf(w.current, columns), 1
	for ; row >= 0 && w.times[row] < w.now; row = w.next(row) {
		sum += sumOf(w.row(row), columns)
		n++
	}
	return sum / float64(n)
}

// Product integrates a gauge over a counter, as tokens per iteration over
// iterations, and returns over how many seconds. Between two pages it takes the mean
// of the gauge.
func (w *Window) Product(gauge, counter int) (total, seconds float64, ok bool) {
	row, start := w.firstRow(max(w.since[gauge], w.since[counter]))
	if start >= w.now || math.IsNaN(w.current[gauge]) {
		return 0, 0, false
	}
	before := w.row(row)
	for t := start; t < w.now; {
		row = w.next(row)
		next := w.current
		if t = w.now; row >= 0 && w.times[row] < w.now {
			next, t = w.row(row), w.times[row]
		}
		total += (before[gauge] + next[gauge]) / 2 * (next[counter] - before[counter])
		before = next
	}
	if math.IsNaN(total) || total < 0 {
		return 0, 0, false
	}
	return total, float64(w.now-start) / float64(time.Second), true
}

// next returns the row stored after a row, or -1 for the newest.
func (w *Window) next(row int) int {
	if last := (w.first + w.count - 1) % len(w.times); row == last {
		return -1
	}
	return (row + 1) % len(w.times)
}

// firstRow returns the first stored row since a time, no further back than the
// window, and its time, which is never if there is none.
func (w *Window) firstRow(since int64) (row int, start int64) {
	if since <= w.oldestTime {
		return w.oldestRow, w.oldestTime
	}
	return w.search(since)
}

// search returns the first stored row that is not older than since, and its time,
// which is never if there is none.
func (w *Window) search(since int64) (row int, start int64) {
	n := sort.Search(w.count, func(i int) bool { return w.times[(w.first+i)%len(w.times)] >= since })
	if n == w.count {
		return 0, never
	}
	row = (w.first + n) % len(w.times)
	return row, w.times[row]
}

// totals returns the sum of the newest values of columns, or false if any is absent.
func (w *Window) totals(columns []int) (float64, bool) {
	sum := sumOf(w.current, columns)
	return sum, !math.IsNaN(sum)
}

func sumOf(row []float64, columns []int) (sum float64) {
	for _, c := range columns {
		sum += row[c]
	}
	return sum
}
