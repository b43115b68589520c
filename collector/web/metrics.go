package web

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// metrics are the server's own.
type metrics struct {
	requests  *prometheus.CounterVec
	aborted   prometheus.Counter
	panics    prometheus.Counter
	pageBytes prometheus.Gauge
	buildTime prometheus.Histogram
	conflicts *prometheus.GaugeVec
	dropped   prometheus.Gauge
}

// newMetrics registers the server's metrics.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trtllm_exporter_http_requests_total",
			Help: "HTTP requests answered, by path and status code; paths that do not exist count as \"other\".",
		}, []string{"path", "code"}),
		aborted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trtllm_exporter_http_aborted_total",
			Help: "Answers that ended before their last byte because the reader left or was too slow.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trtllm_exporter_http_panics_total",
			Help: "Requests that met a bug in the exporter; the log has its trace.",
		}),
		pageBytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trtllm_exporter_page_bytes",
			Help: "Size of the last whole page in text format before compression; vmagent takes 16 MiB by default.",
		}),
		buildTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "trtllm_exporter_page_build_duration_seconds",
			Help:    "Time to merge and encode a page, without writing it to the reader.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5},
		}),
		conflicts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "trtllm_exporter_metadata_conflicts",
			Help: "Families of the page on whose HELP or TYPE its targets disagree.",
		}, []string{"kind"}),
		dropped: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trtllm_exporter_metadata_dropped_series",
			Help: "Series left off the page because their family is of another kind at the other targets.",
		}),
	}
	for _, c := range []prometheus.Collector{
		m.requests, m.aborted, m.panics, m.pageBytes, m.buildTime, m.conflicts, m.dropped,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("metrics of the web server: %w", err)
		}
	}
	m.merged(exposition.MergeStats{})
	return m, nil
}

// merged notes what the targets of the whole page disagree on.
func (m *metrics) merged(s exposition.MergeStats) {
	m.conflicts.WithLabelValues("help").Set(float64(s.HelpConflicts))
	m.conflicts.WithLabelValues("type").Set(float64(s.TypeConflicts))
	m.dropped.Set(float64(s.SeriesDropped))
}
