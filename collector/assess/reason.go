package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// remark is a problem of a replica besides its state, or none if the text is empty.
type remark struct{ wrong, runbook string }

// remarks returns the problems besides the state.
func (e *Evidence) remarks(state State, w Witnesses, r *Ruling) []remark {
	var all []remark
	if e.Processes > 0 && e.Scrape.OK {
		text := fmt.Sprintf(
			"at least %d processes answer at this address in turn, so that nothing is derived from their pages: "+
				"give each its own address",
			e.Processes,
		)
		all = append(all, remark{text, processesRunbook})
	}
	all = append(all, remark{e.Unmet, unmetRunbook}, remark{e.unrouted(), failingRunbook})
	if r.Look {
		all = append(all, e.accused(w))
	}
	if !slices.Contains(failures, w.Accusation) && len(e.Failing) > 0 && e.Scrape.OK {
		all = append(all, remark{e.allFail(), failingRunbook})
	}
	if (state == CanaryFailing || w.Accusation != Nothing || !r.Look) && !e.toldAlready(w, r) {
		all = append(all, remark{e.Canary.Failed, canaryRunbook})
	}
	return all
}

// toldAlready reports whether the reason of the state says how the canary failed, as another request got
// the same answer.
func (e *Evidence) toldAlready(w Witnesses, r *Ruling) bool {
	told := e.failedQuestion(w.Accusation)
	return r.Live == Fail && w.Question == Failed && told != "" && strings.HasSuffix(e.Canary.Failed, ": "+told)
}

// unrouted names the models of a router without a worker while others have some; it is empty if all have.
func (e *Evidence) unrouted() string {
	const most = 4
	names, more := e.UnroutedModels, ""
	if len(names) == 0 || e.Unrouted {
		return ""
	}
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	return "the page shows no worker for " + strings.Join(names, ", ") + more
}

// accused returns what is to be said of a ready replica that needs attention.
func (e *Evidence) accused(w Witnesses) remark {
	switch {
	case slices.Contains(failures, w.Accusation):
		return e.accusedOfFailures(w)
	case w.Accusation == NothingMoves && w.Question == Answered:
		return remark{
			e.stands() + "; the exporter's own request was answered: its counters stand still, and it answers",
			suspectedRunbook,
		}
	case w.Accusation == NothingMoves:
		return remark{e.stands() + "; they may be gone, or take long" + e.rejected(), suspectedRunbook}
	case w.Word == SaysUnservedWrongly:
		return remark{e.Unserved + ", and it serves requests that came since", failingRunbook}
	case w.Word == SaysClosedWrongly:
		return remark{"it serves requests that came since, by another way", failingRunbook}
	case w.Word == SaysNotReadyWrongly:
		return remark{"it serves requests that came since", failingRunbook}
	case w.Question == NotAsked:
		return remark{"it says that it has no worker, and serves requests that came since", failingRunbook}
	case e.Canary.Late && w.Acquitted:
		return remark{
			"its canary waited too long, or was rejected, behind other requests, which make progress", saturatedRunbook,
		}
	case e.Canary.Others > 0:
		return remark{
			fmt.Sprintf("%s; %g requests of others ended well since", e.Canary.Failed, e.Canary.Others), canaryRunbook,
		}
	}
	return remark{e.Canary.Failed, canaryRunbook}
}

// accusedOfFailures returns what is to be said of a ready replica of which only failures end somewhere.
func (e *Evidence) accusedOfFailures(w Witnesses) remark {
	switch {
	case w.Accusation == PartFails && w.Question == Answered:
		return remark{e.allFail() + ", and the exporter's own was answered: it may do without", failingRunbook}
	case w.Accusation == PartFails:
		return remark{e.allFail(), suspectedRunbook}
	case w.Acquitted:
		return remark{e.allFail() + ", and others are served, or get tokens", failingRunbook}
	case w.Question == Answered:
		return remark{
			e.allFail() + ", and the exporter's own was answered: the requests may be to blame", failingRunbook,
		}
	case w.Accusation == DeclaredFails:
		return remark{e.allFail() + ", as far as its kinds_file is right", suspectedRunbook}
	case e.Failing[0].Unanswered:
		return remark{
			e.allFail() + "; others end in its engine, and its page does not show how they were answered", failingRunbook,
		}
	}
	return remark{e.allFail() + ", by the clients' fault or the server's: its page does not tell", failingRunbook}
}

// rejected says why a question tells nothing, empty if none was rejected.
func (e *Evidence) rejected() string {
	if e.Rejected == "" {
		return ""
	}
	return "; the exporter's own request was rejected, which says nothing: " + e.Rejected
}

// reason returns the sentence about a state.
func (e *Evidence) reason(state State, w Witnesses, r *Ruling) string {
	api := &e.API
	text := api.Detail
	switch state {
	case Ready, CanaryFailing:
		text = e.answers()
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

// unknown says what "ready" does not promise.
func (e *Evidence) unknown() string {
	switch {
	case e.Unobservable != "":
		return "; whether its requests fail is unknown: " + e.Unobservable
	case len(e.Uncounted) > 0:
		return "; whether some requests fail is unknown: " + strings.Join(e.Uncounted, "; ")
	}
	return ""
}

// proof says what joined an accusation, empty if nothing did.
func (e *Evidence) proof(w Witnesses, r *Ruling) string {
	switch {
	case w.Question == Unheard && r.Live != Fail:
		return ", and the exporter's own request failed: " + e.failedQuestion(w.Accusation) +
			"; that may have another reason, so live stays 200"
	case r.Live != Fail:
		return ""
	case w.Word == AdmitsFailure && w.Question != Failed:
		return ", and the server has said since " + clock(e.API.NotReadySince) + " that it is not ready: " +
			e.API.Detail
	}
	return ", and the exporter's own request failed: " + e.failedQuestion(w.Accusation)
}

// failedQuestion returns how the question failed that convicts.
func (e *Evidence) failedQuestion(a Accusation) string {
	if a == NothingMoves {
		return latest(e.Questions, e.Still.Entry).Reason
	}
	for _, f := range e.unacquitted() {
		if said := e.about(f); said == Failed || said == Unheard {
			return e.asked(f).Reason
		}
	}
	return ""
}

// answers says what shows that a replica answers. An API that was asked like that of another kind shows nothing.
func (e *Evidence) answers() string {
	switch {
	case e.API.API == engine.APIReady:
		return e.API.Detail
	case e.Mismatch != "":
		return "the page answers"
	case e.API.Detail == "":
		return "the page answers; its API was not asked"
	}
	return "the page answers; all that is known of its API: " + e.API.Detail
}

func (e *Evidence) drains() string {
	switch {
	case e.closed() && e.API.SamePort:
		return e.API.Detail + " while a page still comes from another port: the server has stopped or is shutting " +
			"down, and an agent may show its last page"
	case e.closed():
		return e.API.Detail + " while the page still answers: the server is shutting down"
	case e.ends():
		return "the API reports that the server is no longer live while the page still answers: the " +
			"server is shutting down"
	}
	return e.API.Detail
}

func (e *Evidence) failing() string {
	switch {
	case e.RefusedFailed:
		return e.allFail() +
			", or all are rejected for lack of capacity: the page counts both alike, and the server's log tells which"
	case e.API.API == engine.APIReady:
		return e.allFail() + ", although its API reports ready"
	case e.API.API == engine.APINotReady:
		return e.allFail() + ": " + e.API.Detail
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
	case state == Blind && e.Scrape.Unanswered:
		return "this once neither its page nor its API answered: " + failure
	case state == Blind && !e.Scrape.Seen:
		return "it answers, but not with its page, which this exporter has never read: " + failure
	case state == Blind:
		return "its page cannot be read any more, which says little about its requests: " + failure
	case state == Unknown && e.Scrape.Absence != "":
		return e.Scrape.Absence + ", and this exporter has never seen it up: " + failure
	case state == Unknown && e.Scrape.Refused:
		return "nothing listens, and this exporter has never seen it up; servers open their ports when " +
			"their models are loaded"
	case state == Unknown:
		return "this exporter has never read its page: " + failure
	case e.Scrape.Refused && e.Scrape.Seen:
		return cmp.Or(e.Scrape.Absence, "nothing listens") + " any more: the server has stopped or is restarting; " + failure
	}
	return failure
}

// clock returns the time of day.
func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }

// nameOf returns what an entry is called, empty for the only one.
func nameOf(e derive.Entry) string {
	if e.Version != "" {
		return "version " + e.Version + " of " + e.Model
	}
	return e.Model
}

// entries names the models of which all requests fail, or returns an empty string if the server
// does not count per model.
func (e *Evidence) entries() string {
	var names []string
	for _, f := range e.Failing {
		if name := nameOf(f.Entry); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// allFail says which requests fail.
func (e *Evidence) allFail() string {
	switch part := e.part(); {
	case part != "" && part == e.entries():
		return "all requests to " + part + " are failing, which clients call: no model that calls it counted any since"
	case part != "":
		return "all requests to " + part + " are failing, a part of " + e.entries() +
			", which does not count how its own end"
	}
	text := "all requests are failing"
	if models := e.entries(); models != "" {
		text = "all requests to " + models + " are failing"
	}
	return text
}

// stands says since when nothing moves.
func (e *Evidence) stands() string {
	requests, are, were := "requests", "are", "were"
	if e.Still.InFlight == 1 {
		requests, are, were = "request", "is", "was"
	}
	nothing := "nothing"
	if name := nameOf(e.Still.Entry); name != "" {
		requests, nothing = requests+" to "+name, "nothing there"
	}
	become := are + " in flight, but"
	if e.Still.Left {
		become = were + " given up, and"
	}
	return fmt.Sprintf(
		"%g %s %s %s has moved since %s%s",
		e.Still.InFlight, requests, become, nothing, clock(e.Still.Since), e.standElsewhere(),
	)
}

// standElsewhere says at how many other models nothing moves either.
func (e *Evidence) standElsewhere() string {
	others := make(map[string]bool)
	for _, still := range e.AllStill {
		if name := nameOf(still.Entry); name != "" && name != nameOf(e.Still.Entry) {
			others[name] = true
		}
	}
	switch len(others) {
	case 0:
		return ""
	case 1:
		return ", nor at another model"
	}
	return fmt.Sprintf(", nor at %d others", len(others))
}
