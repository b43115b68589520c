package canary_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
)

// read reads a configuration as a file would be read.
func read(t *testing.T, text string) canary.Config {
	t.Helper()
	var c canary.Config
	require.NoError(t, yaml.Unmarshal([]byte(text), &c))
	return c
}

func TestSilenceMeansNoRequests(t *testing.T) {
	require.False(t, canary.DefaultConfig.Enabled)
	require.Equal(t, canary.DefaultConfig, read(t, "enabled: false"))
	require.NoError(t, canary.DefaultConfig.Validate())
}

func TestAShortIntervalTakesTheTimeoutsDown(t *testing.T) {
	seconds := func(n int) model.Duration { return model.Duration(time.Duration(n) * time.Second) }
	for _, c := range []struct {
		text                     string
		timeout, first, gap, end model.Duration
	}{
		{"interval: 1h", seconds(30), seconds(10), seconds(5), seconds(5)},
		{"interval: 10s", seconds(10), seconds(10), seconds(5), seconds(5)},
		{"timeout: 3s", seconds(3), seconds(3), seconds(3), seconds(3)},
		{"{interval: 10s, gap_timeout: 7s}", seconds(10), seconds(10), seconds(7), seconds(5)},
	} {
		got := read(t, c.text)
		require.NoError(t, got.Validate(), c.text)
		require.Equal(t, []model.Duration{c.timeout, c.first, c.gap, c.end},
			[]model.Duration{got.Timeout, got.FirstTokenTimeout, got.GapTimeout, got.EndTimeout}, c.text)
	}
}

func TestWhatIsWrongIsSaidWithItsKey(t *testing.T) {
	for text, want := range map[string]string{
		"interval: 9s":                             "interval: 9s is too short",
		"timeout: 61s":                             "timeout: 1m1s is longer than interval 1m",
		"{timeout: 4s, first_token_timeout: 5s}":   "first_token_timeout: 5s is longer than timeout 4s",
		"{timeout: 4s, gap_timeout: 5s}":           "gap_timeout: 5s is longer than timeout 4s",
		"{timeout: 4s, end_timeout: 5s}":           "end_timeout: 5s is longer than timeout 4s",
		`model: "a\nb"`:                            "model: \"a\\nb\" has control characters",
		`prompt: ""`:                               "prompt: is empty",
		"prompt: " + strings.Repeat("long ", 1000): "prompt: has 4999 bytes",
		"max_tokens: 0":                            "max_tokens: 0 is outside 1 to 64",
		"cancel_within: 16s":                       "cancel_within: 16s is outside 0 to 15s, a fourth of interval",
		"cancel_tokens: 8":                         "cancel_tokens: 8 is outside 16 to 16384; the default is 1024",
		"endpoint: responses":                      "endpoint: \"responses\" is unknown; use chat or completions",
	} {
		c := read(t, text)
		require.ErrorContains(t, c.Validate(), want, text)
	}
	c := canary.DefaultConfig
	c.Timeout, c.GapTimeout, c.Prompt = -1, -1, "\xff"
	require.ErrorContains(t, c.Validate(), "timeout: must be longer than 0")
	require.ErrorContains(t, c.Validate(), "gap_timeout: must be longer than 0")
	require.ErrorContains(t, c.Validate(), "prompt: is not valid UTF-8")
}
