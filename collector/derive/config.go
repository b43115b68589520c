package derive

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
)

// Config configures the derived series.
type Config struct {
	// Window is the time that rates and ratios cover.
	Window model.Duration `yaml:"window"`
}

// DefaultConfig is the configuration without keys.
var DefaultConfig = Config{Window: model.Duration(time.Minute)}

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *Config) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultConfig
	type plain Config
	return unmarshal((*plain)(c))
}

// Validate returns an error that names the wrong key and what it may be.
func (c *Config) Validate() error {
	if c.Window <= 0 {
		return errors.New("window: must be longer than 0; the default is 1m")
	}
	return nil
}

// ObjectiveName is the name of an objective in the configuration and in the label slo.
type ObjectiveName string

// The objectives of a pool.
const (
	// TTFT is the time to the first token, TPOT the mean time per output token of a
	// request, ITL the gap between two tokens, E2E the time of a whole request.
	TTFT ObjectiveName = "ttft"
	TPOT ObjectiveName = "tpot"
	ITL  ObjectiveName = "itl"
	E2E  ObjectiveName = "e2e"
	// Availability is the share of requests that do not fail by the server's fault.
	Availability ObjectiveName = "availability"
)

// SLO holds the objectives of a pool; nil ones are not set.
type SLO struct {
	TTFT         *LatencyObjective `yaml:"ttft,omitempty"`
	TPOT         *LatencyObjective `yaml:"tpot,omitempty"`
	ITL          *LatencyObjective `yaml:"itl,omitempty"`
	E2E          *LatencyObjective `yaml:"e2e,omitempty"`
	Availability *ShareObjective   `yaml:"availability,omitempty"`
}

// LatencyObjective promises that a share of the requests takes at most LE.
type LatencyObjective struct {
	LE model.Duration `yaml:"le"`
	// Objective is above 0 and below 1.
	Objective float64 `yaml:"objective"`
}

// ShareObjective promises a share of good requests.
type ShareObjective struct {
	// Objective is above 0 and below 1.
	Objective float64 `yaml:"objective"`
}

// Objective is one objective of a pool.
type Objective struct {
	Name ObjectiveName
	// Within is the time that good requests take at most, 0 for availability.
	Within time.Duration
	// Share is the promised share of good requests, above 0 and below 1.
	Share float64
}

// Objectives returns the objectives that are set, in a fixed order.
func (c *SLO) Objectives() []Objective {
	var all []Objective
	for _, l := range c.latencies() {
		if l.of != nil {
			all = append(all, Objective{l.name, time.Duration(l.of.LE), l.of.Objective})
		}
	}
	if c.Availability != nil {
		all = append(all, Objective{Name: Availability, Share: c.Availability.Objective})
	}
	return all
}

type latency struct {
	name ObjectiveName
	of   *LatencyObjective
}

// latencies returns all latency objectives, including nil ones.
func (c *SLO) latencies() []latency {
	return []latency{{TTFT, c.TTFT}, {TPOT, c.TPOT}, {ITL, c.ITL}, {E2E, c.E2E}}
}

// Validate returns everything that is wrong with the objectives; each error names its
// key.
func (c *SLO) Validate() error {
	var errs []error
	for _, l := range c.latencies() {
		if l.of == nil {
			continue
		}
		if l.of.LE <= 0 {
			errs = append(errs, fmt.Errorf("%s.le: is required and longer than 0; write the time that good requests stay within, like 2s", l.name))
		}
		errs = append(errs, checkShare(l.name, l.of.Objective))
	}
	if c.Availability != nil {
		errs = append(errs, checkShare(Availability, c.Availability.Objective))
	}
	return errors.Join(errs...)
}

// checkShare checks the share of an objective. With 1, a single failure would exceed
// the error budget.
func checkShare(name ObjectiveName, share float64) error {
	if share > 0 && share < 1 {
		return nil
	}
	return fmt.Errorf("%s.objective: %v is not a share between 0 and 1; write 0.95 for 95 %% of the requests", name, share)
}
