package web_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fleet is a store, and publishes the pages of its replicas.
type fleet struct {
	t      testing.TB
	store  *snapshot.Store
	caches map[string]*exposition.Cache
	labels map[string]*exposition.Labeler
	slots  map[string]*snapshot.Slot
	// computed holds the blocks of derived series.
	computed map[string]*exposition.Shape
}

func newFleet(tb testing.TB) *fleet {
	tb.Helper()
	return &fleet{
		t:        tb,
		store:    snapshot.NewStore(),
		caches:   map[string]*exposition.Cache{},
		labels:   map[string]*exposition.Labeler{},
		slots:    map[string]*snapshot.Slot{},
		computed: map[string]*exposition.Shape{},
	}
}

// page publishes a successful scrape of a replica, and adds the replica if it is new.
func (f *fleet) page(pool, replica, body string) *snapshot.Slot {
	f.t.Helper()
	slot := f.slot(pool, replica)
	key := slot.Target().Key()
	b, err := f.caches[key].Parse([]byte(body), "", f.labels[key])
	require.NoError(f.t, err)
	status := serving()
	status.Samples, status.BodyBytes = b.Shape().Lines(), int64(len(body))
	slot.Publish(snapshot.Snapshot{Raw: b, Status: status})
	return slot
}

// fail publishes a failed scrape.
func (f *fleet) fail(pool, replica, reason, err string) {
	f.t.Helper()
	s := verdict("down", "broken", "LLMReplicaDown", "both ports refuse")
	s.Health, s.LastReason, s.LastError = target.HealthDown, reason, err
	s.LastSuccess, s.Scrapes, s.Failures = time.Now().Add(-90*time.Second), 21, 18
	f.publish(pool, replica, s, nil)
}

func (f *fleet) slot(pool, replica string) *snapshot.Slot {
	f.t.Helper()
	tg := &target.Target{
		PoolID: pool, ReplicaID: replica, Engine: "auto",
		MetricsURL: "http://user:hunter2@10.0.0.1:8002/metrics?token=hunter2", APIURL: "http://10.0.0.1:8000",
		Labels: map[string]string{"zone": "eu-1"}, Interval: 5 * time.Second, Timeout: 4 * time.Second,
	}
	if slot := f.slots[tg.Key()]; slot != nil {
		return slot
	}
	slot, err := f.store.Add(tg)
	require.NoError(f.t, err)
	f.slots[tg.Key()] = slot
	f.caches[tg.Key()] = exposition.NewCache(exposition.Options{})
	f.labels[tg.Key()] = new(exposition.Labeler(func(l labels.Labels) exposition.Labeled {
		b := labels.NewBuilder(l)
		b.Set("pool_id", pool).Set("replica_id", replica)
		return exposition.Labeled{Labels: b.Labels(), Keep: true}
	}))
	return slot
}

// options returns options for the fleet, which tests may change.
func (f *fleet) options() web.Options {
	return web.Options{
		ListenAddresses: []string{"127.0.0.1:0"},
		Version:         "1.2.3",
		Runbook:         "https://example.org/runbook.md",
		Store:           f.store,
		Registry:        prometheus.NewRegistry(),
		Configuration: web.Configuration{
			Exposition: func() exposition.Config { return exposition.DefaultConfig },
			ConfigText: func() string { return "pools: []\n" },
			Pools:      func() map[string]web.PoolConfig { return nil },
			Reload:     func() error { return nil },
		},
		Probes:   web.Probes{Readiness: func(context.Context, string) (ready, known bool) { return false, false }},
		Searches: func() []target.PoolDiscovery { return nil },
		Ready:    func() bool { return true },
		Logger:   slog.New(slog.DiscardHandler),
	}
}

// pageMaxAge returns a configuration with that page_max_age.
func pageMaxAge(d time.Duration) func() exposition.Config {
	config := exposition.DefaultConfig
	config.PageMaxAge = model.Duration(d)
	return func() exposition.Config { return config }
}

// oneReplica returns a fleet of replica r0 of pool a.
func oneReplica(tb testing.TB) *fleet {
	tb.Helper()
	f := newFleet(tb)
	f.page("a", "r0", tritonPage(1))
	return f
}

// handler returns the handler of a server that does not listen.
func handler(tb testing.TB, opts web.Options) http.Handler {
	tb.Helper()
	s, err := web.New(tb.Context(), opts)
	require.NoError(tb, err)
	s.Close()
	return s.Handler()
}

// start runs a server until the test ends and returns its URL.
func start(tb testing.TB, opts web.Options) string {
	tb.Helper()
	s, err := web.New(tb.Context(), opts)
	require.NoError(tb, err)
	run(tb, s)
	return "http://" + s.Addr()
}

// run runs a server until the test ends.
func run(tb testing.TB, s *web.Server) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		require.NoError(tb, <-ended)
	})
}

// get requests a path; headers come in pairs.
func get(h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	return ask(h, http.MethodGet, path, headers...)
}

// arrivedAt is the address at which requests of tests arrive.
var arrivedAt = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 9802}

func ask(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://exporter.example:9802"+path, http.NoBody)
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, arrivedAt))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// samples parses a text page strictly and returns its samples by series.
func samples(tb testing.TB, page string) map[string]float64 {
	tb.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	require.NoError(tb, err)
	all := map[string]float64{}
	for _, f := range families {
		vector, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, f)
		require.NoError(tb, err)
		for _, s := range vector {
			all[s.Metric.String()] = float64(s.Value)
		}
	}
	return all
}

// read returns the body of a response.
func read(tb testing.TB, r io.Reader) string {
	tb.Helper()
	body, err := io.ReadAll(r)
	require.NoError(tb, err)
	return string(body)
}

// tritonPage returns a small page like Triton's.
func tritonPage(n int) string {
	return fmt.Sprintf(`# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="ensemble",version="1"} %d
# HELP nv_inference_pending_request_count Instantaneous number of pending requests awaiting execution per-model.
# TYPE nv_inference_pending_request_count gauge
nv_inference_pending_request_count{model="ensemble",version="1"} %d
`, n, n%7)
}
