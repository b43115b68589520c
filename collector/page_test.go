package collector_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/stretchr/testify/require"
)

// prefix is the prefix of the exporter's own series.
const prefix = "trtllm_exporter_"

// targetSeries returns an own series about a target as text.
func targetSeries(name, poolID, replicaID string) string {
	return fmt.Sprintf("%s%s{pool_id=%q,replica_id=%q}", prefix, name, poolID, replicaID)
}

// targetSeriesByReason returns an own series with a reason about a target as text.
func targetSeriesByReason(name, poolID, reason, replicaID string) string {
	return fmt.Sprintf("%s%s{pool_id=%q,reason=%q,replica_id=%q}", prefix, name, poolID, reason, replicaID)
}

// value returns the value of the series that begins with the text, -1 if absent.
func value(page, series string) float64 {
	head := series + " "
	for line := range strings.Lines(page) {
		if suffix, ok := strings.CutPrefix(line, head); ok {
			var v float64
			if _, err := fmt.Sscan(suffix, &v); err == nil {
				return v
			}
		}
	}
	return -1
}

// rawLines returns the lines of a pool's own series on the page, in order.
func rawLines(page, poolID string) string {
	var b strings.Builder
	// A label that a target exported begins with another prefix.
	first, later := fmt.Sprintf("{pool_id=%q", poolID), fmt.Sprintf(",pool_id=%q", poolID)
	for line := range strings.Lines(page) {
		ours := strings.HasPrefix(line, "#") || strings.HasPrefix(line, prefix) ||
			strings.HasPrefix(line, "llm_server_")
		if !ours && (strings.Contains(line, first) || strings.Contains(line, later)) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// metadataLines returns the HELP and TYPE lines of the families of tritonPage.
func metadataLines(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") && strings.Contains(tritonPage, line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// requireValid requires that both parsers of the ecosystem accept a page.
func requireValid(t *testing.T, page string) {
	t.Helper()
	p, err := textparse.New(
		[]byte(page), "text/plain; version=0.0.4", labels.NewSymbolTable(), textparse.ParserOptions{},
	)
	require.NoError(t, err)
	for {
		_, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "textparse refuses the page")
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	_, err = parser.TextToMetricFamilies(strings.NewReader(page))
	require.NoError(t, err, "expfmt refuses the page")
}

// requireText requires a page to contain a text; a failure prints only the nearest lines,
// because pages are long.
func requireText(t *testing.T, page, text string, why ...any) {
	t.Helper()
	if !strings.Contains(page, text) {
		require.Fail(t, "The page lacks "+text+"\nnearest to it:\n"+nearestLines(page, text), why...)
	}
}

// requireNoText requires a page not to contain a text; a failure prints the lines that
// do.
func requireNoText(t *testing.T, page, text string, why ...any) {
	t.Helper()
	if strings.Contains(page, text) {
		require.Fail(t, "The page has "+text+"\nand nearest to it:\n"+nearestLines(page, text), why...)
	}
}

// requireSame requires two parts of pages to be the same.
func requireSame(t *testing.T, want, got string, why ...any) {
	t.Helper()
	require.Empty(t, string(diff.Diff("before", []byte(want), "now", []byte(got))), why...)
}

// nearestLines returns the first lines of a page that have the family of a text.
func nearestLines(page, text string) string {
	name, _, _ := strings.Cut(text, "{")
	var b strings.Builder
	for line := range strings.Lines(page) {
		if strings.Contains(line, name) && b.Len() < 4000 {
			b.WriteString(line[:min(len(line), 300)] + "\n")
		}
	}
	return b.String()
}
