package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

func TestAShardIsFoundByNumberOrByTheNameOfAPod(t *testing.T) {
	for name, want := range map[string]int{"0": 0, "2": 2, "trtllm-exporter-1": 1, "a-b-c-2": 2} {
		c := config.Sharding{Total: 3}
		require.NoError(t, c.Place(name), name)
		require.Equal(t, want, *c.Index, name)
	}
}

func TestAShardThatIsNotThereIsRefused(t *testing.T) {
	for name, message := range map[string]string{
		"":                 "sharding.index: is not set",
		"3":                "they count from 0 to 2",
		"exporter-3":       "they count from 0 to 2",
		"exporter":         "is no number",
		"exporter-x7f9q":   "is no number",
		"99999999999999":   "is no number",
		"exporter-2.local": "is no number",
	} {
		c := config.Sharding{Total: 3}
		require.ErrorContains(t, c.Place(name), message, name)
	}
}
