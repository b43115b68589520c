package collector

import (
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// OwnPrefix begins the names of the exporter's series about itself and its
// targets; a target that uses it is not listened to.
const OwnPrefix = "trtllm_exporter_"

// health renders the exporter's own series about one target. They stay on the
// page when the target fails. It is not safe for concurrent use.
type health struct {
	out     *exposition.Computed
	columns map[string]int
}

// healthSeries are the series about a target; columns are their numbers, by
// name and, for those that have one, reason.
type healthSeries struct {
	all     []ownSeries
	columns map[string]int
}

// ownSeries is one of them, with its reason or none.
type ownSeries struct {
	family exposition.Family
	reason string
}

// everyHealthSeries is the list, which is the same for all targets.
//
//nolint:gochecknoglobals // constant data that is made when it is first asked for.
var everyHealthSeries = sync.OnceValue(func() *healthSeries {
	h := &healthSeries{columns: make(map[string]int)}
	gauge, counter := model.MetricTypeGauge, model.MetricTypeCounter
	h.add("target_up", gauge, "1 if the last scrape of the target succeeded, else 0.", "")
	h.add("target_scrape_duration_seconds", gauge, "Duration of the last scrape of the target, whether it succeeded or not.", "")
	h.add("target_scrape_samples", gauge, "Samples on the target's page at its last scrape.", "")
	h.add("target_body_bytes", gauge, "Size of the target's page at its last scrape, uncompressed; -1 when it was over the limit.", "")
	h.add("target_scrapes_total", counter, "Scrapes of the target.", "")
	h.add("target_scrapes_skipped_total", counter, "Scrapes left out because the one before was still under way.", "")
	h.add("target_last_success_timestamp_seconds", gauge, "When the last successful scrape of the target ended.", "")
	h.add("target_label_collisions_total", counter, "Labels of the target's series that gave way to ours and moved to exported_<name>.", "")
	h.add("target_timestamps_stripped_total", counter, "Samples of the target whose own timestamps were left out.", "")
	h.add("target_type_conflicts_total", counter, "Families of which the target's own page says two types.", "")
	h.add("target_shape_changes_total", counter, "Pages of the target that differed from the one before in more than values.", "")
	h.add("target_counter_resets_total", counter, "Counters of the target that fell between two scrapes.", "")
	h.add("target_restarts_total", counter, "Times that many counters of the target fell at once, as when its server starts anew.", "")
	for _, reason := range scrape.Reasons() {
		h.add("target_scrape_failures_total", counter, "Failed scrapes of the target by reason.", string(reason))
	}
	for _, reason := range exposition.DropReasons() {
		h.add("target_series_dropped_total", counter, "Series of the target's pages that were left out, by reason.", reason)
	}
	for _, reason := range []string{"clock", "gap", "histogram", "negative", "nonfinite", "reset", "restart"} {
		h.add("target_derived_skipped_total", counter, "What kept rules from having a value, by reason.", reason)
	}
	return h
})

// add appends one series.
func (h *healthSeries) add(name string, typ model.MetricType, help, reason string) {
	key := name
	if reason != "" {
		key += "|" + reason
	}
	h.columns[key] = len(h.all)
	h.all = append(h.all, ownSeries{exposition.Family{Name: OwnPrefix + name, Type: typ, Help: help}, reason})
}

// newHealth prepares the series of one target.
func newHealth(t *target.Target) *health {
	every := everyHealthSeries()
	series := make([]exposition.ComputedSeries, len(every.all))
	b := labels.NewBuilder(labels.EmptyLabels())
	for i, s := range every.all {
		b.Set("pool_id", t.PoolID).Set("replica_id", t.ReplicaID).Set("reason", s.reason)
		series[i] = exposition.ComputedSeries{Family: s.family, Labels: b.Labels()}
	}
	return &health{out: exposition.NewComputed(series), columns: every.columns}
}

// tally counts what happened to a target since its loop began.
type tally struct {
	failures   map[scrape.Reason]uint64
	skipped    uint64
	drops      [len(exposition.Drops{}.ByReason)]uint64
	collisions uint64
	timestamps uint64
	conflicts  uint64
	reshaped   uint64
}

// count adds one good page.
func (t *tally) count(d exposition.Drops) {
	for i, n := range d.ByReason {
		t.drops[i] += uint64(n)
	}
	t.collisions += uint64(d.Collisions)
	t.timestamps += uint64(d.Timestamps)
	t.conflicts += uint64(d.Conflicts)
}

// block renders status and tally. Counters by reason are absent until their
// reason occurs.
func (h *health) block(s *target.Status, t *tally, d derive.Stats) *exposition.Block {
	b := h.out.Block()
	set := func(key string, v float64) { b.Set(h.columns[key], v) }
	some := func(name, reason string, n uint64) {
		if n > 0 {
			set(name+"|"+reason, float64(n))
		}
	}
	up := 0.0
	if s.Health == target.HealthUp {
		up = 1
		set("target_scrape_samples", float64(s.Samples))
	}
	set("target_up", up)
	set("target_scrape_duration_seconds", s.LastDuration.Seconds())
	if s.BodyBytes != 0 {
		set("target_body_bytes", float64(s.BodyBytes))
	}
	set("target_scrapes_total", float64(s.Scrapes))
	set("target_scrapes_skipped_total", float64(t.skipped))
	if !s.LastSuccess.IsZero() {
		set("target_last_success_timestamp_seconds", float64(s.LastSuccess.UnixNano())/float64(time.Second))
	}
	set("target_label_collisions_total", float64(t.collisions))
	set("target_timestamps_stripped_total", float64(t.timestamps))
	set("target_type_conflicts_total", float64(t.conflicts))
	set("target_shape_changes_total", float64(t.reshaped))
	set("target_counter_resets_total", float64(d.Resets))
	set("target_restarts_total", float64(d.Restarts))
	for reason, n := range t.failures {
		some("target_scrape_failures_total", string(reason), n)
	}
	for i, reason := range exposition.DropReasons() {
		some("target_series_dropped_total", reason, t.drops[i])
	}
	some("target_derived_skipped_total", "clock", d.ClockJumps)
	some("target_derived_skipped_total", "gap", d.Gaps)
	some("target_derived_skipped_total", "histogram", d.BrokenHistograms)
	some("target_derived_skipped_total", "negative", d.Negative)
	some("target_derived_skipped_total", "nonfinite", d.NonFinite)
	some("target_derived_skipped_total", "reset", d.Resets)
	some("target_derived_skipped_total", "restart", d.Restarts)
	b.Seal()
	return b
}
