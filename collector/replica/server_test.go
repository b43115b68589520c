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
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// server answers for one server without a network, so that a test may run by
// the clock of synctest.
type server struct {
	canned

	// slow are paths of the API that take longer.
	slow map[string]time.Duration

	mu    sync.Mutex
	now   answering
	asked map[string]int
	// slept is how long the machine of the replica slept.
	slept time.Duration
}

// asleep returns how long the machine of the replica was suspended.
func (s *server) asleep() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slept
}

// answering is how a server answers at some time.
type answering struct {
	page      string
	unframed  bool
	failed    error
	pageTakes time.Duration
	// api are the bodies by path, status and body what all others are answered, 404
	// unless it is set; refused says that nothing listens there.
	api      map[string]string
	status   int
	body     string
	refused  bool
	apiTakes time.Duration
	// stream are the frames of an answer to a client; hung says that there is none.
	stream string
	hung   bool
}

// never is longer than anything waits.
const never = 24 * time.Hour

// tritonAnswers are those of a Triton that is ready.
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

// serveAnswers are those of a trtllm-serve of a version, which answers its
// clients with a text.
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

// change has the server answer otherwise from now on.
func (s *server) change(how func(now *answering)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how(&s.now)
}

// answer is how the server answers now, after noting what it was asked.
func (s *server) answer(address string) (now answering, path string) {
	path = address
	if u, err := url.Parse(address); err == nil {
		path = u.Path
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = make(map[string]int)
	}
	s.asked[path]++
	return s.now, path
}

// count is how often a path was asked for.
func (s *server) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// pass lets time pass unless ctx ends first.
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
	if now.failed != nil {
		return scrape.Page{}, now.failed
	}
	return scrape.Page{Body: append(buf[:0], now.page...), ContentType: "text/plain", Unframed: now.unframed}, nil
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
func (s *server) DoBrief(ctx context.Context, method, address string, body []byte, limit int64) (int, http.Header, []byte, error) {
	return s.Do(ctx, method, address, body, limit)
}

// PageLane implements Scraper: there is none.
func (*server) PageLane(string, time.Duration) *lane.Lane { return nil }

// QuestionLane implements Scraper: there is none.
func (*server) QuestionLane(string, bool) *lane.Lane { return nil }

// Open implements Scraper.
func (s *server) Open(ctx context.Context, _, address string, _ []byte) (*http.Response, error) {
	now, _ := s.answer(address)
	if now.hung {
		httptrace.ContextClientTrace(ctx).GotConn(httptrace.GotConnInfo{})
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(now.stream)),
	}, nil
}

// failure of a page for a reason.
func failed(reason scrape.Reason) error {
	return &scrape.Error{Reason: reason, Err: errors.New("no page")}
}

// stepped is a replica in a bubble of synctest that is due when a test says so.
type stepped struct {
	*Replica
	*server

	t     *testing.T
	store *snapshot.Store
	ctx   context.Context //nolint:containedctx // It is the life of the replica.

	cancel func()
}

// step makes a replica of a server; change may alter what it is made of. The
// rates of its bubble begin to count at once.
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

// due has the replica do what it is time for, and what needs no time.
func (s *stepped) due() {
	s.read()
	s.Schedules()[0].Due(s.ctx, 0, nil)
	synctest.Wait()
}

// read ends what the test has read of the replica's state: what its owner does
// from now on comes after it, for the race detector too.
func (s *stepped) read() { s.do(func() {}) }

// after lets time pass, with what happens at its end.
func (s *stepped) after(d time.Duration) target.Status {
	s.read()
	time.Sleep(d)
	synctest.Wait()
	return s.slot.Status()
}

// page is what readers see of the replica.
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

// shows requires readers to see a text, on a line that a failure prints.
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
