package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// executorFamilies are the iterations of the executor.
func executorFamilies() []Family {
	return []Family{
		{
			Name: "engine_iterations_total", Type: counter, Grade: Exact, Labels: byModel(), Engines: withTriton(),
			Help:    "Iterations of the executor since the model was loaded (source general_type=iteration_counter, typed gauge by the server). Stands still while idle.",
			Formula: "iteration_counter", rule: copyOf{engine.EngineIterations},
		},
		{
			Name: "engine_iterations_per_second", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withTriton(),
			Help:    "Iterations of the executor a second over the window; 0 while idle.",
			Formula: "rate(engine_iterations_total)", rule: rateOf{engine.EngineIterations},
		},
		{
			Name: "engine_last_iteration_timestamp_seconds", Type: gauge, Unit: "seconds", Grade: Rough, Labels: byModel(), Engines: withTriton(),
			Help:    "When the last iteration was, by the clock and the time zone of the server (source general_type=timestamp, microseconds from TensorRT-LLM 0.12 of the C++ backend, else seconds). Compare it with itself only.",
			Formula: "timestamp in seconds", rule: lastIteration{},
		},
		{
			Name: "engine_iteration_duration_seconds", Type: gauge, Unit: "seconds", Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Time of the last iteration that was read (source iteration_latency_seconds). With the overlap scheduler it spans about two.",
			Formula: "as told by the server", rule: copyOf{engine.IterationDuration},
		},
		{
			Name: "engine_memory_bytes", Type: gauge, Unit: "bytes", Grade: Sampled, Labels: byModel("memory"), Engines: withExecutor(),
			Help:    "Memory by kind: gpu, cpu, pinned (source nv_trt_llm_runtime_memory_metrics, what the engine's leading process allocated; gpu_memory_usage_bytes, with the PyTorch backend all that is used on the device).",
			Formula: "as told by the server", rule: copyOf{engine.EngineMemory},
		},
		{
			Name: "iteration_context_tokens", Type: gauge, Unit: "tokens", Grade: Sampled, Labels: byModel(), Engines: withExecutor(),
			Help:    "Prefill tokens computed in the last iteration (source total_context_tokens).",
			Formula: "total_context_tokens", rule: copyOf{engine.ContextTokens},
		},
		{
			Name: "iteration_generation_tokens", Type: gauge, Unit: "tokens", Grade: Sampled, Labels: byModel(), Engines: withTriton(),
			Help:    "Tokens generated in the last iteration with static batching (source nv_trt_llm_v1_metrics{v1_specific_metric=total_generation_tokens}).",
			Formula: "total_generation_tokens", rule: copyOf{engine.StaticGeneration},
		},
		{
			Name: "generation_slots_free", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withTriton(),
			Help:    "Places of a static batch that were empty in the last iteration (source v1_specific_metric=empty_generation_slots).",
			Formula: "empty_generation_slots", rule: copyOf{engine.StaticFreeSlots},
		},
		{
			Name: "iteration_prefill_tokens", Type: histo, Unit: "tokens", Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Prefill tokens of each iteration that had any (source prefill_batch_tokens).",
			Formula: "as counted by the server", rule: distribution{engine.PrefillTokens},
		},
		{
			Name: "prefill_occupancy_ratio", Type: gauge, Unit: "ratio", Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Share of the executor's places that prefill took in the last iteration (source prefill_batch_occupancy).",
			Formula: "as told by the server", rule: copyOf{engine.PrefillOccupancy},
		},
		{
			Name: "iteration_decoded_tokens_average", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Mean tokens that each request gained in the last iteration (source avg_decoded_tokens_per_iter). Absent at 0, which is what the PyTorch backend always says.",
			Formula: "as told by the server", rule: copyOf{engine.DecodedAverage},
		},
		{
			Name: "iteration_batch_size", Type: gauge, Grade: Sampled, Labels: byModel("rank"), Engines: withServe(),
			Help:    "Requests in the latest batch of each rank, 0 when idle (source scheduled_batch_size).",
			Formula: "as told by the server", rule: copyOf{engine.IterationBatch},
		},
		{
			Name: "batch_size_limit", Type: gauge, Grade: Exact, Labels: byModel("kind"), Engines: withServe(),
			Help:    "Most requests in a batch, static or as tuned at runtime (source max_batch_size_static, max_batch_size_runtime). Absent at 0, which is what the newest PyTorch backend says.",
			Formula: "as told by the server", rule: copyOf{engine.BatchLimit},
		},
		{
			Name: "batch_tokens_limit", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Most tokens in a batch as tuned at runtime (source max_num_tokens_runtime). Absent at 0, which is what the newest PyTorch backend says.",
			Formula: "as told by the server", rule: copyOf{engine.BatchTokensLimit},
		},
	}
}

// configFamilies are how a trtllm-serve was started.
func configFamilies() []Family {
	one := func(name, help string, of engine.Signal, more ...string) Family {
		return Family{
			Name: name, Type: gauge, Grade: Exact, Labels: byModel(more...), Engines: withServe(),
			Help: help, Formula: "1", rule: copyOf{of},
		}
	}
	return []Family{
		one("model_config_info", "1 with how the model was started (source model_config_info).", engine.ModelConfig,
			"dtype", "gpu_type", "max_model_len", "quantization", "served_model_name"),
		one("parallel_config_info", "1 with how the model is spread over GPUs (source parallel_config_info).", engine.ParallelConfig,
			"context_parallel_size", "expert_parallel_size", "gpu_count", "pipeline_parallel_size", "tensor_parallel_size"),
		one("speculative_config_info", "1 with how speculative decoding was set up (source speculative_config_info).", engine.SpeculativeConfig,
			"spec_draft_model", "spec_enabled", "spec_method", "spec_num_tokens"),
		one("kv_cache_config_info", "1 with how the KV cache was set up (source kv_cache_config_info).", engine.CacheConfig,
			"cache_dtype", "enable_block_reuse", "enable_partial_reuse", "free_gpu_memory_fraction", "page_size"),
	}
}
