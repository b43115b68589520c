//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// countedWithin is how far apart server and client may be in time when
	// they count the same on a machine that is never late: the way over
	// loopback and the reading of the page.
	countedWithin = 200 * time.Millisecond
	// gaugeAge is the age of the executor's gauges there: the period of its statistics, two iterations.
	gaugeAge = 250 * time.Millisecond
	// mostLate is how late a machine may be whose client still tells the truth.
	mostLate = time.Second
	// fewestGauges is how many readings make a time average.
	fewestGauges = 5
	// mostStale is the share of readings with older gauges, for an engine that got no processor.
	mostStale = 0.1
	// shortestWindow is the window from which on rates are compared.
	shortestWindow = 30 * time.Second
)

type tallied struct {
	n                       int
	client, exporter, worst float64
}

// add enters one reading and keeps the worst error that measure gives.
func (a *tallied) add(client, exporter, err float64) {
	a.n++
	a.client, a.exporter, a.worst = a.client+client, a.exporter+exporter, max(a.worst, err)
}

func (a *tallied) row(level, metric, grade, unit, allowed, errorUnit string) comparison {
	n := float64(a.n)
	return comparison{level, metric, grade, a.client / n, a.exporter / n, unit, digits(a.worst), allowed, errorUnit}
}

// digits returns a number in two digits, three from a hundred on.
func digits(v float64) string {
	switch {
	case v < 1e-6:
		return "0"
	case v < 100:
		return fmt.Sprintf("%.2g", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// compare is one level's readings against what its client knows.
type compare struct {
	t        *testing.T
	level    string
	readings []reading
	ledger   *ledger
	rows     []comparison
	// entry ends the keys of readings of what clients call; failure is the class of failed requests.
	entry, failure string
	// edge is how far apart server and client may count, age how old gauges
	// may be; underWay is the most that a request spends on its way to the
	// executor and its answer on its way back, which the server does not count.
	edge, age, underWay time.Duration
}

// newCompare compares the readings of a replica that were taken while its client sent requests. It also
// returns the last reading, and how late the machine was.
func newCompare(t *testing.T, w *watch, replica, level string, client *openLoop, ended time.Time) (c *compare, last reading, late time.Duration) {
	t.Helper()
	readings := w.of(t, replica, int(loadFor.Seconds()/2))
	during := readings[:1:1]
	for _, r := range readings[1:] { // The first has no window yet.
		if r.scraped.Before(ended) {
			during = append(during, r)
		}
	}
	c = &compare{t: t, level: level, readings: during, ledger: newLedger(client.outcomes)}
	late = c.ledger.late()
	require.Less(t, late, mostLate, "the machine is too busy")
	return c, readings[len(readings)-1], late
}

func (c *compare) logged() []comparison {
	for _, r := range c.rows {
		c.t.Log(r)
	}
	return c.rows
}

// windows calls check with the first and the last reading of each window of at least shortestWindow.
func (c *compare) windows(check func(first, last reading, seconds float64)) {
	c.t.Helper()
	windows := 0
	for n := 1; n < len(c.readings); n++ {
		first, last := windowOf(c.t, c.readings, n, time.Minute), c.readings[n]
		if took := last.scraped.Sub(first.scraped); took >= shortestWindow {
			check(first, last, took.Seconds())
			windows++
		}
	}
	require.Positive(c.t, windows, "windows to compare")
}

func percent(client, exporter float64) float64 { return 100 * math.Abs(exporter-client) / client }

// counted requires a rate to be what the client counted in the same window, but
// for what was counted within the slack of its edges.
func (c *compare) counted(family, metric, unit string, what ...steps) {
	c.t.Helper()
	var sum tallied
	widest := 0.0
	c.windows(func(first, last reading, seconds float64) {
		var may span
		client := 0.0
		for _, s := range what {
			one := s.around(first, last, c.edge)
			may = span{may.least + one.least, may.most + one.most}
			client += s.between(first.scraped, last.scraped)
		}
		got, rate := last.value(c.t, family), client/seconds
		may = may.over(seconds, (first.within + last.within).Seconds())
		require.True(c.t, may.holds(got), "%s: llm_server_%s is %g over %g s, the client counted %g, at the edges %+v", c.level, family, got, seconds, rate, may)
		sum.add(rate, got, percent(rate, got))
		widest = max(widest, 100*(may.most-rate)/rate, 100*(rate-may.least)/rate)
	})
	c.rows = append(c.rows, sum.row(c.level, metric, "A", unit, digits(widest), "%"))
}

// errors requires the share that failed to be what the client saw.
func (c *compare) errors() {
	c.t.Helper()
	var sum tallied
	widest := 0.0
	c.windows(func(first, last reading, _ float64) {
		failed := c.ledger.failed.around(first, last, c.edge)
		finished := c.ledger.finished.around(first, last, c.edge)
		may := span{failed.least / (failed.least + finished.most), failed.most / (failed.most + finished.least)}
		lost := c.ledger.failed.between(first.scraped, last.scraped)
		client := lost / (lost + c.ledger.finished.between(first.scraped, last.scraped))
		got := last.value(c.t, "request_error_ratio"+c.entry+"/"+c.failure)
		require.True(c.t, may.holds(got), "%s: error ratio %g, the client saw %g, at the edges %+v", c.level, got, client, may)
		sum.add(client, got, 100*math.Abs(got-client))
		widest = max(widest, 100*(may.most-client), 100*(client-may.least))
	})
	c.rows = append(c.rows, sum.row(c.level, "error ratio", "C", "", digits(widest), "percentage points"))
}

func (c *compare) latency() {
	c.t.Helper()
	c.mean("request_duration_average_seconds", "mean latency", c.ledger.lived, c.ledger.finished, span{c.underWay.Seconds(), 0})
}

// mean requires a mean duration to be the client's, less or more by some seconds.
func (c *compare) mean(family, metric string, sum, count steps, off span) {
	c.t.Helper()
	var all tallied
	widest := 0.0
	c.windows(func(first, last reading, _ float64) {
		client, may := mean(sum, count, first.scraped, last.scraped, c.edge)
		may = span{may.least - off.least, may.most + off.most}
		got := last.value(c.t, family+c.entry)
		require.True(c.t, may.holds(got), "%s: %s %g s, the client's %g s, at the edges %+v", c.level, metric, got, client, may)
		all.add(client, got, 1000*math.Abs(got-client))
		widest = max(widest, 1000*(client-may.least), 1000*(may.most-client))
	})
	c.rows = append(c.rows, all.row(c.level, metric, "A", "s", digits(widest), "ms"))
}

// average requires the means over all readings to be near each other. Requests
// that are on their way so long are in flight for the client and not, or no
// longer, in the executor; off is by how many requests a server may be wrong.
func (c *compare) average(all *tallied, off float64, onTheWay time.Duration, metric string) {
	c.t.Helper()
	require.GreaterOrEqual(c.t, all.n, fewestGauges, "%s: readings of %s", c.level, metric)
	n := float64(all.n)
	client, exporter := all.client/n, all.exporter/n
	lasted := c.readings[len(c.readings)-1].scraped.Sub(c.readings[0].scraped).Seconds()
	rate := float64(len(c.ledger.outcomes)) / lasted
	// A sample of a number that goes up and down by one is off by a half or
	// so, the mean of n by that over the root of n; two of those.
	allowed := off + rate*onTheWay.Seconds() + 1/math.Sqrt(n)
	require.InDelta(c.t, client, exporter, allowed, "%s: time average of %s", c.level, metric)
	row := all.row(c.level, metric, "B", "requests", digits(allowed), "requests")
	row.error = digits(math.Abs(client - exporter))
	c.rows = append(c.rows, row)
}
