//go:build e2e_triton && linux

package e2e

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hangs kills the process of a server's LLM and sends a request per second until the test
// ends. It returns the numbers of sent and of ended requests.
func hangs(t *testing.T, s *tritonServer) (sent, ended *atomic.Int64) {
	t.Helper()
	s.killStubs(t, 1, "/tensorrt_llm") // If all are killed, the server may end of boost's lock_exception.
	sent, ended = new(atomic.Int64), new(atomic.Int64)
	var clients sync.WaitGroup
	stop := repeat(t, time.Second, func(ctx context.Context) {
		sent.Add(1)
		clients.Go(func() {
			_, _ = s.generateStream(ctx, "ensemble", promptOf(3), 5)
			if ctx.Err() == nil {
				ended.Add(1)
			}
		})
	})
	t.Cleanup(func() {
		stop()
		clients.Wait()
	})
	return sent, ended
}

func TestHangingRequestsWait(t *testing.T) {
	s := newTriton(t, hanging())
	s.launch(t)
	s.waitReady(t)
	e := startPool(t, "scrape_interval: 1s, scrape_timeout: 1s, window: 10s, stall_after: 5s", s.metricsAddress(),
		"canary: { confirm: true, first_token_timeout: 2s }")
	ready, live := startProbe(t, e, "/-/replica/ready"), startProbe(t, e, "/-/replica/live")
	for range 3 {
		tokens, err := s.generateStream(t.Context(), "ensemble", promptOf(3), 5)
		require.NoError(t, err)
		require.Equal(t, 5, tokens)
	}
	e.inState(t, "r0", "ready", longest)
	began := time.Now()
	sent, ended := hangs(t, s)
	within(t, time.Minute, "many were sent", func() bool { return sent.Load() >= 15 })
	if !s.answers(t) {
		t.Skip("the server ended with its processes: boost's lock_exception, of a lock that one held when " +
			"it was killed")
	}
	p := e.page(t)
	t.Logf("%d sent, %d ended, queue %v", sent.Load(), ended.Load(), p.named("llm_server_queue_requests"))
	require.LessOrEqual(t, ended.Load(), int64(1), "none but the first, which fails, has an answer")
	require.InDelta(
		t,
		float64(sent.Load()),
		p.sum("llm_server_queue_requests", "queue", "core"),
		3,
		"all but those wait",
	)
	require.InDelta(t, 3, p.sum("llm_server_requests_total"), 1, "none has ended")
	require.Equal(t, http.StatusOK, s.status(t, "/v2/health/ready"), "readiness is wrong")
	e.inState(t, "r0", "stalled", time.Minute)
	ready.waitFor(t, http.StatusServiceUnavailable, "its requests hang", began)
	live.waitFor(t, http.StatusServiceUnavailable, "its requests hang", began)
}
