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

// TestMetricsModule compares the page of a Triton whose LLM-API model has the metrics module
// with what clients saw. The module's own tests compare it with the engine.
func TestMetricsModule(t *testing.T) {
	s := newLLMAPI(t, releases()[0], true, settings{"iteration_ms": "40"})
	s.addModel(t, "pair", 2, true, nil)
	s.start(t)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"the families have their types", s.requireTypes},
		{"every token and request is counted", s.requireCounts},
		{"cancelled requests are not failures", s.requireCancelled},
		{"unload and load leave nothing frozen", s.requireReload},
		{"two instances have separate series", s.requireInstances},
	} {
		require.True(t, t.Run(step.name, step.run), "the next steps need this one: %s", step.name)
	}
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

func (s *llmapiServer) counted(p page) counted {
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

// settled waits until the page has the engine's last iteration and the expected counters.
func (s *llmapiServer) settled(t *testing.T, want counted) (p page) {
	t.Helper()
	await(t, 10*time.Second, func() string {
		p = s.page(t)
		if got := s.counted(p); !maps.Equal(got, want) {
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

func (s *llmapiServer) requireTypes(t *testing.T) {
	t.Helper()
	s.sendAll(t, ask(3, 2, true))
	p := s.settled(t, counted{"tokens": 2, "ok": 1})
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
		require.Equal(t, kind, p.types[family], family)
		require.NotEmpty(t, p.help[family], family)
	}
	require.Len(t, p.named("nv_llmapi_info", "module_version", "1", "tensorrt_llm_version", "1.0.0+standin"), 1)
}

func (s *llmapiServer) requireCounts(t *testing.T) {
	t.Helper()
	page := s.page(t)
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
	s.sendAll(t, questions...)
	after := s.settled(t, s.counted(page).more(counted{
		"tokens":   float64(tokens),
		"ok":       9,
		"server":   2,
		"client":   2,
		"overload": 1,
	}))
	const ended = "nv_llmapi_requests_ended_total"
	after.requires(
		t,
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

func (s *llmapiServer) requireCancelled(t *testing.T) {
	t.Helper()
	// Another request cancels one in the middle of its stream.
	before, made := s.counted(s.page(t)), s.tokensMade(t)
	stopped := ask(5, 400, true)
	stopped.id = "a"
	over := s.begin(t, stopped)
	within(t, 5*time.Second, "tokens come", func() bool { return s.tokensMade(t) > made+10 })
	s.sendAll(t, question{id: "a", stop: true})
	over.answered(t)
	want := before.more(counted{"tokens": s.tokensMade(t) - made, "canceled": 1})
	require.Less(t, want["tokens"], before["tokens"]+200)
	s.settled(t, want)

	// A client disconnects while no token is being sent: this release may crash if one
	// thread ends a stream while another sends, with or without the module.
	made = s.tokensMade(t)
	ctx, leave := context.WithTimeout(t.Context(), time.Second)
	defer leave()
	_, err := s.streamOf(ctx, "tensorrt_llm", ask(5, 400, true, "!freeze:2000"))
	require.Error(t, err)
	within(t, 5*time.Second, "the engine continues", func() bool { return s.tokensMade(t) > made })
	s.settled(t, want.more(counted{"tokens": 1, "canceled": 1}))
	require.Equal(t, made+1, s.tokensMade(t), "the engine noticed the disconnect")
}

func (s *llmapiServer) tokensMade(t *testing.T) float64 {
	t.Helper()
	return s.iteration(t).Tokens
}

func (s *llmapiServer) requireReload(t *testing.T) {
	t.Helper()
	before := s.counted(s.page(t))
	over := s.begin(t, ask(5, 40, true), ask(5, 40, false))
	s.shows(t, has(2, "nv_llmapi_requests_in_flight", "model", "tensorrt_llm"))
	s.unload(t, "tensorrt_llm")
	over.answered(t) // Requests in flight are completed.
	want := before.more(counted{"tokens": 80, "ok": 2})
	s.requireUnloaded(t, want)

	s.load(t, "tensorrt_llm")
	within(t, 5*time.Second, "the heartbeat is back", func() bool { return s.beats(t, "tensorrt_llm") })
	require.Equal(t, want, s.counted(s.page(t)), "counters go on from where they were")
	s.sendAll(t, ask(5, 10, true))
	s.settled(t, want.more(counted{"tokens": 10, "ok": 1}))
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
	require.Equal(t, want, s.counted(p))
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

func (s *llmapiServer) requireInstances(t *testing.T) {
	t.Helper()
	s.load(t, "pair")
	for range 6 {
		tokens, err := s.streamOf(t.Context(), "pair", ask(5, 10, true))
		require.NoError(t, err)
		require.Equal(t, 10, tokens)
	}
	s.shows(t, has(60, "nv_llmapi_generation_tokens_total", "model", "pair"))
	for _, instance := range []string{"pair_0_0", "pair_0_1"} {
		require.True(t, s.beats(t, "pair", "model_instance", instance))
	}
	// One instance needs no label.
	s.page(t).requires(t, lacks("nv_llmapi_info", "model", "tensorrt_llm", "model_instance", "tensorrt_llm_0_0"))
	s.unload(t, "pair")
}
