package exposition_test

import (
	"bytes"
	"io"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
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

func TestPageHasSamplesOfSource(t *testing.T) {
	want := mustReadings(t, everyType)
	text := reExpose(t, exposition.Options{}, everyType)
	requireReadable(t, want, text)
	mfs, err := families(text)
	require.NoError(t, err)
	require.Equal(t, "counted\nthings", mfs["c_total"].GetHelp())
	require.EqualValues(t, 3, mfs["h"].Metric[0].Histogram.GetSampleCount())
	require.Contains(t, text, "# TYPE nv_inference_count counter\n")
}

func TestUTF8NamesAreEscapedUnlessAccepted(t *testing.T) {
	const (
		body = "# TYPE \"a.b\" counter\n{\"a.b\",\"x y\"=\"1\"} 1\n"
		text = "text/plain; version=0.0.4; charset=utf-8; escaping="
	)
	b := parse(t, exposition.Options{}, body)
	for _, c := range []struct {
		scheme            model.EscapingScheme
		contentType, want string
	}{
		{model.NoEscaping, text + "allow-utf-8", body},
		{model.UnderscoreEscaping, text + "underscores", "# TYPE a_b counter\na_b{x_y=\"1\"} 1\n"},
		{model.DotsEscaping, text + "dots", "# TYPE a_dot_b counter\na_dot_b{x__y=\"1\"} 1\n"},
		{model.ValueEncodingEscaping, text + "values", "# TYPE U__a_2e_b counter\nU__a_2e_b{U__x_20_y=\"1\"} 1\n"},
	} {
		require.Equal(t, c.want, pageIn(t, c.scheme, b))
		l := new(exposition.Merger).Escaped([]*exposition.Block{b}, c.scheme)
		require.Equal(t, c.contentType, l.ContentType())
	}
}

func TestOnlyUnusualNamesNeedUTF8(t *testing.T) {
	const plain = "text/plain; version=0.0.4; charset=utf-8"
	for _, c := range []struct{ name, body, want string }{
		{"old names", "a{x=\"1\"} 1\n", plain},
		{"a value like a quoted label", `a{x=",\"y\"=\"",y="{\""} 1` + "\n", plain},
		{"a metric name", "{\"a.b\"} 1\n", plain + "; escaping=allow-utf-8"},
		{"a label name", "a{\"x.y\"=\"1\"} 1\n", plain + "; escaping=allow-utf-8"},
		{"a later label name", "a{b=\"1\",\"x.y\"=\"1\"} 1\n", plain + "; escaping=allow-utf-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m exposition.Merger
			l := m.Layout([]*exposition.Block{parse(t, exposition.Options{}, c.body)})
			require.Equal(t, c.want, l.ContentType())
		})
	}
}

func TestEscapedNamesDoNotCollide(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"an ordinary family keeps its name in any order", "{\"a.b\"} 1\na_b 2\n", "# TYPE a_b untyped\na_b 2\n"},
		{"of two odd ones the first keeps it", "{\"a.b\"} 1\n{\"a-b\"} 2\n", "# TYPE a_b untyped\na_b 2\n"},
		{
			"a series whose labels become equal is dropped", "a{\"x.y\"=\"1\",x_y=\"2\"} 1\na{\"x.y\"=\"1\"} 2\n",
			"# TYPE a untyped\na{x_y=\"1\"} 2\n",
		},
		{
			"with other labels both stay", "# TYPE \"a.b\" counter\n{\"a.b\",x=\"1\"} 7\n# TYPE a_b counter\na_b 8\n",
			"# TYPE a_b counter\na_b{x=\"1\"} 7\na_b 8\n",
		},
		{
			"a histogram whose name becomes that of another one",
			"# TYPE \"i.j\" histogram\n{\"i.j_bucket\",le=\"+Inf\"} 1\n# TYPE i_j histogram\ni_j_bucket{le=\"1\"} 1\n",
			"# TYPE i_j histogram\ni_j_bucket{le=\"+Inf\"} 1\ni_j_bucket{le=\"1\"} 1\n",
		},
		{"a series whose label becomes the name is dropped", "a{\"..name__\"=\"b\"} 1\n", ""},
		{"a colon is not a character of a label", "a{\"x:y\"=\"1\"} 1\n", "# TYPE a untyped\na{x_y=\"1\"} 1\n"},
		{
			"names of the exporter are refused in disguise too", "{\"trtllm.exporter_up\"} 1\n{\"a.b\"} 1\n",
			"# TYPE a_b untyped\na_b 1\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := parse(t, exposition.Options{Reserved: []string{"trtllm_exporter_"}}, c.body)
			require.Equal(t, c.want, pageIn(t, model.UnderscoreEscaping, b))
		})
	}
}

// TestTargetWithoutEscapableNamesIsAbsent: its unescaped names would break
// the page of all targets for readers without UTF-8 names.
func TestTargetWithoutEscapableNamesIsAbsent(t *testing.T) {
	const plain = "# TYPE b_total counter\nb_total 1\n"
	odd := parse(t, exposition.Options{}, "# TYPE \"a.b\" gauge\n{\"a.b\",\"x.y\"=\"1\",x_y=\"2\"} 1\n")
	require.Equal(t, plain, pageIn(t, model.UnderscoreEscaping, odd, parse(t, exposition.Options{}, plain)))
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
		for _, scheme := range escapings() {
			plain, layout := page.in(t, scheme), page.merger.Escaped(blocks, scheme)
			for _, coding := range []exposition.Encoding{exposition.Gzip, exposition.Zstd} {
				readers.Go(func() {
					var packed bytes.Buffer
					length, err := layout.Compress(&packed, coding, blocks, nil)
					if err != nil || length != int64(len(plain)) || decompress(t, coding, &packed) != plain {
						t.Errorf("the page of %d targets in %s and %s: %v", n, scheme, coding, err)
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
