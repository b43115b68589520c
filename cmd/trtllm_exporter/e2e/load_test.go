//go:build e2e_triton && linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The executor of tools/triton/models: requests in its active list, tokens a
// second at its pace of 10 ms.
const (
	activeLimit  = 32
	tokensPerSec = slots * 100
)

// load is a number of equal streams that run at the same time.
type load struct {
	streams, promptWords, maxTokens int
	// open is how many streams the server may never end: see release.openStreams.
	open int

	done     chan struct{}
	mu       sync.Mutex
	tokens   int
	problems []error
}

// startLoad starts all streams of a load on the ensemble and returns at once.
func (s *tritonServer) startLoad(t *testing.T, l *load) *load {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	l.done, l.open = make(chan struct{}), s.release.openStreams
	var running sync.WaitGroup
	for range l.streams {
		running.Go(func() {
			tokens, err := s.stream(ctx, "ensemble", l.promptWords, l.maxTokens)
			if err == nil && tokens != l.maxTokens {
				err = fmt.Errorf("%d tokens came of %d", tokens, l.maxTokens)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.tokens += tokens
			if err != nil {
				l.problems = append(l.problems, err)
			}
		})
	}
	go func() {
		defer cancel()
		defer close(l.done)
		running.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-l.done
	})
	return l
}

// over reports whether all streams have ended.
func (l *load) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// wait waits for the end and wants every stream whole, but for as many as the
// release is known to leave open forever.
func (l *load) wait(t *testing.T) {
	t.Helper()
	<-l.done
	for _, problem := range l.problems {
		require.ErrorIs(t, problem, context.DeadlineExceeded)
	}
	require.LessOrEqual(t, len(l.problems), l.open)
	require.GreaterOrEqual(t, l.tokens, (l.streams-len(l.problems))*l.maxTokens)
	require.LessOrEqual(t, l.tokens, l.streams*l.maxTokens)
}

// waitBusy waits until the executor shows that so many streams have arrived.
func (s *tritonServer) waitBusy(t *testing.T, active int) {
	t.Helper()
	within(t, 10*time.Second, fmt.Sprintf("%d requests are active", active), func() bool {
		return s.page(t).only(t, "nv_trt_llm_request_metrics", "request_type", "active") >= float64(active)
	})
}

// waitIdle waits until the executor has published that it is empty.
func (s *tritonServer) waitIdle(t *testing.T) {
	t.Helper()
	within(t, 10*time.Second, "the executor is idle", func() bool {
		return s.page(t).only(t, "nv_trt_llm_request_metrics", "request_type", "active") == 0
	})
}

// capture writes the server's page as triton-VERSION-WHEN.prom into the folder
// that TRITON_CAPTURE_DIR names, which is how captures for other tests are made.
func (s *tritonServer) capture(t *testing.T, when string) {
	t.Helper()
	dir := os.Getenv("TRITON_CAPTURE_DIR")
	if dir == "" {
		return
	}
	_, body, err := get(t.Context(), "http://"+s.metricsAddress()+"/metrics")
	require.NoError(t, err)
	name := fmt.Sprintf("triton-%s-%s.prom", s.release.triton, when)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), body, 0o644))
}
