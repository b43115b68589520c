package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func tokenFamilies() []Family {
	return []Family{
		counted("prompt_tokens_total", engine.PromptTokens,
			"Prompt tokens; some servers count them only when a request ends."),
		counted("generation_tokens_total", engine.GenerationTokens,
			"Generated tokens; some servers count them only when a request ends."),
		sampled("prompt_tokens_live_total", engine.PromptTokensLive, "Prompt tokens prefilled so far, including "+
			"those of running requests."),
		sampled("generation_tokens_live_total", engine.GenerationTokensLive,
			"Tokens decoded so far, including those of running requests, without first tokens."),
		counted("prompt_tokens_cached_total", engine.CachedTokens, "Prompt tokens found in the KV cache."),
		counted(
			"prompt_tokens_cached_by_tier_total",
			engine.CachedTokensByTier,
			"Prompt tokens found in each level of the KV cache.",
		),
		histogram("request_prompt_tokens", engine.RequestPromptTokens, "Prompt tokens of each request."),
		histogram("request_generation_tokens", engine.RequestOutputTokens,
			"Generated tokens of each request."),
		histogram("request_prompt_cached_tokens", engine.RequestCachedTokens, "Prompt tokens of each request that "+
			"were found in the KV cache."),
		family("prompt_tokens_per_second", Exact, rateOf(engine.PromptTokens),
			"Prompt tokens per second over the window; bursty while requests outlast it."),
		family("generation_tokens_per_second", Exact, rateOf(engine.GenerationTokens),
			"Generated tokens per second over the window; bursty while requests outlast it."),
		family("prompt_tokens_per_second_estimate", Rough, estimate(engine.ContextTokens),
			"Prefilled tokens per second over the window, very roughly, from sampled iterations.",
			"sum over the window of total_context_tokens * iterations since the page before, by time"),
		family("generation_tokens_per_second_estimate", Rough, estimate(engine.RequestsDecode, engine.StaticGeneration),
			"Generated tokens per second, from sampled iterations; wrong with speculative decoding.",
			"sum over the window of generation_requests * iterations since the page before, by time"),
		family("generation_tokens_live_per_second", Sampled, rateOf(engine.GenerationTokensLive),
			"Tokens decoded per second over the window, including those of running requests."),
		family("prompt_cache_hit_ratio", Exact, share(engine.CachedTokens, engine.PromptTokens),
			"Share of the window's prompt tokens found in the KV cache, 0 to 1."),
		family("generation_tokens_per_gpu_second", Sampled, tokensPerGPURule(),
			"Generated tokens per second and GPU; GPUs of other nodes are not counted.",
			"sum(rate(generation_tokens_total)) / number of GPUs"),
		family("energy_joules_per_token", Sampled, energyPerTokenRule(),
			"GPU energy per generated token; GPUs of other nodes are not counted.",
			"sum(rate(nv_energy_consumption)) / sum(rate(generation_tokens_total))"),
	}
}

func cacheFamilies() []Family {
	return []Family{
		family("kv_cache_utilization_ratio", Sampled, cacheUtilizationRule(),
			"Share of KV cache blocks in use, 0 to 1; blocks with only reusable content count as free.",
			"used / max, else the server's own ratio"),
		family("kv_cache_blocks", Sampled, byState("free", engine.KVBlocksFree, "used", engine.KVBlocksUsed),
			"KV cache blocks by state: used or free.",
			"used, free"),
		family("kv_cache_blocks_limit", Exact, cacheLimitRule(),
			"Size of the KV cache in blocks.",
			"max blocks"),
		family("kv_cache_block_tokens", Exact, blockTokensRule(),
			"Tokens that a KV cache block holds.",
			"tokens per block"),
		family("kv_cache_capacity_tokens", Exact, cacheCapacityRule(),
			"Tokens that the whole KV cache holds.",
			"max blocks * tokens per block, or as the server states it"),
		family("kv_cache_free_tokens", Sampled, freeCacheRule(),
			"Tokens that fit into the free KV cache blocks.",
			"free blocks * tokens per block"),
		sampled(
			"kv_cache_host_utilization_ratio",
			engine.KVHostUtilization,
			"Share of the KV cache's host blocks in use, 0 to 1.",
		),
		counted("kv_cache_blocks_reused_total", engine.KVBlocksReused,
			"Blocks found in the KV cache instead of being computed.", "reused blocks since the engine started"),
		counted(
			"kv_cache_blocks_missed_total",
			engine.KVBlocksMissed,
			"Blocks looked up in the KV cache and not found.",
		),
		family(
			"kv_cache_reuse_ratio",
			Exact,
			share(engine.KVBlocksReused, engine.KVBlocksReused, engine.KVBlocksMissed).
				queried(rateQuery(engine.KVBlocksReused)+" / ("+rateQuery(engine.KVBlocksReused)+" + "+
					rateQuery(engine.KVBlocksMissed)+")",
					"rate(reused) / (rate(reused) + rate(missed))"),
			"Share of the window's block lookups that found the block in the KV cache, 0 to 1.",
		),
		family("kv_cache_reuse_ratio_estimate", Rough, reuseEstimateRule(),
			"Share of the window's prompt tokens found in the KV cache, 0 to 1, estimated from blocks.",
			"min(1, rate(reused) * tokens per block / rate(prompt_tokens_total))"),
		sampled("kv_cache_hit_ratio", engine.KVHitRatio,
			"Share of all block lookups since the start that found the block, 0 to 1."),
		sampled("kv_cache_iteration_reuse_ratio", engine.KVIterationReuse, "Share of reused blocks in the last "+
			"iteration that moved any, 0 to 1."),
		sampled(
			"kv_cache_blocks_generation_allocated_total",
			engine.KVBlocksAllocated,
			"KV cache blocks allocated while generating.",
		),
		sampled(
			"kv_cache_disk_prefetch_blocks_total",
			engine.KVBlocksPrefetched,
			"KV cache blocks read from disk to the host.",
		),
		sampled("kv_cache_onboard_bytes_total", engine.KVOnboardBytes, "Bytes of the KV cache moved from host to GPU."),
		sampled("kv_cache_offload_bytes_total", engine.KVOffloadBytes, "Bytes of the KV cache moved from GPU to host."),
		sampled(
			"kv_cache_intra_device_copy_bytes_total",
			engine.KVCopyBytes,
			"Bytes of the KV cache copied within the GPU.",
		),
		counted("kv_cache_transfer_seconds_total", engine.KVTransferSeconds,
			"Time spent moving KV caches between servers for disaggregated requests."),
		family("kv_cache_transfer_bytes_total", Exact, transferBytesRule(),
			"Bytes of KV caches moved between servers for disaggregated requests.",
			"as counted by the server, mebibytes * 1048576"),
		counted("kv_cache_transfer_failures_total", engine.KVTransferFailures,
			"KV caches that could not be moved between servers, by reason."),
		counted("disaggregated_requests_total", engine.Disaggregated, "Disaggregated requests that completed."),
	}
}

func executorFamilies() []Family {
	return []Family{
		counted("engine_heartbeat_timestamp_seconds", engine.EngineHeartbeat,
			"Unix time at which the metrics module of Triton's LLM-API backend last read the engine."),
		counted("engine_awake", engine.EngineAwake, "0 while the engine sleeps and serves nothing, else 1."),
		family("adapters_info", Sampled, adaptersRule(),
			"1 with the running and waiting LoRA adapters.",
			"the label set with the latest time"),
		counted(
			"engine_iterations_total",
			engine.EngineIterations,
			"Iterations of the executor; it does none while idle.",
		),
		family("engine_iterations_per_second", Exact, rateOf(engine.EngineIterations),
			"Iterations of the executor per second over the window; 0 while idle."),
		family("engine_last_iteration_timestamp_seconds", Rough, lastIterationRule(),
			"Time of the last iteration by the server's clock and time zone; compare it only with itself.",
			"timestamp in seconds"),
		sampled(
			"engine_iteration_duration_seconds",
			engine.IterationDuration,
			"Duration of the last iteration that was sampled.",
		),
		sampled("engine_memory_bytes", engine.EngineMemory,
			"Memory of the engine by kind: gpu, cpu or pinned."),
		sampled("iteration_context_tokens", engine.ContextTokens, "Prefill tokens computed in the last iteration."),
		sampled("iteration_generation_tokens", engine.StaticGeneration, "Tokens generated in the last iteration "+
			"with static batching."),
		sampled(
			"generation_slots_free",
			engine.StaticFreeSlots,
			"Empty slots of a static batch in the last iteration.",
		),
		family("iteration_prefill_tokens", Sampled, distribution(engine.PrefillTokens),
			"Prefill tokens of each iteration that had any."),
		sampled("prefill_occupancy_ratio", engine.PrefillOccupancy, "Share of the executor's slots that prefill "+
			"took in the last iteration, 0 to 1."),
		sampled("iteration_decoded_tokens_average", engine.DecodedAverage,
			"Mean tokens that each request gained in the last iteration."),
		sampled(
			"iteration_batch_size",
			engine.IterationBatch,
			"Requests in the latest batch of each rank; 0 while idle.",
		),
		counted("batch_size_limit", engine.BatchLimit,
			"Maximum number of requests in a batch, static or as tuned at runtime."),
		counted(
			"batch_tokens_limit",
			engine.BatchTokensLimit,
			"Maximum number of tokens in a batch as tuned at runtime.",
		),
		counted("spec_decode_draft_tokens_total", engine.SpecDraft, "Drafted tokens, counted at each iteration."),
		counted("spec_decode_accepted_tokens_total", engine.SpecAccepted, "Drafted tokens that were accepted, "+
			"counted at each iteration."),
		counted(
			"spec_decode_draft_tokens_by_position_total",
			engine.SpecDraftPosition,
			"Drafted tokens by position, counted when requests end.",
		),
		counted(
			"spec_decode_accepted_tokens_by_position_total",
			engine.SpecAcceptedPosition,
			"Drafted tokens that were accepted, by position, counted when requests end.",
		),
		family("spec_decode_acceptance_ratio", Exact, share(engine.SpecAccepted, engine.SpecDraft),
			"Share of the window's drafted tokens that were accepted, 0 to 1."),
		sampled("spec_decode_acceptance_length", engine.SpecLength, "Tokens that a request gained in the last "+
			"iteration: accepted drafts and its own token."),
		sampled("spec_decode_draft_overhead_ratio", engine.SpecOverhead, "Share of the last iteration's time that "+
			"drafting took, 0 to 1."),
	}
}

// configFamilies returns the families about the startup settings of a trtllm-serve.
func configFamilies() []Family {
	return []Family{
		counted("model_config_info", engine.ModelConfig, "1 with the startup settings of the model."),
		counted("parallel_config_info", engine.ParallelConfig, "1 with the parallelism settings of the model."),
		counted("speculative_config_info", engine.SpeculativeConfig, "1 with the settings of speculative decoding."),
		counted("kv_cache_config_info", engine.CacheConfig, "1 with the settings of the KV cache."),
	}
}

func latencyFamilies() []Family {
	const overWindow = " over the window; do not average them across replicas."
	above := func(name string, h histograms) Family {
		return family(name+"_above_bound_ratio", Exact, aboveBound(h),
			"Share of the window's observations above the largest bound of the histogram, 0 to 1.")
	}
	// spread returns the families that are computed from a histogram over the window.
	spread := func(name string, h histograms, average, percentile string) []Family {
		return []Family{
			family(name+"_average_seconds", Exact, mean(h), average),
			family(name+"_percentile_seconds", Sampled, percentiles(h), percentile+overWindow),
			above(name, h),
		}
	}
	return slices.Concat([]Family{
		family("request_duration_seconds", Exact, passedOn(wholeRequests()),
			"Time from a request's arrival to its last token."),
		family("time_to_first_token_seconds", Exact, passedOn(firstTokens()),
			"Time from a request's arrival to its first token.",
			"as counted by the server; Triton: milliseconds / 1000"),
		histogram("time_per_output_token_seconds", engine.OutputToken,
			"Mean time between the tokens of a request, one observation "+
				"per request.", "(E2E - TTFT) / (tokens - 1), as counted by the server"),
		histogram(
			"inter_token_latency_seconds",
			engine.InterToken,
			"Time between two tokens, one observation per token.",
		),
		histogram("request_queue_seconds", engine.RequestQueue, "Time that requests waited for their first iteration."),
		histogram(
			"request_prefill_seconds",
			engine.RequestPrefill,
			"Time from a request's first iteration to its first token.",
		),
		histogram("request_decode_seconds", engine.RequestDecode, "Time from a request's first token to its last."),
		histogram(
			"request_inference_seconds",
			engine.RequestInference,
			"Time from a request's first iteration to its last token.",
		),
		histogram("prefill_perplexity", engine.PrefillPerplexity, "Perplexity of each request's prompt."),
		histogram("generation_perplexity", engine.OutputPerplexity, "Perplexity of each request's output."),
		family("request_duration_average_seconds", Exact, meanDurationRule(),
			"Mean time of the requests that ended over the window.",
			"rate(nv_inference_request_duration_us) / rate(nv_inference_request_success) of the entry model, or "+
				"rate(sum) / rate(count) of the histogram"),
		family(
			"request_duration_percentile_seconds",
			Sampled,
			percentiles(wholeRequests(), engine.ModelRequestDuration),
			"Percentiles of request durations"+overWindow,
			"nv_inference_request_summary_us of the entry model, or the histogram's quantile over the window",
		),
		above("request_duration", wholeRequests()),
	},
		spread("time_to_first_token", firstTokens(), "Mean time to the first token over the window.",
			"Percentiles of the time to the first token"),
		spread("time_per_output_token", observed(engine.OutputToken), "Mean time between the tokens of a request, "+
			"averaged over the requests of the window.",
			"Percentiles of the mean time between a request's tokens"),
		spread("inter_token_latency", observed(engine.InterToken), "Mean time between two tokens over the window.",
			"Percentiles of the time between two tokens"),
		[]Family{
			family("time_per_output_token_average_seconds_estimate", Rough, tokenTimeEstimateRule(),
				"Mean time between tokens, estimated from means that partly cover different requests.",
				"(mean duration - mean time to first token) / (mean output tokens - 1) over the window"),
			family("request_queue_average_seconds", Exact, mean(observed(engine.RequestQueue)),
				"Mean time that the window's requests waited for their first iteration."),
		})
}
