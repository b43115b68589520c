// Package vocabulary owns the names that queries of dashboards and alerts may use: the
// series that the exporter serves, with type and labels. It must not know values, dashboards
// or rules.
package vocabulary

import (
	"maps"
	"slices"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
)

// Metric describes the series with one name. Derived ones have a grade.
type Metric struct {
	Type   model.MetricType
	Labels []string
	Grade  derive.Grade
}

// Vocabulary holds the metrics that queries may use, by name of their series.
type Vocabulary map[string]Metric

// New returns the catalogue of derived families, the exporter's own families, and the
// series that Prometheus adds.
func New() Vocabulary {
	v := make(Vocabulary)
	for _, f := range assess.Catalogue() {
		// Only kinds of servers with a router have a tier.
		labels := []string{"engine", "engine_version", "pool_id", "replica_id", "tier", "trtllm_version"}
		if f.Scope == derive.OfPool {
			labels = []string{"pool_id"}
		}
		v.add(f.Name, f.Type, f.Grade, append(labels, f.Labels...)...)
	}
	for name, m := range Own() {
		v.add(name, m.Type, "", m.Labels...)
	}
	v.add("up", model.MetricTypeGauge, "")
	v.add("ALERTS", model.MetricTypeGauge, "", "alertname", "alertstate", "model_id", "pool_id", "replica_id", "scope",
		"severity", "slo", "state")
	v.add("scrape_duration_seconds", model.MetricTypeGauge, "")
	v.add("scrape_samples_scraped", model.MetricTypeGauge, "")
	return v
}

// add adds a family, with the labels that Prometheus adds to its series.
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
	default:
		with("", kind)
	}
}

// Record adds the series of a recording rule, with the labels of its result.
func (v Vocabulary) Record(name string, labels []string) {
	v[name] = Metric{Type: model.MetricTypeGauge, Labels: labels}
}

// Names returns the sorted names of all series.
func (v Vocabulary) Names() []string { return slices.Sorted(maps.Keys(v)) }
