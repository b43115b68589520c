package collector_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// counting serves pages whose counters a test moves.
type counting struct {
	*stage

	success, inferences, executions atomic.Int64
	rows                            atomic.Pointer[string]
}

func newCounting(t *testing.T) *counting {
	t.Helper()
	c := &counting{stage: newStage(t)}
	c.set(1000)
	c.play(c.serve)
	return c
}

// set gives all counters one value.
func (c *counting) set(n int64) {
	c.success.Store(n)
	c.inferences.Store(n)
	c.executions.Store(n)
}

func (c *counting) serve(w http.ResponseWriter, _ *http.Request) {
	var first string
	if rows := c.rows.Load(); rows != nil {
		first = *rows
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "# TYPE nv_inference_request_success counter\n%snv_inference_request_success{model=\"m\",version=\"1\"} %d\n"+
		"# TYPE nv_inference_count counter\nnv_inference_count{model=\"m\",version=\"1\"} %d\n"+
		"# TYPE nv_inference_exec_count counter\nnv_inference_exec_count{model=\"m\",version=\"1\"} %d\n",
		first, c.success.Load(), c.inferences.Load(), c.executions.Load())
}

// rate is the derived rate of requests of pool p, -1 while there is none.
func rate(page string) float64 {
	return value(page, `llm_server_requests_per_second{engine="triton",engine_version="unknown",model_id="m",pool_id="p",replica_id="r",trtllm_version="unknown"}`)
}

// counted is the value of one of the exporter's counters about the target.
func counted(page, name string) float64 { return value(page, own(name, "p", "r")) }

// slowly is a pool of one target with an interval that a busy machine keeps.
func slowly(c *stage) config.Pool {
	p := staged("p", "r="+c.host())
	p.ScrapeInterval = model.Duration(200 * time.Millisecond)
	return p
}

// standing waits until the rate is that of counters that stand still.
func standing(l *line, check func(string)) string {
	return l.until("The rate is 0", check, func(page string) string {
		if rate(page) != 0 {
			return "a rate of 0"
		}
		return ""
	})
}

func TestC01AResetIsNoSpike(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	l := startLine(t, slowly(c.stage))
	standing(l, nil)
	c.success.Store(3)
	// Counted are 3 requests at most since the reset, within one interval.
	check := func(page string) { require.LessOrEqual(t, rate(page), 3/0.1) }
	l.until("The reset is counted", check, func(page string) string {
		if counted(page, "target_counter_resets_total") != 1 || counted(page, "target_restarts_total") != 0 {
			return "one reset"
		}
		return ""
	})
	standing(l, check)
}

func TestC02ARestartClearsTheWindow(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	l := startLine(t, slowly(c.stage))
	standing(l, nil)
	c.set(2)
	check := func(page string) { require.LessOrEqual(t, rate(page), 0.0) }
	l.until("The restart is counted", check, func(page string) string {
		if counted(page, "target_restarts_total") != 1 {
			return "one restart"
		}
		return ""
	})
	standing(l, check)
}

func TestC03ANewRowResetsNoOther(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	l := startLine(t, slowly(c.stage))
	standing(l, nil)
	row := "nv_inference_request_success{model=\"a\",version=\"1\"} 5\n"
	c.rows.Store(&row)
	page := l.eventually(`nv_inference_request_success{engine="triton",engine_version="unknown",model="a"`)
	require.InDelta(t, 0, counted(page, "target_counter_resets_total"), 0)
	l.scrapes(func(page string) {
		require.InDelta(t, 0, counted(page, "target_counter_resets_total"), 0)
		require.InDelta(t, 0, counted(page, "target_restarts_total"), 0)
	}, "p", "r", counted(page, "target_scrapes_total"))
}

func TestC05MissedScrapesMakeNoSpike(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	l := startLine(t, slowly(c.stage))
	page := standing(l, nil)
	c.play(status(http.StatusServiceUnavailable))
	n := counted(page, "target_scrapes_total")
	page = l.until("Three scrapes are missed", nil, func(page string) string {
		if value(page, reasoned("target_scrape_failures_total", "p", "http_status", "r")) < 3 {
			return "three failures"
		}
		return ""
	})
	require.Greater(t, counted(page, "target_scrapes_total"), n)
	require.InDelta(t, -1, rate(page), 0, "no rate without a page")
	// 40 requests came while nobody looked, for 0.6 s at the least.
	c.success.Add(40)
	c.play(c.serve)
	l.until("The rate is back", func(page string) { require.LessOrEqual(t, rate(page), 40/0.6) }, func(page string) string {
		if rate(page) < 0 {
			return "a rate"
		}
		return ""
	})
}

// A target that shows other series each time, and an unreadable line with
// them, leaves nothing behind.
func TestC06ChurnLeavesNothingBehind(t *testing.T) {
	s := newStage(t)
	var turn atomic.Int64
	s.play(func(w http.ResponseWriter, _ *http.Request) {
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
	p := staged("p", "r="+s.host())
	p.ScrapeInterval = model.Duration(5 * time.Millisecond)
	l := newLine(t)
	l.apply(p)
	l.start()
	heap := func(after int64) uint64 {
		for l.t.Context().Err() == nil && turn.Load() < after {
			l.wait(5 * time.Millisecond)
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
	require.Less(t, strings.Count(l.page(), "nv_churn{"), 501)
}

func TestVocabulariesThatAreTurnedOff(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	for _, test := range []struct {
		name            string
		raw, normalised bool
	}{{"both", true, true}, {"raw alone", true, false}, {"normalised alone", false, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			cfg := config.DefaultFile
			cfg.Pools = []config.Pool{slowly(c.stage)}
			cfg.Resolve()
			cfg.Exposition.Raw, cfg.Exposition.Normalised = test.raw, test.normalised
			require.NoError(t, l.ApplyConfig(&cfg))
			l.start()
			text := l.eventually(`trtllm_exporter_target_up{pool_id="p",replica_id="r"} 1`)
			require.Equal(t, test.raw, rawLines(text, "p") != "")
			require.Equal(t, test.normalised, strings.Contains(text, "llm_server_requests_total{"))
		})
	}
}

func TestVersionsStandWhereTheConfigurationSays(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	for _, mode := range []relabel.VersionsMode{relabel.VersionsSeries, relabel.VersionsInfo, relabel.VersionsBoth} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			cfg := config.DefaultFile
			p := slowly(c.stage)
			p.EngineVersion, p.TRTLLMVersion = "2.64.0", "1.1.0"
			cfg.Identity.Versions, cfg.Pools = mode, []config.Pool{p}
			cfg.Resolve()
			require.NoError(t, l.ApplyConfig(&cfg))
			l.start()
			text := l.eventually(`trtllm_exporter_target_up{pool_id="p",replica_id="r"} 1`)
			onSeries := mode != relabel.VersionsInfo
			require.Equal(t, onSeries, strings.Contains(rawLines(text, "p"), `engine_version="2.64.0"`))
			require.Equal(t, onSeries, strings.Contains(rawLines(text, "p"), `trtllm_version="1.1.0"`))
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "llm_server_info{") {
					require.Contains(t, line, `engine_version="2.64.0"`)
					require.Contains(t, line, `trtllm_version="1.1.0"`)
				}
			}
			require.Contains(t, text, "llm_server_info{")
		})
	}
}
