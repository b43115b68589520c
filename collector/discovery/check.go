package discovery

import (
	"fmt"
	"log/slog"
	"path/filepath"
)

// Check reports everything that keeps the sources of a validated configuration from
// being built. It needs neither network nor cluster: it skips sources that query the
// cluster in which the exporter runs.
func Check(cfg Config) error {
	_, err := build(cfg, slog.New(slog.DiscardHandler), nil, func(b *block) bool { return !b.inCluster })
	return err
}

// Unmatched lists the patterns of file_sd_configs that match no file now, each with its
// key.
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
