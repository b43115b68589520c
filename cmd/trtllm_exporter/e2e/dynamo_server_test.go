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
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The ports of a deployment; its namespace has nobody else.
const (
	frontendPort = 8000
	workerPort   = 8081
	// secondWorkerPort is that of a worker that is there for a while.
	secondWorkerPort = 8082
)

// dynamoModel is what tools/dynamo calls its model, dynamoSlots how many
// requests its workers take at once.
const (
	dynamoModel = "tiny-llama"
	dynamoSlots = 16
)

// deployment is a Dynamo whose parts come and go.
type deployment struct {
	script, dir, state string
}

// newDeployment prepares one; without the namespace that `make e2e-dynamo`
// makes the test is skipped, for Dynamo opens ports on every interface.
func newDeployment(t *testing.T) *deployment {
	t.Helper()
	dir := os.Getenv("DYNAMO_DIR")
	if dir == "" {
		t.Skip("DYNAMO_DIR names no installed Dynamo: run make e2e-dynamo")
	}
	return &deployment{script: filepath.Join(repositoryRoot(t), "tools/dynamo/dynamo.sh"), dir: dir, state: t.TempDir()}
}

// start starts a part and waits until its port answers.
func (d *deployment) start(t *testing.T, part string, port int, flags ...string) *process {
	t.Helper()
	p := startProcess(t, part, nil, d.script, append([]string{"run", d.dir, d.state, part, strconv.Itoa(port)}, flags...)...)
	within(t, time.Minute, part+" answers", func() bool {
		require.False(t, p.ended(), "%s ended by itself", part)
		_, _, err := get(t.Context(), fmt.Sprintf("http://127.0.0.1:%d/health", port))
		return err == nil
	})
	return p
}

// signal sends a signal to all of a part.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, syscall.Kill(-p.cmd.Process.Pid, s))
}

// requireHealthy requires that the frontend says it is healthy.
func requireHealthy(t *testing.T) {
	t.Helper()
	status, body, err := get(t.Context(), fmt.Sprintf("http://127.0.0.1:%d/health", frontendPort))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(body), `"status":"healthy"`)
}

// complete asks for a completion over a stream and counts its tokens: every
// one is a word.
func complete(ctx context.Context, tokens int) (words int, err error) {
	body := fmt.Sprintf(`{"model":%q,"prompt":"w1 w2 w3","max_tokens":%d,"stream":true}`, dynamoModel, tokens)
	response, err := postJSON(ctx, fmt.Sprintf("http://127.0.0.1:%d/v1/completions", frontendPort), body)
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

// streams are completions under way, of which the words are counted.
type streams struct{ *crowd[int] }

// startStreams begins n completions; the test ends them.
func startStreams(t *testing.T, n, tokens int) streams {
	t.Helper()
	return streams{startCrowd(t, n, func(ctx context.Context, _ int) (int, error) { return complete(ctx, tokens) })}
}

// wait waits for all of them and gives the words that came.
func (s streams) wait(t *testing.T) (words int) {
	t.Helper()
	for _, n := range s.crowd.wait() {
		words += n
	}
	require.Empty(t, s.errs)
	return words
}
