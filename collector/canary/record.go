package canary

import (
	"cmp"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Order is what may be asked of a replica. It is immutable.
type Order struct {
	Question Question
	// ModelID is the public id of the model that is asked.
	ModelID string
	// Identity says what server with what model answers, Group the same without
	// configs, for the comparison inside the pool.
	Identity, Group string
	// Hold says why nothing is asked now; empty when requests are sent.
	Hold string
}

// Record is what may be asked of one replica now, and what the requests so far
// have shown. It is not safe for concurrent use.
type Record struct {
	// order is nil before the first page, asked what the last request was sent for.
	order, asked *Order

	// last is what the requests have shown, nil before the first; of is what the last
	// was sent for, nil when another server is there since.
	last *Summary
	of   *Order
	// due is true when it is time for a request that could not be sent yet.
	due         bool
	unconfirmed *unconfirmed
	cancel      cancels
}

// unconfirmed is an answer other than those before, of a server that may have
// been replaced by one of other versions since it was asked who it is.
type unconfirmed struct {
	report       Report
	since, until time.Time
}

// Order sets what may be asked from now on.
func (r *Record) Order(o *Order) { r.order = o }

// Forget forgets what is under way and what may be asked, because another kind of
// server is there. What was counted stays.
func (r *Record) Forget() {
	r.order, r.asked, r.of, r.unconfirmed, r.cancel.phase = nil, nil, nil, nil, resting
}

// Due notes that it is time for a request.
func (r *Record) Due() { r.due = true }

// Next is what to ask now, nil for nothing; it is asked once.
func (r *Record) Next() *Order {
	if !r.due || r.order == nil || r.order.Hold != "" || r.unconfirmed != nil || !r.cancel.rests() {
		return nil
	}
	r.due, r.asked = false, r.order
	return r.order
}

// Take takes a report in; false for one that has to wait, at most for so long,
// until the server has said again who it is: see Unconfirmed.
func (r *Record) Take(report Report, patience time.Duration) bool {
	if r.last.differs(&report) {
		now := time.Now()
		r.unconfirmed = &unconfirmed{report, now, now.Add(patience)}
		return false
	}
	r.enter(report, cmp.Or(r.asked, r.order))
	return true
}

// Unconfirmed says since when a report waits and until when it may; false when
// none does.
func (r *Record) Unconfirmed() (since, until time.Time, waits bool) {
	if r.unconfirmed == nil {
		return since, until, false
	}
	return r.unconfirmed.since, r.unconfirmed.until, true
}

// Confirm takes in the report that waited, as one of the present order.
func (r *Record) Confirm() {
	report := r.unconfirmed.report
	r.unconfirmed = nil
	r.enter(report, r.order)
}

// enter enters a report as one of an order.
func (r *Record) enter(report Report, of *Order) {
	if r.last == nil {
		r.last = &Summary{Counts: make(map[Result]uint64)}
	}
	r.last.enter(report, of.Identity)
	r.of = of
}

// Last is what the requests have shown; nil before the first.
func (r *Record) Last() *Summary { return r.last }

// compared is how many of the last answers have to be alike.
const compared = 10

// Summary is what the requests to one replica have shown.
type Summary struct {
	// Last is the last report, Counts are the requests by result.
	Last   Report
	Counts map[Result]uint64
	// Changes are the good answers that differed from the one before, of the
	// same identity, which says what server with what model was asked.
	Changes uint64
	// outputs are the last good answers of that identity.
	identity string
	outputs  []string
}

// Answers is how many good answers are compared, at most ten.
func (s *Summary) Answers() int { return len(s.outputs) }

// Alike reports whether they are all the same.
func (s *Summary) Alike() bool { return len(slices.Compact(slices.Clone(s.outputs))) <= 1 }

// differs reports whether a good answer is another than the one before.
func (s *Summary) differs(r *Report) bool {
	return s != nil && r.Result == OK && len(s.outputs) > 0 && s.outputs[len(s.outputs)-1] != r.Output
}

// enter takes a report in.
func (s *Summary) enter(r Report, identity string) {
	s.Last = r
	s.Counts[r.Result]++
	if identity != s.identity {
		s.identity, s.outputs = identity, nil
	}
	if r.Result != OK {
		return
	}
	if s.differs(&r) {
		s.Changes++
	}
	s.outputs = append(s.outputs, r.Output)
	s.outputs = s.outputs[max(0, len(s.outputs)-compared):]
}

// Failing is what the last request says against a replica that serves; empty
// when nothing does.
func (r *Record) Failing() string {
	if r.last == nil || r.of == nil || r.order == nil || r.order.Hold != "" || r.last.Last.Result == OK {
		return ""
	}
	return "its canary fails: " + string(r.last.Last.Result) + ": " + r.last.Last.Reason
}

// Status is what there is to show of the canary; it needs an order.
func (r *Record) Status() *target.Canary {
	s := &target.Canary{Model: r.order.Question.Model, Hold: r.order.Hold}
	if r.last == nil || r.of == nil {
		return s
	}
	last := &r.last.Last
	s.Result, s.Reason, s.At = string(last.Result), last.Reason, last.At
	s.Cancel, s.CancelReason = string(r.cancel.last), r.cancel.reason
	if r.order.Hold == "" && r.of.Identity == r.order.Identity && last.Result == OK {
		s.Group, s.Output = r.order.Group, last.Output
	}
	return s
}
