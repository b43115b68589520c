package exposition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Limits bound one page of a target; a zero field is no limit.
type Limits struct {
	// Samples is the most samples a page may have.
	Samples int `yaml:"samples"`
	// Labels is the most labels a series may have, the name not counted.
	Labels int `yaml:"labels"`
	// LabelName and LabelValue are the most bytes of a label's name and value.
	LabelName  int `yaml:"label_name"`
	LabelValue int `yaml:"label_value"`
	// Name is the most bytes of a metric's name.
	Name int `yaml:"name"`
	// Help is the most bytes of a family's HELP; what is longer is clipped.
	Help int `yaml:"help"`
	// Output is what the series may take of our page: the largest families are
	// left out until the others fit.
	Output Budget `yaml:"-"`
}

// DefaultLimits are on unless a pool says otherwise.
var DefaultLimits = Limits{Samples: 50_000, Labels: 64, LabelName: 256, LabelValue: 4096, Name: 256, Help: 1024}

// Config says what the page of the exporter holds and how it is written.
type Config struct {
	// Raw keeps the servers' own series on the page.
	Raw bool `yaml:"raw"`
	// Normalised adds the llm_server_* series.
	Normalised bool `yaml:"normalised"`
	// WindowGauges keeps the gauges over a window that a query computes from other
	// series of the page.
	WindowGauges bool `yaml:"window_gauges"`
	// Aliases are the vocabularies whose names repeat normalised values.
	Aliases []string `yaml:"aliases,omitempty"`
	// OpenMetrics lets a client that prefers OpenMetrics have it although it
	// takes text too; counters without _total lose their type there.
	OpenMetrics bool `yaml:"openmetrics"`
	// PageMaxAge is how long one encoded page serves further readers.
	PageMaxAge model.Duration `yaml:"page_max_age"`
}

// DefaultConfig is the configuration of a file that says nothing.
var DefaultConfig = Config{Raw: true, Normalised: true, WindowGauges: true, PageMaxAge: model.Duration(100 * time.Millisecond)}

// AliasSets are the vocabularies that Config.Aliases may name.
func AliasSets() []string { return []string{"otel", "trtllm", "vllm"} }

// UnmarshalYAML reads the configuration over the defaults.
func (c *Config) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultConfig
	type plain Config
	return unmarshal((*plain)(c))
}

// Validate says which key is wrong and what it may be.
func (c *Config) Validate() error {
	for i, name := range c.Aliases {
		if !slices.Contains(AliasSets(), name) {
			return fmt.Errorf("exposition.aliases[%d]: unknown set %q; use %s", i, name, strings.Join(AliasSets(), ", "))
		}
		if slices.Contains(c.Aliases[:i], name) {
			return fmt.Errorf("exposition.aliases[%d]: %q is listed twice; name each set once", i, name)
		}
	}
	if !c.Raw && !c.Normalised && len(c.Aliases) == 0 {
		return errors.New("exposition: raw, normalised and aliases are all off, /metrics would be empty; turn one on")
	}
	return nil
}
