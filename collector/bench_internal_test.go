package collector

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// canned are pages of one server a few seconds apart, given in turn.
type canned struct {
	pages [][]byte
	next  atomic.Uint64
}

// newCanned lets a simulated Triton work and keeps its pages.
func newCanned(b *testing.B) *canned {
	b.Helper()
	r, err := simulate.NewReplica(simulate.Spec{Workload: simulate.Workload{Rate: 5}})
	require.NoError(b, err)
	defer r.Close()
	c := &canned{}
	r.Advance(time.Minute)
	for range 8 {
		r.Advance(5 * time.Second)
		c.pages = append(c.pages, r.Page())
	}
	return c
}

// page is the next page.
func (c *canned) page() []byte { return c.pages[c.next.Add(1)%uint64(len(c.pages))] }

// ServeHTTP answers as a metrics port does.
func (c *canned) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path != "/metrics" {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(c.page())
}

// Scrape implements Scraper without a network.
func (c *canned) Scrape(_ context.Context, _ string, buf []byte) (scrape.Page, error) {
	return scrape.Page{Body: append(buf[:0], c.page()...), ContentType: "text/plain; charset=utf-8"}, nil
}

// Do implements Scraper.
func (*canned) Do(context.Context, string, string, []byte, int64) (int, http.Header, []byte, error) {
	return http.StatusNotFound, http.Header{}, nil, nil
}

// Pass implements Scraper.
func (c *canned) Pass(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error) {
	return c.Do(ctx, method, url, body, limit)
}

// Open implements Scraper.
func (*canned) Open(context.Context, string, string, []byte) (*http.Response, error) {
	return nil, http.ErrNotSupported
}

// Leave implements Scraper.
func (*canned) Leave(string) {}

// Close implements Scraper.
func (*canned) Close() {}

// BenchmarkScrapeLine is one scrape of one replica, from the question to the
// published snapshot: over the loopback, and without a network.
func BenchmarkScrapeLine(b *testing.B) {
	pages := newCanned(b)
	server := httptest.NewServer(pages)
	defer server.Close()
	client, err := scrape.New(scrape.DefaultConfig, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	defer client.Close()
	for _, way := range []struct {
		name    string
		scraper Scraper
	}{{"loopback", client}, {"memory", pages}} {
		b.Run(way.name, func(b *testing.B) {
			r := benchReplica(b, way.scraper, strings.TrimPrefix(server.URL, "http://"))
			for range 2 * len(pages.pages) {
				r.scrape(b.Context())
			}
			require.Equal(b, target.HealthUp, r.status.Health, r.status.LastError)
			b.ReportAllocs()
			for b.Loop() {
				r.scrape(b.Context())
			}
			b.ReportMetric(float64(r.status.Samples), "samples/op")
		})
	}
}

// benchReplica is a replica without a loop.
func benchReplica(b *testing.B, s Scraper, address string) *replica {
	b.Helper()
	store := snapshot.NewStore()
	c, err := New(Options{Store: store, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	require.NoError(b, err)
	c.scraper = func(scrape.Config, *slog.Logger) (Scraper, error) { return s, nil }
	cfg := DefaultConfig
	pool := DefaultPoolConfig
	pool.PoolID, pool.Engine = "llama-70b-prod", "triton"
	cfg.Pools = []PoolConfig{pool}
	cfg.Resolve()
	p, err := c.build(&cfg, &cfg.Pools[0], exposition.DefaultConfig)
	require.NoError(b, err)
	t := &target.Target{
		PoolID: pool.PoolID, ReplicaID: "r0", Engine: "triton",
		MetricsURL: fmt.Sprintf("http://%s/metrics", address), APIURL: "http://" + address,
		Interval: 5 * time.Second, Timeout: 4 * time.Second,
	}
	slot, err := store.Add(t)
	require.NoError(b, err)
	return newReplica(t, p, slot, c.opts.Logger)
}
