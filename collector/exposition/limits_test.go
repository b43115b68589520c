package exposition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestLimits(t *testing.T) {
	many := strings.Builder{}
	for i := range 65 {
		many.WriteString("l" + strings.Repeat("x", i) + "=\"1\",")
	}
	thousands := strings.Builder{}
	for i := range 300_000 {
		fmt.Fprintf(&thousands, "some_label_%d=\"\",", i)
	}
	thousands.WriteString(many.String())
	for _, c := range []struct {
		name, body string
		limits     exposition.Limits
		want       error
	}{
		{"B18 more samples than allowed", "a 1\nb 1\nc 1\n", exposition.Limits{Samples: 2}, exposition.ErrSampleLimit},
		{
			"families without samples", "# HELP a x\n# TYPE b gauge\n# HELP c x\n# HELP d x\nd 1\n",
			exposition.Limits{Samples: 2},
			exposition.ErrSampleLimit,
		},
		{"as many samples as allowed", "a 1\nb 1\n", exposition.Limits{Samples: 2}, nil},
		{"L09 65 labels", "a{" + many.String() + "} 1\n", exposition.DefaultLimits, exposition.ErrLabelLimit},
		{
			"more labels than could be compared with each other", "a{" + thousands.String() + "} 1\n",
			exposition.DefaultLimits, exposition.ErrLabelLimit,
		},
		{
			"L09 a value of 10 KiB", "a{x=\"" + strings.Repeat("v", 10<<10) + "\"} 1\n", exposition.DefaultLimits,
			exposition.ErrLabelLimit,
		},
		{
			"a label name of 257 bytes", "a{" + strings.Repeat("n", 257) + "=\"1\"} 1\n", exposition.DefaultLimits,
			exposition.ErrLabelLimit,
		},
		{
			"B17 one line of a megabyte", "a{x=\"" + strings.Repeat("v", 1<<20) + "\"} 1\n", exposition.DefaultLimits,
			exposition.ErrLabelLimit,
		},
		{
			"L09 a name of 257 bytes", strings.Repeat("n", 257) + " 1\n", exposition.DefaultLimits,
			exposition.ErrLabelLimit,
		},
		{"a name of 256 bytes", strings.Repeat("n", 256) + " 1\n", exposition.DefaultLimits, nil},
		{
			"zero limits are none", strings.Repeat("n", 1000) + " 1\n# HELP b " + strings.Repeat("h", 2000) + "\nb 1\n",
			exposition.Limits{},
			nil,
		},
		{
			"zero limits of labels are none", "a{x=\"" + strings.Repeat("v", 10<<10) + "\"," + many.String() + "} 1\n",
			exposition.Limits{},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseWith(t, exposition.NewCache(exposition.Options{Limits: c.limits}), c.body, "")
			require.ErrorIs(t, err, c.want)
			if c.want != nil {
				require.Contains(t, err.Error(), "limits.", "the message names the key")
				require.Less(t, len(err.Error()), 200)
			}
		})
	}
}

func TestL11OwnPageIsRefused(t *testing.T) {
	c := exposition.NewCache(exposition.Options{SelfMarker: `trtllm_exporter_instance{id="7f"}`})
	_, err := parseWith(t, c, "a 1\ntrtllm_exporter_instance{id=\"7f\"} 1\n", "")
	require.ErrorIs(t, err, exposition.ErrSelfScrape)
	_, err = parseWith(t, c, "a 1\ntrtllm_exporter_instance{id=\"80\"} 1\n", "")
	require.NoError(t, err)
}

func TestLongHelpIsTruncated(t *testing.T) {
	for _, c := range []struct {
		help, want string
		limit      int
	}{
		{"0123456789", "0123456789", 10},
		{"0123456789a", "0123456...", 10},
		{"01234567ü90", "01234567...", 11},
		{"0123456ü890", "0123456...", 11},
		{"01234", "..", 2},
		{strings.Repeat("h", 5000), strings.Repeat("h", 5000), 0},
	} {
		opts := exposition.Options{Limits: exposition.Limits{Help: c.limit}}
		page := reExpose(t, opts, "# HELP a "+c.help+"\na 1\n")
		require.Equal(t, "# HELP a "+c.want+"\n# TYPE a untyped\na 1\n", page)
		require.Equal(t, page, reExpose(t, opts, page), "and stays as it is")
	}
}

// TestDroppedSeriesAreStillWatched: the value of a watched series is read
// whether or not it is dropped, unless its name is reserved.
func TestDroppedSeriesAreStillWatched(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		watched        int
	}{
		{"unchanged name", "depth", "depth", 1},
		{"above the output limits", "depth", "depth", 1},
		{"renamed", "depth", "x", 1},
		{"renamed to a reserved name", "depth", "llm_server_depth", 1},
		{"renamed to nothing", "depth", "", 1},
		{"renamed from a reserved name", "llm_server_depth", "x", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := exposition.Options{
				Watch:    func(string) bool { return true },
				Reserved: []string{"llm_server_"},
			}
			if c.name == "above the output limits" {
				opts.Limits.Output.Bytes = 1
			}
			b := parse(t, opts, c.from+" 7\n", new(renamed(c.from, c.to)))
			require.Equal(t, c.watched, b.Shape().Watched())
			for i := range c.watched {
				require.Equal(
					t,
					c.from,
					b.Shape().WatchedLabels(i).Get(model.MetricNameLabel),
					"as the server wrote it",
				)
				v, _ := b.WatchedValue(i)
				require.EqualValues(t, 7, v)
			}
		})
	}
}
