package collector_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
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

func TestSkewIsWithinOneKindOfServer(t *testing.T) {
	t.Parallel()
	vllm := simulate.Spec{Name: "vllm", Kind: simulate.KindVLLM, Engine: simulate.Engine{TokensPerBlock: 16}}
	sglang := simulate.Spec{Name: "sglang", Kind: simulate.KindSGLang, Engine: simulate.Engine{TokensPerBlock: 1}}
	serve := simulate.Spec{Name: "serve", Kind: simulate.KindServe, Engine: simulate.Engine{TokensPerBlock: 32}}
	triton := simulate.Spec{Name: "triton", Kind: simulate.KindTriton, Setup: simulate.Setup{Histograms: true}, Streaming: true, Engine: simulate.Engine{TokensPerBlock: 64}}
	newer := vllm
	newer.Name, newer.EngineVersion = "newer", "0.33.0"
	l := startLine(t,
		pool("kinds", of(t, worked(t, vllm), worked(t, sglang), worked(t, serve), worked(t, triton))...),
		pool("rollout", of(t, worked(t, vllm), worked(t, sglang), worked(t, newer))...),
	)
	for _, replica := range []string{"vllm", "sglang", "serve", "triton"} {
		l.eventually(`pool_id="kinds",replica_id="` + replica + `"`)
	}
	l.eventually(
		`llm_server_pool_skew{fact="engine_version",pool_id="kinds"} 0`,
		`llm_server_pool_skew{fact="trtllm_version",pool_id="kinds"} 0`,
		`llm_server_pool_skew{fact="kv_block_tokens",pool_id="kinds"} 0`,
		`llm_server_pool_skew{fact="histogram_buckets",pool_id="kinds"} 0`,
		`llm_server_pool_skew{fact="engine_version",pool_id="rollout"} 1`,
	)
}

func TestARolloutShowsAsSkewUntilItIsThrough(t *testing.T) {
	t.Parallel()
	first := worked(t, simulate.Spec{Name: "a", Kind: simulate.KindServe})
	second := worked(t, simulate.Spec{Name: "b", Kind: simulate.KindServe})
	l := startLine(t, pool("p", of(t, first, second)...))
	l.eventually(`llm_server_pool_skew{fact="engine_version",pool_id="p"} 0`)
	first.Rollout(0, "", "1.3.0")
	first.Advance(30 * time.Second)
	l.eventually(`llm_server_pool_skew{fact="engine_version",pool_id="p"} 1`)
	second.Rollout(0, "", "1.3.0")
	second.Advance(30 * time.Second)
	l.eventually(`llm_server_pool_skew{fact="engine_version",pool_id="p"} 0`, `engine_version="1.3.0"`)
}

func TestExpectationsOfAPool(t *testing.T) {
	t.Parallel()
	r := worked(t, simulate.Spec{Kind: simulate.KindTriton})
	p := pool("p", "r0="+r.MetricsAddr()+"|"+r.APIAddr())
	p.Expect.EngineVersion, p.Expect.TRTLLMVersion, p.Expect.Determinism = "2.64.0", "1.2.0", true
	status, page := scrapedOnce(t, p)
	for fact, value := range map[string]string{"engine_version": "0", "trtllm_version": "1", "determinism": "1"} {
		requireText(t, page, `llm_server_expectation_mismatch{engine="triton",engine_version="2.64.0",fact="`+fact+`",pool_id="p",replica_id="r0",trtllm_version="1.1.0"} `+value+"\n")
	}
	met := func() []target.Check { return target.ListOf(status.Checks, assess.Expected) }
	require.Len(t, met(), 3)
	require.Contains(t, met()[1].Reason, "it is 1.1.0, expected is 1.2.0")
	require.Contains(t, met()[2].Reason, "gpus_pinned")
	requireText(t, page, `llm_server_determinism_profile{check="versions_pinned",engine="triton",engine_version="2.64.0",pool_id="p",replica_id="r0",trtllm_version="1.1.0"} 1`)

	p.EngineVersion = "2.60.0"
	status, _ = scrapedOnce(t, p)
	require.Equal(t, "2.60.0", status.EngineVersion, "what is declared goes onto the series")
	require.True(t, met()[0].OK, "what the server says is held against what is expected")

	silent := pool("p", "r0="+worked(t, simulate.Spec{Kind: simulate.KindTritonOpenAI}).MetricsAddr())
	silent.Expect = p.Expect
	status, page = scrapedOnce(t, silent)
	requireNoText(t, page, `llm_server_expectation_mismatch{engine="triton-openai",engine_version="unknown",fact="engine_version"`, "what is not known is no mismatch")
	require.Len(t, met(), 1)
}
