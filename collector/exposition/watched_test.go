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

// fills is a filler made of a function.
type fills func(page, out *exposition.Block)

// Fill implements exposition.Filler.
func (f fills) Fill(page, out *exposition.Block) { f(page, out) }

// over is a settled block over a page.
func over(c *exposition.Computed, page *exposition.Block, fill fills) *exposition.Block {
	b := c.Over(page, 64, fill)
	b.Settle()
	return b
}

// scraped parses a page.
func scraped(t *testing.T, c *exposition.Cache, body string) *exposition.Block {
	t.Helper()
	b := c.Block()
	require.NoError(t, c.Parse(b, []byte(body), ""))
	return b
}

func TestABlockOverAPageShowsThePagesOwnText(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1.50\nb 007\n")
	b := over(computed, page, func(page, out *exposition.Block) {
		out.Show(0, page, page.Shape().Place(0))
		out.Show(2, page, page.Shape().Place(1))
		out.Set(3, 0.25)
		out.Repeat(1, 3)
		out.Unset(2)
	})
	require.Equal(t, "llm_server_x{n=\"0\"} 1.50\nllm_server_x{n=\"1\"} 0.25\nllm_server_x{n=\"3\"} 0.25\n", string(b.AppendFamily(nil, 0)))
	require.Equal(t, "1.50", string(page.At(page.Shape().Place(0))), "the page is as it was")
	require.Equal(t, "b 007\n", string(page.AppendFamily(nil, 1)))
}

func TestABlockIsFilledOnceAndWhenItIsNeeded(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1\n")
	filled := 0
	count := fills(func(_, out *exposition.Block) {
		filled++
		out.Set(0, float64(filled))
	})
	b := computed.Over(page, 64, count)
	require.Zero(t, filled)
	b.Settle()
	b.Settle()
	require.Equal(t, 1, filled)
	require.Equal(t, "llm_server_x{n=\"0\"} 1\n", string(b.AppendFamily(nil, 0)))
	b.Release()
	never := computed.Over(page, 64, count)
	require.Same(t, b, never)
	never.Release()
	require.Equal(t, 1, filled, "nobody needed it")
	plain := computed.Block()
	plain.Settle()
	require.Equal(t, 1, filled, "what was not filled is left alone")
}

func TestClearedValuesAreAbsent(t *testing.T) {
	cache, computed := watching(t)
	b := over(computed, scraped(t, cache, "a 1\n"), func(page, out *exposition.Block) {
		out.Set(0, 1)
		out.Show(1, page, page.Shape().Place(0))
		out.Clear()
		out.Set(2, 3)
	})
	require.Equal(t, "llm_server_x{n=\"2\"} 3\n", string(b.AppendFamily(nil, 0)))
}

func TestOnlyNumbersBehindOpenGatesAreShown(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1\nb NaN\nc 3\nd -4\n")
	var shown []exposition.Shown
	for i, gate := range []int32{0, 0, 1, 0} {
		shown = append(shown, exposition.Shown{Series: int32(i), Gate: gate, At: page.Shape().Place(i)})
	}
	var odd []int
	b := over(computed, page, func(page, out *exposition.Block) {
		for i := out.ShowNumbers(page, shown, []bool{true, false}, 0); i < len(shown); i = out.ShowNumbers(page, shown, []bool{true, false}, i+1) {
			odd = append(odd, i)
		}
	})
	require.Equal(t, []int{1, 3}, odd, "NaN and what is below 0 are the caller's to judge")
	require.Equal(t, "llm_server_x{n=\"0\"} 1\n", string(b.AppendFamily(nil, 0)))
}

func TestAPageLivesAsLongAsTheBlockOverIt(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1\n")
	b := computed.Over(page, 64, fills(func(page, out *exposition.Block) { out.Show(0, page, page.Shape().Place(0)) }))
	page.Release()
	next := scraped(t, cache, "a 2\n")
	require.NotSame(t, page, next, "the page's memory is in use")
	b.Settle()
	require.Equal(t, "1", string(b.Text(0)))
	exposition.ForgetBlocks()
	b.Release()
	require.Same(t, page, cache.Block(), "and is not any more")
}

func TestAPageThatOthersReadIsNotWrittenTo(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1\n")
	first := over(computed, page, func(_, out *exposition.Block) { out.Set(0, 11) })
	second := over(computed, page, func(page, out *exposition.Block) {
		out.Set(0, 22)
		out.Show(1, page, page.Shape().Place(0))
	})
	require.Equal(t, "11", string(first.Text(0)))
	require.Equal(t, "22", string(second.Text(0)))
	require.Equal(t, "1", string(second.Text(1)))
	first.Release()
	second.Release()
	exposition.ForgetBlocks()
	page.Release()
	require.Same(t, page, cache.Block(), "each gave its reference back once")
}

func TestMoreTextThanThereIsRoomForGoesElsewhere(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1\n")
	b := computed.Over(page, 1, fills(func(page, out *exposition.Block) {
		for n := range 3 {
			out.Set(n, 1.0/3)
		}
		out.Show(3, page, page.Shape().Place(0))
	}))
	b.Settle()
	require.Equal(t, "0.3333333333333333", string(b.Text(2)))
	require.Equal(t, "1", string(b.Text(3)))
	require.Equal(t, "1", string(page.Text(0)))
}

func TestABlockOverAPageAllocatesNothing(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1\nb 2\n")
	var fill exposition.Filler = fills(func(page, out *exposition.Block) {
		out.Show(0, page, page.Shape().Place(1))
		out.Set(1, 0.125)
	})
	once := func() {
		b := computed.Over(page, 64, fill)
		b.Settle()
		b.Release()
	}
	once()
	require.Zero(t, testing.AllocsPerRun(100, once))
}
