package selfmetrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
)

// opts are what client_golang wants to know of a metric.
func (m *Metric) opts() prometheus.Opts {
	return prometheus.Opts{Name: m.Name, Help: m.Help}
}

// NewGauge makes the metric, which has one series.
func (m *Metric) NewGauge() prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts(m.opts()))
}

// NewGaugeVec makes the metric with its labels.
func (m *Metric) NewGaugeVec() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts(m.opts()), m.labels)
}

// NewCounter makes the metric, which has one series.
func (m *Metric) NewCounter() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts(m.opts()))
}

// NewCounterVec makes the metric with its labels.
func (m *Metric) NewCounterVec() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts(m.opts()), m.labels)
}

// NewHistogram makes the metric with buckets of these bounds.
func (m *Metric) NewHistogram(bounds ...float64) prometheus.Histogram {
	opts := prometheus.HistogramOpts{Buckets: bounds}
	opts.Name, opts.Help = m.Name, m.Help
	return prometheus.NewHistogram(opts)
}

// NewFunc makes the metric, whose one series has the value that f gives.
func (m *Metric) NewFunc(f func() float64) prometheus.Collector {
	if m.Type == model.MetricTypeCounter {
		return prometheus.NewCounterFunc(prometheus.CounterOpts(m.opts()), f)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts(m.opts()), f)
}

// Describe describes the metric for those who collect it themselves.
func (m *Metric) Describe(ch chan<- *prometheus.Desc) { ch <- m.desc() }

// Send sends one series of the metric with the values of its labels.
func (m *Metric) Send(ch chan<- prometheus.Metric, v float64, labels ...string) {
	kind := prometheus.GaugeValue
	if m.Type == model.MetricTypeCounter {
		kind = prometheus.CounterValue
	}
	ch <- prometheus.MustNewConstMetric(m.desc(), kind, v, labels...) //nolint:promlinter // The table is tested instead.
}

// desc is what client_golang calls a description.
func (m *Metric) desc() *prometheus.Desc {
	return prometheus.NewDesc(m.Name, m.Help, m.labels, nil)
}
