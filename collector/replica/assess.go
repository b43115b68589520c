package replica

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// published is the last published snapshot, with what it was made from.
type published struct {
	snapshot snapshot.Snapshot
	// err is the reason why there is no page.
	err error
	// findings follow from page and answers; nil if these must be examined again.
	findings *assess.Findings
	about    assess.ReplicaSeries
}

func (r *Replica) assess(failed error) {
	if r.reader.identity == nil || failed != nil {
		// No page has updated the identity since the API answered.
		r.updateIdentity(r.reader.last)
	}
	if !r.target.Silent && r.companion() == "" && !r.stranger() {
		r.updateFindings(failed)
	}
	e := r.evidence(failed)
	v := assess.Judge(&e)
	r.keepConviction(&v)
	r.memory.Heard(e.Now, v.Witnesses.Word)
	s := &r.status
	s.APIURL = r.answers.FoundURL(r.api())
	if string(v.State) != s.State {
		s.StateSince = time.Now()
	}
	s.State = string(v.State)
	s.StateReason = v.Reason
	s.Severity = string(v.Severity)
	s.Runbook = v.Runbook
	s.Suspected, s.Deliberate = v.Suspected, v.Deliberate
	r.deriver.Convict(v.Proven())
	r.deriver.Pause(e.API.Said() == engine.SaidPaused)
	r.setProbes(v.Probes)
	r.updateCanaryOrder()
}

// stranger reports whether pages were read that no known kind of server has, and nobody says that it
// is one.
func (r *Replica) stranger() bool {
	return r.target.Auto() && !r.server.Known() && !r.status.LastSuccess.IsZero()
}

// updateFindings examines the replica again if the basis of its findings has changed.
func (r *Replica) updateFindings(failed error) {
	b := r.basis(failed)
	if r.published.findings.RestsOn(&b) {
		return
	}
	k := assess.Examine(&b)
	r.published.findings = k
	s := &r.status
	s.Generation, s.GenerationReason, s.EngineBuildVersion = k.Generation, k.GenerationReason, k.BuildVersion()
	s.Models, s.Checks, s.Skew = k.Models, k.Checks, k.Skew()
	s.FactsVersion++
}

func (r *Replica) basis(failed error) assess.Basis {
	id, expect := r.reader.identity, &r.pool.Expect
	b := assess.Basis{
		Engine:        r.server.Engine,
		Topology:      id.Topology,
		EngineVersion: id.EngineVersion,
		TRTLLMVersion: id.TRTLLMVersion,
		Mismatch:      r.server.Mismatch(),
		Knowledge: engine.Knowledge{
			Facts:       r.answers.Facts,
			Version:     id.EngineVersion,
			APIGiven:    r.target.APIURL != "",
			MissingPage: hasStatus(failed, http.StatusNotFound),
			Canary:      r.pool.Canary.Enabled,
			Confirms:    r.pool.Canary.Confirm,
			Iterations:  r.pool.IterationStats,
		},
		Expect: expect,
		Declared: engine.Pins{
			EngineVersion: r.described.EngineVersion != "" || expect.EngineVersion != "",
			TRTLLMVersion: r.described.TRTLLMVersion != "" || expect.TRTLLMVersion != "",
		},
		Objectives: r.deriver.Objectives(),
	}
	if failed == nil {
		b.Page = r.reader.last
	}
	if h := r.answers.Health; h != nil {
		b.Health = *h
	}
	return b
}

func (r *Replica) evidence(failed error) assess.Evidence {
	s := &r.status
	e := assess.Evidence{
		Silent:     r.target.Silent,
		Companion:  r.companion(),
		Stranger:   r.stranger(),
		Now:        time.Now(),
		StallAfter: r.pool.StallAfter,
		Window:     r.pool.Window,
		Previous:   assess.Judgment{State: assess.State(s.State), Probes: r.probes()},
		Scrape: assess.Scrape{
			OK:       failed == nil,
			Seen:     r.hadPage(),
			MayStart: time.Since(r.firstTried()) < r.pool.StartBudget,
		},
		API:       assess.API{SamePort: r.server.Engine.SamePort(), Apart: r.api().Apart()},
		Mismatch:  r.server.Mismatch(),
		Unmet:     r.published.findings.Unmet(),
		Processes: r.deriver.Processes(),
	}
	if h := r.answers.Health; h != nil {
		e.API.Health = *h
	}
	if r.reader.last != nil {
		e.Routes = r.server.Engine.Tier(r.reader.last) == engine.TierFrontend
	}
	r.memory.Recall(&e)
	if failed != nil {
		r.addFailure(&e.Scrape, &e.API, failed)
		return e
	}
	if r.unconfirmed() {
		e.Mismatch = "neither the page nor an API shows that it is " + r.target.Engine + ", as engine says"
	}
	e.Found(r.published.findings)
	return e
}

func (r *Replica) setProbes(p assess.Probes) {
	s := &r.status
	s.Judged, s.ProbeReady, s.ProbeLive, s.Accused = p.Judged, p.Ready, p.Live, p.Accused
}

// probes returns what the probes answer by the last verdict.
func (r *Replica) probes() assess.Probes {
	s := &r.status
	return assess.Probes{Judged: s.Judged, Ready: s.ProbeReady, Live: s.ProbeLive, Accused: s.Accused}
}

// addFailure adds why there is no page.
func (r *Replica) addFailure(s *assess.Scrape, api *assess.API, failed error) {
	failure, _ := errors.AsType[*scrape.Error](failed)
	// A gateway answers with this status instead of its server.
	gatewayTimeout := hasStatus(failed, http.StatusGatewayTimeout)
	// One that answers so at the API, too, where the server itself would do so otherwise, answers for it here.
	gateway := failure.ServerError() && api.API == engine.APIFailed && api.Status >= http.StatusInternalServerError
	if api.SamePort && failure.ServerError() {
		api.FromServer = false // What answers so to the page as well may be a proxy.
	}
	// A port that has only ever ended connections is held by somebody.
	ended := scrape.ReasonOf(failed) == scrape.ReasonReset && !s.Seen
	absent := r.absence(failed)
	s.Error = failed.Error()
	s.Withheld = failure.Withheld()
	s.Failing = failure.ServerError() && r.server.Fails()
	s.Absence, s.Refused = absent.how, absent.nobody
	s.Unanswered = failure.Unanswered() && !ended || gatewayTimeout || gateway || s.Absence != "" ||
		s.Failing && s.Seen // Of one that was never seen, that is enough by itself.
	if failure.Denied() { // That says nothing new of a server that was seen, and of any other one that it is not read.
		s.Unanswered, s.Again = !s.Seen, false
	}
	if s.Refused && s.Again && api.Apart && r.answers.Nameless(s.Since) {
		api.Health = engine.Health{} // A proxy may say that a server is ready which is gone, but not which one it is.
	}
	if hasStatus(failed, http.StatusNotFound) {
		s.Hint = r.server.Engine.NoPage.Hint
	}
}

// hasStatus reports whether a scrape failed because the answer had the status.
func hasStatus(err error, status int) bool {
	failure, ok := errors.AsType[*scrape.Error](err)
	return ok && failure.Reason == scrape.ReasonHTTPStatus && failure.Class == strconv.Itoa(status)
}

// reassess judges the replica again after its API or the canary answered, and publishes the
// verdict if it changed. It does nothing while a page is on its way, which is judged anyway.
func (r *Replica) reassess() {
	if r.status.Scrapes == 0 || r.jobs.page.running || r.jobs.wait.running {
		return
	}
	previous, findings := r.status, r.published.findings
	r.assess(r.published.err)
	if r.published.findings == findings && r.status.State == previous.State &&
		r.status.StateReason == previous.StateReason {
		return
	}
	r.publish(r.published.snapshot)
	r.logChanges(&previous)
}

// publish completes a snapshot with the series about the replica and publishes it. If relabeling
// makes two series equal, the first of Raw, Derived, About and Health wins, so each block is
// rendered with the shapes of the preceding ones.
func (r *Replica) publish(next snapshot.Snapshot) {
	raw, derived, processes := shape(next.Raw), shape(next.Derived), 0
	if r.published.err == nil {
		processes = r.deriver.Processes()
	}
	state := assess.State(r.status.State)
	next.About = r.published.about.Block(&assess.Situation{
		Labels:     r.reader.identity.Labels,
		State:      state,
		Serves:     assess.Serves(state, r.status.ProbeReady),
		Suspected:  r.status.Suspected,
		Deliberate: r.status.Deliberate,
		Findings:   r.published.findings,
		Answers:    &r.answers,
		Canary:     &r.memory.Canary,
		Asks:       r.pool.Canary.Asks(),
		Processes:  processes,
	}, raw, derived)
	if !r.target.Silent {
		next.Health = r.counters.render(&r.status, r.deriver.Stats(), raw, derived, shape(next.About))
	}
	next.Status = r.status
	r.published.snapshot = next
	r.slot.Publish(next)
}

func shape(b *exposition.Block) *exposition.Shape {
	if b == nil {
		return nil
	}
	return b.Shape()
}

// logChanges logs what changed. It is called after publishing, so that no reader waits for the
// log.
func (r *Replica) logChanges(previous *target.Status) {
	if s := &r.status; len(s.LeftOut) > 0 && len(previous.LeftOut) == 0 {
		r.log.Warn("Series are left off the page", "what", strings.Join(s.LeftOut, "; "))
	}
	page := target.Scrub(cmp.Or(r.server.URL, r.target.MetricsURL))
	assess.Announce(r.log, previous, &r.status, page, r.server.Engine.Name)
}
