//go:build e2e_triton && linux

package e2e

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMetricsModuleIsRead compares what the exporter derives from the module with what clients
// saw.
func TestMetricsModuleIsRead(t *testing.T) {
	s := newLLMAPI(t, releases()[0], true, settings{"iteration_ms": "40"})
	s.start(t)
	s.sendAll(t, ask(3, 2, true)) // An engine that never ran has no iterations.
	s.settled(t, counted{"tokens": 2, "ok": 1})
	found := doctor(t, s.tritonServer)
	require.Equal(t, []string{"gpu"}, missing(found), "a machine without a GPU")
	require.Contains(t, found.stdout, "metric set E")
	require.Contains(t, found.stdout, "live_tokens  yes")

	const global, limit = "window: 10s, stall_after: 3s", 20 * time.Second
	l := watchTriton(t, s.tritonServer, time.Second, global)
	var asks *life
	var stop func()
	var frozen *crowd
	l.plays(
		step{
			name: "a server is ready",
			says: is("ready", keep, limit, ""),
		},
		step{
			name: "what runs, waits and ends is what clients know",
			does: acts{s.crowded},
		},
		step{
			name: "a server whose requests all fail is failing",
			does: acts{func(l *life) {
				//nolint:contextcheck // A disconnect may crash Triton.
				stop = repeat(l.whole, 300*time.Millisecond, func(context.Context) {
					s.begin(l.whole, ask(5, 5, true, "!boom")).wait()
				})
			}},
			says: is("failing", avoid, limit, ""),
			then: acts{shows(above(0, "llm_server_request_error_ratio", "class", "server"))},
		},
		step{
			name: "it is ready after one that ended well",
			does: acts{func(l *life) {
				stop()
				s.sendAll(l.t, ask(5, 5, true))
			}},
			says: is("ready", keep, limit, ""),
		},
		step{
			name: "a server whose executor is frozen is suspected if nobody asks, and stalled if a question hangs too",
			does: acts{func(l *life) {
				asks = watchTriton(t, s.tritonServer, time.Second, global,
					"canary: { confirm: true, first_token_timeout: 2s }")
				asks.t = l.t
				asks.hears(is("ready", keep, limit, ""))
				asks.happened = time.Now()
				frozen = s.begin(l.whole, ask(5, 10, true, "!freeze:12000"), ask(5, 10, true))
				asks.hears(is("stalled", restart, limit, ""))
			}},
			says: is(suspected, keep, 0, ""),
		},
		step{
			name: "both are ready when it goes on",
			does: acts{func(l *life) {
				frozen.answered(l.t)
				asks.t, asks.happened = l.t, time.Now()
				asks.hears(is("ready", keep, limit, ""))
			}},
			says: is("ready", keep, 0, ""),
		},
		step{
			name: "a server whose LLM is not loaded is unserved, and nothing frozen is left",
			does: acts{func(l *life) { s.unload(l.t, "tensorrt_llm") }},
			says: is("unserved", avoid, limit, ""),
			then: acts{shows(
				lacks("llm_server_requests_running"),
				// The server's software is the same without the model.
				has(1, "llm_server_info", "trtllm_version", "1.0.0+standin"),
			)},
		},
		step{
			name: "it is ready when that is loaded again",
			does: acts{func(l *life) { s.load(l.t, "tensorrt_llm") }},
			says: is("ready", keep, limit, ""),
		},
	)
}

// crowded sends twelve questions, of which four run at once; one was sent before.
func (s *llmapiServer) crowded(l *life) {
	const n, words, tokens = 12, 10, 60
	questions := make([]question, n)
	for i := range questions {
		questions[i] = ask(words, tokens, i%2 == 0)
	}
	over := s.begin(l.t, questions...)
	l.shows(
		has(slots, "llm_server_requests_running"),
		has(n-slots, "llm_server_queue_depth"),
		has(n, "llm_server_requests_active"),
	)
	l.shows(above(0, "llm_server_generation_tokens_per_second"))
	over.answered(l.t)
	l.shows(
		has(2+n*tokens, "llm_server_generation_tokens_total"),
		has(3+n*words, "llm_server_prompt_tokens_total"),
		has(1+n, "llm_server_requests_total", "class", "ok"),
		lacks("llm_server_requests_total", "class", "unknown"), // The module counts them.
		has(1+n, "llm_server_request_duration_seconds_count"),
		has(1+n/2, "llm_server_time_to_first_token_seconds_count"), // Of streamed ones.
		above(1, "llm_server_request_duration_average_seconds"),    // The server's own times are milliseconds.
	)
}

func TestDoctorNamesMetricsModule(t *testing.T) {
	s := newLLMAPI(t, releases()[0], false, nil)
	s.start(t)
	found := doctor(t, s.tritonServer)
	require.Contains(t, found.stdout, "metric set C")
	require.Contains(t, found.stdout, "deploy/triton/llmapi")
}

func TestModelVersionsAreCountedSeparately(t *testing.T) {
	for _, decoupled := range []string{"true", "false"} {
		t.Run("decoupled: "+decoupled, func(t *testing.T) {
			s := newLLMAPI(t, releases()[0], true, settings{"iteration_ms": "40", "decoupled": decoupled})
			s.addVersion(t)
			if decoupled == "false" {
				config := s.repository + "/tensorrt_llm/config.pbtxt"
				edit(t, config, map[string]string{"decoupled: True": "decoupled: False"})
			}
			s.start(t)
			const requests = "llm_server_requests_total"
			l := watchTriton(t, s.tritonServer, time.Second, "window: 10s")
			l.plays(
				step{
					name: "requests of each version are counted, none twice",
					does: acts{func(l *life) {
						require.Zero(l.t, s.sendVersion(l.t, "1", 10), "failed requests")
						require.Zero(l.t, s.sendVersion(l.t, "2", 30), "failed requests")
					}},
					then: acts{shows(
						has(10, requests, "class", "ok", "version", "1", "model", "tensorrt_llm"),
						has(30, requests, "class", "ok", "version", "2", "model", "tensorrt_llm"),
						has(40, requests),
						has(40, "llm_server_request_duration_seconds_count"),
						above(0.1, "llm_server_request_duration_average_seconds"), // Its own times are milliseconds.
					)},
				},
				step{
					name: "a server is failing if all requests to the newest one fail",
					does: acts{func(l *life) {
						s.killStubs(l.t, 2)
						require.Equal(l.t, 25, s.sendVersion(l.t, "2", 25), "requests that failed")
					}},
					says: is("failing", avoid, 10*time.Second, ""),
					then: acts{shows(
						has(25, requests, "class", "server", "version", "2", "model", "tensorrt_llm"),
						has(25, "llm_server_requests_failed_total", "class", "server"),
						has(25, "llm_server_requests_failed_total", "reason", "backend", "version", "2"),
						has(65, requests),
						lacks("llm_server_requests_running"), // Nothing is made of gauges that are frozen.
					)},
				},
			)
		})
	}
}

// sendVersion sends n questions to a version of the model, and returns how many failed.
func (s *llmapiServer) sendVersion(t *testing.T, version string, n int) (failed int) {
	t.Helper()
	questions := make([]question, n)
	for i := range questions {
		questions[i] = ask(5, 5, false)
		questions[i].version = version
	}
	for _, seen := range s.sendAll(t, questions...) {
		if seen.status != http.StatusOK {
			failed++
		}
	}
	return failed
}
