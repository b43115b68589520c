package collector_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestScrapesMissedDuringSlowScrapeAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const address = "http://10.0.0.1:1/metrics"
		// Longer than the interval, but within the timeout.
		p := &fakeScraper{duration: func(string, int) time.Duration { return 7 * time.Second }}
		slow := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
		slow.ScrapeTimeout = model.Duration(9 * time.Second)
		tc := startWithScraper(t, p, slow)
		time.Sleep(102 * time.Second)
		synctest.Wait()
		starts := p.times(address)
		for i := 2; i < len(starts); i++ {
			require.Equal(t, 10*time.Second, starts[i].Sub(starts[i-1]), "scrape %d", i)
		}
		page := tc.page()
		n := value(page, targetSeries("target_scrapes_total", "p", "a"))
		require.InDelta(
			t,
			n,
			value(page, targetSeries("target_scrapes_skipped_total", "p", "a")),
			2,
			"every second moment",
		)
		require.Greater(t, n, 8.0)
	})
}

func TestP09PanicAffectsOneTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		broken := false
		set := func(on bool) {
			mu.Lock()
			defer mu.Unlock()
			broken = on
		}
		bad := func(address string) bool {
			mu.Lock()
			defer mu.Unlock()
			return broken && strings.Contains(address, "10.0.0.1")
		}
		p := &fakeScraper{
			page: func(address string) (string, error) {
				if bad(address) {
					panic("a page that nobody thought of")
				}
				return tritonPage, nil
			},
			api: func(_ context.Context, u *url.URL) (int, string, error) {
				if bad(u.Host) {
					panic("an answer that nobody thought of")
				}
				return http.StatusNotFound, "", nil
			},
		}
		tc := startWithScraper(
			t,
			p,
			everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"),
			everySeconds("q", 5, "b=10.0.0.2:1|10.0.0.2:2"),
		)
		time.Sleep(12 * time.Second)
		synctest.Wait()
		before := tc.page()
		set(true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		page := tc.page()
		require.InDelta(t, 2, value(page, targetSeriesByReason("target_scrape_failures_total", "p", "panic", "a")), 0)
		require.InDelta(t, 0, value(page, targetSeries("target_up", "p", "a")), 0)
		requireSame(t, "", rawLines(page, "p"))
		requireSame(t, rawLines(before, "q"), rawLines(page, "q"))
		require.InDelta(t, 1, value(page, targetSeries("target_up", "q", "b")), 0)
		require.Greater(
			t,
			value(tc.ownMetrics(), "trtllm_exporter_panics_total"),
			2.0,
			"those of the API are counted as well",
		)
		set(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		requireSame(t, rawLines(before, "p"), rawLines(tc.page(), "p"))
	})
}

// A scrape that is canceled by a reload does not change its target.
func TestCanceledScrapePublishesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &fakeScraper{duration: func(string, int) time.Duration { return 3 * time.Second }}
		tc := startWithScraper(t, p, everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"))
		time.Sleep(12 * time.Second)
		synctest.Wait()
		before := tc.page()
		for range 10 {
			// Each time at another point of the scrape.
			time.Sleep(1300 * time.Millisecond)
			changed := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
			changed.IdentityInterval += model.Duration(len(p.times("http://10.0.0.1:1/metrics")))
			tc.apply(changed)
			synctest.Wait()
			page := tc.page()
			requireSame(t, rawLines(before, "p"), rawLines(page, "p"))
			require.InDelta(t, 1, value(page, targetSeries("target_up", "p", "a")), 0)
		}
	})
}

// The others are on the page within two intervals, no matter how many hang.
func TestHangingReplicasDoNotDelayStart(t *testing.T) {
	t.Parallel()
	const healthy, seconds = 40, 5
	hanging := 160 * 16 * runtime.GOMAXPROCS(0)
	synctest.Test(t, func(t *testing.T) {
		p := &fakeScraper{duration: func(page string, _ int) time.Duration {
			if strings.HasPrefix(page, "http://10.") {
				return time.Hour
			}
			return 20 * time.Millisecond
		}}
		var targets []string
		for i := range hanging + healthy {
			host := fmt.Sprintf("10.%d.%d.%d", i/65536, i/256%256, i%256)
			if i%(hanging/healthy) == 0 {
				host = fmt.Sprintf("11.0.%d.%d", i/256%256, i%256)
			}
			targets = append(targets, fmt.Sprintf("r%d=%s:1|%s:2", i, host, host))
		}
		tc := startWithScraper(t, p, everySeconds("p", seconds, targets...))
		time.Sleep(2 * seconds * time.Second)
		synctest.Wait()
		up := 0
		for _, slot := range tc.store.Slots() {
			if slot.Status().Health == target.HealthUp {
				up++
			}
		}
		require.GreaterOrEqual(t, up, healthy)
	})
}

func TestReadinessAsksServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var status atomic.Int64
		p := &fakeScraper{api: func(ctx context.Context, u *url.URL) (int, string, error) {
			if u.Path == "/v2/health/ready" && status.Load() != 0 {
				return int(status.Load()), "", nil
			}
			return tritonAPI(ctx, u)
		}}
		tc := startWithScraper(t, p, everySeconds("p", 60, "a=10.0.0.1:1|10.0.0.1:2"))
		time.Sleep(70 * time.Second)
		synctest.Wait()
		before := len(p.times("http://10.0.0.1:1/metrics"))

		readiness := func(replica string) string {
			switch ready, found := tc.Readiness(t.Context(), replica); {
			case !found:
				return "not found"
			case ready:
				return "ready"
			}
			return "not ready"
		}
		require.Equal(t, "ready", readiness("p/a"))
		status.Store(http.StatusBadRequest)
		require.Equal(t, "not ready", readiness("p/a"))
		require.Equal(t, "not found", readiness("p/nobody"))

		require.Len(t, p.times("http://10.0.0.1:1/metrics"), before, "no page is scraped for it")
	})
}

// A job that hangs delays its successor, and nobody who asks the collector.
func TestHangingJobDelaysSuccessorOnly(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]config.Pool{
		"replaced": everySeconds("p", 4, "a=10.0.0.1:1|10.0.0.1:2"),
		"removed":  everySeconds("p", 5, "b=10.0.0.1:1|10.0.0.1:2"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asking, canceled, hangs := make(chan struct{}, 100), make(chan struct{}, 100), make(chan struct{})
			p := &fakeScraper{api: func(ctx context.Context, _ *url.URL) (int, string, error) {
				asking <- struct{}{}
				<-ctx.Done()
				canceled <- struct{}{}
				<-hangs
				return 0, "", errRefused
			}}
			tc := startWithScraper(t, p, everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"))
			<-asking
			tc.apply(changed)
			<-canceled
			before := len(p.times("http://10.0.0.1:1/metrics"))
			tc.Ready() // It would wait for ever.
			tc.Searches()
			tc.Readiness(t.Context(), "p/c")
			require.Len(t, p.times("http://10.0.0.1:1/metrics"), before)
			close(hangs)
			require.Eventually(
				t,
				func() bool { return len(p.times("http://10.0.0.1:1/metrics")) > before },
				waitTimeout,
				pollInterval,
			)
		})
	}
}
