package collector_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// simulatedScraper answers for simulated servers without a network, for tests with the clock of
// synctest.
type simulatedScraper struct {
	*fakeScraper

	// servers holds the servers by host:port of page and API, which share a port.
	servers map[string]*simulate.Replica
	// answer handles requests to the API, and reports whether it did; nil leaves all to the servers.
	answer func(w http.ResponseWriter, req *http.Request) bool
}

// simulated returns a scraper of servers.
func simulated(servers map[string]*simulate.Replica) *simulatedScraper {
	s := &simulatedScraper{servers: servers}
	s.fakeScraper = &fakeScraper{page: s.readPage}
	return s
}

// readPage returns the page of a server.
func (s *simulatedScraper) readPage(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	server := s.servers[u.Host]
	if u.Path != server.MetricsPath() {
		return "", &scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: "404", Err: errors.New("status 404")}
	}
	page, truth := server.Observe()
	if truth.Phase != simulate.PhaseServing {
		return "", &scrape.Error{Reason: scrape.ReasonConnect, Err: errRefused}
	}
	return string(page), nil
}

// Do implements scrape.Scraper.
func (s *simulatedScraper) Do(
	ctx context.Context, method, address string, body []byte, _ int64,
) (code int, header http.Header, answer []byte, err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler: // The server has just started or ended.
			err = errRefused
		default:
			panic(p)
		}
	}()
	req := httptest.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	w := httptest.NewRecorder()
	if s.answer == nil || !s.answer(w, req) {
		s.servers[req.URL.Host].APIHandler().ServeHTTP(w, req)
	}
	return w.Code, w.Header(), w.Body.Bytes(), ctx.Err()
}

// DoBrief implements scrape.Scraper.
func (s *simulatedScraper) DoBrief(
	ctx context.Context, method, address string, body []byte, limit int64,
) (int, http.Header, []byte, error) {
	return s.Do(ctx, method, address, body, limit)
}
