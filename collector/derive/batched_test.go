package derive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// batchedPage returns a page of an LLM: successes, answers from the response cache among them, inferences, failures,
// requests of which tokens were observed, each with 200 and 20.
func batchedPage(succeeded, hits, inferences, failed, observed int) []string {
	const l = `model="tensorrt_llm",version="1"`
	lines := []string{
		fmt.Sprintf(`nv_inference_request_success{%s} %d`, l, succeeded),
		fmt.Sprintf(`nv_inference_request_failure{%s,reason="BACKEND"} %d`, l, failed),
		fmt.Sprintf(`nv_inference_count{%s} %d`, l, inferences),
		fmt.Sprintf(`nv_inference_exec_count{%s} %d`, l, succeeded+failed),
		fmt.Sprintf(`nv_inference_request_duration_us{%s} %d`, l, 1000*succeeded),
		fmt.Sprintf(`nv_cache_num_hits_per_model{%s} %d`, l, hits),
		`nv_trt_llm_kv_cache_block_metrics{` + l + `,kv_cache_block_type="tokens_per"} 64`,
		fmt.Sprintf(`nv_trt_llm_kv_cache_block_metrics{%s,kv_cache_block_type="reused"} %d`, l, observed),
		fmt.Sprintf(`nv_trt_llm_general_metrics{%s,general_type="iteration_counter"} %d`, l, 40*succeeded),
	}
	for name, length := range map[string]int{"input": 200, "output": 20} {
		lines = append(lines,
			fmt.Sprintf(`nv_llm_%s_token_len_sum{%s} %d`, name, l, length*observed),
			fmt.Sprintf(`nv_llm_%s_token_len_count{%s} %d`, name, l, observed),
			fmt.Sprintf(`nv_llm_%s_token_len_bucket{%s,le="+Inf"} %d`, name, l, observed),
		)
	}
	slices.Sort(lines)
	return lines
}

// TestTokensOfBatchedRequestsAreUnknown uses requests of several inferences, of which the C++ backend observes the
// tokens of one, and that of the Python backend those of each.
func TestTokensOfBatchedRequestsAreUnknown(t *testing.T) {
	llm := func(backend string) engine.ModelFacts {
		return configured("tensorrt_llm", backend, backend == "python")
	}
	for _, c := range []struct {
		name  string
		model engine.ModelFacts
		// page returns the nth page.
		page    func(n int) []string
		unknown bool
	}{
		{
			"four each", llm("tensorrtllm"),
			func(n int) []string { return batchedPage(50+10*n, 0, 200+40*n, 0, 50+10*n) }, true,
		},
		{
			"one each", llm("tensorrtllm"),
			func(n int) []string { return batchedPage(50+10*n, 0, 50+10*n, 0, 50+10*n) }, false,
		},
		{
			"one request of two, long ago", llm("tensorrtllm"),
			func(n int) []string { return batchedPage(50, 0, 51, 0, 50+n-n) }, true,
		},
		{
			"the first one of two comes now", llm("tensorrtllm"),
			func(n int) []string { return batchedPage(50, 0, 50+min(n/2, 1), 0, 50) }, true,
		},
		{
			"failed ones are observed, and no inferences", llm("tensorrtllm"),
			func(n int) []string { return batchedPage(50+10*n, 0, 50+10*n, 5*n, 50+15*n) }, false,
		},
		{
			"failures beside batches", llm("tensorrtllm"),
			func(n int) []string { return batchedPage(50+2*n, 0, 50+8*n, 10*n, 50+12*n) }, true,
		},
		{
			"answers from the cache hide no batches", llm("tensorrtllm"),
			func(n int) []string { return batchedPage(50+10*n, 8*n, 50+8*n, 0, 50+2*n) }, true,
		},
		{
			"answers from the cache are no inferences", llm("tensorrtllm"),
			func(n int) []string { return batchedPage(50+10*n, 8*n, 50+2*n, 0, 50+2*n) }, false,
		},
		{
			"inferences that are read a moment after requests", llm("tensorrtllm"),
			func(n int) []string { return batchedPage(50+10*n, 0, 50+10*n+min(n, 3), 0, 50+10*n) }, false,
		},
		{
			"the Python backend", llm("python"),
			func(n int) []string { return batchedPage(50+10*n, 0, 200+40*n, 0, 180+40*n) }, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, engine.Triton).facts(c.model).release("2.51.0")
			var got values
			for n := range 5 {
				got = b.page(c.page(n)...)
			}
			for _, family := range []string{
				"prompt_tokens_total", "generation_tokens_total", "prompt_tokens_per_second",
				"generation_tokens_per_second", "request_prompt_tokens_sum", "request_generation_tokens_count",
				"kv_cache_reuse_ratio_estimate", "model_generation_tokens_total",
			} {
				require.Equal(t, !c.unknown, hasFamily(got, family), family)
			}
			require.True(t, hasFamily(got, "engine_iterations_total"))
			require.Equal(t, c.unknown, got[found("batched_requests", "tensorrt_llm")] == 1)
			require.Zero(t, got[found("frozen_counters", "tensorrt_llm")])
		})
	}
}

func hasFamily(got values, family string) bool {
	for series := range got {
		if name, _, _ := strings.Cut(series, "{"); name == family {
			return true
		}
	}
	return false
}

// TestTokensAreKnownAfterRestart uses a server of which the next process gets no batched requests.
func TestTokensAreKnownAfterRestart(t *testing.T) {
	b := newBench(t, engine.Triton).facts(configured("tensorrt_llm", "tensorrtllm", false)).release("2.51.0")
	b.page(batchedPage(50, 0, 200, 0, 50)...)
	require.False(t, hasFamily(b.page(batchedPage(60, 0, 240, 0, 60)...), "generation_tokens_total"))
	b.page(batchedPage(0, 0, 0, 0, 0)...)
	got := b.page(batchedPage(10, 0, 10, 0, 10)...)
	require.InDelta(t, 40, got.get(t, `generation_tokens_per_second{model_id="tensorrt_llm"}`), 1e-9)
	require.InDelta(t, 200, got.get(t, `generation_tokens_total{model_id="tensorrt_llm"}`), 1e-9)
}
