package assess

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"

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

// Entries of the runbook for problems besides the state.
const unmetRunbook, canaryRunbook, saturatedRunbook, suspectedRunbook = "LLMExpectationMismatch", "LLMCanaryFailing", "LLMPoolSaturated", "LLMReplicaSuspected"

// failingRunbook is the entry for replicas of which all requests, or all of an entry, fail.
const failingRunbook = "LLMReplicaBroken"

// Judge returns the verdict on a replica. Problems besides its state are added to the reason, and
// raise the severity of a replica that serves.
func Judge(e *Evidence) Verdict {
	if silent := e.silent(); silent != "" {
		return Verdict{State: Silent, Reason: silent, Severity: OK, Probes: Probes{Judged: true, Ready: true, Live: true}}
	}
	w := e.witnesses()
	r := Decide(w)
	state := r.StateFor(w.Accusation)
	probes := e.probes(state, r)
	if e.neverSeen(state) {
		state = Unknown
		probes = Probes{Judged: e.Scrape.Refused, Live: true}
	}
	c := consequenceOf(state)
	v := Verdict{State: state, Reason: e.reason(state, w, r), Severity: c.severity, Runbook: c.runbook, Suspected: r.Suspected, Probes: probes, Witnesses: w}
	v.Deliberate = state == Unserved && (e.API.Paused || e.Deliberate)
	if state == Ready && e.Unobservable != "" && e.Mismatch == "" {
		// "ready" would promise too much for such a server.
		v.Reason += "; whether its requests fail is unknown: " + e.Unobservable
	}
	if e.Mismatch != "" {
		// What is judged by the wrong kind's names comes after it.
		v.Reason = e.Mismatch + "; " + v.Reason
		if v.Severity == OK {
			v.Severity = Look
		}
	}
	for _, problem := range e.remarks(state, w, r) {
		if problem.wrong == "" {
			continue
		}
		v.Reason += "; " + problem.wrong
		if v.Severity == OK {
			v.Severity, v.Runbook = Look, problem.runbook
		}
	}
	return v
}

// probes returns the answers of the probes. What was said before does not outlive what the server
// says now, and a replica that is not asked gets no requests that could acquit it.
func (e *Evidence) probes(s State, r *Ruling) Probes {
	previous := &e.Previous.Probes
	p := Probes{Judged: true, Ready: r.Ready.answer(previous.Ready), Live: r.Live.answer(previous.Live)}
	switch {
	case s == Failing || s == Stalled || s == CanaryFailing:
		p.Accused = true
	case r.Ready == Keep:
		p.Judged, p.Accused = previous.Judged, previous.Accused
		p.Ready = p.Ready || e.API.Word() == engine.WordReady && !p.Accused
	}
	if p.Accused && p.Live && len(e.Failing) > 0 && e.quiet() {
		p.Ready = true
	}
	return p
}

// answer returns what a probe answers; previous is what it answered before.
func (p Probe) answer(previous bool) bool { return p == Pass || p == Keep && previous }

// silent explains why a target has no state of its own, empty if it has.
func (e *Evidence) silent() string {
	switch {
	case e.Silent:
		return "this rank binds no port; it is reported through its leader"
	case e.Companion != "":
		return "this is " + e.Companion + ", not an LLM server: its series are passed on, and it does not count as a replica"
	case e.Stranger:
		return "neither its page nor its API is that of a known kind of LLM server: its series are passed on, and it does not count as a replica; " +
			"if it is an LLM server, set engine of its pool, to unknown if its kind is not listed"
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

// remark is a problem of a replica besides its state, or none if the text is empty.
type remark struct{ wrong, runbook string }

// remarks returns the problems besides the state.
func (e *Evidence) remarks(state State, w Witnesses, r *Ruling) []remark {
	var all []remark
	if e.Processes > 0 {
		all = append(all, remark{strconv.Itoa(e.Processes) + " processes answer at this address in turn, so that rates are unknown: give each its own address", ""})
	}
	all = append(all, remark{e.Unmet, unmetRunbook})
	if r.Look {
		all = append(all, e.accused(w))
	}
	if state == CanaryFailing || w.Accusation != Nothing || !r.Look {
		all = append(all, remark{e.Canary.Failed, canaryRunbook})
	}
	return all
}

// accused returns what is to be said of a ready replica that needs attention.
func (e *Evidence) accused(w Witnesses) remark {
	switch {
	case w.Accusation == OnlyFailures && w.Acquitted:
		return remark{e.allFail() + ", and others are served", failingRunbook}
	case w.Accusation == OnlyFailures && w.Question == Answered:
		return remark{e.allFail() + ", and the exporter's own was answered: the requests may be to blame", failingRunbook}
	case w.Accusation == OnlyFailures:
		return remark{e.allFail() + ", and the exporter has asked and waits for the answer", suspectedRunbook}
	case w.Accusation == NothingMoves && w.Question == Answered:
		return remark{e.stands() + "; the exporter's own request was answered, so that the counters stand still and it serves", suspectedRunbook}
	case w.Accusation == NothingMoves:
		return remark{e.stands() + "; they may be gone, or take long", suspectedRunbook}
	case e.Canary.Late && w.Acquitted:
		return remark{"slow: its canary waited too long, or was rejected, behind other requests, which make progress", saturatedRunbook}
	case e.Canary.Others > 0:
		return remark{fmt.Sprintf("%s; %g requests of others ended well since", e.Canary.Failed, e.Canary.Others), canaryRunbook}
	}
	return remark{e.Canary.Failed, canaryRunbook}
}

// reason returns the sentence about a state.
func (e *Evidence) reason(state State, w Witnesses, r *Ruling) string {
	api := &e.API
	text := api.Detail
	switch state {
	case Ready, CanaryFailing:
		if api.API != engine.APIReady && api.Detail == "" {
			text = "the page answers; its API was not asked"
		} else if api.API != engine.APIReady {
			text = "the page answers; all that is known of its API: " + api.Detail
		}
	case Draining:
		text = e.drains()
	case NotReady:
		if e.Scrape.OK && api.API != engine.APINotReady {
			text = "the page shows no worker for any of its models"
		} else if !e.Scrape.OK {
			text += ", and the page fails too: " + e.pageFailure()
		}
	case Unserved:
		if !e.API.Paused {
			text = e.Unserved
		}
	case Failing:
		text = e.failing()
	case Stalled:
		text = e.stands()
	case Unknown, Blind, Down:
		text = e.withoutPage(state)
	case Starting, Silent:
	}
	if state == Failing || state == Stalled || state == NotReady {
		text += e.proof(w, r)
	}
	return text
}

// proof says what joined an accusation, empty if nothing did.
func (e *Evidence) proof(w Witnesses, r *Ruling) string {
	switch {
	case r.Live != Fail:
		return ""
	case w.Word == AdmitsFailure && w.Question != Failed:
		return ", and the server has said for " + e.Now.Sub(e.API.NotReadySince).Round(time.Second).String() + " that it is not ready: " + e.API.Detail
	}
	return ", and the exporter's own request failed: " + e.Question.Reason
}

func (e *Evidence) drains() string {
	switch {
	case e.apiClosed():
		return e.API.Detail + " while the page still answers: the server is shutting down"
	case e.ends():
		return "the API reports that the server is no longer live while the page still answers: the server is shutting down"
	}
	return e.API.Detail
}

func (e *Evidence) failing() string {
	switch {
	case e.RefusedFailed:
		return e.allFail() + ", or all are rejected for lack of capacity: the page counts both alike, and the server's log tells which"
	case e.API.API == engine.APIReady:
		return e.allFail() + ", although its API reports ready"
	}
	return e.allFail()
}

// pageFailure describes why there is no page.
func (e *Evidence) pageFailure() string {
	if e.Scrape.Hint != "" {
		return e.Scrape.Error + "; " + e.Scrape.Hint
	}
	return e.Scrape.Error
}

// withoutPage explains a state of a replica whose page does not come.
func (e *Evidence) withoutPage(state State) string {
	failure := e.pageFailure()
	switch {
	case state == Blind && e.API.API == engine.APIReady:
		return "the API answers, but the page does not: " + failure
	case state == Blind && !e.Scrape.Seen:
		return "it answers, but not with its page, which this exporter has never read: " + failure
	case state == Blind:
		return "its page cannot be read any more, which says little about its requests: " + failure
	case state == Unknown && e.Scrape.Refused:
		return "nothing listens, and this exporter has never seen it up; servers open their ports when their models are loaded"
	case state == Unknown:
		return "this exporter has never read its page: " + failure
	case e.Scrape.Refused && e.Scrape.Seen:
		return "nothing listens any more: the server has stopped or is restarting; " + failure
	}
	return failure
}

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
