//go:build (e2e_dynamo || e2e_vllm) && linux

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"
)

// tinyLlama is the model of tools/vllm and tools/dynamo, of which each token is a word.
const tinyLlama = "tiny-llama"

// negative is the flaw of a request for less than no tokens.
const negative = sound + 1

// chunk is an event of a stream. A late server sends several tokens in one event, and some have
// no text: where usage is in each event, it has the number so far.
type chunk struct {
	Error   json.RawMessage
	Choices []struct{ Text string }
	Usage   *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
}

// completes returns a client that requests completions, with additional keys. A prompt begins with
// a unique number, so that no prefix is shared.
func completes(s *server, more map[string]any) func(context.Context, int, request) (outcome, error) {
	return func(ctx context.Context, number int, r request) (seen outcome, err error) {
		words := make([]string, r.words)
		for i := range words {
			words[i] = fmt.Sprintf("w%d", (number*131+i*7)%1000)
		}
		asked := map[string]any{
			"model":      tinyLlama,
			"prompt":     strings.Join(words, " "),
			"max_tokens": r.tokens,
			"stream":     true,
		}
		maps.Copy(asked, more)
		if r.flaw == negative {
			asked["max_tokens"] = -1
		}
		if r.unstreamed {
			delete(asked, "stream_options")
			asked["stream"] = false
		}
		body, err := json.Marshal(asked)
		if err != nil {
			return seen, err
		}
		seen.plan, seen.sent = r, time.Now()
		defer func() { seen.ended = time.Now() }()
		response, err := postJSON(ctx, s.url("/v1/completions"), string(body))
		if err != nil {
			return seen, err
		}
		defer response.Body.Close()
		seen.status = response.StatusCode
		if response.StatusCode != http.StatusOK {
			text, err := io.ReadAll(response.Body)
			seen.failure = response.Status + " " + string(text)
			return seen, err
		}
		err = seen.read(response.Body)
		return seen, err
	}
}

func (o *outcome) read(stream io.Reader) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		event, isData := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !isData:
			continue
		case event == "[DONE]":
			o.done = true
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(event), &c); err != nil {
			return fmt.Errorf("event %s: %w", event, err)
		}
		if len(c.Error) > 0 && string(c.Error) != "null" {
			o.failure = event
		}
		o.add(&c)
	}
	return lines.Err()
}

// add adds the tokens of an event.
func (o *outcome) add(c *chunk) {
	total := len(o.tokens)
	if c.Usage != nil {
		o.prompt, total = c.Usage.Prompt, c.Usage.Completion
	} else {
		for _, choice := range c.Choices {
			total += len(strings.Fields(choice.Text))
		}
	}
	for now := time.Now(); len(o.tokens) < total; {
		o.tokens = append(o.tokens, now)
	}
}
