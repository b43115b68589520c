package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Global holds the settings that pools share.
type Global struct {
	// ScrapeInterval and ScrapeTimeout are the defaults of pools.
	ScrapeInterval model.Duration `yaml:"scrape_interval"`
	ScrapeTimeout  model.Duration `yaml:"scrape_timeout"`
	// Window is the time that rates and ratios cover.
	Window model.Duration `yaml:"window"`
	// StallAfter is how long requests may be in flight without progress before a replica counts
	// as stalled.
	StallAfter model.Duration `yaml:"stall_after"`
	// FailingMin is the number of requests that must fail in a row before a replica counts as
	// failing.
	FailingMin int `yaml:"failing_min"`
}

// DefaultGlobal scrapes every five seconds.
var DefaultGlobal = Global{
	ScrapeInterval: model.Duration(5 * time.Second),
	ScrapeTimeout:  model.Duration(4 * time.Second),
	Window:         model.Duration(derive.DefaultWindow),
	StallAfter:     model.Duration(derive.DefaultStallAfter),
	FailingMin:     derive.DefaultFailingMin,
}

// UnmarshalYAML implements yaml.Unmarshaler. The interval caps the default timeout.
func (c *Global) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultGlobal
	c.ScrapeTimeout = 0
	type plain Global
	if err := unmarshal((*plain)(c)); err != nil {
		return err
	}
	if c.ScrapeTimeout == 0 {
		c.ScrapeTimeout = min(DefaultGlobal.ScrapeTimeout, c.ScrapeInterval)
	}
	return nil
}

// Validate returns an error for each invalid key.
func (c *Global) Validate() error {
	var errs keyErrors
	errs.addIf(c.ScrapeInterval <= 0, "global.scrape_interval: must be longer than 0; the default is 5s")
	errs.addIf(c.ScrapeTimeout < 0, "global.scrape_timeout: must be longer than 0; the default is 4s")
	errs.addIf(c.Window <= 0, "global.window: must be longer than 0; the default is 1m")
	errs.addIf(c.StallAfter <= 0, "global.stall_after: must be longer than 0; the default is 30s")
	errs.addIf(c.FailingMin < 1, "global.failing_min: must be 1 or more; the default is 5")
	errs.addIf(c.ScrapeTimeout > c.ScrapeInterval,
		"global.scrape_timeout: %s is longer than global.scrape_interval %s; lower the timeout or raise "+
			"the interval", c.ScrapeTimeout, c.ScrapeInterval)
	return errors.Join(errs...)
}

// IdentityLabels configures the identity labels.
type IdentityLabels struct {
	// Versions selects where engine_version and trtllm_version are exposed: on every series, on
	// an info metric, or on both.
	Versions relabel.VersionsMode `yaml:"versions"`
}

// DefaultIdentityLabels puts the versions on every series.
var DefaultIdentityLabels = IdentityLabels{Versions: relabel.VersionsSeries}

// Validate returns an error if the key is invalid.
func (c *IdentityLabels) Validate() error {
	switch c.Versions {
	case relabel.VersionsSeries, relabel.VersionsInfo, relabel.VersionsBoth:
		return nil
	}
	return fmt.Errorf(
		"identity.versions: %q is unknown; use %s, %s or %s",
		c.Versions,
		relabel.VersionsSeries,
		relabel.VersionsInfo,
		relabel.VersionsBoth,
	)
}
