package scrape

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Pages and answers that distinguish servers.
const (
	tritonPage = "nv_inference_count 1\n"
	servePage  = "trtllm_request_success_total 1\n"
	nimPage    = "num_request_max 1\n"
	vllmPage   = "vllm:num_requests_running 0\n"
	models     = `{"data":[{"id":"m"}]}`
	tritonAPI  = `{"name":"triton","version":"2.64.0","extensions":["statistics"]}`
	marker     = "this exporter's own page"
)

// server answers without a network: path to body, and 404 to all other paths.
type server struct {
	Scraper // It needs no other methods.

	answers map[string]string
	// silent is a path of the API that does not answer.
	silent string
	// failed is the error of page requests; others are answered nevertheless.
	failed error
	// takes is the duration of each response, pageTakes that of the page at /metrics if it is another one.
	takes, pageTakes time.Duration
	// mu guards the fields below: detection requests several paths side by side.
	mu sync.Mutex
	// scraped holds the paths whose page was requested, asked all others.
	scraped, requested []string
}

// Scrape implements Scraper.
func (s *server) Scrape(ctx context.Context, address string, buf []byte) (Page, error) {
	path := pathOf(address)
	s.scraped = append(s.scraped, path)
	select {
	case <-time.After(s.duration(path)):
	case <-ctx.Done():
		return Page{}, &Error{Reason: ReasonTimeout, Err: ctx.Err()}
	}
	if s.failed != nil {
		return Page{}, s.failed
	}
	body, ok := s.answer(path)
	switch {
	case !ok:
		return Page{}, &Error{Reason: ReasonHTTPStatus, Class: "404", Err: errors.New("404")}
	case body != "" && strings.ContainsRune("<[{", rune(body[0])):
		return Page{}, &Error{Reason: ReasonContentType, Err: errors.New("no text page")}
	}
	return Page{Body: append(buf[:0], body...)}, nil
}

// Do implements engine.Client.
func (s *server) Do(ctx context.Context, _, address string, _ []byte, _ int64) (int, http.Header, []byte, error) {
	path := pathOf(address)
	s.mu.Lock()
	s.requested = append(s.requested, path)
	s.mu.Unlock()
	select {
	case <-time.After(s.duration(path)):
	case <-ctx.Done():
		return 0, nil, nil, ctx.Err()
	}
	if path == s.silent {
		return 0, nil, nil, context.DeadlineExceeded
	}
	body, ok := s.answer(path)
	if !ok {
		return http.StatusNotFound, http.Header{}, nil, nil
	}
	return http.StatusOK, http.Header{}, []byte(body), nil
}

func (s *server) duration(path string) time.Duration {
	if path == "/metrics" {
		return cmp.Or(s.pageTakes, s.takes)
	}
	return s.takes
}

// answer returns the body for a path; * stands for all others.
func (s *server) answer(path string) (body string, ok bool) {
	if body, ok = s.answers[path]; !ok {
		body, ok = s.answers["*"]
	}
	return body, ok
}

// bubble returns a test that runs with a fake clock.
func bubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Path
}

// fetcher returns a fetcher for a server whose target has this configured kind and URL.
func fetcher(s *server, kind, address string) *Fetcher {
	return &Fetcher{
		Fetched:  Fetched{Server: NewServer(engine.BuiltIn(), kind), Start: time.Now()},
		Scraper:  s,
		Marker:   marker,
		Patience: 30 * time.Second,
		Target:   &target.Target{Engine: kind, MetricsURL: address, Timeout: time.Minute},
	}
}

// found returns a server of a kind whose page is at a URL.
func found(t *testing.T, kind engine.Name, address string) Server {
	t.Helper()
	f := Fetcher{Fetched: Fetched{Server: NewServer(engine.BuiltIn(), target.Auto)}}
	if kind != engine.Unknown {
		require.True(t, f.setKind(engine.Detection{Kind: kind, Evidence: "it was seen"}), "%s is a new kind", kind)
	}
	f.Server.URL = address
	return f.Server
}

// next returns the fetcher of the next page.
func next(before *Fetcher, s *Server, up bool) *Fetcher {
	return &Fetcher{
		Fetched:  Fetched{Server: *s, Start: time.Now()},
		Scraper:  before.Scraper,
		Target:   before.Target,
		Up:       up,
		Marker:   before.Marker,
		Patience: before.Patience,
	}
}
