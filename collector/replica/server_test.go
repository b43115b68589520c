package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// server answers for one server without a network, so that a test may run by
// the clock of synctest.
type server struct {
	canned

	// slow are paths of the API that take longer.
	slow map[string]time.Duration

	mu       sync.Mutex
	now      answering
	requests map[string]int
	// fresh counts the pages that were requested over connections of their own, first those that were
	// requested while no connection was open.
	fresh, first int
	// slept is how long the replica's machine was suspended.
	slept time.Duration
}

// asleep returns how long the replica's machine was suspended.
func (s *server) asleep() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slept
}

// answering holds the current responses of a server.
type answering struct {
	page      string
	unframed  bool
	failed    error
	pageTakes time.Duration
	// bug is what a request for the page panics with.
	bug string
	// kept is true if the page comes over a connection that stays open. Others get another; there
	// are none if it is empty.
	kept         bool
	another      string
	anotherTakes time.Duration
	// api has the bodies by path; other paths answer status, 404 by default, and body.
	// refused is true if nothing listens.
	api      map[string]string
	status   int
	body     string
	refused  bool
	apiTakes time.Duration
	// stream has the frames of an answer to a client; hung is true if there is none.
	stream string
	hung   bool
}

// bubble returns a test that runs with a fake clock.
func bubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// never is longer than every timeout.
const never = 24 * time.Hour

// tritonAnswers returns the answers of a Triton that is ready.
func tritonAnswers() answering {
	return answering{
		page: `nv_inference_request_success{model="tensorrt_llm",version="1"} 5` + "\n",
		api: map[string]string{
			"/v2":                  `{"name":"triton","version":"2.51.0","extensions":["statistics"]}`,
			"/v2/repository/index": `[{"name":"tensorrt_llm","version":"1","state":"READY"}]`,
			"/v2/health/ready":     "", "/v2/health/live": "",
		},
	}
}

// serveAnswers returns the answers of a trtllm-serve, which answers its clients with
// text.
func serveAnswers(version, text string) answering {
	return answering{
		page: `trtllm_request_success_total{model_name="llama",engine_type="undefined"} 4` + "\n",
		api: map[string]string{
			"/version": fmt.Sprintf(`{"version":%q}`, version), "/health": "",
			"/v1/models": `{"object":"list","data":[{"id":"llama","object":"model"}]}`,
		},
		stream: fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":%q}}]}`, text) + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
	}
}

// change changes the server's responses.
func (s *server) change(how func(now *answering)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how(&s.now)
}

// answer returns the current responses and counts the request.
func (s *server) answer(address string) (now answering, path string) {
	path = address
	if u, err := url.Parse(address); err == nil {
		path = u.Path
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == nil {
		s.requests = make(map[string]int)
	}
	s.requests[path]++
	return s.now, path
}

// count returns the number of requests for a path.
func (s *server) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

// freshPages returns how many fresh pages were requested.
func (s *server) freshPages() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh
}

// pass waits, unless ctx ends first.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Scrape implements Scraper.
func (s *server) Scrape(ctx context.Context, address string, buf []byte) (scrape.Page, error) {
	now, _ := s.answer(address)
	if err := pass(ctx, now.pageTakes); err != nil {
		return scrape.Page{}, &scrape.Error{Reason: scrape.ReasonTimeout, Err: err}
	}
	if now.bug != "" {
		panic(now.bug)
	}
	if now.failed != nil {
		return scrape.Page{}, now.failed
	}
	return scrape.Page{
		Body:        append(buf[:0], now.page...),
		ContentType: "text/plain",
		Unframed:    now.unframed,
		Kept:        now.kept,
	}, nil
}

// ScrapeFirst implements Scraper.
func (s *server) ScrapeFirst(ctx context.Context, page string, buf []byte) (scrape.Page, error) {
	s.mu.Lock()
	s.first++
	s.mu.Unlock()
	return s.Scrape(ctx, page, buf)
}

// ScrapeFresh implements Scraper. It fails unless the server has another process.
func (s *server) ScrapeFresh(ctx context.Context, _ string, buf []byte) (scrape.Page, error) {
	s.mu.Lock()
	now := s.now
	s.fresh++
	s.mu.Unlock()
	if now.another == "" {
		return scrape.Page{}, failed(scrape.ReasonConnect)
	}
	if err := pass(ctx, now.anotherTakes); err != nil {
		return scrape.Page{}, &scrape.Error{Reason: scrape.ReasonTimeout, Err: err}
	}
	return scrape.Page{Body: append(buf[:0], now.another...), ContentType: "text/plain"}, nil
}

// Do implements Scraper.
func (s *server) Do(ctx context.Context, _, address string, _ []byte, _ int64) (int, http.Header, []byte, error) {
	now, path := s.answer(address)
	if err := pass(ctx, now.apiTakes+s.slow[path]); err != nil {
		return 0, nil, nil, err
	}
	if now.refused {
		return 0, nil, nil, fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	}
	body, ok := now.api[path]
	if !ok {
		return cmp.Or(now.status, http.StatusNotFound), http.Header{}, []byte(now.body), nil
	}
	return http.StatusOK, http.Header{}, []byte(body), nil
}

// DoBrief implements Scraper.
func (s *server) DoBrief(
	ctx context.Context, method, address string, body []byte, limit int64,
) (int, http.Header, []byte, error) {
	return s.Do(ctx, method, address, body, limit)
}

// Open implements Scraper.
func (s *server) Open(ctx context.Context, _, address string, _ []byte) (*http.Response, error) {
	now, _ := s.answer(address)
	if now.hung {
		httptrace.ContextClientTrace(ctx).GotConn(httptrace.GotConnInfo{})
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       io.NopCloser(strings.NewReader(now.stream)),
	}, nil
}

// failed returns the failure of a page for a reason.
func failed(reason scrape.Reason) error {
	if reason == scrape.ReasonConnect {
		return &scrape.Error{Reason: reason, Err: syscall.ECONNREFUSED}
	}
	return &scrape.Error{Reason: reason, Err: errors.New("no page")}
}

// stepped is a replica in a synctest bubble that is due when the test calls due.
type stepped struct {
	*Replica
	*server

	t     *testing.T
	store *snapshot.Store
	ctx   context.Context //nolint:containedctx // It is the life of the replica.

	cancel func()
}

// step returns a replica of a server; change may change its target and its pool.
func step(t *testing.T, now answering, change func(*target.Target, *Pool)) *stepped {
	t.Helper()
	s := &server{now: now}
	r, store := loneReplica(t, s, "10.0.0.1:8000")
	if strings.Contains(now.page, "trtllm_") {
		r.target.Engine, r.target.MetricsURL = "trtllm-serve", "http://10.0.0.1:8000/prometheus/metrics"
	}
	if change != nil {
		change(r.target, r.pool)
	}
	r = New(r.target, r.pool, r.slot, r.log)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		r.Close()
	})
	return &stepped{Replica: r, server: s, t: t, store: store, ctx: ctx, cancel: cancel}
}

// due runs due work, and what follows without delay.
func (s *stepped) due() {
	s.read()
	s.Schedules()[0].Due(s.ctx, 0, nil)
	synctest.Wait()
}

// read synchronizes the test's reads of the replica's state with later updates, for the
// race detector.
func (s *stepped) read() { s.update(func() {}) }

// after waits, then runs due work.
func (s *stepped) after(d time.Duration) target.Status {
	s.read()
	time.Sleep(d)
	synctest.Wait()
	return s.slot.Status()
}

// page returns the page that readers see.
func (s *stepped) page() string {
	v := s.store.Blocks(nil)
	var page []byte
	for _, b := range v {
		for i := range b.Shape().Families() {
			page = b.AppendFamily(page, i)
		}
	}
	return string(page)
}

// shows requires that the page has a text. A failure prints similar lines.
func (s *stepped) shows(text string) {
	s.t.Helper()
	page := s.page()
	name, _, _ := strings.Cut(text, "{")
	var like strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, name) {
			like.WriteString(line)
		}
	}
	if !strings.Contains(page, text) {
		require.Failf(s.t, "The page lacks a text", "%s\nand has\n%s", text, like.String())
	}
}

func (*server) Secrets() *secret.Store { return nil }
