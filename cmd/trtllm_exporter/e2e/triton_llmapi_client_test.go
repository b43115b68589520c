//go:build e2e_triton && linux

package e2e

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// question is a request to an LLM-API model.
type question struct {
	prompt    string
	tokens    int
	streaming bool
	// id names the request; stop asks for the end of the one with that id.
	id   string
	stop bool
	// version of the model; empty for the newest.
	version string
}

// ask makes questions; orders are the words with which a prompt begins.
func ask(words, tokens int, streaming bool, orders ...string) question {
	return question{prompt: strings.Join(append(orders, promptOf(words)), " "), tokens: tokens, streaming: streaming}
}

// reply is what the client saw of an answer.
type reply struct {
	question question
	status   int
	kind     string
	body     []byte
	// first is when the first event came, ended when the last byte did; both
	// since the request was sent.
	first, ended time.Duration
}

// send asks over HTTP and reads the whole answer.
func (s *llmapiServer) send(ctx context.Context, q question) (reply, error) {
	inputs := map[string]any{"text_input": q.prompt, "sampling_param_max_tokens": q.tokens, "streaming": q.streaming, "return_finish_reason": true}
	if q.id != "" {
		inputs["id"] = q.id
	}
	if q.stop {
		inputs["stop"] = true
	}
	body, err := json.Marshal(inputs)
	if err != nil {
		return reply{}, err
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
	begun := time.Now()
	response, err := postJSON(ctx, s.url(path), string(body))
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	seen := reply{question: q, status: response.StatusCode, kind: response.Header.Get("Content-Type")}
	lines := bufio.NewReader(response.Body)
	for err == nil {
		var line []byte
		line, err = lines.ReadBytes('\n')
		if seen.first == 0 && len(line) > 0 {
			seen.first = time.Since(begun)
		}
		seen.body = append(seen.body, line...)
	}
	seen.ended = time.Since(begun)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return seen, err
}

// sendEach asks everything at once and returns when all answers are there.
func (s *llmapiServer) sendEach(ctx context.Context, questions ...question) ([]reply, error) {
	replies := make([]reply, len(questions))
	problems := make([]error, len(questions))
	var under sync.WaitGroup
	for i, q := range questions {
		under.Go(func() { replies[i], problems[i] = s.send(ctx, q) })
	}
	under.Wait()
	return replies, errors.Join(problems...)
}

// sendAll calls sendEach and requires that no request fails on the way.
func (s *llmapiServer) sendAll(t *testing.T, questions ...question) []reply {
	t.Helper()
	replies, err := s.sendEach(t.Context(), questions...)
	require.NoError(t, err)
	return replies
}

// background asks everything at once; the channel gets what went wrong.
func (s *llmapiServer) background(t *testing.T, questions ...question) <-chan error {
	t.Helper()
	over := make(chan error, 1)
	go func() {
		_, err := s.sendEach(t.Context(), questions...)
		over <- err
	}()
	return over
}

// late returns how late the machine is: what a request takes that fails at once.
func (s *llmapiServer) late(t *testing.T) time.Duration {
	t.Helper()
	const tries = 3
	before := s.counted(t).ended["server"]
	worst := time.Duration(0)
	for range tries {
		worst = max(worst, s.sendAll(t, ask(1, 1, false, "!boom"))[0].ended)
	}
	within(t, 5*time.Second, "they are counted", func() bool { return s.counted(t).ended["server"] == before+tries })
	return worst
}

// streamOf asks a model over gRPC and counts the responses, one per token.
func (s *llmapiServer) streamOf(ctx context.Context, model string, q question) (tokens int, err error) {
	message := appendField(nil, 1, []byte(model))
	text := binary.LittleEndian.AppendUint32(nil, uint32(len(q.prompt)))
	inputs := []struct {
		name, kind string
		content    []byte
	}{
		{"text_input", "BYTES", append(text, q.prompt...)},
		{"streaming", "BOOL", []byte{1}},
		{"sampling_param_max_tokens", "INT32", binary.LittleEndian.AppendUint32(nil, uint32(q.tokens))},
	}
	for _, input := range inputs {
		message = appendField(message, 5, inputTensor(input.name, input.kind, 1))
	}
	for _, input := range inputs {
		message = appendField(message, 7, input.content)
	}
	return s.inferMessage(ctx, message, q.tokens)
}
