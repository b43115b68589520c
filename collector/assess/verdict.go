package assess

import (
	"log/slog"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Severity is the severity of a verdict.
type Severity string

// Severities of verdicts. A broken replica does not serve.
const (
	OK     Severity = "ok"
	Look   Severity = "look"
	Broken Severity = "broken"
)

// Verdict is the state of a replica, its severity and its reason.
type Verdict struct {
	State State
	// Reason is a sentence for users.
	Reason   string
	Severity Severity
	// Suspected is true if a single sign speaks against the replica.
	Suspected bool
	// Unread is true if its page cannot be read; its requests may succeed.
	Unread bool
	// Runbook is the entry of the runbook, empty if nothing is wrong.
	Runbook string
}

// Entries of the runbook for problems besides the state.
const unmetRunbook, canaryRunbook, saturatedRunbook, suspectedRunbook = "LLMExpectationMismatch", "LLMCanaryFailing", "LLMPoolSaturated", "LLMReplicaSuspected"

// Judge returns the verdict on a replica. Problems besides its state are added to the reason, and
// raise the severity of a replica that serves.
func Judge(e *Evidence) Verdict {
	state, reason := e.state()
	if e.CanaryProven && !e.Queued && consequenceOf(state).severity != Broken {
		state = CanaryFailing
	}
	c := consequenceOf(state)
	v := Verdict{State: state, Reason: reason, Severity: c.severity, Suspected: state == Ready && e.suspected() != "", Unread: e.unread(), Runbook: c.runbook}
	if state == Ready && e.Unobservable != "" {
		// "ready" would promise too much for such a server.
		v.Reason += "; whether its requests fail is unknown: " + e.Unobservable
	}
	processes, canaryRemark := "", remark{e.Canary, canaryRunbook}
	if e.Canary != "" && e.CanaryLate && e.Queued {
		canaryRemark = remark{"slow: its canary waited too long, or was rejected, behind other requests, which make progress", saturatedRunbook}
	}
	if e.Processes > 0 {
		processes = strconv.Itoa(e.Processes) + " processes answer at this address in turn, so that rates are unknown: give each its own address"
	}
	for _, r := range []remark{
		{processes, ""},
		{e.Mismatch, ""},
		{e.Unmet, unmetRunbook},
		{e.suspected(), suspectedRunbook},
		canaryRemark,
	} {
		// A replica that is known to fail is not also suspected.
		if r.wrong == "" || r.runbook == suspectedRunbook && state != Ready {
			continue
		}
		v.Reason += "; " + r.wrong
		if v.Severity == OK {
			v.Severity, v.Runbook = Look, r.runbook
		}
	}
	return v
}

// remark is a problem of a replica besides its state, or none if the text is empty.
type remark struct{ wrong, runbook string }

// Announce logs one line if the state of a replica or of its target changed.
func Announce(log *slog.Logger, previous, now *target.Status, page string, kind engine.Kind) {
	up := now.Health == target.HealthUp
	switch {
	case now.State != previous.State:
		attrs := []any{"state", now.State, "was", previous.State, "severity", now.Severity, "reason", now.StateReason, "url", page}
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
	case up && previous.Health != target.HealthUp:
		log.Info("Target is up", "url", page, "engine", string(kind), "samples", now.Samples)
	case now.Health == target.HealthDown && (previous.Health != target.HealthDown || previous.LastReason != now.LastReason):
		log.Warn("Target is down", "url", page, "failure", now.LastReason, "err", now.LastError)
	}
}
