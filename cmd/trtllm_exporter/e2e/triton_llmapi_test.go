//go:build e2e_triton && linux

package e2e

import (
	"maps"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// TestMetricsModuleOfTheLLMAPI holds the page of a Triton whose LLM-API model
// has the metrics module to what clients saw and what the engine wrote down.
func TestMetricsModuleOfTheLLMAPI(t *testing.T) {
	s := newLLMAPI(t, releases()[0], true, settings{"iteration_ms": "40"})
	s.addModel(t, "pair", 2, true, nil)
	s.start(t)
	steps := []struct {
		name string
		run  func(t *testing.T, s *llmapiServer)
	}{
		{"the families have their types", testLLMAPITypes},
		{"every token and request is counted", testLLMAPICounts},
		{"gauges are of an iteration of just now", testLLMAPIGauges},
		{"first tokens are where the client saw them", testLLMAPIFirstTokens},
		{"a frozen engine is distinguished from a frozen reader", testLLMAPIFrozen},
		{"cancelled requests are no failures", testLLMAPICancelled},
		{"unload and load leave nothing frozen", testLLMAPIReload},
		{"two instances have series of their own", testLLMAPIInstances},
		{"an engine that dies is seen", testLLMAPIDead},
		{"a process that dies is seen", testLLMAPIKilled},
	}
	for _, step := range steps {
		require.True(t, t.Run(step.name, func(t *testing.T) { step.run(t, s) }), "later steps would only fail with it")
	}
	require.Zero(t, s.said(t, ""), "nothing was missing, and nothing went wrong in the module")
}

// TestMetricsModuleWithoutHistograms is the same with a release that has no
// custom histograms, streams over gRPC only, and does not see clients leave.
func TestMetricsModuleWithoutHistograms(t *testing.T) {
	s := newLLMAPI(t, releases()[1], true, settings{"iteration_ms": "20"})
	s.start(t)
	for range 3 {
		tokens, err := s.streamOf(t.Context(), "tensorrt_llm", ask(5, 8, true))
		require.NoError(t, err)
		require.Equal(t, 8, tokens)
	}
	p := s.settled(t, counted{tokens: 24, ended: map[string]float64{"ok": 3}})
	require.Equal(t, 15.0, p.only(t, "nv_llmapi_prompt_tokens_total"))
	require.Equal(t, 3.0, p.only(t, "nv_llmapi_time_to_first_token_seconds_count"))
	require.Equal(t, 3.0, p.only(t, "nv_llmapi_time_to_first_token_seconds_bucket", "le", "+Inf"))
	require.Equal(t, 21.0, p.only(t, "nv_llmapi_inter_token_latency_seconds_count"))
	require.Equal(t, 8.0, p.only(t, "nv_trt_llm_request_metrics", "request_type", "max"))
	require.Empty(t, p.named("nv_llm_output_token_len_count"))
	require.Equal(t, 1, s.said(t, "no custom histograms"))
	require.Equal(t, 0.0, p.only(t, "nv_llmapi_module_errors_total"))
}

// counted are counters of the module, since the server started.
type counted struct {
	tokens float64
	ended  map[string]float64
}

// read reads them from a page.
func (s *llmapiServer) counted(t *testing.T) counted {
	t.Helper()
	p := s.page(t)
	c := counted{ended: map[string]float64{}}
	for _, series := range p.named("nv_llmapi_generation_tokens_total", "model", "tensorrt_llm") {
		c.tokens += series.value
	}
	for _, series := range p.named("nv_llmapi_requests_ended_total", "model", "tensorrt_llm") {
		if series.value > 0 {
			c.ended[series.labels.Get("class")] += series.value
		}
	}
	return c
}

// settled waits until no request is in flight, the last iteration is on the
// page, and the counters are what they should be, and gives the page.
func (s *llmapiServer) settled(t *testing.T, want counted) page {
	t.Helper()
	var p page
	end := time.Now().Add(10 * time.Second)
	for {
		p = s.page(t)
		got := s.counted(t)
		flight := p.named("nv_llmapi_requests_in_flight", "model", "tensorrt_llm")
		if len(flight) == 1 && flight[0].value == 0 && got.tokens == want.tokens && maps.Equal(got.ended, want.ended) && s.upToDate(t, p) {
			return p
		}
		require.True(t, time.Now().Before(end), "counted %+v, want %+v, in flight %v", got, want, flight)
		pause(t.Context(), 100*time.Millisecond)
	}
}

// more returns counters after further tokens and ended requests.
func (c counted) more(tokens float64, ended map[string]float64) counted {
	sum := counted{tokens: c.tokens + tokens, ended: map[string]float64{}}
	for _, part := range []map[string]float64{c.ended, ended} {
		for class, n := range part {
			sum.ended[class] += n
		}
	}
	return sum
}

// upToDate reports whether a page shows the last iteration of the engine.
func (s *llmapiServer) upToDate(t *testing.T, p page) bool {
	t.Helper()
	shown := p.named("nv_trt_llm_general_metrics", "general_type", "iteration_counter", "model", "tensorrt_llm")
	done := s.truth(t, "tensorrt_llm")
	return len(shown) == 1 && shown[0].value == done[len(done)-1].Iter
}

func testLLMAPITypes(t *testing.T, s *llmapiServer) {
	t.Helper()
	s.sendAll(t, ask(3, 2, true))
	p := s.settled(t, counted{tokens: 2, ended: map[string]float64{"ok": 1}})
	for family, kind := range map[string]model.MetricType{
		"nv_trt_llm_request_metrics": model.MetricTypeGauge, "nv_trt_llm_runtime_memory_metrics": model.MetricTypeGauge,
		"nv_trt_llm_kv_cache_block_metrics": model.MetricTypeGauge, "nv_trt_llm_inflight_batcher_metrics": model.MetricTypeGauge,
		"nv_trt_llm_general_metrics": model.MetricTypeGauge, "nv_llm_input_token_len": model.MetricTypeHistogram,
		"nv_llm_output_token_len": model.MetricTypeHistogram, "nv_llmapi_heartbeat_timestamp_seconds": model.MetricTypeGauge,
		"nv_llmapi_requests_ended_total": model.MetricTypeCounter, "nv_llmapi_time_to_first_token_seconds_bucket": model.MetricTypeCounter,
	} {
		require.Equal(t, kind, p.types[family], family)
		require.NotEmpty(t, p.help[family], family)
	}
	require.Len(t, p.named("nv_llmapi_info", "module_version", "1", "tensorrt_llm_version", "1.0.0+standin"), 1)
}
