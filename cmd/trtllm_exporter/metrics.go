package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
)

// reloadMetrics say how reloads of the configuration went.
type reloadMetrics struct {
	reloads    *prometheus.CounterVec
	successful prometheus.Gauge
	last       prometheus.Gauge
}

// newReloadMetrics returns metrics that say the start went well, for without
// a good configuration there is no process.
func newReloadMetrics() *reloadMetrics {
	m := &reloadMetrics{
		reloads: selfmetrics.ConfigReloads.NewCounterVec(), successful: selfmetrics.ConfigReloadSuccessful.NewGauge(), last: selfmetrics.ConfigReloadTime.NewGauge(),
	}
	m.reloads.WithLabelValues("success")
	m.reloads.WithLabelValues("failure")
	m.loaded()
	return m
}

func (m *reloadMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.reloads, m.successful, m.last}
}

// count notes the result of a reload.
func (m *reloadMetrics) count(err error) {
	if err != nil {
		m.reloads.WithLabelValues("failure").Inc()
		m.successful.Set(0)
		return
	}
	m.reloads.WithLabelValues("success").Inc()
	m.loaded()
}

// loaded notes a good load at this moment.
func (m *reloadMetrics) loaded() {
	m.successful.Set(1)
	m.last.Set(float64(time.Now().UnixMilli()) / 1000)
}
