package vocabulary

import (
	"slices"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
)

// Own returns the families about the exporter and its targets, and those of Go libraries
// that queries use. The live test compares them with a real page.
func Own() Vocabulary {
	gauge, counter := model.MetricTypeGauge, model.MetricTypeCounter
	v := Vocabulary{
		selfmetrics.Prefix + "build_info": {Type: gauge, Labels: []string{"branch", "goarch", "goos", "goversion", "revision", "tags", "version"}},
		"go_goroutines":                   {Type: gauge},
		"process_cpu_seconds_total":       {Type: counter},
		"process_resident_memory_bytes":   {Type: gauge},
		"process_start_time_seconds":      {Type: gauge},
	}
	for _, m := range selfmetrics.All() {
		labels := m.Labels()
		switch {
		case m.AboutTarget():
			labels = append(labels, "pool_id", "replica_id", "tier")
		case m.ByPool():
			labels = append(labels, "pool_id")
		}
		slices.Sort(labels)
		v[m.Name] = Metric{Type: m.Type, Labels: labels}
	}
	return v
}
