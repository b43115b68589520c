package assess

import (
	"fmt"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// State is what a replica is doing, judged from its page and its API together.
type State string

// The states of a replica; exactly one holds.
const (
	// Silent is a rank that binds no port, or a program that is no LLM server: it has
	// no state of its own, and is not among States.
	Silent State = "silent"
	// Unknown is a replica that this process never saw and that may yet come up:
	// whether it ever served nobody can say.
	Unknown  State = "unknown"
	Starting State = "starting"
	Ready    State = "ready"
	NotReady State = "not_ready"
	Unserved State = "unserved"
	Draining State = "draining"
	Failing  State = "failing"
	Stalled  State = "stalled"
	Blind    State = "blind"
	Down     State = "down"
)

// States lists all states, the worst first. The slice is shared and only read.
func States() []State { return states() }

// states are those of consequences that a replica with a port may be in.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var states = sync.OnceValue(func() []State {
	var all []State
	for _, c := range consequences() {
		if c.state != Silent {
			all = append(all, c.state)
		}
	}
	return all
})

// consequence is what follows from a state, whatever its reason.
type consequence struct {
	state    State
	severity Severity
	// runbook is the entry of the runbook that says what to do; empty where nothing
	// is wrong.
	runbook string
	// rests says that the canary leaves a replica in this state alone.
	rests bool
}

// consequences are those of every state, made once for all scrapes: what is certain
// to serve nothing first.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var consequences = sync.OnceValue(func() []consequence {
	return []consequence{
		{Down, Broken, "LLMReplicaDown", true},
		{Failing, Broken, "LLMReplicaBroken", false},
		{Stalled, Broken, "LLMReplicaBroken", false},
		{Unserved, Broken, "LLMReplicaBroken", true},
		{NotReady, Broken, "LLMReplicaNotUp", true},
		{Blind, Look, "LLMReplicaUnreadable", false},
		{Draining, Look, "LLMReplicaNotUp", true},
		{Starting, Look, "LLMReplicaNotUp", true},
		{Unknown, Look, "LLMReplicaNotUp", true},
		{Ready, OK, "", false},
		{Silent, OK, "", true},
	}
})

// consequenceOf is that of one of the states, and none before the first verdict.
func consequenceOf(s State) consequence {
	for _, c := range consequences() {
		if c.state == s {
			return c
		}
	}
	return consequence{}
}

// Evidence is what is known of a replica at one moment.
type Evidence struct {
	// Silent is true for a rank that is declared to bind no port; Companion is which
	// program it is that is no LLM server, empty for servers.
	Silent    bool
	Companion string
	// Was is the state that held before.
	Was    State
	Scrape Scrape
	API    API
	// Failing is true while requests only fail, Unrouted while requests for none of the
	// models can be sent anywhere.
	Failing, Unrouted bool
	// Still is the work that stands still by the page that came at Came. Unanswered says
	// that a request of the canary got nothing meanwhile.
	Still      derive.Still
	Came       time.Time
	Unanswered bool
	// RefusedFailed says that the page counts requests that are refused for want of
	// room among those that fail.
	RefusedFailed bool
	// Processes is how many answer at the address in turn, 0 where no more than one is
	// known to.
	Processes int
	// Unserved says why a server that is ready serves none of its models; empty
	// where it serves one.
	Unserved string
	// Unshown says why nobody would see that requests fail: the server does not
	// tell, and no canary asks; empty where it can be seen.
	Unshown string
	// Late says that the canary's request failed for taking long, and Full that requests
	// wait while others move on.
	Late, Full bool
	// Mismatch says how the page differs from that of the configured kind of
	// server, Canary how the last request of the canary failed, Unmet what the
	// pool expects and the replica is not; empty where nothing is wrong.
	Mismatch, Canary, Unmet string
}

// Scrape is how the last scrape went.
type Scrape struct {
	// OK is true when it brought a page; Unanswered when it failed because nobody
	// answers, Refused because nothing listens on the page's port. Error says how it
	// failed, Hint what that may come from.
	OK, Unanswered, Refused bool
	Error, Hint             string
	// Seen is true when a scrape succeeded before; MayStart while a replica that
	// was never seen and refuses may still be loading, by the pool's start budget.
	Seen, MayStart bool
}

// API is what the server's API says of its health.
type API struct {
	engine.Health

	// SamePort is true for servers that have page and API on one port.
	SamePort bool
	// Seen is true when the API answered before: one that never did has its port
	// elsewhere, or is off. Lived is true when it said once that the server is
	// live.
	Seen, Lived bool
}

// state gives the state and the reason for it. The table is that of a real
// Triton: readiness answers 200 while every request fails, metrics go on while
// the API drains, and both ports refuse while models load.
func (e *Evidence) state() (State, string) {
	if e.Silent {
		return Silent, "this rank binds no port; its leader speaks for it"
	}
	if e.Companion != "" {
		return Silent, "this is " + e.Companion + ", no LLM server: its series are passed on, and it counts as no replica"
	}
	if !e.Scrape.OK {
		return e.withoutPage()
	}
	api := &e.API
	switch {
	case api.API == engine.APIRefused && !api.SamePort && api.Seen:
		return Draining, api.Detail + " while the page still answers: the server is ending"
	case api.API == engine.APINotReady && !api.SamePort && api.Lived && api.LiveKnown && !api.Live:
		// Triton says so of itself only while it ends, or when it never came up
		// (core src/server.cc, InferenceServer::IsLive).
		return Draining, "the API says that it is no longer live while the page still answers: the server is ending"
	case api.Draining:
		return Draining, api.Detail
	case api.API == engine.APINotReady:
		return NotReady, api.Detail
	case e.Unrouted:
		return NotReady, "the page says that no worker serves any of its models"
	case e.Unserved != "":
		return Unserved, e.Unserved
	case e.stalled() && (!e.Failing || e.Was != Failing):
		// Of failing and stalled the first to hold is the cause: the gauges of a
		// model whose processes died stand still, and the requests to one that
		// stands still fail in the end.
		return Stalled, "requests come and nothing moves: no iteration, no token, no end"
	case e.Failing && e.Was == NotReady:
		// Requests fail for what made it so, as those to a router that lists a worker
		// which is gone until its lease ends.
		return NotReady, "requests only fail since the server was not ready, though its API says that it is again"
	case e.Failing && e.RefusedFailed:
		return Failing, "requests only fail, or all are refused for want of room: the page counts both as one, and the server's log says which"
	case e.Failing:
		return Failing, "requests only fail, whatever the API says"
	case api.API == engine.APIReady:
		return Ready, api.Detail
	case api.Detail == "":
		return Ready, "the page answers; its API was not asked"
	}
	return Ready, "the page answers; of its API only this is known: " + api.Detail
}

// stalled reports whether work stands still by two signs: of the gauges that say it is
// in flight, and of requests that come and get nothing.
func (e *Evidence) stalled() bool {
	return e.Still.Witnessed || e.Still.For > 0 && e.Still.Answerable && e.Unanswered
}

// suspected says what speaks against a replica by one sign, which a healthy server may
// give too; empty for nothing.
func (e *Evidence) suspected() string {
	if e.Still.For == 0 || e.stalled() {
		return ""
	}
	return fmt.Sprintf("%g requests are said to be in flight and nothing has moved since %s; the gauge may be stale",
		e.Still.InFlight, e.Came.Add(-e.Still.For).UTC().Format("15:04 UTC"))
}

// unread reports whether the page is all that is known to fail: somebody answers at
// the address, or the exporter could not ask.
func (e *Evidence) unread() bool {
	return !e.Silent && e.Companion == "" && !e.Scrape.OK && !e.API.Starting && (e.API.answers() || !e.Scrape.Unanswered)
}

// answers reports whether the API says anything of the server's health.
func (a *API) answers() bool { return a.API == engine.APIReady || a.API == engine.APINotReady }

// withoutPage judges a replica whose last scrape failed.
func (e *Evidence) withoutPage() (State, string) {
	failure := e.Scrape.Error
	if e.Scrape.Hint != "" {
		failure += "; " + e.Scrape.Hint
	}
	switch {
	case e.API.answers() && e.API.Starting:
		return Starting, e.API.Detail
	case e.API.answers():
		return Blind, "the API answers, the page does not: " + failure
	case !e.Scrape.Unanswered && e.Scrape.Seen:
		return Blind, "its page cannot be read any more, which says little of its requests: " + failure
	case !e.Scrape.Unanswered:
		return Unknown, "this exporter has never read its page: " + failure
	case e.Scrape.Refused && !e.Scrape.Seen && e.Scrape.MayStart:
		return Unknown, "nothing listens, and this exporter has never seen it; a server opens its ports when its models are loaded"
	case e.Scrape.Refused && e.Scrape.Seen:
		return Down, "nothing listens any more: the server has ended, or is starting again; " + failure
	}
	return Down, failure
}
