package derive

import (
	"cmp"
	"slices"
	"time"
)

// DefaultStallAfter leaves room for one long prefill in one iteration.
const DefaultStallAfter = 30 * time.Second

// DefaultFailingMin is how many requests must fail in a row for a replica to count
// as failing: on a quiet one two failures a day are no outage.
const DefaultFailingMin = 5

// failingPages is on how many pages they must fail.
const failingPages = 2

// Conditions are what the numbers of a page say of a replica as a whole.
type Conditions struct {
	// Failing is true while requests to entry models fail by the server's fault and
	// none succeeds, from [Options.FailingMin] of them on. What clients did wrong, gave
	// up or were refused for want of room says neither.
	Failing bool
	// Still is work that stands still; its time is 0 while none does.
	Still Still
	// Full says that requests wait while others move on, so that one more waits, too.
	Full bool
	// InFlight is how many requests the server has, running or waiting; Counted is
	// false where the page does not show them while they run.
	InFlight float64
	Counted  bool
}

// Still is work in flight while nothing that it would move has moved for
// [Options.StallAfter], or longer where requests are known to take longer. Pages that
// were missed in between do not matter: a counter that shows the same again did not
// move.
type Still struct {
	// For is for how long nothing has moved, InFlight how many requests are said to be
	// in flight.
	For      time.Duration
	InFlight float64
	// Witnessed says that requests came meanwhile. Without that the gauge of what is in
	// flight is the only sign, and it may be stale.
	Witnessed bool
	// Answerable says that a request which is sent now would be answered at once if the
	// work did not stand still.
	Answerable bool
}

// watch are the columns that conditions are judged by.
type watch struct {
	succeeded, failed []int
	// refused are requests that count among those that failed as well.
	refused []int
	works   []work
	// waits are how many requests wait, by engine and queue.
	waits []Eval
	// inFlight is nil where no page shows it.
	inFlight Eval
}

// Conditions judges the page that was derived from last.
func (d *Deriver) Conditions() Conditions {
	if d.program == nil {
		return Conditions{}
	}
	least := cmp.Or(d.opts.FailingMin, DefaultFailingMin)
	c := Conditions{Failing: d.failing.pages >= failingPages && d.failing.requests >= float64(least), Still: d.still(), Full: d.full()}
	c.InFlight, c.Counted = given(d.program.watch.inFlight, d.window)
	return c
}

// watchFailures follows successes and failures from page to page. Over pages that
// were missed, or a time without requests, what failed before still counts: only
// a success shows that it is over, or a process that began again, which has not
// failed yet.
func (d *Deriver) watchFailures() {
	w, by := d.window, &d.program.watch
	switch {
	case w.differs(by.succeeded), w.restarted == w.now && w.stats.Restarts > 0:
		d.failing = failures{}
	case w.moved(by.failed) > w.moved(by.refused) && w.highest(by.failed, by.refused):
		d.failing.pages++
		d.failing.requests += w.moved(by.failed) - w.moved(by.refused)
	}
}

// differs says whether any of the counters has another value than on the page
// before, even if it is not known what went on in between.
func (w *Window) differs(columns []int) bool {
	return slices.ContainsFunc(columns, func(c int) bool { return w.changed[c] == w.now && w.current[c] > 0 })
}

// moved is how much counters that are whole grew since the page before.
func (w *Window) moved(columns []int) (grown float64) {
	for _, c := range columns {
		if w.since[c] < w.changed[c] && w.changed[c] == w.now {
			grown += w.current[c] - w.Before(c)
		}
	}
	return grown
}

// highest says whether some counters are further above others than on all pages of
// the window before: a request that the others have may be counted a page later here.
func (w *Window) highest(of, less []int) bool {
	row, _, ok := w.common(slices.Concat(of, less))
	if !ok || len(less) == 0 {
		return true
	}
	more, _ := w.totals(of)
	fewer, _ := w.totals(less)
	for ; row >= 0 && w.times[row] < w.now; row = w.next(row) {
		if w.total(of, row)-w.total(less, row) >= more-fewer {
			return false
		}
	}
	return true
}

// watchWork follows what is in flight.
func (d *Deriver) watchWork() {
	for i := range d.program.watch.works {
		work := &d.program.watch.works[i]
		v, ok := work.inFlight(d.window)
		if ok {
			d.stale[work.key] = min(v, d.stale[work.key])
		}
		f := d.busy[work.key]
		switch {
		case !ok || v < work.least || v <= d.stale[work.key]:
			delete(d.busy, work.key)
			continue
		case f == nil || f.began > d.window.now:
			f = &workInFlight{began: d.window.now}
			d.busy[work.key] = f
		}
		f.inFlight = v
		f.count(work, d.window)
	}
}

// still is the work that stands still: what is witnessed first, else for longest.
func (d *Deriver) still() (worst Still) {
	least := cmp.Or(d.opts.StallAfter, DefaultStallAfter)
	for i := range d.program.watch.works {
		work := &d.program.watch.works[i]
		f := d.busy[work.key]
		if f == nil {
			continue
		}
		after, known := work.patience(d.window, least)
		last, moves := work.moved(d.window, f.began)
		stands := time.Duration(d.window.now - last)
		if !known || !moves || stands < after {
			continue
		}
		room, _ := given(work.room, d.window)
		one := Still{
			For: stands, InFlight: f.inFlight, Witnessed: time.Duration(f.rose-last) >= after/2,
			Answerable: !work.elsewhere && (work.longest == nil || room > 0),
		}
		if worst.For == 0 || one.Witnessed && !worst.Witnessed || one.Witnessed == worst.Witnessed && one.For > worst.For {
			worst = one
		}
	}
	return worst
}

// full reports whether requests wait while others move on.
func (d *Deriver) full() bool {
	w, by := d.window, &d.program.watch
	waits := slices.ContainsFunc(by.waits, func(e Eval) bool {
		v, ok := e(w)
		return ok && v > 0
	})
	return waits && slices.ContainsFunc(by.works, func(k work) bool {
		last, ok := k.moved(w, w.now-w.length-1)
		return ok && w.now-last <= w.length
	})
}

// Answered notes that a request which was sent while work stood still was answered:
// what the gauges say is in flight is not.
func (d *Deriver) Answered() {
	if d.program == nil {
		return
	}
	for i := range d.program.watch.works {
		if work := &d.program.watch.works[i]; !work.elsewhere && d.busy[work.key] != nil {
			d.stale[work.key] = d.busy[work.key].inFlight
		}
	}
}
