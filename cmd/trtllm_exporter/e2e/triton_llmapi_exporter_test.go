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
	s.settled(t, counted{tokens: 2, ended: map[string]float64{"ok": 1}})
	found := doctor(t, s.tritonServer)
	require.Equal(t, []string{"gpu"}, missing(found), "a machine without a GPU")
	require.Contains(t, found.stdout, "metric set E")
	require.Contains(t, found.stdout, "live_tokens  yes")

	const global = "scrape_interval: 1s, scrape_timeout: 1s, window: 10s, stall_after: 3s"
	e := startPool(t, global, s.metricsAddress(), "identity_interval: 2s")
	becomes := func(state string) {
		t.Helper()
		e.inState(t, "r0", state, 20*time.Second)
	}
	becomes("ready")
	ready, live := startProbe(t, e, "/-/replica/ready"), startProbe(t, e, "/-/replica/live")

	questions := make([]question, 12) // Four run, the others wait.
	for i := range questions {
		questions[i] = ask(10, 60, i%2 == 0)
	}
	over := s.begin(t, questions...)
	within(t, 10*time.Second, "four run, eight wait, tokens come", func() bool {
		p := e.page(t)
		live := p.named("llm_server_generation_tokens_per_second")
		return p.sum("llm_server_requests_running") == 4 && p.sum("llm_server_queue_depth") == 8 &&
			p.sum("llm_server_requests_active") == 12 && len(live) == 1 && live[0].value > 0
	})
	requireAnswered(t, over)
	within(t, 10*time.Second, "all is counted", func() bool {
		p := e.page(t)
		return p.sum("llm_server_generation_tokens_total") == 722 &&
			p.sum("llm_server_requests_total", "class", "ok") == 13
	})
	p := e.page(t)
	require.Equal(t, 123.0, p.only(t, "llm_server_prompt_tokens_total"))
	require.Equal(t, 13.0, p.only(t, "llm_server_request_duration_seconds_count"))
	require.Equal(t, 7.0, p.only(t, "llm_server_time_to_first_token_seconds_count"), "of streamed ones")
	require.Empty(t, p.named("llm_server_requests_total", "class", "unknown"), "the module counts them")
	require.Greater(
		t,
		p.only(t, "llm_server_request_duration_average_seconds"),
		1.0,
		"the server's own times are milliseconds",
	)

	began := time.Now()
	//nolint:contextcheck // A disconnect may crash Triton.
	stop := repeat(
		t,
		300*time.Millisecond,
		func(context.Context) { s.begin(t, ask(5, 5, true, "!boom")).wait() },
	)
	becomes("failing")
	ready.waitFor(t, http.StatusServiceUnavailable, "every request fails", began)
	require.Greater(t, e.page(t).sum("llm_server_request_error_ratio", "class", "server"), 0.0)
	stop()
	s.sendAll(t, ask(5, 5, true))
	becomes("ready")

	ready.waitFor(t, http.StatusOK, "it serves again", began)

	asks := startPool(
		t,
		global,
		s.metricsAddress(),
		"identity_interval: 2s",
		"canary: { confirm: true, first_token_timeout: 2s }",
	)
	asks.inState(t, "r0", "ready", 20*time.Second)
	began = time.Now()
	over = s.begin(t, ask(5, 10, true, "!freeze:12000"), ask(5, 10, true))
	asks.inState(t, "r0", "stalled", 20*time.Second)
	for _, path := range []string{"/-/replica/ready", "/-/replica/live"} {
		startProbe(t, asks, path).waitFor(t, http.StatusServiceUnavailable, "its executor is frozen", began)
	}
	require.True(t, e.report(t).Suspected, "nobody asked")
	requireAnswered(t, over)
	asks.inState(t, "r0", "ready", 20*time.Second)
	becomes("ready")
	live.never(t, http.StatusServiceUnavailable)

	began = time.Now()
	s.unload(t, "tensorrt_llm")
	becomes("unserved")
	ready.waitFor(t, http.StatusServiceUnavailable, "its LLM is not loaded", began)
	require.Empty(t, e.page(t).named("llm_server_requests_running"), "nothing frozen is left")
	for _, series := range e.page(t).named("llm_server_info") {
		require.Equal(
			t,
			"1.0.0+standin",
			series.labels.Get("trtllm_version"),
			"the server's software is the same without the model",
		)
	}
	s.load(t, "tensorrt_llm")
	becomes("ready")
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
				edit(
					t,
					s.repository+"/tensorrt_llm/config.pbtxt",
					map[string]string{"decoupled: True": "decoupled: False"},
				)
			}
			s.start(t)
			e := startPool(
				t,
				"scrape_interval: 1s, scrape_timeout: 1s, window: 10s",
				s.metricsAddress(),
				"identity_interval: 2s",
			)
			counts := func(class, version string, want float64) func() bool {
				return func() bool {
					return e.page(t).
						sum("llm_server_requests_total", "class", class, "version", version, "model", "tensorrt_llm") ==
						want
				}
			}
			s.sendVersion(t, "1", 10)
			s.sendVersion(t, "2", 30)
			within(t, 10*time.Second, "the first version has 10", counts("ok", "1", 10))
			within(t, 10*time.Second, "the second version has 30", counts("ok", "2", 30))
			p := e.page(t)
			require.Equal(t, 40.0, p.sum("llm_server_requests_total"), "none is counted twice")
			require.Equal(t, 40.0, p.only(t, "llm_server_request_duration_seconds_count"))
			require.Greater(
				t,
				p.only(t, "llm_server_request_duration_average_seconds"),
				0.1,
				"the server's own times are milliseconds",
			)

			s.killStubs(t, 2)
			require.Equal(t, 25, s.sendVersion(t, "2", 25), "clients are answered that the process is not there")
			within(t, 10*time.Second, "all 25 failed", counts("server", "2", 25))
			e.inState(t, "r0", "failing", 10*time.Second)
			p = e.page(t)
			require.Equal(t, 25.0, p.sum("llm_server_requests_failed_total", "class", "server"))
			require.Equal(t, 65.0, p.sum("llm_server_requests_total"))
			require.Equal(t, 25.0, p.only(t, "llm_server_requests_failed_total", "reason", "backend", "version", "2"))
			within(
				t,
				longest,
				"nothing is made of gauges that are frozen",
				func() bool { return len(e.page(t).named("llm_server_requests_running")) == 0 },
			)
		})
	}
}

func (s *llmapiServer) sendVersion(t *testing.T, version string, n int) (failed int) {
	t.Helper()
	questions := make([]question, n)
	for i := range questions {
		questions[i] = ask(5, 5, false)
		questions[i].version = version
	}
	for _, status := range s.sendAll(t, questions...) {
		if status != http.StatusOK {
			failed++
		}
	}
	return failed
}
