//go:build e2e_triton && linux

package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDoctorInFrontOfTriton requires that doctor names exactly what a server does
// not expose, and that the flag it names makes the server expose it.
func TestDoctorInFrontOfTriton(t *testing.T) {
	t.Parallel()
	for _, r := range releases() {
		t.Run(r.triton, func(t *testing.T) {
			t.Parallel()
			s := newTriton(t, r)
			s.launch(t, "--metrics-config", "counter_latencies=false")
			s.waitReady(t)
			without := doctor(t, s)
			requireFindings(t, s, &without, map[string]string{
				"state": "; whether its requests fail is unknown: the counters of durations are off, and with them every other counter stops",
				"e2e": `e2e          no       the counters of durations are off, and with them every other counter stops
                      turn on: --metrics-config counter_latencies=true
`,
				"quantiles": `quantiles    no       summaries are off, and this release has no histograms
                      turn on: --metrics-config summary_latencies=true
`,
				"outcomes": `outcomes     no       the counters of durations are off, and with them every other counter stops
                      turn on: --metrics-config counter_latencies=true
`,
			})
			// It says so because it is so.
			_, err := s.stream(t.Context(), "ensemble", 3, 5)
			require.NoError(t, err)
			require.Zero(t, s.page(t).only(t, "nv_inference_request_success", "model", "ensemble"))

			s.kill(t)
			s.launch(t, flagsOf(without, "e2e", "quantiles")...)
			s.waitReady(t)
			with := doctor(t, s)
			requireFindings(t, s, &with, map[string]string{
				"e2e":       "e2e          yes      nv_inference_request_duration_us of the entry model, as a mean\n",
				"quantiles": "quantiles    yes      quantiles of request summaries, over their last minute; they cannot be added up over replicas\n",
				"outcomes":  "outcomes     yes      success and failures of ensemble; of tensorrt_llm_bls only what was accepted\n",
			})
		})
	}
}

// findings is what doctor said.
type findings struct {
	code           int
	stdout, stderr string
}

// doctor runs the subcommand on a server.
func doctor(t *testing.T, s *tritonServer) findings {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), exporterBinary(t), "doctor", "http://"+s.metricsAddress())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NotNil(t, cmd.ProcessState, "run doctor: %v", err)
	return findings{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// capabilities returns the table of what a server exposes, as the project's models on
// a release have it; changed are the rows that depend on flags.
func capabilities(r release, changed map[string]string) string {
	canary := "; or canary: { enabled: true } in the pool, for requests of its own; or measure it at the client"
	cancel := "cancel       yes      the page shows requests while they run: canary.cancel_within of the pool checks that one ends when its client leaves\n"
	pending := "pending in Triton and "
	tokens := "tokens       yes      nv_llm_output_token_len, when a request ends\n"
	if !r.histograms {
		canary = ", or measure it at the client" // A client that hangs up may crash a Triton before 2.41, so it is not asked.
		cancel = `cancel       no       before 23.12 (2.41) an aborted stream may crash Triton
                      no flag of the server turns it on
`
		tokens = `tokens       no       token counts came with TensorRT-LLM 0.16
                      turn on: Triton 24.12 (2.53.0) or later
`
		pending = "" // Triton counts them since 23.09 (2.38).
	}
	return `CAPABILITY   EXPOSED  REASON
` + tokens + `live_tokens  yes      an estimate from iteration_counter and generation_requests
queue        yes      ` + pending + `waiting in the executor; no metric shows requests beyond the executor's limit
running      yes      the executor's scheduled requests, of its last iteration
ttft         no       this release has no first response histogram
                      turn on: Triton 24.11 (2.52.0) or later with --metrics-config histogram_latencies=true` + canary + `
tpot         no       Triton has no time per output token
                      turn on: use trtllm-serve, or measure it at the client
` + changed["e2e"] + changed["quantiles"] + changed["outcomes"] + `stall        yes      the count of iterations, while requests are active
` + cancel + `kv_cache     yes      used and all blocks of the KV cache
kv_reuse     yes      kv_cache_block_type=reused
gpu          no       the page has no nv_gpu_*
                      turn on: --allow-gpu-metrics=true with DCGM in the image, and no TRITON_SERVER_CPU_ONLY
health       yes      the API reports whether it is ready
config       yes      the configs of its models
`
}

// requireFindings requires all that doctor says of the server, line by line.
func requireFindings(t *testing.T, s *tritonServer, f *findings, changed map[string]string) {
	t.Helper()
	table := capabilities(s.release, changed)
	head := fmt.Sprintf(`%[1]s  http://%[1]s
page             http://%[1]s/metrics
engine           triton
recognised by    the page has names that begin with nv_
generation       metric set B: model tensorrt_llm has backend python and TensorRT-LLM's engine parameters
engine version   %[2]s
TensorRT-LLM     %[3]s (source: %[4]s)
state            ready: the API answers 200%[5]s; one look cannot show requests that fail or hang: ask the exporter

MODEL             ROLE   MODEL ID  STATE  BACKEND   BATCH  INSTANCES
ensemble          entry  ensemble  ready  ensemble  8      -
postprocessing    part   ensemble  ready  python    8      1
preprocessing     part   ensemble  ready  python    8      1
tensorrt_llm      part   ensemble  ready  python    8      1
tensorrt_llm_bls  entry  ensemble  ready  python    8      2
`, s.metricsAddress(), s.release.triton, s.release.trtllm, map[bool]string{true: "compatibility_table", false: "unknown"}[s.release.histograms],
		changed["state"])
	said, _, found := strings.Cut(f.stdout, "\nDETERMINISM ")
	require.True(t, found, f.stdout)
	require.Equal(t, head+"\n"+table, said)
	missing := strings.Count(table, "turn on: ") // What no flag turns on is not counted.
	require.Equal(t, fmt.Sprintf("trtllm_exporter: %d capabilities are missing\n", missing), f.stderr)
	require.Equal(t, 1, f.code)
}

// flagsOf returns the flags that doctor names for capabilities, as it wrote them.
func flagsOf(f findings, capabilities ...string) []string {
	var flags []string
	lines := strings.Split(f.stdout, "\n")
	for i, line := range lines {
		for _, name := range capabilities {
			if strings.HasPrefix(line, name+" ") {
				_, cure, _ := strings.Cut(lines[i+1], "turn on: ")
				flags = append(flags, strings.Fields(cure)...)
			}
		}
	}
	return flags
}
