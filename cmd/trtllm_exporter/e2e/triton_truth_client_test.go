//go:build e2e_triton && linux

package e2e

import (
	"context"
	"errors"
	"time"
)

// The defects of requests that are meant to fail.
const (
	noPrompt = sound + 1 + iota // The preprocessing step returns an error.
	noTokens                    // The LLM does.
	tooLarge                    // The LLM does, because no KV cache is large enough.
)

// requestsOfTruth returns the requests of the comparison with Triton.
func requestsOfTruth() mix {
	return mix{fewestWords: 5, mostWords: 40, fewestTokens: 4, mostTokens: 20, failingPercent: 8, flaws: 3}
}

func (s *tritonServer) send(ctx context.Context, a arrival) (outcome, error) {
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
	seen := outcome{plan: a, sent: time.Now()}
	err := s.generate(ctx, "ensemble", prompt, tokens, func() { seen.tokens = append(seen.tokens, time.Now()) })
	seen.ended = time.Now()
	if _, seen.failed = errors.AsType[answeredError](err); seen.failed {
		err = nil
	}
	return seen, err
}
