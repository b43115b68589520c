package derive_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestPromptsAreCountedOnce has a Triton that prefills with one model and generates with another: both count the tokens
// of each request, of which one computes the prompt and the first token.
func TestPromptsAreCountedOnce(t *testing.T) {
	caller := configured("disaggregated", "python", false)
	caller.Calls, caller.Prefill = []string{"context", "generation"}, "context"
	b := newBench(t, engine.Triton).facts(
		caller, configured("context", "tensorrtllm", false), configured("generation", "tensorrtllm", false),
	)
	page := func(requests int) (lines []string) {
		for _, model := range []string{"disaggregated", "context", "generation"} {
			lines = append(lines, fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, model, requests))
		}
		for _, tokens := range []struct {
			model, family string
			each          int
		}{
			{"context", "input", 100}, {"generation", "input", 100}, {"context", "output", 1}, {"generation", "output", 50},
		} {
			name, l := "nv_llm_"+tokens.family+"_token_len", fmt.Sprintf(`model=%q,version="1"`, tokens.model)
			lines = append(lines, histogram(name, l, requests*tokens.each, "1000 +Inf", requests, requests)...)
		}
		for _, model := range []string{"context", "generation"} {
			lines = append(lines, fmt.Sprintf(`nv_trt_llm_request_metrics{model=%q,request_type="active",version="1"} 2`, model))
		}
		return lines
	}
	b.page(page(10)...)
	got := b.page(page(20)...)
	require.InDelta(t, 2000, got.get(t, `prompt_tokens_total{model_id="disaggregated"}`), 0)
	require.InDelta(t, 1000, got.get(t, `generation_tokens_total{model_id="disaggregated"}`), 0)
	require.InDelta(t, 20, got.get(t, `request_prompt_tokens_count{model_id="disaggregated"}`), 0)
	require.InDelta(t, 4, got.get(t, `requests_active{model_id="disaggregated"}`), 0, "each is in one of them at a time")
}
