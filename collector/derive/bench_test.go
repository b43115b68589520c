package derive_test

import (
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
	e, ok := engine.ByName(string(engine.Triton))
	require.True(b, ok)
	models := []string{"ensemble", "postprocessing", "preprocessing", "tensorrt_llm", "tensorrt_llm_bls"}
	d := derive.NewDeriver(derive.Options{
		Window: time.Minute, Interval: 5 * time.Second, Engine: e, Aliases: aliases,
		Identity: derive.Identity{
			Labels: labels.FromStrings("engine", "triton", "engine_version", "2.64.0", "pool_id", "p", "replica_id", "r", "trtllm_version", "1.1.0"),
			Source: engine.SourceTable, Topology: engine.NewTopology(e, engine.NamedModels{Names: models}, nil, nil),
		},
	})
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(e)})
	pages := make([][]byte, benchPages)
	for i := range pages {
		pages[i] = simulate.BenchPage(simulate.BenchTRTLLM, 0, i)
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
