package exposition_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// replicaLabel returns a labeler that attaches the replica_id.
func replicaLabel(id string) *exposition.Labeler {
	return new(exposition.Labeler(func(lset labels.Labels) exposition.Labeled {
		return exposition.Labeled{Keep: true, Labels: labels.NewBuilder(lset).Set("r", id).Labels()}
	}))
}

// merged returns the blocks of targets a, b, c... An empty body is a failed target.
func merged(t *testing.T, bodies ...string) []*exposition.Block {
	t.Helper()
	var blocks []*exposition.Block
	for i, body := range bodies {
		if body != "" {
			blocks = append(blocks, parse(t, exposition.Options{}, body, replicaLabel(string(rune('a'+i)))))
		}
	}
	return blocks
}

func TestMergeOfTwoTargets(t *testing.T) {
	for _, c := range []struct {
		name, a, b, want string
		stats            exposition.MergeStats
	}{
		{
			"families are in the order of their names, targets in theirs",
			"# HELP x one\n# TYPE x gauge\nx 1\n# TYPE b counter\nb 1\n",
			"# TYPE c counter\nc 2\n# HELP x one\n# TYPE x gauge\nx 2\n",
			"# TYPE b counter\nb{r=\"a\"} 1\n# TYPE c counter\nc{r=\"b\"} 2\n# HELP x one\n# TYPE x gauge\n" +
				"x{r=\"a\"} 1\n" +
				"x{r=\"b\"} 2\n",
			exposition.MergeStats{},
		},
		{
			"S05 a counter at a and a gauge at b have no type", "# TYPE x counter\nx 1\n", "# TYPE x gauge\nx 2\n",
			"# TYPE x untyped\nx{r=\"a\"} 1\nx{r=\"b\"} 2\n",
			exposition.MergeStats{TypeConflicts: 1},
		},
		{
			"S06 a histogram and a gauge, by sample name", "# HELP x h\n# TYPE x histogram\nx_count 1\nx_sum 1\n",
			"# TYPE x gauge\nx 2\n",
			"# TYPE x untyped\nx{r=\"b\"} 2\n# TYPE x_count untyped\nx_count{r=\"a\"} 1\n# TYPE x_sum untyped\n" +
				"x_sum{r=\"a\"} 1\n",
			exposition.MergeStats{TypeConflicts: 1},
		},
		{
			"S06 a histogram and a summary", "# TYPE x histogram\nx_bucket{le=\"+Inf\"} 1\nx_count 1\n",
			"# TYPE x summary\nx{quantile=\"0.5\"} 7\nx_count 2\n",
			"# TYPE x untyped\nx{quantile=\"0.5\",r=\"b\"} 7\n# TYPE x_bucket untyped\n" +
				"x_bucket{le=\"+Inf\",r=\"a\"} 1\n" +
				"# TYPE x_count untyped\nx_count{r=\"a\"} 1\nx_count{r=\"b\"} 2\n",
			exposition.MergeStats{TypeConflicts: 1},
		},
		{
			"S07 a summary and a gauge named like its samples", "# TYPE x summary\nx_count 1\n",
			"# TYPE x_count gauge\nx_count 2\n",
			"# TYPE x_count untyped\nx_count{r=\"a\"} 1\nx_count{r=\"b\"} 2\n",
			exposition.MergeStats{TypeConflicts: 2},
		},
		{
			"S07 both in one target", "# TYPE x summary\nx_sum 1\n# TYPE x_count gauge\nx_count 2\n",
			"# HELP x h\n# TYPE x summary\nx_sum 3\n",
			"# TYPE x_count untyped\nx_count{r=\"a\"} 2\n# TYPE x_sum untyped\nx_sum{r=\"a\"} 1\nx_sum{r=\"b\"} 3\n",
			exposition.MergeStats{TypeConflicts: 2},
		},
		{
			"S07 a summary and a gauge named like buckets",
			"# TYPE x summary\nx_sum 1\n", "# TYPE x_bucket gauge\nx_bucket 2\n",
			"# TYPE x summary\nx_sum{r=\"a\"} 1\n# TYPE x_bucket gauge\nx_bucket{r=\"b\"} 2\n",
			exposition.MergeStats{},
		},
		{
			"a stated type beats an absent one", "x 1\n", "# TYPE x gauge\nx 2\n",
			"# TYPE x gauge\nx{r=\"a\"} 1\nx{r=\"b\"} 2\n",
			exposition.MergeStats{},
		},
		{
			"a histogram, whose samples have other names", "y_bucket{le=\"+Inf\"} 2\ny_count -2\n",
			"# TYPE y histogram\ny_bucket{le=\"+Inf\"} 3\ny_count 3\n",
			"# TYPE y_bucket untyped\ny_bucket{le=\"+Inf\",r=\"a\"} 2\ny_bucket{le=\"+Inf\",r=\"b\"} 3\n" +
				"# TYPE y_count untyped\ny_count{r=\"a\"} -2\ny_count{r=\"b\"} 3\n",
			exposition.MergeStats{TypeConflicts: 1},
		},
		{
			"S08 all series are kept under one HELP", "# HELP x one\nx 1\n", "# HELP x two\nx 2\n",
			"# HELP x one\n# TYPE x untyped\nx{r=\"a\"} 1\nx{r=\"b\"} 2\n",
			exposition.MergeStats{HelpConflicts: 1},
		},
		{
			"a missing HELP is not a conflict", "x 1\n", "# HELP x two\nx 2\n",
			"# HELP x two\n# TYPE x untyped\nx{r=\"a\"} 1\nx{r=\"b\"} 2\n",
			exposition.MergeStats{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m exposition.Merger
			blocks := merged(t, c.a, c.b)
			page := render(t, &m, blocks...)
			require.Equal(t, c.want, page)
			require.Equal(t, c.stats, m.Layout(blocks).Stats())
			requireReadable(t, mustReadings(t, page), page)
		})
	}
}

func TestConflictsNameTarget(t *testing.T) {
	for _, c := range []struct {
		name   string
		bodies []string
		want   []exposition.Conflict
	}{
		{"nobody differs", []string{"# TYPE x gauge\nx 1\n", "x 1\n", "# HELP x h\nx 1\n"}, nil},
		{
			"by TYPE",
			[]string{"# TYPE x gauge\nx 1\n", "# TYPE x counter\nx 1\n", "# TYPE x counter\nx 1\n"},
			[]exposition.Conflict{{Family: "x", Kind: "type", Block: 0, Value: "gauge"}},
		},
		{
			"by HELP, the most frequent",
			[]string{"# HELP x h\nx 1\n", "# HELP x i\nx 1\n", "# HELP x i\nx 1\n"},
			[]exposition.Conflict{{Family: "x", Kind: "help", Block: 0, Value: "h"}},
		},
		{
			"by HELP",
			[]string{"# HELP x h\nx 1\n", "# HELP x i\nx 1\n", "x 1\n"},
			[]exposition.Conflict{{Family: "x", Kind: "help", Block: 1, Value: "i"}},
		},
		{
			"by a name of a sample",
			[]string{"# TYPE x summary\nx_sum 1\n", "# TYPE x_sum gauge\nx_sum 1\n"},
			[]exposition.Conflict{{Family: "x_sum", Kind: "type", Block: 1, Value: "gauge"}},
		},
		{
			"by a summary with the most frequent sample name",
			[]string{"# TYPE x summary\nx_sum 1\n", "# TYPE x_sum gauge\nx_sum 1\n", "# TYPE x_sum gauge\nx_sum 1\n"},
			[]exposition.Conflict{{Family: "x", Kind: "type", Block: 0, Value: "summary"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m exposition.Merger
			l := m.Layout(merged(t, c.bodies...))
			require.Equal(t, c.want, l.Conflicts())
		})
	}
	t.Run("of very many the first hundred are named", func(t *testing.T) {
		var one, other strings.Builder
		for i := range 200 {
			fmt.Fprintf(&one, "# TYPE x%d gauge\nx%d 1\n", i, i)
			fmt.Fprintf(&other, "# TYPE x%d counter\nx%d 1\n", i, i)
		}
		var m exposition.Merger
		l := m.Layout(merged(t, one.String(), other.String()))
		require.Len(t, l.Conflicts(), 100)
		require.Equal(t, 200, l.Stats().TypeConflicts)
	})
}

func TestFamilySelection(t *testing.T) {
	blocks := merged(t, "# TYPE a counter\na 1\nb 2\n{\"c.d\"} 3\n", "a 4\n")
	for _, c := range []struct {
		name  string
		names []string
		want  string
	}{
		{"one name", []string{"b"}, "# TYPE b untyped\nb{r=\"a\"} 2\n"},
		{
			"two names",
			[]string{"b", "a"},
			"# TYPE a counter\na{r=\"a\"} 1\na{r=\"b\"} 4\n# TYPE b untyped\nb{r=\"a\"} 2\n",
		},
		{"a quoted name", []string{"c.d"}, "# TYPE \"c.d\" untyped\n{\"c.d\",r=\"a\"} 3\n"},
		{"X07 an unknown name is an empty page", []string{"zzz"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			only := func(name string) bool { return slices.Contains(c.names, name) }
			page := renderOnly(t, &exposition.Merger{}, only, blocks...)
			require.Equal(t, c.want, page)
		})
	}
}

// brokenWriter fails after some writes.
type brokenWriter struct{ writes int }

var errBroken = errors.New("broken")

func (w *brokenWriter) Write(p []byte) (int, error) {
	w.writes--
	if w.writes < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestLargePagesAreWrittenInChunks(t *testing.T) {
	var body strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&body, "a{n=\"%d\"} %d\n", i, i)
	}
	body.WriteString("b 1\n")
	blocks := merged(t, body.String(), "# HELP c "+strings.Repeat("long", 50_000)+"\nc 1\n", "b 2\n")
	var m exposition.Merger
	l := m.Layout(blocks)
	var out bytes.Buffer
	require.NoError(t, l.WriteText(&out, blocks, nil))
	require.EqualValues(t, out.Len(), l.TextLength(blocks, nil))
	require.Len(t, mustReadings(t, out.String()), 40_003)
	for writes := range 2 {
		require.ErrorIs(t, l.WriteText(&brokenWriter{writes}, blocks, nil), errBroken)
	}
}
