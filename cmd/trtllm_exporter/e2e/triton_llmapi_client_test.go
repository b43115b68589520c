//go:build e2e_triton && linux

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type question struct {
	prompt    string
	tokens    int
	streaming bool
	// id names the request; stop cancels the request with that id.
	id   string
	stop bool
	// version is the version of the model, the newest if empty.
	version string
}

// ask returns a question whose prompt begins with words that the engine obeys.
func ask(words, tokens int, streaming bool, orders ...string) question {
	return question{prompt: strings.Join(append(orders, promptOf(words)), " "), tokens: tokens, streaming: streaming}
}

func (s *llmapiServer) send(ctx context.Context, q question) (status int, err error) {
	inputs := map[string]any{
		"text_input":                q.prompt,
		"sampling_param_max_tokens": q.tokens,
		"streaming":                 q.streaming,
		"return_finish_reason":      true,
	}
	if q.id != "" {
		inputs["id"] = q.id
	}
	if q.stop {
		inputs["stop"] = true
	}
	body, err := json.Marshal(inputs)
	if err != nil {
		return 0, err
	}
	path := "/v2/models/tensorrt_llm"
	if q.version != "" {
		path += "/versions/" + q.version
	}
	path += "/generate"
	if q.streaming {
		path += "_stream"
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	response, err := postJSON(ctx, s.url(path), string(body))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func (s *llmapiServer) begin(t *testing.T, questions ...question) *crowd[int] {
	t.Helper()
	return startCrowd(
		t,
		len(questions),
		func(ctx context.Context, number int) (int, error) { return s.send(ctx, questions[number]) },
	)
}

func (s *llmapiServer) sendAll(t *testing.T, questions ...question) []int {
	t.Helper()
	return requireAnswered(t, s.begin(t, questions...))
}

func requireAnswered(t *testing.T, c *crowd[int]) []int {
	t.Helper()
	all := c.wait()
	require.Empty(t, c.errs)
	return all
}

// streamOf sends a question over gRPC and counts the responses, one per token.
func (s *llmapiServer) streamOf(ctx context.Context, model string, q question) (tokens int, err error) {
	return s.inferStream(
		ctx,
		model,
		q.tokens,
		[]byte{1},
		textInput(
			"text_input",
			q.prompt,
		),
		input{"streaming", "BOOL", []byte{1}},
		numberInput("sampling_param_max_tokens", q.tokens),
	)
}
