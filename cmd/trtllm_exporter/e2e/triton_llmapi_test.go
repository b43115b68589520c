//go:build e2e_triton && linux

package e2e

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// TestMetricsModule compares what clients saw with the page of a Triton whose LLM-API model has the
// metrics module, and with what is derived from it. The module's own tests compare it with the engine.
func TestMetricsModule(t *testing.T) {
	s := newLLMAPI(t, releases()[0], true, settings{"iteration_ms": "40"})
	s.addModel(t, "pair", 2, true, nil)
	s.start(t)
	s.sendAll(t, ask(3, 2, true)) // An engine that never ran has no iterations.
	s.settled(t, counted{"tokens": 2, "ok": 1})
	found := doctor(t, s.tritonServer)
	require.Equal(t, []string{"gpu"}, missing(found), "a machine without a GPU")
	require.Contains(t, found.stdout, "metric set E")
	require.Contains(t, found.stdout, "live_tokens  yes")

	const global = "window: 10s, stall_after: 3s"
	l := watchTriton(t, s.tritonServer, time.Second, global)
	var asks *life
	var stop func()
	var frozen *crowd
	var before counted
	l.plays(
		step{
			name: "a server is ready, and its families have their types",
			says: is("ready", keep, ""),
			then: acts{s.typed},
		},
		step{
			name: "what runs, waits and ends is what clients know",
			does: acts{s.crowded},
		},
		step{
			name: "every token and request is counted, cancelled ones not as failures",
			does: acts{s.counts, s.cancels},
		},
		step{
			name: "a server whose requests all fail is failing",
			does: acts{func(l *life) {
				//nolint:contextcheck // A disconnect may crash Triton.
				stop = repeat(l.whole, 300*time.Millisecond, func(context.Context) {
					s.begin(l.whole, ask(5, 5, true, "!boom")).wait()
				})
			}},
			says: is("failing", avoid, ""),
			then: acts{shows(above(0, "llm_server_request_error_ratio", "class", "server"))},
		},
		step{
			name: "it is ready after one that ended well",
			does: acts{func(l *life) {
				stop()
				s.sendAll(l.t, ask(5, 5, true))
			}},
			says: is("ready", keep, ""),
		},
		step{
			name: "a server whose executor is frozen is suspected if nobody asks, and stalled if a question hangs too",
			does: acts{func(l *life) {
				asks = watchTriton(t, s.tritonServer, time.Second, global,
					"canary: { confirm: true, first_token_timeout: 2s }")
				asks.t = l.t
				asks.hears(is("ready", keep, ""))
				asks.happened = time.Now()
				frozen = s.begin(l.whole, ask(5, 10, true, "!freeze:12000"), ask(5, 10, true))
				asks.hears(is("stalled", restart, ""))
			}},
			says: stays(suspected, keep, ""),
		},
		step{
			name: "both are ready when it goes on",
			does: acts{func(l *life) {
				frozen.answered(l.t)
				asks.t, asks.happened = l.t, time.Now()
				asks.hears(is("ready", keep, ""))
			}},
			says: stays("ready", keep, ""),
		},
	)
	// With the usual stall_after, which is longer than it takes to load.
	watchTriton(t, s.tritonServer, time.Second, "window: 10s").plays(
		step{
			name: "a server whose LLM is unloaded completes what it has and is unserved, and nothing frozen is left",
			does: acts{func(l *life) { before = s.unloadsBusy(l.t) }},
			says: is("unserved", avoid, ""),
			then: acts{
				func(l *life) { s.requireUnloaded(l.t, before) },
				shows(
					lacks("llm_server_requests_running"),
					// The server's software is the same without the model.
					has(1, "llm_server_info", "trtllm_version", "1.0.0+standin"),
				),
			},
		},
		step{
			name: "it is ready when that is loaded again, and its counters go on",
			does: acts{func(l *life) { s.load(l.t, "tensorrt_llm") }},
			says: is("ready", keep, ""),
			then: acts{func(l *life) { s.goesOn(l.t, before) }},
		},
		step{
			name: "two instances have separate series",
			does: acts{s.instances},
		},
	)
	require.Zero(t, s.logged(t, ""), "the module reported nothing missing and no error")
}

// TestMetricsModuleWithoutHistograms uses a release without custom histograms, which streams over
// gRPC only.
func TestMetricsModuleWithoutHistograms(t *testing.T) {
	s := newLLMAPI(t, releases()[1], true, settings{"iteration_ms": "20"})
	s.start(t)
	for range 3 {
		tokens, err := s.streamOf(t.Context(), "tensorrt_llm", ask(5, 8, true))
		require.NoError(t, err)
		require.Equal(t, 8, tokens)
	}
	s.settled(t, counted{"tokens": 24, "ok": 3}).requires(
		t,
		has(15, "nv_llmapi_prompt_tokens_total"),
		has(3, "nv_llmapi_time_to_first_token_seconds_count"),
		has(3, "nv_llmapi_time_to_first_token_seconds_bucket", "le", "+Inf"),
		has(21, "nv_llmapi_inter_token_latency_seconds_count"),
		has(8, "nv_trt_llm_request_metrics", "request_type", "max"),
		lacks("nv_llm_output_token_len_count"),
		has(0, "nv_llmapi_module_errors_total"),
	)
	require.Equal(t, 1, s.logged(t, "no custom histograms"))
}

// counted holds the numbers of requests that ended by class, and of "tokens", since the start of the
// server.
type counted map[string]float64

func countedOn(p page) counted {
	c := counted{"tokens": p.sum("nv_llmapi_generation_tokens_total", "model", "tensorrt_llm")}
	for _, series := range p.named("nv_llmapi_requests_ended_total", "model", "tensorrt_llm") {
		if series.value > 0 {
			c[series.labels.Get("class")] += series.value
		}
	}
	return c
}

func (c counted) more(more counted) counted {
	sum := maps.Clone(c)
	for what, n := range more {
		sum[what] += n
	}
	return sum
}

// settled waits until the page has the engine's last iteration and the expected counters, or any
// counters if none are expected.
func (s *llmapiServer) settled(t *testing.T, want counted) (p page) {
	t.Helper()
	await(t, patience, func() string {
		p = s.page(t)
		if got := countedOn(p); want != nil && !maps.Equal(got, want) {
			return fmt.Sprintf("the module counts: wanted %v, got %v", want, got)
		}
		return p.wrong(
			has(0, "nv_llmapi_requests_in_flight", "model", "tensorrt_llm"),
			has(s.iteration(t).Iter, "nv_trt_llm_general_metrics",
				"general_type", "iteration_counter", "model", "tensorrt_llm"),
		)
	})
	return p
}

func (s *llmapiServer) typed(l *life) {
	p := s.page(l.t)
	for family, kind := range map[string]model.MetricType{
		"nv_trt_llm_request_metrics":                   model.MetricTypeGauge,
		"nv_trt_llm_runtime_memory_metrics":            model.MetricTypeGauge,
		"nv_trt_llm_kv_cache_block_metrics":            model.MetricTypeGauge,
		"nv_trt_llm_inflight_batcher_metrics":          model.MetricTypeGauge,
		"nv_trt_llm_general_metrics":                   model.MetricTypeGauge,
		"nv_llm_input_token_len":                       model.MetricTypeHistogram,
		"nv_llm_output_token_len":                      model.MetricTypeHistogram,
		"nv_llmapi_heartbeat_timestamp_seconds":        model.MetricTypeGauge,
		"nv_llmapi_requests_ended_total":               model.MetricTypeCounter,
		"nv_llmapi_time_to_first_token_seconds_bucket": model.MetricTypeCounter,
	} {
		require.Equal(l.t, kind, p.types[family], family)
		require.NotEmpty(l.t, p.help[family], family)
	}
	p.requires(l.t, has(1, "nv_llmapi_info", "module_version", "1", "tensorrt_llm_version", "1.0.0+standin"))
}

func (s *llmapiServer) counts(l *life) {
	page := s.settled(l.t, nil)
	questions := []question{
		ask(5, 9, false, "!stop:4"),
		ask(5, 9, true, "!stop:4"),
		ask(5, 9, true, "!fail:3"),
		ask(5, 9, false, "!timeout:3"),
		ask(5, 9, true, "!boom"),
		ask(600, 9, false),
		ask(5, 0, true),
		ask(5, 1, true),
	}
	tokens, prompts := 4+4+2+3+1, 4*6+5
	for i := range 6 {
		questions = append(questions, ask(10, 10+i, i%2 == 0))
		tokens, prompts = tokens+10+i, prompts+10
	}
	s.sendAll(l.t, questions...)
	after := s.settled(l.t, countedOn(page).more(counted{
		"tokens":   float64(tokens),
		"ok":       9,
		"server":   2,
		"client":   2,
		"overload": 1,
	}))
	const ended = "nv_llmapi_requests_ended_total"
	after.requires(
		l.t,
		page.more(prompts, "nv_llmapi_prompt_tokens_total"),
		page.more(tokens, "nv_llm_output_token_len_sum"),
		page.more(11, "nv_llm_output_token_len_count"), // All that the engine took.
		page.more(11, "nv_llm_input_token_len_count"),
		page.more(2, ended, "class", "ok", "finish_reason", "stop"),
		page.more(7, ended, "class", "ok", "finish_reason", "length"),
		page.more(6, "nv_llmapi_time_to_first_token_seconds_count"), // Of streams that had one.
		page.more(3+1+9+11+13, "nv_llmapi_inter_token_latency_seconds_count"),
		page.more(9, "nv_llmapi_request_duration_seconds_count"),
		has(0, "nv_llmapi_module_errors_total"),
	)
}

func (s *llmapiServer) cancels(l *life) {
	t := l.t
	// Another request cancels one in the middle of its stream.
	before, made := countedOn(s.settled(t, nil)), s.tokensMade(t)
	stopped := ask(5, 400, true)
	stopped.id = "a"
	over := s.begin(t, stopped)
	within(t, patience, "tokens come", func() bool { return s.tokensMade(t) > made+10 })
	s.sendAll(t, question{id: "a", stop: true})
	over.answered(t)
	want := before.more(counted{"tokens": s.tokensMade(t) - made, "canceled": 1})
	require.Less(t, want["tokens"], before["tokens"]+200)
	s.settled(t, want)

	// A client disconnects while no token is being sent: this release may crash if one
	// thread ends a stream while another sends, with or without the module.
	made = s.tokensMade(t)
	leaves := startCrowd(t, 1, func(ctx context.Context, _ int) (none outcome, err error) {
		_, err = s.streamOf(ctx, "tensorrt_llm", ask(5, 400, true, "!freeze:5000"))
		return none, err
	})
	s.shows(t, has(1, "nv_llmapi_requests_in_flight", "model", "tensorrt_llm"))
	leaves.leave()
	require.NotEmpty(t, leaves.errs, "the stream ended by itself")
	within(t, patience, "the engine continues", func() bool { return s.tokensMade(t) > made })
	s.settled(t, want.more(counted{"tokens": 1, "canceled": 1}))
	require.Equal(t, made+1, s.tokensMade(t), "the engine noticed the disconnect")
}

func (s *llmapiServer) tokensMade(t *testing.T) float64 {
	t.Helper()
	return s.iteration(t).Tokens
}

// unloadsBusy unloads the LLM during two requests, and returns what was counted then.
func (s *llmapiServer) unloadsBusy(t *testing.T) counted {
	t.Helper()
	before := countedOn(s.settled(t, nil))
	over := s.begin(t, ask(5, 40, true), ask(5, 40, false))
	s.shows(t, has(2, "nv_llmapi_requests_in_flight", "model", "tensorrt_llm"))
	s.unload(t, "tensorrt_llm")
	over.answered(t)
	return before.more(counted{"tokens": 80, "ok": 2})
}

// goesOn requires that the counters of a loaded model go on, and that its gauges are back.
func (s *llmapiServer) goesOn(t *testing.T, before counted) {
	t.Helper()
	within(t, patience, "the heartbeat is back", func() bool { return s.beats(t, "tensorrt_llm") })
	require.Equal(t, before, countedOn(s.page(t)))
	s.sendAll(t, ask(5, 10, true))
	s.settled(t, before.more(counted{"tokens": 10, "ok": 1}))
	s.shows(t, has(8, "nv_trt_llm_request_metrics", "request_type", "max"))
}

// beats reports whether a model's heartbeat is recent.
func (s *llmapiServer) beats(t *testing.T, name string, pairs ...string) bool {
	t.Helper()
	beat := s.page(t).only(t, "nv_llmapi_heartbeat_timestamp_seconds", append([]string{"model", name}, pairs...)...)
	return beat > float64(time.Now().Add(-5*time.Second).Unix())
}

// requireUnloaded requires that an unloaded model keeps its counters and has no gauges.
func (s *llmapiServer) requireUnloaded(t *testing.T, want counted) {
	t.Helper()
	p := s.page(t)
	require.Equal(t, want, countedOn(p))
	gauges := 0
	for _, key := range p.order {
		series := p.samples[key]
		name := series.labels.Get(model.MetricNameLabel)
		if p.types[name] == model.MetricTypeGauge && series.labels.Get("model") == "tensorrt_llm" {
			require.Zero(t, series.value, key)
			gauges++
		}
	}
	require.Greater(t, gauges, 20)
}

func (s *llmapiServer) instances(l *life) {
	t := l.t
	s.load(t, "pair")
	for range 6 {
		tokens, err := s.streamOf(t.Context(), "pair", ask(5, 10, true))
		require.NoError(t, err)
		require.Equal(t, 10, tokens)
	}
	s.shows(t, has(60, "nv_llmapi_generation_tokens_total", "model", "pair"))
	for _, instance := range []string{"pair_0_0", "pair_0_1"} {
		within(t, patience, instance+" beats", func() bool { return s.beats(t, "pair", "model_instance", instance) })
	}
	// One instance needs no label.
	s.page(t).requires(t, lacks("nv_llmapi_info", "model", "tensorrt_llm", "model_instance", "tensorrt_llm_0_0"))
	s.unload(t, "pair")
}

// crowded sends twelve questions, of which four run at once, and compares what is derived.
func (s *llmapiServer) crowded(l *life) {
	const n, words, tokens = 12, 10, 60
	questions := make([]question, n)
	for i := range questions {
		questions[i] = ask(words, tokens, i%2 == 0)
	}
	before := l.page()
	over := s.begin(l.t, questions...)
	l.shows(
		has(slots, "llm_server_requests_running"),
		has(n-slots, "llm_server_queue_depth"),
		has(n, "llm_server_requests_active"),
	)
	l.shows(above(0, "llm_server_generation_tokens_per_second"))
	over.answered(l.t)
	l.shows(
		before.more(n*tokens, "llm_server_generation_tokens_total"),
		before.more(n*words, "llm_server_prompt_tokens_total"),
		before.more(n, "llm_server_requests_total", "class", "ok"),
		lacks("llm_server_requests_total", "class", "unknown"), // The module counts them.
		before.more(n, "llm_server_request_duration_seconds_count"),
		before.more(n/2, "llm_server_time_to_first_token_seconds_count"), // Of streamed ones.
		above(1, "llm_server_request_duration_average_seconds"),          // The server's own times are milliseconds.
	)
}
