package derive

import (
	"slices"
	"time"
)

// DefaultStallAfter leaves room for one long prefill in one iteration.
const DefaultStallAfter = 30 * time.Second

// failingPages is on how many pages requests must fail, and none succeed, for
// a replica to count as failing: one page may be one bad client.
const failingPages = 2

// Conditions are what the numbers of a page say of a replica as a whole.
type Conditions struct {
	// Failing is true while requests to entry models fail by the server's fault
	// and none succeeds. What clients did wrong, gave up or were refused for want of
	// room says neither.
	Failing bool
	// Stalled is true while work has been in flight and nothing that it would move
	// has moved for [Options.StallAfter], or longer where requests are known to take
	// longer. Pages that were missed in between do not matter: a counter that shows
	// the same again did not move.
	Stalled bool
	// InFlight is how many requests the server has, running or waiting; Counted is
	// false where the page does not show them while they run.
	InFlight float64
	Counted  bool
}

// watch are the columns that conditions are judged by.
type watch struct {
	succeeded, failed []int
	// refused are requests that count among those that failed as well.
	refused []int
	works   []work
	// inFlight is nil where no page shows it.
	inFlight Eval
}

// Conditions judges the page that was derived from last.
func (d *Deriver) Conditions() Conditions {
	if d.program == nil {
		return Conditions{}
	}
	recent := d.window.now-d.failedAt <= d.window.length
	c := Conditions{Failing: d.failing >= failingPages && recent, Stalled: d.stalled()}
	c.InFlight, c.Counted = d.load.inFlight, d.load.counted
	return c
}

// load is how many requests the server had on the newest page; counted is false
// where that does not show them.
type load struct {
	inFlight float64
	counted  bool
}

// watchLoad notes the load of a page. It is asked for while that page may be read,
// which what it rests on does not allow.
func (d *Deriver) watchLoad() {
	d.load = load{}
	if in := d.program.watch.inFlight; in != nil {
		if v, ok := in(d.window); ok {
			d.load = load{v, true}
		}
	}
}

// watchFailures follows successes and failures from page to page. Over pages that
// were missed, or a time without requests, what failed before still counts: only
// a success shows that it is over, or a process that began again, which has not
// failed yet.
func (d *Deriver) watchFailures() {
	w, by := d.window, &d.program.watch
	switch {
	case w.differs(by.succeeded), w.restarted == w.now && w.stats.Restarts > 0:
		d.failing = 0
	case w.moved(by.failed) > w.moved(by.refused) && w.highest(by.failed, by.refused):
		d.failing++
		d.failedAt = w.now
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

// watchWork follows since when each work has been in flight.
func (d *Deriver) watchWork() {
	for i := range d.program.watch.works {
		work := &d.program.watch.works[i]
		v, ok := work.inFlight(d.window)
		since, busy := d.busy[work.key]
		switch {
		case !ok || v < work.least:
			delete(d.busy, work.key)
		case !busy || since > d.window.now:
			d.busy[work.key] = d.window.now
		}
	}
}

// stalled says whether any work in flight moves nothing.
func (d *Deriver) stalled() bool {
	after := d.opts.StallAfter
	if after == 0 {
		after = DefaultStallAfter
	}
	for i := range d.program.watch.works {
		work := &d.program.watch.works[i]
		if since, busy := d.busy[work.key]; busy && work.still(d.window, since, after) {
			return true
		}
	}
	return false
}
