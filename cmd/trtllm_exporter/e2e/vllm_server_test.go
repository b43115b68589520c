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

// engineModel is what tools/vllm calls its model.
const engineModel = "tiny-llama"

// startsWithin is how long a server may take until it answers: half a minute on
// an idle machine.
const startsWithin = 8 * time.Minute

// engineServer is a vLLM or an SGLang that comes and goes.
type engineServer struct {
	*process

	kind, script, dir string
	port              int
	// begun is when it was started last.
	begun time.Time
}

// newEngine finds a place for a server of a kind.
func newEngine(t *testing.T, kind string) *engineServer {
	t.Helper()
	dir := os.Getenv("VLLM_DIR")
	if dir == "" {
		t.Skip("VLLM_DIR names no installed vLLM: run make e2e-vllm")
	}
	return &engineServer{kind: kind, script: filepath.Join(repositoryRoot(t), "tools/vllm/vllm.sh"), dir: dir, port: freePorts(t, 1)}
}

// launch starts it and returns at once; the test given ends it.
func (s *engineServer) launch(t *testing.T, flags ...string) {
	t.Helper()
	args := append([]string{"run", s.dir, t.TempDir(), s.kind, strconv.Itoa(s.port)}, flags...)
	s.begun = time.Now()
	s.process = startProcess(t, s.kind, []string{"VLLM_SERVER_DEV_MODE=1"}, s.script, args...)
}

// start starts it and waits until it serves.
func (s *engineServer) start(t *testing.T, flags ...string) {
	t.Helper()
	s.launch(t, flags...)
	s.waitServes(t)
}

// waitServes waits until it answers a request. SGLang opens its port before it
// can serve; and what answers has to be this server, not one that took the port
// while this one loaded its model.
func (s *engineServer) waitServes(t *testing.T) {
	t.Helper()
	within(t, startsWithin, s.kind+" serves", func() bool {
		require.False(t, s.ended(), "%s ended by itself:\n%s", s.kind, s.tail(30))
		return s.status(t, "/health") == http.StatusOK
	})
	_, models, err := get(t.Context(), "http://"+s.address()+"/v1/models")
	require.NoError(t, err)
	require.Contains(t, string(models), engineModel, "another server has port %d", s.port)
	t.Logf("%s serves after %s", s.kind, time.Since(s.begun).Round(time.Second))
}

// address returns that of page and API.
func (s *engineServer) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// status returns how the server answers a question, 0 when it does not.
func (s *engineServer) status(t *testing.T, path string) int {
	t.Helper()
	status, _, err := get(t.Context(), "http://"+s.address()+path)
	if err != nil {
		return 0
	}
	return status
}

// post sends an empty request to the server's own administration.
func (s *engineServer) post(t *testing.T, path string) {
	t.Helper()
	response, err := postJSON(t.Context(), "http://"+s.address()+path, "")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode, path)
}

// parts returns the processes of the server whose title has a text.
func (s *engineServer) parts(t *testing.T, title string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), title) {
			continue // It has ended.
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		require.NoError(t, err)
		if session, err := sessionOf(pid); err == nil && session == s.cmd.Process.Pid {
			found = append(found, pid)
		}
	}
	return found
}

// sessionOf returns the session of a process, the sixth field of its stat, counted
// after the title in brackets.
func sessionOf(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return strconv.Atoi(fields[3])
}

// part returns the only process with a title.
func (s *engineServer) part(t *testing.T, title string) int {
	t.Helper()
	found := s.parts(t, title)
	require.Len(t, found, 1, "processes of %s with %s in their title", s.kind, title)
	return found[0]
}

// signalPart sends a signal to one process of the server and says when.
func signalPart(t *testing.T, pid int, signal syscall.Signal) time.Time {
	t.Helper()
	now := time.Now()
	require.NoError(t, syscall.Kill(pid, signal))
	return now
}

// version returns what tools/vllm pins.
func (s *engineServer) version() string {
	pins, _ := os.ReadFile(filepath.Join(filepath.Dir(s.script), s.kind+".txt")) // No version is found in nothing.
	for line := range strings.Lines(string(pins)) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), "=="); ok && (name == s.kind || name == s.kind+"-cpu") {
			return version
		}
	}
	return ""
}
