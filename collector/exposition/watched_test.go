package exposition_test

import (
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// watching is a target whose series are all watched, and four computed series.
func watching(t *testing.T) (*exposition.Cache, *exposition.Computed) {
	t.Helper()
	gauge := exposition.Family{Name: "llm_server_x", Type: model.MetricTypeGauge}
	var all []exposition.ComputedSeries
	for _, n := range []string{"0", "1", "2", "3"} {
		all = append(all, exposition.ComputedSeries{Family: gauge, Labels: labels.FromStrings("n", n)})
	}
	return exposition.NewCache(exposition.Options{Watch: func(string) bool { return true }}), exposition.NewComputed(all)
}

// scraped parses a page.
func scraped(t *testing.T, c *exposition.Cache, body string) *exposition.Block {
	t.Helper()
	b := c.Block()
	b.SetBody(append(b.Buffer(), body...))
	require.NoError(t, c.Parse(b, ""))
	return b
}

func TestABlockOverAPageShowsThePagesOwnText(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1.50\nb 007\n")
	b := computed.Over(page)
	b.Show(0, page, page.Shape().Place(0))
	b.Show(2, page, page.Shape().Place(1))
	b.Set(3, 0.25)
	b.Repeat(1, 3)
	b.Unset(2)
	b.Seal()
	require.Equal(t, "llm_server_x{n=\"0\"} 1.50\nllm_server_x{n=\"1\"} 0.25\nllm_server_x{n=\"3\"} 0.25\n", string(b.AppendFamily(nil, 0)))
	require.Equal(t, "1.50", string(page.At(page.Shape().Place(0))), "the page is as it was")
	require.Equal(t, "b 007\n", string(page.AppendFamily(nil, 1)))
}

func TestOnlyNumbersBehindOpenGatesAreShown(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1\nb NaN\nc 3\nd -4\n")
	var shown []exposition.Shown
	for i, gate := range []int32{0, 0, 1, 0} {
		shown = append(shown, exposition.Shown{Series: int32(i), Gate: gate, At: page.Shape().Place(i)})
	}
	b := computed.Over(page)
	var odd []int
	for i := b.ShowNumbers(page, shown, []bool{true, false}, 0); i < len(shown); i = b.ShowNumbers(page, shown, []bool{true, false}, i+1) {
		odd = append(odd, i)
	}
	b.Seal()
	require.Equal(t, []int{1, 3}, odd, "NaN and what is below 0 are the caller's to judge")
	require.Equal(t, "llm_server_x{n=\"0\"} 1\n", string(b.AppendFamily(nil, 0)))
}

func TestAPageLivesAsLongAsTheBlockOverIt(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1\n")
	b := computed.Over(page)
	b.Show(0, page, page.Shape().Place(0))
	b.Seal()
	page.Release()
	next := scraped(t, cache, "a 2\n")
	require.NotSame(t, page, next, "the page's memory is in use")
	require.Equal(t, "1", string(b.Text(0)))
	b.Release()
	require.Same(t, page, cache.Block(), "and is not any more")
}

func TestAPageThatOthersReadIsNotWrittenTo(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1\n")
	first := computed.Over(page)
	first.Set(0, 11)
	first.Seal()
	second := computed.Over(page)
	second.Set(0, 22)
	second.Show(1, page, page.Shape().Place(0))
	second.Seal()
	require.Equal(t, "11", string(first.Text(0)))
	require.Equal(t, "22", string(second.Text(0)))
	require.Equal(t, "1", string(second.Text(1)))
	first.Release()
	second.Release()
	page.Release()
	require.Same(t, page, cache.Block(), "each gave its reference back once")
}

func TestABlockOverAPageAllocatesNothing(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1\nb 2\n")
	once := func() {
		b := computed.Over(page)
		b.Show(0, page, page.Shape().Place(1))
		b.Set(1, 0.125)
		b.Seal()
		b.Release()
	}
	once()
	require.Zero(t, testing.AllocsPerRun(100, once))
}
