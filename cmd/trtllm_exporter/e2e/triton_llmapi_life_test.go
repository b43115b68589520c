//go:build e2e_triton && linux

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// pulse are the numbers that say whether others are of the present.
type pulse struct{ heartbeat, iterations, flight float64 }

func (s *llmapiServer) pulse(t *testing.T) pulse {
	t.Helper()
	p := s.page(t)
	return pulse{
		heartbeat:  p.only(t, "nv_llmapi_heartbeat_timestamp_seconds", "model", "tensorrt_llm"),
		iterations: p.only(t, "nv_llmapi_iterations_total", "model", "tensorrt_llm"),
		flight:     p.only(t, "nv_llmapi_requests_in_flight", "model", "tensorrt_llm"),
	}
}

func testLLMAPIFrozen(t *testing.T, s *llmapiServer) {
	t.Helper()
	before := s.counted(t)
	over := s.background(t, ask(5, 10, true, "!freeze:6000"), ask(5, 10, true))
	within(t, 5*time.Second, "the requests are in flight", func() bool { return s.pulse(t).flight == 2 })
	pause(t.Context(), sampling) // What was done before the freeze is on the page.
	frozen := s.pulse(t)
	pause(t.Context(), 2*time.Second)
	later := s.pulse(t)
	require.Equal(t, frozen.iterations, later.iterations)
	require.Equal(t, 2.0, later.flight)
	require.Greater(t, later.heartbeat, frozen.heartbeat+1, "the reader lives")
	require.NoError(t, <-over)
	s.settled(t, before.more(20, map[string]float64{"ok": 2}))
	within(t, 5*time.Second, "iterations go on", func() bool { return s.pulse(t).iterations >= frozen.iterations+9 })
}

func testLLMAPICancelled(t *testing.T, s *llmapiServer) {
	t.Helper()
	// Another request stops one in the middle of its stream.
	before, made := s.counted(t), s.tokensMade(t)
	stopped := ask(5, 400, true)
	stopped.id = "a"
	over := s.background(t, stopped)
	within(t, 5*time.Second, "tokens come", func() bool { return s.tokensMade(t) > made+10 })
	s.sendAll(t, question{id: "a", stop: true})
	require.NoError(t, <-over)
	want := before.more(s.tokensMade(t)-made, map[string]float64{"canceled": 1})
	require.Less(t, want.tokens, before.tokens+200)
	s.settled(t, want)

	// A client leaves. No token is on its way then: Triton of this release may
	// die where one thread ends a stream and another sends, module or not.
	made = s.tokensMade(t)
	ctx, leave := context.WithTimeout(t.Context(), time.Second)
	defer leave()
	_, err := s.streamOf(ctx, "tensorrt_llm", ask(5, 400, true, "!freeze:2000"))
	require.Error(t, err)
	within(t, 5*time.Second, "the engine goes on", func() bool { return s.tokensMade(t) > made })
	s.settled(t, want.more(1, map[string]float64{"canceled": 1}))
	require.Equal(t, made+1, s.tokensMade(t), "the engine learned that the client left")
}

// tokensMade returns how many tokens the engine has made.
func (s *llmapiServer) tokensMade(t *testing.T) float64 {
	t.Helper()
	done := s.truth(t, "tensorrt_llm")
	return done[len(done)-1].Tokens
}

func testLLMAPIReload(t *testing.T, s *llmapiServer) {
	t.Helper()
	before := s.counted(t)
	over := s.background(t, ask(5, 40, true), ask(5, 40, false))
	within(t, 5*time.Second, "the requests are in flight", func() bool { return s.pulse(t).flight == 2 })
	s.unload(t, "tensorrt_llm")
	require.NoError(t, <-over, "requests in flight are served to their end")
	want := before.more(80, map[string]float64{"ok": 2})
	s.requireUnloaded(t, want)

	s.load(t, "tensorrt_llm")
	within(t, 5*time.Second, "the heartbeat is back", func() bool { return s.pulse(t).heartbeat > seconds(time.Now().Add(-5*time.Second)) })
	require.Equal(t, want, s.counted(t), "counters go on from where they were")
	s.sendAll(t, ask(5, 10, true))
	s.settled(t, want.more(10, map[string]float64{"ok": 1}))
	within(t, 5*time.Second, "gauges are back", func() bool {
		return s.page(t).only(t, "nv_trt_llm_request_metrics", "request_type", "max") == 8
	})
}

// requireUnloaded requires that an unloaded model's counters are the last and that
// no gauge of it says anything of the present.
func (s *llmapiServer) requireUnloaded(t *testing.T, want counted) {
	t.Helper()
	p := s.page(t)
	require.Equal(t, want, s.counted(t))
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

func testLLMAPIInstances(t *testing.T, s *llmapiServer) {
	t.Helper()
	s.load(t, "pair")
	for range 6 {
		tokens, err := s.streamOf(t.Context(), "pair", ask(5, 10, true))
		require.NoError(t, err)
		require.Equal(t, 10, tokens)
	}
	within(t, 5*time.Second, "both instances' tokens are counted", func() bool {
		sum := 0.0
		for _, series := range s.page(t).named("nv_llmapi_generation_tokens_total", "model", "pair") {
			sum += series.value
		}
		return sum == 60
	})
	p := s.page(t)
	for _, instance := range []string{"pair_0_0", "pair_0_1"} {
		alive := p.only(t, "nv_llmapi_heartbeat_timestamp_seconds", "model", "pair", "model_instance", instance)
		require.Greater(t, alive, seconds(time.Now().Add(-5*time.Second)))
	}
	require.Empty(t, p.named("nv_llmapi_info", "model", "tensorrt_llm", "model_instance", "tensorrt_llm_0_0"), "one instance needs no label")
	s.unload(t, "pair")
}

func testLLMAPIDead(t *testing.T, s *llmapiServer) {
	t.Helper()
	before := s.counted(t)
	over := s.background(t, ask(5, 400, true), ask(5, 400, false))
	within(t, 5*time.Second, "the requests are in flight", func() bool { return s.pulse(t).flight == 2 })
	for _, r := range s.sendAll(t, ask(5, 10, true, "!die"), ask(5, 10, true)) {
		require.Contains(t, string(r.body), "the executor process is gone")
	}
	require.NoError(t, <-over)
	within(t, 5*time.Second, "all of them are the server's failures", func() bool {
		return s.counted(t).ended["server"] == before.ended["server"]+4
	})
	within(t, 5*time.Second, "none is in flight", func() bool { return s.pulse(t).flight == 0 })
	require.Equal(t, before.ended["ok"], s.counted(t).ended["ok"])
	pause(t.Context(), sampling)
	dead := s.pulse(t)
	s.sendAll(t, ask(5, 10, true))
	pause(t.Context(), sampling)
	require.Equal(t, dead.iterations, s.pulse(t).iterations)

	s.unload(t, "tensorrt_llm")
	s.load(t, "tensorrt_llm")
	was := s.counted(t)
	s.sendAll(t, ask(5, 10, true))
	s.settled(t, was.more(10, map[string]float64{"ok": 1}))
}

func testLLMAPIKilled(t *testing.T, s *llmapiServer) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = s.send(ctx, ask(5, 400, false)) // It would never end.
	}()
	within(t, 5*time.Second, "the request is in flight", func() bool { return s.pulse(t).flight == 1 })
	s.killStubs(t, 1)
	leave()
	<-over
	frozen := s.pulse(t)
	require.Equal(t, 1.0, frozen.flight, "what the page says of the present is frozen")
	pause(t.Context(), 2*sampling)
	require.Equal(t, frozen, s.pulse(t), "and so is the heartbeat")
}
