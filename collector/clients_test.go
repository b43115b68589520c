package collector_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// client is the scraper of one pool.
type client struct {
	fakeScraper

	closed atomic.Bool
}

// Close implements scrape.Scraper.
func (c *client) Close() { c.closed.Store(true) }

// clients holds the client of every pool that was built.
type clients struct {
	mu  sync.Mutex
	all []*client
}

// next returns a new client for a pool.
func (c *clients) next() scrape.Scraper {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, &client{})
	return c.all[len(c.all)-1]
}

// closed reports which clients are closed.
func (c *clients) closed() []bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	closed := make([]bool, len(c.all))
	for i := range c.all {
		closed[i] = c.all[i].closed.Load()
	}
	return closed
}

// A replica that continues across a reload keeps its client.
func TestClientIsClosedAfterLastUse(t *testing.T) {
	t.Parallel()
	const a, b = "a=10.0.0.1:1|10.0.0.1:2", "b=10.0.0.2:1|10.0.0.2:2"
	other := func(p config.Pool) config.Pool {
		p.IdentityInterval = model.Duration(2 * time.Hour)
		return p
	}
	none := everySeconds("p", 5)
	for _, c := range []struct {
		name   string
		reload [][]config.Pool
		want   []bool
	}{
		{"a running one", nil, []bool{false}},
		{"the same configuration", [][]config.Pool{{everySeconds("p", 5, a, b)}}, []bool{false, true}},
		{
			"one replica continues and another is removed",
			[][]config.Pool{{everySeconds("p", 5, a)}},
			[]bool{false, false},
		},
		{
			"both leave, one after the other",
			[][]config.Pool{{everySeconds("p", 5, a)}, {none}},
			[]bool{true, true, false},
		},
		{
			"replicas go on over several searches",
			[][]config.Pool{{everySeconds("p", 5, a)}, {everySeconds("p", 5, a, b)}},
			[]bool{false, true, false},
		},
		{"another client configuration", [][]config.Pool{{other(everySeconds("p", 5, a, b))}}, []bool{true, false}},
		{"one without replicas", [][]config.Pool{{none}, {other(none)}}, []bool{true, true, false}},
		{
			"another pool",
			[][]config.Pool{{everySeconds("p", 5, a)}, {everySeconds("q", 5, a)}},
			[]bool{true, true, false},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var made clients
				tc := newCollector(t)
				tc.UseScrapers(made.next)
				tc.apply(everySeconds("p", 5, a, b))
				tc.start()
				time.Sleep(10 * time.Second)
				for _, pools := range c.reload {
					tc.apply(pools...)
					time.Sleep(time.Minute)
				}
				synctest.Wait()
				require.Equal(t, c.want, made.closed())
				require.NoError(t, tc.stop())
				require.NotContains(t, made.closed(), false, "open clients at the end")
			})
		})
	}
}

func TestOvertakenConfigIsAbandoned(t *testing.T) {
	t.Parallel()
	var made clients
	tc := newCollector(t)
	tc.UseScrapers(made.next)
	tc.apply(everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"))
	tc.apply(everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"))
	require.Equal(t, []bool{true, false}, made.closed())
}
