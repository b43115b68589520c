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
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// tritonPage is a page of a Triton without traffic.
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

// fakeServer is an HTTP server whose responses a test changes. Initially it serves
// tritonPage, and 404 on other paths.
type fakeServer struct {
	*httptest.Server

	current atomic.Pointer[answers]
	// Requests for pages: concurrent ones, their maximum, and all.
	inFlight    atomic.Int32
	maxInFlight atomic.Int32
	scrapes     atomic.Int64
}

// answers holds the handlers of a fakeServer, by path and for other paths.
type answers struct {
	paths map[string]http.HandlerFunc
	other http.HandlerFunc
}

// newFakeServer starts a server that is closed when the test ends.
func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	s := &fakeServer{}
	s.setPage(nil)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// setAnswers replaces all handlers.
func (s *fakeServer) setAnswers(paths map[string]http.HandlerFunc, other http.HandlerFunc) {
	s.current.Store(&answers{paths, other})
}

// setPage sets the handler of the page; nil restores tritonPage.
func (s *fakeServer) setPage(h http.HandlerFunc) {
	if h == nil {
		h = body(tritonPage)
	}
	s.setAnswers(map[string]http.HandlerFunc{"/metrics": h}, http.NotFound)
}

// ServeHTTP implements http.Handler.
func (s *fakeServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	now := s.current.Load()
	answer := now.paths[req.URL.Path]
	if answer == nil {
		now.other(w, req)
		return
	}
	s.scrapes.Add(1)
	busy := s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	for seen := s.maxInFlight.Load(); busy > seen &&
		!s.maxInFlight.CompareAndSwap(seen, busy); seen = s.maxInFlight.Load() {
	}
	answer(w, req)
}

// address returns the server's host:port.
func (s *fakeServer) address() string { return s.Listener.Addr().String() }

// pageAndAPI returns the address of its page and of its API.
func (s *fakeServer) pageAndAPI() string { return s.address() + "|" + s.address() }

// metricsPool returns a pool of targets "name=host:port" with pages at /metrics.
func metricsPool(id string, targets ...string) config.Pool {
	p := pool(id, targets...)
	p.MetricsPath = "/metrics"
	return p
}

// apart gives each target of a pool a page of its own at the address that all have: another query.
func apart(p config.Pool) config.Pool {
	for i, group := range p.Discovery.StaticConfigs {
		group.Labels[model.ParamLabelPrefix+"page"] = model.LabelValue(strconv.Itoa(i))
	}
	return p
}

// body answers with a text page.
func body(page string) http.HandlerFunc { return bodyOfType("text/plain; charset=utf-8", page) }

// bodyOfType answers with a body of a content type.
func bodyOfType(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{contentType}
		_, _ = io.WriteString(w, body)
	}
}

// status answers with a status and no body.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// rawResponse answers with raw bytes and closes the connection.
func rawResponse(text string) http.HandlerFunc {
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

// faultyPage answers with one of the simulator's faults.
func faultyPage(fault simulate.Fault) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) { simulate.Faulty(fault, tritonPage, w, req) }
}

// targetList answers as HTTP discovery; targets are "name=host:port|host:port".
func targetList(targets ...string) http.HandlerFunc {
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
	return bodyOfType("application/json", string(text))
}

// readyAPI answers as the HTTP API of a Triton that is ready.
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

// pageOfSeries returns a page of n series.
func pageOfSeries(n int) string {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "a{b=\"%d\"} 1\n", i)
	}
	return b.String()
}

// discardLog returns a logger that discards everything.
func discardLog() *log.Logger { return slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) }
