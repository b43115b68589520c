package collector

import (
	"log/slog"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// UseScraper has every pool built from now on ask through s.
func (c *Collector) UseScraper(s Scraper) {
	c.scraper = func(scrape.Config, *slog.Logger) (Scraper, error) { return s, nil }
}

// UseScrapers has every pool built from now on ask through one of its own.
func (c *Collector) UseScrapers(next func() Scraper) {
	c.scraper = func(scrape.Config, *slog.Logger) (Scraper, error) { return next(), nil }
}

// SetGrace sets how long replicas wait for sources that have not answered.
func (c *Collector) SetGrace(d time.Duration) { c.grace = d }
