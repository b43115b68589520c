package canary

import (
	"fmt"
	"time"
)

// CancelResult is the result of a cancel check: whether the server stopped a request
// whose client left. It is the value of a metric label, so the list is closed.
type CancelResult string

// Results of cancel checks.
const (
	// Freed means that a page showed the request in flight, and a later one, in time, nothing.
	Freed   CancelResult = "freed"
	Held    CancelResult = "held"    // The request was still in flight after the time limit.
	Busy    CancelResult = "busy"    // Other requests were in flight, so the pages do not show it.
	Unclear CancelResult = "unclear" // The pages do not show it for another reason.
)

// cancelResults lists every result once.
func cancelResults() []CancelResult { return []CancelResult{Freed, Held, Busy, Unclear} }

// Load is the load of the server as shown by one page.
type Load struct {
	// Requested is when the page was requested, Received when it arrived.
	Requested, Received time.Time
	// InFlight is the number of requests in flight, if the page shows it.
	InFlight float64
	Known    bool
}

type phase int

const (
	// No check runs until a good request starts one. Then a page must show that nothing is in
	// flight, then the request is sent, then canceled.
	idle phase = iota
	pending
	ready
	sent
	hungUp
)

// cancelCheck is the current check of one replica and the results so far.
type cancelCheck struct {
	phase        phase
	within, pace time.Duration

	// since is when the phase began, deadline when an unfinished check is given up.
	since, deadline time.Time
	// When a page shows the request, seen is closed and inFlight set. When a page shows more
	// requests, others is set.
	seen             chan struct{}
	inFlight, others bool
	cancellation     Cancellation

	counts map[CancelResult]uint64
	// last is the last result, reason its reason, freedAfter the time from the cancellation to a
	// page without the request.
	last       CancelResult
	reason     string
	freedAfter time.Duration
	// conclusive is the last result of Freed or Held.
	conclusive CancelResult
}

func (c *cancelCheck) begin(within time.Duration, r *Report) {
	now := time.Now()
	*c = cancelCheck{
		phase:      pending,
		within:     within,
		pace:       r.pace(),
		since:      now,
		deadline:   now.Add(4 * within),
		seen:       make(chan struct{}),
		counts:     c.counts,
		last:       c.last,
		reason:     c.reason,
		freedAfter: c.freedAfter,
		conclusive: c.conclusive,
	}
}

func (c *cancelCheck) conclude(result CancelResult, reason string) {
	if c.counts == nil {
		c.counts = make(map[CancelResult]uint64)
	}
	c.counts[result]++
	c.phase, c.last, c.reason = idle, result, reason
	if result == Freed || result == Held {
		c.conclusive = result
	}
}

// Observe advances the cancel check with the load on a page.
func (r *Record) Observe(l Load) {
	switch c := &r.cancel; {
	case c.phase == idle || !l.Requested.After(c.since):
	case !l.Known && c.phase == pending:
		c.phase = idle // The capability cancel reports that.
	case !l.Known:
	case c.phase == pending && l.InFlight > 0:
		// Gauges lag behind, so they may still count the good request.
		if l.Requested.Sub(c.since) >= c.within {
			c.conclude(Busy, "other requests were in flight before it")
		}
	case c.phase == pending:
		c.phase = ready
	case c.phase == sent && l.InFlight > 0:
		c.others = c.others || l.InFlight > 1
		if !c.inFlight {
			c.inFlight = true
			close(c.seen)
		}
	case c.phase == hungUp:
		c.judge(l)
	}
}

func (c *cancelCheck) judge(l Load) {
	switch requested, received := l.Requested.Sub(c.cancellation.At), l.Received.Sub(c.cancellation.At); {
	case l.InFlight > 1 || l.InFlight > 0 && c.others:
		c.conclude(Busy, "other requests were in flight meanwhile")
	case l.InFlight <= 0 && l.Received.After(c.cancellation.SelfEnd):
		c.conclude(Unclear, "the server may have ended the answer by itself; raise cancel_tokens")
	case l.InFlight <= 0:
		c.freedAfter = received
		c.conclude(
			Freed,
			fmt.Sprintf("the slot was free at most %s after the client left", received.Round(time.Millisecond)),
		)
	case requested >= c.within:
		c.conclude(
			Held,
			fmt.Sprintf("the request was in flight %s after its client left", requested.Round(time.Millisecond)),
		)
	}
}

// Canceled records the outcome of the request of NextCancel.
func (r *Record) Canceled(outcome Cancellation) {
	switch c := &r.cancel; {
	case c.phase != sent:
	case outcome.At.IsZero() && c.others:
		c.conclude(Busy, "other requests were in flight meanwhile")
	case outcome.At.IsZero():
		c.conclude(Unclear, outcome.Reason)
	default:
		c.phase, c.cancellation, c.since = hungUp, outcome, outcome.At
	}
}

// isIdle reports whether no check runs. It gives up a check that no page has advanced in time.
func (c *cancelCheck) isIdle() bool {
	if c.phase != idle && c.phase != sent && time.Now().After(c.deadline) {
		c.conclude(Unclear, "no page showed the requests in flight in time")
	}
	return c.phase == idle
}

// WantCancel starts a cancel check if the last request succeeded.
func (r *Record) WantCancel(within time.Duration) {
	if summary := r.summary; within > 0 && summary != nil && summary.Last.Result == OK && r.cancel.isIdle() {
		r.cancel.begin(within, &summary.Last)
	}
}

// NextCancel returns the order for a request to be canceled when seen is closed, and the expected
// time per token. It returns nil if there is none, and each order only once.
func (r *Record) NextCancel() (o *Order, pace time.Duration, seen <-chan struct{}) {
	c := &r.cancel
	if c.isIdle() || c.phase != ready || r.order == nil || r.order.Hold != "" {
		return nil, 0, nil
	}
	c.phase, c.since = sent, time.Now()
	return r.order, c.pace, c.seen
}
