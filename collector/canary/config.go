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

// Endpoints of servers with OpenAI's API.
const (
	EndpointChat        = "chat"
	EndpointCompletions = "completions"
)

const (
	// minInterval keeps the influence of the canary on the server's metrics small.
	minInterval = 10 * time.Second
	// maxTokens and maxPrompt keep canary requests small compared to real ones.
	maxTokens = 64
	maxPrompt = 4096
	// minCancelTokens take longer to generate than it takes to cancel the request.
	minCancelTokens = 16
	maxCancelTokens = 16384
)

// Config configures the canary requests to the replicas of a pool.
type Config struct {
	Enabled bool `yaml:"enabled"`
	// Confirm asks a suspected replica, even if the canary is not enabled, at most once per
	// [ConfirmEvery], see [Config.Confirms].
	Confirm bool `yaml:"confirm"`
	// Interval is the time between two requests to a replica. Timeout limits the complete
	// request, FirstTokenTimeout the wait for the first token, GapTimeout the wait for the next,
	// EndTimeout the wait for the end of the stream after the last token.
	Interval          model.Duration `yaml:"interval"`
	Timeout           model.Duration `yaml:"timeout"`
	FirstTokenTimeout model.Duration `yaml:"first_token_timeout"`
	GapTimeout        model.Duration `yaml:"gap_timeout"`
	EndTimeout        model.Duration `yaml:"end_timeout"`
	// Model is the server's name of the model to query; it defaults to the entry model.
	Model string `yaml:"model,omitempty"`
	// Prompt is the text of the request, MaxTokens limits its answer, and Endpoint selects
	// the endpoint of servers with OpenAI's API.
	Prompt    string `yaml:"prompt"`
	MaxTokens int    `yaml:"max_tokens"`
	Endpoint  string `yaml:"endpoint"`
	// CancelWithin is the time within which a server must stop a request whose client
	// disconnected; 0 disables that check. CancelTokens limits the answer to its request.
	CancelWithin model.Duration `yaml:"cancel_within"`
	CancelTokens int            `yaml:"cancel_tokens"`
}

// Asks reports whether a suspected replica may be asked.
func (c *Config) Asks() bool { return c.Enabled || c.Confirm }

// AsksAlike reports whether both configurations send the same requests and judge them alike, however often.
func (c Config) AsksAlike(o Config) bool {
	for _, each := range []*Config{&c, &o} {
		each.Enabled, each.Confirm, each.Interval, each.CancelWithin, each.CancelTokens = false, false, 0, 0, 0
	}
	return c == o
}

// DefaultConfig is the default configuration, in which the canary is disabled.
var DefaultConfig = Config{
	Interval:          model.Duration(time.Minute),
	Timeout:           model.Duration(30 * time.Second),
	FirstTokenTimeout: model.Duration(10 * time.Second),
	GapTimeout:        model.Duration(5 * time.Second),
	EndTimeout:        model.Duration(5 * time.Second),
	// Every model continues this text, so the answer does not end immediately.
	Prompt:    "Count in words from one to fifty: one, two, three,",
	MaxTokens: 8,
	Endpoint:  EndpointChat,
	// Ten seconds at 100 tokens per second; a server that cancels generates fewer.
	CancelTokens: 1024,
}

// UnmarshalYAML implements yaml.Unmarshaler. The interval caps the default timeout, and the
// timeout caps the timeouts of the stages.
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

type stage struct {
	key      string
	timeout  *model.Duration
	standard model.Duration
}

func (c *Config) stages() []stage {
	return []stage{
		{"first_token_timeout", &c.FirstTokenTimeout, DefaultConfig.FirstTokenTimeout},
		{"gap_timeout", &c.GapTimeout, DefaultConfig.GapTimeout},
		{"end_timeout", &c.EndTimeout, DefaultConfig.EndTimeout},
	}
}

// Validate returns all errors, each beginning with its key.
func (c *Config) Validate() error {
	var errs []error
	check := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(time.Duration(c.Interval) < minInterval, "interval: %s is too short, the canary counts in the server's "+
		"own metrics; use %s or more", c.Interval, model.Duration(minInterval))
	check(c.Timeout <= 0, "timeout: must be longer than 0; the default is %s", DefaultConfig.Timeout)
	check(c.Timeout > c.Interval, "timeout: %s is longer than interval %s; lower the timeout or raise "+
		"the interval", c.Timeout, c.Interval)
	for _, s := range c.stages() {
		check(*s.timeout <= 0, "%s: must be longer than 0; the default is %s", s.key, s.standard)
		check(*s.timeout > c.Timeout && c.Timeout > 0, "%s: %s is longer than timeout %s, which bounds the whole "+
			"request; lower it or raise the timeout", s.key, *s.timeout, c.Timeout)
	}
	check(strings.ContainsFunc(c.Model, unicode.IsControl) || strings.TrimSpace(c.Model) != c.Model,
		"model: %q has control characters, or spaces at its start or end; write the name as the "+
			"server lists it", c.Model)
	blank, valid := strings.TrimSpace(c.Prompt) == "", utf8.ValidString(c.Prompt)
	check(blank, "prompt: is empty; leave it out to use the default, or give a text")
	check(!valid, "prompt: is not valid UTF-8; write it in UTF-8")
	check(!blank && valid && len(c.Prompt) > maxPrompt, "prompt: has %d bytes, more than the canary should cost; "+
		"use %d or fewer", len(c.Prompt), maxPrompt)
	check(
		c.MaxTokens < 1 || c.MaxTokens > maxTokens,
		"max_tokens: %d is outside 1 to %d; the default is %d",
		c.MaxTokens,
		maxTokens,
		DefaultConfig.MaxTokens,
	)
	// A check waits twice as long, and sends requests before and after that.
	maxWithin := c.Interval / 4
	check(c.CancelWithin < 0 || c.CancelWithin > maxWithin, "cancel_within: %s is outside 0 to %s, a fourth of "+
		"interval; lower it or raise the interval", c.CancelWithin, maxWithin)
	check(
		c.CancelTokens < minCancelTokens || c.CancelTokens > maxCancelTokens,
		"cancel_tokens: %d is outside %d to %d; the default is %d",
		c.CancelTokens,
		minCancelTokens,
		maxCancelTokens,
		DefaultConfig.CancelTokens,
	)
	check(
		c.Endpoint != EndpointChat && c.Endpoint != EndpointCompletions,
		"endpoint: %q is unknown; use %s or %s",
		c.Endpoint,
		EndpointChat,
		EndpointCompletions,
	)
	return errors.Join(errs...)
}
