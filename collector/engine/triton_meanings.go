package engine

import "strings"

// Factors to base units.
const (
	micro = 1e-6
	milli = 1e-3
)

// Meanings implements Engine. Names and semantics: Triton core src/metrics.cc,
// the TensorRT-LLM backend's custom_metrics_reporter.cc.
func (triton) Meanings() []Meaning {
	return append(coreMeanings(), backendMeanings()...)
}

// coreMeanings are the families of Triton itself.
func coreMeanings() []Meaning {
	gpu := []string{"gpu_uuid=gpu_uuid"}
	return []Meaning{
		{Name: "nv_inference_request_success", Signal: ModelSuccess, Scope: OfModel, Counter: true},
		{Name: "nv_inference_request_failure", Signal: ModelFailed, Scope: OfModel, Counter: true, Dims: []string{"reason=reason"}},
		{Name: "nv_inference_count", Signal: ModelInferences, Scope: OfModel, Counter: true},
		{Name: "nv_inference_exec_count", Signal: ModelExecutions, Scope: OfModel, Counter: true},
		{Name: "nv_inference_pending_request_count", Signal: ModelPending, Scope: OfModel},
		{Name: "nv_inference_request_duration_us", Signal: ModelRequestSeconds, Scale: micro, Scope: OfModel, Counter: true},
		{Name: "nv_inference_queue_duration_us", Signal: ModelQueueSeconds, Scale: micro, Scope: OfModel, Counter: true},
		{Name: "nv_inference_compute_input_duration_us", Signal: ModelComputeSeconds, Scale: micro, Scope: OfModel, Counter: true, Const: "phase=input"},
		{Name: "nv_inference_compute_infer_duration_us", Signal: ModelComputeSeconds, Scale: micro, Scope: OfModel, Counter: true, Const: "phase=infer"},
		{Name: "nv_inference_compute_output_duration_us", Signal: ModelComputeSeconds, Scale: micro, Scope: OfModel, Counter: true, Const: "phase=output"},
		{Name: "nv_model_load_duration_secs", Signal: ModelLoadSeconds, Scope: OfModel, Combine: Max},
		{Name: "nv_cache_num_hits_per_model", Signal: ModelCacheHits, Scope: OfModel, Counter: true},
		{Name: "nv_cache_num_misses_per_model", Signal: ModelCacheMisses, Scope: OfModel, Counter: true},
		{Name: "nv_cache_hit_duration_per_model", Signal: ModelCacheHitSeconds, Scale: micro, Scope: OfModel, Counter: true},
		{Name: "nv_cache_miss_duration_per_model", Signal: ModelCacheMissSecond, Scale: micro, Scope: OfModel, Counter: true},
		{Name: "nv_pinned_memory_pool_used_bytes", Signal: PinnedMemoryUsed, Scope: OfServer},
		{Name: "nv_pinned_memory_pool_total_bytes", Signal: PinnedMemoryLimit, Scope: OfServer},
		{Name: "nv_gpu_utilization", Signal: GPUUtilization, Scope: OfServer, Dims: gpu},
		{Name: "nv_gpu_memory_used_bytes", Signal: GPUMemoryUsed, Scope: OfServer, Dims: gpu},
		{Name: "nv_gpu_memory_total_bytes", Signal: GPUMemoryTotal, Scope: OfServer, Dims: gpu},
		{Name: "nv_gpu_power_usage", Signal: GPUPower, Scope: OfServer, Dims: gpu},
		{Name: "nv_gpu_power_limit", Signal: GPUPowerLimit, Scope: OfServer, Dims: gpu},
		{Name: "nv_energy_consumption", Signal: GPUEnergy, Scope: OfServer, Counter: true, Dims: gpu},
		{Name: "nv_cpu_utilization", Signal: HostCPU, Scope: OfServer},
		{Name: "nv_cpu_memory_used_bytes", Signal: HostMemoryUsed, Scope: OfServer},
		{Name: "nv_cpu_memory_total_bytes", Signal: HostMemoryTotal, Scope: OfServer},
	}
}

// backendMeanings are the families of the TensorRT-LLM backend, which put
// many meanings into one name; in 23.11 the names ended in _statistics.
func backendMeanings() []Meaning {
	var all []Meaning
	for _, m := range append(batcherMeanings(), cacheMeanings()...) {
		all = append(all, m)
		m.Name = strings.TrimSuffix(m.Name, "_metrics") + "_statistics"
		all = append(all, m)
	}
	const transfer, kind = "nv_trt_llm_disaggregated_serving_metrics", "disaggregated_serving_type"
	return append(all,
		Meaning{Name: transfer, Label: kind, Value: "kv_cache_transfer_ms", Signal: KVTransferSeconds, Scale: milli, Counter: true},
		Meaning{Name: transfer, Label: kind, Value: "request_count", Signal: Disaggregated, Counter: true},
		Meaning{Name: "nv_llm_input_token_len_sum", Signal: PromptTokens, Counter: true},
		Meaning{Name: "nv_llm_output_token_len_sum", Signal: GenerationTokens, Counter: true},
		Meaning{Name: "nv_llm_output_token_len_count", Signal: TokenRequests, Counter: true},
	)
}

// batcherMeanings are the requests and iterations of the executor. All are of
// its last iteration, sampled every 100 ms, and stay when it idles.
func batcherMeanings() []Meaning {
	const (
		requests, kind     = "nv_trt_llm_request_metrics", "request_type"
		batcher, specific  = "nv_trt_llm_inflight_batcher_metrics", "inflight_batcher_specific_metric"
		v1, v1Kind         = "nv_trt_llm_v1_metrics", "v1_specific_metric"
		general, generally = "nv_trt_llm_general_metrics", "general_type"
	)
	return []Meaning{
		{Name: requests, Label: kind, Value: "active", Signal: RequestsActive},
		{Name: requests, Label: kind, Value: "max", Signal: RequestsLimit},
		{Name: requests, Label: kind, Value: "scheduled", Signal: RequestsRunning},
		{Name: requests, Label: kind, Value: "context", Signal: RequestsPrefill},
		{Name: requests, Label: kind, Value: "waiting", Signal: RequestsWaiting},
		{Name: batcher, Label: specific, Value: "total_context_tokens", Signal: ContextTokens},
		{Name: batcher, Label: specific, Value: "generation_requests", Signal: RequestsDecode},
		{Name: batcher, Label: specific, Value: "paused_requests", Signal: RequestsPaused},
		{Name: v1, Label: v1Kind, Value: "total_context_tokens", Signal: ContextTokens},
		{Name: v1, Label: v1Kind, Value: "total_generation_tokens", Signal: V1Generation},
		{Name: v1, Label: v1Kind, Value: "empty_generation_slots", Signal: V1FreeSlots},
		{Name: general, Label: generally, Value: "iteration_counter", Signal: EngineIterations, Counter: true},
		{Name: general, Label: generally, Value: "timestamp", Signal: EngineLastIter, Combine: Max},
	}
}

// cacheMeanings are the memory and the paged KV cache of the executor.
// "reused" only grows although its TYPE is gauge.
func cacheMeanings() []Meaning {
	const (
		memory, where = "nv_trt_llm_runtime_memory_metrics", "memory_type"
		kv, kind      = "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type"
	)
	return []Meaning{
		{Name: memory, Signal: EngineMemory, Dims: []string{where + "=memory"}},
		{Name: kv, Label: kind, Value: "max", Signal: KVBlocksLimit},
		{Name: kv, Label: kind, Value: "used", Signal: KVBlocksUsed},
		{Name: kv, Label: kind, Value: "free", Signal: KVBlocksFree},
		{Name: kv, Label: kind, Value: "tokens_per", Signal: KVBlockTokens, Combine: Max},
		{Name: kv, Label: kind, Value: "reused", Signal: KVBlocksReused, Counter: true},
	}
}
