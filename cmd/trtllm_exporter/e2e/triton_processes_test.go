//go:build e2e_triton && linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEachProcessOfTriton kills or stops the process of one model after another while requests go to the
// ensemble, to the same steps as business logic, or to both. What the exporter says is compared with what clients
// get. It takes minutes, so it runs if EACH_PROCESS is set.
func TestEachProcessOfTriton(t *testing.T) {
	t.Parallel()
	if os.Getenv("EACH_PROCESS") == "" {
		t.Skip("takes minutes: run make e2e-triton-processes")
	}
	entries := []struct {
		name   string
		models []string
	}{
		{"the ensemble", []string{"ensemble"}},
		{"business logic", []string{"tensorrt_llm_bls"}},
		{"both", []string{"ensemble", "tensorrt_llm_bls"}},
	}
	for _, r := range []release{releases()[0], hanging()} {
		for _, part := range []string{"preprocessing", "tensorrt_llm", "postprocessing", "tensorrt_llm_bls"} {
			for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
				for _, e := range entries {
					t.Run(fmt.Sprintf("%s/%s/%s/%s", r.triton, part, signal, e.name), func(t *testing.T) {
						t.Parallel()
						losesProcess(t, newTriton(t, r), part, signal, e.models)
					})
				}
			}
		}
	}
}

// losesProcess has clients of entries, whose answers it counts, and then kills or stops the processes of a model.
func losesProcess(t *testing.T, s *tritonServer, part string, signal syscall.Signal, entries []string) {
	t.Helper()
	s.start(t)
	silent := watchProcesses(t, s)
	asks := watchProcesses(t, s, "canary: { confirm: true, first_token_timeout: 4s }")
	clients := make([]*client, len(entries))
	for i, e := range entries {
		clients[i] = s.asking(t, e)
	}
	pause(t.Context(), 12*time.Second)
	for _, c := range clients {
		require.Positive(t, c.since(time.Time{}), "%s answers", c.entry)
	}
	require.Equal(t, "ready", silent.exporter.replica(t, "r0").State)
	require.Equal(t, "ready", asks.exporter.replica(t, "r0").State)

	s.signalStubs(t, signal, part)
	broken := time.Now()
	pause(t.Context(), 45*time.Second)
	answered := 0
	for _, c := range clients {
		answered += c.since(broken.Add(10 * time.Second))
	}
	t.Logf("answers of %s: %v", strings.Join(entries, " and "), clients)
	silent.requireTruth(answered > 0, false, broken)
	asks.requireTruth(answered > 0, true, broken)
}

// watchProcesses starts an exporter that suspects soon.
func watchProcesses(t *testing.T, s *tritonServer, keys ...string) *life {
	t.Helper()
	const global = "window: 10s, stall_after: 5s, failing_min: 3"
	keys = append([]string{"identity_interval: " + questionInterval.String()}, keys...)
	l := watch(t, startPool(t, time.Second, global, s.address(), keys...), s.server)
	l.hears(is("ready", keep, ""))
	return l
}

// requireTruth requires that a server is never restarted which answers, or of which nothing was asked, and that one
// which answers nobody is not called well.
func (l *life) requireTruth(answers, asks bool, broken time.Time) {
	l.t.Helper()
	r, worst := l.exporter.replica(l.t, "r0"), l.probes["r0"].worst(broken)
	l.t.Logf("asks %t: %s, suspected %t, probes at worst %v: %s", asks, r.State, r.Suspected, worst, r.Reason)
	if answers || !asks {
		require.Equal(l.t, http.StatusOK, worst.live, "liveness: %s", r.Reason)
	}
	if !answers {
		require.True(l.t, r.State != "ready" || r.Suspected, "nobody is answered, and it is %s: %s", r.State, r.Reason)
	}
}

// client sends two requests a second to an entry, whether or not it answers.
type client struct {
	entry string

	mu      sync.Mutex
	ended   []time.Time
	failed  int
	sent    int
	problem string
}

func (s *tritonServer) asking(t *testing.T, entry string) *client {
	t.Helper()
	c := &client{entry: entry}
	var requests sync.WaitGroup
	stop := repeat(t, 500*time.Millisecond, func(ctx context.Context) {
		requests.Go(func() { c.ask(ctx, s) })
	})
	t.Cleanup(func() {
		stop()
		requests.Wait()
	})
	return c
}

func (c *client) ask(ctx context.Context, s *tritonServer) {
	c.mu.Lock()
	c.sent++
	c.mu.Unlock()
	seen, err := s.stream(ctx, 0, request{words: 3, tokens: 5, model: c.entry})
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || seen.failed() {
		c.failed++
		c.problem = fmt.Sprint(seen.failure, err)
		return
	}
	c.ended = append(c.ended, time.Now())
}

// since returns the number of requests that ended well since then.
func (c *client) since(begin time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ended := range c.ended {
		if ended.After(begin) {
			n++
		}
	}
	return n
}

func (c *client) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d of %d, %d failed (%.60s)", len(c.ended), c.sent, c.failed, c.problem)
}

// worst returns the worst answers since then.
func (p *probed) worst(since time.Time) (w advice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w = keep
	for _, a := range p.answers {
		if a.time.After(since) {
			w = advice{max(w.ready, a.ready), max(w.live, a.live)}
		}
	}
	return w
}
