//go:build e2e_vllm && linux

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The defects of requests that are meant to fail.
const negative = sound + 1

// answered is the result of a streamed request.
type answered struct {
	outcome

	status int
	// failure is the error of the response or of an event in it; done is set if the stream was
	// complete.
	failure string
	done    bool
	// prompt is the length of the prompt according to the server.
	prompt int
}

// chunk is an event of a stream. A late server sends several tokens in one event, and some have
// no text: each event has the number so far.
type chunk struct {
	Error json.RawMessage
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
}

// complete requests a completion of a prompt that begins with a unique number, so that no prefix
// is shared.
func (s *engineServer) complete(ctx context.Context, number int, a arrival) (seen answered, err error) {
	words := make([]string, a.words)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", (number*131+i*7)%1000)
	}
	tokens := a.tokens
	if a.flaw == negative {
		tokens = -1
	}
	body, err := json.Marshal(map[string]any{
		"model":          engineModel,
		"prompt":         strings.Join(words, " "),
		"max_tokens":     tokens,
		"temperature":    0,
		"ignore_eos":     true,
		"stream":         true,
		"stream_options": map[string]any{"include_usage": true, "continuous_usage_stats": true},
	})
	if err != nil {
		return seen, err
	}
	seen.plan, seen.sent = a, time.Now()
	defer func() { seen.ended = time.Now() }()
	response, err := postJSON(ctx, s.url("/v1/completions"), string(body))
	if err != nil {
		return seen, err
	}
	defer response.Body.Close()
	seen.status = response.StatusCode
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(response.Body)
		seen.failed, seen.failure = true, string(text)
		return seen, err
	}
	err = seen.read(response.Body)
	return seen, err
}

func (a *answered) read(stream io.Reader) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		event, isData := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !isData:
			continue
		case event == "[DONE]":
			a.done = true
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(event), &c); err != nil {
			return fmt.Errorf("event %s: %w", event, err)
		}
		if len(c.Error) > 0 && string(c.Error) != "null" {
			a.failed, a.failure = true, event
		}
		if c.Usage != nil {
			a.prompt = c.Usage.Prompt
			for now := time.Now(); len(a.tokens) < c.Usage.Completion; {
				a.tokens = append(a.tokens, now)
			}
		}
	}
	return lines.Err()
}

// send sends a request of a plan, and requires the planned length.
func (s *engineServer) send(ctx context.Context, a arrival) (outcome, error) {
	seen, err := s.complete(ctx, int(a.at.Microseconds()), a)
	if err == nil && !seen.failed && (seen.prompt != a.words || !seen.done) {
		err = fmt.Errorf("the server counts %d tokens of a prompt of %d, and its stream came "+
			"to an end: %t", seen.prompt, a.words, seen.done)
	}
	return seen.outcome, err
}

type completions struct{ *crowd[answered] }

func (s *engineServer) startCrowd(t *testing.T, n int, a arrival) completions {
	t.Helper()
	return completions{
		startCrowd(t, n, func(ctx context.Context, number int) (answered, error) { return s.complete(ctx, number, a) }),
	}
}

func (c completions) requireComplete(t *testing.T) {
	t.Helper()
	for _, a := range c.wait() {
		require.True(
			t,
			a.done && !a.failed && len(a.tokens) == a.plan.tokens,
			"%d tokens of %d, %s",
			len(a.tokens),
			a.plan.tokens,
			a.failure,
		)
	}
	require.Empty(t, c.errs)
}
