//go:build (e2e_triton || e2e_dynamo || e2e_kube || e2e_vllm) && linux

package e2e

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"
)

// sample is a line of a page, with the value as written.
type sample struct {
	labels labels.Labels
	text   string
	value  float64
}

type page struct {
	samples map[string]sample
	help    map[string]string
	types   map[string]model.MetricType
	// order holds the keys of the samples in the order of the page.
	order []string
}

// parsePage parses text format 0.0.4 and requires that series are unique.
func parsePage(t *testing.T, body []byte) page {
	t.Helper()
	p := page{samples: map[string]sample{}, help: map[string]string{}, types: map[string]model.MetricType{}}
	values := valueTexts(body)
	parser := textparse.NewPromParser(body, labels.NewSymbolTable(), false)
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch entry {
		case textparse.EntryHelp:
			name, text := parser.Help()
			p.help[string(name)] = string(text)
		case textparse.EntryType:
			name, kind := parser.Type()
			require.NotContains(t, p.types, string(name), "a family is twice on the page")
			p.types[string(name)] = kind
		case textparse.EntrySeries:
			var s sample
			_, _, s.value = parser.Series()
			parser.Labels(&s.labels)
			s.text = values[len(p.order)]
			key := s.labels.String()
			require.NotContains(t, p.samples, key, "a series is twice on the page")
			p.samples[key] = s
			p.order = append(p.order, key)
		default:
		}
	}
	require.Len(t, values, len(p.order))
	return p
}

// valueTexts returns the values of the sample lines as written; there are no timestamps.
func valueTexts(body []byte) []string {
	var texts []string
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			texts = append(texts, string(line[bytes.LastIndexByte(line, ' ')+1:]))
		}
	}
	return texts
}

// named returns all series with a name and label pairs.
func (p page) named(name string, pairs ...string) []sample {
	var found []sample
	for _, key := range p.order {
		s, fits := p.samples[key], true
		for pair := range slices.Chunk(append([]string{model.MetricNameLabel, name}, pairs...), 2) {
			fits = fits && s.labels.Get(pair[0]) == pair[1]
		}
		if fits {
			found = append(found, s)
		}
	}
	return found
}

func (p page) only(t *testing.T, name string, pairs ...string) float64 {
	t.Helper()
	found := p.named(name, pairs...)
	require.Len(t, found, 1, "series %s %v", name, pairs)
	return found[0].value
}

// is reports whether the page has one series with this name, labels and value.
func (p page) is(value float64, name string, pairs ...string) bool {
	found := p.named(name, pairs...)
	return len(found) == 1 && found[0].value == value
}

func (p page) sum(name string, pairs ...string) (sum float64) {
	for _, s := range p.named(name, pairs...) {
		sum += s.value
	}
	return sum
}

// family returns the family of a series.
func (p page) family(series string) string {
	if _, typed := p.types[series]; typed {
		return series
	}
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if base, cut := strings.CutSuffix(series, suffix); cut && p.types[base] != "" {
			return base
		}
	}
	return series
}

// grows reports whether a series of Triton never decreases while a server runs: counters,
// parts of histograms and summaries, and two that the backend declares as gauges.
func (p page) grows(s sample) bool {
	name := s.labels.Get(model.MetricNameLabel)
	switch p.types[p.family(name)] {
	case model.MetricTypeCounter, model.MetricTypeHistogram:
		return true
	case model.MetricTypeSummary:
		return !s.labels.Has(model.QuantileLabel)
	default:
		return s.labels.Get("general_type") == "iteration_counter" || s.labels.Get("kv_cache_block_type") == "reused"
	}
}

func (p page) raw() []sample {
	var found []sample
	for _, key := range p.order {
		if s := p.samples[key]; strings.HasPrefix(s.labels.Get(model.MetricNameLabel), "nv_") {
			found = append(found, s)
		}
	}
	return found
}
