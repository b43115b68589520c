package config

import (
	"errors"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Limits limits what one target may send and how much of it is served: the size of a response,
// the size of its series, and the number of series including derived ones.
type Limits struct {
	Page   scrape.Limits     `yaml:",inline"`
	Series exposition.Limits `yaml:",inline"`
	Output Output            `yaml:",inline"`
}

// Output limits how much one target may add to /metrics; 0 means no limit.
type Output struct {
	// Series and Bytes limit the series of the target's page and the series derived from it,
	// including HELP, TYPE and labels.
	Series int         `yaml:"output_series"`
	Bytes  scrape.Size `yaml:"output_bytes"`
	// Models limits the number of models with derived series.
	Models int `yaml:"output_models"`
}

// DefaultLimits are the default limits. The output may have as many series as a response, and a
// quarter more for derived series. Its size is half of the page that vmagent accepts by default
// (16 MiB), and forty times the size for a server with eight models.
var DefaultLimits = Limits{
	Page: scrape.DefaultLimits, Series: exposition.DefaultLimits,
	Output: Output{Series: 70_000, Bytes: 8 << 20, Models: 256},
}

// Derived converts the limits for package derive.
func (o *Output) Derived() derive.Output {
	return derive.Output{Volume: exposition.Volume{Series: o.Series, Bytes: int(o.Bytes)}, Models: o.Models}
}

// validateSeries validates the limits of series. Package scrape validates the limits of the page.
func (c *Limits) validateSeries() error {
	var errs keyErrors
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
		errs.addIf(limit.value < 0, "%s: %d is below 0; give a limit, or 0 for none", limit.key, limit.value)
	}
	return errors.Join(errs...)
}
