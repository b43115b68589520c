package collector_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// Credentials that a target repeats are not shown.
func TestRepeatedCredentialsAreHidden(t *testing.T) {
	// Z03.
	t.Parallel()
	const token, param = "hunter2hunter2", "hunter3hunter3"
	label := newFakeServer(t)
	label.setPage(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, "nv_inference_count{model=%q} 1\n", req.Header.Get("Authorization"))
	})
	invalid := newFakeServer(t)
	invalid.setPage(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, "no sample at all "+req.Header.Get("Authorization")+"\n")
	})
	urlInLabel := newFakeServer(t)
	urlInLabel.setPage(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, "nv_inference_count{handler=%q} 1\n", req.URL.String())
	})
	lost := newFakeServer(t)
	lost.setPage(func(w http.ResponseWriter, req *http.Request) {
		http.Error(w, "there is no "+req.URL.String(), http.StatusNotFound)
	})
	api := newFakeServer(t)
	var requested atomic.Value
	api.setAnswers(map[string]http.HandlerFunc{
		"/metrics": func(w http.ResponseWriter, req *http.Request) {
			requested.Store(req.URL.RawQuery)
			body(tritonPage)(w, req)
		},
		"/v2": func(w http.ResponseWriter, req *http.Request) {
			fmt.Fprintf(w, `{"name":"triton","version":%q,"extensions":[]}`, req.Header.Get("Authorization"))
		},
	}, http.NotFound)
	second := newFakeServer(t) // The first server that answers has the name.
	second.setAnswers(nil, http.NotFound)
	p := metricsPool(
		"echo",
		"label="+label.pageAndAPI(),
		"line="+invalid.pageAndAPI(),
		"url="+urlInLabel.pageAndAPI(),
		"lost="+lost.pageAndAPI(),
		"api="+api.pageAndAPI(),
		"none=127.0.0.1:1",
		"api="+second.pageAndAPI(),
	)
	p.HTTP.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: token}
	for _, g := range p.Discovery.StaticConfigs {
		g.Labels["__param_key"] = param
	}
	p.EngineDir = t.TempDir() // The server writes it.
	require.NoError(t, os.WriteFile(p.EngineDir+"/config.json", []byte(`{"version":"`+token+`"}`), 0o600))
	var log fixture.Log
	tc := newLoggingCollector(t, slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	tc.apply(p)
	tc.start()
	page := tc.waitForText(
		targetSeriesByReason("target_series_dropped_total", "echo", "secret", "label"),
		targetSeriesByReason("target_series_dropped_total", "echo", "secret", "url"),
		`engine_version="<secret>"`,
		`,version="<secret>"`,
		targetSeriesByReason("target_scrape_failures_total", "echo", "parse", "line"),
		targetSeriesByReason("target_scrape_failures_total", "echo", "http_status", "lost"),
		targetSeriesByReason("target_scrape_failures_total", "echo", "connect", "none"),
		targetSeries("target_up", "echo", "api")+" 1",
		targetSeries("target_up", "echo", "label")+" 1",
		targetSeries("target_up", "echo", "url")+" 1",
	)
	second.setPage(nil)
	seen := []string{page}
	for _, slot := range tc.store.Slots() {
		seen = append(seen, slot.Status().LastError, slot.Status().EngineVersion)
	}
	page = strings.Join(seen, "\n")
	require.Contains(t, page, "line 1: not in the format; the line is not quoted")
	for _, secret := range []string{token, param} {
		require.NotContains(t, page, secret)
		require.NotContains(t, log.String(), secret)
	}
	require.Contains(t, log.String(), "Page repeats credentials")
	tc.waitForRefused("echo", 1)
	require.Contains(t, log.String(), "Target refused")
	require.Contains(t, requested.Load(), "key="+param, "it was asked with it")
}
