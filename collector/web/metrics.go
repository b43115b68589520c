package web

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
)

type metrics struct {
	requests  *prometheus.CounterVec
	aborted   prometheus.Counter
	panics    prometheus.Counter
	pageBytes prometheus.Gauge
	buildTime prometheus.Histogram
	conflicts *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: selfmetrics.HTTPRequests.NewCounterVec(), aborted: selfmetrics.HTTPAborted.NewCounter(), panics: selfmetrics.HTTPPanics.NewCounter(),
		pageBytes: selfmetrics.PageBytes.NewGauge(),
		buildTime: selfmetrics.PageBuildTime.NewHistogram(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
		conflicts: selfmetrics.MetadataConflicts.NewGaugeVec(),
	}
	for _, c := range []prometheus.Collector{
		m.requests, m.aborted, m.panics, m.pageBytes, m.buildTime, m.conflicts,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("metrics of the web server: %w", err)
		}
	}
	m.merged(exposition.MergeStats{})
	return m, nil
}

func (m *metrics) merged(s exposition.MergeStats) {
	m.conflicts.WithLabelValues(exposition.ConflictHelp).Set(float64(s.HelpConflicts))
	m.conflicts.WithLabelValues(exposition.ConflictType).Set(float64(s.TypeConflicts))
	m.conflicts.WithLabelValues(exposition.ConflictUnit).Set(float64(s.UnitConflicts))
}
