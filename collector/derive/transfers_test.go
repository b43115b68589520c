package derive_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// TestKVCacheTransfersHaveOneVocabulary has the pages of servers that compute prompts or
// decode for one another.
func TestKVCacheTransfersHaveOneVocabulary(t *testing.T) {
	const seconds, size, failures = "kv_cache_transfer_seconds_total", "kv_cache_transfer_bytes_total", "kv_cache_transfer_failures_total"
	for _, c := range []struct {
		says string
		kind engine.Kind
		page []string
		want map[string]float64
	}{
		{"Triton", engine.Triton, []string{
			`nv_inference_request_success{model="m",version="1"} 1`,
			`nv_trt_llm_disaggregated_serving_metrics{disaggregated_serving_type="kv_cache_transfer_ms",model="m",version="1"} 1500.25`,
		}, map[string]float64{seconds: 1.50025}},
		{"vLLM with NIXL", engine.VLLM, []string{
			`vllm:nixl_xfer_time_seconds_sum{engine="0",model_name="m"} 2.5`, `vllm:nixl_xfer_time_seconds_sum{engine="1",model_name="m"} 1.5`,
			`vllm:nixl_bytes_transferred_sum{engine="0",model_name="m"} 3e9`, `vllm:nixl_num_failed_transfers_total{engine="0",model_name="m"} 3`,
			`vllm:nixl_num_failed_notifications_total{engine="0",model_name="m"} 2`, `vllm:nixl_num_kv_expired_reqs_total{engine="0",model_name="m"} 1`,
		}, map[string]float64{seconds: 4, size: 3e9, failures + `{reason="transfer"}`: 3, failures + `{reason="notification"}`: 2, failures + `{reason="expired"}`: 1}},
		{"vLLM with Mooncake", engine.VLLM, []string{
			`vllm:mooncake_xfer_time_seconds_sum{engine="0",model_name="m"} 2`, `vllm:mooncake_bytes_transferred_sum{engine="0",model_name="m"} 7`,
			`vllm:mooncake_num_failed_transfers_total{engine="0",model_name="m"} 3`, `vllm:mooncake_num_failed_recvs_total{engine="0",model_name="m"} 4`,
		}, map[string]float64{seconds: 2, size: 7, failures + `{reason="transfer"}`: 3, failures + `{reason="receive"}`: 4}},
		{"SGLang, whose ranks of one batch say the same", engine.SGLang, []string{
			`sglang:kv_transfer_latency_ms_sum{model_name="m",tp_rank="0"} 250`, `sglang:kv_transfer_latency_ms_sum{model_name="m",tp_rank="1"} 250`,
			`sglang:kv_transfer_total_mb_sum{model_name="m",tp_rank="0"} 3`, `sglang:num_transfer_failed_reqs_total{model_name="m",tp_rank="0"} 5`,
			`sglang:num_bootstrap_failed_reqs_total{model_name="m",tp_rank="0"} 6`,
		}, map[string]float64{seconds: 0.25, size: 3 << 20, failures + `{reason="transfer"}`: 5, failures + `{reason="bootstrap"}`: 6}},
		{"an SGLang that shows its last transfer only", engine.SGLang, []string{
			`sglang:num_running_reqs{model_name="m",tp_rank="0"} 0`, `sglang:kv_transfer_latency_ms{model_name="m",tp_rank="0"} 250`,
		}, map[string]float64{}},
		{"a worker of Dynamo with TensorRT-LLM", engine.Dynamo, []string{
			`dynamo_component_uptime_seconds{worker_id="1"} 5`,
			`trtllm_kv_transfer_latency_seconds_sum{engine_type="trtllm",model_name="m"} 9`, `trtllm_kv_transfer_bytes_sum{engine_type="trtllm",model_name="m"} 1e6`,
		}, map[string]float64{seconds: 9, size: 1e6}},
	} {
		t.Run(c.says, func(t *testing.T) {
			got := newBench(t, c.kind, "m").page(c.page...)
			all := make(map[string]float64)
			for series, v := range got {
				if strings.HasPrefix(series, "kv_cache_transfer_") {
					all[strings.NewReplacer(`model_id="m", `, "", `{model_id="m"}`, "").Replace(series)] = v
				}
			}
			require.Equal(t, c.want, all)
		})
	}
}
