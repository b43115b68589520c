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
)

// puppet answers for all servers without a network, so that a test may run by
// the clock of synctest. What is nil answers as follows.
type puppet struct {
	// takes is how long the nth scrape of a page takes: no time.
	takes func(page string, n int) time.Duration
	// page is what a page shows: tritonPage.
	page func(page string) (string, error)
	// api is what an API answers: there is none.
	api func(ctx context.Context, u *url.URL) (status int, body string, err error)

	mu      sync.Mutex
	started map[string][]time.Time
	asked   map[string]int
}

// Scrape implements scrape.Scraper.
func (p *puppet) Scrape(ctx context.Context, page string, buf []byte) (scrape.Page, error) {
	p.mu.Lock()
	if p.started == nil {
		p.started = make(map[string][]time.Time)
	}
	p.started[page] = append(p.started[page], time.Now())
	n := len(p.started[page])
	p.mu.Unlock()
	if p.takes != nil {
		timer := time.NewTimer(p.takes(page, n))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return scrape.Page{Body: buf}, &scrape.Error{Reason: scrape.ReasonTimeout, Err: ctx.Err()}
		}
	}
	text, err := tritonPage, error(nil)
	if p.page != nil {
		text, err = p.page(page)
	}
	return scrape.Page{Body: append(buf[:0], text...), ContentType: "text/plain"}, err
}

// Do implements scrape.Scraper.
func (p *puppet) Do(ctx context.Context, _, address string, _ []byte, _ int64) (int, http.Header, []byte, error) {
	if p.api == nil {
		return 0, nil, nil, errors.New("there is no API")
	}
	u, err := url.Parse(address)
	if err != nil {
		return 0, nil, nil, err
	}
	p.mu.Lock()
	if p.asked == nil {
		p.asked = make(map[string]int)
	}
	p.asked[u.Path]++
	p.mu.Unlock()
	status, text, err := p.api(ctx, u)
	return status, http.Header{}, []byte(text), err
}

// DoBrief implements scrape.Scraper.
func (p *puppet) DoBrief(ctx context.Context, method, address string, body []byte, limit int64) (int, http.Header, []byte, error) {
	return p.Do(ctx, method, address, body, limit)
}

// PageLane implements scrape.Scraper: there is none.
func (*puppet) PageLane(string, time.Duration) *lane.Lane { return nil }

// QuestionLane implements scrape.Scraper: there is none.
func (*puppet) QuestionLane(string, bool) *lane.Lane { return nil }

// Open implements scrape.Scraper.
func (*puppet) Open(context.Context, string, string, []byte) (*http.Response, error) {
	return nil, errors.New("there is no stream")
}

// CloseIdle implements scrape.Scraper.
func (*puppet) CloseIdle() {}

// Close implements scrape.Scraper.
func (*puppet) Close() {}

// times are the moments at which a page was asked for.
func (p *puppet) times(page string) []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.started[page]...)
}

// count is how often a path of the API was asked for.
func (p *puppet) count(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
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

// tritonAPI answers as a Triton that is ready.
func tritonAPI(_ context.Context, u *url.URL) (int, string, error) {
	w := httptest.NewRecorder()
	readyAPI(w, &http.Request{URL: &url.URL{Path: u.Path}})
	return w.Code, w.Body.String(), nil
}

// nobody is where nothing listens, neither for pages nor for questions.
func nobody() *puppet {
	return &puppet{
		page: func(string) (string, error) {
			return "", &scrape.Error{Reason: scrape.ReasonConnect, Err: errRefused}
		},
		api: func(context.Context, *url.URL) (int, string, error) { return 0, "", errRefused },
	}
}

// errRefused is what comes from a port where nothing listens.
var errRefused = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
