package collector_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// TestAPoolOfSeveralKindsIsComparedWithinEach has one server of each kind that may
// serve a pool, and a second vLLM: versions, configs and answers are held
// against those of the same kind alone, determinism against what each says.
func TestAPoolOfSeveralKindsIsComparedWithinEach(t *testing.T) {
	t.Parallel()
	kinds := []simulate.Kind{simulate.KindServe, simulate.KindVLLM, simulate.KindSGLang, simulate.KindTriton, simulate.KindVLLM}
	engines := []string{"trtllm-serve", "vllm", "sglang", "triton", "vllm"}
	specs := make([]simulate.Spec, len(kinds))
	for i, kind := range kinds {
		specs[i] = simulate.Spec{Kind: kind, Streaming: true, GPUs: 1, Model: "llama", Engine: simulate.Engine{TokensPerBlock: 16 << (i % 4)}}
	}
	specs[4].Engine = specs[1].Engine
	c := fly(t, func(p *config.Pool) {
		p.ModelIDs = map[string][]string{"llama": {"ensemble", "llama", "tensorrt_llm"}}
		p.Expect.Determinism = true
	}, specs...)
	for i := range kinds {
		// Answers before the versions were known do not count.
		s := c.until(engines[i]+" answers the same", i, func(s map[string]float64) bool { return s["deterministic"] == 1 })
		require.Zero(t, s["output_changes_total"], engines[i])
	}
	for i, e := range engines {
		of := fmt.Sprintf(`pool_id="p",replica_id="r%d"`, i)
		page := c.page()
		require.Regexp(t, `llm_server_state\{engine="`+e+`",[^}]*`+of+`[^}]*state="ready"[^}]*\} 1`, page)
		require.Regexp(t, `llm_server_determinism_profile\{check="versions_pinned",engine="`+e+`",[^}]*`+of, page)
		require.Regexp(t, `llm_server_expectation_mismatch\{engine="`+e+`",[^}]*fact="determinism",`+of, page)
		require.Regexp(t, `llm_server_canary_success\{engine="`+e+`",[^}]*model_id="llama",`+of, page, "one model, whatever each server calls it")
	}
	outputs := func(n string) string { return `llm_server_pool_canary_outputs{pool_id="p"} ` + n }
	c.eventually(
		outputs("1"),
		`llm_server_pool_skew{fact="engine_version",pool_id="p"} 0`,
		`llm_server_pool_skew{fact="trtllm_version",pool_id="p"} 0`,
		`llm_server_pool_skew{fact="kv_block_tokens",pool_id="p"} 0`,
	)
	// One of a kind alone may answer as it likes; of two, one that changes is seen.
	c.server(2).Unsteady(true)
	c.until("SGLang answers otherwise", 2, func(s map[string]float64) bool { return s["output_changes_total"] > 0 })
	requireText(t, c.page(), outputs("1"))
	c.server(4).Unsteady(true)
	c.until("the second vLLM answers otherwise", 4, func(s map[string]float64) bool { return s["output_changes_total"] > 0 })
	c.eventually(outputs("2"))
	c.server(4).Rollout(0, "0.33.0", "")
	c.eventually(`llm_server_pool_skew{fact="engine_version",pool_id="p"} 1`)
	require.Equal(t, 1.0, c.well(1, 1)["deterministic"])
}
