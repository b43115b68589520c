package scrape_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// sized starts a server whose body is as long as the query demands.
func sized(t *testing.T) func(bytes int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n, _ := strconv.ParseInt(req.URL.Query().Get("bytes"), 10, 64)
		io.Copy(w, io.LimitReader(lines{}, n))
	}))
	t.Cleanup(s.Close)
	return func(bytes int) string { return s.URL + "/metrics?bytes=" + strconv.Itoa(bytes) }
}

// sharing returns a client that shares resources.
func sharing(t *testing.T, r *scrape.Resources) *scrape.Client {
	t.Helper()
	client, err := r.Client(scrape.DefaultConfig, quiet())
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// overdue is a context whose deadline a test can let expire.
type overdue struct {
	context.Context //nolint:containedctx // It is one.

	over chan struct{}
}

// Done implements context.Context.
func (o overdue) Done() <-chan struct{} { return o.over }

// Err implements context.Context.
func (o overdue) Err() error {
	select {
	case <-o.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// overWhen returns a context whose deadline expires when a condition holds, and not before,
// however busy the machine is.
func overWhen(t *testing.T, so func() bool) context.Context {
	t.Helper()
	o := overdue{t.Context(), make(chan struct{})}
	go func() {
		defer close(o.over)
		for !so() && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}()
	return o
}

func TestLargeBodiesShareMemoryBudget(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	url := sized(t)
	shared := scrape.Bounded(4*mib, 100)
	one, other := sharing(t, shared), sharing(t, shared)
	held, err := scrapeWithin(t, one, url(3*mib), ample)
	require.NoError(t, err)
	require.Greater(t, shared.Memory().Used, int64(2*mib))

	_, err = scrapeWithin(t, other, url(200<<10), ample)
	require.NoError(t, err, "an ordinary page needs no permit")
	_, err = other.Scrape(overWhen(t, func() bool { return shared.Memory().Waits > 0 }), url(3*mib), nil)
	requireFailure(t, err, scrape.ReasonMemory, "", "large responses already use the whole 4MiB budget")

	ended := make(chan error)
	go func() {
		page, err := other.Scrape(t.Context(), url(3*mib), nil)
		page.Release()
		ended <- err
	}()
	require.Eventually(t, func() bool { return shared.Memory().Waits > 1 }, ample, time.Millisecond)
	held.Release()
	require.NoError(t, <-ended, "it goes on when the other is done with")
	require.Zero(t, shared.Memory().Used)

	page, err := scrapeWithin(t, one, url(10*mib), ample)
	require.NoError(t, err, "one body alone is bounded by limits.body only")
	require.Len(t, page.Body, 10*mib)
	page.Release()
	page.Release()
	require.Zero(t, shared.Memory().Used)
}

// A pool that allows huge pages does not get them where there is not enough memory to
// parse one.
func TestBodyIsBoundedByProcessMemory(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	url := sized(t)
	shared := scrape.Bounded(4*mib, 100)
	scrape.BoundOne(shared, 2*mib)
	client := sharing(t, shared)
	page, err := scrapeWithin(t, client, url(2*mib), ample)
	require.NoError(t, err)
	page.Release()
	_, err = scrapeWithin(t, client, url(2*mib+1), ample)
	requireFailure(t, err, scrape.ReasonBodyTooLarge, "", "over 2MiB, the share of the exporter's memory limit for "+
		"one body; raise that (GOMEMLIMIT, or the limit of the container)")
	require.Zero(t, shared.Memory().Used)

	cfg := scrape.DefaultConfig
	cfg.Limits.Body = mib
	small, err := shared.Client(cfg, quiet())
	require.NoError(t, err)
	t.Cleanup(small.Close)
	_, err = scrapeWithin(t, small, url(mib+1), ample)
	requireFailure(t, err, scrape.ReasonBodyTooLarge, "", "over the limit of 1MiB; raise limits.body")
}

// A body that stops arriving gives its memory back to those that wait.
func TestStalledBodiesReleaseMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rounds, mib = 4, 1 << 20
		c := newCrowd(t, 1000)
		c.shared = scrape.Bounded(32*mib/5, 1000)
		client, err := scrape.BoundedClient(c.shared, scrape.DefaultConfig, quiet(), c.dial)
		require.NoError(t, err)
		c.client = client
		some := strings.Repeat("a 1\n", mib/4)
		c.streams = func(conn net.Conn) {
			defer conn.Close()
			in := bufio.NewReader(conn)
			for {
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				complete := !strings.Contains(req.Host, "stops")
				size, sent := 10, 9
				if complete {
					size, sent = 2, 2
				}
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size*mib)
				for range sent {
					if _, err := io.WriteString(conn, some); err != nil {
						return
					}
				}
				if !complete {
					io.Copy(io.Discard, in)
					return
				}
			}
		}
		var all sync.WaitGroup
		c.scrape(&all, "streams-stops", 10, rounds, 0)
		c.scrape(&all, "streams-large", 1, rounds, 0)
		c.end(&all)
		for round := range rounds {
			require.Equal(t, map[string]int{"good": 1}, c.results["streams-large"][round], "round %d", round)
			require.Zero(t, c.results["streams-stops"][round]["good"])
		}
		require.Positive(t, c.results["streams-stops"][0]["memory"])
		require.Zero(t, c.shared.Memory().Used)
	})
}

func TestWaitForConnectionClosesIdleFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 2)
		c.takes["quick"], c.takes["hangs"] = new(atomic.Int64), new(atomic.Int64)
		c.takes["hangs"].Store(int64(never))
		other, err := scrape.BoundedClient(c.shared, scrape.DefaultConfig, quiet(), c.dial)
		require.NoError(t, err)
		_, err = scrapeWithin(t, other, "http://quick-0/metrics", ample)
		require.NoError(t, err)
		require.EqualValues(t, 1, c.shared.Connections().Used, "it is kept, idle")

		ctx, leave := context.WithCancel(t.Context())
		var hanging sync.WaitGroup
		for i := range 2 {
			hanging.Go(func() { c.client.Scrape(ctx, fmt.Sprintf("http://hangs-%d/metrics", i), nil) })
		}
		synctest.Wait()
		require.EqualValues(t, 1, c.shared.Connections().Waits, "until the idle one was closed")
		_, err = scrapeWithin(t, other, "http://quick-1/metrics", 800*time.Millisecond)
		requireFailure(t, err, scrape.ReasonResource, "", "all 2 connections to targets are in use")
		require.EqualValues(t, 2, c.shared.Connections().Used)

		leave()
		hanging.Wait()
		_, err = scrapeWithin(t, other, "http://quick-0/metrics", ample)
		require.NoError(t, err)
		c.client.Close()
		other.Close()
		synctest.Wait()
		require.Zero(t, c.shared.Connections().Used)
	})
}

func TestBodiesWaitingForEachOtherEndBeforeDeadline(t *testing.T) {
	t.Parallel()
	bomb := compressed(t, io.LimitReader(lines{}, 17<<20))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, bomb)
	}))
	t.Cleanup(s.Close)
	shared := scrape.Bounded(8<<20, 100)
	client := sharing(t, shared)
	var all sync.WaitGroup
	var peak atomic.Int64
	for range 12 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			page, err := client.Scrape(ctx, s.URL, nil)
			peak.Store(max(peak.Load(), shared.Memory().Used))
			switch reason := scrape.ReasonOf(err); reason {
			case scrape.ReasonBodyTooLarge, scrape.ReasonMemory:
			default:
				t.Errorf("%v", err)
			}
			if ctx.Err() != nil {
				t.Error("it waited for its deadline")
			}
			page.Release()
		})
	}
	all.Wait()
	require.LessOrEqual(t, peak.Load(), int64(17<<20), "but for one body alone")
	require.Zero(t, shared.Memory().Used)
}
