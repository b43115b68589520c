package collector_test

import (
	"testing"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestSkewInsideAPool(t *testing.T) {
	t.Parallel()
	small := simulate.Engine{TokensPerBlock: 32}
	alike := simulate.Spec{Name: "a", Kind: simulate.KindTriton, Setup: simulate.Setup{Histograms: true}, Streaming: true, GPUs: 1}
	twin := alike
	twin.Name = "b"
	other := simulate.Spec{Name: "c", Kind: simulate.KindTriton, EngineVersion: "2.67.0", TRTLLMVersion: "1.2.0", Engine: small, GPUs: 4}
	l := startLine(t,
		pool("alike", of(t, worked(t, alike), worked(t, twin))...),
		pool("mixed", of(t, worked(t, alike), worked(t, twin), worked(t, other))...),
		pool("one", append(of(t, worked(t, alike)), "gone=127.0.0.1:1")...),
		pool("gone", "gone=127.0.0.1:1"),
	)
	l.eventually(
		`llm_server_pool_skew{fact="engine_version",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="trtllm_version",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="config_hash",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="kv_block_tokens",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="histogram_buckets",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="gpu",pool_id="alike"} 0`,
		`llm_server_pool_skew{fact="engine_version",pool_id="mixed"} 1`,
		`llm_server_pool_skew{fact="trtllm_version",pool_id="mixed"} 1`,
		`llm_server_pool_skew{fact="config_hash",pool_id="mixed"} 1`,
		`llm_server_pool_skew{fact="kv_block_tokens",pool_id="mixed"} 1`,
		`llm_server_pool_skew{fact="histogram_buckets",pool_id="mixed"} 0`,
		`llm_server_pool_skew{fact="gpu",pool_id="mixed"} 1`,
		`llm_server_pool_skew{fact="engine_version",pool_id="one"} 0`,
	)
	requireNoText(t, l.page(), `llm_server_pool_skew{fact="engine_version",pool_id="gone"}`)
	l.apply(pool("gone", "gone=127.0.0.1:1"))
	l.eventuallyWithout("llm_server_pool_skew{")
}
