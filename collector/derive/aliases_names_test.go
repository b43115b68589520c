package derive_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestNamesOfServersAreAliasesOrKnowinglyNone holds the vocabularies of servers
// against the names that are read on their own pages: an alias is a name that such
// a server has, and a name without alias is one of those written down here.
func TestNamesOfServersAreAliasesOrKnowinglyNone(t *testing.T) {
	for _, c := range []struct {
		set, prefix string
		kind        engine.Kind
		none        []string
	}{
		{"vllm", "vllm:", engine.VLLM, []string{
			"num_requests_waiting_by_reason", "admission_rejections_total", "prefix_cache_hits_total", "gpu_prefix_cache_hits_total", "prompt_tokens_cached_by_source_total",
			"spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total", "spec_decode_num_accepted_tokens_per_pos_total",
			"iteration_tokens_total_count", "engine_sleep_state",
			"nixl_xfer_time_seconds_sum", "nixl_bytes_transferred_sum", "nixl_num_failed_transfers_total", "nixl_num_kv_expired_reqs_total", "nixl_num_failed_notifications_total",
			"mooncake_xfer_time_seconds_sum", "mooncake_bytes_transferred_sum", "mooncake_num_failed_transfers_total", "mooncake_num_kv_expired_reqs_total", "mooncake_num_failed_recvs_total",
			"cache_config_info", // It is made of two families.
		}},
		{"trtllm", "trtllm_", engine.TRTLLMServe, []string{
			"request_error_total", "num_requests_completed_total", "prompt_cached_tokens_total", "prompt_cache_hit_tokens_total", "prompt_cached_tokens_per_request",
			"request_prefill_time_seconds", "request_decode_time_seconds", "request_inference_time_seconds",
			"prefill_batch_tokens", "prefill_perplexity", "generation_perplexity", "prefill_batch_occupancy", "scheduled_batch_size", "avg_decoded_tokens_per_iter",
			"iteration_latency_seconds", "max_batch_size_static", "max_batch_size_runtime", "max_num_tokens_runtime",
			"kv_cache_host_utilization", "kv_cache_hit_rate", "kv_cache_iter_reuse_rate", "kv_cache_missed_blocks_total", "kv_cache_gen_alloc_blocks_total",
			"kv_cache_disk_prefetch_blocks_total", "kv_cache_onboard_bytes_total", "kv_cache_offload_bytes_total", "kv_cache_intra_device_copy_bytes_total",
			"spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total", "spec_decode_drafted_tokens_total", "spec_decode_accepted_tokens_total",
			"spec_decode_acceptance_length", "spec_decode_draft_overhead",
			"model_config_info", "parallel_config_info", "speculative_config_info", "kv_cache_config_info",
		}},
	} {
		e, ok := engine.Of(string(c.kind))
		require.True(t, ok)
		var known, decided []string
		seen := make(map[string]bool)
		for _, m := range e.Meanings() {
			if name, its := strings.CutPrefix(m.Name, c.prefix); its && !seen[name] {
				seen[name], known = true, append(known, name)
			}
		}
		decided = append(decided, c.none...)
		for _, a := range derive.Aliases() {
			if a.Set == c.set {
				decided = append(decided, strings.TrimPrefix(a.Name, c.prefix))
			}
		}
		require.ElementsMatch(t, known, decided, "%s: give it an alias, or say here that it has none", c.set)
	}
}
