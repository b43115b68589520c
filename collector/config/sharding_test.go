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
		"3":                "below sharding.total, which is 3",
		"exporter-3":       "below sharding.total, which is 3",
		"exporter":         "is not a number",
		"exporter-x7f9q":   "is not a number",
		"99999999999999":   "is not a number",
		"exporter-2.local": "is not a number",
	} {
		c := config.Sharding{Total: 3}
		require.ErrorContains(t, c.Place(name), message, name)
	}
}

func TestOneExporterNeedsNoPlace(t *testing.T) {
	c := config.Sharding{Total: 1}
	require.NoError(t, c.Place(""))
	require.Nil(t, c.Index)

	index := 1
	c = config.Sharding{Total: 2, Index: &index}
	require.NoError(t, c.Place(""), "the file has said it")
	require.Equal(t, 1, *c.Index)
}
