//go:build e2e_triton && linux

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// What is wrong with a request that is meant to fail.
const (
	noPrompt = sound + 1 + iota // The preprocessing step answers with an error.
	noTokens                    // The LLM does.
	tooLarge                    // The LLM does, for no KV cache could hold it.
)

// requestsOfTruth returns those that Triton is compared with.
func requestsOfTruth() mix {
	return mix{fewestWords: 5, mostWords: 40, fewestTokens: 4, mostTokens: 20, failingPercent: 8, flaws: 3}
}

// body returns the request in the words of the generate extension.
func (a arrival) body() ([]byte, error) {
	prompt, tokens := promptOf(a.words), a.tokens
	switch a.flaw {
	case noPrompt:
		prompt = ""
	case noTokens:
		tokens = 0
	case tooLarge:
		tokens = 100000
	default:
	}
	return json.Marshal(map[string]any{"text_input": prompt, "max_tokens": tokens})
}

// send makes one request and reads the events of its answer as they come.
func (s *tritonServer) send(ctx context.Context, a arrival) (outcome, error) {
	body, err := a.body()
	if err != nil {
		return outcome{}, err
	}
	seen := outcome{plan: a, sent: time.Now()}
	response, err := postJSON(ctx, s.url("/v2/models/ensemble/generate_stream"), string(body))
	if err != nil {
		return seen, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		event, isData := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case strings.Contains(event, `"error"`):
			seen.failed = true
		case isData:
			seen.tokens = append(seen.tokens, time.Now())
		}
	}
	seen.ended = time.Now()
	if (response.StatusCode != http.StatusOK) != seen.failed {
		return seen, errors.New(response.Status)
	}
	return seen, lines.Err()
}
