package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// cacheFamilies are how full the KV cache is.
func cacheFamilies() []Family {
	return []Family{
		gauge("kv_cache_utilization_ratio", Sampled, perEntry(cacheUse(), (*Plan).executorGate, without(checkBlocks), without(checkFraction)),
			"Share of the KV cache's blocks in use, 0 to 1, computed from used and max where the server exposes them (source kv_cache_block_type=used, max; kv_cache_used_blocks, kv_cache_max_blocks; else kv_cache_utilization, gpu_cache_usage_perc). Blocks that hold nothing but reusable content count as free.",
			"used / max, else the server's own ratio"),
		gauge("kv_cache_blocks", Sampled, byState("free", engine.KVBlocksFree, "used", engine.KVBlocksUsed),
			"Blocks of the KV cache by state, used or free.",
			"used, free"),
		gauge("kv_cache_blocks_limit", Exact, copyOr(engine.KVBlocksLimit, cacheLimit()),
			"Blocks the KV cache has (source kv_cache_block_type=max, kv_cache_max_blocks, dynamo_frontend_model_total_kv_blocks of each worker that the router knows the load of).",
			"max blocks"),
		gauge("kv_cache_block_tokens", Exact, copyOr(engine.KVBlockTokens, blockTokens()),
			"Tokens that one block of the KV cache holds.",
			"tokens per block"),
		gauge("kv_cache_capacity_tokens", Exact, tokensOf(cacheTokens()),
			"Tokens the whole KV cache holds.",
			"max blocks * tokens per block, or as the server states it"),
		gauge("kv_cache_free_tokens", Sampled, tokensOf(cacheFree()),
			"Tokens for which the KV cache has free blocks.",
			"free blocks * tokens per block"),
		gauge("kv_cache_host_utilization_ratio", Sampled, copyOf(engine.KVHostUtilization),
			"Share of the blocks of the host's part of the KV cache in use, 0 to 1 (source kv_cache_host_utilization).",
			exposed),
	}
}

// reuseFamilies are what the KV cache saved, and what went in and out of it.
func reuseFamilies() []Family {
	return []Family{
		counter("kv_cache_blocks_reused_total", Exact, copyOf(engine.KVBlocksReused),
			"Blocks that were found in the KV cache instead of being computed (source kv_cache_block_type=reused, a counter although the server types it gauge; kv_cache_reused_blocks_total). At Triton only from the C++ backend.",
			"reused blocks since the engine started"),
		counter("kv_cache_blocks_missed_total", Exact, copyOf(engine.KVBlocksMissed),
			"Blocks that were looked for in the KV cache and not found (source kv_cache_missed_blocks_total).",
			counted),
		gauge("kv_cache_reuse_ratio", Exact, share(engine.KVBlocksReused, engine.KVBlocksReused, engine.KVBlocksMissed).
			queried(rateQuery(engine.KVBlocksReused)+" / ("+rateQuery(engine.KVBlocksReused)+" + "+rateQuery(engine.KVBlocksMissed)+")"),
			"Share of the blocks looked for over the window that were found in the KV cache, 0 to 1.",
			"rate(reused) / (rate(reused) + rate(missed))"),
		gauge("kv_cache_reuse_ratio_estimate", Rough, reuseEstimate(),
			"Share of the prompt tokens of the window that were found in the KV cache, 0 to 1, estimated: blocks count when a request begins and tokens when it ends.",
			"min(1, rate(reused) * tokens per block / rate(prompt_tokens_total))"),
		gauge("kv_cache_hit_ratio", Sampled, copyOf(engine.KVHitRatio),
			"Share of all blocks looked for since the start that were found (source kv_cache_hit_rate). Before NVIDIA/TensorRT-LLM PR 12132 the PyTorch backend counts its warm-up too.",
			exposed),
		gauge("kv_cache_iteration_reuse_ratio", Sampled, copyOf(engine.KVIterationReuse),
			"Share of the blocks of the last iteration that moved any which were reused (source kv_cache_iter_reuse_rate).",
			exposed),
		counter("kv_cache_blocks_generation_allocated_total", Sampled, copyOf(engine.KVBlocksAllocated),
			"Blocks allocated while generating (source kv_cache_gen_alloc_blocks_total).",
			counted),
		counter("kv_cache_disk_prefetch_blocks_total", Sampled, copyOf(engine.KVBlocksPrefetched),
			"Blocks read from disk to the host (source kv_cache_disk_prefetch_blocks_total).",
			counted),
		counter("kv_cache_onboard_bytes_total", Sampled, copyOf(engine.KVOnboardBytes),
			"Bytes of the KV cache moved from host to GPU (source kv_cache_onboard_bytes_total).",
			counted),
		counter("kv_cache_offload_bytes_total", Sampled, copyOf(engine.KVOffloadBytes),
			"Bytes of the KV cache moved from GPU to host (source kv_cache_offload_bytes_total).",
			counted),
		counter("kv_cache_intra_device_copy_bytes_total", Sampled, copyOf(engine.KVCopyBytes),
			"Bytes of the KV cache copied within the GPU (source kv_cache_intra_device_copy_bytes_total).",
			counted),
		counter("kv_cache_transfer_seconds_total", Exact, copyOf(engine.KVTransferSeconds),
			"Time spent moving KV caches between the servers of disaggregated requests. Triton's TensorRT-LLM backend leaves it at 0 unless request_stats_max_iterations is set; SGLang measures from the last part of a prompt until its scheduler sees that the cache has gone.",
			"as counted by the server, in seconds"),
		counter("kv_cache_transfer_bytes_total", Exact, copyOr(engine.KVTransferBytes, transferBytes()),
			"Bytes of KV caches moved between the servers of disaggregated requests.",
			"as counted by the server, mebibytes * 1048576"),
		counter("kv_cache_transfer_failures_total", Exact, copyOf(engine.KVTransferFailures),
			"KV caches that were not moved between the servers of disaggregated requests, by reason: transfer failed on the way, receive where it arrived, bootstrap before it began, notification that it is there, and expired were never fetched.",
			counted),
		counter("disaggregated_requests_total", Exact, copyOf(engine.Disaggregated),
			"Disaggregated requests that completed (source disaggregated_serving_type=request_count). 0 unless request_stats_max_iterations is set.",
			counted),
	}
}
