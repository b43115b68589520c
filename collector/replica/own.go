package replica

import (
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/own"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// counted is what the exporter's own series about a target are read from; it is
// used again for each block.
type counted struct {
	status *target.Status
	tally  *tally
	stats  derive.Stats
}

// ownSeries is one of them; of a metric with reasons each has a series. Read
// gives the value, false while the series is absent.
type ownSeries struct {
	metric own.Metric
	reason string
	read   func(c *counted) (float64, bool)
}

// allOwnSeries lists them, the same for all targets. They stay when the target
// fails. Counters by reason are absent until their reason occurs.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var allOwnSeries = sync.OnceValue(func() []ownSeries {
	count := func(m own.Metric, of func(c *counted) uint64) ownSeries {
		return ownSeries{m, "", func(c *counted) (float64, bool) { return float64(of(c)), true }}
	}
	all := []ownSeries{
		{own.TargetUp, "", func(c *counted) (float64, bool) { return flag(c.status.Health == target.HealthUp), true }},
		{own.TargetScrapeDuration, "", func(c *counted) (float64, bool) { return c.status.LastDuration.Seconds(), true }},
		{own.TargetSamples, "", func(c *counted) (float64, bool) {
			return float64(c.status.Samples), c.status.Health == target.HealthUp
		}},
		{own.TargetBodyBytes, "", func(c *counted) (float64, bool) { return float64(c.status.BodyBytes), c.status.BodyBytes != 0 }},
		{own.TargetLastSuccess, "", func(c *counted) (float64, bool) {
			last := c.status.LastSuccess
			return float64(last.UnixNano()) / float64(time.Second), !last.IsZero()
		}},
		count(own.TargetScrapes, func(c *counted) uint64 { return c.status.Scrapes }),
		count(own.TargetScrapesSkipped, func(c *counted) uint64 { return c.tally.skipped }),
		count(own.TargetLabelCollisions, func(c *counted) uint64 { return c.tally.collisions }),
		count(own.TargetTimestampsStripped, func(c *counted) uint64 { return c.tally.timestamps }),
		count(own.TargetTypeConflicts, func(c *counted) uint64 { return c.tally.conflicts }),
		count(own.TargetShapeChanges, func(c *counted) uint64 { return c.tally.reshaped }),
		count(own.TargetCounterResets, func(c *counted) uint64 { return c.stats.Resets }),
		count(own.TargetRestarts, func(c *counted) uint64 { return c.stats.Restarts }),
	}
	some := func(m own.Metric, reason string, of func(c *counted) uint64) {
		all = append(all, ownSeries{m, reason, func(c *counted) (float64, bool) {
			n := of(c)
			return float64(n), n > 0
		}})
	}
	for _, reason := range scrape.Reasons() {
		some(own.TargetScrapeFailures, string(reason), func(c *counted) uint64 { return c.tally.failures[reason] })
	}
	for i, reason := range exposition.DropReasons() {
		some(own.TargetSeriesDropped, reason, func(c *counted) uint64 { return c.tally.drops[i] })
	}
	some(own.TargetDerivedSkipped, "clock", func(c *counted) uint64 { return c.stats.ClockJumps })
	some(own.TargetDerivedSkipped, "gap", func(c *counted) uint64 { return c.stats.Gaps })
	some(own.TargetDerivedSkipped, "histogram", func(c *counted) uint64 { return c.stats.BrokenHistograms })
	some(own.TargetDerivedSkipped, "negative", func(c *counted) uint64 { return c.stats.Negative })
	some(own.TargetDerivedSkipped, "nonfinite", func(c *counted) uint64 { return c.stats.NonFinite })
	some(own.TargetDerivedSkipped, "reset", func(c *counted) uint64 { return c.stats.Resets })
	some(own.TargetDerivedSkipped, "restart", func(c *counted) uint64 { return c.stats.Restarts })
	return all
})

// newHealthSeries prepares the series about one target.
func newHealthSeries(t *target.Target) *exposition.Computed {
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set("pool_id", t.PoolID).Set("replica_id", t.ReplicaID)
	series := make([]exposition.ComputedSeries, 0, len(allOwnSeries()))
	for _, s := range allOwnSeries() {
		f := s.metric.Family()
		series = append(series, exposition.ComputedSeries{
			Family: exposition.Family{Name: f.Name, Type: f.Type, Help: f.Help},
			Labels: b.Set("reason", s.reason).Labels(),
		})
	}
	return exposition.NewComputed(series)
}

// health renders the series about the target.
func (r *Replica) health() *exposition.Block {
	c := &r.shown.counted
	*c = counted{&r.status, &r.tally, r.numbers.stats()}
	b := r.shown.health.Block()
	for i, s := range allOwnSeries() {
		if v, ok := s.read(c); ok {
			b.Set(i, v)
		}
	}
	b.Seal()
	return b
}
