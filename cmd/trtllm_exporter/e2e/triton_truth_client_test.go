//go:build e2e_triton && linux

package e2e

import (
	"context"
	"errors"
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
