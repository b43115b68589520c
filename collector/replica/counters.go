package replica

import (
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// counters counts what happened to a target and renders the exporter's own series
// about it.
type counters struct {
	// since is when counting began.
	since time.Time
	// skipped counts scrapes, reshaped pages with other series than the page before.
	skipped, reshaped uint64

	failures   map[scrape.Reason]uint64
	drops      [len(exposition.Drops{}.ByReason)]uint64
	collisions uint64
	timestamps uint64
	conflicts  uint64
	// leftOut counts the series of the last page, derivedLeftOut those derived from it,
	// that are left off /metrics.
	leftOut        exposition.LeftOut
	derivedLeftOut derive.Dropped

	labels labels.Labels
	values exposition.Values
	// status and stats are those being rendered.
	status *target.Status
	stats  derive.Stats
}

// newCounters returns counters whose series are labelled by label; it may be nil.
func newCounters(t *target.Target, label exposition.Labeler) counters {
	return counters{
		since: time.Now(), failures: make(map[scrape.Reason]uint64),
		labels: labels.FromStrings("pool_id", t.PoolID, "replica_id", t.ReplicaID), values: exposition.NewValues(label),
	}
}

// addPage adds what was dropped from a page.
func (c *counters) addPage(d exposition.Drops) {
	for i, n := range d.ByReason {
		c.drops[i] += uint64(n)
	}
	c.collisions += uint64(d.Collisions)
	c.timestamps += uint64(d.Timestamps)
	c.conflicts += uint64(d.Conflicts)
}

// render renders the series; stats is what interrupted the windows of the derived
// series. Series that blocks of the shapes in before have are left out.
func (c *counters) render(status *target.Status, stats derive.Stats, before ...*exposition.Shape) *exposition.Block {
	c.status, c.stats = status, stats
	for _, s := range ownSeries() {
		if v, ok := s.value(c); ok {
			c.values.Add(&s.metric.Family, v, c.labels, labels.Label{Name: "reason", Value: s.reason})
		}
	}
	return c.values.Block(before...)
}

// ownSample is one of the exporter's series about a target. The value is false while the
// series is absent.
type ownSample struct {
	metric *selfmetrics.Metric
	reason string
	value  func(c *counters) (float64, bool)
}

// ownSeries lists the exporter's series about a target. They stay if the target
// fails. Counters by reason are absent until their reason occurs.
//
//nolint:gochecknoglobals // constant data, built on first use.
var ownSeries = sync.OnceValue(func() []ownSample {
	count := func(m *selfmetrics.Metric, value func(c *counters) uint64) ownSample {
		return ownSample{m, "", func(c *counters) (float64, bool) { return float64(value(c)), true }}
	}
	all := []ownSample{
		{selfmetrics.TargetUp, "", func(c *counters) (float64, bool) {
			if c.status.Health == target.HealthUp {
				return 1, true
			}
			return 0, true
		}},
		{selfmetrics.TargetScrapeDuration, "", func(c *counters) (float64, bool) { return c.status.LastDuration.Seconds(), true }},
		{selfmetrics.TargetSamples, "", func(c *counters) (float64, bool) {
			return float64(c.status.Samples), c.status.Health == target.HealthUp
		}},
		{selfmetrics.TargetBodyBytes, "", func(c *counters) (float64, bool) { return float64(c.status.BodyBytes), c.status.BodyBytes != 0 }},
		{selfmetrics.TargetLastSuccess, "", func(c *counters) (float64, bool) {
			last := c.status.LastSuccess
			return float64(last.UnixNano()) / float64(time.Second), !last.IsZero()
		}},
		count(selfmetrics.TargetScrapes, func(c *counters) uint64 { return c.status.Scrapes }),
		count(selfmetrics.TargetScrapesSkipped, func(c *counters) uint64 { return c.skipped }),
		count(selfmetrics.TargetLabelCollisions, func(c *counters) uint64 { return c.collisions }),
		count(selfmetrics.TargetTimestampsStripped, func(c *counters) uint64 { return c.timestamps }),
		count(selfmetrics.TargetTypeConflicts, func(c *counters) uint64 { return c.conflicts }),
		count(selfmetrics.TargetShapeChanges, func(c *counters) uint64 { return c.reshaped }),
		count(selfmetrics.TargetCounterResets, func(c *counters) uint64 { return c.stats.Resets }),
		count(selfmetrics.TargetRestarts, func(c *counters) uint64 { return c.stats.Restarts }),
	}
	positive := func(m *selfmetrics.Metric, reason string, value func(c *counters) uint64) {
		all = append(all, ownSample{m, reason, func(c *counters) (float64, bool) {
			n := value(c)
			return float64(n), n > 0
		}})
	}
	positive(selfmetrics.TargetSeriesLeftOut, "", func(c *counters) uint64 { return uint64(c.leftOut.Series) })
	positive(selfmetrics.TargetDerivedLeftOut, "", func(c *counters) uint64 { return uint64(c.derivedLeftOut.Series) })
	positive(selfmetrics.TargetModelsLeftOut, "", func(c *counters) uint64 { return uint64(c.derivedLeftOut.Models) })
	for _, reason := range scrape.Reasons() {
		positive(selfmetrics.TargetScrapeFailures, string(reason), func(c *counters) uint64 { return c.failures[reason] })
	}
	for i, reason := range exposition.DropReasons() {
		positive(selfmetrics.TargetSeriesDropped, reason, func(c *counters) uint64 { return c.drops[i] })
	}
	positive(selfmetrics.TargetDerivedSkipped, "clock", func(c *counters) uint64 { return c.stats.ClockJumps })
	positive(selfmetrics.TargetDerivedSkipped, "gap", func(c *counters) uint64 { return c.stats.Gaps })
	positive(selfmetrics.TargetDerivedSkipped, "histogram", func(c *counters) uint64 { return c.stats.BrokenHistograms })
	positive(selfmetrics.TargetDerivedSkipped, "negative", func(c *counters) uint64 { return c.stats.Negative })
	positive(selfmetrics.TargetDerivedSkipped, "nonfinite", func(c *counters) uint64 { return c.stats.NonFinite })
	positive(selfmetrics.TargetDerivedSkipped, "reset", func(c *counters) uint64 { return c.stats.Resets })
	positive(selfmetrics.TargetDerivedSkipped, "restart", func(c *counters) uint64 { return c.stats.Restarts })
	return all
})
