//go:build e2e_triton && linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// status returns the status of the API, 0 if it refuses or closes connections.
func (s *tritonServer) status(t *testing.T, path string) int {
	t.Helper()
	status, _, err := get(t.Context(), s.url(path))
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) &&
		!strings.HasSuffix(err.Error(), "server closed idle connection") { // An error of net/http without a type.
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	}
	return status
}

// post sends a request without a body, which must succeed.
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

// index returns the state of each model in the repository index, with its reason.
func (s *tritonServer) index(t *testing.T) map[string]string {
	t.Helper()
	var rows []struct{ Name, State, Reason string }
	require.NoError(t, json.Unmarshal(s.post(t, "/v2/repository/index"), &rows))
	states := make(map[string]string, len(rows))
	for _, row := range rows {
		states[row.Name] = strings.TrimSpace(row.State + " " + row.Reason)
	}
	return states
}

// modelProcesses is the number of processes of the project's models, two of them for
// tensorrt_llm_bls.
const modelProcesses = 5

// killStubs kills the processes of the server's Python models, or of one of them, and requires that
// number.
func (s *tritonServer) killStubs(t *testing.T, processes int, of ...string) {
	t.Helper()
	region, killed := fmt.Sprintf("triton_%d_", s.port+2), 0
	for pid, line := range commandLines(t) {
		if strings.Contains(line, "triton_python_backend_stub") && strings.Contains(line, region) &&
			strings.Contains(line, strings.Join(of, "")+"/") {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			killed++
		}
	}
	require.Equal(t, processes, killed)
}
