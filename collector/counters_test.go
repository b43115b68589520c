package collector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// counters are what the one model of a server counted; a test moves them.
type counters struct {
	mu                             sync.Mutex
	success, inferences, execution int
	// first are lines before all others; while it is down there is no page.
	first string
	down  bool
}

func newCounters() *counters { return &counters{success: 1000, inferences: 1000, execution: 1000} }

// move changes the counters.
func (c *counters) move(how func(c *counters)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	how(c)
}

// page shows them.
func (c *counters) page(string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return "", &scrape.Error{Reason: scrape.ReasonHTTPStatus, Class: "503", Err: errors.New("503")}
	}
	return fmt.Sprintf("# TYPE nv_inference_request_success counter\n%snv_inference_request_success{model=\"m\",version=\"1\"} %d\n"+
		"# TYPE nv_inference_count counter\nnv_inference_count{model=\"m\",version=\"1\"} %d\n"+
		"# TYPE nv_inference_exec_count counter\nnv_inference_exec_count{model=\"m\",version=\"1\"} %d\n",
		c.first, c.success, c.inferences, c.execution), nil
}

// counted has a collector scrape counters every five seconds, in a bubble of
// synctest, until their rate is there and 0.
func counted(t *testing.T) (*line, *counters) {
	t.Helper()
	c := newCounters()
	l := led(t, &puppet{page: c.page}, everySeconds("p", 5, "r=10.0.0.1:1|10.0.0.1:2"))
	time.Sleep(20 * time.Second)
	l.scraped()
	require.Zero(t, l.rate())
	return l, c
}

// scraped lets one more scrape happen.
func (l *line) scraped() {
	n := l.counter("target_scrapes_total")
	for l.counter("target_scrapes_total") == n {
		time.Sleep(100 * time.Millisecond)
	}
}

// rate is the derived rate of requests of the one target, -1 while there is none.
func (l *line) rate() float64 {
	return value(l.page(), `llm_server_requests_per_second{engine="triton",engine_version="unknown",model="m",model_id="m",pool_id="p",replica_id="r",trtllm_version="unknown",version="1"}`)
}

// counter is the value of one of the exporter's counters about the target.
func (l *line) counter(name string) float64 { return value(l.page(), own(name, "p", "r")) }

func TestC01AResetIsNoSpike(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, c := counted(t)
		c.move(func(c *counters) { c.success = 3 })
		l.scraped()
		require.Equal(t, 1.0, l.counter("target_counter_resets_total"))
		require.Zero(t, l.counter("target_restarts_total"))
		require.Equal(t, -1.0, l.rate(), "how many came around the reset is not known")
		for range 15 {
			l.scraped()
			require.Zero(t, l.rate())
		}
		require.Equal(t, 1.0, l.counter("target_counter_resets_total"))
	})
}

func TestC02ARestartClearsTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, c := counted(t)
		c.move(func(c *counters) { c.success, c.inferences, c.execution = 2, 2, 2 })
		l.scraped()
		require.Equal(t, 1.0, l.counter("target_restarts_total"))
		require.Equal(t, -1.0, l.rate(), "one page of the new process makes no rate")
		l.scraped()
		require.Zero(t, l.rate())
		require.Equal(t, 1.0, l.counter("target_restarts_total"))
	})
}

func TestC03ANewRowResetsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, c := counted(t)
		c.move(func(c *counters) { c.first = "nv_inference_request_success{model=\"a\",version=\"1\"} 5\n" })
		l.scraped()
		requireText(t, l.page(), `nv_inference_request_success{engine="triton",engine_version="unknown",model="a"`)
		for range 4 {
			require.Zero(t, l.counter("target_counter_resets_total"))
			require.Zero(t, l.counter("target_restarts_total"))
			l.scraped()
		}
	})
}

func TestC05MissedScrapesMakeNoSpike(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, c := counted(t)
		c.move(func(c *counters) { c.down = true })
		n := l.counter("target_scrapes_total")
		for range 3 {
			l.scraped()
			require.Equal(t, -1.0, l.rate(), "no rate without a page")
		}
		require.Equal(t, 3.0, value(l.page(), reasoned("target_scrape_failures_total", "p", "http_status", "r")))
		require.Equal(t, n+3, l.counter("target_scrapes_total"))
		// 40 requests came while nobody looked, for 20 s.
		c.move(func(c *counters) { c.down, c.success = false, c.success+40 })
		require.Equal(t, -1.0, l.rate(), "over which time they came is not known")
		l.scraped()
		l.scraped()
		require.Zero(t, l.rate(), "they are no part of any rate")
		c.move(func(c *counters) { c.success += 5 })
		l.scraped()
		require.Positive(t, l.rate(), "what comes now is")
		require.LessOrEqual(t, l.rate(), 5/5.0)
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
	for _, test := range []struct {
		name            string
		raw, normalised bool
	}{{"both", true, true}, {"raw alone", true, false}, {"normalised alone", false, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := once(t, staged("p", "r=10.0.0.1:1"), func(cfg *config.File) {
				cfg.Exposition.Raw, cfg.Exposition.Normalised = test.raw, test.normalised
			})
			requireText(t, text, `trtllm_exporter_target_up{pool_id="p",replica_id="r"} 1`)
			require.Equal(t, test.raw, rawLines(text, "p") != "")
			require.Equal(t, test.normalised, strings.Contains(text, "llm_server_requests_total{"))
		})
	}
}

func TestVersionsStandWhereTheConfigurationSays(t *testing.T) {
	t.Parallel()
	for _, mode := range []relabel.VersionsMode{relabel.VersionsSeries, relabel.VersionsInfo, relabel.VersionsBoth} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			p := staged("p", "r=10.0.0.1:1")
			p.EngineVersion, p.TRTLLMVersion = "2.64.0", "1.1.0"
			text := once(t, p, func(cfg *config.File) { cfg.Identity.Versions = mode })
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

// Whoever waits for one scrape of servers that hang can give it up.
func TestOneScrapeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.UseScraper(&puppet{takes: func(string, int) time.Duration { return time.Hour }})
		l.apply(everySeconds("p", 60, "a=10.0.0.1:1|10.0.0.1:2", "b=10.0.0.2:1|10.0.0.2:2"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, l.ScrapeOnce(ctx), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
	})
}

// once is the page after one scrape of a pool whose servers show counters.
func once(t *testing.T, p config.Pool, change func(*config.File)) string {
	t.Helper()
	l := newLine(t)
	l.UseScraper(&puppet{page: newCounters().page})
	cfg := config.DefaultFile
	cfg.Pools = []config.Pool{p}
	cfg.Resolve()
	change(&cfg)
	require.NoError(t, l.ApplyConfig(&cfg))
	require.NoError(t, l.ScrapeOnce(t.Context()))
	return l.page()
}
