package config_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// TestAFileThatIsTooLargeSaysHowLargeItMayBe has one byte too many, and just as
// many as may be.
func TestAFileThatIsTooLargeSaysHowLargeItMayBe(t *testing.T) {
	const most = 16 << 20
	text := []byte("pools: [{pool_id: a, static_configs: [{targets: ['127.0.0.1:1']}]}]\n#")
	text = append(text, bytes.Repeat([]byte("x"), most-len(text))...)
	_, err := config.Parse("big.yaml", text)
	require.NoError(t, err)
	_, err = config.Parse("big.yaml", append(text, 'x'))
	require.EqualError(t, err, "big.yaml: the file is larger than 16 MiB; move targets to file_sd_configs")
}
