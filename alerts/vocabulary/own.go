package vocabulary

import "github.com/prometheus/common/model"

// Own are the families that the exporter says of itself and of its targets.
// The live test holds them against a real page.
func Own() Vocabulary {
	v := make(Vocabulary)
	gauge, counter, histogram := model.MetricTypeGauge, model.MetricTypeCounter, model.MetricTypeHistogram
	for _, f := range []struct {
		name   string
		kind   model.MetricType
		labels []string
	}{
		{"build_info", gauge, []string{"branch", "goarch", "goos", "goversion", "revision", "tags", "version"}},
		{"config_last_reload_success_timestamp_seconds", gauge, nil},
		{"config_last_reload_successful", gauge, nil},
		{"config_reloads_total", counter, []string{"result"}},
		{"discovery_failures_total", counter, []string{"mechanism", "pool_id"}},
		{"discovery_last_update_timestamp_seconds", gauge, []string{"pool_id"}},
		{"discovery_targets", gauge, []string{"pool_id"}},
		{"http_aborted_total", counter, nil},
		{"http_panics_total", counter, nil},
		{"http_requests_total", counter, []string{"code", "path"}},
		{"instance_info", gauge, []string{"instance_id"}},
		{"metadata_conflicts", gauge, []string{"kind"}},
		{"metadata_dropped_series", gauge, nil},
		{"page_build_duration_seconds", histogram, nil},
		{"page_bytes", gauge, nil},
		{"panics_total", counter, nil},
		{"targets", gauge, []string{"pool_id"}},
		{"targets_refused_total", counter, []string{"pool_id"}},
	} {
		v["trtllm_exporter_"+f.name] = Metric{Type: f.kind, Labels: f.labels}
	}
	replica := []string{"pool_id", "replica_id"}
	for name, kind := range map[string]model.MetricType{
		"body_bytes":                     gauge,
		"counter_resets_total":           counter,
		"label_collisions_total":         counter,
		"last_success_timestamp_seconds": gauge,
		"restarts_total":                 counter,
		"scrape_duration_seconds":        gauge,
		"scrape_samples":                 gauge,
		"scrapes_skipped_total":          counter,
		"scrapes_total":                  counter,
		"shape_changes_total":            counter,
		"timestamps_stripped_total":      counter,
		"type_conflicts_total":           counter,
		"up":                             gauge,
	} {
		v["trtllm_exporter_target_"+name] = Metric{Type: kind, Labels: replica}
	}
	for _, name := range []string{"derived_skipped_total", "scrape_failures_total", "series_dropped_total"} {
		v["trtllm_exporter_target_"+name] = Metric{Type: counter, Labels: append([]string{"reason"}, replica...)}
	}
	for name, kind := range map[string]model.MetricType{
		"go_goroutines":                 gauge,
		"process_cpu_seconds_total":     counter,
		"process_resident_memory_bytes": gauge,
		"process_start_time_seconds":    gauge,
	} {
		v[name] = Metric{Type: kind}
	}
	return v
}
