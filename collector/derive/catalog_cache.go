package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// cacheFamilies are how full the KV cache is.
func cacheFamilies() []Family {
	return []Family{
		{
			Name: "kv_cache_utilization_ratio", Type: gauge, Unit: "ratio", Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "Share of the KV cache's blocks in use, 0 to 1, computed from used and max where the server tells them (source kv_cache_block_type=used, max; kv_cache_used_blocks, kv_cache_max_blocks; else kv_cache_utilization, gpu_cache_usage_perc). Blocks that hold nothing but reusable content count as free.",
			Formula: "used / max, else the server's own ratio",
			rule:    cacheUse{},
		},
		{
			Name: "kv_cache_blocks", Type: gauge, Grade: Sampled, Labels: byModel("state"), Engines: withExecutor(),
			Help:    "Blocks of the KV cache by state, used or free.",
			Formula: "used, free",
			rule:    byState{"state", map[string]engine.Signal{"used": engine.KVBlocksUsed, "free": engine.KVBlocksFree}},
		},
		{
			Name: "kv_cache_blocks_limit", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withExecutor(),
			Help:    "Blocks the KV cache has (source kv_cache_block_type=max, kv_cache_max_blocks, dynamo_frontend_model_total_kv_blocks of one worker).",
			Formula: "max blocks",
			rule:    copyOf{engine.KVBlocksLimit},
		},
		{
			Name: "kv_cache_block_tokens", Type: gauge, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withExecutor(),
			Help:    "Tokens that one block of the KV cache holds.",
			Formula: "tokens per block",
			rule:    copyOf{engine.KVBlockTokens},
		},
		{
			Name: "kv_cache_capacity_tokens", Type: gauge, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withExecutor(),
			Help:    "Tokens the whole KV cache holds.",
			Formula: "max blocks * tokens per block",
			rule:    cacheTokens{engine.KVBlocksLimit},
		},
		{
			Name: "kv_cache_free_tokens", Type: gauge, Unit: "tokens", Grade: Sampled, Labels: byModel(), Engines: withExecutor(),
			Help:    "Tokens for which the KV cache has free blocks.",
			Formula: "free blocks * tokens per block",
			rule:    cacheTokens{engine.KVBlocksFree},
		},
		{
			Name: "kv_cache_host_utilization_ratio", Type: gauge, Unit: "ratio", Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Share of the blocks of the host's part of the KV cache in use, 0 to 1 (source kv_cache_host_utilization).",
			Formula: "as told by the server", rule: copyOf{engine.KVHostUtilization},
		},
	}
}

// reuseFamilies are what the KV cache saved, and what went in and out of it.
func reuseFamilies() []Family {
	return []Family{
		{
			Name: "kv_cache_blocks_reused_total", Type: counter, Grade: Exact, Labels: byModel(), Engines: withExecutor(),
			Help:    "Blocks that were found in the KV cache instead of being computed (source kv_cache_block_type=reused, a counter although the server types it gauge; kv_cache_reused_blocks_total). At Triton only from the C++ backend.",
			Formula: "reused blocks since the engine started", rule: copyOf{engine.KVBlocksReused},
		},
		{
			Name: "kv_cache_blocks_missed_total", Type: counter, Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Blocks that were looked for in the KV cache and not found (source kv_cache_missed_blocks_total).",
			Formula: "as counted by the server", rule: copyOf{engine.KVBlocksMissed},
		},
		{
			Name: "kv_cache_reuse_ratio", Type: gauge, Unit: "ratio", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Share of the blocks looked for over the window that were found in the KV cache, 0 to 1.",
			Formula: "rate(reused) / (rate(reused) + rate(missed))",
			rule:    ratioOfRates{of: engine.KVBlocksReused, divided: []engine.Signal{engine.KVBlocksReused, engine.KVBlocksMissed}},
		},
		{
			Name: "kv_cache_reuse_ratio_estimate", Type: gauge, Grade: Rough, Labels: byModel(), Engines: withTriton(),
			Help:    "Share of the prompt tokens of the window that were found in the KV cache, 0 to 1, estimated: blocks count when a request begins and tokens when it ends.",
			Formula: "min(1, rate(reused) * tokens per block / rate(prompt_tokens_total))", rule: reuseEstimate{},
		},
		{
			Name: "kv_cache_hit_ratio", Type: gauge, Unit: "ratio", Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Share of all blocks looked for since the start that were found (source kv_cache_hit_rate). Before NVIDIA/TensorRT-LLM PR 12132 the PyTorch backend counts its warm-up too.",
			Formula: "as told by the server", rule: copyOf{engine.KVHitRatio},
		},
		{
			Name: "kv_cache_iteration_reuse_ratio", Type: gauge, Unit: "ratio", Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Share of the blocks of the last iteration that moved any which were reused (source kv_cache_iter_reuse_rate).",
			Formula: "as told by the server", rule: copyOf{engine.KVIterationReuse},
		},
		{
			Name: "kv_cache_blocks_generation_allocated_total", Type: counter, Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Blocks allocated while generating (source kv_cache_gen_alloc_blocks_total).",
			Formula: "as counted by the server", rule: copyOf{engine.KVBlocksAllocated},
		},
		{
			Name: "kv_cache_disk_prefetch_blocks_total", Type: counter, Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Blocks read from disk to the host (source kv_cache_disk_prefetch_blocks_total).",
			Formula: "as counted by the server", rule: copyOf{engine.KVBlocksPrefetched},
		},
		{
			Name: "kv_cache_onboard_bytes_total", Type: counter, Unit: "bytes", Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Bytes of the KV cache moved from host to GPU (source kv_cache_onboard_bytes_total).",
			Formula: "as counted by the server", rule: copyOf{engine.KVOnboardBytes},
		},
		{
			Name: "kv_cache_offload_bytes_total", Type: counter, Unit: "bytes", Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Bytes of the KV cache moved from GPU to host (source kv_cache_offload_bytes_total).",
			Formula: "as counted by the server", rule: copyOf{engine.KVOffloadBytes},
		},
		{
			Name: "kv_cache_intra_device_copy_bytes_total", Type: counter, Unit: "bytes", Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Bytes of the KV cache copied within the GPU (source kv_cache_intra_device_copy_bytes_total).",
			Formula: "as counted by the server", rule: copyOf{engine.KVCopyBytes},
		},
		{
			Name: "kv_cache_transfer_seconds_total", Type: counter, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withTriton(),
			Help:    "Time spent moving KV caches between the servers of disaggregated requests (source kv_cache_transfer_ms). 0 unless request_stats_max_iterations is set.",
			Formula: "milliseconds / 1000", rule: copyOf{engine.KVTransferSeconds},
		},
		{
			Name: "disaggregated_requests_total", Type: counter, Grade: Exact, Labels: byModel(), Engines: withTriton(),
			Help:    "Disaggregated requests that completed (source disaggregated_serving_type=request_count). 0 unless request_stats_max_iterations is set.",
			Formula: "as counted by the server", rule: copyOf{engine.Disaggregated},
		},
	}
}
