package collector

import (
	"log/slog"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Handed is what the keys of a pool reach: what its replicas have in common, a target
// with these labels, what is promised of the pool, and how servers are found and asked.
func (c *Collector) Handed(cfg *config.File, pc *config.Pool, lset model.LabelSet) []any {
	shared := c.shared(cfg, pc, nil)
	shared.Panicked = nil // No function equals another.
	found, _ := targetsOf(pc, shard{Total: 1}, []*targetgroup.Group{{Targets: []model.LabelSet{lset}}}, c.opts.Logger)
	return []any{*shared, found, promises(pc), pc.HTTP, pc.Discovery}
}

// UseScraper has every pool built from now on ask through s.
func (c *Collector) UseScraper(s scrape.Scraper) {
	c.scraper = func(scrape.Config, *slog.Logger) (scrape.Scraper, error) { return s, nil }
}

// UseScrapers has every pool built from now on ask through one of its own.
func (c *Collector) UseScrapers(next func() scrape.Scraper) {
	c.scraper = func(scrape.Config, *slog.Logger) (scrape.Scraper, error) { return next(), nil }
}

// SetGrace sets how long replicas wait for sources that have not answered.
func (c *Collector) SetGrace(d time.Duration) { c.grace = d }
