//go:build e2e_triton && linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// exitSkip is the exit code of tools/triton/triton.sh if the wheel does not run here.
const exitSkip = 3

type release struct {
	triton string
	// trtllm is the TensorRT-LLM version of that Triton in the compatibility table.
	trtllm string
	wheel  string
	// env is the variable with the path of an installed copy.
	env string
	// histograms is set if tokens are counted.
	histograms bool
	// overGRPC is set if streams are served over gRPC only, which do not end while it shuts down.
	overGRPC bool
	// wrongPath is the reason of a failed scrape of any path but /metrics.
	wrongPath string
	// draining is what the API does while the server shuts down.
	draining string
	// openStreams is the number of streams in some thousand that the server may leave open.
	openStreams int
}

// releases returns the newest wheel and one without custom histograms.
func releases() []release {
	return []release{
		{
			triton:     "2.51.0",
			trtllm:     "0.14.0",
			wheel:      "0.7.0",
			env:        "TRITON_DIR_2_51",
			histograms: true,
			wrongPath:  "empty",
			// While streams are in flight it listens but closes new connections at once; then it refuses
			// them.
			draining: "the API closes connections without an answer",
		},
		{
			triton:      "2.36.0",
			trtllm:      "unknown",
			wheel:       "0.4.0",
			env:         "TRITON_DIR_2_36",
			overGRPC:    true,
			wrongPath:   "http_status",
			draining:    "the API reports that the server is no longer live",
			openStreams: 1,
		},
	}
}

// hanging returns a release whose requests hang forever after the processes of its models die.
func hanging() release {
	return release{triton: "2.44.0", trtllm: "unknown", wheel: "0.5.5", env: "TRITON_DIR_2_44", wrongPath: "empty"}
}

// install returns the folder of an installed Triton, or skips the test except in CI.
func (r release) install(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv(r.env); dir != "" {
		return dir
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(repositoryRoot(t), "tools/triton/triton.sh"), "install", "", r.wheel)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && os.Getenv("CI") != "true" {
		why := "cannot be installed"
		if cmd.ProcessState.ExitCode() == exitSkip {
			why = "cannot run here"
		}
		t.Skipf("Triton %s %s: %s", r.triton, why, stderr.String())
	}
	require.NoError(t, err, "install Triton %s: %s", r.triton, stderr.String())
	return strings.TrimSpace(string(out))
}

// tritonServer is a Triton with the project's models. Its gRPC port is the next one after HTTP.
type tritonServer struct {
	*server

	release release
	// relaunched is the process of a second attempt to start.
	relaunched *process
}

// newTriton prepares a server on free ports without starting it.
func newTriton(t *testing.T, r release) *tritonServer {
	t.Helper()
	dir, port := r.install(t), fixture.FreePorts(t, "127.0.0.1", 3)
	s := &tritonServer{release: r}
	s.server = &server{
		name:     "triton-" + r.triton,
		whole:    t,
		port:     port,
		pagePort: port + 2,
		env: []string{
			fmt.Sprintf("HTTP_PORT=%d", port),
			fmt.Sprintf("GRPC_PORT=%d", port+1),
			fmt.Sprintf("METRICS_PORT=%d", port+2),
		},
		program: func() []string {
			return []string{filepath.Join(repositoryRoot(t), "tools/triton/triton.sh"), "run", dir}
		},
		startsWithin: time.Minute,
		send:         s.stream,
		open:         r.openStreams,
	}
	// The metrics port opens some 40 ms after that of the API.
	s.serves = func(t *testing.T) bool {
		t.Helper()
		s.relaunch(t)
		return s.status(t, "/v2/health/ready") == http.StatusOK && s.showsPage(t)
	}
	t.Cleanup(func() { s.forgetMemory(t) }) // After the kill.
	return s
}

// withSummaries are the flags for a page with everything.
func withSummaries() []string { return []string{"--metrics-config", "summary_latencies=true"} }

func startTriton(t *testing.T, r release) *tritonServer {
	t.Helper()
	s := newTriton(t, r)
	s.start(t, withSummaries()...)
	return s
}

// relaunch restarts a server that died while loading its models, before it opened a port:
// on a busy machine boost's lock_exception may end the server, or processes of models,
// which it never restarts. A second failure fails the test.
func (s *tritonServer) relaunch(t *testing.T) {
	t.Helper()
	ended := s.ended()
	if !ended && !strings.Contains(s.tail(60), "Non-graceful termination detected") {
		return
	}
	require.False(t, ended && s.relaunched == s.process, "Triton ended by itself, twice")
	t.Logf("Triton died while it loaded its models (ended: %t) and is started again; its "+
		"last output:\n%s", ended, s.tail(20))
	s.kill(t)
	s.forgetMemory(t)
	s.launch(s.flags...)
	s.relaunched = s.process
}

func (s *tritonServer) showsPage(t *testing.T) bool {
	t.Helper()
	return responds(t.Context(), "http://"+s.address()+"/metrics")
}

// forgetMemory removes the shared memory of a killed server.
func (s *tritonServer) forgetMemory(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/dev/shm/triton_%d_*", s.pagePort))
	require.NoError(t, err)
	for _, name := range files {
		require.NoError(t, os.Remove(name))
	}
}

// indexed requires the state of a model in the repository index, with its reason.
func indexed(s *tritonServer, model, state string) act {
	return func(l *life) { require.Equal(l.t, state, s.indexState(l.t, model), "%s in the index", model) }
}

func (s *tritonServer) indexState(t *testing.T, model string) string {
	t.Helper()
	var rows []struct{ Name, State, Reason string }
	require.NoError(t, json.Unmarshal(s.post(t, "/v2/repository/index", ""), &rows))
	for _, row := range rows {
		if row.Name == model {
			return strings.TrimSpace(row.State + " " + row.Reason)
		}
	}
	return ""
}

// modelProcesses is the number of processes of the project's models, two of them for
// tensorrt_llm_bls.
const modelProcesses = 5

// killStubs kills the processes of the server's Python models, or of one of them, and requires that
// they are as many. All stand still before the first dies: else the engine, whose client is gone with
// the model behind it, may end its requests and say so.
func (s *tritonServer) killStubs(t *testing.T, processes int, of ...string) {
	t.Helper()
	stubs := s.stubs(t, strings.Join(of, ""))
	require.Len(t, stubs, processes, "processes of models")
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		signalAll(t, signal, stubs)
	}
}

// signalStubs sends a signal to the processes of a model.
func (s *tritonServer) signalStubs(t *testing.T, signal syscall.Signal, of string) {
	t.Helper()
	stubs := s.stubs(t, "/"+of)
	require.NotEmpty(t, stubs, "processes of %s", of)
	signalAll(t, signal, stubs)
}

// stubs returns the processes of the server's models whose path has a part.
func (s *tritonServer) stubs(t *testing.T, part string) (found []int) {
	t.Helper()
	region := fmt.Sprintf("triton_%d_", s.pagePort)
	for pid, line := range commandLines(t) {
		if strings.Contains(line, "triton_python_backend_stub") && strings.Contains(line, region) &&
			strings.Contains(line, part+"/") {
			found = append(found, pid)
		}
	}
	return found
}

func signalAll(t *testing.T, signal syscall.Signal, processes []int) {
	t.Helper()
	for _, pid := range processes {
		require.NoError(t, syscall.Kill(pid, signal))
	}
}

// active is what the server's page has when its executor has at least that many requests, idle when it
// has none.
func active(n float64) value {
	return above(n-1, "nv_trt_llm_request_metrics", "request_type", "active")
}

func idle() value { return has(0, "nv_trt_llm_request_metrics", "request_type", "active") }
