//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// countedWithin is the longest time between the moments at which server and client count the
	// same event on a machine that is never late: the transfer over loopback and the reading of
	// the page.
	countedWithin = 200 * time.Millisecond
	// gaugeAge is the age of gauges on the page of such a machine. For Triton's executor it is the
	// period of its statistics, two iterations.
	gaugeAge = 250 * time.Millisecond
	// mostLate is the longest delay of a machine whose client is still right.
	mostLate = time.Second
	// fewestGauges is the minimum number of readings for an average.
	fewestGauges = 5
	// mostStale is the share of readings with older gauges, for an engine without CPU.
	mostStale = 0.1
	// shortestWindow is the shortest window for which rates are compared.
	shortestWindow = 30 * time.Second
)

type tallied struct {
	n                       int
	client, exporter, worst float64
}

// add adds a reading and keeps the largest error.
func (a *tallied) add(client, exporter, err float64) {
	a.n++
	a.client, a.exporter, a.worst = a.client+client, a.exporter+exporter, max(a.worst, err)
}

func (a *tallied) row(level, metric, grade, unit, allowed, errorUnit string) comparison {
	n := float64(a.n)
	return comparison{level, metric, grade, a.client / n, a.exporter / n, unit, digits(a.worst), allowed, errorUnit}
}

// digits formats a number with two digits, or three from 100 on.
func digits(v float64) string {
	switch {
	case v < 1e-6:
		return "0"
	case v < 100:
		return fmt.Sprintf("%.2g", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// compare compares the readings of a level with the client.
type compare struct {
	t        *testing.T
	kind     *counting
	level    string
	readings []reading
	ledger   *ledger
	rows     []comparison
	// edge is the longest time between counting by server and client, age that of gauges;
	// underWay is the longest time of a request on its way to the executor and back, which the
	// server does not count.
	edge, age, underWay time.Duration
}

// errorIn is a difference times a factor, which may depend on what is right.
type errorIn struct {
	unit   string
	factor func(client float64) float64
}

func percent() errorIn { return errorIn{"%", func(client float64) float64 { return 100 / client }} }
func points() errorIn  { return errorIn{"percentage points", func(float64) float64 { return 100 }} }
func millis() errorIn  { return errorIn{"ms", func(float64) float64 { return 1000 }} }

// windows compares a family with what the client knows about each window of at least shortestWindow: the
// value, and the span in which it must be.
func (c *compare) windows(
	family, metric, grade, unit string,
	in errorIn,
	truth func(first, last reading, seconds float64) (client float64, may span),
) {
	c.t.Helper()
	var sum tallied
	widest := 0.0
	for n := 1; n < len(c.readings); n++ {
		first, last := windowOf(c.t, c.readings, n, time.Minute), c.readings[n]
		length := last.scraped.Sub(first.scraped)
		if length < shortestWindow {
			continue
		}
		client, may := truth(first, last, length.Seconds())
		got := last.value(c.t, family)
		require.True(c.t, may.holds(got), "%s: llm_server_%s over %s: wanted %g, at the edges %+v, got %g",
			c.level, family, length, client, may, got)
		by := in.factor(client)
		sum.add(client, got, by*math.Abs(got-client))
		widest = max(widest, by*(may.most-client), by*(client-may.least))
	}
	require.Positive(c.t, sum.n, "windows to compare")
	c.rows = append(c.rows, sum.row(c.level, metric, grade, unit, digits(widest), in.unit))
}

// counted requires that a rate is what the client counted in the same window, except near its
// edges.
func (c *compare) counted(family, metric, unit string, what ...steps) {
	c.t.Helper()
	truth := func(first, last reading, seconds float64) (rate float64, may span) {
		for _, s := range what {
			one := s.around(first, last, c.edge)
			may = span{may.least + one.least, may.most + one.most}
			rate += s.between(first.scraped, last.scraped) / seconds
		}
		return rate, may.over(seconds, (first.within + last.within).Seconds())
	}
	c.windows(family, metric, "A", unit, percent(), truth)
}

// errors requires the share of failed requests that the client saw.
func (c *compare) errors() {
	c.t.Helper()
	family := "request_error_ratio" + c.kind.entry + "/" + c.kind.failure
	c.windows(family, "error ratio", "C", "", points(), func(first, last reading, _ float64) (float64, span) {
		failed := c.ledger.failed.around(first, last, c.edge)
		finished := c.ledger.finished.around(first, last, c.edge)
		lost := c.ledger.failed.between(first.scraped, last.scraped)
		return lost / (lost + c.ledger.finished.between(first.scraped, last.scraped)), span{
			failed.least / (failed.least + finished.most), failed.most / (failed.most + finished.least),
		}
	})
}

func (c *compare) latency() {
	c.t.Helper()
	family := "request_duration_average_seconds" + c.kind.entry
	c.mean(family, "mean latency", c.ledger.lived, c.ledger.finished, span{c.underWay.Seconds(), 0})
}

// mean requires the mean duration of the client, within a tolerance in seconds.
func (c *compare) mean(family, metric string, sum, count steps, off span) {
	c.t.Helper()
	c.windows(family, metric, "A", "s", millis(), func(first, last reading, _ float64) (float64, span) {
		client, may := mean(sum, count, first.scraped, last.scraped, c.edge)
		return client, span{may.least - off.least, may.most + off.most}
	})
}

// average compares the means over all readings. The client's requests in flight include those
// that have not reached the executor or have left it; off is the number of requests by which a
// server may be wrong.
func (c *compare) average(all *tallied, off float64, onTheWay time.Duration, metric string) {
	c.t.Helper()
	require.GreaterOrEqual(c.t, all.n, fewestGauges, "%s: readings of %s", c.level, metric)
	n := float64(all.n)
	client, exporter := all.client/n, all.exporter/n
	lasted := c.readings[len(c.readings)-1].scraped.Sub(c.readings[0].scraped).Seconds()
	rate := float64(len(c.ledger.outcomes)) / lasted
	// A sample of a number that changes by one is off by about a half, the mean of n samples by
	// that over the root of n. Two of these are allowed.
	allowed := off + rate*onTheWay.Seconds() + 1/math.Sqrt(n)
	require.InDelta(c.t, client, exporter, allowed, "%s: time average of %s", c.level, metric)
	row := all.row(c.level, metric, "B", "requests", digits(allowed), "requests")
	row.error = digits(math.Abs(client - exporter))
	c.rows = append(c.rows, row)
}

// gauges requires that running and waiting requests on nearly each page are values that were true
// when the gauges may have been sampled, and that their means are near the client's. Gauges that
// are updated every few steps are compared by mean only: a prompt's request does not run for
// them, and without prompts they are old.
func (c *compare) gauges() {
	c.t.Helper()
	var running, waiting tallied
	var stale []string
	check := func(r reading, family string, got float64, may span) {
		if !may.holds(got) {
			stale = append(stale,
				fmt.Sprintf("%s at %s: %s %g, of the client's requests %+v", c.level, r.scraped, family, got, may))
		}
	}
	for _, r := range c.readings {
		mean, runs, waits := c.ledger.sampledAt(r.scraped, c.age, c.underWay)
		got := r.value(c.t, "requests_running")
		check(r, "running", got, runs)
		running.add(mean.running, got, math.Abs(got-mean.running))
		got = r.value(c.t, "queue_depth")
		if c.kind.hidesQueue && r.value(c.t, "saturated") == 1 {
			check(r, "queue depth while saturated", got, span{activeLimit - slots, waits.most})
			continue
		}
		check(r, "queue depth", got, waits)
		waiting.add(mean.waiting, got, math.Abs(got-mean.waiting))
	}
	off := 0.0
	if c.kind.gaugeSteps > 0 {
		off = 1
	} else {
		most := mostStale * 2 * float64(len(c.readings))
		require.LessOrEqual(c.t, float64(len(stale)), most, strings.Join(stale, "\n"))
	}
	c.average(&running, off, c.underWay/4, "running requests")
	c.average(&waiting, 0, c.underWay+c.kind.queueAge(c), c.kind.queue)
}

// totals returns the values after the last request, by series: counters equal the client's exactly. Before
// holds their values before the first.
func (k *counting) totals(l *ledger, before map[string]float64) map[string]float64 {
	end := time.Now()
	wanted := map[string]float64{
		"generation_tokens_total":          l.answered.until(end),
		"prompt_tokens_total":              l.asked.until(end),
		"requests_total" + k.entry + "/ok": l.finished.until(end),
		"queue_depth":                      0,
		"requests_running":                 0,
	}
	for family, times := range k.failures {
		wanted[family] = times * l.failed.until(end)
	}
	for family := range wanted {
		wanted[family] += before["llm_server_"+family]
	}
	return wanted
}
