package discovery_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/promslog"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
)

// write replaces a file atomically, like an operator's tool.
func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(name+".new", name))
}

func TestFileIsFollowed(t *testing.T) {
	t.Parallel()
	dir, reg := t.TempDir(), prometheus.NewRegistry()
	one, two := filepath.Join(dir, "one.yml"), filepath.Join(dir, "two.json")
	write(t, one, `[{targets: ["a:1", "b:1"], labels: {rack: r1}}]`)
	s := start(t, `
static_configs: [{targets: ["s:1"]}]
file_sd_configs: [{files: ["`+dir+`/*.yml", "`+dir+`/*.json"]}]`, reg)
	s.wait(t, "s:1{}", `a:1{rack="r1"}`, `b:1{rack="r1"}`)

	write(t, two, `[{"targets": ["c:1"]}, {"targets": ["d:1"], "labels": {"replica_id": "r9"}}]`)
	s.wait(t, "s:1{}", `a:1{rack="r1"}`, `b:1{rack="r1"}`, "c:1{}", `d:1{replica_id="r9"}`)

	write(t, one, `[{targets: ["b:1"]}]`)
	s.wait(t, "s:1{}", "b:1{}", "c:1{}", `d:1{replica_id="r9"}`)

	write(t, two, `[{"targets": ["c:1"]`)
	require.Eventually(t, func() bool { return failures(t, reg, "file") > 0 }, 10*time.Second, 5*time.Millisecond)
	write(t, one, `[{targets: ["e:1"]}]`)
	s.wait(t, "s:1{}", "e:1{}", "c:1{}", `d:1{replica_id="r9"}`)

	require.NoError(t, os.Remove(two))
	s.wait(t, "s:1{}", "e:1{}")
}

// failures returns the failure counter of a mechanism.
func failures(t *testing.T, reg prometheus.Gatherer, mechanism string) float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "trtllm_exporter_discovery_failures_total" && m.GetLabel()[0].GetValue() == mechanism {
				return m.GetCounter().GetValue()
			}
		}
	}
	return -1
}

// sdServer answers with a status, and with a body when that is 200.
type sdServer struct {
	*httptest.Server
	code     atomic.Int64
	body     atomic.Value
	requests atomic.Int64
}

func newSDServer(t *testing.T, body string) *sdServer {
	t.Helper()
	s := &sdServer{}
	s.answer(http.StatusOK, body)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(s.code.Load()))
		_, _ = io.WriteString(w, s.body.Load().(string))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sdServer) answer(code int, body string) {
	s.body.Store(body)
	s.code.Store(int64(code))
}

// again waits for another request and its response.
func (s *sdServer) again(t *testing.T) {
	t.Helper()
	before := s.requests.Load()
	require.Eventually(t, func() bool { return s.requests.Load() > before+2 }, 10*time.Second, 5*time.Millisecond)
}

func TestTargetsSurviveHTTPFailures(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	good := newSDServer(t, `[{"targets": ["g:1"]}]`)
	srv := newSDServer(t, `[{"targets": ["b:1", "a:1"], "labels": {"tier": "gold"}}, {"targets": ["c:1"]}]`)
	s := start(t, `
http_sd_configs:
  - {url: "`+srv.URL+`", refresh_interval: 20ms}
  - {url: "`+good.URL+`", refresh_interval: 20ms}`, reg)
	all := []string{`a:1{tier="gold"}`, `b:1{tier="gold"}`, "c:1{}", "g:1{}"}
	s.wait(t, all...)

	for _, fault := range []struct {
		code int
		body string
	}{{500, "oops"}, {200, "[{"}, {200, `[null]`}, {200, `{"targets": []}`}, {404, ""}} {
		srv.answer(fault.code, fault.body)
		before := failures(t, reg, "http")
		srv.again(t)
		require.Greater(t, failures(t, reg, "http"), before, "%d %s", fault.code, fault.body)
		require.Equal(t, all, s.last(), "%d %s", fault.code, fault.body)
	}
	good.answer(http.StatusOK, `[{"targets": ["h:1"]}]`)
	s.wait(t, `a:1{tier="gold"}`, `b:1{tier="gold"}`, "c:1{}", "h:1{}")

	srv.answer(http.StatusOK, `[{"targets": ["d:1"]}]`)
	s.wait(t, "d:1{}", "h:1{}")
	srv.answer(http.StatusOK, `[]`)
	s.wait(t, "h:1{}")
}

func TestTooLargeAnswerIsRefused(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	srv := newSDServer(t, `[`+strings.Repeat(" ", 17<<20)+`{"targets": ["a:1"]}]`)
	s := start(t, `{static_configs: [{targets: ["s:1"]}], http_sd_configs: [{url: "`+srv.URL+`", refresh_interval: 1m}]}`, reg)
	require.Eventually(t, func() bool { return failures(t, reg, "http") > 0 || s.count() > 1 }, 30*time.Second, 5*time.Millisecond)
	require.Equal(t, []string{"s:1{}"}, s.last())
}

func TestDiscoveryMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	srv := newSDServer(t, `[{"targets": ["a:1", "b:1"]}]`)
	text := `{static_configs: [{targets: ["s:1"]}], http_sd_configs: [{url: "` + srv.URL + `"}]}`
	t.Run("while it runs", func(t *testing.T) {
		begin := float64(time.Now().Unix())
		one := start(t, text, prometheus.WrapRegistererWith(prometheus.Labels{"pool_id": "one"}, reg))
		two := start(t, text, prometheus.WrapRegistererWith(prometheus.Labels{"pool_id": "two"}, reg))
		one.wait(t, "s:1{}", "a:1{}", "b:1{}")
		two.wait(t, "s:1{}", "a:1{}", "b:1{}")
		require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP trtllm_exporter_discovery_failures_total Failed reads, requests and lookups of discovery; the last targets stay in use.
# TYPE trtllm_exporter_discovery_failures_total counter
trtllm_exporter_discovery_failures_total{mechanism="http",pool_id="one"} 0
trtllm_exporter_discovery_failures_total{mechanism="http",pool_id="two"} 0
# HELP trtllm_exporter_discovery_targets Targets found by discovery, before relabeling.
# TYPE trtllm_exporter_discovery_targets gauge
trtllm_exporter_discovery_targets{pool_id="one"} 3
trtllm_exporter_discovery_targets{pool_id="two"} 3
`), "trtllm_exporter_discovery_targets", "trtllm_exporter_discovery_failures_total"))
		families, err := reg.Gather()
		require.NoError(t, err)
		require.Equal(t, "trtllm_exporter_discovery_last_update_timestamp_seconds", families[1].GetName())
		require.GreaterOrEqual(t, families[1].GetMetric()[0].GetGauge().GetValue(), begin)
	})
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Empty(t, families, "a discovery that has ended has no series")
	lint, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, lint)
}

func TestDiscoveryWorksWithoutMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	one := start(t, `static_configs: [{targets: ["a:1"]}]`, reg)
	one.wait(t, "a:1{}")
	two := start(t, `static_configs: [{targets: ["b:1"]}]`, reg)
	two.wait(t, "b:1{}")
}

func TestUnusedDiscoveryLeaksNothing(t *testing.T) {
	reg := prometheus.NewRegistry()
	_, err := discovery.New(config(t, everythingThatCanBeBuilt), promslog.NewNopLogger(), reg)
	require.NoError(t, err)
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Empty(t, families)
}

const everythingThatCanBeBuilt = `
static_configs: [{targets: ["a:1"]}]
file_sd_configs: [{files: ["a.yml"]}, {files: ["b.yml"]}]
http_sd_configs: [{url: "http://localhost:1/"}, {url: "http://localhost:2/"}]
dns_sd_configs: [{names: [a]}, {names: [b]}]
`
