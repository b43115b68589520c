//go:build e2e_dynamo && linux

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The ports of a deployment, which has its own network namespace.
const frontendPort, workerPort, secondWorkerPort = 8000, 8081, 8082

// The model of tools/dynamo, and the number of concurrent requests of its workers.
const dynamoModel, dynamoSlots = "tiny-llama", 16

// deployment is a Dynamo whose parts are started one by one.
type deployment struct {
	script, dir, state string
}

// newDeployment skips the test outside the network namespace of `make e2e-dynamo`, because
// Dynamo opens ports on every interface.
func newDeployment(t *testing.T) *deployment {
	t.Helper()
	dir := os.Getenv("DYNAMO_DIR")
	if dir == "" {
		t.Skip("DYNAMO_DIR names no installed Dynamo: run make e2e-dynamo")
	}
	return &deployment{script: filepath.Join(repositoryRoot(t), "tools/dynamo/dynamo.sh"), dir: dir, state: t.TempDir()}
}

func (d *deployment) start(t *testing.T, part string, port int, flags ...string) *process {
	t.Helper()
	p := startProcess(t, part, nil, d.script, append([]string{
		"run", d.dir, d.state, part, strconv.Itoa(port),
	}, flags...)...)
	within(t, time.Minute, part+" answers", func() bool {
		require.False(t, p.ended(), "%s ended by itself", part)
		_, _, err := get(t.Context(), dynamoURL(port, "/health"))
		return err == nil
	})
	return p
}

func dynamoURL(port int, path string) string { return fmt.Sprintf("http://127.0.0.1:%d%s", port, path) }

func requireHealthy(t *testing.T) {
	t.Helper()
	status, body, err := get(t.Context(), dynamoURL(frontendPort, "/health"))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(body), `"status":"healthy"`)
}

// complete requests a streamed completion and counts its tokens, which are words.
func complete(ctx context.Context, tokens int) (words int, err error) {
	body := fmt.Sprintf(`{"model":%q,"prompt":"w1 w2 w3","max_tokens":%d,"stream":true}`, dynamoModel, tokens)
	response, err := postJSON(ctx, dynamoURL(frontendPort, "/v1/completions"), body)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the frontend answers %s", response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData || data == "[DONE]" {
			continue
		}
		var event struct {
			Choices []struct{ Text string }
			Error   any
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return words, err
		}
		if event.Error != nil {
			return words, fmt.Errorf("the stream has an error: %v", event.Error)
		}
		for _, c := range event.Choices {
			words += len(strings.Fields(c.Text))
		}
	}
	return words, lines.Err()
}

type streams struct{ *crowd[int] }

func startStreams(t *testing.T, n, tokens int) streams {
	t.Helper()
	return streams{startCrowd(t, n, func(ctx context.Context, _ int) (int, error) { return complete(ctx, tokens) })}
}

func (s streams) requireWords(t *testing.T, want int) {
	t.Helper()
	words := 0
	for _, n := range s.wait() {
		words += n
	}
	require.Empty(t, s.errs)
	require.Equal(t, want, words)
}

func (s streams) leave() {
	s.stop()
	s.wait()
}
