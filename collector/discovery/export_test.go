package discovery

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Exported for tests.
const (
	ListPause = listPause
	Settle    = settle
	Restart   = restart
)

// NewOf returns a Manager of any discoverers.
func NewOf(logger *slog.Logger, static []*targetgroup.Group, discoverers ...promdiscovery.Discoverer) *Manager {
	m := &Manager{logger: logger, internal: prometheus.NewRegistry(), static: staticGroups(static)}
	for i, d := range discoverers {
		key := fmt.Sprintf("fake_sd_configs[%d]", i)
		m.reports.all = append(m.reports.all, target.Source{Key: key})
		m.sources = append(m.sources, source{key: key, discoverer: d})
	}
	return m
}

// LoggerOf returns the logger of a source of the manager.
func (m *Manager) LoggerOf(i int) *slog.Logger { return m.sourceLogger(i, m.sources[i].key) }
