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

// tally counts what happened to a target, and makes the exporter's own series
// about it. It is not safe for concurrent use; its blocks are.
type tally struct {
	// Begun is when it began to count.
	Begun time.Time
	// Skipped are scrapes, Reshaped pages that differed from the one before in
	// more than values.
	Skipped, Reshaped uint64

	failures   map[scrape.Reason]uint64
	drops      [len(exposition.Drops{}.ByReason)]uint64
	collisions uint64
	timestamps uint64
	conflicts  uint64
	left       leftOut

	own    labels.Labels
	values exposition.Values
	// status and stats are those of the block that is made.
	status *target.Status
	stats  derive.Stats
}

// newTally returns a tally of nothing, whose series get their labels from a
// labeler, nil for none.
func newTally(t *target.Target, label exposition.Labeler) tally {
	return tally{
		Begun: time.Now(), failures: make(map[scrape.Reason]uint64),
		own: labels.FromStrings("pool_id", t.PoolID, "replica_id", t.ReplicaID), values: exposition.NewValues(label),
	}
}

// Count adds one good page.
func (t *tally) Count(d exposition.Drops) {
	for i, n := range d.ByReason {
		t.drops[i] += uint64(n)
	}
	t.collisions += uint64(d.Collisions)
	t.timestamps += uint64(d.Timestamps)
	t.conflicts += uint64(d.Conflicts)
}

// Failed adds one scrape that failed.
func (t *tally) Failed(reason scrape.Reason) { t.failures[reason]++ }

// Block renders the series, given how the last scrape went and what interrupted the
// windows of the derived series. They give way to those of the shapes before.
func (t *tally) Block(status *target.Status, stats derive.Stats, before ...*exposition.Shape) *exposition.Block {
	t.status, t.stats = status, stats
	for _, s := range ownSeries() {
		if v, ok := s.read(t); ok {
			t.values.Add(&s.metric.Family, v, t.own, labels.Label{Name: "reason", Value: s.reason})
		}
	}
	return t.values.Block(before...)
}

// ownOne is one of the exporter's own series about a target; of a metric with
// reasons each has a series. Read gives the value, false while the series is
// absent.
type ownOne struct {
	metric *selfmetrics.Metric
	reason string
	read   func(t *tally) (float64, bool)
}

// ownSeries lists them, the same for all targets. They stay when the target
// fails. Counters by reason are absent until their reason occurs.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var ownSeries = sync.OnceValue(func() []ownOne {
	count := func(m *selfmetrics.Metric, of func(t *tally) uint64) ownOne {
		return ownOne{m, "", func(t *tally) (float64, bool) { return float64(of(t)), true }}
	}
	all := []ownOne{
		{selfmetrics.TargetUp, "", func(t *tally) (float64, bool) {
			if t.status.Health == target.HealthUp {
				return 1, true
			}
			return 0, true
		}},
		{selfmetrics.TargetScrapeDuration, "", func(t *tally) (float64, bool) { return t.status.LastDuration.Seconds(), true }},
		{selfmetrics.TargetSamples, "", func(t *tally) (float64, bool) {
			return float64(t.status.Samples), t.status.Health == target.HealthUp
		}},
		{selfmetrics.TargetBodyBytes, "", func(t *tally) (float64, bool) { return float64(t.status.BodyBytes), t.status.BodyBytes != 0 }},
		{selfmetrics.TargetLastSuccess, "", func(t *tally) (float64, bool) {
			last := t.status.LastSuccess
			return float64(last.UnixNano()) / float64(time.Second), !last.IsZero()
		}},
		count(selfmetrics.TargetScrapes, func(t *tally) uint64 { return t.status.Scrapes }),
		count(selfmetrics.TargetScrapesSkipped, func(t *tally) uint64 { return t.Skipped }),
		count(selfmetrics.TargetLabelCollisions, func(t *tally) uint64 { return t.collisions }),
		count(selfmetrics.TargetTimestampsStripped, func(t *tally) uint64 { return t.timestamps }),
		count(selfmetrics.TargetTypeConflicts, func(t *tally) uint64 { return t.conflicts }),
		count(selfmetrics.TargetShapeChanges, func(t *tally) uint64 { return t.Reshaped }),
		count(selfmetrics.TargetCounterResets, func(t *tally) uint64 { return t.stats.Resets }),
		count(selfmetrics.TargetRestarts, func(t *tally) uint64 { return t.stats.Restarts }),
	}
	some := func(m *selfmetrics.Metric, reason string, of func(t *tally) uint64) {
		all = append(all, ownOne{m, reason, func(t *tally) (float64, bool) {
			n := of(t)
			return float64(n), n > 0
		}})
	}
	some(selfmetrics.TargetSeriesLeftOut, "", func(t *tally) uint64 { page, _ := t.left.counts(); return page })
	some(selfmetrics.TargetDerivedLeftOut, "", func(t *tally) uint64 { _, derived := t.left.counts(); return derived })
	some(selfmetrics.TargetModelsLeftOut, "", func(t *tally) uint64 { return uint64(t.left.derived.Models) })
	for _, reason := range scrape.Reasons() {
		some(selfmetrics.TargetScrapeFailures, string(reason), func(t *tally) uint64 { return t.failures[reason] })
	}
	for i, reason := range exposition.DropReasons() {
		some(selfmetrics.TargetSeriesDropped, reason, func(t *tally) uint64 { return t.drops[i] })
	}
	some(selfmetrics.TargetDerivedSkipped, "clock", func(t *tally) uint64 { return t.stats.ClockJumps })
	some(selfmetrics.TargetDerivedSkipped, "gap", func(t *tally) uint64 { return t.stats.Gaps })
	some(selfmetrics.TargetDerivedSkipped, "histogram", func(t *tally) uint64 { return t.stats.BrokenHistograms })
	some(selfmetrics.TargetDerivedSkipped, "negative", func(t *tally) uint64 { return t.stats.Negative })
	some(selfmetrics.TargetDerivedSkipped, "nonfinite", func(t *tally) uint64 { return t.stats.NonFinite })
	some(selfmetrics.TargetDerivedSkipped, "reset", func(t *tally) uint64 { return t.stats.Resets })
	some(selfmetrics.TargetDerivedSkipped, "restart", func(t *tally) uint64 { return t.stats.Restarts })
	return all
})
