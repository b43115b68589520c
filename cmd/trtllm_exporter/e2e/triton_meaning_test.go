//go:build e2e_triton && linux

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func testTokens(t *testing.T, s *tritonServer, binary string) {
	t.Helper()
	e := startExporter(t, binary, "http://"+s.metricsAddress())
	e.waitUp(t, true)
	started := time.Now()
	if !s.release.histograms {
		for _, name := range []string{"llm_server_prompt_tokens_total", "llm_server_generation_tokens_total", "llm_server_generation_tokens_per_second"} {
			require.Empty(t, e.page(t).named(name), "what the server does not count is absent")
		}
		return
	}
	before := e.page(t)
	l := s.startLoad(t, &load{streams: 16, promptWords: 33, maxTokens: 125})
	l.wait(t)
	pause(t.Context(), 3*scrapeInterval)
	after, took := e.page(t), time.Since(started).Seconds()

	grown := func(name string) float64 {
		return after.only(t, name, "model_id", "ensemble") - before.only(t, name, "model_id", "ensemble")
	}
	require.InEpsilon(t, l.streams*l.promptWords, grown("llm_server_prompt_tokens_total"), 0.01)
	require.InEpsilon(t, l.tokens, grown("llm_server_generation_tokens_total"), 0.01)
	rate := after.only(t, "llm_server_generation_tokens_per_second", "model_id", "ensemble")
	require.InEpsilon(t, float64(l.tokens)/took, rate, 0.25, "tokens a second since the exporter started")
	require.Less(t, rate, float64(tokensPerSec))
}

func testQueue(t *testing.T, s *tritonServer, binary string) {
	t.Helper()
	e := startExporter(t, binary, "http://"+s.metricsAddress())
	e.waitUp(t, true)
	l := s.startLoad(t, &load{streams: 24, promptWords: 60, maxTokens: 150})
	s.waitBusy(t, l.streams)
	deepest := 0.0
	for !l.over() {
		p := e.page(t)
		deepest = max(deepest, p.only(t, "nv_trt_llm_request_metrics", "request_type", "waiting"))
		requireQueueOf(t, p)
		pause(t.Context(), scrapeInterval/4)
	}
	l.wait(t)
	require.Equal(t, float64(l.streams-slots), deepest, "24 streams on 4 slots")
}

// requireQueueOf requires that what is derived from the executor's gauges agrees
// with the same page's raw series. Both come from one scrape, so they are
// equal and not only close.
func requireQueueOf(t *testing.T, p page) {
	t.Helper()
	executor := func(kind string) float64 { return p.only(t, "nv_trt_llm_request_metrics", "request_type", kind) }
	blocks := func(kind string) float64 {
		return p.only(t, "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", kind)
	}
	derived := func(name string, pairs ...string) float64 {
		return p.only(t, name, append(pairs, "model_id", "ensemble")...)
	}
	// Triton's own queues are all but empty: the executor takes what comes.
	require.GreaterOrEqual(t, derived("llm_server_queue_depth"), executor("waiting"))
	require.LessOrEqual(t, derived("llm_server_queue_depth"), executor("waiting")+corePending(p))
	require.Equal(t, executor("waiting"), derived("llm_server_queue_requests", "queue", "engine"))
	require.Equal(t, executor("scheduled"), derived("llm_server_requests_running"))
	require.LessOrEqual(t, derived("llm_server_requests_running"), float64(slots))
	require.Equal(t, blocks("used")/blocks("max"), derived("llm_server_kv_cache_utilization_ratio"))
	require.Equal(t, executor("scheduled") > 0, derived("llm_server_kv_cache_utilization_ratio") > 0)
	require.Zero(t, derived("llm_server_saturated"))
}

// corePending returns what waits in Triton's own queues; ensembles have none.
func corePending(p page) float64 {
	total := 0.0
	for _, s := range p.named("nv_inference_pending_request_count") {
		if s.labels.Get("model") != "ensemble" {
			total += s.value
		}
	}
	return total
}

func testSaturated(t *testing.T, s *tritonServer, binary string) {
	t.Helper()
	e := startExporter(t, binary, "http://"+s.metricsAddress())
	e.waitUp(t, true)
	l := s.startLoad(t, &load{streams: activeLimit + 8, promptWords: 10, maxTokens: 40})
	s.waitBusy(t, activeLimit)
	within(t, 3*time.Second, "the executor is saturated", func() bool {
		p := e.page(t)
		return p.only(t, "llm_server_saturated", "model_id", "ensemble") == 1 &&
			p.only(t, "llm_server_queue_depth", "model_id", "ensemble") >= activeLimit-slots
	})
	l.wait(t)
	within(t, 3*time.Second, "the executor is empty", func() bool {
		p := e.page(t)
		return p.only(t, "llm_server_saturated", "model_id", "ensemble") == 0 &&
			p.only(t, "llm_server_queue_depth", "model_id", "ensemble") == 0
	})
}
