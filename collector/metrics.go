package collector

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the collector's own, beside those of each target.
type metrics struct {
	targets *prometheus.GaugeVec
	refused *prometheus.CounterVec
	panics  prometheus.Counter
}

// newMetrics registers the metrics; id is this process's own, by which it
// knows its page when it is made to scrape itself.
func newMetrics(reg prometheus.Registerer, id string) (*metrics, error) {
	m := &metrics{
		targets: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: OwnPrefix + "targets",
			Help: "Targets of a pool of the configuration as discovery and relabeling left them.",
		}, []string{"pool_id"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: OwnPrefix + "targets_refused_total",
			Help: "Targets left out because another target has their pool_id and replica_id.",
		}, []string{"pool_id"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: OwnPrefix + "panics_total",
			Help: "Panics that were kept to the target whose page or API met them; each one is a bug of the exporter.",
		}),
	}
	instance := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        OwnPrefix + "instance_info",
		Help:        "1 with the identity of this process.",
		ConstLabels: prometheus.Labels{"instance_id": id},
	})
	instance.Set(1)
	for _, c := range []prometheus.Collector{m.targets, m.refused, m.panics, instance} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// forget takes the series of a pool away that the configuration dropped.
func (m *metrics) forget(pool string) {
	m.targets.DeleteLabelValues(pool)
	m.refused.DeleteLabelValues(pool)
}
