package derive

import (
	"math"
	"slices"
	"time"
)

// maxRows limits the stored rows: pages that arrive faster are thinned out.
const maxRows = 120

// Window stores the values of a target's inputs, one column per input. NaN means no value.
type Window struct {
	length, gap int64
	counter     []bool

	// times and rows hold the stored pages, the oldest first. A page is counted at some moment between
	// requested, when its request was sent, and times, when its last byte came, both as much earlier as it was
	// in a cache. Since nothing tells at which, a span reaches from when its first page was requested to
	// when its last one had come, so that no rate exceeds what happened.
	times, requested []int64
	rows             [][]float64

	// now is the time of the newest page, arrived when the last one came, which may be the same again.
	now, arrived int64
	current      []float64
	// previous holds the values of the page before the newest, which was at previousAt.
	previous   []float64
	previousAt int64
	// unbroken is the time of the first page after a restart or gap, restarted of the last
	// restart.
	unbroken, restarted int64
	// since is the time of a column's last reset, restart or absence; never without a value.
	since []int64
	// changed is when a column last changed, reset and resetBefore when it decreased without a
	// restart.
	changed, reset, resetBefore []int64
	// highest is the highest value of a column since [Window.rest], rose when it was reached, fell whether the
	// column fell since then.
	highest []float64
	rose    []int64
	fell    []bool

	stats *Stats
}

// Stats counts what interrupted windows.
type Stats struct {
	// Resets counts counters that decreased, Restarts processes that restarted.
	Resets, Restarts uint64
	// Gaps counts pages that arrived too long after the previous one.
	Gaps uint64
	// ClockJumps counts pages that were not newer than the previous one.
	ClockJumps uint64
	// NonFinite counts values that were NaN or infinite.
	NonFinite uint64
	// Impossible counts values below 0 or as large as what fell below it, and shares above 1, BrokenHistograms
	// incomplete or non-cumulative histograms.
	Impossible, BrokenHistograms uint64
}

// lateAfter is how many intervals may pass between two pages: one scrape may be missed.
const lateAfter = 2.5

const never = math.MaxInt64

// newWindow returns an empty window; counter is true for columns that are counters.
func newWindow(length, interval time.Duration, counter []bool) *Window {
	n := len(counter)
	return &Window{
		stats:       &Stats{},
		length:      int64(length),
		gap:         int64(lateAfter * float64(interval)),
		counter:     counter,
		current:     slices.Repeat([]float64{math.NaN()}, n),
		previous:    slices.Repeat([]float64{math.NaN()}, n),
		since:       slices.Repeat([]int64{never}, n),
		changed:     make([]int64, n),
		reset:       slices.Repeat([]int64{-1}, n),
		resetBefore: slices.Repeat([]int64{-1}, n),
		highest:     slices.Repeat([]float64{math.NaN()}, n),
		rose:        make([]int64, n),
		fell:        make([]bool, n),
	}
}

// addColumn adds a column without values to a window without pages.
func (w *Window) addColumn(counter bool) {
	w.counter = append(w.counter, counter)
	w.current, w.previous = append(w.current, math.NaN()), append(w.previous, math.NaN())
	w.since, w.changed = append(w.since, never), append(w.changed, 0)
	w.reset, w.resetBefore = append(w.reset, -1), append(w.resetBefore, -1)
	w.highest, w.rose, w.fell = append(w.highest, math.NaN()), append(w.rose, 0), append(w.fell, false)
}

// adopt copies the columns of an older window; from holds the old columns, -1 for new ones.
func (w *Window) adopt(old *Window, from []int) {
	w.times, w.requested = old.times, old.requested
	w.now, w.arrived, w.unbroken = old.now, old.arrived, old.unbroken
	for range old.rows {
		w.rows = append(w.rows, slices.Clone(w.current))
	}
	for i, o := range from {
		if o < 0 {
			continue
		}
		w.current[i], w.since[i], w.changed[i] = old.current[o], old.since[o], old.changed[o]
		w.reset[i], w.resetBefore[i] = old.reset[o], old.resetBefore[o]
		w.highest[i], w.rose[i], w.fell[i] = old.highest[o], old.rose[o], old.fell[o]
		for r := range w.rows {
			w.rows[r][i] = old.rows[r][o]
		}
	}
}

// startAtZero sets counters that have just appeared to 0 on all earlier pages.
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

// push adds a copy of the values of a page that was requested before now, when its last byte came, both earlier
// by its age in a cache, from which the same one may come again. It returns false if the page is not newer than
// the last.
func (w *Window) push(requested, now, age int64, row []float64, t transition) bool {
	first, arrived := len(w.rows) == 0, now+age
	isNew, contiguous := w.isNew(now), !first && arrived-w.arrived <= w.gap
	if isNew || contiguous {
		w.arrived = max(w.arrived, arrived)
	}
	if !isNew {
		if age == 0 {
			w.stats.ClockJumps++
		}
		return false
	}
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
	copy(w.previous, w.current)
	w.previousAt = w.now
	for i, v := range row {
		if w.step(i, v, now, contiguous) && t != breaks {
			w.stats.Resets++
		}
	}
	w.now = now
	w.store(requested)
	return true
}

// isNew reports whether a page of a time is newer than all before.
func (w *Window) isNew(now int64) bool { return len(w.rows) == 0 || now > w.now }

// step advances one column to the next page, and reports whether a counter decreased.
func (w *Window) step(i int, v float64, now int64, contiguous bool) (decreased bool) {
	previous := w.current[i]
	decreased = w.counter[i] && v < previous
	switch {
	case math.IsNaN(v):
		w.since[i] = never
	case !contiguous || w.since[i] == never || decreased:
		w.since[i] = now
	}
	if decreased && contiguous {
		w.resetBefore[i], w.reset[i] = w.reset[i], now
	}
	if v != previous {
		w.changed[i] = now
	}
	w.current[i] = v
	return decreased
}

// store stores the current row, unless the last stored row is too recent, and drops expired rows.
func (w *Window) store(requested int64) {
	if n := len(w.times); n > 0 && w.now-w.times[n-1] < w.length/maxRows {
		return
	}
	var row []float64
	expired, _ := slices.BinarySearch(w.times, w.now-w.length)
	if expired > 0 {
		row = w.rows[0]
	}
	w.times = append(slices.Delete(w.times, 0, expired), w.now)
	w.requested = append(slices.Delete(w.requested, 0, expired), requested)
	w.rows = append(slices.Delete(w.rows, 0, expired), append(row[:0], w.current...))
}

// seen reports whether the newest page has a value in a column.
func (w *Window) seen(column int) bool { return w.since[column] != never }

// Last returns the newest value of a column, or false if it has none.
func (w *Window) Last(column int) (float64, bool) {
	v := w.current[column]
	return v, !math.IsNaN(v)
}

// growth returns how much counters grew since the previous page. What a reset one shows is new.
func (w *Window) growth(columns []int) (sum float64) {
	for _, c := range columns {
		switch previous, v := w.previous[c], w.current[c]; {
		case v > previous:
			sum += v - previous
		case v < previous:
			sum += v
		}
	}
	return sum
}

// moved reports whether a column that was on the previous page changed on the newest.
func (w *Window) moved(column int) bool {
	return w.changed[column] == w.now && !math.IsNaN(w.previous[column])
}

// rest begins to measure what [Window.climb] does from the newest page on.
func (w *Window) rest(columns []int) {
	for _, i := range columns {
		w.highest[i], w.fell[i] = w.current[i], false
	}
}

// climb reports whether any of the columns is higher on the newest page than on all pages since the last rest. What
// falls once, as when a request is given up, is measured from there; what falls and rises again and again gets
// nowhere.
func (w *Window) climb(columns []int) (rose bool) {
	for _, i := range columns {
		switch v := w.current[i]; {
		case w.rose[i] == w.now:
		case v > w.highest[i]:
			w.highest[i], w.rose[i] = v, w.now
		case math.IsNaN(w.highest[i]), v < w.previous[i] && !w.fell[i]:
			w.fell[i] = !math.IsNaN(w.highest[i])
			w.highest[i] = v
		}
		rose = rose || w.rose[i] == w.now
	}
	return rose
}

// earlier returns the stored rows from row on that are older than the newest page.
func (w *Window) earlier(row int) [][]float64 {
	last := len(w.rows) - 1
	if last >= 0 && w.times[last] < w.now {
		last++
	}
	return w.rows[row:max(last, 0)]
}

// Increase returns the sum of the increases of counters since any of them was interrupted, and
// the time in seconds.
func (w *Window) Increase(columns ...int) (increase, seconds float64, ok bool) {
	row, seconds, ok := w.stretch(columns)
	if !ok {
		return 0, 0, false
	}
	return w.increaseFrom(row, columns), seconds, true
}

// rate returns the total increase of counters per second.
func (w *Window) rate(columns []int) (float64, bool) {
	increase, seconds, ok := w.Increase(columns...)
	return increase / seconds, ok && len(columns) > 0
}

// grownRatio divides the increase of some counters by that of others.
func (w *Window) grownRatio(dividend, divisor []int) (float64, bool) {
	row, _, ok := w.stretch(dividend, divisor)
	if !ok || len(dividend) == 0 || len(divisor) == 0 {
		return 0, false
	}
	by := w.increaseFrom(row, divisor)
	return w.increaseFrom(row, dividend) / by, by > 0
}

// stretch returns the first row since which no column was interrupted, and the seconds since.
func (w *Window) stretch(lists ...[]int) (row int, seconds float64, ok bool) {
	since := int64(math.MinInt64)
	for _, columns := range lists {
		since = max(since, w.latest(columns))
	}
	row, start := w.firstRow(since)
	if start >= w.now {
		return row, 0, false
	}
	return row, w.secondsSince(row), true
}

// absentBefore reports whether the page before a row was read and shows none of the columns.
func (w *Window) absentBefore(row int, columns []int) bool {
	shown := func(c int) bool { return !math.IsNaN(w.rows[row-1][c]) }
	return row > 0 && w.times[row-1] >= w.unbroken && !slices.ContainsFunc(columns, shown)
}

// secondsSince returns the longest time in which what a row and the newest page differ by may have
// happened.
func (w *Window) secondsSince(row int) float64 {
	return float64(w.now-w.requested[row]) / float64(time.Second)
}

// latest returns when a column was interrupted last.
func (w *Window) latest(columns []int) int64 {
	since := int64(math.MinInt64)
	for _, c := range columns {
		since = max(since, w.since[c])
	}
	return since
}

// increaseFrom returns the sum of the increases of counters since a row.
func (w *Window) increaseFrom(row int, lists ...[]int) float64 {
	first, sum := w.rows[row], 0.0
	for _, columns := range lists {
		for _, c := range columns {
			sum += w.current[c] - first[c]
		}
	}
	return max(sum, 0)
}

// Mean returns the mean of a gauge over the pages in the window.
func (w *Window) Mean(column int) (float64, bool) {
	row, start := w.firstRow(w.since[column])
	if start > w.now || math.IsNaN(w.current[column]) {
		return 0, false
	}
	return w.meanFrom(row, column), true
}

// meanFrom returns the mean of the sum of gauges over the pages since a row.
func (w *Window) meanFrom(row int, columns ...int) float64 {
	sum, n := sumOf(w.current, columns), 1
	for _, earlier := range w.earlier(row) {
		sum += sumOf(earlier, columns)
		n++
	}
	return sum / float64(n)
}

// Product integrates a gauge over a counter, using the mean of the gauge between two pages.
func (w *Window) Product(gauge, counter int) (total, seconds float64, ok bool) {
	row, start := w.firstRow(max(w.since[gauge], w.since[counter]))
	if start >= w.now || math.IsNaN(w.current[gauge]) {
		return 0, 0, false
	}
	rows := w.earlier(row)
	for i, earlier := range rows {
		next := w.current
		if i+1 < len(rows) {
			next = rows[i+1]
		}
		total += (earlier[gauge] + next[gauge]) / 2 * (next[counter] - earlier[counter])
	}
	if math.IsNaN(total) || total < 0 {
		return 0, 0, false
	}
	return total, w.secondsSince(row), true
}

// firstRow returns the first row since a time, and its own time, which is never if there is none.
func (w *Window) firstRow(since int64) (row int, start int64) {
	row, _ = slices.BinarySearch(w.times, max(since, w.now-w.length))
	if row == len(w.times) {
		return 0, never
	}
	return row, w.times[row]
}
