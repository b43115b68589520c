// Package slo owns what a pool promises: the service level objectives of its
// configuration, and what is wrong with them. It must not know servers, pages or
// how requests are counted.
package slo

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
)

// Name is that of an objective, as in the configuration and in label slo.
type Name string

// The objectives that a pool can have.
const (
	// TTFT is the time to the first token, TPOT the mean time between the tokens of
	// a request, ITL the time between two tokens, E2E the time of a whole request.
	TTFT Name = "ttft"
	TPOT Name = "tpot"
	ITL  Name = "itl"
	E2E  Name = "e2e"
	// Availability is that requests do not fail by the server's fault.
	Availability Name = "availability"
)

// Config are the objectives of a pool; what is not set is no objective.
type Config struct {
	TTFT         *Latency `yaml:"ttft,omitempty"`
	TPOT         *Latency `yaml:"tpot,omitempty"`
	ITL          *Latency `yaml:"itl,omitempty"`
	E2E          *Latency `yaml:"e2e,omitempty"`
	Availability *Share   `yaml:"availability,omitempty"`
}

// Latency is an objective of time: a share of the requests takes at most LE.
type Latency struct {
	LE model.Duration `yaml:"le"`
	// Objective is the share, above 0 and below 1.
	Objective float64 `yaml:"objective"`
}

// Share is an objective without time.
type Share struct {
	// Objective is the share of good requests, above 0 and below 1.
	Objective float64 `yaml:"objective"`
}

// Objective is one objective of a pool.
type Objective struct {
	Name Name
	// Within is the time that good requests stay within, 0 for availability.
	Within time.Duration
	// Share is the share of good requests that is promised, above 0 and below 1.
	Share float64
}

// Objectives are those that are set, in one order.
func (c *Config) Objectives() []Objective {
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

// latency is an objective of time by its name.
type latency struct {
	name Name
	of   *Latency
}

// latencies are the objectives of time, nil where they are not set.
func (c *Config) latencies() []latency {
	return []latency{{TTFT, c.TTFT}, {TPOT, c.TPOT}, {ITL, c.ITL}, {E2E, c.E2E}}
}

// Validate says everything that is wrong with the objectives; each error starts
// with the key.
func (c *Config) Validate() error {
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

// checkShare says why a number is no objective: with 1 a single failure would
// have spent more than there is.
func checkShare(name Name, share float64) error {
	if share > 0 && share < 1 {
		return nil
	}
	return fmt.Errorf("%s.objective: %v is not a share between 0 and 1; write 0.95 for 95 %% of the requests", name, share)
}
