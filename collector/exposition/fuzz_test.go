package exposition_test

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// seeds returns the golden pages and unusual lines.
func seeds(f *testing.F) []string {
	f.Helper()
	paths, err := filepath.Glob("testdata/*.prom")
	require.NoError(f, err)
	bodies := []string{
		"a 1\n", "a{x=\"1\"} Nan\nb -Inf 12\n", "a-1\n", "a+5\nb.5\n", "{\"a.b\",x=\"1\"} 1\n",
		"# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 2\na_sum 1\na_count 2\n",
		"# TYPE a summary\na{quantile=\"0.5\"} NaN\na_sum 0\na_count 0\n",
		"# TYPE a counter\na_total 1 # {t=\"x\"} 1\n# EOF\n", "a 1\n#\x00\nb 2\n",
		"# HELP a x\\ny\n# TYPE a counter\n# TYPE a gauge\na 1\n# TYPE a counter\na{b=\"c\"} 1\n",
		"# HELP a of {gpu_uuid=\"A\"\na{gpu_uuid=\"A\"} 1\na{gpu_uuid=\"B\",replica_id=\"A\"} 2\n" +
			"b{c=\",gpu_uuid=\",gpu_uuid=\"B\"} 3\nb{gpu_uuid=\"\"} 4\nb{gpu_uuid=\"\\\"\"} 5\n",
	}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(f, err)
		bodies = append(bodies, string(body))
	}
	return bodies
}

// contentTypeOf returns the format of a body: OpenMetrics if om, else what a server without a Content-Type has.
func contentTypeOf(om bool) string {
	if om {
		return openMetrics
	}
	return ""
}

// FuzzParse requires that any body is either rejected as a whole or re-exposed as a page
// that every reader accepts, with samples of the source only.
func FuzzParse(f *testing.F) {
	f.Add("# HELP a! \na{}0", false)
	f.Add("# TYPE \"\" histogram\n{\"_count\"} 0\n# EOF", true)
	f.Add("# TYPE \"h.d\" histogram\n{\"h.d bucket\",a=\"0\"} 0\n{\"h.d_count\",a=\"0\"} 0\n# EOF", true)
	f.Add("# HELP a! \x00\na 0", false)
	f.Add("# HELP a x\x00y\na 0", false)
	f.Add("# HELP a \x00y\na 0", false)
	f.Add("b{c=\",gpu_uuid=\"} 3\nb 4\n", false)
	f.Add("aa{}0\naa 1\n", false)
	f.Add("# HELP a   two blanks\na 0\n# EOF\n", true)
	for _, body := range seeds(f) {
		f.Add(body, false)
		f.Add(body+"# EOF\n", true)
	}
	f.Fuzz(func(t *testing.T, body string, om bool) {
		requireWatched(t, body, contentTypeOf(om))
		b, err := parseWith(t, exposition.NewCache(exposition.Options{}), body, contentTypeOf(om))
		if err != nil {
			return
		}
		page := render(t, &exposition.Merger{}, b)
		got, err := readings([]byte(page), "")
		require.NoError(t, err)
		requireReadable(t, got, page)
		want, err := readings([]byte(body), contentTypeOf(om))
		require.NoError(t, err, "we accept nothing that textparse refuses")
		lost := 0
		for _, n := range dropped(b.Shape().Drops()) {
			lost += n
		}
		require.Len(t, got, len(want)-lost)
		for _, one := range got {
			require.Contains(t, want, one)
		}
		requireReaders(t, pageIn(t, model.UnderscoreEscaping, b))
	})
}

// FuzzTwoTargets merges two bodies: however names are escaped, all readers accept the page, and
// both targets have the lines that they have alone.
func FuzzTwoTargets(f *testing.F) {
	f.Add("# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 2\na_sum 1\na_count 2\n", "# TYPE a gauge\n"+
		"a 1\na_count 2\n", false)
	f.Add("# TYPE a summary\na{quantile=\"0.5\"} NaN\na_sum "+
		"0\na_count 0\n", "a{quantile=\"0.5\"} 1\na_count -1\n", false)
	f.Add("# TYPE a counter\na_total 1\na_created 1\n", "# TYPE a gauge\na 1\n# TYPE a_created gauge\n"+
		"a_created{x=\"1\"} 1\n", true)
	f.Add("# HELP a_b help\n# TYPE a_b counter\na_b 1\n", "{\"a.b\"} 7\na_b{\"x.y\"=\"1\",x_y=\"2\"} 8\n", false)
	f.Add("# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\n"+
		"h_count 2\n", "# TYPE \"h\" histogram\nh_bucket{\"l.e\"=\"1\",le=\"+Inf\"} 1\n", false)
	f.Add("{\"a.b\"} 1\n", "# TYPE a_b summary\na_b_sum 1\n# TYPE \"a.b_sum\" counter\n{\"a.b_sum\"} 2\n", false)
	for i, body := range seeds(f) {
		f.Add(body, mutate(body, uint64(i)), false)
	}
	f.Fuzz(func(t *testing.T, first, second string, om bool) {
		var blocks []*exposition.Block
		for i, body := range []string{first, second} {
			if om {
				body += "# EOF\n"
			}
			label := replicaLabel(string(rune('a' + i)))
			b, err := parseWith(t, exposition.NewCache(exposition.Options{}), body, contentTypeOf(om), label)
			if err != nil {
				return
			}
			blocks = append(blocks, b)
		}
		for _, scheme := range escapings() {
			requireEveryLine(t, blocks, scheme, pageIn(t, scheme, blocks...))
		}
	})
}

// mutate changes a body in a few places, mostly values.
func mutate(body string, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	out := []byte(body)
	values := []string{
		"0",
		"7",
		"-1", "Nan", "NaN", "+Inf", "-Inf", "Inf", "nan", "1e3", "1e400", "0x1", "1_0", ".5", "5.", "+5", "--1", "",
		"1 2", "99999999999999999999", "1.5e-7", "-0", "a", "\x00", "1\t", "\"",
	}
	for range r.IntN(4) {
		if len(out) == 0 {
			break
		}
		start := r.IntN(len(out))
		switch r.IntN(3) {
		case 0:
			out[start] = byte(r.IntN(256))
			continue
		case 1:
			if i := bytes.IndexByte(out[start:], ' '); i >= 0 {
				start += i + 1
			}
		default:
		}
		end := start
		for end < len(out) && out[end] != '\n' && out[end] != ' ' {
			end++
		}
		out = append(out[:start:start], append([]byte(values[r.IntN(len(values))]), out[end:]...)...)
	}
	return string(out)
}

// FuzzFastSlow compares a cache that has parsed other pages with a new one: same error,
// same bytes, same drops.
func FuzzFastSlow(f *testing.F) {
	for i, body := range seeds(f) {
		f.Add(body, mutate(body, uint64(i)), uint64(i), false)
		f.Add(body+"# EOF\n", body+"# EOF\n", uint64(i), true)
	}
	f.Fuzz(func(t *testing.T, first, second string, seed uint64, om bool) {
		opts := exposition.Options{
			Reserved: []string{"trtllm_exporter_"},
			Watch:    func(name string) bool { return len(name)%2 == 0 },
			Limits: exposition.Limits{
				Samples: 1000,
				Labels:  12,
				Help:    40,
				Output:  exposition.Volume{Series: 40, Bytes: 4000},
			},
		}
		warm, label := exposition.NewCache(opts), new(exposition.Labeler(identify))
		for _, body := range []string{first, second, mutate(first, seed), first, mutate(second, seed+1)} {
			got, gotErr := parseWith(t, warm, body, contentTypeOf(om), label)
			want, wantErr := parseWith(t, exposition.NewCache(opts), body, contentTypeOf(om), label)
			if wantErr != nil {
				require.EqualError(t, gotErr, wantErr.Error())
				continue
			}
			require.NoError(t, gotErr)
			require.Equal(t, render(t, &exposition.Merger{}, want), render(t, &exposition.Merger{}, got), "%q", body)
			require.Equal(t, want.Shape().Drops(), got.Shape().Drops())
			require.Equal(t, want.Shape().LeftOut(), got.Shape().LeftOut())
			require.Equal(t, want.Shape().Watched(), got.Shape().Watched())
			for i := range want.Shape().Watched() {
				require.Equal(t, want.Shape().WatchedLabels(i), got.Shape().WatchedLabels(i))
				a, aok := want.WatchedValue(i)
				b, bok := got.WatchedValue(i)
				require.Equal(t, []any{exposition.AppendFloat(nil, a), aok}, []any{exposition.AppendFloat(nil, b), bok})
			}
		}
	})
}

// FuzzNegotiate requires that the negotiated escaping and encoding are supported for any header.
func FuzzNegotiate(f *testing.F) {
	for _, c := range acceptHeaders {
		f.Add(c.accept, "gzip")
	}
	f.Add("text/plain;q=0", "zstd;q=nan, *;q=0.5")
	f.Fuzz(func(t *testing.T, accept, coding string) {
		scheme := exposition.NegotiateEscaping(http.Header{"Accept": {accept}})
		require.Contains(t, escapings(), scheme)
		requireReaders(t, pageIn(t, scheme, parse(t, exposition.Options{}, "a 1\n{\"a.b\"} 2\n")))
		encodings := []exposition.Encoding{exposition.Identity, exposition.Gzip, exposition.Zstd}
		require.Contains(t, encodings, exposition.NegotiateEncoding(coding))
	})
}
