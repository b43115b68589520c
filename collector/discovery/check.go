package discovery

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// Check returns all errors that keep the sources of a validated configuration from being built.
// It uses neither network nor cluster, and skips sources that query the cluster in which the
// exporter runs.
func Check(cfg Config) error {
	_, err := build(cfg, new(secret.Store), slog.New(slog.DiscardHandler), func(b *block) bool { return !b.inCluster })
	return err
}

// Unmatched returns the patterns of file_sd_configs that currently match no file, with their keys.
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
