//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheExporterReadsTheMetricsModule holds what the exporter makes of a model
// with the metrics module to what clients saw: tokens and requests to the last
// one, the engine's queue, a failing and a frozen engine, and an unload.
func TestTheExporterReadsTheMetricsModule(t *testing.T) {
	s := newLLMAPI(t, releases()[0], true, settings{"iteration_ms": "40"})
	s.start(t)
	s.sendAll(t, ask(3, 2, true)) // An engine that never ran has no iterations to show.
	s.settled(t, counted{tokens: 2, ended: map[string]float64{"ok": 1}})
	found := doctor(t, s.tritonServer)
	require.Equal(t, []string{"gpu"}, missing(found), "a machine without a GPU")
	require.Contains(t, found.stdout, "metric set E")
	require.Contains(t, found.stdout, "live_tokens  yes")

	e := startConfigured(t, exporterBinary(t), fmt.Sprintf(`
global: { scrape_interval: 1s, scrape_timeout: 1s, window: 10s, stall_after: 3s }
pools:
  - pool_id: real
    identity_interval: 2s
    static_configs: [ { targets: [%q], labels: { replica_id: r0 } } ]
`, s.metricsAddress()))
	inState := func(state string) func() bool {
		return func() bool {
			shown := e.page(t).named("llm_server_state", "state", state)
			return len(shown) == 1 && shown[0].value == 1
		}
	}
	within(t, 20*time.Second, "it is ready", inState("ready"))
	ready, live := startProbe(t, e, "/-/replica/ready"), startProbe(t, e, "/-/replica/live")

	questions := make([]question, 12) // Four run, the others wait.
	for i := range questions {
		questions[i] = ask(10, 60, i%2 == 0)
	}
	over := s.background(t, questions...)
	within(t, 10*time.Second, "four run, eight wait, tokens come", func() bool {
		p := e.page(t)
		live := p.named("llm_server_generation_tokens_per_second")
		return p.sum("llm_server_requests_running") == 4 && p.sum("llm_server_queue_depth") == 8 &&
			p.sum("llm_server_requests_active") == 12 && len(live) == 1 && live[0].value > 0
	})
	require.NoError(t, <-over)
	within(t, 10*time.Second, "all is counted", func() bool {
		p := e.page(t)
		return p.sum("llm_server_generation_tokens_total") == 722 && p.sum("llm_server_requests_total", "class", "ok") == 13
	})
	p := e.page(t)
	require.Equal(t, 123.0, p.only(t, "llm_server_prompt_tokens_total"))
	require.Equal(t, 13.0, p.only(t, "llm_server_request_duration_seconds_count"))
	require.Equal(t, 7.0, p.only(t, "llm_server_time_to_first_token_seconds_count"), "of streamed ones")
	require.Empty(t, p.named("llm_server_requests_total", "class", "unknown"), "the module counts them")
	require.Greater(t, p.only(t, "llm_server_request_duration_average_seconds"), 1.0, "the server's own times say milliseconds")

	began := time.Now()
	stop := failing(t, s)
	within(t, 20*time.Second, "it fails", inState("failing"))
	ready.turns(t, http.StatusServiceUnavailable, "every request fails", began)
	live.turns(t, http.StatusServiceUnavailable, "every request fails", began)
	require.Greater(t, e.page(t).sum("llm_server_request_error_ratio", "class", "server"), 0.0)
	stop()
	s.sendAll(t, ask(5, 5, true))
	within(t, 20*time.Second, "it serves again", inState("ready"))

	ready.turns(t, http.StatusOK, "it serves again", began)

	began = time.Now()
	over = s.background(t, ask(5, 10, true, "!freeze:12000"), ask(5, 10, true))
	looks := 0
	within(t, 12*time.Second, "it is stalled as requests come", func() bool {
		looks++
		if looks%10 == 0 {
			s.background(t, ask(5, 2, true))
		}
		return inState("stalled")()
	})
	ready.turns(t, http.StatusServiceUnavailable, "its executor is frozen", began)
	require.NoError(t, <-over)
	within(t, 20*time.Second, "it goes on", inState("ready"))

	began = time.Now()
	s.unload(t, "tensorrt_llm")
	within(t, 20*time.Second, "its LLM is not loaded", inState("unserved"))
	ready.turns(t, http.StatusServiceUnavailable, "its LLM is not loaded", began)
	require.Empty(t, e.page(t).named("llm_server_requests_running"), "nothing frozen is left")
	for _, series := range e.page(t).named("llm_server_info") {
		require.Equal(t, "1.0.0+standin", series.labels.Get("trtllm_version"), "the server's software is the same without the model")
	}
	s.load(t, "tensorrt_llm")
	within(t, 20*time.Second, "it is back", inState("ready"))
}

// missing returns the capabilities that doctor does not find.
func missing(found findings) (names []string) {
	_, table, _ := strings.Cut(found.stdout, "CAPABILITY")
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) == 0 {
			return names
		}
		if len(words) > 1 && words[1] == "no" {
			names = append(names, words[0])
		}
	}
	return names
}

// failing sends requests that fail until it is stopped.
func failing(t *testing.T, s *llmapiServer) (stop func()) {
	t.Helper()
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-ended:
				return
			case <-time.After(300 * time.Millisecond):
				_, _ = s.sendEach(t.Context(), ask(5, 5, true, "!boom"))
			}
		}
	}()
	return func() {
		close(ended)
		<-over
	}
}

// TestDoctorNamesTheMetricsModule requires the cure where the backend publishes
// nothing.
func TestDoctorNamesTheMetricsModule(t *testing.T) {
	s := newLLMAPI(t, releases()[0], false, nil)
	s.start(t)
	found := doctor(t, s.tritonServer)
	require.Contains(t, found.stdout, "metric set C")
	require.Contains(t, found.stdout, "deploy/triton/llmapi")
}
