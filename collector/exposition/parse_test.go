package exposition_test

import (
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestParseValidPages(t *testing.T) {
	for _, c := range []struct {
		name, body, want string
		drops            map[string]int
	}{
		{
			"S01 the first of two equal series is kept", "a 1\na 2\n", "# TYPE a untyped\na 1\n",
			map[string]int{exposition.DropDuplicate: 1},
		},
		{
			"S02 series are equal whatever the order of labels", "a{x=\"1\",y=\"2\"} 1\na{y=\"2\",x=\"1\"} 2\n",
			"# TYPE a untyped\na{x=\"1\",y=\"2\"} 1\n",
			map[string]int{exposition.DropDuplicate: 1},
		},
		{
			"S03 a split family becomes one block", "# TYPE a counter\na{x=\"1\"} 1\n# TYPE b gauge\nb 1\n" +
				"a{x=\"2\"} 2\n",
			"# TYPE a counter\na{x=\"1\"} 1\na{x=\"2\"} 2\n# TYPE b gauge\nb 1\n", nil,
		},
		{
			"S04 samples under a second TYPE are dropped until the first is repeated",
			"# TYPE a counter\na{x=\"1\"} 1\n# TYPE a gauge\na{x=\"2\"} 2\n# TYPE a counter\na{x=\"3\"} 3\n",
			"# TYPE a counter\na{x=\"1\"} 1\na{x=\"3\"} 3\n",
			map[string]int{exposition.DropTypeConflict: 1},
		},
		{
			"S04 buckets under a TYPE that is no longer histogram are dropped",
			"# TYPE a histogram\na_count 1\n# TYPE a gauge\na_bucket{le=\"1\"} 2\na_total 3\n",
			"# TYPE a histogram\na_count 1\n# TYPE a_total untyped\na_total 3\n",
			map[string]int{exposition.DropTypeConflict: 1},
		},
		{
			"S04 a conflict does not affect similar names",
			"# TYPE a counter\n# TYPE a gauge\na_sum 2\n", "# TYPE a_sum untyped\na_sum 2\n", nil,
		},
		{
			"S10 NaN as prometheus-cpp spells it becomes NaN",
			"# TYPE a summary\na_count 0\na_sum 0\na{quantile=\"0.5\"} Nan\n",
			"# TYPE a summary\na_count 0\na_sum 0\na{quantile=\"0.5\"} NaN\n", nil,
		},
		{
			"S11 infinities get the one spelling of the format",
			"a Inf\nb +Inf\nc -Inf\nd inf\ne +infinity\nf -INF\ng nan\nh +Infinity 17\n",
			"# TYPE a untyped\na +Inf\n# TYPE b untyped\nb +Inf\n# TYPE c untyped\nc -Inf\n# TYPE d untyped\nd +Inf\n" +
				"# TYPE e untyped\ne +Inf\n# TYPE f untyped\nf -Inf\n# TYPE g untyped\ng NaN\n# TYPE h " +
				"untyped\nh +Inf\n", nil,
		},
		{"S11 a negative counter passes", "# TYPE a counter\na -1\n", "# TYPE a counter\na -1\n", nil},
		{
			"S13 a histogram without +Inf passes", "# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n",
			"# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n", nil,
		},
		{
			"S13 a histogram with decreasing buckets passes",
			"# TYPE a histogram\na_bucket{le=\"1\"} 5\na_bucket{le=\"+Inf\"} 1\n",
			"# TYPE a histogram\na_bucket{le=\"1\"} 5\na_bucket{le=\"+Inf\"} 1\n", nil,
		},
		{
			"a bucket with a negative count is dropped, for readers refuse the page",
			"# TYPE a histogram\na_bucket{le=\"1\"} -5\na_bucket{le=\"+Inf\"} -0\na_count -Inf\na_sum -1\n",
			"# TYPE a histogram\na_bucket{le=\"+Inf\"} -0\na_sum -1\n",
			map[string]int{exposition.DropInvalidHistogram: 2},
		},
		{
			"missing, invalid and unexpected bounds are dropped",
			"# TYPE a histogram\na_bucket 1\na_bucket{le=\"x\"} 1\na_count{le=\"1\"} 1\na 1\na_sum 2\n",
			"# TYPE a histogram\na_sum 2\n",
			map[string]int{exposition.DropInvalidHistogram: 4},
		},
		{
			"missing, invalid and unexpected quantiles are dropped",
			"# TYPE a summary\na 1\na{quantile=\"x\"} 1\na_count{quantile=\"0.5\"} 1\na_sum 2\n",
			"# TYPE a summary\na_sum 2\n",
			map[string]int{exposition.DropInvalidSummary: 3},
		},
		{
			"buckets are equal when their bounds are the same number",
			"# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"1.0\"} 2\na_bucket{le=\"1e0\"} 3\n",
			"# TYPE a histogram\na_bucket{le=\"1\"} 1\n",
			map[string]int{exposition.DropDuplicate: 2},
		},
		{
			"outside histograms le is a label like others", "a{le=\"1\"} 1\na{le=\"1.0\"} 2\n",
			"# TYPE a untyped\na{le=\"1\"} 1\na{le=\"1.0\"} 2\n", nil,
		},
		{"S14 timestamps are stripped", "a 1 1546300800000\n", "# TYPE a untyped\na 1\n", nil},
		{
			"of equal series the newest timestamp counts, wherever it is",
			"a 800 1000\na 600 2000\na 900 3000\nb 3 3000\nb 1 1000\nc 1 1000\nc 3 3000\nc 2 2000\n",
			"# TYPE a untyped\na 900\n# TYPE b untyped\nb 3\n# TYPE c untyped\nc 3\n",
			map[string]int{exposition.DropDuplicate: 5},
		},
		{
			"a sample without a timestamp is of now, so the newest",
			"a 1 1000\na 2\na 3 2000\nb 2\nb 1 1000\n", "# TYPE a untyped\na 2\n# TYPE b untyped\nb 2\n",
			map[string]int{exposition.DropDuplicate: 3},
		},
		{
			"of equal series with equal timestamps the first counts", "a 1 1000\na 2 1000\n", "# TYPE a untyped\na 1\n",
			map[string]int{exposition.DropDuplicate: 1},
		},
		{
			"newest, whatever the order of labels",
			"# TYPE h histogram\nh_bucket{x=\"1\",le=\"+Inf\"} 1 1000\nh_bucket{le=\"+Inf\",x=\"1\"} 2 2000\n",
			"# TYPE h histogram\nh_bucket{le=\"+Inf\",x=\"1\"} 2\n",
			map[string]int{exposition.DropDuplicate: 1},
		},
		{
			"an older sample counts if the newest is invalid",
			"# TYPE h histogram\nh_count 1 1000\nh_count -2 2000\n", "# TYPE h histogram\nh_count 1\n",
			map[string]int{exposition.DropInvalidHistogram: 1},
		},
		{
			"S15 a family without samples is absent", "# HELP a x\n# TYPE a counter\n# TYPE b gauge\nb 1\n",
			"# TYPE b gauge\nb 1\n", nil,
		},
		{
			"L03 a label named __name__ drops its series", "a{__name__=\"b\"} 1\nc 1\n", "# TYPE c untyped\nc 1\n",
			map[string]int{exposition.DropReservedLabel: 1},
		},
		{
			"L03 so does every label of the scraper's kind", "a{__x__=\"b\"} 1\n", "",
			map[string]int{exposition.DropReservedLabel: 1},
		},
		{
			"L04 a label named twice drops its series", "a{x=\"1\",x=\"2\"} 1\nc 1\n", "# TYPE c untyped\nc 1\n",
			map[string]int{exposition.DropInvalidLabels: 1},
		},
		{
			"L04 also when one of the two is empty", "a{x=\"\",x=\"2\"} 1\n", "",
			map[string]int{exposition.DropInvalidLabels: 1},
		},
		{
			"a label without a name drops its series", "a{\"\"=\"2\"} 1\n", "",
			map[string]int{exposition.DropInvalidLabels: 1},
		},
		{
			"a label name with invalid UTF-8 drops its series", "a{\"\xff\"=\"2\"} 1\n", "",
			map[string]int{exposition.DropInvalidLabels: 1},
		},
		{
			"a metric name with invalid UTF-8 drops its series", "{\"\xff\"} 1\n{\"\"} 1\n", "",
			map[string]int{exposition.DropInvalidName: 2},
		},
		{
			"L05 quotes, backslashes and newlines are preserved", `a{x="q\"b\\n\n"} 1` + "\n",
			"# TYPE a untyped\n" + `a{x="q\"b\\n\n"} 1` + "\n", nil,
		},
		{"L06 a raw newline in a label is escaped", "a{x=\"1\n2\"} 1\n", "# TYPE a untyped\na{x=\"1\\n2\"} 1\n", nil},
		{
			"an unknown escape stands for itself", `a{x="\x"} 1` + "\n",
			"# TYPE a untyped\n" + `a{x="\\x"} 1` + "\n", nil,
		},
		{
			"L08 names beyond the old characters are quoted", "{\"a.b\",\"x y\"=\"1\"} 1\n",
			"# TYPE \"a.b\" untyped\n{\"a.b\",\"x y\"=\"1\"} 1\n", nil,
		},
		{"L08 unnecessary quotes are removed", "{\"a\",\"x\"=\"1\"} 1\n", "# TYPE a untyped\na{x=\"1\"} 1\n", nil},
		{
			"L08 metadata of a quoted name with escapes finds its family",
			`# HELP "a\"b" x` + "\n" + `# TYPE "a\"b" gauge` + "\n" + `{"a\"b"} 1` + "\n",
			`# HELP "a\"b" x` + "\n" + `# TYPE "a\"b" gauge` + "\n" + `{"a\"b"} 1` + "\n", nil,
		},
		{
			"L10 names of the exporter are refused", "trtllm_exporter_target_up 1\na 1\n", "# TYPE a untyped\na 1\n",
			map[string]int{exposition.DropReservedName: 1},
		},
		{
			"braces, commas and equals signs in a value", `a{x="},{="} 1` + "\n",
			"# TYPE a untyped\n" + `a{x="},{="} 1` + "\n", nil,
		},
		{
			"a quoted name after the labels", `{x="1","a.b"} 1` + "\n",
			`# TYPE "a.b" untyped` + "\n" + `{"a.b",x="1"} 1` + "\n", nil,
		},
		{"a quoted name with a brace", `{"a{b"} 1` + "\n", `# TYPE "a{b" untyped` + "\n" + `{"a{b"} 1` + "\n", nil},
		{
			"empty labels are not labels", "a{x=\"\",y=\"1\"} 1\nb{x=\"\"} 2\n",
			"# TYPE a untyped\na{y=\"1\"} 1\n# TYPE b untyped\nb 2\n", nil,
		},
		{
			"spaces, tabs and trailing commas do not matter", "\ta\t{ x = \"1\" , }\t1\t\n",
			"# TYPE a untyped\na{x=\"1\"} 1\n", nil,
		},
		{
			"commas between labels may be missing", "a{x=\"1\"y=\"2\"} 1\n",
			"# TYPE a untyped\na{x=\"1\",y=\"2\"} 1\n", nil,
		},
		{
			"B20 a value cut by the server cannot be known", "a 1\nb 12345",
			"# TYPE a untyped\na 1\n# TYPE b untyped\nb 12345\n", nil,
		},
		{
			"values keep the server's spelling", "a 1.15891634176e+011\nb 007\nc +1.50\n",
			"# TYPE a untyped\na 1.15891634176e+011\n# TYPE b untyped\nb 007\n# TYPE c untyped\nc +1.50\n", nil,
		},
		{
			"bounds keep the server's spelling", "# TYPE a histogram\na_bucket{le=\"100\"} 1\n" +
				"a_bucket{le=\"+Inf\"} 1\n",
			"# TYPE a histogram\na_bucket{le=\"100\"} 1\na_bucket{le=\"+Inf\"} 1\n", nil,
		},
		{
			"a number of too many digits is written anew",
			"a 0.1000000000000000055511151231257827\nb 1" + strings.Repeat("0", 40) + "\n" +
				"c +" + strings.Repeat("0", 1<<16) + "7\n",
			"# TYPE a untyped\na 0.1\n# TYPE b untyped\nb 1e+40\n# TYPE c untyped\nc 7\n", nil,
		},
		{"TYPE after its samples counts", "a 1\n# TYPE a counter\n", "# TYPE a counter\na 1\n", nil},
		{
			"the first HELP wins",
			"# HELP a x\n# TYPE a counter\n# HELP a y\na 1\n", "# HELP a x\n# TYPE a counter\na 1\n",
			nil,
		},
		{
			"a counter named count is not part of a histogram",
			"# TYPE nv_inference_count counter\nnv_inference_count 1\n",
			"# TYPE nv_inference_count counter\nnv_inference_count 1\n", nil,
		},
		{"HELP is escaped", "# HELP a x\\\\y\\nz\na 1\n", "# HELP a x\\\\y\\nz\n# TYPE a untyped\na 1\n", nil},
		{"the end mark of OpenMetrics is a comment in text", "a 1\n# EOF\n", "# TYPE a untyped\na 1\n", nil},
		{
			"series are sorted by their labels, families by name", "b{x=\"2\"} 1\nb{x=\"1\"} 1\na 1\n",
			"# TYPE a untyped\na 1\n# TYPE b untyped\nb{x=\"1\"} 1\nb{x=\"2\"} 1\n", nil,
		},
		{
			"the series of a histogram keep their order",
			"# TYPE h histogram\nh_bucket{m=\"2\",le=\"9\"} 1\nh_bucket{m=\"2\",le=\"10\"} 2\n" +
				"h_bucket{m=\"2\",le=\"+Inf\"} 3\nh_sum{m=\"2\"} 4\nh_count{m=\"2\"} 3\n" +
				"h_count{m=\"1\"} 1\nh_sum{m=\"1\"} 5\nh_bucket{m=\"1\",le=\"+Inf\"} 1\n",
			"# TYPE h histogram\nh_count{m=\"1\"} 1\nh_sum{m=\"1\"} 5\nh_bucket{le=\"+Inf\",m=\"1\"} 1\n" +
				"h_bucket{le=\"9\",m=\"2\"} 1\nh_bucket{le=\"10\",m=\"2\"} 2\nh_bucket{le=\"+Inf\",m=\"2\"} 3\n" +
				"h_sum{m=\"2\"} 4\nh_count{m=\"2\"} 3\n",
			nil,
		},
		{"a page without samples is a page", "\n", "", nil},
		{"an empty page is a page", "", "", nil},
		{"a NUL in a label is a character", "a{x=\"\x00\"} 1\n", "# TYPE a untyped\na{x=\"\x00\"} 1\n", nil},
		{"a NUL in a comment is a character", "# x\x00\na 1\n# x\x00\n", "# TYPE a untyped\na 1\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := exposition.Options{Reserved: []string{"trtllm_exporter_"}}
			b := parse(t, opts, c.body)
			page := render(t, &exposition.Merger{}, b)
			require.Equal(t, c.want, page)
			if c.drops == nil {
				c.drops = map[string]int{}
			}
			require.Equal(t, c.drops, dropped(b.Shape().Drops()))
			requireReadable(t, mustReadings(t, page), page)

			again := exposition.NewCache(opts)
			for range 3 {
				b, err := parseWith(t, again, c.body, "")
				require.NoError(t, err)
				require.Equal(t, c.want, render(t, &exposition.Merger{}, b), "the same body through the same cache")
			}
		})
	}
}

func TestParseInvalidPages(t *testing.T) {
	for _, c := range []struct {
		name, body, contentType string
		line                    int
	}{
		{"S09 a raw newline in HELP", "# HELP a first\nsecond line\n# TYPE a gauge\na 1\n", "", 2},
		{"S12 a number out of range", "a 1\nb 1e400\n", "", 2},
		{"L07 a label with invalid UTF-8", "a 1\n\n# note\nb{x=\"\xff\"} 1\n", "", 4},
		{"B19 Windows line ends", "# TYPE a counter\r\na 1\r\n", "", 1},
		{"B16 OpenMetrics without its end", "# TYPE a gauge\na 1\n", openMetrics, 3},
		{"text behind the end of OpenMetrics", "a 1\n# EOF\nb 1\n", openMetrics, 0},
		{"a page cut in a name", "a 1\nnv_infer", "", 2},
		{"a page cut in labels", "a 1\nb{x=\"1", "", 2},
		{"a page cut in TYPE", "a 1\n# TYPE b cou", "", 2},
		{"an unknown TYPE", "# HELP a x\n# TYPE a foo\na 1\n", "", 2},
		{"HELP with invalid UTF-8", "# HELP a \xff\na 1\n", "", 1},
		{"a hexadecimal value", "a 0x1p3\n", "", 1},
		{"an underscore in a value", "# HELP a b\\nc\na 1_000\n", "", 2},
		{"HTML", "<html><body>404</body></html>\n", "", 1},
		{"JSON", "{\"a\":1}\n", "", 1},
		{"a byte order mark", "\ufeffa 1\n", "", 1},
		{"a NUL between lines, where the parser ends the page", "a 1\n\x00b 2\n", "", 2},
		{"a NUL in a comment that hides the rest of the page", "a 1\nb 1\n#\x00\nc 2\n", "", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := exposition.NewCache(exposition.Options{})
			next, err := parseWith(t, cache, "kept 1\n# EOF\n", c.contentType)
			require.NoError(t, err)
			_, err = parseWith(t, cache, c.body, c.contentType)
			var parseErr *exposition.ParseError
			require.ErrorAs(t, err, &parseErr)
			require.Error(t, parseErr.Unwrap())
			if c.line > 0 {
				require.Equal(t, c.line, parseErr.Line, err.Error())
				require.Contains(t, err.Error(), "line ")
			}
			require.Equal(
				t,
				"# TYPE kept untyped\nkept 1\n",
				render(t, &exposition.Merger{}, next),
				"the previous page is kept",
			)
			require.True(t, cache.Fast("kept 2\n# EOF\n"), "the shape of the last good page is kept")
		})
	}
}

func TestParseByContentType(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		refused                 bool
	}{
		{"B13 HTML with any content is refused", "text/html; charset=utf-8", "a 1\n", true},
		{"B13 also with invalid parameters", "text/html; charset", "a 1\n", true},
		{"B14 JSON is refused", "application/json", "a 1\n", true},
		{"protobuf is refused", "application/vnd.google.protobuf", "a 1\n", true},
		{"B15 no content type is text", "", "a 1\n", false},
		{"an invalid media type is text", ";;;", "a 1\n", false},
		{"Triton's content type is text", "text/plain; charset=utf-8", "a 1\n", false},
		{"text with a version", "text/plain; version=0.0.4", "a 1\n", false},
		{"text in capitals", "Text/Plain", "a 1\n", false},
		{"OpenMetrics", openMetrics, "a 1\n# EOF\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseWith(t, exposition.NewCache(exposition.Options{}), c.body, c.contentType)
			require.Equal(t, c.contentType == openMetrics, exposition.IsOpenMetrics(c.contentType))
			if c.refused {
				require.ErrorIs(t, err, exposition.ErrContentType)
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestSameBytesInAnotherFormat(t *testing.T) {
	c := exposition.NewCache(exposition.Options{})
	body := "# TYPE a counter\na_total 1\n# EOF\n"
	text, err := parseWith(t, c, body, "")
	require.NoError(t, err)
	om, err := parseWith(t, c, body, openMetrics)
	require.NoError(t, err)
	require.Equal(t, "# TYPE a_total untyped\na_total 1\n", render(t, &exposition.Merger{}, text))
	require.Equal(t, "# TYPE a_total counter\na_total 1\n", render(t, &exposition.Merger{}, om))
}

func TestOpenMetricsFamiliesBecomeTextFamilies(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{
			"a counter's family is its sample name", "# HELP a x\n# TYPE a counter\na_total 1\na_created 2\n",
			"# HELP a x\n# TYPE a_created gauge\na_created 2\n# HELP a_total x\n# TYPE a_total counter\na_total 1\n",
		},
		{"info becomes a gauge", "# TYPE a info\na_info{v=\"1\"} 1\n", "# TYPE a_info gauge\na_info{v=\"1\"} 1\n"},
		{"a state set becomes a gauge", "# TYPE a stateset\na{a=\"x\"} 1\n", "# TYPE a gauge\na{a=\"x\"} 1\n"},
		{"unknown is untyped", "# TYPE a unknown\na 1\n", "# TYPE a untyped\na 1\n"},
		{
			"a gauge histogram becomes plain families",
			"# TYPE a gaugehistogram\na_bucket{le=\"+Inf\"} 1\na_gcount 1\na_gsum 1\n",
			"# TYPE a_bucket untyped\na_bucket{le=\"+Inf\"} 1\n# TYPE a_gcount untyped\na_gcount 1\n# TYPE " +
				"a_gsum untyped\n" +
				"a_gsum 1\n",
		},
		{
			"exemplars and timestamps are removed", "# TYPE a counter\na_total 1 1.5 # {t=\"x\"} 1 2\n",
			"# TYPE a_total counter\na_total 1\n",
		},
		{"a counter sample without _total has no type", "# TYPE a counter\na 1\n", "# TYPE a untyped\na 1\n"},
		{
			"samples under a second TYPE are dropped", "# TYPE a counter\na_total 1\n# TYPE a gauge\n" +
				"a_total{x=\"1\"} 1\n",
			"# TYPE a_total counter\na_total 1\n",
		},
		{
			"a histogram stays one",
			"# TYPE a_seconds histogram\n# UNIT a_seconds seconds\na_seconds_bucket{le=\"+Inf\"} 1\n" +
				"a_seconds_count 1\n" +
				"a_seconds_sum 2.5\n",
			"# TYPE a_seconds histogram\na_seconds_bucket{le=\"+Inf\"} 1\na_seconds_count 1\na_seconds_sum 2.5\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := parseWith(t, exposition.NewCache(exposition.Options{}), c.body+"# EOF\n", openMetrics)
			require.NoError(t, err)
			page := render(t, &exposition.Merger{}, b)
			want := c.want
			if strings.Contains(c.body, "_created") {
				want = strings.Replace(want, "# HELP a x\n", "# HELP a_created x\n", 1)
			}
			require.Equal(t, want, page)
			requireReadable(t, mustReadings(t, page), page)
		})
	}
}

func TestTargetCannotImpersonateAnother(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"L01 its label moves to exported_", "a{pool_id=\"evil\"} 1\n", `exported_pool_id="evil"`},
		{
			"L02 a taken name gets another prefix", "a{pool_id=\"evil\",exported_pool_id=\"x\"} 1\n",
			`exported_exported_pool_id="evil",exported_pool_id="x"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := parse(t, exposition.Options{}, c.body, new(exposition.Labeler(identify)))
			page := render(t, &exposition.Merger{}, b)
			require.Contains(t, page, c.want)
			require.Contains(t, page, `,pool_id="llama"`)
			require.EqualValues(t, 1, b.Shape().Drops().Collisions)
			requireReadable(t, mustReadings(t, page), page)
		})
	}
}

func TestRelabelingDropsSeries(t *testing.T) {
	label := exposition.Labeler(func(lset labels.Labels) exposition.Labeled {
		name := lset.Get(model.MetricNameLabel)
		b := labels.NewBuilder(lset)
		switch name {
		case "renamed":
			b.Set(model.MetricNameLabel, "z")
		case "stolen":
			b.Set(model.MetricNameLabel, "trtllm_exporter_up")
		case "nameless":
			b.Del(model.MetricNameLabel)
		case "folded":
			b.Del("x")
		case "nul":
			b.Set("\x00", "1")
		case "nulname":
			b.Set(model.MetricNameLabel, "a\x00b")
		case "invalid":
			b.Set("x", "\xff")
		}
		return exposition.Labeled{Labels: b.Labels(), Keep: name != "gone"}
	})
	body := "# TYPE z gauge\nrenamed 1\nstolen 1\nnameless 1\ngone 1\nfolded{x=\"1\"} 1\nfolded{x=\"2\"} 2\nnul 1\n" +
		"nulname 1\ninvalid 1\n"
	b := parse(t, exposition.Options{Reserved: []string{"trtllm_exporter_"}}, body, &label)
	require.Equal(t, "# TYPE folded untyped\nfolded 1\n# TYPE z gauge\nz 1\n", render(t, &exposition.Merger{}, b))
	require.Equal(t, map[string]int{
		exposition.DropReservedName:  1,
		exposition.DropInvalidName:   2,
		exposition.DropRelabel:       1,
		exposition.DropDuplicate:     1,
		exposition.DropInvalidLabels: 2,
	}, dropped(b.Shape().Drops()))
}

func TestPageHasLabelsOfItsLabeler(t *testing.T) {
	c := exposition.NewCache(exposition.Options{})
	before, err := parseWith(t, c, "a 1\n", "")
	require.NoError(t, err)
	after, err := parseWith(t, c, "a 1\n", "", new(exposition.Labeler(identify)))
	require.NoError(t, err)
	require.NotContains(t, render(t, &exposition.Merger{}, before), "pool_id")
	require.Contains(t, render(t, &exposition.Merger{}, after), "pool_id")
}

func TestSeriesIsRelabeledOnceWhilePagesChange(t *testing.T) {
	calls := map[string]int{}
	c, label := exposition.NewCache(
		exposition.Options{},
	), exposition.Labeler(
		func(lset labels.Labels) exposition.Labeled {
			calls[lset.Get(model.MetricNameLabel)]++
			return exposition.Labeled{Labels: lset, Keep: true}
		},
	)
	for _, body := range []string{"a 1\n", "a 1\nb 1\n", "a 1\nb 1\nc 1\n", "b 1\n", "a 1\n"} {
		_, err := parseWith(t, c, body, "", &label)
		require.NoError(t, err)
	}
	require.Equal(
		t,
		map[string]int{"a": 3, "b": 1, "c": 1},
		calls,
		"only the last page is remembered, but not the first",
	)
}
