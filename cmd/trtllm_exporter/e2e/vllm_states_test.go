//go:build e2e_vllm && linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// Titles of processes: those of vLLM that schedule and compute, and that of SGLang which does both.
const (
	vllmCore        = "VLLM::EngineCore"
	vllmWorker      = "VLLM::Worker"
	sglangScheduler = "sglang::scheduler"
)

// engine is what the lives of vLLM and SGLang differ in.
type engine struct {
	server *server
	flags  []string
	// evidence is the beginning of names on its page.
	evidence string
	// parts are its processes that may hang, by title, the last of which is killed in the end.
	parts []part
	// answersWithin is how long the exporter's question waits for an answer.
	answersWithin time.Duration
	// The tokens of requests that run for seconds, until they were judged, and while it drains.
	served, judged, drained int
	// drains waits until a draining server refuses requests.
	drains acts
	// recovered is what else is true after it hung.
	recovered acts
	// own are the troubles of this kind, before it ends.
	own []step
	// states are all that may be shown.
	states []string
}

type part struct{ title, called string }

func TestVLLMStates(t *testing.T) {
	s := newEngine(t, "vllm")
	(&engine{
		server:        s,
		flags:         []string{"--shutdown-timeout", "1800"}, // Requests are completed after SIGTERM, on a slow machine too.
		evidence:      "vllm:",
		parts:         []part{{vllmWorker, "the worker, as in a stuck kernel"}, {vllmCore, "the engine"}},
		answersWithin: firstToken,
		served:        1000,
		judged:        2400,
		drained:       3600,
		// It reports healthy.
		drains: acts{refusing, answering(s, "/health", http.StatusOK, 0)},
		own: []step{
			{
				name: "the rank keeps its number",
				does: acts{shows(has(0, "vllm:num_requests_running", "engine", "vllm", "exported_engine", "0"))},
			},
			{
				name: "a sleeping server is unserved",
				does: acts{post(s, "/sleep?level=1")},
				says: is("unserved", avoid, "sleep"),
			},
			{
				name: "a sleeping server with a request is not stalled",
				does: acts{load(1, 5, 5), pauses(stallAfter + 3*engineInterval)},
				says: stays("unserved", avoid, "sleep"),
			},
			{
				name: "it is ready when it wakes up",
				does: acts{post(s, "/wake_up")},
				says: is("ready", keep, ""),
				then: acts{complete},
			},
			{
				name: "a server that was paused with requests is unserved, and not stalled",
				does: acts{busy(1, 5, 300), post(s, "/pause?mode=keep"), pauses(stallAfter + 3*engineInterval)},
				says: is("unserved", avoid, "paused"),
			},
			{
				name: "it is ready when it goes on",
				does: acts{post(s, "/resume")},
				says: is("ready", keep, ""),
				then: acts{complete},
			},
		},
		// Its health is 503 for a moment after its engine died.
		states: []string{"unknown", "ready", "not_ready", "stalled", "unserved", "failing", "down"},
	}).lives(t)
}

func TestSGLang(t *testing.T) {
	s := newEngine(t, "sglang")
	(&engine{
		server:        s,
		evidence:      "sglang:",
		parts:         []part{{sglangScheduler, "the scheduler"}},
		answersWithin: 20 * time.Second, // Its own health check is asked.
		served:        300,
		judged:        400,
		drained:       400,
		// Nobody asks for its health.
		drains: acts{answering(s, "/health", http.StatusServiceUnavailable, patience)},
		// It remembers that its health check failed until that succeeds: the exporter asks.
		recovered: acts{answering(s, "/ready", http.StatusOK, 10*time.Second)},
		own: []step{
			{
				name: "the page is the one with colons in names",
				does: acts{shows(
					some("sglang:num_running_reqs", "engine", "sglang"),
					lacks("sglang_num_running_reqs"),
				)},
			},
			{name: "clients that leave are counted", does: acts{sglangLeft}},
			{name: "its canary succeeds and leaves", does: acts{sglangCanary}},
			{
				name: "a server that was paused with requests is unserved, and not stalled",
				does: acts{
					busy(1, 5, 300),
					post(s, "/pause_generation", `{"mode":"in_place"}`),
					pauses(stallAfter + 3*engineInterval),
				},
				says: is("unserved", avoid, "paused"),
			},
			{
				name: "it is ready when it goes on",
				does: acts{post(s, "/continue_generation", `{}`)},
				says: is("ready", keep, ""),
				then: acts{complete},
			},
		},
		// If the scheduler was killed, the page fails before the API.
		states: []string{"unknown", "starting", "ready", "stalled", "unserved", "blind", "down"},
	}).lives(t)
}

// lives plays the life of a server.
func (e *engine) lives(t *testing.T) {
	t.Helper()
	s, last := e.server, e.parts[len(e.parts)-1]
	l := watchEngine(t, s, confirms)
	l.plays(
		step{
			name: "a loading server is unknown",
			does: acts{launch(s, e.flags...)},
			says: is("unknown", avoid, ""),
		},
		step{
			name: "a serving server is ready, and identified by its page",
			does: acts{serve(s)},
			says: engineReady(),
			then: acts{identified(e.evidence)},
		},
		step{
			name: "running and waiting requests are shown, and what they got is counted",
			does: acts{crowded(slots, 8, 20, e.served, nil, []string{"model_id", tinyLlama})},
		},
	)
	l.plays(e.own...)
	l.plays(step{
		name: "a full server, in which the canary waits behind others, is ready",
		does: acts{fullOfRequests},
	})
	for _, p := range e.parts {
		l.plays(e.hangs(p)...)
		l.plays(step{
			name: "of a server that stopped while idle, the canary tells: " + p.called,
			does: acts{e.hangsIdle(p)},
		})
	}
	l.plays(
		step{
			name: "a draining server that finishes what it has is ready: a restart would end that",
			does: append(acts{busy(slots, 20, e.drained), terminate(s)}, e.drains...),
			says: stays("ready", keep, ""),
			then: acts{underWay},
		},
		step{
			name: "a server that has ended is down",
			does: acts{complete},
			says: is("down", avoid, ""),
		},
		step{
			name: "a restarted server is ready",
			does: acts{kill(s, ""), launch(s), serve(s)}, // vLLM may wait for a task of a request for ever.
			says: engineReady(),
		},
		step{
			name: "a server is down whose engine was killed",
			does: acts{busy(slots, 20, e.judged), kill(s, last.title)},
			says: is("down", avoid, ""),
			then: acts{unfinished},
		},
	)
	require.Subset(t, e.states, l.exporter.history(t, "r0"), "no other state was ever shown")
}

// hangs returns what happens when a part stops while requests run, and goes on.
func (e *engine) hangs(p part) []step {
	return []step{
		{
			name: "suspected when it stops with requests, since a healthy server may look the same: " + p.called,
			does: acts{busyUntilAsked(e.judged), freeze(e.server, p.title)},
			says: stays(suspected, keep, "nothing has moved"),
		},
		{
			name: "stalled when a question failed: " + p.called,
			says: is("stalled", restart, "nothing has moved"),
			then: acts{documented(p.called, stallAfter+e.answersWithin+4*engineInterval)},
		},
		{
			name: "ready when it goes on: " + p.called,
			does: acts{thaw(e.server, p.title)},
			says: is("ready", keep, ""),
			then: append(acts{complete}, e.recovered...),
		},
	}
}

// fullOfRequests has a canary wait behind requests that make progress.
func fullOfRequests(whole *life) {
	const late = "llm_server_canary_requests_total"
	l := watchEngine(whole.t, whole.client, asks)
	l.hears(engineReady())
	l.shows(has(1, "llm_server_canary_success"))
	l.happened = time.Now()
	c := whole.client.crowd(whole.t, 4*slots, request{words: 20, tokens: 1500})
	await(l.t, patience, func() string { return l.page().wrong(above(1, late, "result", "no_first_token")) })
	l.hears(stays("ready", keep, ""))
	c.stop()
	l.shows(has(1, "llm_server_canary_success"))
	l.hears(stays("ready", keep, ""))
}

// hangsIdle stops a part while nobody but the canary asks for anything.
func (e *engine) hangsIdle(p part) act {
	return func(whole *life) {
		running(0)(whole)
		l := watchEngine(whole.t, e.server, asks)
		l.hears(engineReady())
		l.shows(has(1, "llm_server_canary_success"))
		freeze(e.server, p.title)(l)
		l.hears(is("canary_failing", avoid, ""))
		thaw(e.server, p.title)(l)
		l.hears(is("ready", keep, ""))
	}
}

// busyUntilAsked has all slots in use when the exporter may ask another question.
func busyUntilAsked(tokens int) act {
	return func(l *life) {
		pause(l.t.Context(), time.Until(l.stalled.Add(canary.ConfirmEvery-stallAfter)))
		load(slots, 20, tokens)(l)
		// The page may still be from before these requests, and a stop within their first iteration is
		// not in the server's gauges.
		l.exporter.renewed(l.t)
		running(slots)(l)
	}
}

// refusing waits until new requests are refused, and sends some more.
func refusing(l *life) {
	short := func(ctx context.Context) (int, error) {
		seen, err := l.client.send(ctx, 1, request{words: 5, tokens: 5})
		return seen.status, err
	}
	await(l.t, patience, func() string {
		status, err := short(l.t.Context())
		if err != nil || status != http.StatusInternalServerError {
			return fmt.Sprintf("a new request: wanted 500, got %d, %v", status, err)
		}
		return ""
	})
	for range 8 {
		_, _ = short(l.t.Context()) // At its very end one may keep the server from ending.
		pause(l.t.Context(), engineInterval/2)
	}
}

// underWay requires that the requests have not ended.
func underWay(l *life) {
	for _, c := range l.load {
		require.False(l.t, c.over(), "the requests ended too soon for this test: give them more tokens")
	}
}

// documented requires a row in docs/dev/accuracy.md for the time until a server was judged stalled, which
// -update measures and writes.
func documented(stopped string, allowed time.Duration) act {
	return func(l *life) {
		file, head, table, tail := documentedTable(l.t, "stalls")
		key := fmt.Sprintf("| %s | %s |", l.client.name, stopped)
		if fixture.Updating() {
			require.LessOrEqual(l.t, l.took, allowed, "time until %s was judged stalled", l.client.name)
			row := fmt.Sprintf("%s %.1f s | %.1f s |\n", key, l.took.Seconds(), allowed.Seconds())
			var lines []string
			for line := range strings.Lines(table) {
				if strings.HasPrefix(line, key) {
					line, row = row, ""
				}
				lines = append(lines, line)
			}
			table = strings.Join(lines, "") + row
			require.NoError(l.t, os.WriteFile(file, []byte(head+table+tail), 0o600))
		}
		require.Contains(l.t, table, key, "%s: run this test with -update", file)
	}
}

// sglangLeft compares outcomes with clients that stay, disconnect, wait, or send invalid requests.
func sglangLeft(whole *life) {
	s := whole.client
	l := watchEngine(whole.t, s)
	l.hears(engineReady())
	first := l.page()
	s.crowd(l.t, slots, request{words: 10, tokens: 20}).requireComplete(l.t) // The first requests compile.
	before := l.shows(first.more(slots, "llm_server_requests_total", "class", "ok"))
	ended := func(n int, class string) value { return before.more(n, "llm_server_requests_total", "class", class) }

	const good, wrong, waiting = 5, 2, 3
	s.crowd(l.t, good, request{words: 20, tokens: 40}).requireComplete(l.t)
	streams := s.crowd(l.t, slots/2, request{words: 20, tokens: 3000})
	others := s.crowd(l.t, slots/2, request{words: 20, tokens: 3000, unstreamed: true})
	l.shows(has(slots, "llm_server_requests_running"))
	queued := s.crowd(l.t, waiting, request{words: 20, tokens: 40, unstreamed: true})
	l.shows(has(waiting, "llm_server_queue_depth"))
	queued.stop()
	l.shows(ended(waiting, "canceled"))
	others.stop()
	streams.stop()
	for _, seen := range s.crowd(l.t, wrong, request{words: 20, tokens: 40, flaw: negative}).answered(l.t) {
		require.Equal(l.t, http.StatusBadRequest, seen.status)
	}
	l.shows(
		ended(waiting+slots, "canceled"),
		ended(good, "ok"),
		ended(wrong, "client"),
		before.more(wrong, "llm_server_requests_failed_total", "reason", "http_400"),
		has(0, "llm_server_queue_depth"),
	)
}

// sglangCanary requires that the server counts all requests of the canary, also abandoned ones.
func sglangCanary(whole *life) {
	const aborted = "sglang:num_aborted_requests_total"
	before := whole.page().sum(aborted)
	l := watchEngine(whole.t, whole.client, canaries)
	requireCanary(l)
	l.shows(above(before, aborted))
}

// requireCanary requires that the canary got its tokens, that it left a request, and that the slot of
// that one is free again. On a machine that is too busy for a page in time a check is unclear, and the
// next one is used.
func requireCanary(l *life) {
	l.shows(
		has(1, "llm_server_canary_success", "model_id", tinyLlama),
		has(5, "llm_server_canary_tokens"),
		above(0, "llm_server_canary_time_to_first_token_seconds"),
	)
	const checks = "llm_server_canary_cancel_checks_total"
	await(l.t, 2*time.Minute, func() string {
		p := l.page()
		p.requires(l.t, lacks(checks, "result", "held"))
		return p.wrong(some(checks, "result", "freed"))
	})
	p := l.shows(
		has(1, "llm_server_capability", "capability", "cancel"),
		has(1, "llm_server_canary_cancel_success"),
		above(0, "llm_server_canary_cancel_seconds"),
	)
	l.t.Logf("the slot was free %.2f s after the client left, or before",
		p.only(l.t, "llm_server_canary_cancel_seconds"))
}
