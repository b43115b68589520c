package exposition_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// TestReadersKeepTheirBlocksWhileScrapesGoOn publishes pages whose values are all equal.
// A block that changes under a reader is a page of different values, and a data race.
func TestReadersKeepTheirBlocksWhileScrapesGoOn(t *testing.T) {
	var (
		current atomic.Pointer[exposition.Block]
		readers sync.WaitGroup
	)
	c := exposition.NewCache(exposition.Options{})
	scrape := func(v int) {
		var body []byte
		for n := range 50 {
			body = fmt.Appendf(body, "a{n=\"%d\"} %d\n", n, v)
		}
		b, err := c.Parse(body, "")
		if err != nil {
			t.Error(err)
		}
		current.Store(b)
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
				b := current.Load()
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
	require.Equal(t, 50, current.Load().Samples())
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
