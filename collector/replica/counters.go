package replica

import (
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// counters counts what happened to a target and renders the exporter's own series about it.
type counters struct {
	// start is when the counting began.
	start time.Time
	// skipped counts skipped scrapes, reshaped pages with other series than the previous page.
	skipped, reshaped uint64

	failures   map[scrape.Reason]uint64
	drops      [len(exposition.Drops{}.ByReason)]uint64
	collisions uint64
	timestamps uint64
	conflicts  uint64
	// leftOut counts series of the last page that are left out of /metrics, derivedLeftOut series
	// that would be derived from it.
	leftOut        exposition.LeftOut
	derivedLeftOut derive.Dropped

	labels labels.Labels
	values exposition.Values
	// off lists the groups whose series are left out.
	off exposition.Groups
}

func newCounters(t *target.Target, label exposition.Labeler, off exposition.Groups) counters {
	return counters{
		start:    time.Now(),
		failures: make(map[scrape.Reason]uint64),
		labels:   labels.FromStrings("pool_id", t.PoolID, "replica_id", t.ReplicaID),
		values:   exposition.NewValues(label),
		off:      off,
	}
}

func (c *counters) addPage(d exposition.Drops) {
	for i, n := range d.ByReason {
		c.drops[i] += uint64(n)
	}
	c.collisions += uint64(d.Collisions)
	c.timestamps += uint64(d.Timestamps)
	c.conflicts += uint64(d.Conflicts)
}

// render renders the series; stats counts what interrupted the windows of the derived series.
// Series of the existing shapes are left out.
func (c *counters) render(s *target.Status, stats derive.Stats, existing ...*exposition.Shape) *exposition.Block {
	up := 0.0
	if s.Health == target.HealthUp {
		up = 1
	}
	c.add(assess.MetricTargetUp, up)
	c.add(assess.MetricTargetScrapeDuration, s.LastDuration.Seconds())
	if up == 1 {
		c.add(assess.MetricTargetSamples, float64(s.Samples))
	}
	if s.BodyBytes != 0 {
		c.add(assess.MetricTargetBodyBytes, float64(s.BodyBytes))
	}
	if !s.LastSuccess.IsZero() {
		c.add(assess.MetricTargetLastSuccess, float64(s.LastSuccess.UnixNano())/float64(time.Second))
	}
	c.add(assess.MetricTargetScrapes, float64(s.Scrapes))
	c.add(assess.MetricTargetScrapesSkipped, float64(c.skipped))
	c.add(assess.MetricTargetShapeChanges, float64(c.reshaped))
	c.add(assess.MetricTargetCounterResets, float64(stats.Resets))
	c.add(assess.MetricTargetRestarts, float64(stats.Restarts))

	// The other series are absent until what they count has occurred.
	c.count(assess.MetricTargetLabelCollisions, "", c.collisions)
	c.count(assess.MetricTargetTimestampsStripped, "", c.timestamps)
	c.count(assess.MetricTargetTypeConflicts, "", c.conflicts)
	c.count(assess.MetricTargetSeriesLeftOut, "", uint64(c.leftOut.Series))
	c.count(assess.MetricTargetDerivedLeftOut, "", uint64(c.derivedLeftOut.Series))
	c.count(assess.MetricTargetModelsLeftOut, "", uint64(c.derivedLeftOut.Models))
	if len(c.failures) > 0 {
		for _, reason := range scrape.Reasons() {
			c.count(assess.MetricTargetScrapeFailures, string(reason), c.failures[reason])
		}
	}
	for i, reason := range exposition.DropReasons() {
		c.count(assess.MetricTargetSeriesDropped, reason, c.drops[i])
	}
	c.count(assess.MetricTargetDerivedSkipped, "clock", stats.ClockJumps)
	c.count(assess.MetricTargetDerivedSkipped, "gap", stats.Gaps)
	c.count(assess.MetricTargetDerivedSkipped, "histogram", stats.BrokenHistograms)
	c.count(assess.MetricTargetDerivedSkipped, "impossible", stats.Impossible)
	c.count(assess.MetricTargetDerivedSkipped, "nonfinite", stats.NonFinite)
	c.count(assess.MetricTargetDerivedSkipped, "reset", stats.Resets)
	c.count(assess.MetricTargetDerivedSkipped, "restart", stats.Restarts)
	return c.values.Block(existing...)
}

func (c *counters) add(m *assess.Metric, v float64) {
	if !c.off.Has(m.Group) {
		c.values.Add(&m.Family, v, c.labels)
	}
}

func (c *counters) count(m *assess.Metric, reason string, n uint64) {
	if n > 0 {
		c.values.Add(&m.Family, float64(n), c.labels, labels.Label{Name: "reason", Value: reason})
	}
}
