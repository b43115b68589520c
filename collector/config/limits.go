package config

import (
	"errors"
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Limits bounds what one target may send; a limit of 0 is none.
type Limits struct {
	Page   scrape.Limits     `yaml:",inline"`
	Series exposition.Limits `yaml:",inline"`
}

// DefaultLimits is on unless a pool says otherwise.
var DefaultLimits = Limits{Page: scrape.DefaultLimits, Series: exposition.DefaultLimits}

// UnmarshalYAML reads the limits over the defaults.
func (c *Limits) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultLimits
	type plain Limits
	return unmarshal((*plain)(c))
}

// validateSeries says which limits of series are wrong; those of the page are
// checked by package scrape.
func (c *Limits) validateSeries() error {
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
