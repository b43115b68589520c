package exposition_test

import (
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// ours returns a gauge with two series, a counter and a histogram.
func ours() []exposition.ComputedSeries {
	gauge := exposition.Family{Name: "depth", Type: model.MetricTypeGauge, Help: "Requests."}
	counter := exposition.Family{Name: "done_total", Type: model.MetricTypeCounter, Help: "Requests done."}
	histogram := exposition.Family{Name: "wait", Type: model.MetricTypeHistogram, Help: "Waiting."}
	return []exposition.ComputedSeries{
		{Family: gauge, Labels: labels.FromStrings("side", "left")},
		{Family: gauge, Labels: labels.FromStrings("side", "right")},
		{Family: counter, Labels: labels.EmptyLabels()},
		{Family: histogram, Suffix: "_bucket", Labels: labels.FromStrings("le", "1")},
		{Family: histogram, Suffix: "_bucket", Labels: labels.FromStrings("le", "+Inf")},
		{Family: histogram, Suffix: "_sum", Labels: labels.EmptyLabels()},
		{Family: histogram, Suffix: "_count", Labels: labels.EmptyLabels()},
	}
}

// pageOf returns the page of computed series whose values are their numbers.
func pageOf(t *testing.T, c *exposition.Shape, values int) string {
	t.Helper()
	b := c.Block()
	for i := range values {
		b.Set(i, float64(i))
	}
	var text strings.Builder
	blocks := []*exposition.Block{b}
	require.NoError(t, new(exposition.Merger).Layout(blocks).WriteText(&text, blocks, nil))
	return text.String()
}

// renamed returns a labeler that renames a metric.
func renamed(from, to string) exposition.Labeler {
	return func(in labels.Labels) exposition.Labeled {
		b := labels.NewBuilder(in)
		if in.Get(model.MetricNameLabel) == from {
			b.Set(model.MetricNameLabel, to)
		}
		return exposition.Labeled{Labels: b.Labels(), Keep: true}
	}
}

// without returns a labeler that removes a label.
func without(name string) exposition.Labeler {
	return func(in labels.Labels) exposition.Labeled {
		return exposition.Labeled{Labels: labels.NewBuilder(in).Del(name).Labels(), Keep: true}
	}
}

func TestComputedBlockValues(t *testing.T) {
	page := parse(t, exposition.Options{Watch: func(string) bool { return true }}, "a 1.50\nb 007\n")
	c := exposition.NewComputed(ours(), nil)
	require.Empty(t, render(t, &exposition.Merger{}, c.Block()), "HELP and TYPE are absent too")
	b := c.Block()
	b.CopyText(0, page, page.Shape().WatchedIndex(0))
	b.CopyText(2, page, page.Shape().WatchedIndex(1))
	b.Set(6, 0.25)
	b.Repeat(1, 6)
	b.Unset(2)
	require.Equal(t, "# HELP depth Requests.\n# TYPE depth gauge\ndepth{side=\"left\"} 1.50\n"+
		"depth{side=\"right\"} 0.25\n# HELP wait Waiting.\n# TYPE wait histogram\n"+
		"wait_count 0.25\n", render(t, &exposition.Merger{}, b))
	require.Equal(t, "a 1.50\n", string(page.AppendFamily(nil, 0)), "the page is as it was")
	require.Equal(t, 3, b.Samples())
	v, ok := b.Value(1)
	require.True(t, ok, "the second series has a value")
	require.Equal(t, 0.25, v)
	_, ok = b.Value(2)
	require.False(t, ok, "the third series has none")
	require.Equal(t, `{__name__="depth", side="right"}`, b.Shape().Labels(1).String())
	first, end := b.Shape().Families()[2].Lines()
	require.Equal(t, []int{3, 7}, []int{first, end})
	require.Empty(t, render(t, &exposition.Merger{}, c.Block()), "nothing of the block before")

	dropped := exposition.NewComputed(ours(), func(in labels.Labels) exposition.Labeled {
		return exposition.Labeled{Labels: in}
	})
	require.Empty(t, pageOf(t, dropped, len(ours())), "a series that is absent may be set")
}

func TestComputedSeriesAreRelabelled(t *testing.T) {
	const (
		depth = "# HELP depth Requests.\n# TYPE depth gauge\ndepth{side=\"left\"} 0\ndepth{side=\"right\"} 1\n"
		done  = "# HELP done_total Requests done.\n# TYPE done_total counter\ndone_total 2\n"
		wait  = "# HELP wait Waiting.\n# TYPE wait histogram\nwait_bucket{le=\"1\"} 3\nwait_bucket{le=\"+Inf\"} 4\n" +
			"wait_sum 5\nwait_count 6\n"
	)
	for _, c := range []struct {
		name  string
		label exposition.Labeler
		want  string
	}{
		{"no labeler", nil, depth + done + wait},
		{"no effect", without("other"), depth + done + wait},
		{"a dropped family", func(in labels.Labels) exposition.Labeled {
			return exposition.Labeled{Labels: in, Keep: in.Get(model.MetricNameLabel) != "depth"}
		}, done + wait},
		{
			"the first of equal series is kept", without("side"),
			"# HELP depth Requests.\n# TYPE depth gauge\ndepth 0\n" + done + wait,
		},
		{
			"another name is untyped", renamed("depth", "x"),
			done + wait + "# TYPE x untyped\nx{side=\"left\"} 0\nx{side=\"right\"} 1\n",
		},
		{
			"a name of an existing family", renamed("depth", "done_total"),
			"# HELP done_total Requests done.\n# TYPE done_total counter\ndone_total{side=\"left\"} 0\n" +
				"done_total{side=\"right\"} 1\ndone_total 2\n" + wait,
		},
		{
			"a bucket without a bound is none", without("le"),
			depth + done + "# HELP wait Waiting.\n# TYPE wait histogram\nwait_sum 5\nwait_count 6\n",
		},
		{"no name", renamed("depth", ""), done + wait},
		{"a name that readers reject", renamed("depth", "a\x00"), done + wait},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, pageOf(t, exposition.NewComputed(ours(), c.label), len(ours())))
		})
	}
}

func TestComputedSeriesYieldToOtherBlocks(t *testing.T) {
	gauge := exposition.Family{Name: "x", Type: model.MetricTypeGauge}
	before := exposition.NewComputed([]exposition.ComputedSeries{
		{Family: gauge, Labels: labels.FromStrings("replica_id", "r", "side", "up")},
		{Family: gauge, Labels: labels.FromStrings("replica_id", "r", "side", "left")},
	}, nil).Block()
	all := ours()[:3]
	for i := range all {
		all[i].Labels = labels.NewBuilder(all[i].Labels).Set("replica_id", "r").Labels()
	}
	to := renamed("depth", "x")
	require.Equal(t, "# HELP done_total Requests done.\n# TYPE done_total counter\ndone_total{replica_id=\"r\"} 2\n"+
		"# TYPE x untyped\nx{replica_id=\"r\",side=\"right\"} 1\n",
		pageOf(t, exposition.NewComputed(all, to, nil, before.Shape()), len(all)))
	require.Contains(t, pageOf(t, exposition.NewComputed(all, to), len(all)), `side="left"} 0`)
	named := pageOf(t, exposition.NewComputed(all, renamed("depth", "y"), before.Shape()), len(all))
	require.Contains(t, named, `y{replica_id="r",side="left"} 0`, "they have another name")
}

func TestComputedSeriesYieldToSamples(t *testing.T) {
	const histogram = "# TYPE wait histogram\nwait_bucket{le=\"+Inf\"} 9\nwait_sum 9\nwait_count 9\n"
	const rest = "# HELP wait Waiting.\n# TYPE wait histogram\nwait_bucket{le=\"1\"} 0\nwait_bucket{le=\"+Inf\"} 1\n" +
		"wait_sum 2\n"
	for _, c := range []struct {
		name, before string
		series       []exposition.ComputedSeries
		to, want     string
	}{
		{"a counter with the name of a histogram's count", histogram, ours()[2:3], "wait_count", ""},
		{"a counter with another name", histogram, ours()[2:3], "wait_max", "# TYPE wait_max untyped\nwait_max 0\n"},
		{"a histogram next to its count", "# TYPE wait_count gauge\nwait_count 9\n", ours()[3:], "", rest},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := parse(t, exposition.Options{}, c.before)
			shape := exposition.NewComputed(c.series, renamed("done_total", c.to), before.Shape())
			require.Equal(t, c.want, pageOf(t, shape, len(c.series)))
		})
	}
}
