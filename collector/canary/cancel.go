package canary

import (
	"fmt"
	"time"
)

// CancelResult is one word for what became of a request whose client left; the
// list is closed.
type CancelResult string

// The results of cancel checks.
const (
	// Freed: a page showed the request in flight, and a later one, in time and
	// before the server can have ended it by itself, that nothing was.
	Freed CancelResult = "freed"
	// Held: it was still in flight when the time was over.
	Held CancelResult = "held"
	// Busy: others had requests in flight, so that nothing can be said.
	Busy CancelResult = "busy"
	// Unclear: nothing can be said for another reason.
	Unclear CancelResult = "unclear"
)

// CancelResults lists every result once.
func CancelResults() []CancelResult { return []CancelResult{Freed, Held, Busy, Unclear} }

// Load is what one page shows of the server's load.
type Load struct {
	// Began is when the page was asked for, Came when it was there.
	Began, Came time.Time
	// InFlight is how many requests the server has, if the page says so.
	InFlight float64
	Known    bool
}

// phase is how far a cancel check is.
type phase int

const (
	// A check rests until a good request asks for one; then a page has to show
	// that nothing is in flight, then the request is sent, then its client leaves.
	resting phase = iota
	wanted
	ready
	asked
	gone
)

// cancels are the cancel checks of one replica.
type cancels struct {
	phase  phase
	within time.Duration
	pace   time.Duration
	// since is when the phase began, until when a check without an end is given up.
	since, until time.Time
	// seen is closed when a page has shown the request; crowd is true when one has
	// shown more than that.
	seen      chan struct{}
	shown     bool
	crowd     bool
	departure Departure

	counts map[CancelResult]uint64
	// last is the last result, reason says why, took is how long after the client a
	// page was there without its request.
	last   CancelResult
	reason string
	took   time.Duration
	// clear is the last result that says something, freed or held.
	clear CancelResult
}

// begin asks for a check after a good request.
func (c *cancels) begin(within time.Duration, r *Report) {
	now := time.Now()
	*c = cancels{
		phase: wanted, within: within, pace: r.Pace(), since: now, until: now.Add(4 * within), seen: make(chan struct{}),
		counts: c.counts, last: c.last, reason: c.reason, took: c.took, clear: c.clear,
	}
}

// conclude ends a check.
func (c *cancels) conclude(result CancelResult, reason string) {
	if c.counts == nil {
		c.counts = make(map[CancelResult]uint64)
	}
	c.counts[result]++
	c.phase, c.last, c.reason = resting, result, reason
	if result == Freed || result == Held {
		c.clear = result
	}
}

// Saw takes in what a page shows of the server's load.
func (r *Record) Saw(s Load) {
	switch c := &r.cancel; {
	case c.phase == resting || !s.Began.After(c.since):
	case !s.Known && c.phase == wanted:
		c.phase = resting // The capability says so.
	case !s.Known:
	case c.phase == wanted && s.InFlight > 0:
		// Gauges lag behind, so that the good request may still be among them.
		if s.Began.Sub(c.since) >= c.within {
			c.conclude(Busy, "other requests were in flight before it")
		}
	case c.phase == wanted:
		c.phase = ready
	case c.phase == asked && s.InFlight > 0:
		c.crowd = c.crowd || s.InFlight > 1
		if !c.shown {
			c.shown = true
			close(c.seen)
		}
	case c.phase == gone:
		c.judge(s)
	}
}

// judge compares a page of after the client left with what it should show.
func (c *cancels) judge(s Load) {
	took := s.Came.Sub(c.departure.At)
	switch {
	case s.InFlight > 1 || s.InFlight > 0 && c.crowd:
		c.conclude(Busy, "other requests were in flight meanwhile")
	case s.InFlight <= 0 && s.Came.After(c.departure.Alone):
		c.conclude(Unclear, "the server may have ended the answer by itself; raise cancel_tokens")
	case s.InFlight <= 0:
		c.took = took
		c.conclude(Freed, fmt.Sprintf("the slot was free %s after the client left, or before", took.Round(time.Millisecond)))
	case s.Began.Sub(c.departure.At) >= c.within:
		c.conclude(Held, fmt.Sprintf("the request was in flight %s after its client left", s.Began.Sub(c.departure.At).Round(time.Millisecond)))
	}
}

// Depart takes in how the request of NextCancel went.
func (r *Record) Depart(d Departure) {
	switch c := &r.cancel; {
	case c.phase != asked:
	case d.At.IsZero() && c.crowd:
		c.conclude(Busy, "other requests were in flight meanwhile")
	case d.At.IsZero():
		c.conclude(Unclear, d.Reason)
	default:
		c.phase, c.departure, c.since = gone, d, d.At
	}
}

// rests reports whether no check is under way; one that no page brought further for
// long is given up.
func (c *cancels) rests() bool {
	if c.phase != resting && c.phase != asked && time.Now().After(c.until) {
		c.conclude(Unclear, "no page showed the requests in flight in time")
	}
	return c.phase == resting
}

// WantCancel asks for a cancel check after a good request.
func (r *Record) WantCancel(within time.Duration) {
	if last := r.last; within > 0 && last != nil && last.Last.Result == OK && r.cancel.rests() {
		r.cancel.begin(within, &last.Last)
	}
}

// NextCancel is the request whose client is to leave when the channel is closed,
// and the time that a token takes; nil for none. It is asked once.
func (r *Record) NextCancel() (o *Order, pace time.Duration, seen <-chan struct{}) {
	c := &r.cancel
	if c.rests() || c.phase != ready || r.order == nil || r.order.Hold != "" {
		return nil, 0, nil
	}
	c.phase, c.since = asked, time.Now()
	return r.order, c.pace, c.seen
}
