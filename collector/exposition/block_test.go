package exposition_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestAReleasedBlockServesTheNextScrape(t *testing.T) {
	c := exposition.NewCache(exposition.Options{})
	fill := func(b *exposition.Block, body string) {
		require.NoError(t, c.Parse(b, []byte(body), ""))
	}
	first := c.Block()
	fill(first, "a 1\n")
	first.Retain()
	first.Release()
	second := c.Block()
	require.NotSame(t, first, second, "a block that somebody holds is not lent again")
	fill(second, "a 2\n")
	require.Equal(t, "1", string(first.Text(0)))
	exposition.ForgetBlocks()
	first.Release()
	third := c.Block()
	require.Same(t, first, third)
	require.Nil(t, third.Shape())
	require.Zero(t, third.Size())
	fill(third, "a 3\n")
	require.Same(t, second.Shape(), third.Shape(), "blocks of one shape share it")
	require.Equal(t, "2", string(second.Text(0)))
	require.Equal(t, "3", string(third.Text(0)))
}

// TestReadersKeepTheirBlocksWhileScrapesGoOn publishes pages of equal values
// under readers that pin them; a block reused too early shows as a page of
// mixed values, and under the race detector as a race.
func TestReadersKeepTheirBlocksWhileScrapesGoOn(t *testing.T) {
	var (
		mu      sync.Mutex
		current *exposition.Block
		readers sync.WaitGroup
	)
	pin := func() *exposition.Block {
		mu.Lock()
		defer mu.Unlock()
		current.Retain()
		return current
	}
	c := exposition.NewCache(exposition.Options{})
	scrape := func(v int) {
		b := c.Block()
		var body []byte
		for n := range 50 {
			body = fmt.Appendf(body, "a{n=\"%d\"} %d\n", n, v)
		}
		if err := c.Parse(b, body, ""); err != nil {
			t.Error(err)
		}
		mu.Lock()
		before := current
		current = b
		mu.Unlock()
		if before != nil {
			before.Release()
		}
	}
	scrape(0)
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			var m exposition.Merger
			var buf []byte
			for {
				select {
				case <-stop:
					return
				default:
				}
				b := pin()
				blocks := []*exposition.Block{b}
				l := m.Layout(blocks)
				var page strings.Builder
				var err error
				if buf, err = l.WriteText(io.Writer(&page), blocks, buf, nil); err != nil {
					t.Error(err)
				}
				v, _ := b.Value(0)
				want := fmt.Sprintf("} %d\n", int(v))
				if got := strings.Count(page.String(), want); got != 50 {
					t.Errorf("page has %d of 50 lines with %q", got, want)
				}
				b.Release()
			}
		})
	}
	for v := range 500 {
		scrape(v * 17)
	}
	close(stop)
	readers.Wait()
	fast, slow := c.Paths()
	require.Equal(t, []uint64{500, 1}, []uint64{fast, slow})
	require.Equal(t, 50, current.Samples())
}

func TestSteadyPagesAllocateNothing(t *testing.T) {
	c := exposition.NewCache(exposition.Options{})
	bodies := [][]byte{[]byte("a 1\nb Nan\nc{x=\"1\"} -2.5e3\n"), []byte("a 123\nb 7\nc{x=\"1\"} Inf\n")}
	var held *exposition.Block
	i := 0
	scrape := func() {
		b := c.Block()
		i++
		if err := c.Parse(b, bodies[i%2], "text/plain; charset=utf-8"); err != nil {
			t.Error(err)
		}
		if held != nil {
			held.Release()
		}
		held = b
	}
	for range 10 {
		scrape()
	}
	require.Zero(t, testing.AllocsPerRun(100, scrape))
}

func TestConfig(t *testing.T) {
	for _, c := range []struct{ name, text, err string }{
		{"an empty block is the default", "{}", ""},
		{"all of it", "{raw: false, normalised: true, aliases: [vllm, otel, trtllm], openmetrics: true, page_max_age: 1s}", ""},
		{"aliases alone", "{raw: false, normalised: false, aliases: [vllm]}", ""},
		{"an unknown set", "{aliases: [tgi]}", `exposition.aliases[0]: unknown set "tgi"; use otel, trtllm, vllm`},
		{"a set twice", "{aliases: [vllm, vllm]}", `exposition.aliases[1]: "vllm" is listed twice`},
		{"nothing on the page", "{raw: false, normalised: false}", "/metrics would be empty; turn one on"},
		{"a duration that is none", "{page_max_age: soon}", "not a valid duration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var config exposition.Config
			err := yaml.Unmarshal([]byte(c.text), &config)
			if err == nil {
				err = config.Validate()
			}
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			if c.text == "{}" {
				require.Equal(t, exposition.DefaultConfig, config)
			}
		})
	}
}
