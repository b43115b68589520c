package replica

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// counting shows pages on which n requests wait in front of Triton's models and
// twice as many in the executor, one more of each on every page.
type counting struct {
	canned
	n atomic.Int64
}

// ScrapeFirst implements Scraper.
func (c *counting) ScrapeFirst(ctx context.Context, page string, buf []byte) (scrape.Page, error) {
	return c.Scrape(ctx, page, buf)
}

// Scrape implements Scraper.
func (c *counting) Scrape(_ context.Context, _ string, buf []byte) (scrape.Page, error) {
	n := c.n.Add(1)
	return scrape.Page{
		ContentType: "text/plain",
		Body: fmt.Appendf(buf[:0], `nv_inference_request_success{model="tensorrt_llm",version="1"} %d
nv_inference_pending_request_count{model="tensorrt_llm",version="1"} %d
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} %d
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 64
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled",version="1"} 0
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} %d
`, n, n, 2*n, 2*n),
	}, nil
}

func TestReadersSeeDerivedSeriesOfSamePage(t *testing.T) {
	r, store := loneReplica(t, &counting{}, "10.0.0.1:8002")
	r.publishOne(t.Context())
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if !consistent(t, store) {
						return
					}
				}
			}
		})
	}
	for range 3000 {
		r.publishOne(t.Context())
	}
	close(done)
	readers.Wait()
	require.EqualValues(t, 3001, r.status.Scrapes)
}

// consistent reports whether all series of a read belong to one page.
func consistent(t *testing.T, s *snapshot.Store) bool {
	t.Helper()
	var page []byte
	for _, b := range s.Blocks(nil) {
		for i := range b.Shape().Families() {
			page = b.AppendFamily(page, i)
		}
	}
	pending := valueOf(t, page, "nv_inference_pending_request_count{")
	depth := valueOf(t, page, "llm_server_queue_depth{")
	scrapes := valueOf(t, page, "trtllm_exporter_target_scrapes_total{")
	if pending != scrapes || depth != 3*pending {
		t.Errorf("scrape %d shows %d pending requests and a queue of %d", scrapes, pending, depth)
		return false
	}
	return true
}

// valueOf returns the integer value of the first series with a prefix.
func valueOf(t *testing.T, page []byte, series string) int {
	t.Helper()
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, series) {
			n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]))
			if err != nil {
				t.Error(err)
			}
			return n
		}
	}
	t.Errorf("no %s on the page", series)
	return -1
}

// stuck is a log handler that blocks.
type stuck struct {
	slog.Handler
	wrote chan struct{}
	free  chan struct{}
}

// Handle implements slog.Handler.
func (s *stuck) Handle(context.Context, slog.Record) error {
	s.wrote <- struct{}{}
	<-s.free
	return nil
}

// WithAttrs implements slog.Handler.
func (s *stuck) WithAttrs([]slog.Attr) slog.Handler { return s }

// Enabled implements slog.Handler.
func (*stuck) Enabled(context.Context, slog.Level) bool { return true }

func TestBlockedLogDelaysNoReader(t *testing.T) {
	r, store := loneReplica(t, &counting{}, "10.0.0.1:8002")
	log := &stuck{Handler: slog.DiscardHandler, wrote: make(chan struct{}, 10), free: make(chan struct{})}
	r.log = slog.New(log)
	var loop sync.WaitGroup
	loop.Go(func() { r.publishOne(t.Context()) })
	<-log.wrote
	read := make(chan int, 1)
	go func() {
		read <- len(store.Blocks(nil))
	}()
	select {
	case n := <-read:
		require.Equal(t, 4, n, "all of the replica is there already")
	case <-time.After(time.Minute):
		t.Error("the page waits for the log")
	}
	close(log.free)
	loop.Wait()
}

func TestPanicWhileDerivingFailsOneScrape(t *testing.T) {
	r, store := loneReplica(t, &counting{}, "10.0.0.1:8002")
	r.publishOne(t.Context())
	r.deriver.Rename(derive.Naming{}) // Rules use the topology, which is missing.
	r.publishOne(t.Context())
	require.Equal(t, target.HealthDown, r.status.Health)
	require.Equal(t, string(scrape.ReasonPanic), r.status.LastReason)
	require.Len(t, store.Blocks(nil), 2, "what is known of the replica and of its scrapes stays")
	r.publishOne(t.Context())
	require.Equal(t, target.HealthUp, r.status.Health)
	require.True(t, consistent(t, store), "the page and the status belong together")
}
