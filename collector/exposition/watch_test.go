package exposition_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// requireWatched compares the watched series of a page with those that Parse watches, and adding
// the page afterwards with Parse.
func requireWatched(t *testing.T, body, contentType string) {
	t.Helper()
	opts := exposition.Options{Watch: func(name string) bool { return len(name)%2 == 0 }}
	full, err := parseWith(t, exposition.NewCache(opts), body, contentType)
	cache := exposition.NewCache(opts)
	page, read := cache.Read([]byte(body), contentType, nil)
	if err != nil {
		return
	}
	require.NoError(t, read)
	b, err := page.Watched()
	require.NoError(t, err)
	require.Equal(t, watchedOf(full), watchedOf(b))
	require.Zero(t, b.Shape().Lines())
	b, err = cache.Add(&page, nil)
	require.NoError(t, err)
	requireSamePage(t, render(t, &exposition.Merger{}, full), render(t, &exposition.Merger{}, b))
	require.Equal(t, watchedOf(full), watchedOf(b))
}

// watchedOf returns the watched series of a block with their values, sorted.
func watchedOf(b *exposition.Block) []string {
	s := b.Shape()
	all := make([]string, s.Watched())
	for i := range all {
		v, ok := b.WatchedValue(i)
		all[i] = fmt.Sprintf("%s %q %t %t", s.WatchedLabels(i), b.TextAt(s.WatchedIndex(i)), ok, v == v)
	}
	slices.Sort(all)
	return all
}

func TestWatchedSeriesOfNewPage(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		string(simulate.BenchPage(simulate.BenchTRTLLM, 1, 1)),
		"# TYPE ab histogram\nab_bucket{le=\"1\",gpu_uuid=\"x\"} 1\nab_bucket{le=\"+Inf\",gpu_uuid=\"x\"} NaN\n" +
			"ab_sum{gpu_uuid=\"x\"} 1e3\nabab -Inf\nabab 2\n",
		"# TYPE abcd counter\n# TYPE abcd gauge\nabcd 1\nab{__ab=\"1\"} 1\nab{x=\"1\",x=\"2\"} 1\n",
		"",
	} {
		requireWatched(t, body, "")
		requireWatched(t, body+"# EOF\n", openMetrics)
	}
}

// TestNewestSampleIsWatched reads what /metrics shows, on the first page and on the next ones, whose
// timestamps differ.
func TestNewestSampleIsWatched(t *testing.T) {
	t.Parallel()
	cache := exposition.NewCache(exposition.Options{Watch: func(string) bool { return true }})
	for _, c := range []struct{ page, want string }{
		{"a 1 1000\na 2 3000\na 3 2000\n", `{__name__="a"} "2" true true`},
		{"a 4 5000\na 2 3000\na 3 2000\n", `{__name__="a"} "4" true true`},
		{"a 5 5000\na 6 3000\na 7 2000\n", `{__name__="a"} "5" true true`},
		{"a 5 5000\na 6\na 7 2000\n", `{__name__="a"} "6" true true`},
	} {
		b, err := parseWith(t, cache, c.page, "")
		require.NoError(t, err)
		require.Equal(t, []string{c.want}, watchedOf(b), c.page)
	}
}
