package exposition_test

import (
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// watching returns a cache that watches all series, and four computed series.
func watching(t *testing.T) (*exposition.Cache, *exposition.Computed) {
	t.Helper()
	gauge := exposition.Family{Name: "llm_server_x", Type: model.MetricTypeGauge}
	var all []exposition.ComputedSeries
	for _, n := range []string{"0", "1", "2", "3"} {
		all = append(all, exposition.ComputedSeries{Family: gauge, Labels: labels.FromStrings("n", n)})
	}
	return exposition.NewCache(exposition.Options{Watch: func(string) bool { return true }}), exposition.NewComputed(all, nil)
}

// scraped parses a page.
func scraped(t *testing.T, c *exposition.Cache, body string) *exposition.Block {
	t.Helper()
	b, err := c.Parse([]byte(body), "")
	require.NoError(t, err)
	return b
}

func TestComputedBlockCopiesTheTextOfThePage(t *testing.T) {
	cache, computed := watching(t)
	page := scraped(t, cache, "a 1.50\nb 007\n")
	b := computed.Block()
	b.CopyText(0, page, page.Shape().WatchedIndex(0))
	b.CopyText(2, page, page.Shape().WatchedIndex(1))
	b.Set(3, 0.25)
	b.Repeat(1, 3)
	b.Unset(2)
	require.Equal(t, "llm_server_x{n=\"0\"} 1.50\nllm_server_x{n=\"1\"} 0.25\nllm_server_x{n=\"3\"} 0.25\n", string(b.AppendFamily(nil, 0)))
	require.Equal(t, "1.50", string(page.TextAt(page.Shape().WatchedIndex(0))), "the page is as it was")
	require.Equal(t, "b 007\n", string(page.AppendFamily(nil, 1)))
}
