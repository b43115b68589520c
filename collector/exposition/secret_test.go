package exposition_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// hasNumber finds a credential that is a number and might be taken for a value.
func hasNumber(text string) bool { return strings.Contains(text, "12345678") }

// readWithout adds a page in which the number must not be shown.
func readWithout(c *exposition.Cache, body, contentType string) (*exposition.Block, error) {
	page, err := c.Read([]byte(body), contentType, hasNumber)
	if err != nil {
		return nil, err
	}
	return c.Add(&page, nil)
}

func TestSeriesWithSecretAreLeftOut(t *testing.T) {
	// Z03.
	for _, c := range []struct {
		name, body, want string
		dropped          uint64
	}{
		{"a label value", "a{b=\"x12345678\"} 1\na{b=\"y\"} 2\n", "# TYPE a untyped\na{b=\"y\"} 2\n", 1},
		{"HELP", "# HELP a of 12345678\na 1\n", "# TYPE a untyped\na 1\n", 0},
		{"a label name", "a{b12345678=\"x\"} 1\nc 1\n", "# TYPE c untyped\nc 1\n", 1},
		{
			"the name of a family",
			"# HELP a12345678 x\n# TYPE a12345678 counter\na12345678 1\nc 1\n", "# TYPE c untyped\nc 1\n", 1,
		},
		{
			"the name of a histogram", "# TYPE a12345678 histogram\na12345678_bucket{le=\"+Inf\"} 1\n" +
				"a12345678_count 1\nc 1\n", "# TYPE c untyped\nc 1\n", 2,
		},
		{"a quoted name", "{\"a.12345678\"} 1\nc 1\n", "# TYPE c untyped\nc 1\n", 1},
		{
			"values and bounds are numbers",
			"# TYPE a histogram\na_bucket{le=\"12345678\"} 12345678\na_bucket{le=\"+Inf\"} 12345678\na_sum 12345678\n",
			"# TYPE a histogram\na_bucket{le=\"12345678\"} 12345678\na_bucket{le=\"+Inf\"} 12345678\na_sum 12345678\n",
			0,
		},
		{"a comment is not shown at all", "# of 12345678\na 1\n", "# TYPE a untyped\na 1\n", 0},
		{"nor is a second HELP", "# HELP a x\n# HELP a 12345678\na 1\n", "# HELP a x\n# TYPE a untyped\na 1\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := readWithout(exposition.NewCache(exposition.Options{}), c.body, "")
			require.NoError(t, err)
			require.Equal(t, c.want, render(t, &exposition.Merger{}, b))
			drops := b.Shape().Drops()
			require.Equal(t, c.dropped, drops.Total(), "they are counted")
		})
	}
}

func TestExemplarsAreNotShown(t *testing.T) {
	body := "# TYPE a counter\na_total 1 # {id=\"12345678\"} 1\n# EOF\n"
	b, err := readWithout(exposition.NewCache(exposition.Options{}), body, openMetrics)
	require.NoError(t, err)
	require.Equal(t, "# TYPE a_total counter\na_total 1\n", render(t, &exposition.Merger{}, b))
}

func TestPageThatMatchesLacksTheSameSeries(t *testing.T) {
	c := exposition.NewCache(exposition.Options{Watch: func(string) bool { return true }})
	first, err := readWithout(c, "a{b=\"12345678\"} 1\na{b=\"y\"} 1\n", "")
	require.NoError(t, err)
	page, ok := c.Match([]byte("a{b=\"12345678\"} 2\na{b=\"y\"} 2\n"), "", nil)
	require.True(t, ok, "what is left out does not cost the fast path")
	next, err := c.Add(&page, nil)
	require.NoError(t, err)
	require.Same(t, first.Shape(), next.Shape())
	require.Equal(t, "# TYPE a untyped\na{b=\"y\"} 2\n", render(t, &exposition.Merger{}, next))
	require.Equal(t, `{__name__="a", b="y"}`, next.Shape().WatchedLabels(0).String(), "what rules read")
}

func TestErrorsQuoteNoSecret(t *testing.T) {
	limits := exposition.Options{Limits: exposition.Limits{LabelValue: 3}}
	for _, c := range []struct{ name, body, want string }{
		{"a syntax error", "a 1\nb{c=\"12345678\"} x12345678\n", "line 2: not in the format; the line is not quoted"},
		{"a limit", "a{b=\"long\"} 1\n# HELP b 12345678\n", `of "a" has 4 bytes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readWithout(exposition.NewCache(limits), c.body, "")
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "1234")
		})
	}
}

// FuzzSecret requires that a credential stands nowhere but in numbers, and that series without it stay.
func FuzzSecret(f *testing.F) {
	for _, body := range seeds(f) {
		f.Add(body)
		f.Add(strings.ReplaceAll(body, "a", "12345678"))
		f.Add(strings.ReplaceAll(body, "1", "12345678"))
	}
	f.Fuzz(func(t *testing.T, body string) {
		b, err := readWithout(exposition.NewCache(exposition.Options{}), body, "")
		if err != nil {
			require.NotContains(t, err.Error(), "12345678")
			return
		}
		plain, err := parseWith(t, exposition.NewCache(exposition.Options{}), body, "")
		require.NoError(t, err)
		for i := range b.Shape().Lines() {
			for name, value := range b.Shape().Labels(i).Map() {
				require.NotContains(t, name, "12345678")
				if name != "le" && name != "quantile" {
					require.NotContains(t, value, "12345678")
				}
			}
		}
		for _, family := range b.Shape().Families() {
			require.NotContains(t, family.Help, "12345678")
		}
		if !strings.Contains(body, "12345678") {
			require.Equal(t, render(t, &exposition.Merger{}, plain), render(t, &exposition.Merger{}, b))
		}
		requireReaders(t, render(t, &exposition.Merger{}, b))
	})
}
