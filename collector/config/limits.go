package config

import (
	"errors"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Limits bound what one target may send and what of it may be on our page: how
// large a response may be, how large the series on it, and how many they and
// those derived from them.
type Limits struct {
	Page   scrape.Limits     `yaml:",inline"`
	Series exposition.Limits `yaml:",inline"`
	Output Output            `yaml:",inline"`
}

// Output bounds what one target may add to /metrics; 0 is no bound.
type Output struct {
	// Series and Bytes bound the series of its page and those derived from it,
	// heads and labels included.
	Series int         `yaml:"output_series"`
	Bytes  scrape.Size `yaml:"output_bytes"`
	// Models bounds the models that have derived series.
	Models int `yaml:"output_models"`
}

// DefaultLimits are on unless a pool says otherwise. The output has room for as
// many series as a response may have and a quarter for those derived; its bytes
// are half of the page that vmagent accepts by default (16 MiB), and forty
// times what a server of eight models takes.
var DefaultLimits = Limits{
	Page: scrape.DefaultLimits, Series: exposition.DefaultLimits,
	Output: Output{Series: 70_000, Bytes: 8 << 20, Models: 256},
}

// Budget is the bound as the rooms take it.
func (o *Output) Budget() derive.Budget {
	return derive.Budget{Budget: exposition.Budget{Series: o.Series, Bytes: int(o.Bytes)}, Models: o.Models}
}

// validateSeries says which limits of series are wrong; those of the page are
// checked by package scrape.
func (c *Limits) validateSeries() error {
	var errs faults
	for _, limit := range []struct {
		key   string
		value int
	}{
		{"samples", c.Series.Samples},
		{"labels", c.Series.Labels},
		{"label_name", c.Series.LabelName},
		{"label_value", c.Series.LabelValue},
		{"name", c.Series.Name},
		{"help", c.Series.Help},
		{"output_series", c.Output.Series},
		{"output_models", c.Output.Models},
	} {
		errs.when(limit.value < 0, "%s: %d is below 0; give a limit, or 0 for none", limit.key, limit.value)
	}
	return errors.Join(errs...)
}
