// Package vocabulary owns the names that queries of dashboards and alerts may
// use: what the exporter serves, by type and labels. It knows names, not
// values, and neither dashboards nor rules.
package vocabulary

import (
	"maps"
	"slices"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
)

// Metric is what is known of the series of one name. Grade is how far its values
// can be trusted, where they are derived from servers.
type Metric struct {
	Type   model.MetricType
	Labels []string
	Grade  derive.Grade
}

// Vocabulary are all metrics that queries may use, by the names of their
// series. Many may read it at once while none adds to it.
type Vocabulary map[string]Metric

// New is the catalogue of derived families, the exporter's own families and
// what Prometheus says of its scrape.
func New() Vocabulary {
	v := make(Vocabulary)
	for _, f := range assess.Catalogue() {
		of := identity()
		if f.Scope == derive.OfPool {
			of = []string{"pool_id"}
		}
		v.add(f.Name, f.Type, f.Grade, append(of, f.Labels...)...)
	}
	for name, m := range Own() {
		v.add(name, m.Type, "", m.Labels...)
	}
	v.add("up", model.MetricTypeGauge, "")
	v.add("ALERTS", model.MetricTypeGauge, "", "alertname", "alertstate", "pool_id", "replica_id", "scope", "severity")
	v.add("scrape_duration_seconds", model.MetricTypeGauge, "")
	v.add("scrape_samples_scraped", model.MetricTypeGauge, "")
	return v
}

// identity are the labels of everything that a target says. Only kinds of
// servers with a router have a tier.
func identity() []string {
	return []string{"engine", "engine_version", "pool_id", "replica_id", "tier", "trtllm_version"}
}

// add takes a family in, with the labels that Prometheus gives its series.
func (v Vocabulary) add(name string, kind model.MetricType, grade derive.Grade, labels ...string) {
	all := append([]string{"cluster", "instance", "job"}, labels...)
	slices.Sort(all)
	all = slices.Compact(all)
	with := func(suffix string, kind model.MetricType, more ...string) {
		v[name+suffix] = Metric{Type: kind, Grade: grade, Labels: append(slices.Clone(all), more...)}
	}
	counter := model.MetricTypeCounter
	switch kind {
	case model.MetricTypeHistogram:
		with("_bucket", counter, "le")
		with("_sum", counter)
		with("_count", counter)
	case model.MetricTypeSummary:
		with("", model.MetricTypeGauge, "quantile")
		with("_sum", counter)
		with("_count", counter)
	default:
		with("", kind)
	}
}

// Record takes a recording rule in: what it records, and the labels that its
// result has.
func (v Vocabulary) Record(name string, labels []string) {
	v[name] = Metric{Type: model.MetricTypeGauge, Labels: labels}
}

// Names are the names of all series, sorted.
func (v Vocabulary) Names() []string { return slices.Sorted(maps.Keys(v)) }
