package assess

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
)

func (m *Metric) opts() prometheus.Opts {
	return prometheus.Opts{Name: m.Name, Help: m.Help}
}

// NewGauge returns the metric as a gauge.
func (m *Metric) NewGauge() prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts(m.opts()))
}

// NewGaugeVec returns the metric as a gauge with labels.
func (m *Metric) NewGaugeVec() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts(m.opts()), m.labels)
}

// NewCounter returns the metric as a counter.
func (m *Metric) NewCounter() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts(m.opts()))
}

// NewCounterVec returns the metric as a counter with labels.
func (m *Metric) NewCounterVec() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts(m.opts()), m.labels)
}

// NewHistogram returns the metric as a histogram.
func (m *Metric) NewHistogram(buckets ...float64) prometheus.Histogram {
	opts := prometheus.HistogramOpts{Buckets: buckets}
	opts.Name, opts.Help = m.Name, m.Help
	return prometheus.NewHistogram(opts)
}

// NewFunc returns the metric as a gauge or counter with the value of a function.
func (m *Metric) NewFunc(f func() float64) prometheus.Collector {
	if m.Type == model.MetricTypeCounter {
		return prometheus.NewCounterFunc(prometheus.CounterOpts(m.opts()), f)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts(m.opts()), f)
}

// Describe sends the description of the metric.
func (m *Metric) Describe(ch chan<- *prometheus.Desc) { ch <- m.desc() }

// Send sends one series of the metric.
func (m *Metric) Send(ch chan<- prometheus.Metric, v float64, labels ...string) {
	valueType := prometheus.GaugeValue
	if m.Type == model.MetricTypeCounter {
		valueType = prometheus.CounterValue
	}
	ch <- prometheus.MustNewConstMetric(m.desc(), valueType, v, labels...) //nolint:promlinter // The table is tested.
}

func (m *Metric) desc() *prometheus.Desc {
	return prometheus.NewDesc(m.Name, m.Help, m.labels, nil)
}
