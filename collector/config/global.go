package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Global holds what pools share.
type Global struct {
	// ScrapeInterval and ScrapeTimeout apply to the pools that set none.
	ScrapeInterval model.Duration `yaml:"scrape_interval"`
	ScrapeTimeout  model.Duration `yaml:"scrape_timeout"`
	// Derive holds the key window.
	Derive derive.Config `yaml:",inline"`
	// StallAfter is how long work may be in flight without an iteration before
	// a replica counts as stalled.
	StallAfter model.Duration `yaml:"stall_after"`
	// FailingMin is how many requests must fail, and none succeed, before a replica
	// counts as failing.
	FailingMin int `yaml:"failing_min"`
}

// DefaultGlobal scrapes every five seconds.
var DefaultGlobal = Global{
	ScrapeInterval: model.Duration(5 * time.Second),
	ScrapeTimeout:  model.Duration(4 * time.Second),
	Derive:         derive.DefaultConfig,
	StallAfter:     model.Duration(derive.DefaultStallAfter),
	FailingMin:     derive.DefaultFailingMin,
}

// UnmarshalYAML reads the configuration over the defaults. An interval that is
// shorter than the default timeout lowers the timeout to the interval.
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

// Validate says which keys are wrong and what they may be.
func (c *Global) Validate() error {
	var errs faults
	errs.when(c.ScrapeInterval <= 0, "global.scrape_interval: must be longer than 0; the default is 5s")
	errs.when(c.ScrapeTimeout < 0, "global.scrape_timeout: must be longer than 0; the default is 4s")
	errs = append(errs, prefixed("global.", c.Derive.Validate()))
	errs.when(c.StallAfter <= 0, "global.stall_after: must be longer than 0; the default is 30s")
	errs.when(c.FailingMin < 1, "global.failing_min: must be 1 or more; the default is 5")
	errs.when(c.ScrapeTimeout > c.ScrapeInterval,
		"global.scrape_timeout: %s is longer than global.scrape_interval %s; lower the timeout or raise the interval", c.ScrapeTimeout, c.ScrapeInterval)
	return errors.Join(errs...)
}

// Identity says how the identity of a replica is written.
type Identity struct {
	// Versions puts engine_version and trtllm_version on every series, on an
	// info metric only, or on both.
	Versions relabel.VersionsMode `yaml:"versions"`
}

// DefaultIdentity puts the versions on every series.
var DefaultIdentity = Identity{Versions: relabel.VersionsSeries}

// Validate says which key is wrong and what it may be.
func (c *Identity) Validate() error {
	switch c.Versions {
	case relabel.VersionsSeries, relabel.VersionsInfo, relabel.VersionsBoth:
		return nil
	}
	return fmt.Errorf("identity.versions: %q is unknown; use %s, %s or %s", c.Versions, relabel.VersionsSeries, relabel.VersionsInfo, relabel.VersionsBoth)
}
