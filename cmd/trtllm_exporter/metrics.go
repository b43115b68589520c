package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trtllm_exporter_config_reloads_total",
			Help: "Reloads of the configuration by result; the load at the start does not count.",
		}, []string{"result"}),
		successful: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trtllm_exporter_config_last_reload_successful",
			Help: "1 if the last load of the configuration was successful, else 0 and the one before is in force.",
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trtllm_exporter_config_last_reload_success_timestamp_seconds",
			Help: "When the configuration in force was loaded.",
		}),
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
