package collector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log" //nolint:depguard // The field of http.Server has that type.
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
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

// stage is an HTTP server whose answers a test changes. At first its page is
// tritonPage, and all else 404.
type stage struct {
	*httptest.Server

	now atomic.Pointer[answers]
	// Requests for pages: those under way, the most at one time, and all.
	busy atomic.Int32
	most atomic.Int32
	hits atomic.Int64
}

// answers are what a stage answers, by path and to all other paths.
type answers struct {
	paths map[string]http.HandlerFunc
	other http.HandlerFunc
}

// newStage opens a stage until the test ends.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{}
	s.play(nil)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// enter changes all answers.
func (s *stage) enter(paths map[string]http.HandlerFunc, other http.HandlerFunc) {
	s.now.Store(&answers{paths, other})
}

// play has the page answer with h from now on; nil is the good page.
func (s *stage) play(h http.HandlerFunc) {
	if h == nil {
		h = body(tritonPage)
	}
	s.enter(map[string]http.HandlerFunc{"/metrics": h}, http.NotFound)
}

// ServeHTTP implements http.Handler.
func (s *stage) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	now := s.now.Load()
	answer := now.paths[req.URL.Path]
	if answer == nil {
		now.other(w, req)
		return
	}
	s.hits.Add(1)
	busy := s.busy.Add(1)
	defer s.busy.Add(-1)
	for most := s.most.Load(); busy > most && !s.most.CompareAndSwap(most, busy); most = s.most.Load() {
	}
	answer(w, req)
}

// address is the stage's host:port.
func (s *stage) address() string { return s.Listener.Addr().String() }

// host is the address of its page and of its API.
func (s *stage) host() string { return s.address() + "|" + s.address() }

// staged is a pool of pages at /metrics, named "name=host:port".
func staged(id string, targets ...string) config.Pool {
	p := pool(id, targets...)
	p.MetricsPath = "/metrics"
	return p
}

// body answers with a page and a true length.
func body(page string) http.HandlerFunc { return typed("text/plain; charset=utf-8", page) }

// typed answers with a body of a content type.
func typed(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{contentType}
		_, _ = io.WriteString(w, body)
	}
}

// status answers with a status and no word.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
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

// faulty answers with one of the simulator's faults.
func faulty(fault simulate.Fault) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) { simulate.Faulty(fault, tritonPage, w, req) }
}

// listing answers as an HTTP service that lists targets, "name=host:port|host:port".
func listing(targets ...string) http.HandlerFunc {
	groups := []map[string]any{}
	for _, target := range targets {
		name, address, _ := strings.Cut(target, "=")
		address, api, _ := strings.Cut(address, "|")
		groups = append(groups, map[string]any{
			"targets": []string{address},
			"labels":  map[string]string{"replica_id": name, collector.APIAddressLabel: api},
		})
	}
	text, err := json.Marshal(groups)
	if err != nil {
		panic(err)
	}
	return typed("application/json", string(text))
}

// readyAPI is the HTTP API of a Triton that is ready.
func readyAPI(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/v2":
		_, _ = io.WriteString(w, `{"name":"triton","version":"2.51.0","extensions":["statistics"]}`)
	case "/v2/repository/index":
		_, _ = io.WriteString(w, `[{"name":"tensorrt_llm","version":"1","state":"READY"}]`)
	case "/v2/health/ready", "/v2/health/live":
	default:
		http.NotFound(w, req)
	}
}

// repeated is a page of n series.
func repeated(n int) string {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "a{b=\"%d\"} 1\n", i)
	}
	return b.String()
}

// quiet is a log that nobody reads.
func quiet() *log.Logger { return slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) }
