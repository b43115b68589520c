package exposition_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// hideNumber hides a credential that is a number and might be taken for a value.
func hideNumber(text string) string { return strings.ReplaceAll(text, "12345678", "<secret>") }

// readHiding adds a page whose texts are changed by hideNumber.
func readHiding(c *exposition.Cache, body, contentType string) (*exposition.Block, error) {
	page, err := c.Read([]byte(body), contentType, hideNumber)
	if err != nil {
		return nil, err
	}
	return c.Add(&page, nil)
}

func TestHiddenTexts(t *testing.T) {
	// Z03.
	for _, c := range []struct{ name, body, want string }{
		{"a label value", "a{b=\"x12345678\"} 1\n", "# TYPE a untyped\na{b=\"x<secret>\"} 1\n"},
		{"HELP", "# HELP a of 12345678\na 1\n", "# HELP a of <secret>\n# TYPE a untyped\na 1\n"},
		{"a label name", "a{b12345678=\"x\"} 1\n", "# TYPE a untyped\na{b_secret_=\"x\"} 1\n"},
		{
			"the name of a family", "# HELP a12345678 x\n# TYPE a12345678 counter\na12345678 1\n",
			"# HELP a_secret_ x\n# TYPE a_secret_ counter\na_secret_ 1\n",
		},
		{
			"the name of a histogram", "# TYPE a12345678 histogram\na12345678_bucket{le=\"+Inf\"} 1\n" +
				"a12345678_count 1\n",
			"# TYPE a_secret_ histogram\na_secret__bucket{le=\"+Inf\"} 1\na_secret__count 1\n",
		},
		{"a quoted name", "{\"a.12345678\"} 1\n", "# TYPE \"a.<secret>\" untyped\n{\"a.<secret>\"} 1\n"},
		{
			"values and bounds are numbers",
			"# TYPE a histogram\na_bucket{le=\"12345678\"} 12345678\na_bucket{le=\"+Inf\"} 12345678\na_sum 12345678\n",
			"# TYPE a histogram\na_bucket{le=\"12345678\"} 12345678\na_bucket{le=\"+Inf\"} 12345678\na_sum 12345678\n",
		},
		{"a comment is not shown at all", "# of 12345678\na 1\n", "# TYPE a untyped\na 1\n"},
		{"nor is a second HELP", "# HELP a x\n# HELP a 12345678\na 1\n", "# HELP a x\n# TYPE a untyped\na 1\n"},
		{
			"series after a contradictory TYPE are dropped as ever",
			"# TYPE a12345678 counter\n# TYPE a12345678 gauge\na12345678 1\nb 1\n",
			"# TYPE b untyped\nb 1\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := readHiding(exposition.NewCache(exposition.Options{}), c.body, "")
			require.NoError(t, err)
			require.Equal(t, c.want, render(t, &exposition.Merger{}, b))
		})
	}
}

func TestExemplarsWithHiddenTextAreNotShown(t *testing.T) {
	body := "# TYPE a counter\na_total 1 # {id=\"12345678\"} 1\n# EOF\n"
	b, err := readHiding(exposition.NewCache(exposition.Options{}), body, openMetrics)
	require.NoError(t, err)
	require.Equal(t, "# TYPE a_total counter\na_total 1\n", render(t, &exposition.Merger{}, b))
}

func TestPageThatMatchesHiddenOneStaysHidden(t *testing.T) {
	c := exposition.NewCache(exposition.Options{Watch: func(string) bool { return true }})
	first, err := readHiding(c, "a{b=\"12345678\"} 1\n", "")
	require.NoError(t, err)
	page, ok := c.Match([]byte("a{b=\"12345678\"} 2\n"), "", nil)
	require.True(t, ok, "hidden text does not cost the fast path")
	next, err := c.Add(&page, nil)
	require.NoError(t, err)
	require.Same(t, first.Shape(), next.Shape())
	require.Equal(t, "# TYPE a untyped\na{b=\"<secret>\"} 2\n", render(t, &exposition.Merger{}, next))
	require.Equal(t, `{__name__="a", b="<secret>"}`, next.Shape().WatchedLabels(0).String(), "what rules read")
}

func TestErrorsDoNotQuoteHiddenText(t *testing.T) {
	limits := exposition.Options{Limits: exposition.Limits{LabelValue: 3}}
	for _, c := range []struct{ name, body, want string }{
		{"a syntax error", "a 1\nb{c=\"12345678\"} x12345678\n", "line 2: not in the format; the line is not quoted"},
		{"a limit", "a12345678{b=\"long\"} 1\n", `of "a_secret_" has 4 bytes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readHiding(exposition.NewCache(limits), c.body, "")
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "1234")
		})
	}
}

// FuzzHide requires that hiding a credential changes no value of a page, and that the credential
// stands nowhere else: what is left of it are numbers.
func FuzzHide(f *testing.F) {
	for _, body := range seeds(f) {
		f.Add(body)
		f.Add(strings.ReplaceAll(body, "a", "12345678"))
		f.Add(strings.ReplaceAll(body, "1", "12345678"))
	}
	f.Fuzz(func(t *testing.T, body string) {
		b, err := readHiding(exposition.NewCache(exposition.Options{}), body, "")
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
		if drops := b.Shape().Drops(); drops.Total() == 0 {
			require.Equal(t, valuesOf(plain), valuesOf(b))
		}
		requireReaders(t, render(t, &exposition.Merger{}, b))
	})
}

// valuesOf counts the values of a block by their text.
func valuesOf(b *exposition.Block) map[string]int {
	all := make(map[string]int)
	for i := range b.Shape().Lines() {
		all[string(b.Text(i))]++
	}
	return all
}
