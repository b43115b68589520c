package vocabulary

import (
	"slices"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
)

// Own returns the families about the exporter and its targets, and those of Go libraries
// that queries use. The live test compares them with a real page.
func Own() Vocabulary {
	gauge, counter := model.MetricTypeGauge, model.MetricTypeCounter
	v := Vocabulary{
		assess.MetricPrefix + "build_info": {
			Type:   gauge,
			Labels: []string{"branch", "goarch", "goos", "goversion", "revision", "tags", "version"},
		},
		"go_goroutines":                 {Type: gauge},
		"process_cpu_seconds_total":     {Type: counter},
		"process_resident_memory_bytes": {Type: gauge},
		"process_start_time_seconds":    {Type: gauge},
	}
	for _, m := range assess.ExporterMetrics() {
		labels := m.Labels()
		if m.AboutTarget() {
			labels = append(labels, "pool_id", "replica_id", "tier")
		}
		slices.Sort(labels)
		v[m.Name] = Metric{Type: m.Type, Labels: labels}
	}
	return v
}
