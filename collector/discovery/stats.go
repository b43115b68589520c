package discovery

import "time"

// Stats holds numbers about the discovery of a pool.
type Stats struct {
	// Targets is the number of targets found, Updated is when they changed last, zero before the
	// first update.
	Targets int
	Updated time.Time
	// Failures counts failed reads, requests and lookups by mechanism.
	Failures map[string]float64
}

// Stats returns the current numbers.
func (m *Manager) Stats() Stats {
	stats := Stats{Failures: m.failures()}
	if s := m.status.Load(); s != nil {
		stats.Targets, stats.Updated = s.targets, s.updated
	}
	return stats
}

// failures returns the number of failures by mechanism.
func (m *Manager) failures() map[string]float64 {
	families, err := m.internal.Gather()
	if err != nil {
		m.logger.Warn("Discovery metrics are incomplete", "err", err)
	}
	found := map[string]float64{}
	for _, s := range m.sources {
		switch {
		case s.client != nil:
			found["kubernetes"] += s.client.count()
		case s.read != nil:
			found["file"] += float64(s.read.failed.Load())
		}
	}
	kinds := map[string]string{
		"prometheus_sd_http_failures_total":       "http",
		"prometheus_sd_dns_lookup_failures_total": "dns",
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
