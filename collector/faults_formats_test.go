package collector_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// readerFormats are all formats that a reader can be given.
func readerFormats() []expfmt.Format {
	var all []expfmt.Format
	for _, typ := range []expfmt.FormatType{expfmt.TypeTextPlain, expfmt.TypeOpenMetrics} {
		for _, scheme := range []model.EscapingScheme{model.NoEscaping, model.UnderscoreEscaping, model.DotsEscaping, model.ValueEncodingEscaping} {
			all = append(all, expfmt.NewFormat(typ).WithEscapingScheme(scheme))
		}
	}
	return all
}

// wholeProduct says whether each fault goes wrong alone too, and is looked at in
// every format each time; else the formats take turns.
func wholeProduct() bool { return os.Getenv("FAULTS") != "" }

// formatsOf are the formats in which a company of that number is compared: one
// of each type, whose way to write names is that of another company too.
func formatsOf(company int) []expfmt.Format {
	all := readerFormats()
	if wholeProduct() {
		return all
	}
	const schemes, types = 4, 2
	some := make([]expfmt.Format, types)
	for i := range some {
		some[i] = all[i*schemes+(company+i)%schemes]
	}
	return some
}

// inFormat is the page of blocks in a format, read by a parser of it.
func inFormat(t *testing.T, format expfmt.Format, blocks []*exposition.Block) string {
	t.Helper()
	var m exposition.Merger
	var out bytes.Buffer
	_, err := m.Layout(blocks).WithFormat(format).WriteText(&out, blocks, nil, nil)
	require.NoError(t, err)
	linesOf(t, out.String(), format)
	return out.String()
}

// linesOf reads a page with Prometheus' parser, and gives its lines with the
// labels in their order and bounds as numbers, as messages need not have them.
func linesOf(t *testing.T, page string, format expfmt.Format) string {
	t.Helper()
	p, err := textparse.New([]byte(page), string(format), labels.NewSymbolTable(), textparse.ParserOptions{})
	require.NoError(t, err)
	var out strings.Builder
	var lset labels.Labels
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		require.NoError(t, err, "textparse refuses %s:\n%s", format, page)
		switch entry {
		case textparse.EntryType:
			name, typ := p.Type()
			fmt.Fprintf(&out, "# TYPE %s %s\n", name, typ)
		case textparse.EntryHelp:
			name, text := p.Help()
			fmt.Fprintf(&out, "# HELP %s %q\n", name, text)
		case textparse.EntrySeries:
			_, _, v := p.Series()
			p.Labels(&lset)
			b := labels.NewBuilder(lset)
			for _, bound := range []string{model.BucketLabel, model.QuantileLabel} {
				if v, err := strconv.ParseFloat(lset.Get(bound), 64); err == nil {
					b.Set(bound, labels.FormatOpenMetricsFloat(v))
				}
			}
			fmt.Fprintf(&out, "%s %v\n", strings.ReplaceAll(b.Labels().String(), ", ", ","), v)
		default:
		}
	}
}

// restricted is what a page says of some pools: their lines, and the heads of
// the families that have any. Text is a line after another, heads first.
func restricted(page string, pools []string) string {
	marks := make([]string, len(pools))
	for i, id := range pools {
		marks[i] = fmt.Sprintf(`pool_id=%q`, id)
	}
	var out strings.Builder
	head, inHead := "", false
	for line := range strings.Lines(page) {
		switch {
		case line == "# EOF\n":
			out.WriteString(line)
		case strings.HasPrefix(line, "# "):
			if !inHead {
				head = ""
			}
			head, inHead = head+line, true
		case slices.ContainsFunc(marks, func(mark string) bool {
			return strings.Contains(line, "{"+mark) || strings.Contains(line, ","+mark)
		}):
			out.WriteString(head + line)
			head, inHead = "", false
		default:
			inHead = false
		}
	}
	return out.String()
}

// sampleLines are the lines of a page that are samples, sorted.
func sampleLines(page string) string {
	lines := slices.DeleteFunc(slices.Collect(strings.Lines(page)), func(line string) bool { return line[0] == '#' })
	return strings.Join(slices.Sorted(slices.Values(lines)), "")
}

// requireBystanders requires the page of all targets at this moment, restricted
// to the pools, to be that of these pools alone, byte for byte in each format.
// The families whose type a case takes may have other heads and another order.
func (l *line) requireBystanders(cases []faultCase, formats []expfmt.Format, pools ...string) {
	l.t.Helper()
	v := l.store.Blocks(nil)
	alone := slices.DeleteFunc(slices.Clone(v), func(b *exposition.Block) bool {
		if b.Shape().Lines() == 0 {
			return true
		}
		// What is compared within pools is one block.
		first := b.Shape().Labels(0)
		return first.Get("replica_id") != "" && !slices.Contains(pools, first.Get("pool_id"))
	})
	require.NotEmpty(l.t, alone)
	for _, format := range formats {
		whole, part := inFormat(l.t, format, v), restricted(inFormat(l.t, format, alone), pools)
		got := restricted(whole, pools)
		requireSame(l.t, settled(part, cases), settled(got, cases), "page(A+B) restricted to A in %s", format)
		requireSame(l.t, sampleLines(part), sampleLines(got), "samples of page(A+B) restricted to A in %s", format)
	}
}

// requirePromtool has promtool, where it is, read the page with names of the old
// characters, which it takes alone; what its linter dislikes of servers' names is
// no matter.
func (l *line) requirePromtool() {
	t := l.t
	t.Helper()
	promtool := os.Getenv("PROMTOOL")
	if promtool == "" {
		return
	}
	v := l.store.Blocks(nil)
	page := inFormat(t, expfmt.NewFormat(expfmt.TypeTextPlain).WithEscapingScheme(model.UnderscoreEscaping), v)
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = strings.NewReader(page)
	out, err := check.CombinedOutput()
	const lint = 3
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == lint {
		err = nil
	}
	require.NoError(t, err, "promtool refuses the page: %s", out)
}

// companies are the cases that go wrong at the same time, neighbours in the list:
// by fives, or each alone and all in threes where the whole product is run.
func companies(cases []faultCase) [][]faultCase {
	if !wholeProduct() {
		return slices.Collect(slices.Chunk(cases, 5))
	}
	return slices.AppendSeq(slices.Collect(slices.Chunk(cases, 1)), slices.Chunk(cases, 3))
}

// nameOf names cases by their codes.
func nameOf(cases []faultCase) string {
	ids := make([]string, len(cases))
	for i := range cases {
		ids[i] = cases[i].id()
	}
	return cmp.Or(strings.Join(ids, "+"), "none")
}
