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

// States of a replica, of which exactly one applies.
const (
	// Silent is a rank that binds no port, or a program that is not an LLM server. It has no
	// state of its own and is not in States.
	Silent State = "silent"
	// Unknown is a replica that this process has never seen up and that may still start: whether
	// it ever served is unknown.
	Unknown  State = "unknown"
	Starting State = "starting"
	Ready    State = "ready"
	NotReady State = "not_ready"
	Unserved State = "unserved"
	Draining State = "draining"
	Failing  State = "failing"
	Stalled  State = "stalled"
	// CanaryFailing is a replica of which only the canary shows that it answers no requests.
	CanaryFailing State = "canary_failing"

	Blind State = "blind"
	Down  State = "down"
)

// States returns all states of replicas with a port, the worst first, in a shared slice.
//
//nolint:gochecknoglobals // constant data, built on first use.
var States = sync.OnceValue(func() (all []State) {
	for _, c := range consequences {
		if c.state != Silent {
			all = append(all, c.state)
		}
	}
	return all
})

// consequence is what follows from a state, regardless of its reason.
type consequence struct {
	state    State
	severity Severity
	// runbook is the entry of the runbook, empty if nothing is wrong.
	runbook string
	// holdsCanary is true if the canary sends no requests in this state.
	holdsCanary bool
}

// consequences lists the consequences of every state, the worst first.
//
//nolint:gochecknoglobals // constant data.
var consequences = []consequence{
	{Down, Broken, "LLMReplicaDown", true},
	{Failing, Broken, "LLMReplicaBroken", false},
	{Stalled, Broken, "LLMReplicaBroken", false},
	{Unserved, Broken, "LLMReplicaBroken", true},
	{NotReady, Broken, "LLMReplicaNotUp", true},
	{CanaryFailing, Broken, canaryRunbook, false},
	{Blind, Look, "LLMReplicaUnreadable", false},
	{Draining, Look, "LLMReplicaNotUp", true},
	{Starting, Look, "LLMReplicaNotUp", true},
	{Unknown, Look, "LLMReplicaNotUp", true},
	{Ready, OK, "", false},
	{Silent, OK, "", true},
}

// consequenceOf returns the consequence of a state, the zero value for the empty state.
func consequenceOf(s State) consequence {
	for _, c := range consequences {
		if c.state == s {
			return c
		}
	}
	return consequence{}
}

// Evidence holds the observations on which [Judge] bases a verdict.
type Evidence struct {
	// Silent is true for a rank that is declared to bind no port. Companion is the name of a
	// program that is not an LLM server.
	Silent    bool
	Companion string
	// Previous is the previous state.
	Previous State
	Scrape   Scrape
	API      API
	// Failing is true while all requests fail, Unrouted while requests for none of the
	// models can be sent anywhere.
	Failing, Unrouted bool
	// Stall is the work that stands still according to the page of PageTime. Unanswered is true
	// if a canary request got no answer in the meantime, Responsive if the engine itself answers
	// or is paused.
	Stall                  derive.Stall
	PageTime               time.Time
	Unanswered, Responsive bool
	// RefusedFailed is true if the page counts rejected requests as failed.
	RefusedFailed bool
	// Processes is the number of processes that answer in turn, or 0 if only one is known.
	Processes int
	// Unserved explains why a ready server serves none of its models, Unobservable why failing
	// requests would go unnoticed; empty if it does or they would not.
	Unserved, Unobservable string
	// CanaryProven is true if canary requests fail as they cannot with a healthy server,
	// CanaryLate if the last took too long, Queued if requests wait while others make progress:
	// overload is not failure.
	CanaryProven, CanaryLate, Queued bool
	// Mismatch describes how the page contradicts the configured kind of server, Canary how the
	// last canary request failed, Unmet which expectations are not met; empty if nothing is wrong.
	Mismatch, Canary, Unmet string
}

// Scrape is the result of the last scrape.
type Scrape struct {
	// OK is true if it returned a page, Unanswered if nothing answered, Refused if nothing
	// listens. Error describes the failure, Hint a possible cause.
	OK, Unanswered, Refused bool
	Error, Hint             string
	// Seen is true if a scrape ever succeeded, MayStart while a replica that refuses connections
	// may still be loading according to the pool's start budget.
	Seen, MayStart bool
}

// API is what the server's API reports about its health.
type API struct {
	engine.Health

	// SamePort is true for servers with page and API on the same port.
	SamePort bool
}

// state returns the state and its reason. It follows a real Triton: readiness answers 200 while
// every request fails, metrics are served while the API drains, and both ports refuse connections
// while models load.
func (e *Evidence) state() (State, string) {
	if e.Silent {
		return Silent, "this rank binds no port; it is reported through its leader"
	}
	if e.Companion != "" {
		return Silent, "this is " + e.Companion + ", not an LLM server: its series are passed on, and it does not count as a replica"
	}
	if !e.Scrape.OK {
		return e.withoutPage()
	}
	api := &e.API
	switch {
	case api.API == engine.APIRefused && !api.SamePort && api.Found:
		return Draining, api.Detail + " while the page still answers: the server is shutting down"
	case api.API == engine.APINotReady && !api.SamePort && api.WasLive && api.LiveKnown && !api.Live:
		// Triton reports this only while it shuts down, or if it never started (core
		// src/server.cc, InferenceServer::IsLive).
		return Draining, "the API reports that the server is no longer live while the page still answers: the server is shutting down"
	case api.Draining:
		return Draining, api.Detail
	case api.API == engine.APINotReady:
		return NotReady, api.Detail
	case e.Unrouted:
		return NotReady, "the page shows no worker for any of its models"
	case e.Unserved != "":
		return Unserved, e.Unserved
	case e.stalled() && (!e.Failing || e.Previous != Failing):
		// If both failing and stalled apply, the first one is the cause: the gauges of a model
		// whose processes died stand still, and requests to a stalled model fail eventually.
		return Stalled, "requests arrive and nothing moves: no iteration, no token, no request that ends"
	case e.Failing && e.Previous == NotReady:
		// Requests fail for the same reason as before, like those to a router that lists a worker
		// which is gone until its lease expires.
		return NotReady, "all requests have failed since the server was not ready, although its API reports ready again"
	case e.Failing && e.RefusedFailed:
		return Failing, "all requests are failing, or all are rejected for lack of capacity: the page counts both alike, and the server's log tells which"
	case e.Failing && api.API == engine.APIReady:
		return Failing, "all requests are failing, although its API reports ready"
	case e.Failing:
		return Failing, "all requests are failing"
	case api.API == engine.APIReady:
		return Ready, api.Detail
	case api.Detail == "":
		return Ready, "the page answers; its API was not asked"
	}
	return Ready, "the page answers; all that is known of its API: " + api.Detail
}

// stalled reports whether gauges and unanswered requests both show that work stands still.
func (e *Evidence) stalled() bool {
	return !e.Responsive && (e.Stall.Witnessed || e.Stall.Answerable && e.Unanswered)
}

// suspected describes a single sign against a replica, which a healthy server may show too.
func (e *Evidence) suspected() string {
	if e.Stall.Duration == 0 || e.stalled() {
		return ""
	}
	explanation := "they may be gone, or take long"
	if e.Stall.Deferred {
		explanation = "they may wait for another server"
	} else if e.Responsive {
		explanation = "the engine answers, and may be paused"
	}
	return fmt.Sprintf("the page shows %g requests in flight, but nothing has moved since %s; %s",
		e.Stall.InFlight, e.PageTime.Add(-e.Stall.Duration).UTC().Format("15:04 UTC"), explanation)
}

// unread reports whether nothing but the page is known to fail.
func (e *Evidence) unread() bool {
	return !e.Silent && e.Companion == "" && !e.Scrape.OK && e.API.API != engine.APINotReady &&
		(e.API.API == engine.APIReady || !e.Scrape.Unanswered)
}

// withoutPage judges a replica whose last scrape failed.
func (e *Evidence) withoutPage() (State, string) {
	failure := e.Scrape.Error
	if e.Scrape.Hint != "" {
		failure += "; " + e.Scrape.Hint
	}
	switch {
	case e.API.API == engine.APINotReady && (e.API.Starting || !e.Scrape.Seen):
		return Starting, e.API.Detail
	case e.API.API == engine.APINotReady:
		return NotReady, e.API.Detail + ", and the page fails too: " + failure
	case e.API.API == engine.APIReady:
		return Blind, "the API answers, but the page does not: " + failure
	case !e.Scrape.Unanswered && e.Scrape.Seen:
		return Blind, "its page cannot be read any more, which says little about its requests: " + failure
	case !e.Scrape.Unanswered:
		return Unknown, "this exporter has never read its page: " + failure
	case e.Scrape.Refused && !e.Scrape.Seen && e.Scrape.MayStart:
		return Unknown, "nothing listens, and this exporter has never seen it up; servers open their ports when their models are loaded"
	case e.Scrape.Refused && e.Scrape.Seen:
		return Down, "nothing listens any more: the server has stopped or is restarting; " + failure
	}
	return Down, failure
}
