package exposition_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// openMetrics is the content type of OpenMetrics pages.
const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// parseWith parses a body with a cache, and a labeler if there is one.
func parseWith(
	tb testing.TB,
	c *exposition.Cache,
	body, contentType string,
	label ...*exposition.Labeler,
) (*exposition.Block, error) {
	tb.Helper()
	return c.Parse([]byte(body), contentType, cmp.Or(label...))
}

// parse parses a text page with a new cache.
func parse(tb testing.TB, opts exposition.Options, body string, label ...*exposition.Labeler) *exposition.Block {
	tb.Helper()
	b, err := parseWith(tb, exposition.NewCache(opts), body, "", label...)
	require.NoError(tb, err)
	return b
}

// render writes the page of the blocks.
func render(tb testing.TB, m *exposition.Merger, blocks ...*exposition.Block) string {
	tb.Helper()
	return renderOnly(tb, m, nil, blocks...)
}

// renderOnly is render with a filter of family names.
func renderOnly(tb testing.TB, m *exposition.Merger, only func(string) bool, blocks ...*exposition.Block) string {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, m.Layout(blocks).WriteText(&out, blocks, only))
	return out.String()
}

// reExpose returns the text page of one body.
func reExpose(tb testing.TB, opts exposition.Options, body string) string {
	tb.Helper()
	return render(tb, &exposition.Merger{}, parse(tb, opts, body))
}

// dropped returns the non-zero drops by reason.
func dropped(d exposition.Drops) map[string]int {
	out := map[string]int{}
	for i, reason := range exposition.DropReasons() {
		if n := d.ByReason[i]; n > 0 {
			out[reason] = int(n)
		}
	}
	return out
}

// reading returns a sample as text that is equal for equal samples: labels sorted, empty
// ones left out, bounds as numbers, the value by its bits.
func reading(lset labels.Labels, v float64) string {
	b := labels.NewBuilder(labels.EmptyLabels())
	lset.Range(func(l labels.Label) {
		if l.Name == model.BucketLabel || l.Name == model.QuantileLabel {
			if f, err := strconv.ParseFloat(l.Value, 64); err == nil {
				l.Value = labels.FormatOpenMetricsFloat(f)
			}
		}
		if l.Name == model.MetricNameLabel {
			l.Value = strings.TrimLeft(l.Value, " \t")
		}
		b.Set(l.Name, l.Value)
	})
	return fmt.Sprintf("%s %016x", b.Labels(), math.Float64bits(v))
}

// readings returns the samples of a page as parsed by textparse, sorted.
func readings(page []byte, contentType string) ([]string, error) {
	var out []string
	contentType = cmp.Or(contentType, "text/plain; version=0.0.4")
	p, err := textparse.New(page, contentType, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err == nil {
		err = eachReading(p, func(lset labels.Labels, v float64) { out = append(out, reading(lset, v)) })
	}
	slices.Sort(out)
	return out, err
}

// eachReading calls got for the samples of a page in their order.
func eachReading(p textparse.Parser, got func(lset labels.Labels, v float64)) error {
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry == textparse.EntrySeries {
			var lset labels.Labels
			p.Labels(&lset)
			_, _, v := p.Series()
			got(lset, v)
		}
	}
}

// requireReadable requires that a text page has the given samples for textparse, is
// accepted by expfmt, and is re-exposed unchanged.
func requireReadable(tb testing.TB, want []string, page string) {
	tb.Helper()
	got, err := readings([]byte(page), "")
	require.NoError(tb, err, "textparse")
	requireSameLines(tb, want, got, "samples on the page")
	_, err = families(page)
	require.NoError(tb, err, "expfmt")
	if page != "" {
		require.True(tb, strings.HasSuffix(page, "\n"), "a page ends with a line end")
	}
	again := parse(tb, exposition.Options{}, page)
	require.Empty(tb, dropped(again.Shape().Drops()), "our own page read again")
	requireSamePage(tb, page, render(tb, &exposition.Merger{}, again), "our own page re-exposed")
}

// requireSamePage requires that two pages are equal; a failure prints the lines around a
// difference.
func requireSamePage(tb testing.TB, want, got string, why ...any) {
	tb.Helper()
	require.Empty(tb, string(diff.Diff("want", []byte(want), "got", []byte(got))), why...)
}

// requireSameLines is requireSamePage for lines.
func requireSameLines(tb testing.TB, want, got []string, why ...any) {
	tb.Helper()
	if !slices.Equal(want, got) {
		requireSamePage(tb, strings.Join(want, "\n")+"\n", strings.Join(got, "\n")+"\n", why...)
		require.Len(tb, got, len(want), why...)
	}
}

// families returns the page as parsed by expfmt.
func families(page string) (map[string]*dto.MetricFamily, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	return p.TextToMetricFamilies(strings.NewReader(page))
}

// identity returns the labels that identify attaches.
func identity() map[string]string {
	return map[string]string{
		"engine": "triton", "engine_version": "2.64.0", "trtllm_version": "1.1.0",
		"pool_id": "llama", "replica_id": "r0", "model_id": "llama-70b",
	}
}

// identify attaches the identity like package relabel: a label of the target with such a
// name is prefixed with exported_ until the name is free.
func identify(lset labels.Labels) exposition.Labeled {
	out := exposition.Labeled{Keep: true}
	b := labels.NewBuilder(lset)
	for _, name := range slices.Sorted(maps.Keys(identity())) {
		if old := lset.Get(name); old != "" {
			out.Collisions++
			moved := "exported_" + name
			for lset.Has(moved) {
				moved = "exported_" + moved
			}
			b.Set(moved, old)
		}
		b.Set(name, identity()[name])
	}
	out.Labels = b.Labels()
	return out
}

// shared returns a folder of the shared samples; the test is skipped without it.
func shared(tb testing.TB, folder string) string {
	tb.Helper()
	root := os.Getenv("TRTLLM_EXPORTER_SHARED")
	dir, err := os.Getwd()
	require.NoError(tb, err)
	for root == "" {
		if _, err := os.Stat(filepath.Join(dir, "shared", "samples")); err == nil {
			root = filepath.Join(dir, "shared")
			break
		}
		if filepath.Dir(dir) == dir {
			tb.Skip("no shared samples: set TRTLLM_EXPORTER_SHARED to their folder")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(root, folder)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("the shared samples have no %s", folder)
	}
	return path
}
