package derive_test

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
)

func TestTheWindowIsLongerThanNothing(t *testing.T) {
	for text, want := range map[string]time.Duration{"{}": time.Minute, "window: 1ms": time.Millisecond, "window: 5m": 5 * time.Minute} {
		var c derive.Config
		require.NoError(t, yaml.Unmarshal([]byte(text), &c))
		require.Equal(t, model.Duration(want), c.Window, text)
		require.NoError(t, c.Validate(), text)
	}
	var c derive.Config
	require.NoError(t, yaml.Unmarshal([]byte("window: 0s"), &c))
	require.EqualError(t, c.Validate(), "window: must be longer than 0; the default is 1m")
}
