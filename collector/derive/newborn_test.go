package derive_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestACounterThatWasOnThePageIsNotNewToTheRuleThatReadsIt has a trtllm-serve that
// finds blocks in its cache for the first time when it has missed many.
func TestACounterThatWasOnThePageIsNotNewToTheRuleThatReadsIt(t *testing.T) {
	const ratio = `kv_cache_reuse_ratio{model_id="m"}`
	b := newBench(t, engine.TRTLLMServe, "m")
	missed := func(n int, more ...string) values {
		return b.page(append(more, fmt.Sprintf(`trtllm_kv_cache_missed_blocks_total{model_name="m"} %d`, n))...)
	}
	missed(90_000)
	missed(90_010).lacks(t, ratio)
	missed(90_020, `trtllm_kv_cache_reused_blocks_total{model_name="m"} 30`).lacks(t, ratio, "of the misses of the window only the last is known")
	got := missed(90_030, `trtllm_kv_cache_reused_blocks_total{model_name="m"} 60`)
	require.InDelta(t, 0.75, got.at(t, ratio), 1e-9)
}
