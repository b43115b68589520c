package exposition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Config configures what /metrics contains and how it is written.
type Config struct {
	// Raw says which of the servers' own series are exposed.
	Raw Raw `yaml:"raw"`
	// Normalised says which groups of the llm_server_* series are exposed.
	Normalised Groups `yaml:"normalised"`
	// WindowGauges exposes the gauges over a window that a query could compute from
	// other series of the page.
	WindowGauges bool `yaml:"window_gauges"`
	// Aliases lists the vocabularies in which normalised values are repeated.
	Aliases []string `yaml:"aliases,omitempty"`
	// PageMaxAge is how long an encoded page is served to other clients.
	PageMaxAge model.Duration `yaml:"page_max_age"`
}

// DefaultConfig is the default configuration.
var DefaultConfig = Config{
	Raw:          RawAll,
	Normalised:   EveryGroup(),
	WindowGauges: true,
	PageMaxAge:   model.Duration(100 * time.Millisecond),
}

// Off returns the groups whose series are not exposed, if some others are. What the exporter itself knows of
// replicas and pools is exposed without any group, too.
func (c *Config) Off() Groups {
	if c.Normalised == 0 {
		return 0
	}
	return EveryGroup().Without(c.Normalised)
}

// AliasSets returns the allowed values of Config.Aliases.
func AliasSets() []string { return []string{"otel", "trtllm", "vllm"} }

// Validate returns all errors, each beginning with its key.
func (c *Config) Validate() error {
	var errs []error
	for i, name := range c.Aliases {
		switch {
		case !slices.Contains(AliasSets(), name):
			errs = append(errs, fmt.Errorf("exposition.aliases[%d]: unknown set %q; use %s", i, name,
				strings.Join(AliasSets(), ", ")))
		case slices.Contains(c.Aliases[:i], name):
			errs = append(errs, fmt.Errorf("exposition.aliases[%d]: %q is listed twice; name each set once", i, name))
		}
	}
	switch {
	case c.Raw == RawUnmapped && c.Normalised == 0:
		errs = append(errs, errors.New("exposition.raw: unmapped leaves out what llm_server_* has, and normalised is "+
			"off; turn that on, or set raw to true"))
	case c.Raw == RawUnmapped && len(c.Aliases) > 0:
		errs = append(errs, errors.New("exposition.raw: unmapped leaves out what llm_server_* has, and aliases add it "+
			"again; leave aliases out, or set raw to true"))
	case c.Raw == RawNone && c.Normalised == 0 && len(c.Aliases) == 0:
		errs = append(errs, errors.New("exposition: raw, normalised and aliases are all off, /metrics would be "+
			"empty; turn one on"))
	}
	return errors.Join(errs...)
}
