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

// prefix begins the names of the exporter's own series.
const prefix = "trtllm_exporter_"

// own is the text of a series of ours about a target.
func own(name, poolID, replicaID string) string {
	return fmt.Sprintf("%s%s{pool_id=%q,replica_id=%q}", prefix, name, poolID, replicaID)
}

// reasoned is the text of a counter by reason about a target.
func reasoned(name, poolID, reason, replicaID string) string {
	return fmt.Sprintf("%s%s{pool_id=%q,reason=%q,replica_id=%q}", prefix, name, poolID, reason, replicaID)
}

// value is the value of the series that begins with the text, -1 if absent.
func value(page, series string) float64 {
	head := series + " "
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, head); ok {
			var v float64
			if _, err := fmt.Sscan(rest, &v); err == nil {
				return v
			}
		}
	}
	return -1
}

// rawLines are the lines of a pool's own series on the page, in their order.
func rawLines(page, poolID string) string {
	var b strings.Builder
	// A label that a target exported begins otherwise.
	first, later := fmt.Sprintf("{pool_id=%q", poolID), fmt.Sprintf(",pool_id=%q", poolID)
	for line := range strings.Lines(page) {
		ours := strings.HasPrefix(line, "#") || strings.HasPrefix(line, prefix) || strings.HasPrefix(line, "llm_server_")
		if !ours && (strings.Contains(line, first) || strings.Contains(line, later)) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// heads are the HELP and TYPE lines of the families of tritonPage.
func heads(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") && strings.Contains(tritonPage, line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// requireValid asks both parsers of the ecosystem for their opinion of a page.
func requireValid(t *testing.T, page string) {
	t.Helper()
	p, err := textparse.New([]byte(page), "text/plain; version=0.0.4", labels.NewSymbolTable(), textparse.ParserOptions{})
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

// requireText requires a page to have a text; a failure prints what is nearest
// to it, for pages are long.
func requireText(t *testing.T, page, text string, why ...any) {
	t.Helper()
	if !strings.Contains(page, text) {
		require.Fail(t, "The page lacks "+text+"\nnearest to it:\n"+nearest(page, text), why...)
	}
}

// requireNoText requires a page not to have a text; a failure prints the lines
// that have it.
func requireNoText(t *testing.T, page, text string, why ...any) {
	t.Helper()
	if strings.Contains(page, text) {
		require.Fail(t, "The page has "+text+"\nand nearest to it:\n"+nearest(page, text), why...)
	}
}

// requireSame requires two parts of pages to be the same.
func requireSame(t *testing.T, want, got string, why ...any) {
	t.Helper()
	require.Empty(t, string(diff.Diff("before", []byte(want), "now", []byte(got))), why...)
}

// nearest are the first lines of a page that are of the family of a text.
func nearest(page, text string) string {
	name, _, _ := strings.Cut(text, "{")
	var b strings.Builder
	for line := range strings.Lines(page) {
		if strings.Contains(line, name) && b.Len() < 4000 {
			b.WriteString(line[:min(len(line), 300)] + "\n")
		}
	}
	return b.String()
}
