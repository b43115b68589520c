package derive

import (
	"math"
	"slices"
	"time"
)

// maxRows limits the stored rows: pages that arrive faster are thinned out.
const maxRows = 120

// Window stores the values of a target's inputs. A column is one input; NaN means no value.
type Window struct {
	length, gap int64
	counter     []bool

	// times and rows are those of the stored pages, the oldest first.
	times []int64
	rows  [][]float64

	now     int64
	current []float64
	// unbroken is when the first page after a restart or gap came, restarted the last restart.
	unbroken, restarted int64
	// since is when a column was last reset, restarted or absent; never without a value.
	since []int64
	// changed is when a column changed, reset and resetBefore when it decreased, restarts apart.
	changed, reset, resetBefore []int64

	stats *Stats
	// results holds what rules computed for the newest page, see [oncePerPage].
	results []any
}

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
	// Negative counts counters below 0, BrokenHistograms incomplete or decreasing ones.
	Negative, BrokenHistograms uint64
}

// lateAfter is how many intervals may pass between two pages: one missed scrape is tolerated.
const lateAfter = 2.5

const never = math.MaxInt64

// newWindow returns an empty window; counter reports which of its columns are counters.
func newWindow(length, interval time.Duration, counter []bool) *Window {
	n := len(counter)
	return &Window{
		stats: &Stats{}, length: int64(length), gap: int64(lateAfter * float64(interval)), counter: counter,
		current: slices.Repeat([]float64{math.NaN()}, n), since: slices.Repeat([]int64{never}, n), changed: make([]int64, n),
		reset: slices.Repeat([]int64{-1}, n), resetBefore: slices.Repeat([]int64{-1}, n),
	}
}

// adopt takes over the columns of an older window; from is -1 for a new one.
func (w *Window) adopt(old *Window, from []int) {
	w.times, w.now, w.unbroken = old.times, old.now, old.unbroken
	for range old.rows {
		w.rows = append(w.rows, slices.Clone(w.current))
	}
	for i, o := range from {
		if o < 0 {
			continue
		}
		w.current[i], w.since[i], w.changed[i] = old.current[o], old.since[o], old.changed[o]
		w.reset[i], w.resetBefore[i] = old.reset[o], old.resetBefore[o]
		for r := range w.rows {
			w.rows[r][i] = old.rows[r][o]
		}
	}
}

// startAtZero sets counters that just appeared to 0 on all pages so far.
func (w *Window) startAtZero(columns []int) {
	if len(w.rows) == 0 {
		return
	}
	for _, i := range columns {
		w.current[i], w.since[i] = 0, w.unbroken
		for _, row := range w.rows {
			row[i] = 0
		}
	}
}

// push adds a copy of a page's values, or returns false if it is not younger than the last.
func (w *Window) push(now int64, row []float64, t transition) bool {
	first := len(w.rows) == 0
	if !first && now <= w.now {
		w.stats.ClockJumps++
		return false
	}
	contiguous := !first && now-w.now <= w.gap
	if !first && !contiguous {
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
	return true
}

// step moves one column to the next page, and reports whether a counter decreased.
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

// store stores the current row, unless the last one is too recent, and drops expired ones.
func (w *Window) store() {
	if n := len(w.times); n > 0 && w.now-w.times[n-1] < w.length/maxRows {
		return
	}
	var row []float64
	expired, _ := slices.BinarySearch(w.times, w.now-w.length)
	if expired > 0 {
		row = w.rows[0]
	}
	w.times = append(slices.Delete(w.times, 0, expired), w.now)
	w.rows = append(slices.Delete(w.rows, 0, expired), append(row[:0], w.current...))
}

// Last returns the newest value of a column, or false if it has none.
func (w *Window) Last(column int) (float64, bool) {
	v := w.current[column]
	return v, !math.IsNaN(v)
}

// Before returns the value of a column on the page before, or the last stored one.
func (w *Window) Before(column int) float64 {
	rows := w.earlier(0)
	if len(rows) == 0 {
		return math.NaN()
	}
	return rows[len(rows)-1][column]
}

// earlier returns the stored rows from one on that are older than the newest page.
func (w *Window) earlier(row int) [][]float64 {
	last := len(w.rows) - 1
	if last >= 0 && w.times[last] < w.now {
		last++
	}
	return w.rows[row:max(last, 0)]
}

// Increase returns how much counters grew together since any was interrupted, and in how
// many seconds.
func (w *Window) Increase(columns ...int) (increase, seconds float64, ok bool) {
	row, seconds, ok := w.stretch(columns)
	if !ok {
		return 0, 0, false
	}
	return w.increaseFrom(row, columns), seconds, true
}

// stretch returns the first row since which no column is interrupted, and its age.
func (w *Window) stretch(columns []int) (row int, seconds float64, ok bool) {
	since := int64(math.MinInt64)
	for _, c := range columns {
		since = max(since, w.since[c])
	}
	row, start := w.firstRow(since)
	return row, float64(w.now-start) / float64(time.Second), start < w.now
}

// increaseFrom returns how much counters grew together since a row.
func (w *Window) increaseFrom(row int, columns []int) float64 {
	first, sum := w.rows[row], 0.0
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
	for _, earlier := range w.earlier(row) {
		sum += sumOf(earlier, columns)
		n++
	}
	return sum / float64(n)
}

// Product integrates a gauge over a counter, with its mean between two pages.
func (w *Window) Product(gauge, counter int) (total, seconds float64, ok bool) {
	row, start := w.firstRow(max(w.since[gauge], w.since[counter]))
	if start >= w.now || math.IsNaN(w.current[gauge]) {
		return 0, 0, false
	}
	rows := w.earlier(row)
	for i, before := range rows {
		next := w.current
		if i+1 < len(rows) {
			next = rows[i+1]
		}
		total += (before[gauge] + next[gauge]) / 2 * (next[counter] - before[counter])
	}
	if math.IsNaN(total) || total < 0 {
		return 0, 0, false
	}
	return total, float64(w.now-start) / float64(time.Second), true
}

// firstRow returns the first row since a time, and its time, which is never if there is none.
func (w *Window) firstRow(since int64) (row int, start int64) {
	row, _ = slices.BinarySearch(w.times, max(since, w.now-w.length))
	if row == len(w.times) {
		return 0, never
	}
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
