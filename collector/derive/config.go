package derive

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// DefaultWindow is the time that rates and ratios cover if nothing else is configured.
const DefaultWindow = time.Minute

// ObjectiveName is the name of an objective in the configuration and in the label slo.
type ObjectiveName string

// Names of objectives.
const (
	// TTFT is the time to the first token, TPOT the mean time per output token of a request, ITL
	// the gap between two tokens, E2E the duration of a request.
	TTFT ObjectiveName = "ttft"
	TPOT ObjectiveName = "tpot"
	ITL  ObjectiveName = "itl"
	E2E  ObjectiveName = "e2e"
	// Availability is the share of requests that do not fail by the server's fault.
	Availability ObjectiveName = "availability"
)

// SLO holds the objectives of a pool. Unset objectives are nil.
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
	// Within is the maximum time of good requests, 0 for availability.
	Within time.Duration
	// Share is the promised share of good requests, above 0 and below 1.
	Share float64
}

// Objectives returns the objectives that are set, in a fixed order.
func (c *SLO) Objectives() []Objective {
	var all []Objective
	for _, l := range []struct {
		name  ObjectiveName
		value *LatencyObjective
	}{{TTFT, c.TTFT}, {TPOT, c.TPOT}, {ITL, c.ITL}, {E2E, c.E2E}} {
		if l.value != nil {
			all = append(all, Objective{l.name, time.Duration(l.value.LE), l.value.Objective})
		}
	}
	if c.Availability != nil {
		all = append(all, Objective{Name: Availability, Share: c.Availability.Objective})
	}
	return all
}

// Validate returns all errors of the objectives, each beginning with its key.
func (c *SLO) Validate() error {
	var errs []error
	for _, o := range c.Objectives() {
		if o.Within <= 0 && o.Name != Availability {
			errs = append(errs, fmt.Errorf("%s.le: is required and longer than 0; write the time that good "+
				"requests stay within, like 2s", o.Name))
		}
		if !(o.Share > 0 && o.Share < 1) { // With 1, a single failure would exceed the error budget.
			errs = append(errs, fmt.Errorf("%s.objective: %v is not a share between 0 and 1; write %s of the requests",
				o.Name, o.Share, shareOf(o.Share)))
		}
	}
	return errors.Join(errs...)
}

// shareOf returns how to write a share that was given in per cent, or an example.
func shareOf(objective float64) string {
	const most = 100
	if !(objective > 1 && objective < most) {
		return "0.95 for 95 %"
	}
	percent := strconv.FormatFloat(objective, 'f', -1, 64)
	_, decimals, _ := strings.Cut(percent, ".")
	return strconv.FormatFloat(objective/most, 'f', len(decimals)+2, 64) + " for " + percent + " %"
}
