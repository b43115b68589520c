package derive_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// benchPages is how many different pages the benchmarks read in turn.
const benchPages = 64

// benchTarget is one target with the usual big page, and its pages.
func benchTarget(b *testing.B, aliases ...string) (*exposition.Cache, *derive.Deriver, [][]byte) {
	b.Helper()
	return benchTargetOf(b, simulate.BenchTRTLLM, aliases...)
}

// benchTargetOf is one target with a big page of a kind, and its pages.
func benchTargetOf(b *testing.B, kind simulate.BenchKind, aliases ...string) (*exposition.Cache, *derive.Deriver, [][]byte) {
	b.Helper()
	e, ok := engine.Of(string(engine.Triton))
	require.True(b, ok)
	models := []string{"ensemble", "postprocessing", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls"}
	d := derive.NewDeriver(derive.Options{
		Window: time.Minute, Interval: 5 * time.Second, Engine: e, Aliases: aliases,
		Identity: derive.Identity{
			Labels: labels.FromStrings("engine", "triton", "engine_version", "2.64.0", "pool_id", "p", "replica_id", "r", "trtllm_version", "1.1.0"),
			Source: engine.SourceTable, Topology: engine.NewTopology(e, engine.Seen{Names: models}, nil, nil),
		},
	})
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	pages := make([][]byte, benchPages)
	for i := range pages {
		pages[i] = simulate.BenchPage(kind, 0, i)
	}
	return cache, d, pages
}

// read parses one page into a block.
func read(b *testing.B, cache *exposition.Cache, page []byte) *exposition.Block {
	b.Helper()
	raw, err := cache.Parse(page, "")
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// fetched reads the page into buf as a scrape does, through net/http.
func fetched(b *testing.B, client *http.Client, url string, buf []byte) []byte {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(b, err)
	resp, err := client.Do(req)
	require.NoError(b, err)
	defer resp.Body.Close()
	if size := int(resp.ContentLength); cap(buf) < size {
		buf = make([]byte, 0, size+1)
	}
	buf = buf[:resp.ContentLength]
	_, err = io.ReadFull(resp.Body, buf)
	require.NoError(b, err)
	return buf
}

// canned answers every request with the next page on a port of its own.
func canned(b *testing.B, pages [][]byte) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { listener.Close() })
	go simulate.ServeCanned(listener, pages)
	return "http://" + listener.Addr().String() + "/metrics"
}

// BenchmarkIngest is what a page costs before anything is derived from it:
// its copy and its parse alone, and with its scrape over the loopback. What
// deriving adds to a scrape is the last figure less the one before:
//
//	go test -run '^$' -bench Ingest -cpu 1 -count 6 ./collector/derive
func BenchmarkIngest(b *testing.B) {
	b.Run("parse", func(b *testing.B) {
		cache, _, pages := benchTarget(b)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			read(b, cache, pages[n%benchPages])
		}
	})
	for _, name := range []string{"scrape+parse", "scrape+parse+derive"} {
		b.Run(name, func(b *testing.B) {
			cache, d, pages := benchTarget(b)
			url := canned(b, pages)
			client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
			defer client.CloseIdleConnections()
			var body []byte
			now := time.Duration(0)
			for b.Loop() {
				body = fetched(b, client, url, body)
				raw := read(b, cache, body)
				if name == "scrape+parse+derive" {
					now += 5 * time.Second
					d.Derive(now, raw)
				}
			}
		})
	}
}

// BenchmarkDerive is what deriving from a page costs.
func BenchmarkDerive(b *testing.B) {
	for _, way := range []struct {
		name    string
		aliases []string
	}{{"scrape", nil}, {"scrape+aliases", exposition.AliasSets()}} {
		b.Run(way.name, func(b *testing.B) {
			cache, d, pages := benchTarget(b, way.aliases...)
			raws := make([]*exposition.Block, benchPages)
			read(b, cache, pages[0]) // The first page takes the slow path.
			for i := range raws {
				raws[i] = read(b, cache, pages[i])
			}
			now := time.Duration(0)
			series := 0
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				now += 5 * time.Second
				out := d.Derive(now, raws[n%benchPages])
				if n == benchPages-1 {
					series = strings.Count(text(out), "\n")
				}
			}
			b.ReportMetric(float64(series), "series")
		})
	}
}
