package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// executorFamilies are the iterations of the executor.
func executorFamilies() []Family {
	return []Family{
		gauge("engine_heartbeat_timestamp_seconds", Exact, copyOf(engine.EngineHeartbeat),
			"When the metrics module of Triton's LLM-API backend last read the engine, as a Unix time; while it stands still the gauges of the engine are absent (source nv_llmapi_heartbeat_timestamp_seconds).",
			exposed),
		gauge("engine_awake", Exact, copyOf(engine.EngineAwake),
			"0 while the engine sleeps: it has given its memory away and serves nothing until it is woken (source vllm:engine_sleep_state).",
			exposed),
		gauge("adapters_info", Sampled, adapters(),
			"1 with the LoRA adapters that run and wait, as the server wrote them last (source vllm:lora_requests_info).",
			"the label set with the latest time"),
		counter("engine_iterations_total", Exact, copyOf(engine.EngineIterations),
			"Iterations of the executor since the model was loaded (source general_type=iteration_counter, typed gauge by the server). Does not grow while idle.",
			"iteration_counter"),
		gauge("engine_iterations_per_second", Exact, rateOf(engine.EngineIterations),
			"Iterations of the executor a second over the window; 0 while idle.",
			"rate(engine_iterations_total)"),
		gauge("engine_last_iteration_timestamp_seconds", Rough, lastIteration(),
			"When the last iteration was, by the clock and the time zone of the server (source general_type=timestamp, microseconds from TensorRT-LLM 0.12 of the C++ backend, else seconds). Compare it with itself only.",
			"timestamp in seconds"),
		gauge("engine_iteration_duration_seconds", Sampled, copyOf(engine.IterationDuration),
			"Time of the last iteration that was read (source iteration_latency_seconds). With the overlap scheduler it spans about two.",
			exposed),
		gauge("engine_memory_bytes", Sampled, copyOf(engine.EngineMemory),
			"Memory by kind: gpu, cpu, pinned (source nv_trt_llm_runtime_memory_metrics, what the engine's leading process allocated; gpu_memory_usage_bytes, with the PyTorch backend all that is used on the device).",
			exposed),
		gauge("iteration_context_tokens", Sampled, copyOf(engine.ContextTokens),
			"Prefill tokens computed in the last iteration (source total_context_tokens).",
			"total_context_tokens"),
		gauge("iteration_generation_tokens", Sampled, copyOf(engine.StaticGeneration),
			"Tokens generated in the last iteration with static batching (source nv_trt_llm_v1_metrics{v1_specific_metric=total_generation_tokens}).",
			"total_generation_tokens"),
		gauge("generation_slots_free", Sampled, copyOf(engine.StaticFreeSlots),
			"Slots of a static batch that were empty in the last iteration (source v1_specific_metric=empty_generation_slots).",
			"empty_generation_slots"),
		histogram("iteration_prefill_tokens", Sampled, distribution(engine.PrefillTokens),
			"Prefill tokens of each iteration that had any (source prefill_batch_tokens).",
			counted),
		gauge("prefill_occupancy_ratio", Sampled, copyOf(engine.PrefillOccupancy),
			"Share of the executor's slots that prefill took in the last iteration (source prefill_batch_occupancy).",
			exposed),
		gauge("iteration_decoded_tokens_average", Sampled, copyOf(engine.DecodedAverage),
			"Mean tokens that each request gained in the last iteration (source avg_decoded_tokens_per_iter). Absent at 0, which is what the PyTorch backend always exposes.",
			exposed),
		gauge("iteration_batch_size", Sampled, copyOf(engine.IterationBatch),
			"Requests in the latest batch of each rank, 0 when idle (source scheduled_batch_size).",
			exposed),
		gauge("batch_size_limit", Exact, copyOf(engine.BatchLimit),
			"Largest number of requests in a batch, static or as tuned at runtime (source max_batch_size_static, max_batch_size_runtime). Absent at 0, which is what the newest PyTorch backend exposes.",
			exposed),
		gauge("batch_tokens_limit", Exact, copyOf(engine.BatchTokensLimit),
			"Largest number of tokens in a batch as tuned at runtime (source max_num_tokens_runtime). Absent at 0, which is what the newest PyTorch backend exposes.",
			exposed),
	}
}

// configFamilies are how a trtllm-serve was started.
func configFamilies() []Family {
	one := func(name string, of engine.Signal, help string) Family {
		return gauge(name, Exact, copyOf(of), help+" (source "+name+").", "1")
	}
	return []Family{
		one("model_config_info", engine.ModelConfig, "1 with how the model was started"),
		one("parallel_config_info", engine.ParallelConfig, "1 with how the model is spread over GPUs"),
		one("speculative_config_info", engine.SpeculativeConfig, "1 with how speculative decoding was set up"),
		one("kv_cache_config_info", engine.CacheConfig, "1 with how the KV cache was set up"),
	}
}
