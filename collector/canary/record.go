package canary

import (
	"cmp"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Order is what may be requested from a replica. It is immutable.
type Order struct {
	Question Question
	// ModelID is the public id of the model.
	ModelID string
	// Identity identifies server and model, Group the same without configs, for the
	// comparison within the pool.
	Identity, Group string
	// Hold is why no requests are sent; empty if they are.
	Hold string
}

// Record is what may be requested from one replica now, and the results so far. It is
// not safe for concurrent use.
type Record struct {
	// order is nil before the first page; sentOrder is that of the last request.
	order, sentOrder *Order

	// last sums up the requests, nil before the first; lastOrder is the order of the
	// last, nil if another server has been detected since.
	last        *Summary
	lastOrder   *Order
	due         bool
	unconfirmed *unconfirmed
	cancel      cancelCheck
}

// unconfirmed is an answer that differs from those before, by a server that may have
// been replaced with another version since its identity was queried.
type unconfirmed struct {
	report       Report
	since, until time.Time
}

// Order sets what may be requested from now on.
func (r *Record) Order(o *Order) { r.order = o }

// Forget drops what is running and the order, because another kind of server has been
// detected. Counts stay.
func (r *Record) Forget() {
	r.order, r.sentOrder, r.lastOrder, r.unconfirmed, r.cancel.phase = nil, nil, nil, nil, idle
}

// Due notes that a request is due.
func (r *Record) Due() { r.due = true }

// Next returns the order for the next request, nil if there is none. It returns each once.
func (r *Record) Next() *Order {
	if !r.due || r.order == nil || r.order.Hold != "" || r.unconfirmed != nil || !r.cancel.isIdle() {
		return nil
	}
	r.due, r.sentOrder = false, r.order
	return r.order
}

// Take takes a report. It returns false for one that waits, at most for patience, until
// the server's identity was queried again.
func (r *Record) Take(report Report, patience time.Duration) bool {
	if r.last.differs(&report) {
		now := time.Now()
		r.unconfirmed = &unconfirmed{report, now, now.Add(patience)}
		return false
	}
	r.add(report, cmp.Or(r.sentOrder, r.order))
	return true
}

// Unconfirmed returns since when a report waits and until when it may.
func (r *Record) Unconfirmed() (since, until time.Time, waits bool) {
	if r.unconfirmed == nil {
		return since, until, false
	}
	return r.unconfirmed.since, r.unconfirmed.until, true
}

// Confirm takes the report that waits, under the present order.
func (r *Record) Confirm() {
	report := r.unconfirmed.report
	r.unconfirmed = nil
	r.add(report, r.order)
}

func (r *Record) add(report Report, o *Order) {
	if r.last == nil {
		r.last = &Summary{Counts: make(map[Result]uint64)}
	}
	r.last.add(report, o.Identity)
	r.lastOrder, r.due = o, r.due || r.last.failures == 1
}

// Last returns what the requests have shown; nil before the first.
func (r *Record) Last() *Summary { return r.last }

// Result returns the result of the last request; empty before the first.
func (r *Record) Result() Result {
	if r.last == nil {
		return ""
	}
	return r.last.Last.Result
}

// Summary is what the requests to one replica have shown.
type Summary struct {
	// Last is the last report, Counts counts the requests by result.
	Last   Report
	Counts map[Result]uint64
	// failures counts the failed requests since the last good one.
	failures int
	// Changes counts good answers that differed from the one before of the same identity.
	Changes uint64
	// outputs are the last good answers of identity.
	identity string
	outputs  []string
}

// Answers returns how many good answers are compared, at most ten.
func (s *Summary) Answers() int { return len(s.outputs) }

// Alike reports whether they are all the same.
func (s *Summary) Alike() bool { return len(slices.Compact(slices.Clone(s.outputs))) <= 1 }

func (s *Summary) differs(r *Report) bool {
	return s != nil && r.Result == OK && len(s.outputs) > 0 && s.outputs[len(s.outputs)-1] != r.Output
}

func (s *Summary) add(r Report, identity string) {
	s.Last = r
	s.Counts[r.Result]++
	if identity != s.identity {
		s.identity, s.outputs = identity, nil
	}
	if r.Result != OK {
		s.failures++
		return
	}
	s.failures = 0
	if s.differs(&r) {
		s.Changes++
	}
	s.outputs = append(s.outputs, r.Output)
	s.outputs = s.outputs[max(0, len(s.outputs)-10):]
}

// Failing returns how the last request failed, if the replica should serve, and whether a server
// in order cannot answer so: it may fail one request, unless that was accepted and hangs.
func (r *Record) Failing() (failed string, proven bool) {
	if r.last == nil || r.lastOrder == nil || r.order == nil || r.order.Hold != "" || r.last.Last.Result == OK {
		return "", false
	}
	result := r.last.Last.Result
	return "the canary request failed (" + string(result) + "): " + r.last.Last.Reason, !result.Doubtful() && (r.last.failures > 1 || result.Hangs())
}

// Status returns the state of the canary for the status pages; it needs an order.
func (r *Record) Status() *target.Canary {
	s := &target.Canary{Model: r.order.Question.Model, Hold: r.order.Hold}
	if r.last == nil || r.lastOrder == nil {
		return s
	}
	last := &r.last.Last
	s.Result, s.Reason, s.At = string(last.Result), last.Reason, last.At
	s.Cancel, s.CancelReason = string(r.cancel.last), r.cancel.reason
	if r.order.Hold == "" && r.lastOrder.Identity == r.order.Identity && last.Result == OK {
		s.Group, s.Output = r.order.Group, last.Output
	}
	return s
}
