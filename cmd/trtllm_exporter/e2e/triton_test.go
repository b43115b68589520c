//go:build e2e_triton && linux

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
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
		{"a full executor is reported", testSaturated},
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

// testModels shows that the models do what the other tests rely on.
func testModels(t *testing.T, s *tritonServer, _ string) {
	t.Helper()
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
	t.Helper()
	e := startExporter(t, binary, "http://"+s.metricsAddress())
	e.waitUp(t, true)
	s.requireSameWhenIdle(t, e)
}

func testBusy(t *testing.T, s *tritonServer, binary string) {
	t.Helper()
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

// requireValidPage requires that Prometheus' own tools find nothing to say
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
	// It ends with 3 when the syntax is right and it has advice on names, most of
	// which are the server's own.
	require.Contains(t, []int{0, 3}, cmd.ProcessState.ExitCode(), "%v: %s", err, out)
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "llm_server_") || strings.HasPrefix(line, "trtllm_exporter_") {
			t.Logf("promtool advises: %s", strings.TrimSpace(line))
		}
	}
}
