package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/own"
)

// metrics are the collector's own, without those of each target.
type metrics struct {
	targets *prometheus.GaugeVec
	refused *prometheus.CounterVec
	panics  prometheus.Counter
}

// newMetrics registers the metrics; id is this process's own, by which it
// knows its page when it is made to scrape itself.
func newMetrics(reg prometheus.Registerer, id string) (*metrics, error) {
	m := &metrics{targets: own.Targets.MakeGaugeVec(), refused: own.TargetsRefused.MakeCounterVec(), panics: own.Panics.MakeCounter()}
	instance := own.InstanceInfo.MakeGaugeVec()
	instance.WithLabelValues(id).Set(1)
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
