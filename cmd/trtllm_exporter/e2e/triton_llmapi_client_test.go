//go:build e2e_triton && linux

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// question is a request to the LLM-API backend, whose prompt begins with words that the engine obeys.
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

func ask(words, tokens int, streaming bool, orders ...string) question {
	return question{prompt: strings.Join(append(orders, promptOf(words)), " "), tokens: tokens, streaming: streaming}
}

func (s *llmapiServer) send(ctx context.Context, q question) (seen outcome, err error) {
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
		return seen, err
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
		return seen, err
	}
	defer response.Body.Close()
	seen.status = response.StatusCode
	_, err = io.Copy(io.Discard, response.Body)
	return seen, err
}

func (s *llmapiServer) begin(t *testing.T, questions ...question) *crowd {
	t.Helper()
	return startCrowd(t, len(questions), func(ctx context.Context, number int) (outcome, error) {
		return s.send(ctx, questions[number])
	})
}

// sendAll sends questions at once, each of which must get an answer of any kind.
func (s *llmapiServer) sendAll(t *testing.T, questions ...question) []outcome {
	t.Helper()
	return s.begin(t, questions...).answered(t)
}

// streamOf sends a question over gRPC and counts the responses, one per token.
func (s *llmapiServer) streamOf(ctx context.Context, model string, q question) (tokens int, err error) {
	err = s.inferStream(ctx, model, q.tokens, func() { tokens++ }, []byte{1},
		textInput("text_input", q.prompt),
		input{"streaming", "BOOL", []byte{1}},
		numberInput("sampling_param_max_tokens", q.tokens))
	return tokens, err
}
