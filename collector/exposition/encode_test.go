package exposition_test

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// everyType is a page with a family of each type.
const everyType = `# HELP c_total counted\nthings
# TYPE c_total counter
c_total{x="1"} 3
# TYPE g gauge
g{x="q\"\\\n"} -1.5
g{x="b"} NaN
# TYPE h histogram
h_bucket{x="1",le="0.5"} 1
h_bucket{x="1",le="2"} 2
h_bucket{x="1",le="+Inf"} 3
h_sum{x="1"} 4.5
h_count{x="1"} 3
h_bucket{x="2",le="+Inf"} 0
h_sum{x="2"} 0
h_count{x="2"} 0
# HELP nv_inference_count inferences
# TYPE nv_inference_count counter
nv_inference_count{model="m"} 7
# TYPE s summary
s_count{x="1"} 2
s_sum{x="1"} 5
s{x="1",quantile="0.5"} 1
s{x="1",quantile="0.9"} NaN
# TYPE u untyped
u 1
`

// encode writes the page of one body in a format.
func encode(t *testing.T, body string, format expfmt.Format, only func(string) bool) []byte {
	t.Helper()
	return []byte(newPageLayout(parse(t, exposition.Options{}, body)).only(t, format, only))
}

// formatOf returns an expfmt format with an escaping.
func formatOf(typ expfmt.FormatType, scheme model.EscapingScheme) expfmt.Format {
	return expfmt.NewFormat(typ).WithEscapingScheme(scheme)
}

func TestFormatsHaveSameSamples(t *testing.T) {
	want := mustReadings(t, everyType)
	text := reExpose(t, exposition.Options{}, everyType)
	requireReadable(t, want, text)
	mfs, err := families(text)
	require.NoError(t, err)
	require.Equal(t, "counted\nthings", mfs["c_total"].GetHelp())
	require.EqualValues(t, 3, mfs["h"].Metric[0].Histogram.GetSampleCount())
	require.Contains(t, text, "# TYPE nv_inference_count counter\n")

	page := string(encode(t, everyType, formatOf(expfmt.TypeOpenMetrics, model.NoEscaping), nil))
	require.True(t, strings.HasSuffix(page, "# EOF\n"))
	got, err := readings([]byte(page), openMetrics)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Contains(t, page, "# TYPE nv_inference_count unknown\n", "a counter without _total, which is why text wins by default")
	require.Contains(t, page, "# TYPE c counter\n")
}

func TestUTF8NamesAreEscapedUnlessAccepted(t *testing.T) {
	body := "# TYPE \"a.b\" counter\n{\"a.b\",\"x y\"=\"1\"} 1\n"
	blocks := []*exposition.Block{parse(t, exposition.Options{}, body)}
	var m exposition.Merger
	require.True(t, m.Layout(blocks).NeedsUTF8())
	require.Equal(t, "# TYPE a_b counter\na_b{x_y=\"1\"} 1\n", string(encode(t, body, formatOf(expfmt.TypeTextPlain, model.UnderscoreEscaping), nil)))
	require.Equal(t, "# TYPE U__a_2e_b counter\nU__a_2e_b{U__x_20_y=\"1\"} 1\n", string(encode(t, body, formatOf(expfmt.TypeTextPlain, model.ValueEncodingEscaping), nil)))
	requireSamePage(t, render(t, &m, blocks...), string(encode(t, body, formatOf(expfmt.TypeTextPlain, model.NoEscaping), nil)), "both encoders say the same")
}

func TestOnlyUnusualNamesNeedUTF8(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       bool
	}{
		{"old names", "a{x=\"1\"} 1\n", false},
		{"a value like a quoted label", `a{x=",\"y\"=\"",y="{\""} 1` + "\n", false},
		{"a metric name", "{\"a.b\"} 1\n", true},
		{"a label name", "a{\"x.y\"=\"1\"} 1\n", true},
		{"a later label name", "a{b=\"1\",\"x.y\"=\"1\"} 1\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m exposition.Merger
			require.Equal(t, c.want, m.Layout([]*exposition.Block{parse(t, exposition.Options{}, c.body)}).NeedsUTF8())
		})
	}
}

func TestEscapedNamesDoNotCollide(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"an ordinary family keeps its name in any order", "{\"a.b\"} 1\na_b 2\n", "# TYPE a_b untyped\na_b 2\n"},
		{"of two odd ones the first keeps it", "{\"a.b\"} 1\n{\"a-b\"} 2\n", "# TYPE a_b untyped\na_b 2\n"},
		{"a series whose labels become equal is dropped", "a{\"x.y\"=\"1\",x_y=\"2\"} 1\na{\"x.y\"=\"1\"} 2\n", "# TYPE a untyped\na{x_y=\"1\"} 2\n"},
		{"with other labels both stay", "# TYPE \"a.b\" counter\n{\"a.b\",x=\"1\"} 7\n# TYPE a_b counter\na_b 8\n", "# TYPE a_b counter\na_b{x=\"1\"} 7\na_b 8\n"},
		{"a histogram whose name becomes that of another one", "# TYPE \"i.j\" histogram\n{\"i.j_bucket\",le=\"+Inf\"} 1\n# TYPE i_j histogram\ni_j_bucket{le=\"1\"} 1\n", "# TYPE i_j histogram\ni_j_bucket{le=\"+Inf\"} 1\ni_j_bucket{le=\"1\"} 1\n"},
		{"a series whose label becomes the name is dropped", "a{\"..name__\"=\"b\"} 1\n", ""},
		{"a colon is not a character of a label", "a{\"x:y\"=\"1\"} 1\n", "# TYPE a untyped\na{x_y=\"1\"} 1\n"},
		{"names of the exporter are refused in disguise too", "{\"trtllm.exporter_up\"} 1\n{\"a.b\"} 1\n", "# TYPE a_b untyped\na_b 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := parse(t, exposition.Options{Reserved: []string{"trtllm_exporter_"}}, c.body)
			require.Equal(t, c.want, pageIn(t, formatOf(expfmt.TypeTextPlain, model.UnderscoreEscaping), b))
		})
	}
}

// TestTargetWithoutEscapableNamesIsAbsent: its unescaped names would break
// the page of all targets for readers without UTF-8 names.
func TestTargetWithoutEscapableNamesIsAbsent(t *testing.T) {
	const other = "# TYPE b_total counter\nb_total 1\n"
	for _, c := range []struct{ name, body string }{
		{"a gauge", "# TYPE \"a.b\" gauge\n{\"a.b\",\"x.y\"=\"1\",x_y=\"2\"} 1\n"},
		{"a counter that OpenMetrics rejects", "# TYPE \"a.b_total\" counter\n{\"a.b_total\",\"x.y\"=\"1\",x_y=\"2\"} 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			odd, plain := parse(t, exposition.Options{}, c.body), parse(t, exposition.Options{}, other)
			require.Equal(t, other, pageIn(t, formatOf(expfmt.TypeTextPlain, model.UnderscoreEscaping), odd, plain))
			require.Equal(t, "# TYPE b counter\nb_total 1\n# EOF\n", pageIn(t, formatOf(expfmt.TypeOpenMetrics, model.UnderscoreEscaping), odd, plain))
		})
	}
}

// TestCreatedOfCountersWithSameName: readers of OpenMetrics expect
// _created next to its counter, with no other line between them.
func TestCreatedOfCountersWithSameName(t *testing.T) {
	b := parse(t, exposition.Options{}, "# TYPE \"a.b_total\" counter\n{\"a.b_total\",x=\"2\"} 2\n# TYPE a_b_total counter\na_b_total{x=\"1\"} 1\n"+
		"# TYPE a_b_created gauge\na_b_created{x=\"1\"} 3\n")
	page := pageIn(t, formatOf(expfmt.TypeOpenMetrics, model.UnderscoreEscaping), b)
	require.Equal(t, "# TYPE a_b_created gauge\na_b_created{x=\"1\"} 3\n# TYPE a_b_total unknown\na_b_total{x=\"2\"} 2\na_b_total{x=\"1\"} 1\n# EOF\n", page)
	require.NoError(t, openMetricsFault(page))
}

func TestOpenMetricsIsAcceptedByReaders(t *testing.T) {
	page := func(sample, count string) string {
		return "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} " + sample + "\nh_count " + count + "\nh_sum 3\n"
	}
	for _, c := range []struct{ name, body, want string }{
		{"numbers as the server wrote them", "# TYPE a gauge\na 1e3\n", "# TYPE a gauge\na 1e3\n"},
		{"bounds as readers spell them", "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_count 2\nh_sum 3\n", "# TYPE h histogram\nh_bucket{le=\"1.0\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_count 2\nh_sum 3\n"},
		{"unordered buckets are no histogram", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 2\nh_bucket{le=\"1.0\"} 1\n", "# TYPE h_bucket unknown\nh_bucket{le=\"+Inf\"} 2\nh_bucket{le=\"1.0\"} 1\n"},
		{"an incomplete histogram untyped by sample name", "# TYPE h histogram\nh_bucket{le=\"1\"} 0.5\nh_count{x=\"1\"} 2\nh_count{x=\"2\"} NaN\n", "# TYPE h_bucket unknown\nh_bucket{le=\"1\"} 0.5\n# TYPE h_count unknown\nh_count{x=\"1\"} 2\nh_count{x=\"2\"} NaN\n"},
		{"no sum without count", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\n", "# TYPE h_bucket unknown\nh_bucket{le=\"+Inf\"} 2\n# TYPE h_sum unknown\nh_sum 3\n"},
		{"inconsistent buckets are no histogram", page("2", "3"), "# TYPE h_bucket unknown\nh_bucket{le=\"1.0\"} 1\nh_bucket{le=\"+Inf\"} 2\n# TYPE h_count unknown\nh_count 3\n# TYPE h_sum unknown\nh_sum 3\n"},
		{"fractional buckets are no histogram", page("2.5", "2.5"), "# TYPE h_bucket unknown\nh_bucket{le=\"1.0\"} 1\nh_bucket{le=\"+Inf\"} 2.5\n# TYPE h_count unknown\nh_count 2.5\n# TYPE h_sum unknown\nh_sum 3\n"},
		{"decreasing buckets are no histogram", page("0", "0"), "# TYPE h_bucket unknown\nh_bucket{le=\"1.0\"} 1\nh_bucket{le=\"+Inf\"} 0\n# TYPE h_count unknown\nh_count 0\n# TYPE h_sum unknown\nh_sum 3\n"},
		{"a summary without its sum", "# TYPE s summary\ns{quantile=\"0.5\"} NaN\ns_count 1\n", "# TYPE s summary\ns{quantile=\"0.5\"} NaN\ns_count 1\n"},
		{"no summary of quantiles above one", "# TYPE s summary\ns{quantile=\"50\"} 1\ns_count 1\n", "# TYPE s unknown\ns{quantile=\"50\"} 1\n# TYPE s_count unknown\ns_count 1\n"},
		{"no quantile below zero", "# TYPE s summary\ns{quantile=\"0.5\"} -1\ns_count 1\n", "# TYPE s unknown\ns{quantile=\"0.5\"} -1\n# TYPE s_count unknown\ns_count 1\n"},
		{"NaN and negative numbers are no counters", "# TYPE a_total counter\na_total{x=\"1\"} NaN\na_total{x=\"2\"} -1\na_total{x=\"3\"} +Inf\n", "# TYPE a_total unknown\na_total{x=\"1\"} NaN\na_total{x=\"2\"} -1\na_total{x=\"3\"} +Inf\n"},
		{"a counter and a gauge of one name, like in Go's metrics", "# TYPE go_memstats_alloc_bytes gauge\ngo_memstats_alloc_bytes 1\n# TYPE go_memstats_alloc_bytes_total counter\ngo_memstats_alloc_bytes_total 2\n", "# TYPE go_memstats_alloc_bytes gauge\ngo_memstats_alloc_bytes 1\n# TYPE go_memstats_alloc_bytes_total unknown\ngo_memstats_alloc_bytes_total 2\n"},
		{"a counter named like a sample", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\n# TYPE h_count_total counter\nh_count_total 1\n", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\n# TYPE h_count_total unknown\nh_count_total 1\n"},
		{"creation times next to their series", "# TYPE a_total counter\na_total{x=\"1\"} 1\na_total{x=\"2\"} 2\n# TYPE a_created gauge\na_created{x=\"1\"} 1.5e9\na_created{x=\"2\"} 1.6e9\n", "# TYPE a counter\na_total{x=\"1\"} 1\na_created{x=\"1\"} 1.5e9\na_total{x=\"2\"} 2\na_created{x=\"2\"} 1.6e9\n"},
		{"inconsistent creation times of a histogram", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\n# TYPE h_created gauge\nh_created{x=\"1\"} 7\n", "# TYPE h_bucket unknown\nh_bucket{le=\"+Inf\"} 1\n# TYPE h_created gauge\nh_created{x=\"1\"} 7\n"},
		{"a counter named _total", "# TYPE _total counter\n_total 1\n", "# TYPE _total unknown\n_total 1\n"},
		{"HELP with quotes", "# HELP a say \"x\"\\n\na 1\n", "# HELP a say \\\"x\\\"\\n\n# TYPE a unknown\na 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := encode(t, c.body, formatOf(expfmt.TypeOpenMetrics, model.NoEscaping), nil)
			require.Equal(t, c.want+"# EOF\n", string(page))
			_, err := readings(page, openMetrics)
			require.NoError(t, err)
		})
	}
}

func TestUnitIsWrittenIfNameEndsWithIt(t *testing.T) {
	for _, c := range []struct{ name, family, want string }{
		{"a gauge", "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\na_seconds 1\n", "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\na_seconds 1\n"},
		{"a counter", "# TYPE a_seconds counter\n# UNIT a_seconds seconds\na_seconds_total 1\n", "# TYPE a_seconds counter\n# UNIT a_seconds seconds\na_seconds_total 1\n"},
		{"a counter without type", "# TYPE a_seconds counter\n# UNIT a_seconds seconds\na_seconds_total 1\n# TYPE b_seconds gauge\nb_seconds 1\n# TYPE b_seconds_total unknown\n", "# TYPE a_seconds counter\n# UNIT a_seconds seconds\na_seconds_total 1\n# TYPE b_seconds gauge\nb_seconds 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := parseWith(t, exposition.NewCache(exposition.Options{}), c.family+"# EOF\n", openMetrics)
			require.NoError(t, err)
			require.Equal(t, c.want+"# EOF\n", pageIn(t, formatOf(expfmt.TypeOpenMetrics, model.NoEscaping), b))
		})
	}
	counter := exposition.Family{Name: "a_total", Unit: "seconds", Type: model.MetricTypeCounter}
	c := exposition.NewComputed([]exposition.ComputedSeries{{Family: counter}}, nil)
	b := c.Block()
	b.Set(0, 1)
	require.Equal(t, "# TYPE a counter\na_total 1\n# EOF\n", pageIn(t, formatOf(expfmt.TypeOpenMetrics, model.NoEscaping), b), "a unit that is not in the name")
}

// TestCompressedPagesRoundTrip compresses pages of different sizes, one after the
// other and concurrently, from an empty page to one of many writes.
func TestCompressedPagesRoundTrip(t *testing.T) {
	t.Parallel()
	var readers sync.WaitGroup
	for _, n := range []int{0, 1, 40} {
		var blocks []*exposition.Block
		for _, one := range benchTargets(t, simulate.BenchTRTLLM, n) {
			blocks = append(blocks, one.block)
		}
		page := newPageLayout(blocks...)
		for name, format := range textFormats() {
			plain, layout := page.in(t, format), page.merger.LayoutIn(format, blocks)
			for _, coding := range []exposition.Encoding{exposition.Gzip, exposition.Zstd} {
				readers.Go(func() {
					var packed bytes.Buffer
					length, err := layout.Compress(&packed, coding, blocks, nil)
					if err != nil || length != int64(len(plain)) || decompress(t, coding, &packed) != plain {
						t.Errorf("the page of %d targets in %s and %s: %v", n, name, coding, err)
					}
				})
			}
		}
	}
	readers.Wait()
}

// decompress decompresses a page.
func decompress(t *testing.T, coding exposition.Encoding, r io.Reader) string {
	t.Helper()
	switch coding {
	case exposition.Gzip:
		gz, err := gzip.NewReader(r)
		require.NoError(t, err)
		r = gz
	case exposition.Zstd:
		zs, err := zstd.NewReader(r)
		require.NoError(t, err)
		defer zs.Close()
		r = zs
	default:
	}
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(out)
}
