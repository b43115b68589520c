package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

const (
	pending0 = `nv_inference_pending_request_count{model="ensemble", pool_id="a", replica_id="r0", version="1"}`
	pending1 = `nv_inference_pending_request_count{model="ensemble", pool_id="a", replica_id="r1", version="1"}`
	pendingB = `nv_inference_pending_request_count{model="ensemble", pool_id="b", replica_id="r0", version="1"}`
)

// threeReplicas returns a fleet of two pools.
func threeReplicas(tb testing.TB) *fleet {
	tb.Helper()
	f := newFleet(tb)
	f.page("a", "r0", tritonPage(1))
	f.page("a", "r1", tritonPage(2))
	f.page("b", "r0", tritonPage(3))
	return f
}

func TestPageHasAllReplicasAndExporter(t *testing.T) {
	h := handler(t, threeReplicas(t).options())

	w := get(h, "/metrics")

	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"))
	require.Equal(t, "Accept, Accept-Encoding", w.Header().Get("Vary"))
	got := samples(t, w.Body.String())
	require.InDelta(t, 1, got[pending0], 0)
	require.InDelta(t, 2, got[pending1], 0)
	require.InDelta(t, 3, got[pendingB], 0)
	require.Contains(t, got, `trtllm_exporter_metadata_conflicts{kind="type"}`)
	require.Equal(t, 1, strings.Count(w.Body.String(), "# TYPE nv_inference_pending_request_count "))
}

func TestOwnMetricsPassLinter(t *testing.T) {
	h := handler(t, newFleet(t).options())

	problems, err := promlint.New(get(h, "/metrics").Body).Lint()

	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestHeadHasLengthAndNoBody(t *testing.T) {
	h := handler(t, threeReplicas(t).options())

	for _, encoding := range []string{"identity", "gzip"} {
		w := ask(h, http.MethodHead, "/metrics", "Accept-Encoding", encoding)

		require.Equal(t, http.StatusOK, w.Code)
		require.Zero(t, w.Body.Len())
		require.NotEmpty(t, w.Header().Get("Content-Length"))
	}
}

func TestEncodingsHaveSamePage(t *testing.T) {
	// X06.
	h := handler(t, threeReplicas(t).options())
	plain := get(h, "/metrics?name[]=nv_inference_request_success").Body.String()
	for _, c := range []struct {
		name   string
		accept []string
		want   string
	}{
		{"no header", nil, ""},
		{"gzip", []string{"gzip"}, "gzip"},
		{"gzip as Prometheus accepts it", []string{"gzip, deflate"}, "gzip"},
		{"zstd", []string{"zstd"}, "zstd"},
		{"zstd and gzip", []string{"gzip, zstd"}, "zstd"},
		{"gzip preferred to zstd", []string{"gzip;q=1, zstd;q=0.5"}, "gzip"},
		{"brotli only", []string{"br"}, ""},
		{"gzip refused", []string{"gzip;q=0"}, ""},
		{"anything", []string{"*"}, "gzip"},
		{"garbage", []string{";;q=,\x00gzip!,="}, ""},
		{"an invalid quality", []string{"gzip;q=abc"}, "gzip"},
		{"two lines, the second supported", []string{"br", "gzip"}, "gzip"},
		{"two lines, the second refusing", []string{"*", "gzip;q=0"}, ""},
		{"two lines, the second preferred", []string{"gzip;q=0.5", "zstd"}, "zstd"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics?name[]=nv_inference_request_success", http.NoBody)
		r.Header["Accept-Encoding"] = c.accept
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)

		require.Equal(t, http.StatusOK, w.Code, c.name)
		require.Equal(t, c.want, w.Header().Get("Content-Encoding"), c.name)
		require.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"), c.name)
		require.Equal(t, plain, decode(t, c.want, w.Body), c.name)
	}
}

func decode(t *testing.T, encoding string, body io.Reader) string {
	t.Helper()
	switch encoding {
	case "gzip":
		gz, err := gzip.NewReader(body)
		require.NoError(t, err)
		return read(t, gz)
	case "zstd":
		zs, err := zstd.NewReader(body)
		require.NoError(t, err)
		defer zs.Close()
		return read(t, zs)
	default:
		return read(t, body)
	}
}

func TestFormatsAreNegotiated(t *testing.T) {
	h := handler(t, threeReplicas(t).options())
	for _, c := range []struct {
		name, accept, want string
	}{
		{"a browser", "text/html,*/*;q=0.8", "text/plain; version=0.0.4"},
		{"OpenMetrics only", "application/openmetrics-text;version=1.0.0", "text/plain; version=0.0.4"},
		{
			"OpenMetrics first, text too",
			"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
			"text/plain; version=0.0.4",
		},
		{
			"protobuf first",
			"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,text/plain;q=0.5",
			"text/plain; version=0.0.4",
		},
	} {
		w := get(h, "/metrics", "Accept", c.accept)
		require.Equal(t, http.StatusOK, w.Code, c.name)
		require.Contains(t, w.Header().Get("Content-Type"), c.want, c.name)
		require.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"), c.name)
	}
}

func TestPageSelections(t *testing.T) {
	options := threeReplicas(t).options()
	options.Pools = func() map[string]web.PoolConfig { return map[string]web.PoolConfig{"a": {}, "none": {}} }
	h := handler(t, options)
	for _, c := range []struct {
		name, query string
		with        []string
		without     []string
	}{
		{"one replica", "?target=a/r0", []string{pending0}, []string{pending1, pendingB, "trtllm_exporter_page_bytes"}},
		{"two replicas", "?target=a/r0&target=b/r0", []string{pending0, pendingB}, []string{pending1}},
		{"a pool", "?pool_id=a", []string{pending0, pending1}, []string{pendingB, "trtllm_exporter_page_bytes"}},
		{"a replica of another pool", "?pool_id=b&target=a/r0", nil, []string{pending0, pending1, pendingB}},
		{"a pool without replicas", "?pool_id=none", nil, []string{pending0}},
		{"the exporter itself", "?target=self", []string{"trtllm_exporter_page_bytes"}, []string{pending0}},
		{
			"one name", "?name[]=nv_inference_pending_request_count",
			[]string{pending0, pendingB},
			[]string{"trtllm_exporter_page_bytes"},
		},
		{
			"an own name", "?name[]=trtllm_exporter_page_bytes",
			[]string{"trtllm_exporter_page_bytes"},
			[]string{pending0},
		},
		{
			"a name of one replica",
			"?name[]=nv_inference_pending_request_count&target=a/r1",
			[]string{pending1},
			[]string{pending0},
		},
		{"an unknown name", "?name[]=nope", nil, []string{pending0, "trtllm_exporter_page_bytes"}},
	} {
		w := get(h, "/metrics"+c.query)
		require.Equal(t, http.StatusOK, w.Code, c.name)
		require.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"), c.name)
		got := samples(t, w.Body.String())
		for _, series := range c.with {
			require.Contains(t, got, series, c.name)
		}
		for _, series := range c.without {
			require.NotContains(t, got, series, c.name)
		}
		require.Equal(t, c.with == nil, w.Body.Len() == 0, c.name)
	}
}

func TestUnknownReplicasAndPoolsAreNotFound(t *testing.T) {
	for _, configured := range []map[string]web.PoolConfig{nil, {"a": {}, "none": {}}} {
		options := threeReplicas(t).options()
		options.Pools = func() map[string]web.PoolConfig { return configured }
		h := handler(t, options)
		for query, want := range map[string]string{
			"?target=a/r0&target=a/r9":  `"a/r9"`,
			"?target=":                  `No replica is named ""`,
			"?target=&target=a/r0":      `No replica is named ""`,
			"?target=self&target=":      `No replica is named ""`,
			"?pool_id=":                 `No pool is named ""`,
			"?pool_id=&target=a/r0":     `No pool is named ""`,
			"?pool_id=nope":             `"nope"`,
			"?pool_id=a&pool_id=nope":   `"nope"`,
			"?pool_id=nope&target=a/r0": `"nope"`,
		} {
			w := get(h, "/metrics"+query)
			require.Equal(t, http.StatusNotFound, w.Code, query)
			require.Contains(t, w.Body.String(), want, query)
		}
		require.Equal(t, http.StatusOK, get(h, "/metrics?pool_id=b").Code, "it has a replica")
	}
}

// TestSelectionsUseLittleMemory selects many parts: neither their pages nor those of the servers
// stay in memory.
func TestSelectionsUseLittleMemory(t *testing.T) {
	const limit, bodies, each = 40 << 20, 20, 1 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	f := newFleet(t)
	opts := f.options()
	opts.Exposition = pageMaxAge(time.Hour)
	h := handler(t, opts)
	random := rand.NewChaCha8([32]byte{})
	var first uint64
	for i := range bodies {
		var page strings.Builder
		for line := range each / 2048 {
			text := make([]byte, 1024)
			_, _ = random.Read(text)
			fmt.Fprintf(&page, "x{of=\"%d\",line=\"%d\",text=\"%x\"} 1\n", i, line, text)
		}
		f.page("a", "r0", page.String())
		if i == 2 {
			first = memoryUsed() // Selections that are used repeatedly stay.
		}
		for _, encoding := range []string{"gzip", "zstd", ""} {
			w := get(h, fmt.Sprintf("/metrics?target=a/r0&name[]=x&name[]=%d", i), "Accept-Encoding", encoding)
			require.Equal(t, http.StatusOK, w.Code)
		}
	}
	require.Less(t, int64(memoryUsed())-int64(first), int64(limit/2))
	runtime.KeepAlive(h)
}

func TestProcessMetricsShareFamilyWithTargets(t *testing.T) {
	f := newFleet(t)
	f.page("nim", "r0", "# HELP process_open_fds Number of open file descriptors.\n# TYPE process_open_fds gauge\n"+
		"process_open_fds 12\n# HELP go_goroutines Something else\n# TYPE go_goroutines histogram\n"+
		"go_goroutines_count 1\n")
	opts := f.options()
	opts.Registry.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(),
	)

	page := get(handler(t, opts), "/metrics").Body.String()

	got := samples(t, page)
	require.Contains(t, got, `process_open_fds{pool_id="nim", replica_id="r0"}`)
	require.Contains(t, got, "process_open_fds")
	require.Contains(t, got, "go_goroutines")
	require.Equal(t, 1, strings.Count(page, "# TYPE process_open_fds "))
	require.Contains(t, page, "# TYPE go_goroutines untyped\n", "a target says that it is a histogram")
}

func TestPageShowsConflicts(t *testing.T) {
	f := newFleet(t)
	f.page("a", "r0", "# HELP x one\n# TYPE x counter\nx 1\n")
	var log bytes.Buffer
	opts := f.options()
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	h := handler(t, opts)
	require.Contains(t, get(h, "/metrics").Body.String(), "trtllm_exporter_metadata_conflicts{kind=\"type\"} 0\n")
	require.NotContains(t, log.String(), "differs")

	f.page("a", "r1", "# HELP x secret\n# TYPE x gauge\nx 2\n")
	page := get(h, "/metrics").Body.String()
	get(h, "/metrics")
	require.Equal(
		t,
		1,
		strings.Count(
			log.String(),
			`msg="Target differs from others" component=web pool_id=a replica_id=r1 family=x in=type says=gauge`,
		),
		log.String(),
	)
	require.Equal(t, 1, strings.Count(log.String(), `in=help says="a different text"`), log.String())
	require.NotContains(t, log.String(), "secret")
	var document struct{ Targets []struct{ Differs any } }
	require.NoError(t, json.Unmarshal(get(h, "/targets?format=json").Body.Bytes(), &document))
	require.Nil(t, document.Targets[0].Differs)
	require.Equal(t, []any{
		map[string]any{
			"family": "x",
			"in":     "type",
			"says":   "gauge",
		}, map[string]any{"family": "x", "in": "help", "says": "a different text"},
	}, document.Targets[1].Differs)
	replica := plainText(get(h, "/replica?target=a/r1").Body.String())
	require.Contains(t, replica, "Families that other targets describe differently")
	require.Contains(t, replica, "type: gauge")
	require.NotContains(t, replica, "secret")

	require.Contains(t, page, "trtllm_exporter_metadata_conflicts{kind=\"type\"} 1\n")
	require.Contains(t, page, "# HELP x one\n# TYPE x untyped\nx{pool_id=\"a\",replica_id=\"r0\"} 1\n"+
		"x{pool_id=\"a\",replica_id=\"r1\"} 2\n")
	f.page("a", "r1", "# HELP x one\n# TYPE x counter\nx 2\n")
	require.Contains(t, get(h, "/metrics").Body.String(), "trtllm_exporter_metadata_conflicts{kind=\"type\"} 0\n")
	require.NotContains(t, get(h, "/replica?target=a/r1").Body.String(), "describe differently")
}

func TestDownReplicaIsRemovedFromPage(t *testing.T) {
	f := threeReplicas(t)
	h := handler(t, f.options())
	pool := func() string { return get(h, "/metrics?target=a/r0&target=b/r0").Body.String() }
	before := pool()

	f.fail("a", "r1", "connect", "connection refused")

	got := samples(t, get(h, "/metrics").Body.String())
	require.NotContains(t, got, pending1)
	require.Contains(t, got, pending0)
	require.Equal(t, before, pool())
}

func TestUTF8NamesAreEscapedForOldClients(t *testing.T) {
	f := newFleet(t)
	f.page("a", "r0", "# TYPE \"a.b\" gauge\n{\"a.b\"} 1\n")
	h := handler(t, f.options())

	old := get(h, "/metrics?target=a/r0")
	modern := get(h, "/metrics?target=a/r0", "Accept", "text/plain;version=1.0.0;escaping=allow-utf-8")

	require.Contains(t, samples(t, old.Body.String()), `a_b{pool_id="a", replica_id="r0"}`)
	require.Equal(t, strconv.Itoa(old.Body.Len()), old.Header().Get("Content-Length"))
	require.Contains(t, modern.Body.String(), `{"a.b",pool_id="a",replica_id="r0"} 1`)
}

// broken is a collector that fails.
type broken struct{}

func (broken) Describe(chan<- *prometheus.Desc) {}

func (broken) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(prometheus.NewDesc("broken", "x", nil, nil), io.ErrUnexpectedEOF)
}

func TestBrokenOwnMetricDoesNotAffectTargets(t *testing.T) {
	opts := threeReplicas(t).options()
	opts.Registry.MustRegister(broken{})

	w := get(handler(t, opts), "/metrics")

	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, samples(t, w.Body.String()), pending0)
	require.True(t, bytes.HasSuffix(w.Body.Bytes(), []byte("\n")), "the page ends with a whole line")
}

func TestSelectedFamilyMatchesWholePage(t *testing.T) {
	f := threeReplicas(t)
	f.page("nim", "r0", "# HELP process_open_fds Open.\n# TYPE process_open_fds gauge\nprocess_open_fds 12\n# TYPE "+
		"process histogram\nprocess_count 1\nprocess_sum 1\n")
	f.page("nim", "r1", "# HELP process_open_fds Files.\n# TYPE process_open_fds untyped\nprocess_open_fds 12\n")
	opts := f.options()
	opts.Registry.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(),
	)
	h := handler(t, opts)

	for family, lines := range familiesOf(get(h, "/metrics").Body.String()) {
		for range 2 {
			alone := familiesOf(get(h, "/metrics?name[]="+family).Body.String())
			require.Equal(t, map[string][]string{family: lines}, alone)
		}
	}
}

// familiesOf returns the lines of a page by family, without values.
func familiesOf(page string) map[string][]string {
	families, name := make(map[string][]string), ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if words := strings.Fields(line); words[0] == "#" {
			name = words[2]
		} else {
			line = line[:strings.LastIndexByte(line, ' ')]
		}
		families[name] = append(families[name], line)
	}
	return families
}

// sink is a ResponseWriter that counts bytes and discards them.
type sink struct {
	header http.Header
	bytes  int64
}

func (s *sink) Header() http.Header { return s.header }

func (*sink) WriteHeader(int) {}

func (s *sink) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	return len(p), nil
}

// BenchmarkPage reads the page of many targets; "first" makes it, "next"
// shares what an earlier reader had made.
//
//	go test ./collector/web -run '^$' -bench Page -count 6
func BenchmarkPage(b *testing.B) {
	for _, targets := range []int{1, 50, 1000} {
		f := newFleet(b)
		for i := range targets {
			f.page("pool", "r"+strconv.Itoa(i), string(simulate.BenchPage(simulate.BenchTRTLLM, i, 1)))
		}
		for _, c := range []struct {
			reader, encoding string
			maxAge           time.Duration
		}{
			{"first", "identity", 0},
			{"first", "gzip", 0},
			{"first", "zstd", 0},
			{"next", "gzip", time.Hour},
		} {
			b.Run(fmt.Sprintf("targets=%d/encoding=%s/reader=%s", targets, c.encoding, c.reader), func(b *testing.B) {
				opts := f.options()
				opts.Exposition = pageMaxAge(c.maxAge)
				h := handler(b, opts)
				r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
				r.Header.Set("Accept-Encoding", c.encoding)
				w := &sink{header: http.Header{}}
				h.ServeHTTP(w, r)
				b.SetBytes(w.bytes)
				b.ReportAllocs()
				for b.Loop() {
					h.ServeHTTP(w, r)
				}
			})
		}
	}
}
