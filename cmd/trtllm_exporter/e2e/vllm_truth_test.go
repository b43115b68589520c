//go:build e2e_vllm && linux

package e2e

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// engineKind describes how a kind of server counts.
type engineKind struct {
	name string
	// live is set if it counts tokens when requests end, and those of running requests
	// separately.
	live bool
	// gaugeAge is the age of its gauges on the page of an idle machine, gaugeSteps the number of
	// engine steps between their updates.
	gaugeAge   time.Duration
	gaugeSteps float64
}

// TestVLLMDerivedValuesAreTrue and the next test compare what is derived from real servers with
// their clients, at two levels of load.
func TestVLLMDerivedValuesAreTrue(t *testing.T) {
	testTruth(t, &engineKind{name: "vllm", gaugeAge: 250 * time.Millisecond})
}

func TestSGLangDerivedValuesAreTrue(t *testing.T) {
	testTruth(t, &engineKind{
		name: "sglang", live: true, gaugeAge: 250 * time.Millisecond,
		// The default of --decode-log-interval.
		gaugeSteps: 40,
	})
}

// engineRequests returns the requests of the comparison.
func engineRequests() mix {
	return mix{fewestWords: 5, mostWords: 40, fewestTokens: 10, mostTokens: 60, failingPercent: 8, flaws: 1}
}

// testTruth runs one level after the other, each with a new exporter.
func testTruth(t *testing.T, kind *engineKind) {
	t.Helper()
	s := newEngine(t, kind.name)
	s.start(t)
	requests := engineRequests()
	var rows []comparison
	for n, level := range []level{{"light", 0.3}, {"above the limit", 1.5}} {
		t.Run(level.name, func(t *testing.T) {
			tokens, tuned := s.capacity(t), *kind // A busy machine adds some.
			tuned.gaugeAge += time.Duration(kind.gaugeSteps * slots / tokens * float64(time.Second))
			client := &openLoop{
				send: s.send,
				plan: requests.poisson(uint64(n+1), level.share*tokens/requests.meanTokens(), *loadFor),
			}
			rows = append(rows, tuned.play(t, level.name, s, client)...)
		})
	}
	if !t.Failed() {
		requireDocumented(t, kind.name, rows, *updateTruth)
	}
}

// capacity returns the tokens per second with all slots in use.
func (s *engineServer) capacity(t *testing.T) float64 {
	t.Helper()
	s.startCrowd(t, slots, arrival{words: 10, tokens: 20}).requireComplete(t) // The first requests compile.
	began := time.Now()
	const tokens = 200
	s.startCrowd(t, slots, arrival{words: 10, tokens: tokens}).requireComplete(t)
	return slots * tokens / time.Since(began).Seconds()
}

func (k *engineKind) play(t *testing.T, level string, s *engineServer, client *openLoop) []comparison {
	t.Helper()
	before := s.counters(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3**loadFor+time.Minute)
	defer cancel()
	var sending sync.WaitGroup
	sending.Go(func() { client.run(ctx) })
	pause(ctx, warmUp)
	w := watchFromTheFirst(t, fmt.Sprintf(
		"global: { scrape_interval: 1s, scrape_timeout: 1s }\npools:\n  - pool_id: truth\n    static_configs: [{ "+
			"targets: [%q], labels: { replica_id: r0 } }]\n", s.address()), 1)
	sending.Wait()
	ended := time.Now()
	client.under.Wait()
	require.Empty(t, client.problems)
	pause(ctx, 4*time.Second) // Its last requests reach the exporter's page.
	c, last, late := newCompare(t, w, "r0", level, client, ended)
	// The engine was idle in longer gaps.
	counted := max(late, min(c.ledger.longestGap(), mostLate))
	c.failure, c.edge, c.age, c.underWay = "client", countedWithin+counted, k.gaugeAge+2*late, 100*time.Millisecond+late
	k.compare(c)
	requireTotals(t, c.ledger, before, last)
	return c.logged()
}

func (k *engineKind) compare(c *compare) {
	c.t.Helper()
	l := c.ledger
	if k.live {
		c.counted("generation_tokens_live_per_second", "tokens/s, while requests run", "tokens/s", l.decoded)
		c.counted("generation_tokens_per_second", "tokens/s", "tokens/s", l.answered)
		c.counted("prompt_tokens_per_second", "prompt tokens/s", "tokens/s", l.asked)
	} else {
		c.counted("generation_tokens_per_second", "tokens/s", "tokens/s", l.received)
		c.counted("prompt_tokens_per_second", "prompt tokens/s", "tokens/s", l.prompted)
	}
	c.counted("requests_per_second", "requests/s", "requests/s", l.finished, l.failed)
	c.errors()
	c.latency()
	c.mean(
		"time_to_first_token_average_seconds",
		"mean time to the first token",
		l.waited,
		l.begun,
		span{c.underWay.Seconds(), 0},
	)
	// The first and the last token of a request may be late; the time between them is divided
	// among all its tokens.
	off := c.underWay.Seconds() / (engineRequests().meanTokens() - 1)
	c.mean("inter_token_latency_average_seconds", "mean time between tokens", l.spaced, l.decoded, span{off, off})
	k.gauges(c)
}

// gauges requires that running and waiting requests on nearly each page are values that were true
// when the gauges may have been sampled, and that their means are near the client's. Gauges that
// are updated every few steps are compared by mean only: a prompt's request does not run for
// them, and without prompts they are old.
func (k *engineKind) gauges(c *compare) {
	c.t.Helper()
	var running, waiting tallied
	var stale []string
	for _, r := range c.readings {
		mean, runs, waits := c.ledger.sampledAt(r.scraped, c.age, c.underWay)
		for _, one := range []struct {
			family string
			mean   float64
			may    span
			all    *tallied
		}{{"requests_running", mean.running, runs, &running}, {"queue_depth", mean.waiting, waits, &waiting}} {
			got := r.value(c.t, one.family)
			if !one.may.holds(got) {
				stale = append(
					stale,
					fmt.Sprintf(
						"%s at %s: %s %g, of the client's requests %+v",
						c.level,
						r.scraped,
						one.family,
						got,
						one.may,
					),
				)
			}
			one.all.add(one.mean, got, math.Abs(got-one.mean))
		}
	}
	if k.gaugeSteps > 0 {
		c.average(&running, 1, c.underWay/4, "running requests")
		c.average(&waiting, 0, c.underWay+c.age, "queue depth")
		return
	}
	require.LessOrEqual(c.t, float64(len(stale)), mostStale*2*float64(len(c.readings)), "%s", strings.Join(stale, "\n"))
	c.average(&running, 0, c.underWay/4, "running requests")
	c.average(&waiting, 0, c.underWay, "queue depth")
}

// counters returns a server's counters on the exporter's page by name, which continue across
// levels; 0 for absent ones.
func (s *engineServer) counters(t *testing.T) map[string]float64 {
	t.Helper()
	e := startExporter(t, s.address())
	pause(t.Context(), 4*scrapeInterval)
	found, err := byReplica(e.body(t, "/metrics"))
	require.NoError(t, err)
	e.kill(t)
	for _, values := range found {
		if values["trtllm_exporter_target_up"] == 1 {
			return values
		}
	}
	require.FailNow(t, "no replica is up")
	return nil
}

// requireTotals requires that after the last request the counters equal the client's exactly.
func requireTotals(t *testing.T, l *ledger, before map[string]float64, last reading) {
	t.Helper()
	end := time.Now()
	for family, want := range map[string]float64{
		"generation_tokens_total": l.answered.until(end),
		"prompt_tokens_total":     l.asked.until(end),
		"requests_total/ok":       l.finished.until(end),
		"requests_total/client":   l.failed.until(end),
		"requests_total/server":   0,
	} {
		require.Equal(t, want, last.value(t, family)-before["llm_server_"+family], family)
	}
	require.Zero(t, last.value(t, "queue_depth"))
	require.Zero(t, last.value(t, "requests_running"))
}
