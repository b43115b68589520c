package canary_test

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
)

// read decodes a configuration like a file.
func read(t *testing.T, text string) canary.Config {
	t.Helper()
	var c canary.Config
	require.NoError(t, yaml.Unmarshal([]byte(text), &c))
	return c
}

func TestDisabledCanarySendsNothing(t *testing.T) {
	require.False(t, canary.DefaultConfig.Enabled, "the canary is off by default")
	require.Equal(t, canary.DefaultConfig, read(t, "enabled: false"))
	require.NoError(t, canary.DefaultConfig.Validate())
}

func TestShortIntervalLowersTimeouts(t *testing.T) {
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
