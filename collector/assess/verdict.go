package assess

import (
	"log/slog"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Severity is how much a verdict matters.
type Severity string

// The severities: nothing is wrong, somebody should have a look, the replica
// does not serve.
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
	// Suspected says that one sign speaks against the replica that a healthy server may
	// give too.
	Suspected bool
	// Unread says that its page cannot be read, which is nothing against its requests.
	Unread bool
	// Runbook is the entry of the runbook that says what to do; empty where
	// nothing is wrong.
	Runbook string
}

// The entries of the runbook for what may be wrong besides the state.
const (
	unmetRunbook     = "LLMExpectationMismatch"
	canaryRunbook    = "LLMCanaryFailing"
	suspectedRunbook = "LLMReplicaSuspected"
)

// Judge gives the verdict on a replica. What is wrong besides its state is added
// to the reason, and raises the severity of a replica that serves.
func Judge(e *Evidence) Verdict {
	state, reason := e.state()
	of := consequenceOf(state)
	v := Verdict{State: state, Reason: reason, Severity: of.severity, Suspected: e.suspected() != "", Unread: e.unread(), Runbook: of.runbook}
	if state == Ready && e.Unshown != "" {
		// Nothing is wrong that anybody could know of, but "ready" promises more than
		// such a server can keep.
		v.Reason += "; whether its requests fail cannot be seen: " + e.Unshown
	}
	for _, more := range []remark{
		{e.inTurn(), Look, ""},
		{e.Mismatch, Look, ""},
		{e.Unmet, Look, unmetRunbook},
		{e.suspected(), Look, suspectedRunbook},
		e.canary(),
	} {
		// What is known to fail needs no sign that it may.
		if more.wrong == "" || more.runbook == suspectedRunbook && state != Ready {
			continue
		}
		v.Reason += "; " + more.wrong
		if v.Severity == OK || v.Severity == Look && more.severity == Broken {
			v.Severity, v.Runbook = more.severity, more.runbook
		}
	}
	return v
}

// remark is what is wrong with a replica besides its state; nothing is where it is empty.
type remark struct {
	wrong    string
	severity Severity
	runbook  string
}

// canary is what the last request of the canary says. One that was late behind others
// that move on says that the replica is slow: overload is no failure.
func (e *Evidence) canary() remark {
	if e.Canary != "" && e.Late && e.Full {
		return remark{"it is slow: its canary was late behind requests that wait, while others go on", Look, canaryRunbook}
	}
	return remark{e.Canary, Broken, canaryRunbook}
}

// inTurn says that several processes answer; empty where no more than one is known
// to.
func (e *Evidence) inTurn() string {
	if e.Processes == 0 {
		return ""
	}
	return strconv.Itoa(e.Processes) + " processes answer here in turn, so that nothing can be said of their rates: give each its own address"
}

// Announce writes the one line that a log has for all that changed about a replica
// from one status to the next, given where its page is and the kind of its server;
// none when nothing did.
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
		Severity(now.Severity).logger(log)("Replica changed state", attrs...)
	case up && before.Health != target.HealthUp:
		log.Info("Target is up", "url", page, "engine", string(kind), "samples", now.Samples)
	case now.Health == target.HealthDown && (before.Health != target.HealthDown || before.LastReason != now.LastReason):
		log.Warn("Target is down", "url", page, "failure", now.LastReason, "err", now.LastError)
	}
}

// logger logs at the level of a verdict of that severity.
func (s Severity) logger(log *slog.Logger) func(message string, attrs ...any) {
	switch s {
	case Broken:
		return log.Error
	case Look:
		return log.Warn
	case OK:
	}
	return log.Info
}
