package exposition_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// escapings returns all ways to escape names.
func escapings() []model.EscapingScheme {
	return []model.EscapingScheme{
		model.NoEscaping,
		model.UnderscoreEscaping,
		model.DotsEscaping,
		model.ValueEncodingEscaping,
	}
}

// restrict returns the part of a page about one replica: its lines, and the HELP and TYPE
// of their families.
func restrict(page, replica string) string {
	var out strings.Builder
	head := ""
	inHead := false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "# "):
			if !inHead {
				head = ""
			}
			head, inHead = head+line, true
		case strings.Contains(line, `r="`+replica+`"`):
			out.WriteString(head + line)
			head, inHead = "", false
		default:
			inHead = false
		}
	}
	return out.String()
}

// sampleLines returns the sample lines of a page, sorted.
func sampleLines(page string) []string {
	lines := slices.Collect(strings.Lines(page))
	return slices.Sorted(slices.Values(slices.DeleteFunc(lines, func(line string) bool { return line[0] == '#' })))
}

// generator generates random pages.
type generator struct {
	*rand.Rand

	// conflicting allows pages to contradict each other about a family; partial leaves
	// out parts of histograms and summaries.
	conflicting, partial bool
}

// generatedNames are names of families; some are equal once escaped.
var generatedNames = []string{
	"a", "a_b", "a.b", "a-b", "a:b", "b_total", "b.total", "c_seconds", "d", "d.e", "d_e", "h.i_seconds", "ünter", "z",
}

// page returns a page. The metadata of a family depends on its escaped name alone, unless
// pages may conflict.
func (g *generator) page() string {
	var out strings.Builder
	out.WriteString("up 1\n")
	for _, i := range g.Perm(len(generatedNames))[:1+g.IntN(len(generatedNames)-1)] {
		g.family(&out, generatedNames[i])
	}
	return out.String()
}

// family writes one family.
func (g *generator) family(out *strings.Builder, name string) {
	escaped := model.EscapeName(name, model.UnderscoreEscaping)
	as := len(escaped) + int(escaped[len(escaped)-1])
	if g.conflicting {
		as = g.IntN(100)
	}
	typ := []string{"counter", "gauge", "histogram", "summary", "untyped"}[as%5]
	if !g.conflicting || g.IntN(3) > 0 {
		fmt.Fprintf(out, "# HELP %s help %d %s\n", quoteName(name), as%3, strings.Repeat("long ", as%2*100))
	}
	if !g.conflicting || g.IntN(3) > 0 {
		fmt.Fprintf(out, "# TYPE %s %s\n", quoteName(name), typ)
	}
	for x := range 1 + g.IntN(3) {
		g.samples(out, name, typ, fmt.Sprintf(`%s="%d"`, []string{"x", `"x.y"`, "x_y", `"x:y"`}[g.IntN(4)], x))
	}
}

// samples writes the samples of one series, histogram or summary, perhaps without some
// parts.
func (g *generator) samples(out *strings.Builder, name, typ, label string) {
	one := func(suffix, more string, value int) {
		if !g.partial || g.IntN(5) > 0 {
			fmt.Fprintf(out, "%s %d\n", seriesOf(name+suffix, label+more), value)
		}
	}
	n := g.IntN(100)
	switch typ {
	case "histogram":
		one("_bucket", `,le="1"`, n)
		one("_bucket", `,le="+Inf"`, 2*n)
		one("_sum", "", 3*n)
		one("_count", "", 2*n)
	case "summary":
		one("", `,quantile="0.5"`, n)
		one("_sum", "", 3*n)
		one("_count", "", n)
	default:
		one("", "", n)
	}
}

// quoteName returns a name as written in HELP and TYPE.
func quoteName(name string) string {
	if model.LegacyValidation.IsValidMetricName(name) {
		return name
	}
	return strconv.Quote(name)
}

// seriesOf returns a series as written in a sample line.
func seriesOf(name, set string) string {
	if model.LegacyValidation.IsValidMetricName(name) {
		return name + "{" + set + "}"
	}
	return "{" + strconv.Quote(name) + "," + set + "}"
}

// pageLayout holds blocks with one merger for all ways to escape names, as in the exporter.
type pageLayout struct {
	merger exposition.Merger
	blocks []*exposition.Block
}

// newPageLayout merges blocks.
func newPageLayout(blocks ...*exposition.Block) *pageLayout { return &pageLayout{blocks: blocks} }

// eachPageLayout returns a layout for each block alone.
func eachPageLayout(blocks ...*exposition.Block) []*pageLayout {
	var each []*pageLayout
	for _, b := range blocks {
		each = append(each, newPageLayout(b))
	}
	return each
}

// in returns the page of the blocks with escaped names.
func (o *pageLayout) in(tb testing.TB, scheme model.EscapingScheme) string {
	tb.Helper()
	return o.only(tb, scheme, nil)
}

// only returns a part of the page of the blocks with escaped names.
func (o *pageLayout) only(tb testing.TB, scheme model.EscapingScheme, only func(name string) bool) string {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, o.merger.Escaped(o.blocks, scheme).WriteText(&out, o.blocks, only))
	return out.String()
}

// pageIn returns the page of the blocks with escaped names.
func pageIn(tb testing.TB, scheme model.EscapingScheme, blocks ...*exposition.Block) string {
	tb.Helper()
	return newPageLayout(blocks...).in(tb, scheme)
}

// TestNoTargetChangesLinesOfAnother compares the page of three targets, reduced to one of them,
// with the page of that one alone, byte for byte.
func TestNoTargetChangesLinesOfAnother(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 0)), partial: seed%2 == 1}
		blocks := merged(t, g.page(), g.page(), g.page())
		all, each := newPageLayout(blocks...), eachPageLayout(blocks...)
		for _, scheme := range escapings() {
			page := all.in(t, scheme)
			for i, alone := range each {
				replica := string(rune('a' + i))
				requireSamePage(
					t,
					alone.in(t, scheme),
					restrict(page, replica),
					"seed %d, %s, replica %s",
					seed,
					scheme,
					replica,
				)
			}
			requireReaders(t, page)
		}
	}
}

// requireReaders requires that all readers accept a page, and find as many samples as lines.
func requireReaders(t *testing.T, page string) {
	t.Helper()
	got, err := readings([]byte(page), "")
	require.NoError(t, err, page)
	require.Len(t, got, len(sampleLines(page)), page)
	_, err = families(page)
	require.NoError(t, err, page)
}

// TestConflictsDegradeTypeOnly does the same with targets that contradict each
// other about a family. The sample lines are the same then, but not HELP, TYPE and the
// order of families.
func TestConflictsDegradeTypeOnly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 0)), conflicting: seed%3 > 0, partial: seed%2 > 0}
		blocks := merged(t, mutatePage(g, g.page()), mutatePage(g, g.page()), mutatePage(g, g.page()))
		all, each := newPageLayout(blocks...), eachPageLayout(blocks...)
		for _, scheme := range escapings() {
			page := all.in(t, scheme)
			for i, alone := range each {
				replica := string(rune('a' + i))
				require.Equal(t, sampleLines(alone.in(t, scheme)), sampleLines(restrict(page, replica)),
					"seed %d, %s, replica %s", seed, scheme, replica)
			}
			requireReaders(t, page)
			again := parse(t, exposition.Options{}, page)
			require.Empty(t, dropped(again.Shape().Drops()), "our own page read again")
			require.Equal(t, sampleLines(page), sampleLines(render(t, &exposition.Merger{}, again)))
		}
	}
}

// mutatePage returns a page with some values and names changed.
func mutatePage(g generator, page string) string {
	var out strings.Builder
	for line := range strings.Lines(page) {
		i := strings.LastIndexByte(line, ' ')
		if line[0] != '#' && g.IntN(8) == 0 {
			line = line[:i+1] + []string{"NaN", "-1", "+Inf", "-Inf", "0.5", "1e3", "-0", "1e300"}[g.IntN(8)] + "\n"
		}
		if strings.HasPrefix(line, "d") && g.IntN(2) == 0 {
			line = strings.Replace(line, "{", "_created{", 1)
		}
		out.WriteString(line)
	}
	return out.String()
}

// TestEveryLineIsKept tests lines that readers reject under the type that they or another
// target state: the family is untyped then.
func TestEveryLineIsKept(t *testing.T) {
	const (
		summary   = "# TYPE x summary\nx_count 1\n"
		histogram = "# TYPE x histogram\nx_bucket{le=\"+Inf\"} 1\nx_count 1\nx_sum 1\n"
		counter   = "# TYPE x_total counter\nx_total 1\n"
	)
	for _, c := range []struct{ name, other, line, want string }{
		{"a number of observations below zero", histogram, "x_count -1\n", ""},
		{"one of a summary", summary, "x_count -1\n", ""},
		{"a fraction", summary, "# TYPE x_count gauge\nx_count 0.25\n", ""},
		{"a fraction in a histogram", histogram, "# TYPE x_count gauge\nx_count 0.25\n", ""},
		{"a total NaN", histogram, "x_total NaN\n", "x histogram"},
		{"a bucket of no bound", histogram, "x_bucket 1\n", ""},
		{"a gauge of the name of a histogram", histogram, "# TYPE x gauge\nx 1\n", ""},
		{"a counter below zero", counter, "x_total -1\n", "x_total counter"},
		{"a counter NaN", counter, "x_total NaN\n", "x_total counter"},
		{"a creation time NaN", counter, "x_total 1\n# TYPE x_created gauge\nx_created NaN\n", "x_total counter"},
		{"a creation time of nothing", histogram, "# TYPE x_created gauge\nx_created 1\n", "x histogram"},
		{
			"a histogram that does not add up", histogram,
			"# TYPE x histogram\nx_bucket{le=\"+Inf\"} 2\nx_count 1\nx_sum 1\n", "x histogram",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			blocks := merged(t, c.other, c.line)
			for _, scheme := range escapings() {
				page := pageIn(t, scheme, blocks...)
				require.Equal(t, c.want != "", strings.Contains(page, " "+c.want+"\n"), page)
				requireEveryLine(t, blocks, scheme, page)
			}
		})
	}
}

// requireEveryLine requires that a page has all lines of the blocks as each writes them
// alone, and that its readers accept it.
func requireEveryLine(t *testing.T, blocks []*exposition.Block, scheme model.EscapingScheme, page string) {
	t.Helper()
	var alone strings.Builder
	for _, b := range blocks {
		alone.WriteString(pageIn(t, scheme, b))
	}
	require.Equal(t, sampleLines(alone.String()), sampleLines(page), scheme)
	requireReaders(t, page)
}

func TestEscapedFamiliesAreSelectedByName(t *testing.T) {
	body := "{\"a.b\",x=\"1\"} 1\na_b 2\n{\"c.d\"} 3\n"
	for accept, want := range map[string]string{
		"a.b": "# TYPE a_b untyped\na_b{x=\"1\"} 1\n",
		"a_b": "# TYPE a_b untyped\na_b 2\n",
		"c.d": "# TYPE c_d untyped\nc_d 3\n",
		"c_d": "",
	} {
		only := func(name string) bool { return name == accept }
		page := newPageLayout(parse(t, exposition.Options{}, body)).only(t, model.UnderscoreEscaping, only)
		require.Equal(t, want, page, accept)
	}
}

func TestLayoutIsCachedUntilShapeChanges(t *testing.T) {
	var m exposition.Merger
	c := exposition.NewCache(exposition.Options{})
	page := func(body string) []*exposition.Block {
		b, err := parseWith(t, c, body, "")
		require.NoError(t, err)
		return []*exposition.Block{b}
	}
	ordinary := m.Layout(page("a 1\n"))
	require.Same(t, ordinary, m.Escaped(page("a 2\n"), model.UnderscoreEscaping), "only the values differ")
	blocks := append(page("a 3\n"), merged(t, "{\"a.b\"} 1\n")...)
	odd := m.Layout(blocks)
	require.NotSame(t, ordinary, odd)
	require.Same(t, odd, m.Escaped(blocks, model.NoEscaping))
	escaped := m.Escaped(blocks, model.UnderscoreEscaping)
	require.NotSame(t, odd, escaped)
	require.Same(t, escaped, m.Escaped(blocks, model.UnderscoreEscaping))
	blocks = blocks[1:]
	require.Contains(t, newPageLayout(blocks...).in(t, model.UnderscoreEscaping), "\na_b{", "alone")
	var out bytes.Buffer
	require.NoError(t, m.Escaped(blocks, model.UnderscoreEscaping).WriteText(&out, blocks, nil))
	require.Equal(t, newPageLayout(blocks...).in(t, model.UnderscoreEscaping), out.String(), "escaped before")
	require.Empty(t, render(t, &m), "no targets, no page")
}
