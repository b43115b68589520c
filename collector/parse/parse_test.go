package parse_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/parse"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

func TestAReaderSaysWhatIsNewOfAPage(t *testing.T) {
	t.Parallel()
	kind, ok := engine.Of(string(engine.Triton))
	require.True(t, ok)
	reader := parse.NewReader(kind, exposition.Options{})
	const one, two = "nv_inference_count{model=\"a\",version=\"1\"} 5\n", "nv_inference_count{model=\"b\",version=\"1\"} 5\n"
	asked := 0
	for _, c := range []struct {
		says, page string
		changes    bool
		news       parse.News
		reason     scrape.Reason
		// asked is how often the labels were brought up to date.
		asked int
	}{
		{"a page that is none", "no page\n", false, parse.Nothing, scrape.ReasonParse, 1},
		{"a page without a sample", "# TYPE a counter\n", false, parse.Nothing, scrape.ReasonEmpty, 2},
		{"the first page, whose models change the labels", one, true, parse.FirstShape, "", 2},
		{"another number", "nv_inference_count{model=\"a\",version=\"1\"} 6\n", true, parse.Nothing, "", 1},
		{"another model", one + two, false, parse.AnotherShape, "", 2},
		{"the same again", one + two, false, parse.Nothing, "", 1},
		{"a later page without a sample, which changes no labels", "# TYPE a counter\n", false, parse.Nothing, scrape.ReasonEmpty, 1},
	} {
		before, last := asked, reader.Last()
		_, news, err := reader.Read(&fetch.Page{Body: scrape.Page{Body: []byte(c.page)}}, false, func(*engine.Page) bool {
			asked++
			return c.changes
		})
		require.Equal(t, c.reason != "", err != nil, "%s: %v", c.says, err)
		if err != nil {
			require.Equal(t, c.reason, scrape.ReasonOf(err), c.says)
		}
		require.Equal(t, c.news, news, c.says)
		require.Equal(t, c.asked, asked-before, c.says)
		if c.news == parse.Nothing {
			require.Same(t, last, reader.Last(), c.says)
		} else {
			require.NotSame(t, last, reader.Last(), c.says)
		}
	}
}
