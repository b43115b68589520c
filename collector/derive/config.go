package derive

import (
	"errors"
	"time"

	"github.com/prometheus/common/model"
)

// Config says over which time the derived series look back.
type Config struct {
	// Window is the time that rates and ratios cover.
	Window model.Duration `yaml:"window"`
}

// DefaultConfig is the configuration of a file that says nothing.
var DefaultConfig = Config{Window: model.Duration(time.Minute)}

// UnmarshalYAML reads the configuration over the defaults.
func (c *Config) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultConfig
	type plain Config
	return unmarshal((*plain)(c))
}

// Validate says which key is wrong and what it may be.
func (c *Config) Validate() error {
	if c.Window <= 0 {
		return errors.New("window: must be longer than 0; the default is 1m")
	}
	return nil
}
