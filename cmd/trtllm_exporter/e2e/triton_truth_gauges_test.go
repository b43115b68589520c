//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// fewestGauges is how many readings make a time average.
const fewestGauges = 5

// mostStale is the share of readings whose gauges may be older than they
// should: one of ten, for a thread of the executor that got no processor.
const mostStale = 0.1

// gauges wants what runs and what waits to be, on nearly each page, something
// that was true while its gauges may have been sampled, and near the client's
// time average over all of them.
func (c *compare) gauges() {
	c.t.Helper()
	var running, waiting, lowest tallied
	var stale []string
	check := func(r reading, what string, got float64, may span) {
		if !may.holds(got) {
			stale = append(stale, fmt.Sprintf("%s at %s: %s %g, of the client's requests %+v", c.level, r.scraped, what, got, may))
		}
	}
	for _, r := range c.readings {
		mean, runs, waits := c.ledger.sampledAt(r.scraped, c.age, underWay)
		got := r.value(c.t, "requests_running")
		check(r, "running", got, runs)
		running.add(mean.running, got, math.Abs(got-mean.running))

		got = r.value(c.t, "queue_depth")
		if r.value(c.t, "saturated") == 1 {
			require.Equal(c.t, float64(activeLimit), r.value(c.t, "requests_active"), "what the executor took in is its limit")
			check(r, "queue depth while saturated", got, span{activeLimit - slots, waits.most})
			lowest.add(mean.waiting, got, max(0, got-waits.most))
			continue
		}
		check(r, "queue depth", got, waits)
		waiting.add(mean.waiting, got, math.Abs(got-mean.waiting))
	}
	require.LessOrEqual(c.t, float64(len(stale)), mostStale*2*float64(len(c.readings)), "%s", strings.Join(stale, "\n"))
	c.average(&running, underWay/4, "running requests", "time average")
	c.average(&waiting, underWay+paceOfTruth, "queue depth", "time average while not saturated")
	if lowest.n >= fewestGauges {
		row := lowest.row(c.level, "queue depth, saturated", "requests", "requests too many", "0 requests too many", "B",
			fmt.Sprintf("a lower bound in %d of %d readings: the executor's hidden queue is in no metric", lowest.n, len(c.readings)))
		c.rows = append(c.rows, row)
	}
}

// average wants the means over all readings to be near each other. Requests
// that are on their way so long are in flight for the client and not, or no
// longer, in the executor.
func (c *compare) average(all *tallied, onTheWay time.Duration, metric, note string) {
	c.t.Helper()
	require.GreaterOrEqual(c.t, all.n, fewestGauges, "%s: readings of %s", c.level, metric)
	n := float64(all.n)
	client, exporter := all.client/n, all.exporter/n
	lasted := c.readings[len(c.readings)-1].scraped.Sub(c.readings[0].scraped).Seconds()
	rate := float64(len(c.ledger.outcomes)) / lasted
	// A sample of a number that goes up and down by one is off by a half or
	// so, the mean of n by that over the root of n; two of those.
	allowed := rate*onTheWay.Seconds() + 1/math.Sqrt(n)
	require.InDelta(c.t, client, exporter, allowed, "%s: time average of %s", c.level, metric)
	row := all.row(c.level, metric, "requests", "", digits(allowed)+" requests", "B", note)
	row.error = digits(math.Abs(client-exporter)) + " requests"
	c.rows = append(c.rows, row)
}

// unknown wants everything absent that a Triton of this release does not
// expose of a streaming ensemble.
func (c *compare) unknown() {
	c.t.Helper()
	for _, r := range c.readings {
		for _, family := range []string{"model_request_", "model_compute_"} {
			r.requireAbsent(c.t, family, "tensorrt_llm", "a decoupled Python model's times end when it hands over")
		}
		for _, family := range []string{"time_to_first_token", "inter_token", "time_per_output_token", "request_queue_", "request_duration_seconds"} {
			r.requireAbsent(c.t, family, "", "this release has no histogram of it")
		}
	}
	last := c.readings[len(c.readings)-1]
	require.Equal(c.t, 1.0, last.value(c.t, "source_anomaly/tensorrt_llm"))
}

// totals wants, when all has ended, what was counted to be what the client
// counted, token by token. Failures are as the server has them: its
// ensemble counts each twice.
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
