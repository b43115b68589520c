package derive_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// BenchmarkDerive reads alternating pages of typical size.
func BenchmarkDerive(b *testing.B) {
	const pages = 64
	lean := exposition.EveryGroup().Without(exposition.GroupsOf(exposition.GroupCore))
	for name, more := range map[string]derive.Options{
		"scrape": {}, "scrape+aliases": {Aliases: exposition.AliasSets()}, "scrape, core": {Off: lean},
	} {
		b.Run(name, func(b *testing.B) {
			target := newBench(
				b,
				engine.Triton,
				"ensemble",
				"postprocessing",
				"preprocessing",
				"tensorrt_llm",
				"tensorrt_llm_bls",
			).
				with(func(o *derive.Options) { o.Aliases, o.Off = more.Aliases, more.Off })
			var blocks []*exposition.Block
			for i := range pages + 1 {
				block, err := target.cache.Parse(simulate.BenchPage(simulate.BenchTRTLLM, 0, i), "", target.label)
				require.NoError(b, err)
				blocks = append(blocks, block)
			}
			now := time.Duration(0)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				now += scrapeEvery
				target.out = target.deriver.Derive(now, blocks[1+n%pages], derive.Kept) // The first page takes the slow path.
			}
			b.ReportMetric(float64(len(target.values())), "series")
		})
	}
}
