package kserve_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/kserve"
)

// FuzzConfig decodes any bytes as a model's config: the result is JSON, or an error.
func FuzzConfig(f *testing.F) {
	f.Add(everyConfig())
	f.Add([]byte{0x0a, 0x7f})
	f.Add(msg(1, msg(14, str(1, "k"), num(1, 1))))
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := kserve.DecodeConfig(raw)
		if err == nil {
			require.True(t, json.Valid(text), "valid JSON: %q", text)
		}
	})
}
