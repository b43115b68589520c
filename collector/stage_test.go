package collector_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // The field of http.Server has that type.
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// tritonPage is a page of Triton that never changes.
const tritonPage = `# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="ensemble",version="1"} 100
nv_inference_request_success{model="tensorrt_llm",version="1"} 100
# HELP nv_inference_count Number of inferences performed (does not include cached requests)
# TYPE nv_inference_count counter
nv_inference_count{model="ensemble",version="1"} 100
# HELP nv_gpu_utilization GPU utilization rate [0.0 - 1.0)
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.250000
# HELP nv_inference_first_response_histogram_ms Duration from request to the first response
# TYPE nv_inference_first_response_histogram_ms histogram
nv_inference_first_response_histogram_ms_count{model="tensorrt_llm",version="1"} 3
nv_inference_first_response_histogram_ms_sum{model="tensorrt_llm",version="1"} 60
nv_inference_first_response_histogram_ms_bucket{model="tensorrt_llm",version="1",le="100"} 3
nv_inference_first_response_histogram_ms_bucket{model="tensorrt_llm",version="1",le="+Inf"} 3
# HELP nv_inference_request_summary_us Summary of request duration
# TYPE nv_inference_request_summary_us summary
nv_inference_request_summary_us_count{model="ensemble",version="1"} 5
nv_inference_request_summary_us_sum{model="ensemble",version="1"} 700
nv_inference_request_summary_us{model="ensemble",version="1",quantile="0.5"} 7
`

// stage is a server whose page is tritonPage, or what is played instead. Its
// API has nothing but 404.
type stage struct {
	*httptest.Server

	played atomic.Pointer[http.HandlerFunc]
	busy   atomic.Int32
	most   atomic.Int32
	hits   atomic.Int64
}

// newStage opens a stage until the test ends.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// play answers from now on with h; nil is the good page.
func (s *stage) play(h http.HandlerFunc) {
	if h == nil {
		s.played.Store(nil)
		return
	}
	s.played.Store(&h)
}

// ServeHTTP answers requests for the page.
func (s *stage) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path != "/metrics" {
		http.NotFound(w, req)
		return
	}
	s.hits.Add(1)
	now := s.busy.Add(1)
	defer s.busy.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	if h := s.played.Load(); h != nil {
		(*h)(w, req)
		return
	}
	body(tritonPage)(w, req)
}

// host is the stage's address; its API is looked for there as well.
func (s *stage) host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Host + "|" + u.Host
}

// body answers with a page and a true length.
func body(page string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, page)
	}
}

// wire answers with raw bytes and closes the connection.
func wire(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = rw.WriteString(text)
		_ = rw.Flush()
		_ = conn.Close()
	}
}

// staged is a pool of pages at /metrics, named "name=host:port".
func staged(id string, targets ...string) config.Pool {
	p := pool(id, targets...)
	p.MetricsPath = "/metrics"
	return p
}

// requireValid asks both parsers of the ecosystem for their opinion of a page.
func requireValid(t *testing.T, page string) {
	t.Helper()
	p, err := textparse.New([]byte(page), "text/plain; version=0.0.4", labels.NewSymbolTable(), textparse.ParserOptions{})
	require.NoError(t, err)
	for {
		_, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "textparse refuses the page")
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	_, err = parser.TextToMetricFamilies(strings.NewReader(page))
	require.NoError(t, err, "expfmt refuses the page")
}

// rawLines are the lines of a pool's own series on the page, in their order.
func rawLines(page, poolID string) string {
	var b strings.Builder
	// A label that a target exported begins otherwise.
	first, later := fmt.Sprintf("{pool_id=%q", poolID), fmt.Sprintf(",pool_id=%q", poolID)
	for line := range strings.Lines(page) {
		ours := strings.HasPrefix(line, "#") || strings.HasPrefix(line, prefix) || strings.HasPrefix(line, "llm_server_")
		if !ours && (strings.Contains(line, first) || strings.Contains(line, later)) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// heads are the HELP and TYPE lines of the families of tritonPage.
func heads(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") && strings.Contains(tritonPage, line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// until polls the page until done is content with it, and requires every page
// on the way to be valid and check to hold.
func (l *line) until(what string, check func(page string), done func(page string) (missing string)) string {
	l.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		page := l.page()
		requireValid(l.t, page)
		if check != nil {
			check(page)
		}
		missing := done(page)
		if missing == "" {
			return page
		}
		if time.Now().After(deadline) {
			require.Failf(l.t, what, "missing: %s\n\nlast page:\n%s", missing, page)
		}
		l.wait(20 * time.Millisecond)
	}
}

// wait lets time pass between two looks.
func (l *line) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.t.Context().Done():
	case <-timer.C:
	}
}

// value is the value of the series that begins with the text, -1 if absent.
func value(page, series string) float64 {
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			var v float64
			if _, err := fmt.Sscan(rest, &v); err == nil {
				return v
			}
		}
	}
	return -1
}

// prefix begins the names of the exporter's own series.
const prefix = "trtllm_exporter_"

// own is the text of a series of ours about a target.
func own(name, poolID, replicaID string) string {
	return fmt.Sprintf("%s%s{pool_id=%q,replica_id=%q}", prefix, name, poolID, replicaID)
}

// reasoned is the text of a counter by reason about a target.
func reasoned(name, poolID, reason, replicaID string) string {
	return fmt.Sprintf("%s%s{pool_id=%q,reason=%q,replica_id=%q}", prefix, name, poolID, reason, replicaID)
}

// closedPort is an address where nothing listens, and no server of another test
// will, where the machine has a second address of its own.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.77.1:0")
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// repeated is a page of n series.
func repeated(n int) string {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "a{b=\"%d\"} 1\n", i)
	}
	return b.String()
}

// listenAt listens at an address that was free a moment ago.
func listenAt(t *testing.T, address string) (net.Listener, error) {
	t.Helper()
	var listener net.ListenConfig
	return listener.Listen(t.Context(), "tcp", address)
}

// quiet is a log that nobody reads.
func quiet() *log.Logger { return slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) }
