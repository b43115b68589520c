//go:build e2e_vllm && linux

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// engineModel is the model's name in tools/vllm.
const engineModel = "tiny-llama"

// startsWithin is how long a server may take to start: half a minute on an idle machine.
const startsWithin = 8 * time.Minute

type engineServer struct {
	*process

	kind, script, dir string
	port              int
	// begun is the time of its last start.
	begun time.Time
}

func newEngine(t *testing.T, kind string) *engineServer {
	t.Helper()
	dir := os.Getenv("VLLM_DIR")
	if dir == "" {
		t.Skip("VLLM_DIR names no installed vLLM: run make e2e-vllm")
	}
	return &engineServer{
		kind:   kind,
		script: filepath.Join(repositoryRoot(t), "tools/vllm/vllm.sh"),
		dir:    dir,
		port:   freePorts(t, 1),
	}
}

// launch starts the server without waiting; it ends with the given test.
func (s *engineServer) launch(t *testing.T, flags ...string) {
	t.Helper()
	args := append([]string{"run", s.dir, t.TempDir(), s.kind, strconv.Itoa(s.port)}, flags...)
	s.begun = time.Now()
	s.process = startProcess(t, s.kind, []string{"VLLM_SERVER_DEV_MODE=1"}, s.script, args...)
}

func (s *engineServer) start(t *testing.T, flags ...string) {
	t.Helper()
	s.launch(t, flags...)
	s.waitServes(t)
}

// waitServes waits until the server answers a request. SGLang opens its port before it can serve,
// and the response must come from this server, not from one that took the port while this one
// loaded its model.
func (s *engineServer) waitServes(t *testing.T) {
	t.Helper()
	within(t, startsWithin, s.kind+" serves", func() bool {
		require.False(t, s.ended(), "%s ended by itself:\n%s", s.kind, s.tail(30))
		return s.status(t, "/health") == http.StatusOK
	})
	_, models, err := get(t.Context(), s.url("/v1/models"))
	require.NoError(t, err)
	require.Contains(t, string(models), engineModel, "another server has port %d", s.port)
	t.Logf("%s serves after %s", s.kind, time.Since(s.begun).Round(time.Second))
}

func (s *engineServer) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

func (s *engineServer) url(path string) string { return "http://" + s.address() + path }

// status returns the status of a response, 0 without one.
func (s *engineServer) status(t *testing.T, path string) int {
	t.Helper()
	status, _, _ := get(t.Context(), s.url(path))
	return status
}

func (s *engineServer) post(t *testing.T, path string) {
	t.Helper()
	response, err := postJSON(t.Context(), s.url(path), "")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode, path)
}

// sessionOf returns the session of a process, the sixth field of its stat, counted after the
// title in brackets.
func sessionOf(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return strconv.Atoi(fields[3])
}

func (s *engineServer) part(t *testing.T, title string) (found int) {
	t.Helper()
	for pid, line := range commandLines(t) {
		if session, err := sessionOf(pid); err == nil && session == s.cmd.Process.Pid && strings.Contains(line, title) {
			require.Zero(t, found, "processes of %s with %s in their title", s.kind, title)
			found = pid
		}
	}
	require.NotZero(t, found, "processes of %s with %s in their title", s.kind, title)
	return found
}

// signalPart sends a signal to a process of the server and returns the time.
func signalPart(t *testing.T, pid int, signal syscall.Signal) time.Time {
	t.Helper()
	now := time.Now()
	require.NoError(t, syscall.Kill(pid, signal))
	return now
}

func (s *engineServer) version() string {
	pins, _ := os.ReadFile(
		filepath.Join(filepath.Dir(s.script), s.kind+".txt"),
	) // No version is found in an empty text.
	for line := range strings.Lines(string(pins)) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), "=="); ok &&
			(name == s.kind || name == s.kind+"-cpu") {
			return version
		}
	}
	return ""
}
