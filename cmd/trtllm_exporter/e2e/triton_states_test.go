//go:build e2e_triton && linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// questionInterval is how often the exporter asks for all but health, which it asks for at each scrape.
const questionInterval = 2 * time.Second

// TestTritonStates requires that each state is detected, and that no other is.
func TestTritonStates(t *testing.T) {
	t.Parallel()
	newest, oldest := releases()[0], releases()[1]
	for _, c := range []struct {
		name    string
		release release
		flags   []string
		// steps follow the start of the server.
		steps func(l *life, s *tritonServer) []step
		// The only states of the replica.
		states []string
	}{
		{"the processes of its models die", newest, nil, stubsDie, []string{"unknown", "ready", "failing"}},
		{
			"a model is unloaded and reloaded", newest,
			[]string{"--model-control-mode=explicit", "--load-model=*"},
			reloads,
			[]string{"unknown", "ready", "not_ready", "unserved", "not_ready", "ready"},
		},
		{"it ends with a stream in flight", newest, nil, drains, []string{"unknown", "ready", "draining", "down"}},
		{"an old one ends", oldest, nil, drains, []string{"unknown", "ready", "draining", "down"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newTriton(t, c.release)
			// A model whose process died answers one request a second.
			l := watchTriton(t, s, scrapeInterval, "failing_min: 3")
			l.always = func(p page) {
				requireWithinCapacity(l.t, p)
				p.requires(l.t, has(0, "trtllm_exporter_target_restarts_total"))
			}
			l.plays(append(starts(s, c.flags...), c.steps(l, s)...)...)
			require.Equal(t, c.states, l.exporter.history(t, "r0"), "states of the replica")
		})
	}
}

// watchTriton starts an exporter for a server that may not run yet.
func watchTriton(t *testing.T, s *tritonServer, interval time.Duration, global string, keys ...string) *life {
	t.Helper()
	keys = append([]string{"identity_interval: " + questionInterval.String()}, keys...)
	return watch(t, startPool(t, interval, global, s.address(), keys...), s.server)
}

// starts returns the beginning of every life.
func starts(s *tritonServer, flags ...string) []step {
	return []step{
		{
			name: "a server that loads its models, with both ports closed, is unknown",
			does: acts{launch(s.server, flags...), func(l *life) {
				require.Zero(l.t, s.status(l.t, "/v2/health/ready"))
				require.False(l.t, s.showsPage(l.t), "there is no page before the server is up")
			}},
			says: is("unknown", avoid, "nothing listens, and this exporter has never seen it up; "+
				"servers open their ports when their models are loaded"),
		},
		{
			name: "a server that has loaded them is ready",
			does: acts{serve(s.server)},
			says: is("ready", keep, "the API answers 200"),
			then: acts{
				models(map[string]string{
					"ensemble":         "ready",
					"preprocessing":    "ready",
					"tensorrt_llm":     "ready",
					"postprocessing":   "ready",
					"tensorrt_llm_bls": "ready",
				}),
				shows(has(1, "llm_server_info",
					"engine_version", s.release.triton, "trtllm_version", s.release.trtllm)),
			},
		},
	}
}

// stubsDie returns what happens when all requests to a server fail that reports ready.
func stubsDie(_ *life, s *tritonServer) []step {
	short := request{words: 3, tokens: 2}
	scheduled := has(1, "nv_trt_llm_request_metrics", "request_type", "scheduled")
	return []step{
		{
			name: "it serves, and a long stream runs",
			does: acts{load(4, 5, 20), complete, exposes(s.server, idle())},
			then: acts{
				func(l *life) { s.crowd(l.whole, 1, request{words: 5, tokens: 2000}) },
				exposes(s.server, scheduled), // The exporter may still show one of those before.
				running(1),
			},
		},
		{
			name: "the processes of its models die: it is failing, although it reports ready",
			does: acts{
				func(l *life) { s.killStubs(l.t, modelProcesses) },
				func(l *life) { require.Contains(l.t, s.once(l.t, short).failure, "is not healthy") },
				func(l *life) {
					repeat(l.whole, 100*time.Millisecond, func(ctx context.Context) { _, _ = s.stream(ctx, 0, short) })
				},
			},
			says: is("failing", avoid,
				"all requests to ensemble are failing, although its API reports ready"),
			then: acts{
				answering(s.server, "/v2/health/live", http.StatusOK, 0),
				answering(s.server, "/v2/health/ready", http.StatusOK, 0),
				answering(s.server, "/v2/models/ensemble/ready", http.StatusOK, 0),
				answering(s.server, "/v2/models/tensorrt_llm/ready", http.StatusOK, 0),
				shows(
					has(1, "llm_server_ready"),
					has(80, "llm_server_generation_tokens_total"),
					above(0, "llm_server_requests_failed_total", "model", "ensemble", "reason", "other"),
				),
			},
		},
		{
			name: "nothing is made of gauges that are frozen",
			does: acts{
				exposes(s.server, scheduled),
				func(l *life) {
					await(l.t, patience, func() string { return strings.Join(executorGauges(l.page()), " ") })
				},
			},
			then: acts{shows(has(1, "llm_server_source_anomaly", "check", "stale_gauges"))},
		},
		{
			name: "it is failing as long as requests fail",
			does: acts{func(l *life) {
				for range 2 * questionInterval / scrapeInterval {
					require.Equal(l.t, "failing", l.shown("r0"), "state")
					pause(l.t.Context(), scrapeInterval/2)
				}
			}},
		},
	}
}

// once sends a request, which must get an answer.
func (s *tritonServer) once(t *testing.T, r request) outcome {
	t.Helper()
	seen, err := s.stream(t.Context(), 0, r)
	require.NoError(t, err)
	return seen
}

// executors returns the names of series on a page that tell the state of the executor.
func executors(p page) (names []string) {
	begins := regexp.MustCompile(
		"^llm_server_(batch_size|disaggregated|engine_|generation_|inter_token|iteration_|kv_cache_|prompt_|queue_depth|" +
			"request_generation_tokens|request_prompt_tokens|requests_active|requests_decode|requests_fill|requests_limit|" +
			"requests_paused|requests_prefill|requests_running|requests_waiting|saturat|tokens_)",
	)
	for _, s := range p.samples {
		if name := s.labels.Get(model.MetricNameLabel); begins.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// executorGauges returns those of its current state.
func executorGauges(p page) (names []string) {
	for _, name := range executors(p) {
		if strings.HasPrefix(name, "llm_server_requests_") || strings.HasPrefix(name, "llm_server_saturat") ||
			name == "llm_server_queue_depth" {
			names = append(names, name)
		}
	}
	return names
}

// models waits until the page shows these states of models.
func models(want map[string]string) act {
	return func(l *life) {
		var wanted []value
		for name, state := range want {
			wanted = append(wanted,
				has(1, "llm_server_model_state", "model", name, "state", state),
				has(1, "llm_server_model_state", "model", name)) // No other state holds.
		}
		l.shows(wanted...)
	}
}

// reloads returns what happens when a model is unloaded, which leaves half of its series on the page,
// and loaded again.
func reloads(l *life, s *tritonServer) []step {
	const streams, tokens, before, delaying = 6, 50, 3*5 + 6*50, 1000
	var completed []float64
	always := l.always
	l.always = func(p page) {
		always(p)
		for _, s := range p.named("llm_server_requests_total", "model", "ensemble", "class", "ok") {
			completed = append(completed, s.value)
		}
	}
	return []step{
		{
			name: "tokens are counted",
			does: acts{func(l *life) {
				for range 3 {
					require.Empty(l.t, s.once(l.t, request{words: 3, tokens: 5, model: "tensorrt_llm_bls"}).failure)
				}
			}, load(streams, 10, tokens), complete},
			then: acts{
				shows(has(before, "llm_server_generation_tokens_total")),
				func(l *life) { require.NotEmpty(l.t, executors(l.page())) },
			},
		},
		{
			name: "a model that is being unloaded, which a stream delays for ten seconds, is not ready",
			does: acts{
				load(1, 10, delaying),
				exposes(s.server, active(1)),
				post(s.server, "/v2/repository/models/tensorrt_llm/unload"),
				indexed(s, "tensorrt_llm", "UNLOADING"),
				answering(s.server, "/v2/health/ready", http.StatusBadRequest, 0),
			},
			says: is("not_ready", avoid, "tensorrt_llm (unloading)"),
			then: acts{models(map[string]string{"tensorrt_llm": "unloading", "preprocessing": "ready"})},
		},
		{
			name: "a server without its LLM is unserved, although it reports ready",
			does: acts{complete, answering(s.server, "/v2/health/ready", http.StatusOK, patience)},
			says: is("unserved", avoid,
				"the server is ready but what clients call is not loaded: tensorrt_llm"),
			then: acts{
				indexed(s, "tensorrt_llm", "UNAVAILABLE unloaded"),
				indexed(s, "ensemble", "UNAVAILABLE unloaded"),
				models(map[string]string{
					"ensemble":         "unavailable",
					"tensorrt_llm":     "unavailable",
					"preprocessing":    "ready",
					"tensorrt_llm_bls": "ready",
				}),
				nothingDerived(s),
			},
		},
		{
			name: "a server with its LLM is ready",
			does: acts{
				post(s.server, "/v2/repository/models/tensorrt_llm/load"), // It returns when the model is loaded.
				answering(s.server, "/v2/health/ready", http.StatusOK, 0),
			},
			says: is("ready", keep, "the API answers 200"),
			then: acts{models(map[string]string{"ensemble": "ready", "tensorrt_llm": "ready"})},
		},
		{
			name: "the server's counters start from 0, and those of the model go on",
			does: acts{load(streams, 10, tokens), func(l *life) {
				for !l.load[0].over() {
					l.page()
					pause(l.t.Context(), scrapeInterval/4)
				}
			}, complete},
			then: acts{
				shows(
					has(before+delaying+streams*tokens, "llm_server_generation_tokens_total"),
					has(streams, "llm_server_requests_total", "model", "ensemble", "class", "ok"),
					// The other entry, which hands requests over, was never unloaded.
					has(3, "llm_server_requests_total", "model", "tensorrt_llm_bls", "class", "unknown"),
					some("llm_server_generation_tokens_per_second"),
					some("llm_server_queue_depth"),
					some("llm_server_requests_running"),
					some("llm_server_kv_cache_utilization_ratio"),
				),
				exposes(s.server,
					has(streams, "nv_inference_request_success", "model", "ensemble"),
					has(before+delaying+streams*tokens, "nv_llm_output_token_len_sum"),
				),
				func(l *life) {
					// The last request before the unload may have ended between two pages.
					require.InDelta(l.t, 2*streams+1, increase(completed), 1, "across the reset: %v", completed)
				},
			},
		},
	}
}

// nothingDerived requires that what the server exposes of an unloaded model is passed on, and that
// nothing is derived from it.
func nothingDerived(s *tritonServer) act {
	return func(l *life) {
		const executor = "nv_trt_llm_request_metrics"
		server, p := s.page(l.t), l.page()
		server.requires(l.t, lacks("nv_inference_request_success", "model", "tensorrt_llm"))
		p.requires(
			l.t,
			some("nv_inference_request_failure", "model", "tensorrt_llm"),
			some(executor, "model", "tensorrt_llm"),
		)
		remaining := server.named(executor, "model", "tensorrt_llm")
		require.Len(l.t, p.named(executor, "model", "tensorrt_llm"), len(remaining), executor)
		require.Empty(l.t, executors(p), "series from an unloaded model")
		found := 0
		for _, capability := range l.exporter.report(l.t).Caps {
			switch capability.Name {
			case "tokens", "running", "kv_cache":
				found++
				require.False(l.t, capability.OK, capability.Name)
				require.Equal(l.t, "model tensorrt_llm is not loaded", capability.Reason)
			}
		}
		require.Equal(l.t, 3, found, "capabilities")
	}
}

// increase returns the increase of a counter like Prometheus.
func increase(values []float64) (total float64) {
	for i := 1; i < len(values); i++ {
		total += values[i]
		if values[i] >= values[i-1] { // A counter that decreases started from 0.
			total -= values[i-1]
		}
	}
	return total
}

// drains returns what happens after SIGTERM, until the streams in flight have ended.
func drains(_ *life, s *tritonServer) []step {
	streams := 2
	if s.release.overGRPC { // They would never end.
		streams = 0
	}
	var full int
	var sizes []int
	return []step{
		{
			name: "it serves, and streams run",
			does: acts{load(4, 5, 20), complete, exposes(s.server, idle()), load(streams, 10, 1000)},
			then: acts{
				exposes(s.server, active(float64(streams))),
				func(l *life) { full = len(l.page().raw()) },
			},
		},
		{
			name: "it is draining after SIGTERM, when its API is ready no longer and its page still answers",
			does: acts{terminate(s.server), func(l *life) {
				within(l.t, patience, "the API is ready no longer", func() bool {
					return s.status(l.t, "/v2/health/ready") != http.StatusOK
				})
				require.True(l.t, s.showsPage(l.t), "its page answers")
			}},
			says: is("draining", avoid,
				s.release.draining+" while the page still answers: the server is shutting down"),
		},
		{
			name: "it is down when its streams have ended, as soon as without an exporter",
			does: acts{func(l *life) {
				sizes = sizesUntilEnd(l, s)
				l.happened = time.Now()
				complete(l)
				// Requests of the exporter that delayed the exit would do so until the server gives up.
				require.NotContains(l.t, s.tail(1000), "Exit timeout expired")
			}},
			says: is("down", avoid,
				"nothing listens any more: the server has stopped or is restarting"),
			then: acts{func(l *life) {
				require.Empty(l.t, l.page().raw())
				requireShrinking(l.t, sizes, full, streams > 0)
			}},
		},
	}
}

// sizesUntilEnd returns the numbers of the server's series on the exporter's page until it has ended.
func sizesUntilEnd(l *life, s *tritonServer) (sizes []int) {
	for ; s.showsPage(l.t); pause(l.t.Context(), scrapeInterval/5) {
		p := l.page()
		if p.only(l.t, "trtllm_exporter_target_up") == 1 {
			sizes = append(sizes, len(p.raw()))
			// A counter that is missing on the page was not reset.
			p.requires(l.t, has(0, "trtllm_exporter_target_counter_resets_total"))
		}
	}
	return sizes
}

// requireShrinking requires that a page shrinks only, and not before streams have ended.
func requireShrinking(t *testing.T, sizes []int, full int, withStreams bool) {
	t.Helper()
	require.NotEmpty(t, sizes)
	if withStreams {
		require.Equal(t, full, sizes[0], "nothing is unloaded while streams are in flight")
	}
	require.IsNonIncreasing(t, sizes)
	require.Less(t, sizes[len(sizes)-1], full, fmt.Sprint(sizes))
}
