package collector_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
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

// requireSame requires two parts of pages to be the same; a failure prints the
// lines that one of them has alone.
func requireSame(t *testing.T, want, got string, why ...any) {
	t.Helper()
	if want != got {
		require.Fail(t, "Other lines than before:\n"+difference(want, got), why...)
	}
}

const (
	// mostLines and longestLine bound what a failure prints of a page.
	mostLines   = 20
	longestLine = 300
)

// nearest are the lines of a page that are most like a text, in their order.
func nearest(page, text string) string {
	type near struct {
		line         string
		place, score int
	}
	var all []near
	words := strings.FieldsFunc(text, notOfWord)
	for line := range strings.Lines(page) {
		n := near{line: line, place: len(all)}
		for n.score < min(len(line), len(text)) && line[n.score] == text[n.score] {
			n.score++
		}
		has := strings.FieldsFunc(line, notOfWord)
		for _, w := range words {
			if slices.Contains(has, w) {
				n.score += 10
			}
		}
		all = append(all, n)
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(b.score, a.score) })
	best := all[:min(mostLines, len(all))]
	slices.SortFunc(best, func(a, b near) int { return cmp.Compare(a.place, b.place) })
	var b strings.Builder
	for _, n := range best {
		b.WriteString(shortened(n.line))
	}
	fmt.Fprintf(&b, "(%d of %d lines)", len(best), len(all))
	return b.String()
}

// notOfWord says what separates names and values on a line.
func notOfWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.'
}

// difference are the first lines that only one of two texts has.
func difference(want, got string) string {
	had, has := slices.Collect(strings.Lines(want)), slices.Collect(strings.Lines(got))
	var b strings.Builder
	n := 0
	only := func(sign string, in, out []string) {
		known := make(map[string]bool, len(out))
		for _, line := range out {
			known[line] = true
		}
		for _, line := range in {
			if known[line] {
				continue
			}
			n++
			if n <= mostLines {
				b.WriteString(sign + shortened(line))
			}
		}
	}
	only("- ", had, has)
	only("+ ", has, had)
	if n == 0 {
		return fmt.Sprintf("the same lines in another order or number: %d before, %d now", len(had), len(has))
	}
	fmt.Fprintf(&b, "(%d other lines; %d before, %d now)", n, len(had), len(has))
	return b.String()
}

// shortened is a line that is not too long to read.
func shortened(line string) string {
	if line = strings.TrimSuffix(line, "\n"); len(line) > longestLine {
		line = line[:longestLine] + "..."
	}
	return line + "\n"
}

func TestAFailurePrintsTheNearestLinesOnly(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for i := range 500 {
		fmt.Fprintf(&page, "nv_a{pool_id=\"p%d\"} 1\nnv_b{pool_id=\"p%d\",text=%q} 2\n", i, i, strings.Repeat("x", 1000))
	}
	text := nearest(page.String(), `nv_b{pool_id="p77"} 3`)
	require.Contains(t, text, `nv_b{pool_id="p77"`)
	require.Contains(t, text, "(20 of 1000 lines)")
	require.Equal(t, 20, strings.Count(text, "\n"))
	require.Less(t, len(text), 20*(longestLine+10))

	text = nearest(page.String(), `pool_id="p499"} 1`)
	require.Contains(t, text, `nv_a{pool_id="p499"} 1`, "a text may begin inside a line")

	text = difference(page.String(), strings.ReplaceAll(page.String(), `pool_id="p7"`, `pool_id="q"`))
	require.Contains(t, text, `- nv_a{pool_id="p7"} 1`+"\n")
	require.Contains(t, text, `+ nv_a{pool_id="q"} 1`+"\n")
	require.Equal(t, 4, strings.Count(text, "\n"))
	require.Contains(t, difference("a\nb\n", "b\na\n"), "in another order")
}
