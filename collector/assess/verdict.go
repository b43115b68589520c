package assess

import (
	"log/slog"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Severity is how much a verdict matters.
type Severity string

// The severities of verdicts. A broken replica does not serve.
const (
	OK     Severity = "ok"
	Look   Severity = "look"
	Broken Severity = "broken"
)

// Verdict is what a replica is doing, how much that matters, and why.
type Verdict struct {
	State State
	// Reason is one sentence for people.
	Reason   string
	Severity Severity
	// Suspected reports that one sign speaks against the replica.
	Suspected bool
	// Unread reports that its page cannot be read; its requests may succeed.
	Unread bool
	// Runbook is the entry of the runbook; empty if nothing is wrong.
	Runbook string
}

// The entries of the runbook for what is wrong besides the state.
const unmetRunbook, canaryRunbook, saturatedRunbook, suspectedRunbook = "LLMExpectationMismatch", "LLMCanaryFailing", "LLMPoolSaturated", "LLMReplicaSuspected"

// Judge returns the verdict on a replica. What is wrong besides its state is added to
// the reason, and raises the severity of a replica that serves.
func Judge(e *Evidence) Verdict {
	state, reason := e.state()
	if e.CanaryProven && !e.Queued && consequenceOf(state).severity != Broken {
		state = CanaryFailing
	}
	c := consequenceOf(state)
	v := Verdict{State: state, Reason: reason, Severity: c.severity, Suspected: state == Ready && e.suspected() != "", Unread: e.unread(), Runbook: c.runbook}
	if state == Ready && e.Unobservable != "" {
		// "ready" promises more than such a server can keep.
		v.Reason += "; whether its requests fail is unknown: " + e.Unobservable
	}
	inTurn, asked := "", remark{e.Canary, canaryRunbook}
	if e.Canary != "" && e.CanaryLate && e.Queued {
		asked = remark{"slow: its canary waited too long, or was rejected, behind other requests, which make progress", saturatedRunbook}
	}
	if e.Processes > 0 {
		inTurn = strconv.Itoa(e.Processes) + " processes answer at this address in turn, so that rates are unknown: give each its own address"
	}
	for _, more := range []remark{
		{inTurn, ""},
		{e.Mismatch, ""},
		{e.Unmet, unmetRunbook},
		{e.suspected(), suspectedRunbook},
		asked,
	} {
		// A replica that is known to fail is not suspected as well.
		if more.wrong == "" || more.runbook == suspectedRunbook && state != Ready {
			continue
		}
		v.Reason += "; " + more.wrong
		if v.Severity == OK {
			v.Severity, v.Runbook = Look, more.runbook
		}
	}
	return v
}

// remark is what is wrong with a replica besides its state; an empty text is nothing.
type remark struct{ wrong, runbook string }

// Announce logs one line for what changed about a replica, if anything did.
func Announce(log *slog.Logger, before, now *target.Status, page string, kind engine.Kind) {
	up := now.Health == target.HealthUp
	switch {
	case now.State != before.State:
		attrs := []any{"state", now.State, "was", before.State, "severity", now.Severity, "reason", now.StateReason, "url", page}
		if up {
			attrs = append(attrs, "engine", string(kind), "samples", now.Samples)
		} else if now.LastReason != "" {
			attrs = append(attrs, "failure", now.LastReason)
		}
		write, ok := map[Severity]func(string, ...any){Look: log.Warn, Broken: log.Error}[Severity(now.Severity)]
		if !ok {
			write = log.Info
		}
		write("Replica changed state", attrs...)
	case up && before.Health != target.HealthUp:
		log.Info("Target is up", "url", page, "engine", string(kind), "samples", now.Samples)
	case now.Health == target.HealthDown && (before.Health != target.HealthDown || before.LastReason != now.LastReason):
		log.Warn("Target is down", "url", page, "failure", now.LastReason, "err", now.LastError)
	}
}
