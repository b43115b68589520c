package config_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// strict returns the errors of the YAML package in its strict mode: unknown keys, repeated keys,
// and types.
func strict(text []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	return dec.Decode(&config.File{})
}

// TestValuesAreThoseOfTheDecoder reads each valid document with the decoder of the YAML package too.
func TestValuesAreThoseOfTheDecoder(t *testing.T) {
	t.Chdir("testdata")
	for _, d := range valid() {
		got, err := config.Parse("config.yml", []byte(d.text))
		require.NoError(t, err, d.name)
		require.Equal(t, decoded(t, d.text).String(), got.String(), d.name)
	}
}

// decoded returns a document as the decoder of the YAML package reads it.
func decoded(t *testing.T, text string) *config.File {
	t.Helper()
	f := config.DefaultFile
	require.NoError(t, yaml.Unmarshal([]byte(text), &f))
	f.Resolve()
	require.NoError(t, f.Validate()) // It sets defaults of Prometheus' package.
	return &f
}

func TestCheckerRefusesWhatDecoderRefuses(t *testing.T) {
	refused := 0
	for _, m := range invalid() {
		if strict([]byte(m.text)) == nil {
			continue
		}
		refused++
		_, err := config.Parse("config.yml", []byte(m.text))
		require.Error(t, err, m.name)
	}
	require.Greater(t, refused, 30)
}

// FuzzKinds requires that no document of kinds panics, and that what is right reads every page.
func FuzzKinds(f *testing.F) {
	files, err := filepath.Glob("../../docs/examples/kinds/*.yml")
	require.NoError(f, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte("kinds: [ { name: a, marks: [abc_], series: [ { name: x, signal: requests_failed_total, labels: { reason: r }, " +
		"status_codes: true, where: [ { label: a, begins: b } ], from: '1', before: '2', unless: [y] } ] } ]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		kinds, err := config.ParseKinds("kinds.yml", text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, k := range kinds.Declared() {
			var page bytes.Buffer
			for _, m := range k.DeclaredSeries() {
				fmt.Fprintf(&page, "%[1]s{model=\"m\"} 1\n%[1]s_bucket{le=\"+Inf\"} 1\n", m.Name)
			}
			cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(k)})
			if block, err := cache.Parse(page.Bytes(), "", nil); err == nil {
				engine.Capabilities(k, &engine.Knowledge{Page: engine.ReadPage(k, block)})
			}
		}
	})
}

// FuzzParse requires that no document panics, that valid ones survive printing, and that the
// checker refuses what a strict decoder refuses.
func FuzzParse(f *testing.F) {
	for _, d := range valid() {
		f.Add([]byte(d.text))
	}
	for _, m := range invalid() {
		f.Add([]byte(m.text))
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
