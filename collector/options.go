package collector

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// Config says which replicas are scraped, how often and under which names.
type Config struct {
	Global   GlobalConfig   `yaml:"global"`
	Identity IdentityConfig `yaml:"identity"`
	Sharding ShardingConfig `yaml:"sharding"`
	Pools    []PoolConfig   `yaml:"pools"`
}

// DefaultConfig is the configuration of a file that says nothing.
var DefaultConfig = Config{Global: DefaultGlobalConfig, Identity: DefaultIdentityConfig, Sharding: DefaultShardingConfig}

// GlobalConfig holds what pools share.
type GlobalConfig struct {
	// ScrapeInterval and ScrapeTimeout apply to the pools that set none.
	ScrapeInterval model.Duration `yaml:"scrape_interval"`
	ScrapeTimeout  model.Duration `yaml:"scrape_timeout"`
	// Derive holds the key window.
	Derive derive.Config `yaml:",inline"`
	// StallAfter is how long work may be in flight without an iteration before
	// a replica counts as stalled.
	StallAfter model.Duration `yaml:"stall_after"`
}

// DefaultGlobalConfig scrapes every five seconds.
var DefaultGlobalConfig = GlobalConfig{
	ScrapeInterval: model.Duration(5 * time.Second),
	ScrapeTimeout:  model.Duration(4 * time.Second),
	Derive:         derive.DefaultConfig,
	StallAfter:     model.Duration(derive.DefaultStallAfter),
}

// UnmarshalYAML reads the configuration over the defaults. An interval that is
// shorter than the default timeout takes the timeout down with it.
func (c *GlobalConfig) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultGlobalConfig
	c.ScrapeTimeout = 0
	type plain GlobalConfig
	if err := unmarshal((*plain)(c)); err != nil {
		return err
	}
	if c.ScrapeTimeout == 0 {
		c.ScrapeTimeout = min(DefaultGlobalConfig.ScrapeTimeout, c.ScrapeInterval)
	}
	return nil
}

// Validate says which keys are wrong and what they may be.
func (c *GlobalConfig) Validate() error {
	var errs []error
	if c.ScrapeInterval <= 0 {
		errs = append(errs, errors.New("global.scrape_interval: must be longer than 0; the default is 5s"))
	}
	if c.ScrapeTimeout < 0 {
		errs = append(errs, errors.New("global.scrape_timeout: must be longer than 0; the default is 4s"))
	}
	if err := c.Derive.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("global.%w", err))
	}
	if c.StallAfter <= 0 {
		errs = append(errs, errors.New("global.stall_after: must be longer than 0; the default is 30s"))
	}
	if c.ScrapeTimeout > c.ScrapeInterval {
		errs = append(errs, fmt.Errorf("global.scrape_timeout: %s is longer than global.scrape_interval %s; lower the timeout or raise the interval", c.ScrapeTimeout, c.ScrapeInterval))
	}
	return errors.Join(errs...)
}

// Where the versions of a replica are put on the page.
const (
	VersionsSeries = string(relabel.VersionsSeries)
	VersionsInfo   = string(relabel.VersionsInfo)
	VersionsBoth   = string(relabel.VersionsBoth)
)

// IdentityConfig says how the identity of a replica is written.
type IdentityConfig struct {
	// Versions puts engine_version and trtllm_version on every series, on an
	// info metric only, or on both.
	Versions string `yaml:"versions"`
}

// DefaultIdentityConfig puts the versions on every series.
var DefaultIdentityConfig = IdentityConfig{Versions: VersionsSeries}

// UnmarshalYAML reads the configuration over the defaults.
func (c *IdentityConfig) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultIdentityConfig
	type plain IdentityConfig
	return unmarshal((*plain)(c))
}

// Validate says which key is wrong and what it may be.
func (c *IdentityConfig) Validate() error {
	switch c.Versions {
	case VersionsSeries, VersionsInfo, VersionsBoth:
		return nil
	}
	return fmt.Errorf("identity.versions: %q is unknown; use %s, %s or %s", c.Versions, VersionsSeries, VersionsInfo, VersionsBoth)
}

// LimitsConfig bounds what one target may send; a limit of 0 is none.
type LimitsConfig struct {
	Page   scrape.Limits     `yaml:",inline"`
	Series exposition.Limits `yaml:",inline"`
}

// DefaultLimitsConfig is on unless a pool says otherwise.
var DefaultLimitsConfig = LimitsConfig{Page: scrape.DefaultLimits, Series: exposition.DefaultLimits}

// UnmarshalYAML reads the limits over the defaults.
func (c *LimitsConfig) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultLimitsConfig
	type plain LimitsConfig
	return unmarshal((*plain)(c))
}

// validateSeries says which limits of series are wrong; those of the page belong
// to room scrape.
func (c *LimitsConfig) validateSeries() error {
	var errs []error
	for _, limit := range []struct {
		key   string
		value int
	}{
		{"samples", c.Series.Samples},
		{"labels", c.Series.Labels},
		{"label_name", c.Series.LabelName},
		{"label_value", c.Series.LabelValue},
	} {
		if limit.value < 0 {
			errs = append(errs, fmt.Errorf("%s: %d is below 0; give a limit, or 0 for none", limit.key, limit.value))
		}
	}
	return errors.Join(errs...)
}

// Resolve gives every pool the interval and timeout that it does not set
// itself. Call it once, after decoding and before Validate.
func (c *Config) Resolve() {
	for i := range c.Pools {
		c.Pools[i].resolve(&c.Global)
	}
}

// SetDirectory puts dir in front of the relative file names of every pool.
func (c *Config) SetDirectory(dir string) {
	for i := range c.Pools {
		c.Pools[i].SetDirectory(dir)
	}
}

// Validate says everything that is wrong with the pools and between them; each
// error begins with the path of its key.
func (c *Config) Validate() error {
	errs := []error{c.Global.Validate(), c.Identity.Validate(), c.Sharding.Validate()}
	if len(c.Pools) == 0 {
		errs = append(errs, errors.New("pools: there is none, so nothing would be scraped; add one with pool_id and static_configs"))
	}
	ids := map[string]int{}
	for i := range c.Pools {
		pool := &c.Pools[i]
		path := fmt.Sprintf("pools[%d]", i)
		if err := pool.Validate(); err != nil {
			errs = append(errs, prefixed(path+".", err))
		}
		if first, taken := ids[pool.PoolID]; taken && pool.PoolID != "" {
			errs = append(errs, fmt.Errorf("%s.pool_id: %q is taken by pools[%d]; give each pool its own name", path, pool.PoolID, first))
			continue
		}
		ids[pool.PoolID] = i
	}
	return errors.Join(append(errs, c.validateWindow())...)
}

// validateWindow asks for two scrapes of the slowest pool within the window,
// for one alone gives no rate.
func (c *Config) validateWindow() error {
	window, slowest := c.Global.Derive.Window, 0
	for i := range c.Pools {
		if c.Pools[i].ScrapeInterval > c.Pools[slowest].ScrapeInterval {
			slowest = i
		}
	}
	if window <= 0 || len(c.Pools) == 0 || window >= 2*c.Pools[slowest].ScrapeInterval {
		return nil
	}
	interval := c.Pools[slowest].ScrapeInterval
	return fmt.Errorf("global.window: %s is shorter than two scrape intervals of pools[%d] (%s); set window to %s or more", window, slowest, interval, 2*interval)
}

// prefixed puts a path in front of every error of a joined error.
func prefixed(path string, err error) error {
	joined, many := err.(interface{ Unwrap() []error })
	if !many {
		return fmt.Errorf("%s%w", path, err)
	}
	errs := make([]error, 0, len(joined.Unwrap()))
	for _, one := range joined.Unwrap() {
		errs = append(errs, prefixed(path, one))
	}
	return errors.Join(errs...)
}
