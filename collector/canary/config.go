package canary

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/common/model"
)

// The endpoints of servers with OpenAI's API.
const (
	EndpointChat        = "chat"
	EndpointCompletions = "completions"
)

const (
	// shortestInterval keeps the canary's share of a server's own numbers small.
	shortestInterval = 10 * time.Second
	// mostTokens and longestPrompt keep the canary small compared with real
	// requests.
	mostTokens    = 64
	longestPrompt = 4096
	// leastCancelTokens take longer than a client takes to leave, mostCancelTokens
	// bound what a server does in vain that goes on.
	leastCancelTokens = 16
	mostCancelTokens  = 16384
)

// Config holds whether and how the replicas of a pool get requests of the canary.
type Config struct {
	// Enabled turns the canary on; nothing is sent without it.
	Enabled bool `yaml:"enabled"`
	// Confirm sends a request of one token when work seems to stand still, whether the
	// canary is enabled or not, and no more than one in [ConfirmEvery].
	Confirm bool `yaml:"confirm"`
	// Interval is the time between two requests to one replica.
	Interval model.Duration `yaml:"interval"`
	// Timeout bounds a whole request; FirstTokenTimeout the wait for the first
	// token, GapTimeout that for the next, EndTimeout that for the end of the
	// stream once all tokens are there.
	Timeout           model.Duration `yaml:"timeout"`
	FirstTokenTimeout model.Duration `yaml:"first_token_timeout"`
	GapTimeout        model.Duration `yaml:"gap_timeout"`
	EndTimeout        model.Duration `yaml:"end_timeout"`
	// Model is the server's name of the model to ask; the entry model if empty.
	Model string `yaml:"model,omitempty"`
	// Prompt is what the model is asked, MaxTokens how long it may answer.
	Prompt    string `yaml:"prompt"`
	MaxTokens int    `yaml:"max_tokens"`
	// Endpoint is where servers with OpenAI's API are asked.
	Endpoint string `yaml:"endpoint"`
	// CancelWithin is the time in which a server has to be free of a request whose
	// client left, which is then tried after each good request; 0 leaves it out.
	// CancelTokens is how long that request would be.
	CancelWithin model.Duration `yaml:"cancel_within"`
	CancelTokens int            `yaml:"cancel_tokens"`
}

// DefaultConfig sends nothing.
var DefaultConfig = Config{
	Interval:          model.Duration(time.Minute),
	Timeout:           model.Duration(30 * time.Second),
	FirstTokenTimeout: model.Duration(10 * time.Second),
	GapTimeout:        model.Duration(5 * time.Second),
	EndTimeout:        model.Duration(5 * time.Second),
	// A text that every model continues, so that the answer does not end at once.
	Prompt:    "Count in words from one to fifty: one, two, three,",
	MaxTokens: 8,
	Endpoint:  EndpointChat,
	// Ten seconds at 100 tokens a second; a server that stops makes a part of them.
	CancelTokens: 1024,
}

// UnmarshalYAML reads the configuration over the defaults. An interval that is
// shorter than the default timeouts lowers them, and so does a timeout those of
// the stages.
func (c *Config) UnmarshalYAML(unmarshal func(any) error) error {
	*c = DefaultConfig
	c.Timeout, c.FirstTokenTimeout, c.GapTimeout, c.EndTimeout = 0, 0, 0, 0
	type plain Config
	if err := unmarshal((*plain)(c)); err != nil {
		return err
	}
	c.Timeout = cmp.Or(c.Timeout, min(DefaultConfig.Timeout, c.Interval))
	for _, s := range c.stages() {
		*s.timeout = cmp.Or(*s.timeout, min(s.standard, c.Timeout))
	}
	return nil
}

// stage is a part of a request that has a timeout of its own.
type stage struct {
	key      string
	timeout  *model.Duration
	standard model.Duration
}

// stages lists the stages of a request in order.
func (c *Config) stages() []stage {
	return []stage{
		{"first_token_timeout", &c.FirstTokenTimeout, DefaultConfig.FirstTokenTimeout},
		{"gap_timeout", &c.GapTimeout, DefaultConfig.GapTimeout},
		{"end_timeout", &c.EndTimeout, DefaultConfig.EndTimeout},
	}
}

// Validate says which keys are wrong and what they may be.
func (c *Config) Validate() error {
	var errs []error
	when := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	when(time.Duration(c.Interval) < shortestInterval, "interval: %s is too short, the canary counts in the server's own metrics; use %s or more", c.Interval, model.Duration(shortestInterval))
	when(c.Timeout <= 0, "timeout: must be longer than 0; the default is %s", DefaultConfig.Timeout)
	when(c.Timeout > c.Interval, "timeout: %s is longer than interval %s; lower the timeout or raise the interval", c.Timeout, c.Interval)
	for _, s := range c.stages() {
		when(*s.timeout <= 0, "%s: must be longer than 0; the default is %s", s.key, s.standard)
		when(*s.timeout > c.Timeout && c.Timeout > 0, "%s: %s is longer than timeout %s, which bounds the whole request; lower it or raise the timeout", s.key, *s.timeout, c.Timeout)
	}
	when(strings.ContainsFunc(c.Model, unicode.IsControl) || strings.TrimSpace(c.Model) != c.Model,
		"model: %q has control characters, or spaces at its start or end; write the name as the server lists it", c.Model)
	blank, readable := strings.TrimSpace(c.Prompt) == "", utf8.ValidString(c.Prompt)
	when(blank, "prompt: is empty; leave it out to use the default, or give a text")
	when(!readable, "prompt: is not valid UTF-8; write it in UTF-8")
	when(!blank && readable && len(c.Prompt) > longestPrompt, "prompt: has %d bytes, more than the canary should cost; use %d or fewer", len(c.Prompt), longestPrompt)
	when(c.MaxTokens < 1 || c.MaxTokens > mostTokens, "max_tokens: %d is outside 1 to %d; the default is %d", c.MaxTokens, mostTokens, DefaultConfig.MaxTokens)
	// Two waits, for it to be seen and to be gone, and the requests before and after.
	longest := c.Interval / 4
	when(c.CancelWithin < 0 || c.CancelWithin > longest, "cancel_within: %s is outside 0 to %s, a fourth of interval; lower it or raise the interval", c.CancelWithin, longest)
	when(c.CancelTokens < leastCancelTokens || c.CancelTokens > mostCancelTokens, "cancel_tokens: %d is outside %d to %d; the default is %d", c.CancelTokens, leastCancelTokens, mostCancelTokens, DefaultConfig.CancelTokens)
	when(c.Endpoint != EndpointChat && c.Endpoint != EndpointCompletions, "endpoint: %q is unknown; use %s or %s", c.Endpoint, EndpointChat, EndpointCompletions)
	return errors.Join(errs...)
}
