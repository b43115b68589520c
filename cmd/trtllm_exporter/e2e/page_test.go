//go:build (e2e_triton || e2e_dynamo || e2e_kube || e2e_vllm) && linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
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

// String returns the series as on a page.
func (s sample) String() string { return s.labels.String() + " " + s.text }

type page struct {
	samples map[string]sample
	help    map[string]string
	types   map[string]model.MetricType
	// order holds the keys of the samples in the order of the page.
	order []string
}

func parsePage(t *testing.T, body []byte) page {
	t.Helper()
	p, err := parse(body)
	require.NoError(t, err)
	return p
}

// parse parses text format 0.0.4, in which series must be unique.
func parse(body []byte) (page, error) {
	p := page{samples: map[string]sample{}, help: map[string]string{}, types: map[string]model.MetricType{}}
	values := valueTexts(body)
	parser := textparse.NewPromParser(body, labels.NewSymbolTable(), false)
	for {
		entry, err := parser.Next()
		switch {
		case errors.Is(err, io.EOF) && len(values) == len(p.order):
			return p, nil
		case err != nil:
			return p, fmt.Errorf("%d of %d lines: %w", len(p.order), len(values), err)
		}
		switch entry {
		case textparse.EntryHelp:
			name, text := parser.Help()
			p.help[string(name)] = string(text)
		case textparse.EntryType:
			name, kind := parser.Type()
			if p.types[string(name)] != "" {
				return p, fmt.Errorf("family %s is twice on the page", name)
			}
			p.types[string(name)] = kind
		case textparse.EntrySeries:
			var s sample
			_, _, s.value = parser.Series()
			parser.Labels(&s.labels)
			s.text = values[len(p.order)]
			key := s.labels.String()
			if _, twice := p.samples[key]; twice {
				return p, fmt.Errorf("series %s is twice on the page", key)
			}
			p.samples[key] = s
			p.order = append(p.order, key)
		default:
		}
	}
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

func (p page) sum(name string, pairs ...string) (sum float64) {
	for _, s := range p.named(name, pairs...) {
		sum += s.value
	}
	return sum
}

// value is what a page must have of the series with a name and label pairs, which wrong describes if
// it is not so. It gets their number and their sum.
type value struct {
	name   string
	pairs  []string
	wanted string
	right  func(n int, sum float64) bool
}

// has returns that they add up to a number.
func has(want float64, name string, pairs ...string) value {
	return value{name, pairs, fmt.Sprint(want), func(n int, sum float64) bool { return n > 0 && sum == want }}
}

// above returns that they add up to more than a number.
func above(least float64, name string, pairs ...string) value {
	right := func(n int, sum float64) bool { return n > 0 && sum > least }
	return value{name, pairs, fmt.Sprint("more than ", least), right}
}

func some(name string, pairs ...string) value {
	return value{name, pairs, "something", func(n int, _ float64) bool { return n > 0 }}
}

func lacks(name string, pairs ...string) value {
	return value{name, pairs, "nothing", func(n int, _ float64) bool { return n == 0 }}
}

// more returns the value after a growth since this page.
func (p page) more(growth int, name string, pairs ...string) value {
	return has(p.sum(name, pairs...)+float64(growth), name, pairs...)
}

// wrong describes the values that the page does not have.
func (p page) wrong(wanted ...value) string {
	var all []string
	for _, v := range wanted {
		found := p.named(v.name, v.pairs...)
		if !v.right(len(found), p.sum(v.name, v.pairs...)) {
			all = append(all, fmt.Sprintf("%s%v: wanted %s, got %v", v.name, v.pairs, v.wanted, found))
		}
	}
	return strings.Join(all, "; ")
}

func (p page) requires(t *testing.T, wanted ...value) {
	t.Helper()
	require.Empty(t, p.wrong(wanted...))
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
