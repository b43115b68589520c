package discovery

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trtllm-exporter/trtllm_exporter/collector/selfmetrics"
)

// mechanisms are the ways to find targets, by the counters in which Prometheus'
// discoverers of that kind count what failed.
func mechanisms() map[string]string {
	return map[string]string{
		"prometheus_sd_file_read_errors_total":    "file",
		"prometheus_sd_file_watcher_errors_total": "file",
		"prometheus_sd_http_failures_total":       "http",
		"prometheus_sd_dns_lookup_failures_total": "dns",
		"prometheus_sd_kubernetes_failures_total": "kubernetes",
	}
}

// metrics are the exporter's own metrics about the discovery of a pool.
type metrics struct{ manager *Manager }

// show registers the metrics until the returned function is called. Discovery
// goes on without them where that fails.
func (m *Manager) show() (hide func()) {
	if m.reg == nil {
		return func() {}
	}
	shown := &metrics{m}
	if err := m.reg.Register(shown); err != nil {
		m.logger.Warn("Discovery continues without metrics", "err", err)
		return func() {}
	}
	return func() { m.reg.Unregister(shown) }
}

// Describe sends the descriptions of the metrics.
func (*metrics) Describe(ch chan<- *prometheus.Desc) {
	selfmetrics.DiscoveryTargets.Describe(ch)
	selfmetrics.DiscoveryUpdated.Describe(ch)
	selfmetrics.DiscoveryFailures.Describe(ch)
}

// Collect sends what is known at the moment.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	if s := m.manager.status.Load(); s != nil {
		selfmetrics.DiscoveryTargets.Send(ch, float64(s.targets))
		selfmetrics.DiscoveryUpdated.Send(ch, float64(s.at.UnixNano())/1e9)
	}
	for name, failures := range m.manager.failures() {
		selfmetrics.DiscoveryFailures.Send(ch, failures, name)
	}
}

// failures counts the failures of the mechanisms that the pool uses.
func (m *Manager) failures() map[string]float64 {
	// An error leaves the families that could be gathered.
	families, err := m.internal.Gather()
	if err != nil {
		m.logger.Warn("Discovery metrics are incomplete", "err", err)
	}
	found, kinds := map[string]float64{}, mechanisms()
	for _, f := range families {
		if kind, ok := kinds[f.GetName()]; ok {
			for _, metric := range f.GetMetric() {
				found[kind] += metric.GetCounter().GetValue()
			}
		}
	}
	return found
}
