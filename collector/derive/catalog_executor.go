package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

func executorFamilies() []Family {
	return []Family{
		counted("engine_heartbeat_timestamp_seconds", engine.EngineHeartbeat, "When the metrics module of Triton's LLM-API backend last read the engine, as a Unix time; while it stands still the gauges of the engine are absent (source nv_llmapi_heartbeat_timestamp_seconds)."),
		counted("engine_awake", engine.EngineAwake, "0 while the engine sleeps: it has released its memory and serves nothing until it is woken up (source vllm:engine_sleep_state)."),
		family("adapters_info", Sampled, adapters(),
			"1 with the running and waiting LoRA adapters, as last written by the server (source vllm:lora_requests_info).",
			"the label set with the latest time"),
		counted("engine_iterations_total", engine.EngineIterations, "Iterations of the executor since the model was loaded (source general_type=iteration_counter, typed gauge by the server). Does not grow while idle."),
		family("engine_iterations_per_second", Exact, rateOf(engine.EngineIterations),
			"Iterations of the executor per second over the window; 0 while idle."),
		family("engine_last_iteration_timestamp_seconds", Rough, lastIteration(),
			"Time of the last iteration by the clock and the time zone of the server (source general_type=timestamp, microseconds from TensorRT-LLM 0.12 of the C++ backend, else seconds). Only compare it with itself.",
			"timestamp in seconds"),
		sampled("engine_iteration_duration_seconds", engine.IterationDuration, "Time of the last iteration that was read (source iteration_latency_seconds). With the overlap scheduler it spans about two."),
		sampled("engine_memory_bytes", engine.EngineMemory, "Memory by kind: gpu, cpu, pinned (source nv_trt_llm_runtime_memory_metrics, what the engine's leading process allocated; gpu_memory_usage_bytes, with the PyTorch backend all that is used on the device)."),
		sampled("iteration_context_tokens", engine.ContextTokens, "Prefill tokens computed in the last iteration (source total_context_tokens)."),
		sampled("iteration_generation_tokens", engine.StaticGeneration, "Tokens generated in the last iteration with static batching (source nv_trt_llm_v1_metrics{v1_specific_metric=total_generation_tokens})."),
		sampled("generation_slots_free", engine.StaticFreeSlots, "Slots of a static batch that were empty in the last iteration (source v1_specific_metric=empty_generation_slots)."),
		family("iteration_prefill_tokens", Sampled, distribution(engine.PrefillTokens),
			"Prefill tokens of each iteration that had any (source prefill_batch_tokens)."),
		sampled("prefill_occupancy_ratio", engine.PrefillOccupancy, "Share of the executor's slots that prefill took in the last iteration (source prefill_batch_occupancy)."),
		sampled("iteration_decoded_tokens_average", engine.DecodedAverage, "Mean tokens that each request gained in the last iteration (source avg_decoded_tokens_per_iter). Absent at 0, which is what the PyTorch backend always exposes."),
		sampled("iteration_batch_size", engine.IterationBatch, "Requests in the latest batch of each rank, 0 when idle (source scheduled_batch_size)."),
		counted("batch_size_limit", engine.BatchLimit, "Largest number of requests in a batch, static or as tuned at runtime (source max_batch_size_static, max_batch_size_runtime). Absent at 0, which is what the newest PyTorch backend exposes."),
		counted("batch_tokens_limit", engine.BatchTokensLimit, "Largest number of tokens in a batch as tuned at runtime (source max_num_tokens_runtime). Absent at 0, which is what the newest PyTorch backend exposes."),
		counted("spec_decode_draft_tokens_total", engine.SpecDraft, "Tokens drafted, by iteration (source spec_decode_num_draft_tokens_total). Differs from the count by position, which grows when requests end."),
		counted("spec_decode_accepted_tokens_total", engine.SpecAccepted, "Drafted tokens that were accepted, by iteration (source spec_decode_num_accepted_tokens_total)."),
		counted("spec_decode_draft_tokens_by_position_total", engine.SpecDraftPosition, "Tokens drafted by their position, counted when requests end (source spec_decode_drafted_tokens_total)."),
		counted("spec_decode_accepted_tokens_by_position_total", engine.SpecAcceptedPosition, "Drafted tokens that were accepted by their position, counted when requests end (source spec_decode_accepted_tokens_total)."),
		family("spec_decode_acceptance_ratio", Exact, share(engine.SpecAccepted, engine.SpecDraft),
			"Share of the tokens drafted over the window that were accepted, 0 to 1."),
		sampled("spec_decode_acceptance_length", engine.SpecLength, "Tokens a request gained in the last iteration with drafts: accepted drafts and its own token (source spec_decode_acceptance_length)."),
		sampled("spec_decode_draft_overhead_ratio", engine.SpecOverhead, "Share of the last iteration's time that drafting took (source spec_decode_draft_overhead)."),
	}
}

// configFamilies returns how a trtllm-serve was started.
func configFamilies() []Family {
	return []Family{
		counted("model_config_info", engine.ModelConfig, "1 with the startup settings of the model (source model_config_info)."),
		counted("parallel_config_info", engine.ParallelConfig, "1 with the parallelism settings of the model (source parallel_config_info)."),
		counted("speculative_config_info", engine.SpeculativeConfig, "1 with the settings of speculative decoding (source speculative_config_info)."),
		counted("kv_cache_config_info", engine.CacheConfig, "1 with the settings of the KV cache (source kv_cache_config_info)."),
	}
}
