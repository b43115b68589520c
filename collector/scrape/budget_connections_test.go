package scrape_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// crowd scrapes hosts over too few connections, every five seconds with a timeout of four
// and spread over the interval.
type crowd struct {
	t      *testing.T
	shared *scrape.Resources
	client *scrape.Client

	mu sync.Mutex
	// takes is the response time of the hosts of a kind; negative is forever.
	takes map[string]*atomic.Int64
	// results counts the results of a kind, good or the reason, by round.
	results map[string][]map[string]int
	// streams answers for the hosts of that kind.
	streams func(net.Conn)
}

const (
	crowdInterval = 5 * time.Second
	crowdTimeout  = 4 * time.Second
	never         = time.Duration(-1)
)

// newCrowd returns a crowd with a limit of connections.
func newCrowd(t *testing.T, connections int) *crowd {
	t.Helper()
	c := &crowd{
		t:       t,
		shared:  scrape.Bounded(1<<20, connections),
		takes:   map[string]*atomic.Int64{},
		results: map[string][]map[string]int{},
	}
	client, err := scrape.BoundedClient(c.shared, scrape.DefaultConfig, quiet(), c.dial)
	require.NoError(t, err)
	c.client = client
	return c
}

// dial returns a connection to a server in memory.
func (c *crowd) dial(_ context.Context, _, address string) (net.Conn, error) {
	kind, _, _ := strings.Cut(address, "-")
	near, far := net.Pipe()
	if kind == "streams" {
		go c.streams(far)
		return near, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	go c.serve(far, c.takes[kind])
	return near, nil
}

// serve answers on one connection until it ends.
func (*crowd) serve(conn net.Conn, takes *atomic.Int64) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		wait := time.Duration(takes.Load())
		if wait < 0 {
			io.Copy(io.Discard, in)
			return
		}
		time.Sleep(wait)
		if _, err := fmt.Fprintf(
			conn, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(page), page,
		); err != nil {
			return
		}
	}
}

// scrape scrapes a number of hosts of a kind for a number of rounds.
func (c *crowd) scrape(all *sync.WaitGroup, kind string, hosts, rounds int, takes time.Duration) {
	c.mu.Lock()
	c.takes[kind] = new(atomic.Int64)
	c.takes[kind].Store(int64(takes))
	for range rounds {
		c.results[kind] = append(c.results[kind], map[string]int{})
	}
	c.mu.Unlock()
	for i := range hosts {
		all.Go(func() {
			time.Sleep(crowdInterval * time.Duration(i) / time.Duration(hosts))
			line := scrape.LineUnknown
			for round := range rounds {
				start := time.Now()
				ctx, cancel := context.WithTimeout(line.Of(c.t.Context()), crowdTimeout)
				got, err := c.client.Scrape(ctx, fmt.Sprintf("http://%s-%d/metrics", kind, i), nil)
				got.Release()
				cancel()
				line = scrape.LineOf(err == nil, err)
				c.count(kind, round, err)
				time.Sleep(time.Until(start.Add(crowdInterval)))
			}
		})
	}
}

func (c *crowd) count(kind string, round int, err error) {
	reason := "good"
	if err != nil {
		reason = string(scrape.ReasonOf(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[kind][round][reason]++
}

// end waits until all connections are closed.
func (c *crowd) end(all *sync.WaitGroup) {
	all.Wait()
	c.client.Close()
	time.Sleep(time.Minute)
	require.Zero(c.t, c.shared.Connections().Used)
}

func TestHangingTargetsTakeNoConnectionFromOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 20)
		var all sync.WaitGroup
		c.scrape(&all, "healthy", 140, 12, 5*time.Millisecond)
		c.scrape(&all, "hangs", 60, 12, never)
		time.Sleep(8 * crowdInterval)
		c.takes["hangs"].Store(int64(time.Millisecond))
		c.end(&all)
		for round, results := range c.results["healthy"] {
			require.Equal(t, map[string]int{"good": 140}, results, "round %d", round)
		}
		for round, results := range c.results["hangs"][:7] {
			require.Zero(t, results["good"], "round %d", round)
		}
		require.Equal(t, map[string]int{"good": 60}, c.results["hangs"][11], "they are back")
		require.Positive(t, c.shared.Connections().Waits)
		require.Positive(t, c.shared.Connections().Reclaimed)
	})
}

// Far more targets hang than there are connections. The others have turns of their own.
func TestLinesOfTargetsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rounds = 12
		c := newCrowd(t, 16)
		var all sync.WaitGroup
		c.scrape(&all, "healthy", 20, rounds, 5*time.Millisecond)
		time.Sleep(crowdInterval)
		c.scrape(&all, "hangs", 400, rounds, never)
		time.Sleep(8 * crowdInterval)
		c.takes["hangs"].Store(int64(time.Millisecond))
		c.end(&all)
		for round, results := range c.results["healthy"] {
			require.Equal(t, map[string]int{"good": 20}, results, "round %d", round)
		}
		require.Greater(t, c.results["hangs"][3]["resource"], 300, "most have no connection, or lose it")
		require.Equal(t, map[string]int{"good": 400}, c.results["hangs"][rounds-1], "they are back")
	})
}

func TestHangingTargetsKeepSpareConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 90)
		var all sync.WaitGroup
		c.scrape(&all, "healthy", 20, 3, 5*time.Millisecond)
		c.scrape(&all, "hangs", 60, 3, never)
		c.end(&all)
		require.Equal(t, []map[string]int{{"timeout": 60}, {"timeout": 60}, {"timeout": 60}}, c.results["hangs"])
		require.Zero(t, c.shared.Connections().Reclaimed)
	})
}

func TestSlowTargetsWithJustEnoughConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow, rounds = 30, 12
		c := newCrowd(t, 20)
		var all sync.WaitGroup
		c.scrape(&all, "healthy", 140, rounds, 5*time.Millisecond)
		c.scrape(&all, "slow", slow, rounds, 1500*time.Millisecond)
		c.end(&all)
		for round, results := range c.results["healthy"] {
			require.Equal(t, map[string]int{"good": 140}, results, "round %d", round)
		}
		for round, results := range c.results["slow"] {
			require.Equal(t, map[string]int{"good": slow}, results, "round %d", round)
		}
	})
}

func TestHangingTargetRecoversImmediately(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rounds = 24
		c := newCrowd(t, 16)
		var all sync.WaitGroup
		c.scrape(&all, "healthy", 100, rounds, 5*time.Millisecond)
		c.scrape(&all, "hangs", 60, rounds, never)
		c.scrape(&all, "recovers", 6, rounds, never)
		time.Sleep(6 * crowdInterval)
		c.takes["recovers"].Store(int64(time.Millisecond))
		c.end(&all)
		for round, results := range c.results["recovers"][7:] {
			require.Equal(t, map[string]int{"good": 6}, results, "round %d", round)
		}
		for round, results := range c.results["healthy"] {
			require.Equal(t, map[string]int{"good": 100}, results, "round %d", round)
		}
	})
}
