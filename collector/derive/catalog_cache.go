package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

func cacheFamilies() []Family {
	return []Family{
		family("kv_cache_utilization_ratio", Sampled, perEntry(cacheUse(), executorRuns, checkBlocks, checkFraction),
			"Share of the KV cache's blocks in use, 0 to 1, computed from used and max where the server exposes them (source kv_cache_block_type=used, max; kv_cache_used_blocks, kv_cache_max_blocks; else kv_cache_utilization, gpu_cache_usage_perc). Blocks that hold nothing but reusable content count as free.",
			"used / max, else the server's own ratio"),
		family("kv_cache_blocks", Sampled, byState("free", engine.KVBlocksFree, "used", engine.KVBlocksUsed),
			"Blocks of the KV cache by state, used or free.",
			"used, free"),
		family("kv_cache_blocks_limit", Exact, copyOr(engine.KVBlocksLimit, cacheLimit()),
			"Size of the KV cache in blocks (source kv_cache_block_type=max, kv_cache_max_blocks, dynamo_frontend_model_total_kv_blocks of each worker whose load the router knows).",
			"max blocks"),
		family("kv_cache_block_tokens", Exact, copyOr(engine.KVBlockTokens, blockTokens()),
			"Tokens that one block of the KV cache holds.",
			"tokens per block"),
		family("kv_cache_capacity_tokens", Exact, tokensOf(cacheTokens()),
			"Tokens the whole KV cache holds.",
			"max blocks * tokens per block, or as the server states it"),
		family("kv_cache_free_tokens", Sampled, tokensOf(cacheFree()),
			"Tokens that fit into the free blocks of the KV cache.",
			"free blocks * tokens per block"),
		sampled("kv_cache_host_utilization_ratio", engine.KVHostUtilization, "Share of the KV cache's host blocks in use, 0 to 1 (source kv_cache_host_utilization)."),
		counted("kv_cache_blocks_reused_total", engine.KVBlocksReused, "Blocks that were found in the KV cache instead of being computed (source kv_cache_block_type=reused, a counter although the server types it gauge; kv_cache_reused_blocks_total). For Triton only with the C++ backend.", "reused blocks since the engine started"),
		counted("kv_cache_blocks_missed_total", engine.KVBlocksMissed, "Blocks looked up in the KV cache and not found (source kv_cache_missed_blocks_total)."),
		family("kv_cache_reuse_ratio", Exact, share(engine.KVBlocksReused, engine.KVBlocksReused, engine.KVBlocksMissed).
			queried(rateQuery(engine.KVBlocksReused)+" / ("+rateQuery(engine.KVBlocksReused)+" + "+rateQuery(engine.KVBlocksMissed)+")"),
			"Share of the block lookups over the window that found the block in the KV cache, 0 to 1.",
			"rate(reused) / (rate(reused) + rate(missed))"),
		family("kv_cache_reuse_ratio_estimate", Rough, reuseEstimate(),
			"Share of the prompt tokens of the window that were found in the KV cache, 0 to 1, estimated: blocks count when a request begins and tokens when it ends.",
			"min(1, rate(reused) * tokens per block / rate(prompt_tokens_total))"),
		sampled("kv_cache_hit_ratio", engine.KVHitRatio, "Share of all block lookups since the start that found the block (source kv_cache_hit_rate). Before NVIDIA/TensorRT-LLM PR 12132 the PyTorch backend counts its warm-up too."),
		sampled("kv_cache_iteration_reuse_ratio", engine.KVIterationReuse, "Share of reused blocks in the last iteration that moved any (source kv_cache_iter_reuse_rate)."),
		sampled("kv_cache_blocks_generation_allocated_total", engine.KVBlocksAllocated, "Blocks allocated while generating (source kv_cache_gen_alloc_blocks_total)."),
		sampled("kv_cache_disk_prefetch_blocks_total", engine.KVBlocksPrefetched, "Blocks read from disk to the host (source kv_cache_disk_prefetch_blocks_total)."),
		sampled("kv_cache_onboard_bytes_total", engine.KVOnboardBytes, "Bytes of the KV cache moved from host to GPU (source kv_cache_onboard_bytes_total)."),
		sampled("kv_cache_offload_bytes_total", engine.KVOffloadBytes, "Bytes of the KV cache moved from GPU to host (source kv_cache_offload_bytes_total)."),
		sampled("kv_cache_intra_device_copy_bytes_total", engine.KVCopyBytes, "Bytes of the KV cache copied within the GPU (source kv_cache_intra_device_copy_bytes_total)."),
		counted("kv_cache_transfer_seconds_total", engine.KVTransferSeconds, "Time spent moving KV caches between the servers of disaggregated requests. Triton's TensorRT-LLM backend leaves it at 0 unless request_stats_max_iterations is set; SGLang measures from the last part of a prompt until its scheduler sees that the cache was sent."),
		family("kv_cache_transfer_bytes_total", Exact, copyOr(engine.KVTransferBytes, transferBytes()),
			"Bytes of KV caches moved between the servers of disaggregated requests.",
			"as counted by the server, mebibytes * 1048576"),
		counted("kv_cache_transfer_failures_total", engine.KVTransferFailures, "KV caches that could not be moved between the servers of disaggregated requests, by reason: bootstrap (before the transfer), transfer (on the way), receive (at the destination), notification (of its arrival), or expired (never fetched)."),
		counted("disaggregated_requests_total", engine.Disaggregated, "Disaggregated requests that completed (source disaggregated_serving_type=request_count). 0 unless request_stats_max_iterations is set."),
	}
}
