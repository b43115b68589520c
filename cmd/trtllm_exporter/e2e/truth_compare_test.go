//go:build e2e_triton && linux

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
	// gaugeAge is how old the executor's gauges may be on a page there: the
	// period of its statistics, two iterations, and the reading of the page.
	gaugeAge = 250 * time.Millisecond
	// mostLate is from when on a machine is too busy for its client to tell
	// the truth.
	mostLate = time.Second
	// shortestWindow is the window from which on rates are compared.
	shortestWindow = 30 * time.Second
	// underWay is the most that a request spends on its way to the executor
	// and its answer on its way back, which the server does not count.
	underWay = 40 * time.Millisecond
)

// comparison is one row of the document: means over the readings compared,
// and the worst error.
type comparison struct {
	level, metric    string
	unit             string
	client, exporter float64
	error            string
	allowed          string
	grade, note      string
}

// tallied adds up what was compared.
type tallied struct {
	n                       int
	client, exporter, worst float64
}

// add enters one reading and keeps the worst error that measure gives.
func (a *tallied) add(client, exporter, err float64) {
	a.n++
	a.client, a.exporter, a.worst = a.client+client, a.exporter+exporter, max(a.worst, err)
}

// row is what the document says of it.
func (a *tallied) row(level, metric, unit, errorUnit, allowed, grade, note string) comparison {
	n := float64(a.n)
	return comparison{level, metric, unit, a.client / n, a.exporter / n, digits(a.worst) + " " + errorUnit, allowed, grade, note}
}

// digits is a number in two digits, three from a hundred on.
func digits(v float64) string {
	switch {
	case v < 1e-6:
		return "0"
	case v < 100:
		return fmt.Sprintf("%.2g", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// compare is one level's readings against what its client knows.
type compare struct {
	t        *testing.T
	level    string
	readings []reading
	ledger   *ledger
	rows     []comparison
	// edge is how far apart server and client may count, age how old gauges
	// may be.
	edge, age time.Duration
}

// windows calls check with the first and the last reading of each window that
// is long enough to be compared, and how many seconds it has.
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

// percent is an error in per cent of the truth.
func percent(client, exporter float64) float64 { return 100 * math.Abs(exporter-client) / client }

// counted wants a rate to be what the client counted in the same window, but
// for what was counted within the slack of its edges.
func (c *compare) counted(family, metric, unit string, what ...steps) {
	c.t.Helper()
	var sum tallied
	widest := 0.0
	c.windows(func(first, last reading, seconds float64) {
		var may span
		client := 0.0
		for _, s := range what {
			one := s.around(first.scraped, last.scraped, c.edge)
			may = span{may.least + one.least, may.most + one.most}
			client += s.between(first.scraped, last.scraped)
		}
		got, rate := last.value(c.t, family), client/seconds
		may = may.over(seconds, (first.within + last.within).Seconds())
		require.True(c.t, may.holds(got), "%s: llm_server_%s is %g over %g s, the client counted %g, at the edges %+v", c.level, family, got, seconds, rate, may)
		sum.add(rate, got, percent(rate, got))
		widest = max(widest, 100*(may.most-rate)/rate, 100*(rate-may.least)/rate)
	})
	c.rows = append(c.rows, sum.row(c.level, metric, unit, "%", digits(widest)+" %", "A", "of requests that ended; allowed is what ended within "+digits(float64(c.edge.Milliseconds()))+" ms of the edges of the window"))
}

// generated compares tokens/s with the tokens that came in the same window,
// whose requests may have begun before it or not have ended in it: at each
// edge the batch in the slots.
func (c *compare) generated() {
	c.t.Helper()
	const batch = slots * mostTokens
	var sum tallied
	widest := 0.0
	c.windows(func(first, last reading, seconds float64) {
		came := c.ledger.received.around(first.scraped, last.scraped, c.edge)
		client := c.ledger.received.between(first.scraped, last.scraped)
		got := last.value(c.t, "generation_tokens_per_second") * seconds
		require.True(c.t, span{came.least - batch, came.most + batch}.holds(got), "%s: %g tokens by the exporter, %g came", c.level, got, client)
		sum.add(client/seconds, got/seconds, percent(client, got))
		widest = max(widest, 100*(came.most+batch-client)/client)
	})
	c.rows = append(c.rows, sum.row(c.level, "tokens/s, of all that came", "tokens/s", "%", digits(widest)+" %", "A", "counted when requests end; allowed is a batch of answers more or less"))
}

// errors wants the share that failed to be what the client saw.
func (c *compare) errors() {
	c.t.Helper()
	var sum tallied
	widest := 0.0
	c.windows(func(first, last reading, _ float64) {
		failed := c.ledger.failed.around(first.scraped, last.scraped, c.edge)
		finished := c.ledger.finished.around(first.scraped, last.scraped, c.edge)
		may := span{failed.least / (failed.least + finished.most), failed.most / (failed.most + finished.least)}
		lost := c.ledger.failed.between(first.scraped, last.scraped)
		client := lost / (lost + c.ledger.finished.between(first.scraped, last.scraped))
		got := last.value(c.t, "request_error_ratio/ensemble/server")
		require.True(c.t, may.holds(got), "%s: error ratio %g, the client saw %g, at the edges %+v", c.level, got, client, may)
		sum.add(client, got, 100*math.Abs(got-client))
		widest = max(widest, 100*(may.most-client), 100*(client-may.least))
	})
	c.rows = append(c.rows, sum.row(c.level, "error ratio", "", "percentage points", digits(widest)+" percentage points", "C", "steps that answer with an error; allowed as with requests/s"))
}

// latency wants the mean duration to be that of the same requests, but for
// their way to the server and back.
func (c *compare) latency() {
	c.t.Helper()
	var sum tallied
	widest := 0.0
	c.windows(func(first, last reading, _ float64) {
		client, may := c.ledger.durations(first.scraped, last.scraped, c.edge)
		may = span{may.least - underWay.Seconds(), may.most}
		got := last.value(c.t, "request_duration_average_seconds/ensemble")
		require.True(c.t, may.holds(got), "%s: mean duration %g s, the client's %g s, at the edges %+v", c.level, got, client, may)
		sum.add(client, got, 1000*math.Abs(got-client))
		widest = max(widest, 1000*(client-may.least), 1000*(may.most-client))
	})
	c.rows = append(c.rows, sum.row(c.level, "mean latency", "s", "ms", digits(widest)+" ms", "A", "of requests that succeeded; the client's holds the way to the server and back"))
}
