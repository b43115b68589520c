package assess

import (
	"log/slog"
	"strings"

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

// Verdict is the state of a replica, its severity and its reason, and what the probes answer.
type Verdict struct {
	State State
	// Reason is a sentence for users.
	Reason   string
	Severity Severity
	// Suspected is true if something speaks against the replica that a question could settle.
	Suspected bool
	// Deliberate is true if it serves nothing because somebody paused or unloaded it.
	Deliberate bool
	// Runbook is the entry of the runbook, empty if nothing is wrong.
	Runbook string
	Probes  Probes
	// Witnesses is what decided; its zero value for a silent replica.
	Witnesses Witnesses
}

// Proven reports whether a question has shown that the work stands still.
func (v *Verdict) Proven() bool {
	return v.State == Stalled && (v.Witnesses.Question == Failed || v.Witnesses.Question == Unheard)
}

// Entries of the runbook for problems besides the state; failingRunbook is for entries of which all
// requests fail.
const (
	unmetRunbook     = "LLMExpectationMismatch"
	canaryRunbook    = "LLMCanaryFailing"
	saturatedRunbook = "LLMPoolSaturated"
	suspectedRunbook = "LLMReplicaSuspected"
	failingRunbook   = "LLMReplicaBroken"
	processesRunbook = "LLMReplicaProcesses"
)

// Judge returns the verdict on a replica. Problems besides its state are added to the reason, and
// raise the severity of a replica that serves.
func Judge(e *Evidence) Verdict {
	if silent := e.silent(); silent != "" {
		return Verdict{
			State:    Silent,
			Reason:   silent,
			Severity: OK,
			Probes:   Probes{Judged: true, Ready: true, Live: true},
		}
	}
	w := e.worst()
	r := Decide(w)
	state := r.StateFor(w.Accusation)
	probes := e.probes(state, w, r)
	if e.neverSeen(state) {
		state = Unknown
		probes = Probes{Judged: e.Scrape.Refused || e.Scrape.Failing, Live: true}
	}
	c := consequenceOf(state)
	v := Verdict{
		State:      state,
		Reason:     e.reason(state, w, r),
		Severity:   c.severity,
		Suspected:  r.Suspected,
		Deliberate: state == Unserved && (e.API.Paused || e.Deliberate),
		Runbook:    c.runbook,
		Probes:     probes,
		Witnesses:  w,
	}
	switch {
	case e.Mismatch != "": // What is judged by the wrong kind's names comes after it.
		reason := v.Reason
		v.Reason = e.Mismatch + ": " + cureEngine
		v.add(remark{wrong: reason})
	case state == Ready:
		v.Reason += e.unknown()
	}
	for _, problem := range e.remarks(state, w, r) {
		v.add(problem)
	}
	return v
}

// add adds a problem, which needs attention even if the replica serves.
func (v *Verdict) add(problem remark) {
	if problem.wrong == "" {
		return
	}
	v.Reason = strings.TrimSuffix(v.Reason, ".") + "; " + problem.wrong
	if v.Severity == OK {
		v.Severity, v.Runbook = Look, problem.runbook
	}
}

// probes returns the answers of the probes. What was said before does not outlive what the server
// says now, and a replica that is not asked gets no requests that could acquit it. A question that a
// router passes on convicts its workers, so that nobody restarts it for them.
func (e *Evidence) probes(s State, w Witnesses, r *Ruling) Probes {
	previous := e.Previous.Probes
	if !previous.Judged {
		previous.Live = true // Nobody has convicted it yet.
	}
	if e.Replaced || !e.Scrape.OK && e.answeredSince(e.Scrape.Since) {
		previous = Probes{Judged: true, Ready: true, Live: true}
	}
	p := Probes{Judged: true, Ready: r.Ready.answer(previous.Ready), Live: r.Live.answer(previous.Live) || e.Routes}
	switch {
	case s == Failing || s == Stalled || s == CanaryFailing:
		p.Accused = true
	case w.Accusation == Silence: // It takes nothing back.
		p.Accused = previous.Accused
	case r.Ready == Keep:
		p.Judged, p.Accused = previous.Judged, previous.Accused
		p.Ready = p.Ready || e.API.Said() == engine.SaidReady && !p.Accused
	}
	if p.Accused && p.Live && r.Live != Fail && len(e.Failing) > 0 && e.quiet() && !w.Word.Denies() {
		p.Ready = true
	}
	return p
}

// answer returns what a probe answers; previous is what it answered before.
func (p Probe) answer(previous bool) bool { return p == Pass || p == Keep && previous }

const passedOn = "its series are passed on, and it does not count as a replica"

// silent explains why a target has no state of its own, empty if it has.
func (e *Evidence) silent() string {
	switch {
	case e.Silent:
		return "this rank binds no port; it is reported through its leader"
	case e.Companion != "":
		return "this is " + e.Companion + ", not an LLM server: " + passedOn
	case e.Stranger:
		return "neither its page nor its API shows a known kind of LLM server: " + passedOn +
			"; if it is an LLM server, set engine of its pool, to unknown if its kind is not listed"
	}
	return ""
}

// neverSeen reports whether a replica without a page was never up as far as this exporter knows,
// and may still start.
func (e *Evidence) neverSeen(s State) bool {
	switch {
	case e.Scrape.OK || e.Scrape.Seen:
		return false
	case s == Blind:
		return e.API.API != engine.APIReady && !e.Scrape.Withheld
	}
	return s == Down && e.Scrape.Refused && e.Scrape.MayStart
}

// Announce logs one line if the state of a replica or of its target changed.
func Announce(log *slog.Logger, previous, now *target.Status, page string, kind engine.Name) {
	up := now.Health == target.HealthUp
	switch {
	case now.State != previous.State:
		attrs := []any{
			"state", now.State, "was", previous.State, "severity", now.Severity, "reason", now.StateReason, "url", page,
		}
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
	case now.Suspected && !previous.Suspected:
		log.Warn("Replica is suspected", "state", now.State, "reason", now.StateReason, "url", page)
	case previous.Suspected && !now.Suspected:
		log.Info("Replica is not suspected any more", "state", now.State, "reason", now.StateReason, "url", page)
	case up && previous.Health != target.HealthUp:
		log.Info("Target is up", "url", page, "engine", string(kind), "samples", now.Samples)
	case now.Health == target.HealthDown &&
		(previous.Health != target.HealthDown || previous.LastReason != now.LastReason):
		log.Warn("Target is down", "url", page, "failure", now.LastReason, "err", now.LastError)
	}
}
