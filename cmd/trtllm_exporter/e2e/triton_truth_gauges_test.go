//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// gauges requires that running and waiting requests on nearly each page are values that
// were true when the gauges may have been sampled, and that their means are near the
// client's.
func (c *compare) gauges() {
	c.t.Helper()
	var running, waiting, lowest, whole tallied
	var stale []string
	check := func(r reading, what string, got float64, may span) {
		if !may.holds(got) {
			stale = append(
				stale,
				fmt.Sprintf("%s at %s: %s %g, of the client's requests %+v", c.level, r.scraped, what, got, may),
			)
		}
	}
	for _, r := range c.readings {
		mean, runs, waits := c.ledger.sampledAt(r.scraped, c.age, c.underWay)
		got := r.value(c.t, "requests_running")
		check(r, "running", got, runs)
		running.add(mean.running, got, math.Abs(got-mean.running))

		got = r.value(c.t, "queue_depth")
		if r.value(c.t, "saturated") == 1 {
			require.Equal(
				c.t,
				float64(activeLimit),
				r.value(c.t, "requests_active"),
				"what the executor took in is its limit",
			)
			check(r, "queue depth while saturated", got, span{activeLimit - slots, waits.most})
			lowest.add(mean.waiting, got, max(0, got-waits.most))
			all := got + r.value(c.t, "queue_hidden_requests_estimate")
			whole.add(mean.waiting, all, math.Abs(all-mean.waiting))
			continue
		}
		check(r, "queue depth", got, waits)
		waiting.add(mean.waiting, got, math.Abs(got-mean.waiting))
	}
	require.LessOrEqual(c.t, float64(len(stale)), mostStale*2*float64(len(c.readings)), "%s", strings.Join(stale, "\n"))
	c.average(&running, 0, c.underWay/4, "running requests")
	c.average(&waiting, 0, c.underWay+paceOfTruth, "queue depth, not saturated")
	if lowest.n >= fewestGauges {
		row := lowest.row(c.level, "queue depth, saturated", "B", "requests", "0", "requests too many")
		c.rows = append(c.rows, row)
		c.estimated(&lowest, &whole)
	}
}

// estimated requires that the whole queue, with the hidden part, is larger than the shown
// one and not larger than the real one: while the queue grows, the estimate reflects the
// requests that ended.
func (c *compare) estimated(lowest, whole *tallied) {
	c.t.Helper()
	n := float64(whole.n)
	shown, estimated, truth := lowest.exporter/n, whole.exporter/n, whole.client/n
	require.Greater(c.t, estimated, shown, "%s: the hidden part of the queue", c.level)
	require.LessOrEqual(c.t, estimated, 1.15*truth, "%s: mean of the whole queue", c.level)
	row := whole.row(c.level, "queue depth, with the hidden part", "C", "requests", "15 too many", "%")
	row.error = digits(100 * math.Abs(truth-estimated) / truth)
	c.rows = append(c.rows, row)
}

// generated compares tokens/s with the tokens in the same window, whose requests may have
// begun before it or not ended in it: a batch at each edge.
func (c *compare) generated() {
	c.t.Helper()
	batch := float64(slots * requestsOfTruth().mostTokens)
	var sum tallied
	widest := 0.0
	c.windows(func(first, last reading, seconds float64) {
		arrived := c.ledger.received.around(first, last, c.edge)
		client := c.ledger.received.between(first.scraped, last.scraped)
		got := last.value(c.t, "generation_tokens_per_second") * seconds
		require.True(c.t, span{
			arrived.least - batch, arrived.most + batch,
		}.holds(got), "%s: %g tokens by the exporter, %g arrived", c.level, got, client)
		sum.add(client/seconds, got/seconds, percent(client, got))
		widest = max(widest, 100*(arrived.most+batch-client)/client)
	})
	c.rows = append(
		c.rows,
		sum.row(c.level, "tokens/s, including running requests", "A", "tokens/s", digits(widest), "%"),
	)
}

// unknown requires that everything that this release does not expose is absent.
func (c *compare) unknown() {
	c.t.Helper()
	for _, r := range c.readings {
		for _, family := range []string{"model_request_", "model_compute_"} {
			r.requireAbsent(c.t, family, "tensorrt_llm", "a decoupled Python model's times end when it hands over")
		}
		for _, family := range []string{
			"time_to_first_token", "inter_token", "time_per_output_token", "request_queue_",
			"request_duration_seconds",
		} {
			r.requireAbsent(c.t, family, "", "this release has no histogram of it")
		}
	}
	last := c.readings[len(c.readings)-1]
	require.Equal(c.t, 1.0, last.value(c.t, "source_anomaly/tensorrt_llm"))
}

// totals requires that after the last request the counters equal the client's exactly. The
// ensemble counts each failure twice.
func (c *compare) totals(last reading) {
	c.t.Helper()
	end := time.Now()
	l := c.ledger
	require.Equal(c.t, l.answered.until(end), last.value(c.t, "generation_tokens_total"))
	require.Equal(c.t, l.asked.until(end), last.value(c.t, "prompt_tokens_total"))
	require.Equal(c.t, 2*l.failed.until(end), last.value(c.t, "requests_failed_total/ensemble/other/server"))
	require.Equal(c.t, l.finished.until(end), last.value(c.t, "requests_total/ensemble/ok"))
	require.Equal(c.t, 2*l.failed.until(end), last.value(c.t, "requests_total/ensemble/server"))
	require.Zero(c.t, last.value(c.t, "queue_depth"))
	require.Zero(c.t, last.value(c.t, "requests_running"))
}
