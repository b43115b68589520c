package simulate_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// parsePage reads a page as Prometheus does and returns its samples by the text
// of their series, and the families in the order of their TYPE lines.
func parsePage(t *testing.T, body []byte) (samples map[string]float64, families []string) {
	t.Helper()
	samples = map[string]float64{}
	if len(body) == 0 {
		return samples, nil
	}
	p, err := textparse.New(body, "text/plain; charset=utf-8", labels.NewSymbolTable(), textparse.ParserOptions{})
	require.NoError(t, err)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return samples, families
		}
		require.NoError(t, err)
		switch entry {
		case textparse.EntryType:
			name, _ := p.Type()
			families = append(families, string(name))
		case textparse.EntrySeries:
			series, _, value := p.Series()
			_, twice := samples[string(series)]
			require.False(t, twice, "series %s is on the page twice", series)
			samples[string(series)] = value
		default:
		}
	}
}

func TestBenchPagesHaveTheDocumentedShape(t *testing.T) {
	for _, c := range []struct {
		name              string
		kind              simulate.BenchKind
		samples, families int
	}{
		{"five models, eight GPUs, three histogram families", simulate.BenchTRTLLM, 226, 34},
		{"eight models with summaries", simulate.BenchSummaries, 377, 26},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := simulate.BenchPage(c.kind, 1, 0)
			samples, families := parsePage(t, first)
			require.Len(t, samples, c.samples)
			require.Len(t, families, c.families)
			require.Equal(t, first, simulate.BenchPage(c.kind, 1, 0))
			require.NotEqual(t, first, simulate.BenchPage(c.kind, 2, 0))

			later, _ := parsePage(t, simulate.BenchPage(c.kind, 1, 1))
			require.Len(t, later, c.samples)
			changed := 0
			for series, v := range samples {
				w, ok := later[series]
				require.True(t, ok, "series %s went away", series)
				if v != w {
					changed++
				}
			}
			require.Greater(t, changed, c.samples/2)
			success := `nv_inference_request_success{model="ensemble",version="1"}`
			require.Greater(t, later[success], samples[success])
		})
	}
}

func BenchmarkBenchPage(b *testing.B) {
	b.ReportAllocs()
	tick := 0
	var n int
	for b.Loop() {
		tick++
		n = len(bytes.TrimSpace(simulate.BenchPage(simulate.BenchTRTLLM, 1, tick)))
	}
	b.SetBytes(int64(n))
}
