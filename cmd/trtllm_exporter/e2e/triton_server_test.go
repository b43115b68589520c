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

// exitSkip is how tools/triton/triton.sh ends where the wheel cannot run.
const exitSkip = 3

// release is one Triton that the tests run against.
type release struct {
	triton string
	// trtllm is what the compatibility table says of that Triton.
	trtllm string
	wheel  string
	// env names the variable that may hold an installed copy.
	env string
	// histograms reports whether models can publish histograms, so whether
	// tokens are counted; streams over HTTP came in between as well.
	histograms bool
	// wrongPath is the reason of a failed scrape of any path but /metrics: the
	// metrics port used to answer 400, and answers 200 without a body now.
	wrongPath string
	// openStreams is how many streams of a load the server may leave open for
	// ever, as 2.36's gRPC was seen to do, once in some thousands.
	openStreams int
}

// releases returns the newest wheel and one from before custom histograms.
func releases() []release {
	return []release{
		{triton: "2.51.0", trtllm: "0.14.0", wheel: "0.7.0", env: "TRITON_DIR_2_51", histograms: true, wrongPath: "empty"},
		{triton: "2.36.0", trtllm: "unknown", wheel: "0.4.0", env: "TRITON_DIR_2_36", wrongPath: "http_status", openStreams: 1},
	}
}

// hanging returns a release in which requests hang forever once the processes of its models
// are dead, and nothing is counted of them but that they wait.
func hanging() release {
	return release{triton: "2.44.0", trtllm: "unknown", wheel: "0.5.5", env: "TRITON_DIR_2_44", wrongPath: "empty"}
}

// install returns the folder of an installed Triton; where this machine cannot
// have one it skips, in CI it fails.
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

// tritonServer is a running Triton with the project's models.
type tritonServer struct {
	*process
	release release
	dir     string
	// port is the HTTP port; gRPC and metrics have the next two.
	port int
	// models is a model repository other than the project's.
	models string
	// flags are those of the last launch; relaunched is true when it needed more
	// than one.
	flags      []string
	relaunched bool
}

// startTriton starts a server on free ports and waits until it is ready.
func startTriton(t *testing.T, r release) *tritonServer {
	t.Helper()
	s := newTriton(t, r)
	s.start(t)
	return s
}

// start starts the server, again after a kill, on the same ports.
func (s *tritonServer) start(t *testing.T) {
	t.Helper()
	s.launch(t, "--metrics-config", "summary_latencies=true")
	s.waitReady(t)
}

// launch starts the server with flags of its own and does not wait for it.
func (s *tritonServer) launch(t *testing.T, flags ...string) {
	t.Helper()
	s.flags, s.relaunched = flags, false
	s.run(t)
}

// run runs the server with the flags of its launch.
func (s *tritonServer) run(t *testing.T) {
	t.Helper()
	script := filepath.Join(repositoryRoot(t), "tools/triton/triton.sh")
	ports := []string{fmt.Sprintf("HTTP_PORT=%d", s.port), fmt.Sprintf("GRPC_PORT=%d", s.port+1), fmt.Sprintf("METRICS_PORT=%d", s.port+2)}
	if s.models != "" {
		ports = append(ports, "MODELS="+s.models)
	}
	s.process = startProcess(t, "triton-"+s.release.triton, ports, script, append([]string{"run", s.dir}, s.flags...)...)
}

// relaunch starts a server a second time that died while it loaded its models:
// boost's lock_exception, on a machine that is very busy, ends the server, or
// the processes of its models, of which it never recovers. It has opened no port
// yet. A server that ends twice fails the test.
func (s *tritonServer) relaunch(t *testing.T) {
	t.Helper()
	ended := s.ended()
	if !ended && !strings.Contains(s.tail(60), "Non-graceful termination detected") {
		return
	}
	require.False(t, ended && s.relaunched, "Triton ended by itself, twice")
	t.Logf("Triton died while it loaded its models (ended: %t) and is started again; its last output:\n%s", ended, s.tail(20))
	s.kill(t)
	s.forgetMemory(t)
	s.relaunched = true
	s.run(t)
}

// waitReady waits until API and page answer.
func (s *tritonServer) waitReady(t *testing.T) {
	t.Helper()
	within(t, time.Minute, "Triton is ready", func() bool {
		s.relaunch(t)
		status, _, err := get(t.Context(), s.url("/v2/health/ready"))
		if err != nil || status != http.StatusOK {
			return false
		}
		// The metrics port opens some 40 ms later.
		status, _, err = get(t.Context(), "http://"+s.metricsAddress()+"/metrics")
		return err == nil && status == http.StatusOK
	})
}

// forgetMemory removes the shared memory that a killed server leaves.
func (s *tritonServer) forgetMemory(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(fmt.Sprintf("/dev/shm/triton_%d_*", s.port+2))
	require.NoError(t, err)
	for _, name := range left {
		require.NoError(t, os.Remove(name))
	}
}

// url returns an address of the server's HTTP API.
func (s *tritonServer) url(path string) string {
	return fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path)
}

// metricsAddress returns host:port of the server's page.
func (s *tritonServer) metricsAddress() string { return fmt.Sprintf("127.0.0.1:%d", s.port+2) }

// page reads the server's own metrics.
func (s *tritonServer) page(t *testing.T) page {
	t.Helper()
	status, body, err := get(t.Context(), "http://"+s.metricsAddress()+"/metrics")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	return parsePage(t, body)
}
