package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// canned are pages of one server a few seconds apart, given in turn.
type canned struct {
	scrape.Scraper // It is called for nothing else.

	pages [][]byte
	next  atomic.Uint64
}

// Secrets implements Scraper.
func (*canned) Secrets() *secret.Store { return nil }

// newCanned returns a few typical large pages.
func newCanned() *canned {
	c := &canned{}
	for i := range 16 {
		c.pages = append(c.pages, simulate.BenchPage(simulate.BenchTRTLLM, 0, i))
	}
	return c
}

// serve serves the pages on a port of its own.
func (c *canned) serve(b *testing.B) (address string) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { listener.Close() })
	go simulate.ServeCanned(listener, c.pages)
	return listener.Addr().String()
}

// page returns the next page.
func (c *canned) page() []byte { return c.pages[c.next.Add(1)%uint64(len(c.pages))] }

// Scrape implements scrape.Scraper without a network.
func (c *canned) Scrape(_ context.Context, _ string, buf []byte) (scrape.Page, error) {
	return scrape.Page{Body: append(buf[:0], c.page()...), ContentType: "text/plain; charset=utf-8"}, nil
}

// ScrapeFirst implements scrape.Scraper.
func (c *canned) ScrapeFirst(ctx context.Context, page string, buf []byte) (scrape.Page, error) {
	return c.Scrape(ctx, page, buf)
}

// ScrapeFresh implements scrape.Scraper. It fails.
func (*canned) ScrapeFresh(context.Context, string, []byte) (scrape.Page, error) {
	return scrape.Page{}, errors.New("there is no second connection")
}

// Do implements scrape.Scraper.
func (*canned) Do(context.Context, string, string, []byte, int64) (int, http.Header, []byte, error) {
	return http.StatusNotFound, http.Header{}, nil, nil
}

// DoBrief implements scrape.Scraper.
func (c *canned) DoBrief(
	ctx context.Context, method, url string, body []byte, limit int64,
) (int, http.Header, []byte, error) {
	return c.Do(ctx, method, url, body, limit)
}

// PageLane implements scrape.Scraper: there is none.
func (*canned) PageLane(string, time.Duration) *lane.Lane { return nil }

// QuestionLane implements scrape.Scraper: there is none.
func (*canned) QuestionLane(string, bool) *lane.Lane { return nil }

// CloseIdle implements scrape.Scraper.
func (*canned) CloseIdle() {}

// Close implements scrape.Scraper.
func (*canned) Close() {}

// BenchmarkScrapeLine measures one scrape of one replica, from the request to the
// published snapshot, over the loopback and without a network.
func BenchmarkScrapeLine(b *testing.B) {
	pages := newCanned()
	address := pages.serve(b)
	client, err := scrape.NewResources().Client(scrape.DefaultConfig, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	defer client.Close()
	for _, way := range []struct {
		name    string
		scraper scrape.Scraper
	}{{"loopback", client}, {"memory", pages}} {
		b.Run(way.name, func(b *testing.B) {
			r, _ := loneReplica(b, way.scraper, address)
			for range 2 * len(pages.pages) {
				r.publishOne(b.Context())
			}
			require.Equal(b, target.HealthUp, r.status.Health, r.status.LastError)
			b.ReportAllocs()
			for b.Loop() {
				r.publishOne(b.Context())
			}
			b.ReportMetric(float64(r.status.Samples), "samples/op")
		})
	}
}

// loneReplica returns a replica that only the test runs, and its store.
func loneReplica(tb testing.TB, s scrape.Scraper, address string) (*Replica, *snapshot.Store) {
	tb.Helper()
	store := snapshot.NewStore()
	if m, ok := s.(interface{ asleep() time.Duration }); ok {
		store = snapshot.NewStoreWithSuspend(m.asleep)
	}
	p := &Pool{
		Scraper:          s,
		Origin:           time.Now(),
		Marker:           "no page has this",
		Panicked:         func() {},
		Window:           time.Minute,
		StallAfter:       30 * time.Second,
		Page:             exposition.DefaultConfig,
		Limits:           exposition.DefaultLimits,
		IdentityInterval: 30 * time.Second,
	}
	t := &target.Target{
		PoolID:     "llama-70b-prod",
		ReplicaID:  "r0",
		Engine:     "triton",
		MetricsURL: fmt.Sprintf("http://%s/metrics", address),
		APIURL:     "http://" + address,
		Interval:   5 * time.Second,
		Timeout:    4 * time.Second,
	}
	slot, err := store.Add(t)
	require.NoError(tb, err)
	return New(t, p, slot, slog.New(slog.DiscardHandler)), store
}

// publishOne scrapes and publishes one page.
func (r *Replica) publishOne(ctx context.Context) {
	var run jobRun
	r.update(func() { run = r.startJob(ctx, &r.jobs.page) })
	run.scrapeAndPublish(r.fetcher(), nil)
}
