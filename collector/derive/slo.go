package derive

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
)

// ObjectiveName is that of an objective, as in the configuration and in label slo.
type ObjectiveName string

// The objectives that a pool can have.
const (
	// TTFT is the time to the first token, TPOT the mean time between the tokens of
	// a request, ITL the time between two tokens, E2E the time of a whole request.
	TTFT ObjectiveName = "ttft"
	TPOT ObjectiveName = "tpot"
	ITL  ObjectiveName = "itl"
	E2E  ObjectiveName = "e2e"
	// Availability is that requests do not fail by the server's fault.
	Availability ObjectiveName = "availability"
)

// SLO are the objectives of a pool; what is not set is no objective.
type SLO struct {
	TTFT         *LatencyObjective `yaml:"ttft,omitempty"`
	TPOT         *LatencyObjective `yaml:"tpot,omitempty"`
	ITL          *LatencyObjective `yaml:"itl,omitempty"`
	E2E          *LatencyObjective `yaml:"e2e,omitempty"`
	Availability *ShareObjective   `yaml:"availability,omitempty"`
}

// LatencyObjective is an objective of time: a share of the requests takes at most LE.
type LatencyObjective struct {
	LE model.Duration `yaml:"le"`
	// Objective is the share, above 0 and below 1.
	Objective float64 `yaml:"objective"`
}

// ShareObjective is an objective without time.
type ShareObjective struct {
	// Objective is the share of good requests, above 0 and below 1.
	Objective float64 `yaml:"objective"`
}

// Objective is one objective of a pool.
type Objective struct {
	Name ObjectiveName
	// Within is the time that good requests stay within, 0 for availability.
	Within time.Duration
	// Share is the share of good requests that is promised, above 0 and below 1.
	Share float64
}

// Objectives are those that are set, in one order.
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

// latency is an objective of time by its name.
type latency struct {
	name ObjectiveName
	of   *LatencyObjective
}

// latencies are the objectives of time, nil where they are not set.
func (c *SLO) latencies() []latency {
	return []latency{{TTFT, c.TTFT}, {TPOT, c.TPOT}, {ITL, c.ITL}, {E2E, c.E2E}}
}

// Validate says everything that is wrong with the objectives; each error starts
// with the key.
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

// checkShare says why a number is no objective: with 1 a single failure would
// have spent more than there is.
func checkShare(name ObjectiveName, share float64) error {
	if share > 0 && share < 1 {
		return nil
	}
	return fmt.Errorf("%s.objective: %v is not a share between 0 and 1; write 0.95 for 95 %% of the requests", name, share)
}
