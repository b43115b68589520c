package discovery

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	promdiscovery "github.com/prometheus/prometheus/discovery"
)

// Check says what keeps the sources of a validated configuration from being
// built, all of it. It needs no network, and no cluster: a source that would ask
// the cluster it runs in is not built.
func Check(cfg Config) error {
	var errs []error
	for _, b := range cfg.blocks() {
		if b.inCluster {
			continue
		}
		one := prometheus.NewRegistry()
		refresh := promdiscovery.NewRefreshMetrics(one)
		metrics := b.config.NewDiscovererMetrics(one, refresh)
		if err := errors.Join(refresh.Register(), metrics.Register()); err != nil {
			return fmt.Errorf("%s: registering metrics: %w", b.key, err)
		}
		_, err := b.config.NewDiscoverer(promdiscovery.DiscovererOptions{
			Logger: slog.New(slog.DiscardHandler), Metrics: metrics, SetName: b.key,
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", b.key, err))
		}
	}
	return errors.Join(errs...)
}

// Unmatched are the patterns of file_sd_configs that match no file at the moment,
// each behind its key.
func (c *Config) Unmatched() []string {
	var all []string
	for i, sd := range c.FileSDConfigs {
		for j, pattern := range sd.Files {
			if found, err := filepath.Glob(pattern); err == nil && len(found) == 0 {
				all = append(all, fmt.Sprintf("file_sd_configs[%d].files[%d]: no file matches %s", i, j, pattern))
			}
		}
	}
	return all
}
