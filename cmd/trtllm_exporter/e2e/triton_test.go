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

func TestTriton(t *testing.T) {
	steps := []struct {
		name string
		run  func(t *testing.T, s *tritonServer)
	}{
		{"a page at rest is re-exposed to the byte", testIdle},
		{"a page under load is re-exposed within bounds", testBusy},
		{"a wrong path is a failed target", testWrongPath},
		{"a restart of the server is survived", testRestart},
	}
	for _, r := range releases() {
		t.Run(r.triton, func(t *testing.T) {
			s := startTriton(t, r)
			for _, step := range steps {
				s.shows(t, idle()) // A failed step may leave streams behind.
				t.Run(step.name, func(t *testing.T) { step.run(t, s) })
			}
		})
	}
}

// TestModelExecutor runs the tests of the executor with Triton's interpreter.
func TestModelExecutor(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.triton, func(t *testing.T) {
			python := filepath.Join(r.install(t), "venv/bin/python")
			tests := filepath.Join(repositoryRoot(t), "tools/triton/executor_test.py")
			out, err := exec.CommandContext(t.Context(), python, tests).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

func testIdle(t *testing.T, s *tritonServer) {
	t.Helper()
	s.requireSameWhenIdle(t, startExporter(t, s.address()))
}

func testBusy(t *testing.T, s *tritonServer) {
	t.Helper()
	e := startExporter(t, s.address())
	const streams = 24
	l := s.crowd(t, streams, request{words: 40, tokens: 100})
	s.shows(t, active(streams))
	rounds := 0
	for !l.over() {
		before := s.page(t)
		exported := e.renewed(t)
		s.requireReexposed(t, before, exported, s.page(t), before.grows)
		rounds++
	}
	require.Greater(t, rounds, 1)
	requireValidPage(t, e.body(t, "/metrics"))
	l.requireComplete(t)
}

// requireValidPage requires that promtool accepts the syntax of a page.
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
	// Exit code 3 is advice about names, most of which are the server's.
	require.Contains(t, []int{0, 3}, cmd.ProcessState.ExitCode(), "%v: %s", err, out)
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "llm_server_") || strings.HasPrefix(line, "trtllm_exporter_") {
			t.Logf("promtool advises: %s", strings.TrimSpace(line))
		}
	}
}
