package collector_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// fakeScraper answers for all servers without a network, for tests with the clock of
// synctest. Its fields may be nil.
type fakeScraper struct {
	// duration returns how long the nth scrape of a page takes; 0 if nil.
	duration func(page string, n int) time.Duration
	// page returns the content of a page; tritonPage if nil.
	page func(page string) (string, error)
	// api answers requests to the API; there is none if nil.
	api func(ctx context.Context, u *url.URL) (status int, body string, err error)

	mu       sync.Mutex
	started  map[string][]time.Time
	requests map[string]int
}

// Scrape implements scrape.Scraper.
func (p *fakeScraper) Scrape(ctx context.Context, page string, buf []byte) (scrape.Page, error) {
	p.mu.Lock()
	if p.started == nil {
		p.started = make(map[string][]time.Time)
	}
	p.started[page] = append(p.started[page], time.Now())
	n, write := len(p.started[page]), p.page
	p.mu.Unlock()
	if p.duration != nil {
		timer := time.NewTimer(p.duration(page, n))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return scrape.Page{Body: buf}, &scrape.Error{Reason: scrape.ReasonTimeout, Err: ctx.Err()}
		}
	}
	text, err := tritonPage, error(nil)
	if write != nil {
		text, err = write(page)
	}
	return scrape.Page{Body: append(buf[:0], text...), ContentType: "text/plain"}, err
}

// ScrapeFirst implements scrape.Scraper.
func (p *fakeScraper) ScrapeFirst(ctx context.Context, page string, buf []byte) (scrape.Page, error) {
	return p.Scrape(ctx, page, buf)
}

// ScrapeFresh implements scrape.Scraper. It fails.
func (*fakeScraper) ScrapeFresh(context.Context, string, []byte) (scrape.Page, error) {
	return scrape.Page{}, errors.New("there is no second connection")
}

// Do implements scrape.Scraper.
func (p *fakeScraper) Do(ctx context.Context, _, address string, _ []byte, _ int64) (int, http.Header, []byte, error) {
	if p.api == nil {
		return 0, nil, nil, errors.New("there is no API")
	}
	u, err := url.Parse(address)
	if err != nil {
		return 0, nil, nil, err
	}
	p.mu.Lock()
	if p.requests == nil {
		p.requests = make(map[string]int)
	}
	p.requests[u.Path]++
	p.mu.Unlock()
	status, text, err := p.api(ctx, u)
	return status, http.Header{}, []byte(text), err
}

// DoBrief implements scrape.Scraper.
func (p *fakeScraper) DoBrief(
	ctx context.Context, method, address string, body []byte, limit int64,
) (int, http.Header, []byte, error) {
	return p.Do(ctx, method, address, body, limit)
}

// PageLane implements scrape.Scraper. It returns nil.
func (*fakeScraper) PageLane(string, time.Duration) *lane.Lane { return nil }

// QuestionLane implements scrape.Scraper. It returns nil.
func (*fakeScraper) QuestionLane(string, bool) *lane.Lane { return nil }

// Open implements scrape.Scraper.
func (*fakeScraper) Open(context.Context, string, string, []byte) (*http.Response, error) {
	return nil, errors.New("there is no stream")
}

// CloseIdle implements scrape.Scraper.
func (*fakeScraper) CloseIdle() {}

// Close implements scrape.Scraper.
func (*fakeScraper) Close() {}

// changePages changes what pages contain from now on.
func (p *fakeScraper) changePages(page func(page string) (string, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.page = page
}

// times returns when a page was requested.
func (p *fakeScraper) times(page string) []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.started[page]...)
}

// count returns how often a path of the API was requested.
func (p *fakeScraper) count(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[path]
}

// startWithScraper runs a collector on a fake scraper; it needs a bubble of synctest.
func startWithScraper(t *testing.T, p *fakeScraper, pools ...config.Pool) *testCollector {
	t.Helper()
	tc := newCollector(t)
	tc.UseScraper(p)
	tc.apply(pools...)
	tc.start()
	return tc
}

// everySeconds returns a pool that is scraped every n seconds.
func everySeconds(id string, seconds int, targets ...string) config.Pool {
	p := metricsPool(id, targets...)
	p.ScrapeInterval = model.Duration(time.Duration(seconds) * time.Second)
	p.ScrapeTimeout = p.ScrapeInterval
	p.IdentityInterval = model.Duration(time.Hour)
	return p
}

// tritonAPI answers as a Triton that is ready.
func tritonAPI(_ context.Context, u *url.URL) (int, string, error) {
	w := httptest.NewRecorder()
	readyAPI(w, &http.Request{URL: &url.URL{Path: u.Path}})
	return w.Code, w.Body.String(), nil
}

// refusingScraper returns a scraper of servers that refuse every connection.
func refusingScraper() *fakeScraper {
	return &fakeScraper{
		page: func(string) (string, error) {
			return "", &scrape.Error{Reason: scrape.ReasonConnect, Err: errRefused}
		},
		api: func(context.Context, *url.URL) (int, string, error) { return 0, "", errRefused },
	}
}

// errRefused is the error of a port where nothing listens.
var errRefused = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)

func (*fakeScraper) Secrets() *secret.Store { return nil }
