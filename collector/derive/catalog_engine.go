package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func tokenFamilies() []Family {
	return []Family{
		counted("prompt_tokens_total", engine.PromptTokens, "Prompt tokens, possibly only of ended requests."),
		counted("generation_tokens_total", engine.GenerationTokens,
			"Generated tokens, possibly only of ended requests."),
		sampled("prompt_tokens_live_total", engine.PromptTokensLive,
			"Prefilled tokens, also of running requests."),
		sampled("generation_tokens_live_total", engine.GenerationTokensLive,
			"Decoded tokens, also of running requests."),
		family("prompt_tokens_cached_total", Exact, copyOf(engine.CachedTokens).reads(engine.PromptTokens),
			"Prompt tokens found in the KV cache."),
		counted("prompt_tokens_cached_by_tier_total", engine.CachedTokensByTier,
			"Prompt tokens found in the KV cache, by level."),
		histogram("request_prompt_tokens", engine.RequestPromptTokens, "Prompt tokens of each request."),
		histogram("request_generation_tokens", engine.RequestOutputTokens, "Generated tokens of each request."),
		histogram("request_prompt_cached_tokens", engine.RequestCachedTokens,
			"Cached prompt tokens of each request."),
		family("prompt_tokens_per_second", Exact, rateOf(engine.PromptTokens), "Prompt tokens per second."),
		family("generation_tokens_per_second", Exact, rateOf(engine.GenerationTokens),
			"Generated tokens per second."),
		family("prompt_tokens_per_second_estimate", Rough, estimate(engine.ContextTokens),
			"Rough estimate of prefilled tokens per second.",
			"sum over the window of iteration_context_tokens * iterations since the page before, by time"),
		family("generation_tokens_per_second_estimate", Rough, estimate(engine.RequestsDecode, engine.StaticGeneration),
			"Estimate of generated tokens per second.",
			"sum over the window of requests_decode * iterations since the page before, by time"),
		family("generation_tokens_live_per_second", Sampled, rateOf(engine.GenerationTokensLive),
			"Decoded tokens per second, also of running requests."),
		family("prompt_cache_hit_ratio", Exact, hitRatioRule(),
			"Share of prompt tokens found in the KV cache.",
			"rate(hits) / rate(queries), else of cached and all prompt tokens, at most 1"),
		family("generation_tokens_per_gpu_second", Sampled, tokensPerGPURule(),
			"Generated tokens per second and local GPU.",
			"sum(rate(generation_tokens_total)) / number of GPUs"),
		family("energy_joules_per_token", Sampled, energyPerTokenRule(),
			"Energy of local GPUs per generated token.",
			"sum(rate(gpu_energy_joules_total)) / sum(rate(generation_tokens_total))"),
	}
}

func cacheFamilies() []Family {
	return []Family{
		family("kv_cache_utilization_ratio", Sampled, cacheUtilizationRule(),
			"Share of KV cache blocks that requests use.",
			"used / max, else the server's own ratio"),
		family("kv_cache_blocks", Sampled, byState("free", engine.KVBlocksFree, "used", engine.KVBlocksUsed),
			"KV cache blocks by state: used or free.",
			"used, free"),
		family("kv_cache_blocks_limit", Exact, cacheLimitRule(),
			"Size of the KV cache in blocks.",
			"max blocks"),
		family("kv_cache_block_tokens", Exact, blockTokensRule(),
			"Tokens per KV cache block.",
			"tokens per block"),
		family("kv_cache_capacity_tokens", Exact, cacheCapacityRule(),
			"Size of the KV cache in tokens.",
			"max blocks * tokens per block, or as the server states it"),
		family("kv_cache_free_tokens", Sampled, freeCacheRule(),
			"Tokens that fit into free KV cache blocks.",
			"free blocks * tokens per block"),
		family("kv_cache_host_utilization_ratio", Sampled, hostUseRule(),
			"Share of the KV cache's host memory in use."),
		counted("kv_cache_blocks_reused_total", engine.KVBlocksReused,
			"KV cache blocks reused instead of computed.", "reused blocks since the engine started"),
		counted("kv_cache_blocks_missed_total", engine.KVBlocksMissed,
			"KV cache blocks looked up and not found."),
		family(
			"kv_cache_reuse_ratio",
			Exact,
			share(engine.KVBlocksReused, engine.KVBlocksReused, engine.KVBlocksMissed).
				queried(rateQuery(engine.KVBlocksReused)+" / ("+rateQuery(engine.KVBlocksReused)+" + "+
					rateQuery(engine.KVBlocksMissed)+")",
					"rate(reused) / (rate(reused) + rate(missed))"),
			"Share of block lookups that hit, over the window.",
		),
		family("kv_cache_reuse_ratio_estimate", Rough, reuseEstimateRule(),
			"Estimated share of prompt tokens found in the cache.",
			"min(1, rate(reused) * tokens per block / rate(prompt_tokens_total))"),
		sampled("kv_cache_hit_ratio", engine.KVHitRatio, "Share of block lookups that hit since the start."),
		sampled("kv_cache_iteration_reuse_ratio", engine.KVIterationReuse,
			"Share of reused blocks in the last iteration."),
		sampled("kv_cache_blocks_generation_allocated_total", engine.KVBlocksAllocated,
			"KV cache blocks allocated while generating."),
		sampled("kv_cache_disk_prefetch_blocks_total", engine.KVBlocksPrefetched,
			"KV cache blocks read from disk to host."),
		sampled("kv_cache_onboard_bytes_total", engine.KVOnboardBytes, "KV cache moved from host to GPU."),
		sampled("kv_cache_offload_bytes_total", engine.KVOffloadBytes, "KV cache moved from GPU to host."),
		sampled("kv_cache_intra_device_copy_bytes_total", engine.KVCopyBytes,
			"KV cache copied within the GPU."),
		counted("kv_cache_transfer_seconds_total", engine.KVTransferSeconds,
			"Time spent moving KV caches between servers."),
		family("kv_cache_transfer_bytes_total", Exact, transferBytesRule(),
			"KV caches moved between servers.",
			"as counted by the server, mebibytes * 1048576"),
		counted("kv_cache_transfer_failures_total", engine.KVTransferFailures,
			"Failed moves of KV caches between servers."),
		counted("disaggregated_requests_total", engine.Disaggregated, "Completed disaggregated requests."),
	}
}

func executorFamilies() []Family {
	return []Family{
		counted("engine_heartbeat_timestamp_seconds", engine.EngineHeartbeat,
			"Unix time when the engine was last read."),
		counted("engine_awake", engine.EngineAwake, "0 while the engine sleeps, else 1."),
		family("adapters_info", Sampled, adaptersRule(), "1 with running and waiting LoRA adapters.",
			"the label set with the latest time"),
		counted("engine_iterations_total", engine.EngineIterations,
			"Iterations of the executor; none while idle."),
		family("engine_iterations_per_second", Exact, rateOf(engine.EngineIterations),
			"Iterations of the executor per second."),
		family("engine_last_iteration_timestamp_seconds", Rough, lastIterationRule(),
			"Time of the last iteration by the server's clock.",
			"timestamp in seconds"),
		sampled("engine_iteration_duration_seconds", engine.IterationDuration,
			"Duration of the last sampled iteration."),
		sampled("engine_memory_bytes", engine.EngineMemory, "Memory of the engine: gpu, cpu or pinned."),
		sampled("iteration_context_tokens", engine.ContextTokens, "Prefill tokens of the last iteration."),
		sampled("iteration_generation_tokens", engine.StaticGeneration,
			"Tokens of the last iteration (static batching)."),
		sampled("generation_slots_free", engine.StaticFreeSlots, "Empty slots of a static batch."),
		family("iteration_prefill_tokens", Sampled, distribution(engine.PrefillTokens),
			"Prefill tokens of iterations that had any."),
		sampled("prefill_occupancy_ratio", engine.PrefillOccupancy,
			"Share of slots in prefill in the last iteration."),
		sampled("iteration_decoded_tokens_average", engine.DecodedAverage,
			"Mean tokens per request in the last iteration."),
		sampled("iteration_batch_size", engine.IterationBatch, "Requests in the latest batch of each rank."),
		counted("batch_size_limit", engine.BatchLimit, "Maximum number of requests in a batch."),
		counted("batch_tokens_limit", engine.BatchTokensLimit, "Maximum number of tokens in a batch."),
		counted("spec_decode_draft_tokens_total", engine.SpecDraft, "Drafted tokens, counted each iteration."),
		counted("spec_decode_accepted_tokens_total", engine.SpecAccepted,
			"Accepted draft tokens, counted each iteration."),
		counted("spec_decode_draft_tokens_by_position_total", engine.SpecDraftPosition,
			"Drafted tokens by position, of ended requests."),
		counted("spec_decode_accepted_tokens_by_position_total", engine.SpecAcceptedPosition,
			"Accepted draft tokens by position, of ended requests."),
		family("spec_decode_acceptance_ratio", Exact, share(engine.SpecAccepted, engine.SpecDraft),
			"Share of drafted tokens that were accepted."),
		sampled("spec_decode_acceptance_length", engine.SpecLength,
			"Tokens gained per request in the last iteration."),
		sampled("spec_decode_latest_acceptance_ratio", engine.SpecRate,
			"Share of the latest drafted tokens that were accepted."),
		sampled("spec_decode_draft_overhead_ratio", engine.SpecOverhead,
			"Share of the last iteration spent on drafting."),
	}
}

// configFamilies returns the families about the startup settings of a server.
func configFamilies() []Family {
	return []Family{
		counted("model_config_info", engine.ModelConfig, "1 with the startup settings of the model."),
		counted("parallel_config_info", engine.ParallelConfig, "1 with the parallelism settings of the model."),
		counted("speculative_config_info", engine.SpeculativeConfig,
			"1 with the settings of speculative decoding."),
		counted("kv_cache_config_info", engine.CacheConfig, "1 with the settings of the KV cache."),
	}
}

func latencyFamilies() []Family {
	above := func(name string, h histograms) Family {
		return family(name+"_above_bound_ratio", Exact, aboveBound(h),
			"Share of observations above the largest bound.")
	}
	// spread returns the families that are computed from a histogram over the window.
	spread := func(name string, h histograms, average, percentile string) []Family {
		return []Family{
			family(name+"_average_seconds", Exact, mean(h), average),
			family(name+"_percentile_seconds", Sampled, percentiles(h), percentile),
			above(name, h),
		}
	}
	return slices.Concat([]Family{
		family("request_duration_seconds", Exact, passedOn(wholeRequests()),
			"Request duration from arrival to last token."),
		family("time_to_first_token_seconds", Exact, passedOn(firstTokens()),
			"Time from arrival to first token."),
		histogram("time_per_output_token_seconds", engine.OutputToken,
			"Mean time between tokens, once per request.", "(E2E - TTFT) / (tokens - 1), as counted by the server"),
		histogram("inter_token_latency_seconds", engine.InterToken, "Time between two tokens, once per token."),
		histogram("request_queue_seconds", engine.RequestQueue, "Wait for a request's first iteration."),
		histogram("request_prefill_seconds", engine.RequestPrefill,
			"Time from first iteration to first token."),
		histogram("request_decode_seconds", engine.RequestDecode, "Time from first to last token."),
		histogram("request_inference_seconds", engine.RequestInference,
			"Time from first iteration to last token."),
		histogram("prefill_perplexity", engine.PrefillPerplexity, "Perplexity of each request's prompt."),
		histogram("generation_perplexity", engine.OutputPerplexity, "Perplexity of each request's output."),
		family("request_duration_average_seconds", Exact, meanDurationRule(),
			"Mean request duration over the window.",
			"rate(model_request_seconds_total) / rate(successful requests) of the entry model, or "+
				"rate(sum) / rate(count) of the histogram"),
		family(
			"request_duration_percentile_seconds",
			Sampled,
			percentiles(wholeRequests(), engine.ModelRequestDuration),
			"Percentiles of request durations.",
			"quantile of model_request_duration_seconds of the entry model, or of the histogram over the window",
		),
		above("request_duration", wholeRequests()),
	},
		spread("time_to_first_token", firstTokens(), "Mean time to first token over the window.",
			"Percentiles of the time to first token."),
		spread("time_per_output_token", observed(engine.OutputToken), "Mean time between tokens, averaged over requests.",
			"Percentiles of requests' mean time between tokens."),
		spread("inter_token_latency", observed(engine.InterToken), "Mean time between two tokens over the window.",
			"Percentiles of the time between two tokens."),
		[]Family{
			family("time_per_output_token_average_seconds_estimate", Rough, tokenTimeEstimateRule(),
				"Estimated mean time between tokens.",
				"(mean duration - mean time to first token) / (mean output tokens - 1) over the window"),
			family("request_queue_average_seconds", Exact, mean(observed(engine.RequestQueue)),
				"Mean wait for the first iteration over the window."),
		})
}
