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

// TestHangingRequestsWait kills the process of the LLM of a Triton that reports ready from then on.
func TestHangingRequestsWait(t *testing.T) {
	s := newTriton(t, hanging())
	s.start(t)
	l := watchTriton(t, s, time.Second, "window: 10s, stall_after: 5s",
		"canary: { confirm: true, first_token_timeout: 2s }")
	var sent, ended atomic.Int64
	l.plays(
		step{
			name: "a server that serves is ready",
			does: acts{load(1, 3, 5), complete, load(1, 3, 5), complete, load(1, 3, 5), complete},
			says: is("ready", keep, ""),
		},
		step{
			name: "requests to a process that died hang, and wait in the queue",
			does: acts{func(l *life) {
				s.killStubs(l.t, 1, "/tensorrt_llm") // If all are killed, the server may end of boost's lock_exception.
				l.happened = time.Now()
				s.oneASecond(l.whole, &sent, &ended)
				within(l.t, time.Minute, "many were sent", func() bool { return sent.Load() >= 15 })
				if !s.showsPage(l.t) {
					l.t.Skip("the server ended with its processes: boost's lock_exception, of a lock that one held " +
						"when it was killed")
				}
				least := float64(sent.Load() - 3) // The first ones are where the process died.
				p := l.exporter.renewed(l.t)
				require.LessOrEqual(l.t, ended.Load(), int64(1), "none but the first, which fails, has an answer")
				waiting := p.sum("llm_server_queue_requests", "queue", "core")
				require.GreaterOrEqual(l.t, waiting, least, "requests that wait")
				require.LessOrEqual(l.t, waiting, float64(sent.Load()), "requests that wait")
				require.InDelta(l.t, 3, p.sum("llm_server_requests_total"), 1, "requests that ended")
			}},
			then: acts{answering(s.server, "/v2/health/ready", http.StatusOK, 0)},
		},
		step{
			name: "it is stalled, since a question hangs too",
			does: acts{func(l *life) {
				if s.ended() {
					l.t.Skip("the server ended with its processes")
				}
			}},
			says: is("stalled", restart, ""),
		},
	)
}

// oneASecond sends a request per second until the test ends, and counts them.
func (s *tritonServer) oneASecond(t *testing.T, sent, ended *atomic.Int64) {
	t.Helper()
	var clients sync.WaitGroup
	stop := repeat(t, time.Second, func(ctx context.Context) {
		sent.Add(1)
		clients.Go(func() {
			_, _ = s.stream(ctx, 0, request{words: 3, tokens: 5})
			if ctx.Err() == nil {
				ended.Add(1)
			}
		})
	})
	t.Cleanup(func() {
		stop()
		clients.Wait()
	})
}
