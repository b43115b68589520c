package collector_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// puppet answers scrapes without a network, as a test tells it.
type puppet struct {
	mu      sync.Mutex
	started map[string][]time.Time
	takes   func(url string, n int) time.Duration
	page    func(url string) (string, error)
	api     func(url string) (int, string)
}

// Scrape implements collector.Scraper.
func (p *puppet) Scrape(ctx context.Context, url string, buf []byte) (scrape.Page, error) {
	p.mu.Lock()
	if p.started == nil {
		p.started = make(map[string][]time.Time)
	}
	p.started[url] = append(p.started[url], time.Now())
	n := len(p.started[url])
	p.mu.Unlock()
	if p.takes != nil {
		timer := time.NewTimer(p.takes(url, n))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return scrape.Page{Body: buf}, &scrape.Error{Reason: scrape.ReasonTimeout, Err: ctx.Err()}
		}
	}
	text, err := tritonPage, error(nil)
	if p.page != nil {
		text, err = p.page(url)
	}
	return scrape.Page{Body: append(buf[:0], text...), ContentType: "text/plain"}, err
}

// Do implements collector.Scraper.
func (p *puppet) Do(_ context.Context, _, url string, _ []byte, _ int64) (int, http.Header, []byte, error) {
	if p.api == nil {
		return 0, nil, nil, errors.New("there is no API")
	}
	status, text := p.api(url)
	return status, http.Header{}, []byte(text), nil
}

// Pass implements collector.Scraper.
func (p *puppet) Pass(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error) {
	return p.Do(ctx, method, url, body, limit)
}

// Open implements collector.Scraper.
func (*puppet) Open(context.Context, string, string, []byte) (*http.Response, error) {
	return nil, errors.New("there is no stream")
}

// Leave implements collector.Scraper.
func (*puppet) Leave(string) {}

// Close implements collector.Scraper.
func (*puppet) Close() {}

// times are the moments at which a page was asked for.
func (p *puppet) times(url string) []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.started[url]...)
}

// led runs a collector on puppets; call it in a bubble of synctest.
func led(t *testing.T, p *puppet, pools ...config.Pool) *line {
	t.Helper()
	l := newLine(t)
	l.UseScraper(p)
	l.apply(pools...)
	l.start()
	return l
}

// everySeconds is a pool that is scraped at whole intervals of so many seconds.
func everySeconds(id string, seconds int, targets ...string) config.Pool {
	p := staged(id, targets...)
	p.ScrapeInterval = model.Duration(time.Duration(seconds) * time.Second)
	p.ScrapeTimeout = p.ScrapeInterval
	p.IdentityInterval = model.Duration(time.Hour)
	return p
}

func TestScrapesKeepTheirPhase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &puppet{takes: func(string, int) time.Duration { return 700 * time.Millisecond }}
		led(t, p, everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2", "b=10.0.0.2:1|10.0.0.2:2"))
		time.Sleep(100 * time.Second)
		synctest.Wait()
		phases := map[time.Duration]bool{}
		for _, url := range []string{"http://10.0.0.1:1/metrics", "http://10.0.0.2:1/metrics"} {
			at := p.times(url)
			require.GreaterOrEqual(t, len(at), 20)
			require.LessOrEqual(t, len(at), 22)
			for i := 2; i < len(at); i++ {
				require.Equal(t, 5*time.Second, at[i].Sub(at[i-1]), "scrape %d of %s", i, url)
			}
			phases[time.Duration(at[2].UnixNano())%(5*time.Second)] = true
		}
		require.Len(t, phases, 2, "targets are spread over the interval")
	})
}

func TestAMomentThatPassesDuringAScrapeIsSkippedAndCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const url = "http://10.0.0.1:1/metrics"
		// Longer than the interval, but within the timeout.
		p := &puppet{takes: func(string, int) time.Duration { return 7 * time.Second }}
		slow := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
		slow.ScrapeTimeout = model.Duration(9 * time.Second)
		l := led(t, p, slow)
		time.Sleep(102 * time.Second)
		synctest.Wait()
		at := p.times(url)
		for i := 2; i < len(at); i++ {
			require.Equal(t, 10*time.Second, at[i].Sub(at[i-1]), "scrape %d", i)
		}
		page := l.page()
		n := value(page, own("target_scrapes_total", "p", "a"))
		require.InDelta(t, n, value(page, own("target_scrapes_skipped_total", "p", "a")), 2, "every second moment")
		require.Greater(t, n, 8.0)
	})
}

func TestP09APanicStaysWithItsTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		broken := false
		set := func(on bool) {
			mu.Lock()
			defer mu.Unlock()
			broken = on
		}
		bad := func(url string) bool {
			mu.Lock()
			defer mu.Unlock()
			return broken && strings.Contains(url, "10.0.0.1")
		}
		p := &puppet{
			page: func(url string) (string, error) {
				if bad(url) {
					panic("a page that nobody thought of")
				}
				return tritonPage, nil
			},
			api: func(url string) (int, string) {
				if bad(url) {
					panic("an answer that nobody thought of")
				}
				return http.StatusNotFound, ""
			},
		}
		l := led(t, p, everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"), everySeconds("q", 5, "b=10.0.0.2:1|10.0.0.2:2"))
		time.Sleep(12 * time.Second)
		synctest.Wait()
		before := l.page()
		set(true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		page := l.page()
		require.InDelta(t, 2, value(page, reasoned("target_scrape_failures_total", "p", "panic", "a")), 0)
		require.InDelta(t, 0, value(page, own("target_up", "p", "a")), 0)
		require.Empty(t, rawLines(page, "p"))
		require.Equal(t, rawLines(before, "q"), rawLines(page, "q"))
		require.InDelta(t, 1, value(page, own("target_up", "q", "b")), 0)
		require.Greater(t, value(l.self(), "trtllm_exporter_panics_total"), 2.0, "those of the API are counted as well")
		set(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, rawLines(before, "p"), rawLines(l.page(), "p"))
	})
}

// A scrape that a reload gives up does not speak of its target.
func TestAScrapeThatIsGivenUpPublishesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &puppet{takes: func(string, int) time.Duration { return 3 * time.Second }}
		l := led(t, p, everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2"))
		time.Sleep(12 * time.Second)
		synctest.Wait()
		before := l.page()
		for range 10 {
			// Always in another moment of the scrape.
			time.Sleep(1300 * time.Millisecond)
			changed := everySeconds("p", 5, "a=10.0.0.1:1|10.0.0.1:2")
			changed.IdentityInterval += model.Duration(len(p.times("http://10.0.0.1:1/metrics")))
			l.apply(changed)
			synctest.Wait()
			page := l.page()
			require.Equal(t, rawLines(before, "p"), rawLines(page, "p"))
			require.InDelta(t, 1, value(page, own("target_up", "p", "a")), 0)
		}
	})
}
