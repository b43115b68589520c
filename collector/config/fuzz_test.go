package config_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

func readFile(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	require.NoError(tb, err)
	return string(text)
}

// strict returns the errors of the YAML package in its strict mode: unknown keys, repeated keys,
// and types.
func strict(text []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	return dec.Decode(&config.File{})
}

func TestCheckerRefusesWhatDecoderRefuses(t *testing.T) {
	refused := 0
	for _, path := range append(documents(t, "testdata/good/*.yml", 30), documents(t, "testdata/bad/*.yml", 60)...) {
		text := []byte(readFile(t, path))
		if strict(text) == nil || strings.Contains(path, "/probe_old_name") {
			continue
		}
		refused++
		_, err := config.Parse("config.yml", text)
		require.Error(t, err, path)
	}
	require.Greater(t, refused, 30)
}

// FuzzParse requires that no document panics, that valid ones survive printing, and that the
// checker refuses what a strict decoder refuses.
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
		require.NoError(t, strict(text))
		printed := first.String()
		second, err := config.Parse("config.yml", []byte(printed))
		require.NoError(t, err, printed)
		require.Equal(t, printed, second.String())
	})
}
