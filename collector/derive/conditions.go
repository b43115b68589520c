package derive

import (
	"cmp"
	"slices"
	"time"
)

// DefaultStallAfter is longer than a long prefill in one iteration.
const DefaultStallAfter = 30 * time.Second

// DefaultFailingMin is how many requests must fail in a row, on failingPages pages or more,
// before a replica counts as failing: two failures a day on a quiet replica are not an outage.
const DefaultFailingMin, failingPages = 5, 2

// Conditions describes what the numbers on the pages show about a replica as a whole.
type Conditions struct {
	// Failing is true if at least [Options.FailingMin] requests to entry models failed by the
	// server's fault and none succeeded. Other failures are ignored.
	Failing bool
	// Stall is the work that stands still; its duration is 0 if none does.
	Stall Stall
	// Queued is true if requests wait while others make progress.
	Queued bool
	// InFlight is the number of requests in flight, if the page shows them while they run.
	InFlight      float64
	InFlightKnown bool
}

// Stall is work in flight without progress for [Options.StallAfter], or longer if requests are
// known to take longer.
type Stall struct {
	// Duration is how long nothing has moved, InFlight the number of requests that gauges show.
	Duration time.Duration
	InFlight float64
	// Deferred is true if all of them may wait for another server.
	Deferred bool
	// Witnessed is true if requests arrived in the meantime; otherwise the gauge may be stale.
	Witnessed bool
	// Answerable is true if a healthy server would answer a request sent now without delay.
	Answerable bool
}

// watch lists what the conditions are based on.
type watch struct {
	succeeded, failed []int
	// refused counts requests that are also in failed.
	refused []int
	works   []work
	// waits holds the numbers of waiting requests, by engine and queue.
	waits []Eval
	// inFlight is nil if no page shows it.
	inFlight Eval
}

// Conditions returns the conditions as of the page that was observed last.
func (d *Deriver) Conditions() (c Conditions) {
	c.Failing = d.failedPages >= failingPages && d.failedRequests >= float64(cmp.Or(d.opts.FailingMin, DefaultFailingMin))
	c.Stall, c.Queued = d.stall(), d.queued()
	c.InFlight, c.InFlightKnown = valueOf(d.program.watch.inFlight, d.window)
	return c
}

// watchFailures counts failures from page to page until a request succeeds or the process
// restarts, across missed pages and idle times.
func (d *Deriver) watchFailures() {
	w, by := d.window, &d.program.watch
	failed, refused := w.newIncrease(by.failed), w.newIncrease(by.refused)
	// A success counts even if it is unknown what happened since the previous page.
	succeeded := slices.ContainsFunc(by.succeeded, func(c int) bool { return w.changed[c] == w.now && w.current[c] > 0 })
	switch {
	case succeeded, w.restarted == w.now && w.stats.Restarts > 0:
		d.failedPages, d.failedRequests = 0, 0
	case failed > refused && w.exceedsAll(by.failed, by.refused):
		d.failedPages++
		d.failedRequests += failed - refused
	}
}

// newIncrease returns the increase of uninterrupted counters since the previous page.
func (w *Window) newIncrease(columns []int) (increase float64) {
	for _, c := range columns {
		if w.since[c] < w.changed[c] && w.changed[c] == w.now {
			increase += w.current[c] - w.Before(c)
		}
	}
	return increase
}

// exceedsAll reports whether the excess of counters over subtrahends is larger than on every
// earlier page of the window: they may count a request one page later.
func (w *Window) exceedsAll(counters, subtrahends []int) bool {
	row, _, ok := w.stretch(slices.Concat(counters, subtrahends))
	if !ok || len(subtrahends) == 0 {
		return true
	}
	above := func(row []float64) float64 { return sumOf(row, counters) - sumOf(row, subtrahends) }
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

// stall returns the worst work that stands still: a witnessed one, else the longest.
func (d *Deriver) stall() (worst Stall) {
	minimum := cmp.Or(d.opts.StallAfter, DefaultStallAfter)
	for i := range d.program.watch.works {
		k := &d.program.watch.works[i]
		s := d.works[k.key]
		patience, ok := k.patience(d.window, minimum)
		lastProgress, moves := k.lastProgress(d.window, s.began)
		duration := time.Duration(d.window.now - lastProgress)
		if !s.active || !ok || !moves || duration < patience {
			continue
		}
		free, _ := valueOf(k.free, d.window)
		candidate := Stall{Duration: duration, InFlight: s.inFlight, Deferred: isPositive(k.deferred, d.window)}
		if !candidate.Deferred {
			candidate.Witnessed = time.Duration(s.lastArrival-lastProgress) >= patience/2
			candidate.Answerable = !k.bypassable && (k.maxDuration == nil || free > 0)
		}
		if worst.Duration == 0 || candidate.Witnessed && !worst.Witnessed || candidate.Witnessed == worst.Witnessed && candidate.Duration > worst.Duration {
			worst = candidate
		}
	}
	return worst
}

func (d *Deriver) queued() bool {
	w, by := d.window, &d.program.watch
	waits := slices.ContainsFunc(by.waits, func(e Eval) bool { return isPositive(e, w) })
	return waits && slices.ContainsFunc(by.works, func(k work) bool {
		lastProgress, ok := k.lastProgress(w, w.now-w.length-1)
		return ok && w.now-lastProgress <= w.length
	})
}

// NoteAnswer records that a request sent during a stall was answered: the gauges are stale.
func (d *Deriver) NoteAnswer() {
	for i := range d.program.watch.works {
		k := &d.program.watch.works[i]
		if s := d.works[k.key]; s.active && !k.bypassable {
			s.stale = s.inFlight
		}
	}
}
