package collector

import (
	"log/slog"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// AffectedByPool returns everything that the keys of a pool affect: the settings of its replicas,
// a target with these labels, the series about the pool, and its client and discovery.
func (c *Collector) AffectedByPool(cfg *config.File, pc *config.Pool, lset model.LabelSet) []any {
	shared := c.shared(cfg, pc, nil)
	shared.Panicked = nil // No function equals another.
	found, _ := targetsOf(
		pc, config.DefaultSharding, []*targetgroup.Group{{Targets: []model.LabelSet{lset}}}, c.opts.Logger,
	)
	return []any{*shared, found, poolConfigSeries(pc), poolCostSeries(pc, 1), pc.HTTP, pc.Discovery}
}

// UseScraper sets the client of pools that are built from now on.
func (c *Collector) UseScraper(s scrape.Scraper) {
	c.newScraper = func(scrape.Config, *slog.Logger) (scrape.Scraper, error) { return s, nil }
}

// UseScrapers sets a function that returns the client of each pool.
func (c *Collector) UseScrapers(next func() scrape.Scraper) {
	c.newScraper = func(scrape.Config, *slog.Logger) (scrape.Scraper, error) { return next(), nil }
}

// SetGrace sets how long replicas wait for sources that have not answered.
func (c *Collector) SetGrace(d time.Duration) { c.grace = d }
