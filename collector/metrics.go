package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
)

// metrics holds the collector's own metrics, except the series about each target.
type metrics struct {
	targets *prometheus.GaugeVec
	dropped *prometheus.GaugeVec
	empty   *prometheus.GaugeVec
	refused *prometheus.GaugeVec
	shards  *prometheus.GaugeVec
	panics  prometheus.Counter
	// refusedByPool is the last argument of setRefused.
	refusedByPool map[string]int
}

// newMetrics registers the metrics. The id identifies this process, so that it recognizes its own
// page.
func newMetrics(reg prometheus.Registerer, id string, shared *scrape.Resources) (*metrics, error) {
	m := &metrics{
		targets: selfmetrics.Targets.NewGaugeVec(), dropped: selfmetrics.TargetsDropped.NewGaugeVec(), empty: selfmetrics.PoolWithoutTargets.NewGaugeVec(),
		refused: selfmetrics.TargetsRefused.NewGaugeVec(), shards: selfmetrics.Shards.NewGaugeVec(), panics: selfmetrics.Panics.NewCounter(),
	}
	instance := selfmetrics.InstanceInfo.NewGaugeVec()
	instance.WithLabelValues(id).Set(1)
	for _, c := range []prometheus.Collector{
		m.targets, m.dropped, m.empty, m.refused, m.shards, m.panics, instance,
		selfmetrics.BodyMemory.NewFunc(func() float64 { return float64(shared.Memory().Used) }),
		selfmetrics.BodyMemoryLimit.NewFunc(func() float64 { return float64(shared.Memory().Limit) }),
		selfmetrics.BodyMemoryWaits.NewFunc(func() float64 { return float64(shared.Memory().Waits) }),
		selfmetrics.Connections.NewFunc(func() float64 { return float64(shared.Connections().Used) }),
		selfmetrics.ConnectionsLimit.NewFunc(func() float64 { return float64(shared.Connections().Limit) }),
		selfmetrics.ConnectionsWaits.NewFunc(func() float64 { return float64(shared.Connections().Waits) }),
		selfmetrics.ConnectionsTaken.NewFunc(func() float64 { return float64(shared.Connections().Reclaimed) }),
	} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// setRefused sets the number of refused targets by pool_id, which relabeling may set to the id of
// no pool.
func (m *metrics) setRefused(counts map[string]int) {
	for id, n := range counts {
		m.refused.WithLabelValues(id).Set(float64(n))
	}
	for id := range m.refusedByPool {
		if _, ok := counts[id]; !ok {
			m.refused.DeleteLabelValues(id)
		}
	}
	m.refusedByPool = counts
}
