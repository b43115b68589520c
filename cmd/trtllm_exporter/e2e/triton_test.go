//go:build e2e_triton && linux

package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

func TestExporterInFrontOfTriton(t *testing.T) {
	binary := exporterBinary(t)
	steps := []struct {
		name string
		run  func(t *testing.T, s *tritonServer, binary string)
	}{
		{"the models do what the client asks for", testModels},
		{"a page at rest is re-exposed to the byte", testIdle},
		{"a page under load is re-exposed within bounds", testBusy},
		{"tokens are what the client counted", testTokens},
		{"the queue is the executor's", testQueue},
		{"a full executor is told", testSaturated},
		{"a wrong path is a failed target", testWrongPath},
		{"a restart of the server is survived", testRestart},
	}
	for _, r := range releases() {
		t.Run(r.triton, func(t *testing.T) {
			s := startTriton(t, r)
			s.capture(t, "idle")
			for _, step := range steps {
				s.waitIdle(t) // A step that failed may have left streams behind.
				t.Run(step.name, func(t *testing.T) { step.run(t, s, binary) })
			}
		})
	}
}

// TestExecutorOfTheModels runs the tests of the executor behind the models,
// with the interpreter that will run it.
func TestExecutorOfTheModels(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.triton, func(t *testing.T) {
			python := filepath.Join(r.install(t), "venv/bin/python")
			tests := filepath.Join(repositoryRoot(t), "tools/triton/executor_test.py")
			out, err := exec.CommandContext(t.Context(), python, tests).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// testModels shows that the ground the other tests stand on is firm.
func testModels(t *testing.T, s *tritonServer, _ string) {
	_, err := s.stream(t.Context(), "ensemble", 0, 1)
	require.ErrorContains(t, err, "the prompt has no words")
	for _, entry := range []string{"ensemble", "tensorrt_llm_bls"} {
		tokens, err := s.stream(t.Context(), entry, 7, 12)
		require.NoError(t, err, entry)
		require.Equal(t, 12, tokens, entry)
	}
	s.waitIdle(t)
	p := s.page(t)
	if !s.release.histograms {
		require.Empty(t, p.named("nv_llm_input_token_len_sum"))
		return
	}
	require.Equal(t, 14.0, p.only(t, "nv_llm_input_token_len_sum"))
	require.Equal(t, 24.0, p.only(t, "nv_llm_output_token_len_sum"))
}

func testIdle(t *testing.T, s *tritonServer, binary string) {
	e := startExporter(t, binary, "http://"+s.metricsAddress())
	e.waitUp(t, true)
	s.requireSameWhenIdle(t, e)
}

func testBusy(t *testing.T, s *tritonServer, binary string) {
	e := startExporter(t, binary, "http://"+s.metricsAddress())
	e.waitUp(t, true)
	l := s.startLoad(t, &load{streams: 24, promptWords: 40, maxTokens: 100})
	s.waitBusy(t, l.streams)
	s.capture(t, "busy")
	rounds := 0
	for !l.over() {
		before := s.page(t)
		pause(t.Context(), 3*scrapeInterval)
		exported := e.page(t)
		s.requireReexposed(t, before, exported, s.page(t), before.grows)
		rounds++
	}
	require.Greater(t, rounds, 1)
	requireValidPage(t, e.body(t, "/metrics"))
	l.wait(t)
}

// requireValidPage wants that Prometheus' own tools find nothing to say
// against the syntax of a page.
func requireValidPage(t *testing.T, body []byte) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	require.NoError(t, err)
	require.Contains(t, families, "llm_server_queue_depth")
	promtool := os.Getenv("PROMTOOL")
	if promtool == "" {
		return
	}
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader(body)
	out, err := cmd.CombinedOutput()
	// It ends with 3 for advice on names, which are the server's own.
	require.Contains(t, []int{0, 3}, cmd.ProcessState.ExitCode(), "%v: %s", err, out)
	for line := range strings.Lines(string(out)) {
		require.False(t, strings.HasPrefix(line, "llm_server_") || strings.HasPrefix(line, "trtllm_exporter_"), line)
	}
}

func testTokens(t *testing.T, s *tritonServer, binary string) {
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
	e := startExporter(t, binary, "http://"+s.metricsAddress())
	e.waitUp(t, true)
	l := s.startLoad(t, &load{streams: 24, promptWords: 60, maxTokens: 150})
	s.waitBusy(t, l.streams)
	deepest := 0.0
	for !l.over() {
		p := e.page(t)
		executor := func(kind string) float64 { return p.only(t, "nv_trt_llm_request_metrics", "request_type", kind) }
		blocks := func(kind string) float64 {
			return p.only(t, "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", kind)
		}
		derived := func(name string) float64 { return p.only(t, name, "model_id", "ensemble") }
		// Both come from one scrape, so they are equal and not only close.
		depth := derived("llm_server_queue_depth")
		require.Equal(t, executor("waiting")+corePending(p), depth)
		require.Equal(t, executor("scheduled"), derived("llm_server_requests_running"))
		require.LessOrEqual(t, derived("llm_server_requests_running"), float64(slots))
		require.Equal(t, blocks("used")/blocks("max"), derived("llm_server_kv_cache_utilization_ratio"))
		require.Zero(t, derived("llm_server_saturated"))
		if depth > deepest {
			deepest = depth
			require.Greater(t, derived("llm_server_kv_cache_utilization_ratio"), 0.0)
		}
		pause(t.Context(), scrapeInterval/4)
	}
	l.wait(t)
	require.Equal(t, float64(l.streams-slots), deepest, "24 streams on 4 slots")
}

// corePending is what waits in Triton's own queues; ensembles have none.
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

// testWrongPath: Triton's metrics port answers any other path with 200 and an
// empty body, which must not pass for a server without metrics.
func testWrongPath(t *testing.T, s *tritonServer, binary string) {
	e := startExporter(t, binary, "http://"+s.metricsAddress()+"/wrong")
	// Before its first scrape a target is neither up nor down.
	within(t, 10*time.Second, "the target is down", func() bool { return e.target(t).Health == "down" })
	require.Equal(t, "empty", e.target(t).Reason)
	e.waitUp(t, false)
	require.Empty(t, e.page(t).raw())
}

func testRestart(t *testing.T, s *tritonServer, binary string) {
	e := startExporter(t, binary, "http://"+s.metricsAddress())
	e.waitUp(t, true)
	s.startLoad(t, &load{streams: 8, promptWords: 20, maxTokens: 50}).wait(t)
	pause(t.Context(), 2*scrapeInterval)
	order := s.page(t).order
	requireSaneRates(t, e.page(t))

	s.kill(t)
	e.waitUp(t, false)
	p := e.page(t)
	require.Empty(t, p.raw(), "the series of a server that is gone leave the page")
	require.Empty(t, p.named("llm_server_queue_depth"))

	s.start(t)
	within(t, 15*time.Second, "the target is up again", func() bool {
		p := e.page(t)
		requireSaneRates(t, p)
		return len(p.raw()) > 0 && p.only(t, "trtllm_exporter_target_up") == 1
	})
	l := s.startLoad(t, &load{streams: 8, promptWords: 20, maxTokens: 50})
	for !l.over() {
		requireSaneRates(t, e.page(t))
		pause(t.Context(), scrapeInterval/2)
	}
	l.wait(t)
	s.requireSameWhenIdle(t, e)
	requireSaneRates(t, e.page(t))
	if s.release.histograms {
		require.Equal(t, float64(l.tokens), e.page(t).only(t, "nv_llm_output_token_len_sum"), "the second server counts from 0")
	}
	again := s.page(t).order
	t.Logf("the order of series changed with the restart: %t", !slices.Equal(order, again))
	require.ElementsMatch(t, order, again)
}

// requireSaneRates wants no derived value below zero or not finite, and no
// rate above what the executor can do.
func requireSaneRates(t *testing.T, p page) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(p.samples)) {
		s := p.samples[key]
		name := s.labels.Get(labels.MetricName)
		if !strings.HasPrefix(name, "llm_server_") {
			continue
		}
		require.False(t, math.IsNaN(s.value) || math.IsInf(s.value, 0) || s.value < 0, "%s %s", key, s.text)
		if strings.HasSuffix(name, "_per_second") {
			require.LessOrEqual(t, s.value, 1.5*tokensPerSec, fmt.Sprint(key))
		}
	}
}
