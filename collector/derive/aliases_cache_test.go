package derive_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestHistogramsAreOnThePageThatTellsTheSizeOfTheCache has a server whose cache is
// of a size that is known from its first page on, and of another later.
func TestHistogramsAreOnThePageThatTellsTheSizeOfTheCache(t *testing.T) {
	page := func(blocks string) []string {
		const name = "trtllm_e2e_request_latency_seconds"
		return []string{
			"# TYPE " + name + " histogram", name + `_bucket{model_name="m",le="1.0"} 3`, name + `_bucket{model_name="m",le="+Inf"} 4`,
			name + `_sum{model_name="m"} 9`, name + `_count{model_name="m"} 4`,
			`trtllm_kv_cache_tokens_per_block{model_name="m"} 32`, `trtllm_kv_cache_max_blocks{model_name="m"} ` + blocks,
		}
	}
	b := newBench(t, engine.TRTLLMServe, "m")
	b.opts.Aliases = []string{"vllm"}
	b.deriver = derive.NewDeriver(b.opts)
	for _, c := range []struct{ says, blocks string }{{"the first page", "100"}, {"the next", "100"}, {"another size", "80"}, {"the next", "80"}} {
		got := b.page(page(c.blocks)...)
		require.Equal(t, 1.0, got.at(t, `vllm:cache_config_info{block_size="32", model_id="m", model_name="m", num_gpu_blocks="`+c.blocks+`"}`), c.says)
		require.Equal(t, 4.0, got.at(t, `request_duration_seconds_count{model_id="m"}`), c.says)
		require.Equal(t, 4.0, got.at(t, `vllm:e2e_request_latency_seconds_count{model_id="m", model_name="m"}`), c.says)
	}
	require.Zero(t, b.deriver.Stats().BrokenHistograms)
}
