//go:build e2e_triton && linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	// histograms is set if tokens are counted, and streams are served over HTTP.
	histograms bool
	// wrongPath is the reason of a failed scrape of any path but /metrics.
	wrongPath string
	// openStreams is the number of streams in some thousand that the server may leave open, like
	// 2.36 with gRPC.
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
		},
		{
			triton:      "2.36.0",
			trtllm:      "unknown",
			wheel:       "0.4.0",
			env:         "TRITON_DIR_2_36",
			wrongPath:   "http_status",
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

// tritonServer is a Triton with the project's models.
type tritonServer struct {
	*process
	release release
	dir     string
	// port is the HTTP port; gRPC and metrics use the next two.
	port int
	// models is another model repository.
	models string
	// flags holds the arguments of the last launch; relaunched is set after a second attempt.
	flags      []string
	relaunched bool
}

// newTriton prepares a server on free ports without starting it.
func newTriton(t *testing.T, r release) *tritonServer {
	t.Helper()
	s := &tritonServer{release: r, dir: r.install(t), port: freePorts(t, 3)}
	t.Cleanup(func() { s.forgetMemory(t) }) // After the kill.
	return s
}

func startTriton(t *testing.T, r release) *tritonServer {
	t.Helper()
	s := newTriton(t, r)
	s.start(t)
	return s
}

// start starts the server, also after a kill on the same ports.
func (s *tritonServer) start(t *testing.T) {
	t.Helper()
	s.launch(t, "--metrics-config", "summary_latencies=true")
	s.waitReady(t)
}

func (s *tritonServer) launch(t *testing.T, flags ...string) {
	t.Helper()
	s.flags, s.relaunched = flags, false
	s.run(t)
}

func (s *tritonServer) run(t *testing.T) {
	t.Helper()
	script := filepath.Join(repositoryRoot(t), "tools/triton/triton.sh")
	ports := []string{
		fmt.Sprintf("HTTP_PORT=%d", s.port), fmt.Sprintf("GRPC_PORT=%d", s.port+1),
		fmt.Sprintf("METRICS_PORT=%d", s.port+2),
	}
	if s.models != "" {
		ports = append(ports, "MODELS="+s.models)
	}
	s.process = startProcess(
		t,
		"triton-"+s.release.triton,
		ports,
		script,
		append([]string{"run", s.dir}, s.flags...)...)
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
	require.False(t, ended && s.relaunched, "Triton ended by itself, twice")
	t.Logf("Triton died while it loaded its models (ended: %t) and is started again; its "+
		"last output:\n%s", ended, s.tail(20))
	s.kill(t)
	s.forgetMemory(t)
	s.relaunched = true
	s.run(t)
}

// waitReady waits until API and page answer; the metrics port opens some 40 ms later.
func (s *tritonServer) waitReady(t *testing.T) time.Time {
	t.Helper()
	return within(t, time.Minute, "Triton is ready", func() bool {
		s.relaunch(t)
		return answers(t.Context(), s.url("/v2/health/ready")) && s.answers(t)
	})
}

func (s *tritonServer) answers(t *testing.T) bool {
	t.Helper()
	return answers(t.Context(), s.pageURL())
}

// forgetMemory removes the shared memory of a killed server.
func (s *tritonServer) forgetMemory(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/dev/shm/triton_%d_*", s.port+2))
	require.NoError(t, err)
	for _, name := range files {
		require.NoError(t, os.Remove(name))
	}
}

func (s *tritonServer) url(path string) string {
	return fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path)
}

// metricsAddress returns host:port of the server's page.
func (s *tritonServer) metricsAddress() string { return fmt.Sprintf("127.0.0.1:%d", s.port+2) }

func (s *tritonServer) pageURL() string { return "http://" + s.metricsAddress() + "/metrics" }

func (s *tritonServer) page(t *testing.T) page {
	t.Helper()
	status, body, err := get(t.Context(), s.pageURL())
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	return parsePage(t, body)
}
