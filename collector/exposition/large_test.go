package exposition_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// hugePage returns a page of at least that many bytes, whose series have a label with a
// given value.
func hugePage(bytes int, label, value string) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "a{i=\"%0250d\",x=\"%s\"} %s\n", i, label, value)
	}
	return b.String()
}

func TestPatternIsCachedUnlessPageIsTooLarge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		size   int
		labels []string
		fast   int
	}{
		{"an ordinary page", exposition.LargePageBytes / 2, []string{"x", "x", "x", "x"}, 3},
		{"a large page", exposition.LargePageBytes + 1, []string{"x", "x", "x", "x"}, 3},
		{"always another", exposition.LargePageBytes + 1, []string{"a", "b", "c", "d"}, 0},
		{"too large a page", exposition.MaxPatternBytes + 1, []string{"x", "x", "x", "x"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cache := exposition.NewCache(exposition.Options{})
			shapes, fast := make(map[string]*exposition.Shape), 0
			for n, label := range c.labels {
				value := strconv.Itoa(n)
				body := hugePage(c.size, label, value)
				if cache.Fast(body) {
					fast++
				}
				b, err := parseWith(t, cache, body, "")
				require.NoError(t, err)
				requireSamePage(t, "# TYPE a untyped\n"+body, render(t, &exposition.Merger{}, b))
				if n > 0 && c.labels[n-1] == label {
					require.Same(t, shapes[label], b.Shape(), "the layout of the page stays")
				}
				shapes[label] = b.Shape()
			}
			require.Equal(t, c.fast, fast)
		})
	}
}

// A large page leaves out the same families as a small one.
func TestLargePageDropsSameFamilies(t *testing.T) {
	opts := exposition.Options{Limits: exposition.Limits{Output: exposition.Volume{Series: 400}}}
	page := "# HELP b help\nb{x=\"1\"} 1\nb{x=\"2\"} 1\n" + hugePage(exposition.LargePageBytes, "x", "1") + "c 1\n" +
		"# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_count 1\nh_sum 1\n"
	b := parse(t, opts, page)
	require.Equal(t, 1, b.Shape().LeftOut().Families)
	require.Equal(t, []string{"a"}, b.Shape().LeftOut().Names)
	require.Equal(t, strings.Count(page, "\na{"), b.Shape().LeftOut().Series)
	require.Equal(t, 6, b.Shape().Lines())
}
