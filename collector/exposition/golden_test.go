package exposition_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// TestGoldenPages re-exposes every page of testdata with the identity labels
// and compares it with the golden page next to it.
func TestGoldenPages(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.prom")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			body, err := os.ReadFile(path)
			require.NoError(t, err)
			contentType := typeOf(path, "")
			opts := exposition.Options{Limits: exposition.DefaultLimits, Reserved: []string{"trtllm_exporter_"}}
			b, err := parseWith(
				t,
				exposition.NewCache(opts),
				string(body),
				contentType,
				new(exposition.Labeler(identify)),
			)
			require.NoError(t, err)
			page := render(t, &exposition.Merger{}, b)
			fixture.RequireFile(t, strings.TrimSuffix(path, ".prom")+".golden", page)
			requireReadable(t, mustReadings(t, page), page)
			source, err := readings(body, contentType)
			require.NoError(t, err)
			lost := 0
			for _, n := range dropped(b.Shape().Drops()) {
				lost += n
			}
			require.Len(t, mustReadings(t, page), len(source)-lost)
		})
	}
}
