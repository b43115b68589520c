//go:build e2e_triton && linux

package e2e

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTritonDoctor requires that doctor lists what a server does not expose, and that with the
// flags that it names the server exposes it.
func TestTritonDoctor(t *testing.T) {
	t.Parallel()
	for _, r := range releases() {
		t.Run(r.triton, func(t *testing.T) {
			t.Parallel()
			always := []string{"ttft", "tpot", "gpu"} // These need another release, or a GPU.
			if !r.histograms {
				always = []string{"tokens", "ttft", "tpot", "cancel", "gpu"}
			}
			s := newTriton(t, r)
			s.start(t, "--metrics-config", "counter_latencies=false")
			without := doctor(t, s)
			require.ElementsMatch(
				t,
				append(slices.Clone(always), "e2e", "quantiles", "outcomes", "kv_cache"),
				missing(without),
				without.stdout,
			)
			require.Contains(t, without.stdout, "its size on the page is 0: the engine has no KV cache, or "+
				"has not run yet")
			require.Contains(t, without.stdout, "whether its requests fail is unknown: the counters of durations "+
				"are off, and with them every other counter stops")
			// The server really does not expose it.
			require.Empty(t, s.once(t, request{words: 3, tokens: 5}).failure)
			s.page(t).requires(t, has(0, "nv_inference_request_success", "model", "ensemble"))

			s.kill(t)
			s.start(t, flagsOf(without, "e2e", "quantiles")...)
			require.Empty(t, s.once(t, request{words: 3, tokens: 5}).failure)
			within(t, patience, "the engine has run", func() bool {
				return !slices.Contains(missing(doctor(t, s)), "kv_cache")
			})
			with := doctor(t, s)
			require.ElementsMatch(t, always, missing(with), with.stdout)
			require.Regexp(t, `(?m)^TensorRT-LLM +`+r.trtllm+" ", with.stdout)
			require.Regexp(t, "(?m)^engine version +"+r.triton+"$", with.stdout)
			require.Contains(t, with.stdout, "metric set B: model tensorrt_llm has backend python and "+
				"TensorRT-LLM's engine parameters")
			require.Contains(t, with.stdout, "ready: the API answers 200; one look cannot show requests that fail "+
				"or hang: ask the exporter")
			require.Equal(t, 1, with.code)
		})
	}
}

type findings struct {
	code           int
	stdout, stderr string
}

func doctor(t *testing.T, s *tritonServer) findings {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), exporterBinary(t), "doctor", "http://"+s.address())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NotNil(t, cmd.ProcessState, "run doctor: %v", err)
	return findings{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

func missing(found findings) (names []string) {
	_, table, _ := strings.Cut(found.stdout, "CAPABILITY")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range regexp.MustCompile(`(?m)^(\w+) +no `).FindAllStringSubmatch(table, -1) {
		names = append(names, row[1])
	}
	return names
}

func flagsOf(f findings, capabilities ...string) []string {
	var flags []string
	lines := strings.Split(f.stdout, "\n")
	for i, line := range lines {
		for _, name := range capabilities {
			if strings.HasPrefix(line, name+" ") {
				_, cure, _ := strings.Cut(lines[i+1], "fix: ")
				flags = append(flags, strings.Fields(cure)...)
			}
		}
	}
	return flags
}
