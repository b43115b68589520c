package collector_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// A target with new series and an unreadable line at each scrape leaks nothing.
func TestC06ChurnLeaksNothing(t *testing.T) {
	s := newFakeServer(t)
	var turn atomic.Int64
	s.setPage(func(w http.ResponseWriter, _ *http.Request) {
		n := turn.Add(1)
		var b strings.Builder
		for i := range 500 {
			fmt.Fprintf(&b, "nv_churn{a=\"%d-%d\"} 1\n", n, i)
		}
		if n%2 == 0 {
			b.WriteString("this is { not a sample\n")
		}
		_, _ = io.WriteString(w, b.String())
	})
	p := metricsPool("p", "r="+s.pageAndAPI())
	p.ScrapeInterval = model.Duration(5 * time.Millisecond)
	tc := newCollector(t)
	tc.apply(p)
	tc.start()
	heap := func(after int64) uint64 {
		for tc.t.Context().Err() == nil && turn.Load() < after {
			tc.wait(5 * time.Millisecond)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	early := heap(40)
	late := heap(160)
	// 60 pages of 500 series each would take some 6 MB if they were kept.
	require.Less(t, late, early+3<<20)
	require.Less(t, strings.Count(tc.page(), "nv_churn{"), 501)
}

func TestDisabledVocabularies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		raw        exposition.Raw
		normalised exposition.Groups
	}{
		{"both", exposition.RawAll, exposition.EveryGroup()},
		{"raw alone", exposition.RawAll, 0},
		{"normalised alone", exposition.RawNone, exposition.EveryGroup()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := scrapeOnce(t, metricsPool("p", "r=10.0.0.1:1"), func(cfg *config.File) {
				cfg.Exposition.Raw, cfg.Exposition.Normalised = test.raw, test.normalised
			})
			requireText(t, text, `trtllm_exporter_target_up{pool_id="p",replica_id="r"} 1`)
			require.Equal(t, test.raw == exposition.RawAll, rawLines(text, "p") != "")
			require.Equal(t, test.normalised != 0, strings.Contains(text, "llm_server_requests_total{"))
		})
	}
}

func TestVersionLabelsFollowConfig(t *testing.T) {
	t.Parallel()
	for _, mode := range []relabel.VersionsMode{relabel.VersionsSeries, relabel.VersionsInfo, relabel.VersionsBoth} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			p := metricsPool("p", "r=10.0.0.1:1")
			p.EngineVersion, p.TRTLLMVersion = "2.64.0", "1.1.0"
			text := scrapeOnce(t, p, func(cfg *config.File) { cfg.Identity.Versions = mode })
			requireText(t, text, `trtllm_exporter_target_up{pool_id="p",replica_id="r"} 1`)
			onSeries := mode != relabel.VersionsInfo
			require.Equal(t, onSeries, strings.Contains(rawLines(text, "p"), `engine_version="2.64.0"`))
			require.Equal(t, onSeries, strings.Contains(rawLines(text, "p"), `trtllm_version="1.1.0"`))
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "llm_server_info{") {
					require.Contains(t, line, `engine_version="2.64.0"`)
					require.Contains(t, line, `trtllm_version="1.1.0"`)
				}
			}
			requireText(t, text, "llm_server_info{")
		})
	}
}

// Canceling the context ends a single scrape of servers that hang.
func TestScrapeOnceEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tc := newCollector(t)
		tc.UseScraper(&fakeScraper{duration: func(string, int) time.Duration { return time.Hour }})
		tc.apply(everySeconds("p", 60, "a=10.0.0.1:1|10.0.0.1:2", "b=10.0.0.2:1|10.0.0.2:2"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := tc.ScrapeOnce(ctx, time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
	})
}

// scrapeOnce returns the page after one scrape of a pool whose servers expose counters.
func scrapeOnce(t *testing.T, p config.Pool, change func(*config.File)) string {
	t.Helper()
	tc := newCollector(t)
	tc.UseScraper(&fakeScraper{})
	cfg := config.DefaultFile
	cfg.Pools = []config.Pool{p}
	cfg.Resolve()
	change(&cfg)
	require.NoError(t, tc.ApplyConfig(&cfg))
	_, err := tc.ScrapeOnce(t.Context(), time.Minute)
	require.NoError(t, err)
	return tc.page()
}

func TestDiscoveryMetrics(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t)
	s.setAnswers(nil, targetList("b=10.0.0.2:1", "c=10.0.0.3:1"))
	begin := float64(time.Now().Unix())
	tc := startCollector(t, withHTTPDiscovery(metricsPool("p", "a=10.0.0.1:1"), s), metricsPool("q"))
	own := tc.waitFor("Both sources answer", pollInterval, func() (page, missing string) {
		page = tc.ownMetrics()
		if !strings.Contains(page, `trtllm_exporter_discovery_targets{pool_id="p"} 3`) {
			missing = "discovery_targets"
		}
		return page, missing
	})
	require.GreaterOrEqual(t, value(own, `trtllm_exporter_discovery_last_update_timestamp_seconds{pool_id="p"}`), begin)
	// On a busy machine the answer may have come too late before.
	require.Contains(t, own, `trtllm_exporter_discovery_failures_total{mechanism="http",pool_id="p"} `)
	require.Contains(t, own, `trtllm_exporter_discovery_targets{pool_id="q"} 0`)
	lint, err := testutil.GatherAndLint(tc.registry)
	require.NoError(t, err)
	require.Empty(t, lint)
	require.NoError(t, tc.stop())
	require.NotContains(t, tc.ownMetrics(), "trtllm_exporter_discovery_", "a discovery that has ended has no series")
}
