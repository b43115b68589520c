package collector

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
)

// metrics are the collector's own, without those of each target.
type metrics struct {
	targets *prometheus.GaugeVec
	dropped *prometheus.GaugeVec
	empty   *prometheus.GaugeVec
	refused *prometheus.GaugeVec
	shards  *prometheus.GaugeVec
	panics  prometheus.Counter
	// counted are the names under which targets were counted as refused last.
	counted map[string]int
}

// newMetrics registers the metrics; id is this process's own, by which it
// knows its page when it is made to scrape itself.
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

// part says which part of the targets is ours.
func (m *metrics) part(s shard) {
	m.shards.Reset()
	if s.Total > 1 {
		m.shards.WithLabelValues(strconv.Itoa(s.Index)).Set(float64(s.Total))
	}
}

// refuse says how many targets are refused under each pool_id, which need not be that
// of a pool: relabeling gives targets any.
func (m *metrics) refuse(counts map[string]int) {
	for id, n := range counts {
		m.refused.WithLabelValues(id).Set(float64(n))
	}
	for id := range m.counted {
		if _, still := counts[id]; !still {
			m.refused.DeleteLabelValues(id)
		}
	}
	m.counted = counts
}

// forget takes the series of a pool away that the configuration dropped.
func (m *metrics) forget(pool string) {
	m.targets.DeleteLabelValues(pool)
	m.dropped.DeleteLabelValues(pool)
	m.empty.DeleteLabelValues(pool)
}
