package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// manyServers are servers behind one port, each at a loopback address whose third number selects
// its behavior.
type manyServers struct {
	mu sync.Mutex
	// asked holds the times of requests to the healthy ones.
	asked map[string][]time.Time
	page  []byte
}

// TestManyTargets scrapes 5000 targets over sockets: a tenth hang, a tenth are slow, and a tenth
// refuse connections. It measures delays of the other scrapes after the first round.
func TestManyTargets(t *testing.T) {
	if os.Getenv("MANY_TARGETS") == "" {
		t.Skip("make many-targets runs it")
	}
	const many, interval, rounds = 5000, 15 * time.Second, 4
	servers := &manyServers{
		asked: make(map[string][]time.Time, many),
		page:  simulate.BenchPage(simulate.BenchTRTLLM, 0, 0),
	}
	port := servers.listen(t, interval-2*time.Second)
	_, closed, err := net.SplitHostPort(fixture.FreeAddress(t, "127.0.0.1"))
	require.NoError(t, err)
	var document strings.Builder
	fmt.Fprintf(&document, "global: { scrape_interval: %s, scrape_timeout: %s }\npools:\n  - pool_id: p\n    "+
		"engine: triton\n    metrics_path: /metrics\n    api_port: %s\n    "+
		"static_configs:\n", interval, interval-time.Second, closed)
	for i := range many {
		free := port
		if i%10 == 2 {
			free = closed
		}
		fmt.Fprintf(&document, "      - { targets: [\"127.%d.%d.%d:%s\"], labels: { "+
			"replica_id: r%d } }\n", 1+i%10, i/2500, i/10%250, free, i)
	}
	p := started(t, fixture.FreeAddress(t, "127.0.0.1"), "", document.String())
	p.client.Timeout = time.Minute
	p.healthy()
	time.Sleep(2 * interval)
	servers.forget()
	time.Sleep(rounds * interval)
	began := time.Now()
	page := p.metrics()
	elapsed := time.Since(began)

	lags, least, repeated := servers.lags(interval)
	require.Len(t, servers.asked, many*7/10)
	peak, _ := p.peak()
	p99 := lags[len(lags)*99/100]
	t.Logf(
		"%d targets, %d of them healthy, every %v: the scrapes of the healthy are off by %v (p50), %v (p99), %v "+
			"(most); each had %d at least, and %d were repeated; peak RSS %d MB; %.0f seconds of processor time in "+
			"all; a page of %d MB in %v",
		many,
		many*7/10,
		interval,
		lags[len(lags)/2],
		p99,
		lags[len(lags)-1],
		least,
		repeated,
		peak/1_000_000,
		gauge(page, "process_cpu_seconds_total"),
		len(page)/1_000_000,
		elapsed,
	)
	require.Equal(t, many, strings.Count(page, "\ntrtllm_exporter_target_up{"), "all are on the page")
	require.Equal(t, many*8/10, upTargets(page), "the healthy and the slow are up")
	require.GreaterOrEqual(t, least, rounds-1, "each of them was scraped in every interval")
	require.Less(t, p99, interval/10)
}

// listen answers at all loopback addresses, for slow ones after a delay.
func (m *manyServers) listen(t *testing.T, slow time.Duration) (port string) {
	t.Helper()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp4", "0.0.0.0:0")
	require.NoError(t, err)
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Host[:6] {
			case "127.1.":
				<-r.Context().Done()
				return
			case "127.2.":
				time.Sleep(slow)
			default:
				m.mu.Lock()
				m.asked[r.Host] = append(m.asked[r.Host], time.Now())
				m.mu.Unlock()
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Content-Length", strconv.Itoa(len(m.page)))
			_, _ = w.Write(m.page)
		}),
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

func (m *manyServers) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.asked)
}

// lags returns the sorted differences between the interval and the times between scrapes,
// and the lowest number of scrapes of a target. A request that repeats a late one belongs
// to the previous scrape; repeated counts those.
func (m *manyServers) lags(interval time.Duration) (all []time.Duration, least, repeated int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	least = 1 << 30
	for _, times := range m.asked {
		scrapes := slices.CompactFunc(
			slices.Clone(times),
			func(a, b time.Time) bool { return b.Sub(a).Abs() < interval/10 },
		)
		least, repeated = min(least, len(scrapes)), repeated+len(times)-len(scrapes)
		for i := 1; i < len(scrapes); i++ {
			all = append(all, (scrapes[i].Sub(scrapes[i-1]) - interval).Abs())
		}
	}
	slices.Sort(all)
	return all, least, repeated
}
