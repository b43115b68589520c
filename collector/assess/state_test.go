package assess_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestReplicaState has what the scenarios of tools/matrix do not play.
func TestReplicaState(t *testing.T) {
	api := func(s engine.APIState) engine.Health { return engine.Health{API: s, Detail: "the API said so"} }
	gone := engine.Health{API: engine.APIRefused, Found: true, Detail: "the API said so"}
	page := func(s engine.APIState) assess.Evidence {
		return assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: api(s)}}
	}
	refuses := assess.Evidence{Scrape: assess.Scrape{Unanswered: true, Refused: true, Error: "connect: refused"}, API: assess.API{Health: api(engine.APIRefused)}}
	for _, c := range []struct {
		name   string
		e      assess.Evidence
		state  assess.State
		reason string
	}{
		{"both refuse, never answered, for long", refuses, assess.Down, "connect: refused"},
		{"a page and an unknown API", assess.Evidence{Scrape: assess.Scrape{OK: true}}, assess.Ready, "was not asked"},
		{"ready, without workers according to the page", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: api(engine.APIReady)}, Unrouted: true, Unserved: "its LLM is gone"}, assess.NotReady, "the page shows no worker for any of its models"},
		{"ready, and the LLM is not loaded", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: api(engine.APIReady)}, Unserved: "its LLM is gone"}, assess.Unserved, "its LLM is gone"},
		{"it reports that it is draining", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{SamePort: true, Health: engine.Health{API: engine.APINotReady, Draining: true, Detail: "it drains"}}, Unrouted: true}, assess.Draining, "it drains"},
		{"requests fail since it was not ready", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: api(engine.APIReady)}, Failing: true, Previous: assess.NotReady}, assess.NotReady, "since the server was not ready"},
		{"the API refuses, the page continues", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: gone}}, assess.Draining, "the API said so while the page still answers: the server is shutting down"},
		{"the API never answered", page(engine.APIRefused), assess.Ready, "all that is known of its API"},
		{"a server of one port does not drain", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: gone, SamePort: true}}, assess.Ready, "all that is known of its API"},
		{"ready, and requests fail or are refused", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: api(engine.APIReady)}, Failing: true, RefusedFailed: true}, assess.Failing, "or all are rejected for lack of capacity"},
		{"requests that may wait for another server", changed(serving(), func(e *assess.Evidence) { e.Stall.Duration, e.Stall.Deferred = time.Minute, true }), assess.Ready, "nothing has moved since 13:59 UTC; they may wait for another server"},
		{"ready, and no iteration happens, but its engine answers", changed(serving(), func(e *assess.Evidence) { e.Stall, e.Responsive = hung(), true }), assess.Ready, "nothing has moved since 13:59 UTC; the engine answers, and may be paused"},
		{"the canary got nothing, but may wait behind others", changed(serving(), func(e *assess.Evidence) { e.Stall.Duration, e.Unanswered = time.Minute, true }), assess.Ready, "may be gone"},
		{"frozen gauges of a model with dead processes", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: api(engine.APIReady)}, Stall: hung(), Failing: true, Previous: assess.Failing}, assess.Failing, "all requests are failing"},
		{"stalled requests fail in the end", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: api(engine.APIReady)}, Stall: hung(), Failing: true}, assess.Stalled, "nothing moves"},
		{"alive before, and no longer, as Triton 2.36 while it ends", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: engine.Health{API: engine.APINotReady, LiveKnown: true, Found: true, WasLive: true}}}, assess.Draining, "no longer live"},
		{"never alive, as after a failed start with --exit-on-error=false", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: engine.Health{API: engine.APINotReady, LiveKnown: true, Detail: "the API answers Bad Request", Found: true}}}, assess.NotReady, "Bad Request"},
		{"no longer alive on one port", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: engine.Health{API: engine.APINotReady, LiveKnown: true, Detail: "no", Found: true, WasLive: true}, SamePort: true}}, assess.NotReady, "no"},
		{"draining takes precedence over failing", assess.Evidence{Scrape: assess.Scrape{OK: true}, API: assess.API{Health: gone}, Failing: true}, assess.Draining, "is shutting down"},
		{"the API answers, the page fails", assess.Evidence{Scrape: assess.Scrape{Error: "empty", Hint: "check the path"}, API: assess.API{Health: api(engine.APIReady)}}, assess.Blind, "empty; check the path"},
		{"the API is not ready, the page fails", assess.Evidence{Scrape: assess.Scrape{Error: "http_status (503)", Seen: true}, API: assess.API{Health: api(engine.APINotReady)}}, assess.NotReady, "the API said so, and the page fails too: http_status (503)"},
		{"never ready before", assess.Evidence{Scrape: assess.Scrape{Unanswered: true, Error: "timeout"}, API: assess.API{Health: api(engine.APINotReady)}}, assess.Starting, "the API said so"},
		{"the page fails otherwise", assess.Evidence{Scrape: assess.Scrape{Unanswered: true, Error: "timeout", MayStart: true}, API: assess.API{Health: api(engine.APIRefused)}}, assess.Down, "timeout"},
		{"a hanging API", assess.Evidence{Scrape: assess.Scrape{Unanswered: true, Error: "timeout", Seen: true}, API: assess.API{Health: api(engine.APIFailed)}}, assess.Down, "timeout"},
		{"something answers, and not with a page", assess.Evidence{Scrape: assess.Scrape{Error: "http_status (403)", Seen: true}, API: assess.API{Health: api(engine.APIFailed)}}, assess.Blind, "says little about its requests: http_status (403)"},
		{"never before", assess.Evidence{Scrape: assess.Scrape{Error: "tls (expired)"}}, assess.Unknown, "never read its page: tls (expired)"},
		{"a silent rank", assess.Evidence{Silent: true}, assess.Silent, "binds no port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := assess.Judge(&c.e)
			require.Equal(t, c.state, v.State, v.Reason)
			require.Contains(t, v.Reason, c.reason)
			require.Equal(t, c.state == assess.Blind || c.name == "never before", v.Unread, "requests may succeed all the same")
		})
	}
}

// hung returns evidence of work that makes no progress while requests arrive.
func hung() derive.Stall { return derive.Stall{Duration: time.Minute, Witnessed: true} }

func changed(e assess.Evidence, change func(*assess.Evidence)) assess.Evidence {
	change(&e)
	return e
}

// serving returns the evidence of a healthy replica.
func serving() assess.Evidence {
	return assess.Evidence{Scrape: assess.Scrape{OK: true}, PageTime: time.Date(2026, 1, 1, 14, 0, 0, 0, time.UTC), API: assess.API{Health: engine.Health{API: engine.APIReady, Detail: "the API answers 200"}}}
}

func TestSeverity(t *testing.T) {
	failed := assess.Evidence{Scrape: assess.Scrape{Unanswered: true, Error: "timeout"}}
	for _, c := range []struct {
		name     string
		e        assess.Evidence
		severity assess.Severity
		runbook  string
		reason   string
	}{
		{"a rank without a port", assess.Evidence{Silent: true}, assess.OK, "", "this rank binds no port; it is reported through its leader"},
		{"canary failing", changed(serving(), func(e *assess.Evidence) {
			e.Canary, e.CanaryProven = "the canary request failed (stalled): no text", true
		}), assess.Broken, "LLMCanaryFailing", "the API answers 200; the canary request failed (stalled): no text"},
		{"canary waiting in a queue", changed(serving(), func(e *assess.Evidence) {
			e.Canary, e.CanaryProven, e.CanaryLate, e.Queued = "the canary request failed (no_first_token)", true, true, true
		}), assess.Look, "LLMPoolSaturated", "the API answers 200; slow: its canary waited too long, or was rejected, behind other requests, which make progress"},
		{"full, canary rejected", changed(serving(), func(e *assess.Evidence) {
			e.Canary, e.CanaryProven, e.Queued = "the canary request failed (error_frame)", true, true
		}), assess.Look, "LLMCanaryFailing", "the API answers 200; the canary request failed (error_frame)"},
		{"canary refused", changed(serving(), func(e *assess.Evidence) { e.Canary = "the canary request failed (refused)" }), assess.Look, "LLMCanaryFailing", "the API answers 200; the canary request failed (refused)"},
		{"canary late without a queue", changed(serving(), func(e *assess.Evidence) {
			e.Canary, e.CanaryProven, e.CanaryLate = "the canary request failed (no_first_token)", true, true
		}), assess.Broken, "LLMCanaryFailing", "the API answers 200; the canary request failed (no_first_token)"},
		{"failures not exposed", changed(serving(), func(e *assess.Evidence) { e.Unobservable = "it counts no errors" }), assess.OK, "", "the API answers 200; whether its requests fail is unknown: it counts no errors"},
		{"failures not exposed, known to fail", changed(serving(), func(e *assess.Evidence) { e.Unobservable, e.Failing = "it counts no errors", true }), assess.Broken, "LLMReplicaBroken", "all requests are failing, although its API reports ready"},
		{"suspected", changed(serving(), func(e *assess.Evidence) { e.Stall = derive.Stall{Duration: time.Minute, InFlight: 42} }), assess.Look, "LLMReplicaSuspected", "the API answers 200; the page shows 42 requests in flight, but nothing has moved since 13:59 UTC; they may be gone, or take long"},
		{"also known not to be ready", changed(serving(), func(e *assess.Evidence) {
			e.API.API, e.API.Detail, e.Stall = engine.APINotReady, "it is not ready", derive.Stall{Duration: time.Minute, InFlight: 42}
		}), assess.Broken, "LLMReplicaNotUp", "it is not ready"},
		{"one of another version", changed(serving(), func(e *assess.Evidence) { e.Unmet = "unexpected engine_version" }), assess.Look, "LLMExpectationMismatch", "the API answers 200; unexpected engine_version"},
		{"one of several behind its address", changed(serving(), func(e *assess.Evidence) { e.Processes = 3 }), assess.Look, "", "the API answers 200; 3 processes answer at this address in turn, so that rates are unknown: give each its own address"},
		{"one with another's page", changed(serving(), func(e *assess.Evidence) { e.Mismatch = "the page looks like that of nim, engine says dynamo" }), assess.Look, "", "the API answers 200; the page looks like that of nim, engine says dynamo"},
		{"of two things the worse counts", changed(serving(), func(e *assess.Evidence) { e.Unmet, e.Canary, e.CanaryProven = "a", "b", true }), assess.Broken, "LLMCanaryFailing", "the API answers 200; a; b"},
		{"the first of two equal severities", changed(serving(), func(e *assess.Evidence) { e.Mismatch, e.Unmet = "a", "b" }), assess.Look, "", "the API answers 200; a; b"},
		{"and so its state", changed(failed, func(e *assess.Evidence) { e.Canary = "a" }), assess.Broken, "LLMReplicaDown", "timeout; a"},
		{"the reason of a broken state is kept", changed(failed, func(e *assess.Evidence) { e.Unmet = "a" }), assess.Broken, "LLMReplicaDown", "timeout; a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := assess.Judge(&c.e)
			require.Equal(t, c.severity, v.Severity)
			require.Equal(t, c.runbook, v.Runbook)
			require.Equal(t, c.reason, v.Reason)
			require.Equal(t, c.runbook == "LLMReplicaSuspected", v.Suspected)
		})
	}
}

func TestRunbookAnchorsExist(t *testing.T) {
	runbook, err := os.ReadFile("../../alerts/runbook.md")
	require.NoError(t, err)
	for _, entry := range assess.Runbooks() {
		require.Contains(t, string(runbook), "\n### "+entry+"\n")
	}
}

func TestStateSeverities(t *testing.T) {
	severities, order := assess.Severities(), []assess.Severity{assess.Broken, assess.Look, assess.OK}
	require.Len(t, severities, len(assess.States())+1, "each state once, and that of a rank without a port")
	require.True(t, slices.IsSortedFunc(assess.States(), func(a, b assess.State) int {
		return slices.Index(order, severities[a]) - slices.Index(order, severities[b])
	}), "the worst is first")
	for s, severity := range severities {
		require.Equal(t, s == assess.Ready || s == assess.Silent, severity == assess.OK, s)
	}
}
