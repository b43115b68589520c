//go:build e2e_triton && linux

package e2e

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// TestTritonStates requires that each state is detected within an interval of the
// exporter's requests.
func TestTritonStates(t *testing.T) {
	t.Parallel()
	newest, oldest := releases()[0], releases()[1]
	for _, c := range []struct {
		name    string
		release release
		flags   []string
		run     func(t *testing.T, s *tritonServer, w *watched)
		// The only states of the replica.
		states []string
	}{
		{"the processes of its models die", newest, nil, testStubsDie, []string{"unknown", "ready", "failing"}},
		{
			"a model is unloaded and reloaded", newest,
			[]string{"--model-control-mode=explicit", "--load-model=*"},
			testReload,
			[]string{"unknown", "ready", "not_ready", "unserved", "not_ready", "ready"},
		},
		{"it ends with a stream in flight", newest, nil, testDrain, []string{"unknown", "ready", "draining", "down"}},
		{"an old one ends", oldest, nil, testDrain, []string{"unknown", "ready", "draining", "down"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newTriton(t, c.release)
			w := watchStates(t, s)
			s.launch(t, c.flags...)
			started := time.Now()
			// While models load, neither port listens.
			require.Zero(t, s.status(t, "/v2/health/ready"))
			require.False(t, s.answers(t))
			r := w.waitFor(t, "unknown", started)
			require.Equal(t, "nothing listens, and this exporter has never seen it up; servers open their ports "+
				"when their models are loaded", r.Reason)
			ready := s.waitReady(t)
			r = w.waitFor(t, "ready", ready)
			require.Equal(t, "the API answers 200", r.Reason)
			w.models(t, ready, map[string]string{
				"ensemble":         "ready",
				"preprocessing":    "ready",
				"tensorrt_llm":     "ready",
				"postprocessing":   "ready",
				"tensorrt_llm_bls": "ready",
			})
			require.Len(
				t,
				w.page(t).
					named("llm_server_info", "engine_version", c.release.triton, "trtllm_version", c.release.trtllm),
				1,
			)
			c.run(t, s, w)
			require.Equal(t, c.states, w.history(t))
		})
	}
}

// testStubsDie requires that a server whose requests all fail is failing, although it reports
// ready.
func testStubsDie(t *testing.T, s *tritonServer, w *watched) {
	t.Helper()
	s.startLoad(t, 4, 5, 20).requireComplete(t)
	s.waitIdle(t)
	s.startLoad(t, 1, 5, 2000)
	s.waitBusy(t, 1)
	within(t, longest, "it runs", func() bool { return w.see(t).sum("llm_server_requests_running") == 1 })
	s.killStubs(t, modelProcesses)
	_, err := s.stream(t.Context(), "ensemble", 3, 2)
	require.ErrorContains(t, err, "is not healthy")
	failing := time.Now()
	repeat(t, 100*time.Millisecond, func(ctx context.Context) {
		_, _ = s.stream(ctx, "ensemble", 3, 2) // All fail; the first was examined.
	})
	r := w.waitFor(t, "failing", failing)
	require.Equal(t, "all requests to ensemble are failing, although its API reports ready", r.Reason)
	for _, path := range []string{
		"/v2/health/live", "/v2/health/ready", "/v2/models/ensemble/ready", "/v2/models/tensorrt_llm/ready",
	} {
		require.Equal(t, http.StatusOK, s.status(t, path), "readiness is wrong")
	}
	p := w.see(t)
	require.Equal(t, 1.0, p.only(t, "llm_server_ready"))
	require.Positive(t, p.only(t, "llm_server_requests_failed_total", "model", "ensemble", "reason", "other"))
	require.Equal(t, 80.0, p.only(t, "llm_server_generation_tokens_total"), "tokens generated before")
	require.Equal(
		t,
		1.0,
		s.page(t).only(t, "nv_trt_llm_request_metrics", "request_type", "scheduled"),
		"the server's gauge is frozen",
	)
	within(t, longest, "nothing is made of it", func() bool { return len(executorGauges(w.see(t))) == 0 })
	require.Equal(t, 1.0, w.see(t).only(t, "llm_server_source_anomaly", "check", "stale_gauges"))
	for end := time.Now().Add(questionInterval); time.Now().Before(end); pause(t.Context(), scrapeInterval/2) {
		w.see(t)
		require.Equal(t, []string{"failing"}, w.shown(t), "it stays so while requests fail")
	}
}

func executors(p page) []string {
	begins := regexp.MustCompile(
		"^llm_server_(batch_size|disaggregated|engine_|generation_|inter_token|iteration_|kv_cache_|prompt_|queue_depth|" +
			"request_generation_tokens|request_prompt_tokens|requests_active|requests_decode|requests_fill|requests_limit|" +
			"requests_paused|requests_prefill|requests_running|requests_waiting|saturat|tokens_)",
	)
	found := map[string]bool{}
	for _, s := range p.samples {
		if name := s.labels.Get(model.MetricNameLabel); begins.MatchString(name) {
			found[name] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

// testReload unloads a model, which leaves half of its series on the page, and loads it again.
func testReload(t *testing.T, s *tritonServer, w *watched) {
	t.Helper()
	const streams, tokens = 6, 50
	for range 3 {
		_, err := s.stream(t.Context(), "tensorrt_llm_bls", 3, 5)
		require.NoError(t, err)
	}
	s.startLoad(t, streams, 10, tokens).requireComplete(t)
	within(t, longest, "the tokens are counted", func() bool {
		return w.see(t).only(t, "llm_server_generation_tokens_total") == streams*tokens+15
	})
	require.NotEmpty(t, executors(w.page(t)))

	// A stream in flight delays the unload for three seconds.
	l := s.startLoad(t, 1, 10, 300)
	s.waitBusy(t, 1)
	s.post(t, "/v2/repository/models/tensorrt_llm/unload")
	going := time.Now()
	require.Equal(t, "UNLOADING", s.index(t)["tensorrt_llm"])
	require.Equal(t, http.StatusBadRequest, s.status(t, "/v2/health/ready"))
	r := w.waitFor(t, "not_ready", going)
	require.Contains(t, r.Reason, "tensorrt_llm (unloading)")
	w.models(t, going, map[string]string{"tensorrt_llm": "unloading", "preprocessing": "ready"})
	l.requireComplete(t)
	reloaded := within(
		t,
		longest,
		"the server is ready again",
		func() bool { return s.status(t, "/v2/health/ready") == http.StatusOK },
	)
	require.Equal(t, "UNAVAILABLE unloaded", s.index(t)["tensorrt_llm"])
	require.Equal(t, "UNAVAILABLE unloaded", s.index(t)["ensemble"])
	r = w.waitFor(t, "unserved", reloaded)
	require.Equal(t, "the server is ready but its LLM is not loaded: tensorrt_llm", r.Reason)
	p := w.models(t, reloaded, map[string]string{
		"ensemble":         "unavailable",
		"tensorrt_llm":     "unavailable",
		"preprocessing":    "ready",
		"tensorrt_llm_bls": "ready",
	})
	requireFrozen(t, s, w, p)

	s.post(t, "/v2/repository/models/tensorrt_llm/load") // It returns when the model is loaded.
	back := time.Now()
	require.Equal(t, http.StatusOK, s.status(t, "/v2/health/ready"))
	w.waitFor(t, "ready", back)
	w.models(t, back, map[string]string{"ensemble": "ready", "tensorrt_llm": "ready"})
	requireBack(t, s, w, streams, tokens)
}

func requireFrozen(t *testing.T, s *tritonServer, w *watched, p page) {
	t.Helper()
	server := s.page(t)
	require.Empty(t, server.named("nv_inference_request_success", "model", "tensorrt_llm"))
	remaining := p.named("nv_trt_llm_request_metrics", "model", "tensorrt_llm")
	require.Len(
		t,
		remaining,
		len(server.named("nv_trt_llm_request_metrics", "model", "tensorrt_llm")),
		"everything that the server exposes is passed on",
	)
	require.NotEmpty(t, remaining)
	require.NotEmpty(t, p.named("nv_inference_request_failure", "model", "tensorrt_llm"))
	require.Empty(t, executors(p), "nothing is derived from an unloaded model")
	for _, capability := range w.report(t).Caps {
		switch capability.Name {
		case "tokens", "running", "kv_cache":
			require.False(t, capability.OK, capability.Name)
			require.Equal(t, "model tensorrt_llm is not loaded", capability.Reason)
		}
	}
}

// requireBack requires that the server's counters start from 0, and the model's histograms
// continue.
func requireBack(t *testing.T, s *tritonServer, w *watched, streams, tokens int) {
	t.Helper()
	l := s.startLoad(t, streams, 10, tokens)
	for !l.over() {
		w.see(t)
		pause(t.Context(), scrapeInterval/4)
	}
	l.requireComplete(t)
	total := float64(2*streams*tokens + 300 + 15)
	within(
		t,
		longest,
		"the token counter continues",
		func() bool { return w.see(t).is(total, "llm_server_generation_tokens_total") },
	)
	p := w.see(t)
	server := s.page(t)
	require.Equal(
		t,
		float64(streams),
		server.only(t, "nv_inference_request_success", "model", "ensemble"),
		"the server's counters started from 0",
	)
	require.Equal(t, total, server.only(t, "nv_llm_output_token_len_sum"), "those of the model continued")
	require.Equal(t, float64(streams), p.only(t, "llm_server_requests_total", "model", "ensemble", "class", "ok"))
	require.Equal(
		t,
		3.0,
		p.only(t, "llm_server_requests_total", "model", "tensorrt_llm_bls", "class", "unknown"),
		"the other entry, which hands requests over, was never unloaded",
	)
	require.NotEmpty(t, executors(p))
	for _, name := range []string{
		"llm_server_generation_tokens_per_second", "llm_server_queue_depth", "llm_server_requests_running",
		"llm_server_kv_cache_utilization_ratio",
	} {
		require.Len(t, p.named(name), 1, "%s returns", name)
	}
	// The last request before the unload may have ended between two pages.
	require.InDelta(t, 2*streams+1, increase(w.requests), 1, "increase across the reset: %v", w.requests)
}

// testDrain requires that a server drains after SIGTERM until its streams have ended.
func testDrain(t *testing.T, s *tritonServer, w *watched) {
	t.Helper()
	s.startLoad(t, 4, 5, 20).requireComplete(t)
	s.waitIdle(t)
	streams := 0
	if s.release.histograms { // The gRPC streams of 2.36 never end in that case.
		streams = 2
	}
	l := s.startLoad(t, streams, 10, 400)
	s.waitBusy(t, streams)
	full := len(w.see(t).raw())
	require.NoError(t, syscall.Kill(s.cmd.Process.Pid, syscall.SIGTERM))
	stopped := time.Now()
	within(
		t,
		questionInterval,
		"the API is ready no longer",
		func() bool { return s.status(t, "/v2/health/ready") != http.StatusOK },
	)
	require.True(t, s.answers(t))
	r := w.waitFor(t, "draining", stopped)
	// While streams are in flight 2.51 listens but closes new connections at once; then it
	// refuses them. 2.36 answers until the end.
	why := "the API closes connections without an answer"
	if s.status(t, "/v2/health/live") != 0 {
		why = "the API reports that the server is no longer live"
		require.Equal(t, "2.36.0", s.release.triton)
	}
	require.Equal(t, why+" while the page still answers: the server is shutting down", r.Reason)
	var sizes []int
	for s.answers(t) {
		p := w.see(t)
		if p.only(t, "trtllm_exporter_target_up") == 1 {
			sizes = append(sizes, len(p.raw()))
			require.Zero(
				t,
				p.only(t, "trtllm_exporter_target_counter_resets_total"),
				"a counter missing on the page was not reset",
			)
		}
		pause(t.Context(), scrapeInterval/5)
	}
	ended := time.Now()
	l.requireComplete(t) // The streams were complete.
	// Streams take four seconds and unloading five: the exporter does not delay the exit
	// until its timeout of 30 s.
	require.Less(t, ended.Sub(stopped), longest)
	w.waitFor(t, "down", ended)
	// A last request of the exporter may hang.
	within(t, questionInterval, "nothing listens", func() bool {
		return strings.Contains(w.report(t).Reason, "nothing listens any more: the server has stopped or is restarting")
	})
	require.Empty(t, w.page(t).raw())
	require.NotEmpty(t, sizes)
	if streams > 0 {
		require.Equal(t, full, sizes[0], "nothing is unloaded while streams are in flight")
	}
	for i := range sizes[1:] {
		require.LessOrEqual(t, sizes[i+1], sizes[i], "the page only shrinks: %v", sizes)
	}
	require.Less(t, sizes[len(sizes)-1], full, "and did: %v", sizes)
}

// executorGauges returns the gauges of the executor's current state on a page.
func executorGauges(p page) []string {
	return slices.DeleteFunc(executors(p), func(name string) bool {
		return !strings.HasPrefix(name, "llm_server_requests_") && name != "llm_server_queue_depth" &&
			!strings.HasPrefix(name, "llm_server_saturat")
	})
}
