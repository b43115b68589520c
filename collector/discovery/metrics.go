package discovery

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
)

// metrics collects the exporter's metrics about the discovery of a pool.
type metrics struct{ manager *Manager }

func (*metrics) Describe(ch chan<- *prometheus.Desc) {
	selfmetrics.DiscoveryTargets.Describe(ch)
	selfmetrics.DiscoveryUpdated.Describe(ch)
	selfmetrics.DiscoveryFailures.Describe(ch)
}

func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	if s := m.manager.status.Load(); s != nil {
		selfmetrics.DiscoveryTargets.Send(ch, float64(s.targets))
		selfmetrics.DiscoveryUpdated.Send(ch, float64(s.updated.UnixNano())/1e9)
	}
	for name, failures := range m.manager.failures() {
		selfmetrics.DiscoveryFailures.Send(ch, failures, name)
	}
}

// failures returns the number of failures by mechanism.
func (m *Manager) failures() map[string]float64 {
	families, err := m.internal.Gather()
	if err != nil {
		m.logger.Warn("Discovery metrics are incomplete", "err", err)
	}
	found, kinds := map[string]float64{}, map[string]string{
		"prometheus_sd_file_read_errors_total":    "file",
		"prometheus_sd_file_watcher_errors_total": "file",
		"prometheus_sd_http_failures_total":       "http",
		"prometheus_sd_dns_lookup_failures_total": "dns",
		"prometheus_sd_kubernetes_failures_total": "kubernetes",
	}
	for _, f := range families {
		if kind, ok := kinds[f.GetName()]; ok {
			for _, metric := range f.GetMetric() {
				found[kind] += metric.GetCounter().GetValue()
			}
		}
	}
	return found
}
