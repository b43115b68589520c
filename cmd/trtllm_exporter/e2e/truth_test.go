//go:build (e2e_triton || e2e_vllm) && linux

package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// activeLimit is the request limit of the executor of tools/triton/models.
const activeLimit = 32

// counting describes how a kind of server counts.
type counting struct {
	kind     string
	requests mix
	// entry ends the keys of readings of the client's model, failure is the class of failed requests,
	// and failures holds how often series count each of them.
	entry, failure string
	failures       map[string]float64
	// gaugeSteps is the number of engine steps between updates of gauges, if it is large, and
	// gaugesLater how much older than others they are for that.
	gaugeSteps  float64
	gaugesLater time.Duration
	// hidesQueue is set if a part of the queue is not counted while it is saturated; queue describes
	// the rest, and queueAge how old that may be.
	hidesQueue bool
	queue      string
	queueAge   func(c *compare) time.Duration
	// between returns the longest time between counting by server and client, and underWay that of a
	// request on its way, on a machine with that delay.
	between func(l *ledger, late time.Duration) time.Duration
	// answers is the counter of the API's answers if those are counted beside the engine.
	answers  string
	underWay func(late time.Duration) time.Duration
	// probes is set if probes are asked all the time.
	probes bool
	// compare compares everything else.
	compare func(c *compare)
}

// level is a load relative to the capacity, on a replica, with what its counters were before.
type level struct {
	name, replica string
	client        *openLoop
	before        map[string]float64
}

// measure applies levels of load at the same time, compares what is derived with the clients, and
// returns the errors.
func (k *counting) measure(t *testing.T, levels ...level) (rows []comparison) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3**loadFor+time.Minute)
	defer cancel()
	replicas := map[string]string{}
	var sending sync.WaitGroup
	for _, l := range levels {
		replicas[l.replica] = l.client.server.address()
		sending.Go(func() { l.client.run(ctx) })
	}
	pause(ctx, warmUp)
	w := watchFromTheFirst(t, configured(time.Second, "", pool("truth", replicas)), len(levels))
	var probes []*probed
	for replica := range replicas {
		if k.probes {
			probes = append(probes, startProbe(t, w.exporter, "truth", replica))
		}
	}
	sending.Wait()
	ended := time.Now()
	for _, l := range levels {
		l.client.under.Wait()
		require.Empty(t, l.client.problems)
		w.reaches(t, l.replica, k.totals(newLedger(l.client.outcomes), l.before))
	}
	for _, p := range probes {
		p.requireAlways(t, keep)
	}
	w.stop()
	for _, l := range levels {
		t.Run(l.name, func(t *testing.T) { rows = append(rows, k.compared(t, w, l, ended)...) })
	}
	return rows
}

// compared compares the readings of a replica while its client sent requests.
func (k *counting) compared(t *testing.T, w *watcher, l level, ended time.Time) []comparison {
	t.Helper()
	all := w.of(t, l.replica)
	c := &compare{t: t, kind: k, level: l.name, readings: all[:1:1], ledger: newLedger(l.client.outcomes)}
	for _, r := range all[1:] { // The first one has no window yet.
		if r.scraped.Before(ended) {
			c.readings = append(c.readings, r)
		}
	}
	late := c.ledger.late()
	if fewest := int(loadFor.Seconds() / 2); !fixture.Updating() && (late >= mostLate || len(all) < fewest) {
		t.Skipf("the machine is too busy to compare more than totals: %d scrapes of at least %d were seen, "+
			"and a request that fails at once took %s", len(all), fewest, late)
	}
	require.Less(t, late, mostLate, "the machine is too busy")
	c.edge, c.age, c.underWay = countedWithin+k.between(c.ledger, late), gaugeAge+k.gaugesLater+2*late, k.underWay(late)
	if k.answers != "" {
		c.edge = max(c.edge, countedWithin+c.ledger.countedLater(all, k.answers))
	}
	k.compare(c)
	for _, r := range c.rows {
		t.Log(r)
	}
	return c.rows
}
