package canary

import (
	"cmp"
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Order is the request that may be sent to a replica. It is immutable.
type Order struct {
	Question Question
	// ModelID is the public id of the model.
	ModelID string
	// Key identifies the server, the model and their configs. Group leaves the configs out, to compare
	// replicas of a pool.
	Key, Group string
	// Hold is the reason why no requests are sent, empty if they are.
	Hold string
}

// Record holds the current order for one replica and the results so far. It is not safe for
// concurrent use.
type Record struct {
	Past

	// order is nil before the first page; sentOrder is the order of the last request.
	order, sentOrder *Order

	// summary is nil before the first request; summaryOrder is the order of the last request, nil
	// if another server was detected since.
	summary      *Summary
	summaryOrder *Order
	due          bool
	// checks is true if the next request checks the failure of the last one.
	checks      bool
	unconfirmed *unconfirmed
	cancel      cancelCheck
}

// Past is what earlier requests have shown about the process that answers.
type Past struct {
	// succeeded is the key under which a request succeeded with this process.
	succeeded string
	// refuted counts the failed requests since then after which requests of others ended well.
	refuted int
}

// unconfirmed is an answer that differs from earlier ones, from a server that may have been
// replaced by another version since its identity was queried.
type unconfirmed struct {
	report          Report
	since, deadline time.Time
}

// Resume returns the record for the same requests after a change of configuration. What was on its way then is due
// again.
func (r *Record) Resume() Record {
	next := *r
	next.due = r.due || r.unconfirmed != nil
	next.unconfirmed, next.cancel.phase = nil, idle
	return next
}

// Order sets the order for future requests.
func (r *Record) Order(o *Order) { r.order = o }

// Forget drops the running request and the order, because another kind of server was detected. It
// keeps the counts.
func (r *Record) Forget() {
	r.order, r.sentOrder, r.summaryOrder, r.unconfirmed, r.cancel.phase = nil, nil, nil, nil, idle
	r.NewProcess()
}

// NewProcess forgets that requests succeeded, and how many failed in a row, because another process
// of the server answers now.
func (r *Record) NewProcess() {
	r.Acquit()
	r.Past = Past{}
}

// Acquit forgets how many requests failed in a row, because requests of others end well: these failed for the
// request, or for a moment.
func (r *Record) Acquit() {
	if r.summary == nil {
		return
	}
	r.refuted += r.summary.failures
	r.summary.failures = 0
}

// Refuted reports whether what fails is the request, and not the server: requests of others ended well after it
// had failed, and it has not succeeded since. Where it succeeded before with this process, one failure is not
// enough: what ended after the server broke may be what was nearly done.
func (r *Record) Refuted() bool { return r.refuted > 1 || r.refuted == 1 && !r.Succeeded() }

// Due marks a request as due.
func (r *Record) Due() { r.due = true }

// Next returns the order for the next request, nil if none is due. It returns each order only
// once.
func (r *Record) Next() *Order {
	if !r.due || r.order == nil || r.order.Hold != "" || r.unconfirmed != nil || !r.cancel.isIdle() {
		return nil
	}
	r.due, r.sentOrder = false, r.order
	return r.order
}

// Take records a report. It returns false if the report waits, at most for patience, until the
// server's identity was queried again.
func (r *Record) Take(report Report, patience time.Duration) bool {
	if r.summary.differs(&report) {
		now := time.Now()
		r.unconfirmed = &unconfirmed{report, now, now.Add(patience)}
		return false
	}
	r.add(report, cmp.Or(r.sentOrder, r.order))
	return true
}

// Unconfirmed reports whether a report waits, since when, and until when it may.
func (r *Record) Unconfirmed() (since, deadline time.Time, waits bool) {
	if r.unconfirmed == nil {
		return since, deadline, false
	}
	return r.unconfirmed.since, r.unconfirmed.deadline, true
}

// Confirm records the waiting report under the current order.
func (r *Record) Confirm() {
	report := r.unconfirmed.report
	r.unconfirmed = nil
	r.add(report, r.order)
}

func (r *Record) add(report Report, o *Order) {
	if r.summary == nil {
		r.summary = &Summary{Counts: make(map[Result]uint64)}
	}
	r.summary.add(report, o.Key, r.succeeded == o.Key)
	r.summaryOrder, r.checks = o, r.summary.failures == 1 && !r.checks
	r.due = r.due || r.checks
	if report.Result == OK {
		r.succeeded, r.refuted = o.Key, 0
	}
}

// Last returns the summary of the requests, nil before the first.
func (r *Record) Last() *Summary { return r.summary }

// Result returns the result of the last request, empty before the first.
func (r *Record) Result() Result {
	if r.summary == nil {
		return ""
	}
	return r.summary.Last.Result
}

// Summary summarizes the requests to one replica.
type Summary struct {
	// Last is the last report. Counts counts the requests by result.
	Last   Report
	Counts map[Result]uint64
	// failures counts the failed requests in a row, see [Record.Acquit].
	failures int
	// Changes counts good answers that differed from the previous one of the same key.
	Changes uint64
	// outputs holds the last good answers of key.
	key     string
	outputs []string
}

// Answers returns the number of good answers that are compared, at most ten.
func (s *Summary) Answers() int { return len(s.outputs) }

// Alike reports whether these answers are identical.
func (s *Summary) Alike() bool { return len(slices.Compact(slices.Clone(s.outputs))) <= 1 }

func (s *Summary) differs(r *Report) bool {
	return s != nil && r.Result == OK && len(s.outputs) > 0 && s.outputs[len(s.outputs)-1] != r.Output
}

// add adds a report; tried is true if such a request succeeded before with this process.
func (s *Summary) add(r Report, key string, tried bool) {
	s.Last = r
	s.Counts[r.Result]++
	if key != s.key {
		s.key, s.outputs = key, nil
	}
	switch {
	case r.Result == OK:
		s.failures = 0
	case r.Result == Empty, r.Result == Timeout:
		s.failures = 0
		return
	case r.Idle(tried):
		return
	default:
		s.failures++
		return
	}
	if s.differs(&r) {
		s.Changes++
	}
	s.outputs = append(s.outputs, r.Output)
	s.outputs = s.outputs[max(0, len(s.outputs)-10):]
}

// Failing returns how the last request failed, empty if it did not or if the replica should not
// serve. It is late if it took too long or was rejected for lack of capacity, and twice if it was
// not the first in a row, while the same request succeeded before with this process and is not refuted.
func (r *Record) Failing() (failed string, late, twice bool) {
	if r.summary == nil || r.summaryOrder == nil || r.order == nil || r.order.Hold != "" ||
		r.summary.Last.Result == OK {
		return "", false, false
	}
	last := &r.summary.Last
	failed = "the canary request failed (" + string(last.Result) + "): " + last.Reason
	return failed, last.Result.Late(), r.summary.failures > 1 && r.Succeeded() && !r.Refuted()
}

// Fails reports whether the last request failed, and no request of others has ended well since.
func (r *Record) Fails() bool { return r.summary != nil && r.summary.failures > 0 }

// Succeeded reports whether the request succeeded before with this process, model and config.
func (r *Record) Succeeded() bool { return r.order != nil && r.succeeded == r.order.Key }

// NeverSucceeded reports whether requests were sent, and none succeeded with this process, model and config.
func (r *Record) NeverSucceeded() bool { return r.summary != nil && !r.Succeeded() }

// Status returns the state of the canary for the status pages. There must be an order.
func (r *Record) Status() *target.Canary {
	s := &target.Canary{Model: r.order.Question.Model, Hold: r.order.Hold}
	if r.summary == nil || r.summaryOrder == nil {
		return s
	}
	report := &r.summary.Last
	s.Result, s.Reason, s.At = string(report.Result), report.Reason, report.At
	s.Cancel, s.CancelReason = string(r.cancel.last), r.cancel.reason
	if r.order.Hold == "" && r.summaryOrder.Key == r.order.Key && report.Result == OK {
		s.Group, s.Output = r.order.Group, report.Output
	}
	return s
}
