//go:build e2e_triton && linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// newTriton prepares a server on free ports that is not started yet.
func newTriton(t *testing.T, r release) *tritonServer {
	t.Helper()
	s := &tritonServer{release: r, dir: r.install(t), port: freePorts(t, 3)}
	t.Cleanup(func() { s.forgetMemory(t) }) // Last of all, after the kill.
	return s
}

// closedAtOnce is what net/http says of a connection that the server closed
// before the question was written; it has no name outside of it.
const closedAtOnce = "server closed idle connection"

// status returns how an address of the server's API answers, 0 for refused, or
// closed as that begins.
func (s *tritonServer) status(t *testing.T, path string) int {
	t.Helper()
	status, _, err := get(t.Context(), s.url(path))
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !strings.HasSuffix(err.Error(), closedAtOnce) {
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	}
	return status
}

// answers reports whether the server shows its page.
func (s *tritonServer) answers(t *testing.T) bool {
	t.Helper()
	status, _, err := get(t.Context(), "http://"+s.metricsAddress()+"/metrics")
	return err == nil && status == http.StatusOK
}

// post asks for something without a body and wants it done.
func (s *tritonServer) post(t *testing.T, path string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	response, err := postJSON(ctx, s.url(path), "")
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", path, body)
	return body
}

// index returns what the repository index says of each model, with its reason.
func (s *tritonServer) index(t *testing.T) map[string]string {
	t.Helper()
	var rows []struct{ Name, State, Reason string }
	require.NoError(t, json.Unmarshal(s.post(t, "/v2/repository/index"), &rows))
	said := make(map[string]string, len(rows))
	for _, row := range rows {
		said[row.Name] = strings.TrimSpace(row.State + " " + row.Reason)
	}
	return said
}

// modelProcesses are those of the project's models: preprocessing,
// tensorrt_llm, postprocessing, and two of tensorrt_llm_bls.
const modelProcesses = 5

// killStubs kills the processes of the server's Python models, of which there
// are so many.
func (s *tritonServer) killStubs(t *testing.T, processes int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	region := fmt.Sprintf("triton_%d_", s.port+2)
	killed := 0
	for _, file := range files {
		// A process may have ended meanwhile.
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), "triton_python_backend_stub") || !strings.Contains(string(line), region) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		killed++
	}
	require.Equal(t, processes, killed)
}

// terminate asks the server to end, as an orchestrator does.
func (s *tritonServer) terminate(t *testing.T) {
	t.Helper()
	require.NoError(t, syscall.Kill(s.cmd.Process.Pid, syscall.SIGTERM))
}

// becomes polls until something is so and gives the moment at which it was seen.
func becomes(t *testing.T, limit time.Duration, what string, check func() bool) time.Time {
	t.Helper()
	for end := time.Now().Add(limit); !check(); {
		require.True(t, time.Now().Before(end), "%s: not within %s", what, limit)
		pause(t.Context(), 20*time.Millisecond)
	}
	return time.Now()
}
