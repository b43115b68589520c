package assess

import (
	"slices"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Evidence holds the observations on which [Judge] bases a verdict.
type Evidence struct {
	// Silent is true for a rank that is declared to bind no port. Companion is the name of a
	// program that is not an LLM server. Stranger is true if neither a page nor an API shows a known
	// kind of server, and the operator names none.
	Silent    bool
	Companion string
	Stranger  bool
	// Now is the time of the verdict. StallAfter and Window are those of the configuration.
	Now                time.Time
	StallAfter, Window time.Duration
	// Previous is the previous verdict.
	Previous Judgment
	Scrape   Scrape
	API      API
	// Routes is true for a router, Unrouted if it can send requests for none of the models anywhere.
	Routes, Unrouted bool
	// ServesNevertheless is true for a server that serves requests which came after a router said that it has no
	// worker, or a worker that it is not ready, or after its API was closed.
	ServesNevertheless bool
	// AnswersNevertheless is true for a server that answers requests although what it lists says that it serves
	// nothing.
	AnswersNevertheless bool
	// Moves is true if the newest page shows progress of requests of others.
	Moves bool
	// UnroutedModels are those that it can send requests for nowhere.
	UnroutedModels []string
	// Unserved explains why a ready server serves none of its models; empty if it may serve one.
	// Deliberate is true if somebody brought that about.
	Unserved   string
	Deliberate bool
	// Failing lists the entries of which only failures end, AllStill the work in flight of which nothing moves,
	// longest first. Still is the one of them that is judged.
	Failing  []derive.Failures
	AllStill []derive.Stillness
	Still    derive.Stillness
	// Questions holds the latest to each entry that one was about.
	Questions []Question
	// Rejected is why the last question says nothing, as one that the model does not take; empty if it does.
	Rejected string
	// Replaced is true if the process ended after the last page, and the API is ready since.
	Replaced bool
	Canary   Canary
	// Declared is true if a file declares the kind of server, and what counts as a failure.
	Declared bool
	// ShowsSelfTest is true if the page shows a step for each of the server's own checks.
	ShowsSelfTest bool
	// Called is true if a call of an operator is open that may hold up everything else.
	Called bool
	// RefusedFailed is true if the page counts rejected requests as failed.
	RefusedFailed bool
	// Processes is the number of processes that answer in turn, or 0 if only one is known.
	Processes int
	// Unobservable explains why failing requests would go unnoticed, empty if they would not.
	// Uncounted explains why those to some models would.
	Unobservable string
	Uncounted    []string
	// Mismatch describes how the page contradicts the configured kind of server, Unmet which
	// expectations are not met; empty if nothing is wrong.
	Mismatch, Unmet string
}

// Judgment is what must be known of the previous verdict.
type Judgment struct {
	State  State
	Probes Probes
}

// Probes are the answers of the probes. They are unknown before the first judgment.
type Probes struct {
	Judged, Ready, Live bool
	// Accused is true if the replica is not ready because of an accusation, which only pages can
	// take back, and not because of what it said.
	Accused bool
}

// Scrape is the result of the last scrape.
type Scrape struct {
	// OK is true if it returned a page, Unanswered if nothing answered, Refused if nothing
	// listens, Withheld if a server answered and withheld the page from this exporter. Error
	// describes the failure, Hint a possible cause.
	OK, Unanswered, Refused, Withheld bool
	Error, Hint                       string
	// Failing is true if whatever was asked at the address of the page got a server's error.
	Failing bool
	// Absence is how it shows that nothing listens, empty for a connection that was refused.
	Absence string
	// Again is true if the scrape before failed, too, Since when the first of them failed.
	Again bool
	Since time.Time
	// Seen is true if a scrape ever succeeded, MayStart while a replica that refuses connections
	// may still be loading according to the pool's start budget.
	Seen, MayStart bool
}

// API is what the server's API reports about its health.
type API struct {
	engine.Health

	// SamePort is true for servers with page and API on the same port, Apart if the API has another address
	// nevertheless, where a proxy may answer, or is one of two ports.
	SamePort, Apart bool
	// NotReadySince is when it began to answer that it is not ready. SilentSince is when it answered last, if
	// it has said nothing since, and zero otherwise.
	NotReadySince, SilentSince time.Time
}

// Question is what the exporter asked the server by itself.
type Question struct {
	// Entry is what it was about, empty if it is about the server as a whole: it went to the model that
	// the operator chose, or to the only one.
	Entry derive.Entry
	// Asked is when the last question was sent that has an answer, Answer what that was, and
	// Reason how it failed.
	Asked  time.Time
	Answer Answer
	Reason string
	// Overload is true if it was rejected for lack of capacity.
	Overload bool
	// SilentSince is when the first of the questions was sent that got no word of an answer in a row up to
	// this one; zero if this one got one. Cut is true if its connection was cut off.
	SilentSince time.Time
	Cut         bool
	// Refused is true if it was refused like a bad request, which restarts nobody.
	Refused bool
	// Unshown is true for an answer without a token, as of a server's own check, of which no page has shown a step
	// of the engine yet.
	Unshown bool
	// SelfTest is true for the server's own health check: its answer says nothing of requests that fail on another way.
	SelfTest bool
	// Untried is true for an error in answer to a request that was never answered by this process.
	Untried bool
	// AwaitedSince is when the question was sent that has no answer yet, or zero.
	AwaitedSince time.Time
}

// Canary is what the canary's last request says.
type Canary struct {
	// Failed describes how it failed, empty if it did not. Late is true if it took too long or was
	// rejected for lack of capacity.
	Failed string
	Late   bool
	// Twice is true if two in a row failed while no request of others ended well, although such
	// requests succeeded before.
	Twice bool
	// Others is how many requests of others ended well since it was sent, or the first of those that
	// failed in a row, Moved is true if tokens moved.
	Others float64
	Moved  bool
}

// Found adds what was found out about a replica and its page; nothing if that is nil.
func (e *Evidence) Found(f *Findings) {
	if f == nil {
		return
	}
	e.UnroutedModels = f.Page.UnroutedModels()
	e.Unrouted, e.RefusedFailed = f.Page.Unrouted(), f.Engine.Quirks(f.Page).RefusedFailed
	e.Declared, e.Called = f.Engine.Declared, f.Page.Called()
	e.ShowsSelfTest = f.Engine.SelfTest.Shown
	e.Unserved, e.Deliberate, e.Unobservable = f.Unserved, f.Deliberate, f.Unobservable()
}

// worst returns the gravest witnesses that any of the work that stands still leads to, and makes that Still: an
// answer for one entry does not speak for another one.
func (e *Evidence) worst() (worst Witnesses) {
	if len(e.AllStill) == 0 {
		return e.witnesses()
	}
	judged := e.AllStill[0]
	for i, still := range e.AllStill {
		e.Still = still
		if w := e.witnesses(); i == 0 || Decide(w).gravity() > Decide(worst).gravity() {
			worst, judged = w, still
		}
	}
	e.Still = judged
	return worst
}

// witnesses reduces the evidence to what decides.
func (e *Evidence) witnesses() Witnesses {
	w := Witnesses{Accusation: e.accusation(), Question: NotAsked}
	w.Word = e.word(w.Accusation)
	if w.Word == SaysNoWorkers && w.Accusation == OnlyFailures && e.quiet() {
		w.Accusation = Nothing // Nobody asks any more, and what failed did so for lack of workers.
	}
	switch w.Accusation {
	case OnlyFailures, PartFails, DeclaredFails, UnclearFails:
		w.Acquitted = e.acquitted()
		w.Question = e.aboutFailures()
	case NothingMoves:
		switch {
		case e.Called: // A question waits for the operator as well, and so does the server's own check.
			if w.Word == AdmitsFailure {
				w.Word = SaysNotReady
			}
		case !e.Still.Partly:
			w.Question = e.aboutStillness()
		}
	default:
		w.Acquitted = e.Canary.Others > 0 || e.Canary.Moved
		w.Question = e.canaryAnswer()
	}
	if e.canaryAnswer() == FailedTwice && Decide(w).Suspected {
		// What the canary showed before stands until a question about the accusation is answered.
		w.Accusation, w.Acquitted, w.Question = Nothing, false, FailedTwice
	}
	return w
}

// accusation returns what speaks against the replica.
func (e *Evidence) accusation() Accusation {
	s := &e.Scrape
	switch {
	case !s.OK && !s.Unanswered, !s.OK && (e.API.API == engine.APIReady || e.API.API == engine.APINotReady):
		return NoPage
	case !s.OK && s.Refused && s.Again:
		return Refusal
	case !s.OK && s.Refused:
		return RefusedOnce
	case !s.OK && s.Again:
		return Silence
	case !s.OK && s.Seen:
		return SilentOnce
	case !s.OK:
		return SilentFirst
	case e.Still.InFlight > 0 && (e.Previous.State == Stalled || !e.failuresStand()):
		// Of a model whose processes died the gauges stand still, so failures count first. Requests
		// of a stalled one fail in the end.
		return NothingMoves
	case e.part() != "":
		return PartFails
	case len(e.Failing) > 0 && e.Declared:
		return DeclaredFails
	case len(e.Failing) > 0 && e.Failing[0].Unclear:
		return UnclearFails
	case len(e.Failing) > 0:
		return OnlyFailures
	}
	return Nothing
}

// aboutFailures returns what became of questions about the entries that are accused. One that fails
// convicts; an answer is needed for each, since one model cannot answer for another.
func (e *Evidence) aboutFailures() Answer {
	var answers []Answer
	for _, f := range e.unacquitted() {
		answers = append(answers, e.about(f))
	}
	for _, answer := range []Answer{Failed, Unheard, NotAsked, Awaited} {
		if slices.Contains(answers, answer) {
			return answer
		}
	}
	if len(answers) == 0 {
		return NotAsked
	}
	return Answered
}

// aboutStillness returns what became of the latest question about the work that stands still.
func (e *Evidence) aboutStillness() Answer {
	q := latest(e.Questions, e.Still.Entry)
	said := q.since(e.Still.Since)
	once := q.silentOnce(e.Still.Since)
	switch {
	case said == Answered && q.Unshown && e.ShowsSelfTest && !e.Still.Stepless:
		return NotAsked
	case said == Failed && once && e.Still.Pieced: // It may have waited for one that takes long and came just now.
		return NotAsked
	case q.Overload && q.Asked.After(e.Still.Since): // Nothing makes room, and the engine has not got it.
		return Unheard
	case said == Failed && (once && e.Still.Stepless || q.Untried):
		return Unheard // Where requests fail, an error is one more; where they stand still, it may be its own.
	}
	return said
}

// answeredSince reports whether a question was answered that was asked after a time.
func (e *Evidence) answeredSince(t time.Time) bool {
	return slices.ContainsFunc(e.Questions, func(q Question) bool { return q.since(t) == Answered && !q.Unshown })
}

// silentOnce reports whether only one of the questions since a time got no word of an answer: the canary
// repeats one that failed at once, which says no more.
func (q *Question) silentOnce(since time.Time) bool {
	first := q.SilentSince
	if !first.IsZero() && first.Before(since) {
		first = since
	}
	return onlyOne(first, q.Asked)
}

// onlyOne reports whether the first and the latest request without a word of an answer count as one.
func onlyOne(first, latest time.Time) bool {
	return !first.IsZero() && latest.Sub(first) < canary.ConfirmEvery/2
}

// about returns what became of the latest question about an entry since it is accused.
func (e *Evidence) about(f derive.Failures) Answer { return e.asked(f).since(f.Accused) }

// asked returns the latest question about an entry of which only failures end. A check that passes by what fails is
// none.
func (e *Evidence) asked(f derive.Failures) Question {
	passesBy := func(q Question) bool { return q.SelfTest && q.Answer == Answered }
	return latest(slices.DeleteFunc(slices.Clone(e.Questions), passesBy), f.Entry)
}

// latest returns the question about an entry that was asked last; any is if there is only one.
func latest(questions []Question, entry derive.Entry) (latest Question) {
	for _, q := range questions {
		if entry.SpeaksFor(q.Entry) {
			latest = latest.later(q)
		}
	}
	return latest
}

// later returns what is known by two questions, in whatever order they were asked.
func (q Question) later(other Question) Question {
	awaited := q.AwaitedSince
	if other.AwaitedSince.After(awaited) {
		awaited = other.AwaitedSince
	}
	if other.Asked.After(q.Asked) {
		q = other
	}
	q.AwaitedSince = awaited
	return q
}

// since returns what the answer to a question is worth that was asked after a time, whatever is said against the
// server.
func (q Question) since(t time.Time) Answer {
	switch {
	case q.Asked.After(t) && q.Overload:
		return NotAsked // A rejection for lack of capacity is no answer of an engine, and no silence either.
	case q.Asked.After(t) && (q.Cut || q.Refused):
		return Unheard // Perhaps the server never got it, or has come to take it for a bad one.
	case q.Asked.After(t):
		return q.Answer
	case q.AwaitedSince.After(t):
		return Awaited
	}
	return NotAsked
}

// canaryAnswer returns what became of the canary's requests. Of several processes nobody knows which
// answered such a request before.
func (e *Evidence) canaryAnswer() Answer {
	switch {
	case e.Canary.Failed == "":
		return NotAsked
	case e.Canary.Twice && e.Processes == 0:
		return FailedTwice
	}
	return Failed
}

// word returns what the server says of itself. It follows a real Triton: readiness answers 200
// while every request fails, metrics are served while the API drains, and both ports refuse
// connections while models load.
func (e *Evidence) word(a Accusation) Word {
	api := &e.API
	said := api.Said()
	switch {
	case e.Scrape.OK && e.closed() && e.servesNevertheless(a):
		return SaysClosedWrongly
	case e.Scrape.OK && (e.closed() || e.ends()), said == engine.SaidDraining:
		return SaysDraining
	case said == engine.SaidPaused:
		return SaysUnserved
	case api.Unheeded && api.API == engine.APINotReady && e.Scrape.OK && e.servesNevertheless(a):
		return SaysNotReadyWrongly
	case said == engine.SaidStarting, said == engine.SaidNotReady && !e.Scrape.OK && !e.Scrape.Seen:
		return SaysStarting
	case e.Routes && api.API == engine.APINotReady, e.Scrape.OK && e.Unrouted:
		if e.servesNevertheless(a) {
			return SaysNoWorkersWrongly
		}
		return SaysNoWorkers
	case api.API == engine.APINotReady && e.admits(a):
		return AdmitsFailure
	case api.API == engine.APINotReady:
		return SaysNotReady
	case e.Scrape.OK && e.Unserved != "" && e.AnswersNevertheless && a != NothingMoves && e.Processes == 0:
		return SaysUnservedWrongly
	case e.Scrape.OK && e.Unserved != "":
		return SaysUnserved
	case api.API == engine.APIReady:
		return SaysReady
	}
	return SaysNothing
}

// servesNevertheless reports whether requests end that came after the server seemed to serve none.
func (e *Evidence) servesNevertheless(a Accusation) bool {
	return e.ServesNevertheless && a != NothingMoves && e.Processes == 0
}

// closed reports whether an API that has a port of its own refuses connections, ends whether that of a server of two
// ports says that it is no longer live. A server of one port that works was asked over a way that is closed.
func (e *Evidence) closed() bool {
	return (!e.API.SamePort || e.API.Apart && !e.Moves) && e.API.Closed()
}

func (e *Evidence) ends() bool { return !e.API.SamePort && e.API.Ends() }

// admits reports whether a server that was ready has said for long enough that it is not, beside
// an accusation that stands as long: one late page of a server that loads says nothing. A proxy or a mesh
// may say the same of a server that it does not reach, but not while the page comes from the same port.
// A server of a kind that a file declares may say so whenever it takes no more requests.
func (e *Evidence) admits(a Accusation) bool {
	if e.Declared {
		return false
	}
	since, accused := e.API.NotReadySince, e.API.NotReadySince
	switch a { //nolint:exhaustive // The others stand as long as that already.
	case OnlyFailures, DeclaredFails, UnclearFails:
		accused = e.unacquittedSince()
	case NoPage:
		accused = e.Scrape.Since
	}
	if accused.After(since) {
		since = accused
	}
	if e.deniesOthers(a) {
		return false
	}
	fromServer := e.API.FromServer || e.API.SamePort && !e.API.Apart && e.Scrape.OK
	heard := e.Now
	if !e.API.SilentSince.IsZero() {
		heard = e.API.SilentSince // What speaks against the server since then was joined by no word.
	}
	return e.API.WasReady && fromServer && !since.IsZero() && heard.Sub(since) >= e.StallAfter
}

// deniesOthers reports whether a server that says that models are not ready does not say so of those that are
// accused: it says the same while any other one loads.
func (e *Evidence) deniesOthers(a Accusation) bool {
	var accused []derive.Entry
	switch a {
	case NothingMoves:
		accused = []derive.Entry{e.Still.Entry}
	case OnlyFailures, PartFails, DeclaredFails, UnclearFails:
		for _, f := range e.unacquitted() {
			accused = append(accused, f.Entry)
		}
	default:
		return false
	}
	denied := func(m engine.ModelState) bool {
		row := derive.Entry{Model: m.Name, Version: m.Version}
		return m.State != engine.ModelReady && slices.ContainsFunc(accused, row.SpeaksFor)
	}
	return e.API.OfModels && !slices.ContainsFunc(e.API.Models, denied)
}

// unacquitted returns the entries of which only failures end, and that nothing acquits.
func (e *Evidence) unacquitted() (all []derive.Failures) {
	for _, f := range e.Failing {
		if !f.Acquitted {
			all = append(all, f)
		}
	}
	return all
}

// unacquittedSince returns since when the first of them is accused.
func (e *Evidence) unacquittedSince() (since time.Time) {
	for _, f := range e.unacquitted() {
		if since.IsZero() || f.Accused.Before(since) {
			since = f.Accused
		}
	}
	return since
}

// failuresStand reports whether only failures end, and nothing has answered that yet.
func (e *Evidence) failuresStand() bool {
	return len(e.unacquitted()) > 0 && e.aboutFailures() != Answered
}

// acquitted reports whether the pages speak for all entries of which only failures end.
func (e *Evidence) acquitted() bool { return len(e.Failing) > 0 && len(e.unacquitted()) == 0 }

// part returns the part of a model at which only failures end, empty if none is known.
func (e *Evidence) part() string {
	if len(e.Failing) == 0 {
		return ""
	}
	return e.Failing[0].Part
}

// quiet reports whether no request failed for a window.
func (e *Evidence) quiet() bool {
	return !slices.ContainsFunc(e.Failing, func(f derive.Failures) bool { return e.Now.Sub(f.Last) <= e.Window })
}
