//go:build e2e_triton && linux

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The request limit of the executor of tools/triton/models, and its tokens per second at 10 ms
// each.
const (
	activeLimit  = 32
	tokensPerSec = slots * 100
)

type load struct {
	*crowd[int]

	streams, tokens int
	// open is the number of streams that the server may leave open: see release.openStreams.
	open int
}

func (s *tritonServer) startLoad(t *testing.T, streams, words, tokens int) *load {
	t.Helper()
	return &load{
		streams: streams,
		tokens:  tokens,
		open:    s.release.openStreams,
		crowd: startCrowd(t, streams, func(ctx context.Context, _ int) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			seen, err := s.stream(ctx, "ensemble", words, tokens)
			if err == nil && seen != tokens {
				err = fmt.Errorf("%d tokens came of %d", seen, tokens)
			}
			return seen, err
		}),
	}
}

// requireComplete waits until all streams, except those that the release may leave open, have all tokens.
func (l *load) requireComplete(t *testing.T) (tokens int) {
	t.Helper()
	for _, n := range l.wait() {
		tokens += n
	}
	for _, problem := range l.errs {
		require.ErrorIs(t, problem, context.DeadlineExceeded)
	}
	require.LessOrEqual(t, len(l.errs), l.open)
	require.GreaterOrEqual(t, tokens, (l.streams-len(l.errs))*l.tokens)
	require.LessOrEqual(t, tokens, l.streams*l.tokens)
	return tokens
}

func (s *tritonServer) waitBusy(t *testing.T, active int) {
	t.Helper()
	within(t, 10*time.Second, fmt.Sprintf("%d requests are active", active), func() bool {
		return s.page(t).only(t, "nv_trt_llm_request_metrics", "request_type", "active") >= float64(active)
	})
}

// waitIdle waits until the executor reports that it is idle.
func (s *tritonServer) waitIdle(t *testing.T) {
	t.Helper()
	within(t, 10*time.Second, "the executor is idle", func() bool {
		return s.page(t).only(t, "nv_trt_llm_request_metrics", "request_type", "active") == 0
	})
}
