package derive

import (
	"cmp"
	"slices"
	"time"
)

// DefaultStallAfter leaves time for one long prefill in one iteration.
const DefaultStallAfter = 30 * time.Second

// DefaultFailingMin is how many requests must fail in a row, on failingPages pages or more,
// for a replica to count as failing: two failures a day on a quiet one are not an outage.
const DefaultFailingMin, failingPages = 5, 2

// Conditions is what the numbers of a page show about a replica as a whole.
type Conditions struct {
	// Failing reports that [Options.FailingMin] requests to entry models failed by the
	// server's fault and none succeeded. Other failures count neither way.
	Failing bool
	// Stall is work that stands still; its duration is 0 while none does.
	Stall Stall
	// Queued reports that requests wait while others make progress.
	Queued bool
	// InFlight is how many requests the server has, if the page shows them while they run.
	InFlight      float64
	InFlightKnown bool
}

// Stall is work in flight while nothing that it would move has moved for
// [Options.StallAfter], or longer if requests are known to take longer.
type Stall struct {
	// Duration is how long nothing has moved, InFlight the requests that gauges show.
	Duration time.Duration
	InFlight float64
	// Deferred reports that all of them may wait for another server.
	Deferred bool
	// Witnessed reports that requests arrived meanwhile; else the gauge may be stale.
	Witnessed bool
	// Answerable reports that a request sent now would otherwise be answered at once.
	Answerable bool
}

// watch lists what conditions are judged by.
type watch struct {
	succeeded, failed []int
	// refused counts requests that failed counts as well.
	refused []int
	works   []work
	// waits holds how many requests wait, by engine and queue.
	waits []Eval
	// inFlight is nil if no page shows it.
	inFlight Eval
}

// Conditions judges the page that was observed last.
func (d *Deriver) Conditions() (c Conditions) {
	c.Failing = d.failedPages >= failingPages && d.failedRequests >= float64(cmp.Or(d.opts.FailingMin, DefaultFailingMin))
	c.Stall, c.Queued = d.stall(), d.queued()
	c.InFlight, c.InFlightKnown = valueOf(d.program.watch.inFlight, d.window)
	return c
}

// watchFailures counts failures from page to page until a request succeeds or the
// process restarts. Missed pages and times without requests do not matter.
func (d *Deriver) watchFailures() {
	w, by := d.window, &d.program.watch
	failed, refused := w.newIncrease(by.failed), w.newIncrease(by.refused)
	// A success counts even if it is unknown what happened since the page before.
	succeeded := slices.ContainsFunc(by.succeeded, func(c int) bool { return w.changed[c] == w.now && w.current[c] > 0 })
	switch {
	case succeeded, w.restarted == w.now && w.stats.Restarts > 0:
		d.failedPages, d.failedRequests = 0, 0
	case failed > refused && w.exceedsAll(by.failed, by.refused):
		d.failedPages++
		d.failedRequests += failed - refused
	}
}

// newIncrease returns how much uninterrupted counters grew since the page before.
func (w *Window) newIncrease(columns []int) (increase float64) {
	for _, c := range columns {
		if w.since[c] < w.changed[c] && w.changed[c] == w.now {
			increase += w.current[c] - w.Before(c)
		}
	}
	return increase
}

// exceedsAll reports whether some counters are further above others than on every
// earlier page of the window: they may count a request one page later than the others.
func (w *Window) exceedsAll(some, others []int) bool {
	row, _, ok := w.stretch(slices.Concat(some, others))
	if !ok || len(others) == 0 {
		return true
	}
	above := func(row []float64) float64 { return sumOf(row, some) - sumOf(row, others) }
	newest := above(w.current)
	return !slices.ContainsFunc(w.earlier(row), func(row []float64) bool { return above(row) >= newest })
}

func (d *Deriver) watchWork() {
	for i := range d.program.watch.works {
		k := &d.program.watch.works[i]
		s := d.works[k.key]
		v, ok := k.inFlight(d.window)
		moved := func(c int) bool { return d.window.changed[c] == d.window.now }
		if ok && (v < s.stale || k.counted && slices.ContainsFunc(k.progress, moved)) {
			s.stale = v
		}
		switch {
		case !ok || v < k.minInFlight || v <= s.stale:
			*s = workState{stale: s.stale}
			continue
		case !s.active || s.began > d.window.now:
			*s = workState{stale: s.stale, active: true, began: d.window.now}
		}
		s.inFlight = v
		s.countArrivals(k, d.window)
	}
}

// stall returns the work that stands still, a witnessed one first, else the longest.
func (d *Deriver) stall() (worst Stall) {
	minimum := cmp.Or(d.opts.StallAfter, DefaultStallAfter)
	for i := range d.program.watch.works {
		k := &d.program.watch.works[i]
		s := d.works[k.key]
		patience, known := k.patience(d.window, minimum)
		last, moves := k.lastProgress(d.window, s.began)
		duration := time.Duration(d.window.now - last)
		if !s.active || !known || !moves || duration < patience {
			continue
		}
		free, _ := valueOf(k.free, d.window)
		one := Stall{Duration: duration, InFlight: s.inFlight, Deferred: isPositive(k.deferred, d.window)}
		if !one.Deferred {
			one.Witnessed = time.Duration(s.lastArrival-last) >= patience/2
			one.Answerable = !k.bypassable && (k.maxDuration == nil || free > 0)
		}
		if worst.Duration == 0 || one.Witnessed && !worst.Witnessed || one.Witnessed == worst.Witnessed && one.Duration > worst.Duration {
			worst = one
		}
	}
	return worst
}

func (d *Deriver) queued() bool {
	w, by := d.window, &d.program.watch
	waits := slices.ContainsFunc(by.waits, func(e Eval) bool { return isPositive(e, w) })
	return waits && slices.ContainsFunc(by.works, func(k work) bool {
		last, ok := k.lastProgress(w, w.now-w.length-1)
		return ok && w.now-last <= w.length
	})
}

// NoteAnswer notes that a request sent during a stall was answered: the gauges are stale.
func (d *Deriver) NoteAnswer() {
	for i := range d.program.watch.works {
		k := &d.program.watch.works[i]
		if s := d.works[k.key]; s.active && !k.bypassable {
			s.stale = s.inFlight
		}
	}
}
