package collector

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// metrics holds the collector's own metrics, except the series about each target.
type metrics struct {
	targets     *prometheus.GaugeVec
	dropped     *prometheus.GaugeVec
	empty       *prometheus.GaugeVec
	refused     *prometheus.GaugeVec
	shards      *prometheus.GaugeVec
	panics      prometheus.Counter
	discoveries discoveryMetrics
	// refusedByPool is the last argument of setRefused.
	refusedByPool map[string]int
}

// newMetrics registers the metrics. The id identifies this process, so that it recognizes its own
// page.
func newMetrics(reg prometheus.Registerer, id string, shared *scrape.Resources) (*metrics, error) {
	m := &metrics{
		targets: assess.MetricTargets.NewGaugeVec(),
		dropped: assess.MetricTargetsDropped.NewGaugeVec(),
		empty:   assess.MetricPoolWithoutTargets.NewGaugeVec(),
		refused: assess.MetricTargetsRefused.NewGaugeVec(),
		shards:  assess.MetricShards.NewGaugeVec(),
		panics:  assess.MetricPanics.NewCounter(),
	}
	instance := assess.MetricInstanceInfo.NewGaugeVec()
	instance.WithLabelValues(id).Set(1)
	for _, c := range []prometheus.Collector{
		m.targets, m.dropped, m.empty, m.refused, m.shards, m.panics, &m.discoveries, instance,
		assess.MetricBodyMemory.NewFunc(func() float64 { return float64(shared.Memory().Used) }),
		assess.MetricBodyMemoryLimit.NewFunc(func() float64 { return float64(shared.Memory().Limit) }),
		assess.MetricBodyMemoryWaits.NewFunc(func() float64 { return float64(shared.Memory().Waits) }),
		assess.MetricConnections.NewFunc(func() float64 { return float64(shared.Connections().Used) }),
		assess.MetricConnectionsLimit.NewFunc(func() float64 { return float64(shared.Connections().Limit) }),
		assess.MetricConnectionsWaits.NewFunc(func() float64 { return float64(shared.Connections().Waits) }),
		assess.MetricConnectionsTaken.NewFunc(func() float64 { return float64(shared.Connections().Reclaimed) }),
	} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// discoveryMetrics collects the metrics about discovery from every running [discovery.Manager], by
// pool_id.
type discoveryMetrics struct{ sync.Map }

// Describe implements prometheus.Collector.
func (*discoveryMetrics) Describe(ch chan<- *prometheus.Desc) {
	assess.MetricDiscoveryTargets.Describe(ch)
	assess.MetricDiscoveryUpdated.Describe(ch)
	assess.MetricDiscoveryFailures.Describe(ch)
}

// Collect implements prometheus.Collector.
func (d *discoveryMetrics) Collect(ch chan<- prometheus.Metric) {
	for id, manager := range d.Range {
		pool, stats := id.(string), manager.(*discovery.Manager).Stats()
		if !stats.Updated.IsZero() {
			assess.MetricDiscoveryTargets.Send(ch, float64(stats.Targets), pool)
			assess.MetricDiscoveryUpdated.Send(ch, float64(stats.Updated.UnixNano())/1e9, pool)
		}
		for mechanism, failures := range stats.Failures {
			assess.MetricDiscoveryFailures.Send(ch, failures, mechanism, pool)
		}
	}
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
