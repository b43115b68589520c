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

// status returns how the API answers; 0 if it refuses or closes connections.
func (s *tritonServer) status(t *testing.T, path string) int {
	t.Helper()
	status, _, err := get(t.Context(), s.url(path))
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) &&
		!strings.HasSuffix(err.Error(), "server closed idle connection") { // Of net/http, which has no name for it.
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	}
	return status
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

// modelProcesses is the number of processes of the project's models, two of them of tensorrt_llm_bls.
const modelProcesses = 5

// killStubs kills the processes of the server's Python models, and requires that there are this many.
func (s *tritonServer) killStubs(t *testing.T, processes int) {
	t.Helper()
	region, killed := fmt.Sprintf("triton_%d_", s.port+2), 0
	for pid, line := range commandLines(t) {
		if strings.Contains(line, "triton_python_backend_stub") && strings.Contains(line, region) {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			killed++
		}
	}
	require.Equal(t, processes, killed)
}
