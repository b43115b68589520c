//go:build e2e_vllm && linux

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// engineCounting describes what vLLM and SGLang have in common.
func engineCounting(kind string, tokens func(c *compare)) *counting {
	k := &counting{
		kind: kind,
		requests: mix{
			fewestWords: 5, mostWords: 40, fewestTokens: 10, mostTokens: 60, failingPercent: 8, flaws: 1,
		},
		failure:  "client",
		failures: map[string]float64{"requests_total/client": 1, "requests_total/server": 0},
		queue:    "queue depth",
		queueAge: func(*compare) time.Duration { return 0 },
		// The engine was idle in longer gaps.
		between: func(l *ledger, late time.Duration) time.Duration {
			return max(late, min(l.longestGap(), mostLate))
		},
		underWay: func(late time.Duration) time.Duration { return 100*time.Millisecond + late },
	}
	k.compare = func(c *compare) {
		l := c.ledger
		tokens(c)
		c.counted("requests_per_second", "requests/s", "requests/s", l.finished, l.failed)
		c.errors()
		c.latency()
		way := c.underWay.Seconds()
		c.mean("time_to_first_token_average_seconds", "mean time to the first token", l.waited, l.begun, span{way, 0})
		// The first and the last token of a request may be late; the time between them is divided
		// among all its tokens.
		off := way / (k.requests.meanTokens() - 1)
		c.mean("inter_token_latency_average_seconds", "mean time between tokens", l.spaced, l.decoded, span{off, off})
		c.gauges()
	}
	return k
}

// TestVLLMDerivedValuesAreTrue and the next test compare what is derived from real servers with
// their clients, at two levels of load.
func TestVLLMDerivedValuesAreTrue(t *testing.T) {
	engineCounting("vllm", func(c *compare) {
		c.counted("generation_tokens_per_second", "tokens/s", "tokens/s", c.ledger.received)
		c.counted("prompt_tokens_per_second", "prompt tokens/s", "tokens/s", c.ledger.prompted)
	}).measureEngine(t)
}

// TestSGLangDerivedValuesAreTrue has a server that counts tokens when requests end, those of running
// requests separately, and updates its gauges every few steps.
func TestSGLangDerivedValuesAreTrue(t *testing.T) {
	k := engineCounting("sglang", func(c *compare) {
		l := c.ledger
		c.counted("generation_tokens_live_per_second", "tokens/s, while requests run", "tokens/s", l.decoded)
		c.counted("generation_tokens_per_second", "tokens/s", "tokens/s", l.answered)
		c.counted("prompt_tokens_per_second", "prompt tokens/s", "tokens/s", l.asked)
	})
	k.answers = apiAnswers
	k.gaugeSteps = 40 // The default of --decode-log-interval.
	k.queueAge = func(c *compare) time.Duration { return c.age }
	k.measureEngine(t)
}

// measureEngine applies one level after the other, each with a new exporter.
func (k *counting) measureEngine(t *testing.T) {
	t.Helper()
	s := newEngine(t, k.kind)
	s.start(t)
	var rows []comparison
	for n, share := range []float64{0.3, 1.5} {
		idle := counters(t, s, 0)
		tokens := capacity(t, s) // A busy machine adds some.
		k.gaugesLater = time.Duration(k.gaugeSteps * slots / tokens * float64(time.Second))
		plan := k.requests.poisson(uint64(n+1), share*tokens/k.requests.meanTokens(), *loadFor)
		rows = append(rows, k.measure(t, level{
			name:    []string{"light", "above the limit"}[n],
			replica: "r0",
			client:  &openLoop{server: s, plan: plan},
			before:  counters(t, s, idle[endedWell]+crowds*slots),
		})...)
	}
	if !t.Failed() {
		requireDocumented(t, k.kind, rows, fixture.Updating())
	}
}

// crowds is how many crowds of requests capacity sends.
const crowds = 2

// capacity returns the tokens per second with all slots in use.
func capacity(t *testing.T, s *server) float64 {
	t.Helper()
	s.crowd(t, slots, request{words: 10, tokens: 20}).requireComplete(t) // The first requests compile.
	began := time.Now()
	tokens := s.crowd(t, slots, request{words: 10, tokens: 200}).requireComplete(t)
	return float64(tokens) / time.Since(began).Seconds()
}

// endedWell is the counter of requests that ended well.
const endedWell = "llm_server_requests_total/ok"

// counters returns a server's counters on the exporter's page by name, which continue across levels, once so many
// requests have ended; a busy server may count them after its answers. A counter that is absent is 0.
func counters(t *testing.T, s *server, requests float64) (values map[string]float64) {
	t.Helper()
	e := startExporter(t, s.address())
	e.renewed(t)
	await(t, patience, func() string {
		found, err := byReplica(e.body(t, "/metrics"))
		require.NoError(t, err)
		for _, values = range found {
			if values["trtllm_exporter_target_up"] == 1 && values[endedWell] >= requests {
				return ""
			}
		}
		return fmt.Sprintf("wanted %g requests that ended, got %g", requests, values[endedWell])
	})
	e.kill(t)
	return values
}
