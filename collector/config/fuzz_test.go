package config_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

func readFile(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	require.NoError(tb, err)
	return string(text)
}

// FuzzParse looks for documents that panic, and for good ones that do not
// print as themselves.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yml", "testdata/bad/*.yml"} {
		for _, path := range documents(f, pattern, 30) {
			f.Add([]byte(readFile(f, path)))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := config.Parse("config.yml", text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		printed := first.String()
		second, err := config.Parse("config.yml", []byte(printed))
		require.NoError(t, err, printed)
		require.Equal(t, printed, second.String())
	})
}
