package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func tokenFamilies() []Family {
	return []Family{
		counted("prompt_tokens_total", engine.PromptTokens,
			"Prompt tokens (source nv_llm_input_token_len_sum, prompt_tokens_total, dynamo_frontend_input_sequence_tokens_sum). Grows when a request ends, with NIM and vLLM at each iteration."),
		counted("generation_tokens_total", engine.GenerationTokens,
			"Generated tokens (source nv_llm_output_token_len_sum, generation_tokens_total, dynamo_frontend_output_tokens_total). Grows when a request ends, with NIM, Dynamo and vLLM while tokens are generated. Triton also counts the tokens of clients that disconnected, trtllm-serve does not."),
		sampled("prompt_tokens_live_total", engine.PromptTokensLive, "Prompt tokens prefilled so far, including those of running requests (source sglang:realtime_tokens_total{mode=prefill_*})."),
		sampled("generation_tokens_live_total", engine.GenerationTokensLive,
			"Tokens decoded so far, including those of running requests, without the first token of each request (source sglang:realtime_tokens_total{mode=decode})."),
		counted("prompt_tokens_cached_total", engine.CachedTokens, "Prompt tokens that were found in the KV cache (source prompt_cached_tokens_total)."),
		counted("prompt_tokens_cached_by_tier_total", engine.CachedTokensByTier, "Prompt tokens that were found in each level of the KV cache (source prompt_cache_hit_tokens_total{cache_level,cache_tier})."),
		histogram("request_prompt_tokens", engine.RequestPromptTokens, "Prompt tokens of each request (source nv_llm_input_token_len, request_prompt_tokens, dynamo_frontend_input_sequence_tokens)."),
		histogram("request_generation_tokens", engine.RequestOutputTokens,
			"Generated tokens of each request (source nv_llm_output_token_len, request_generation_tokens, dynamo_frontend_output_sequence_tokens). TensorRT-LLM in Triton has no bound above 1000."),
		histogram("request_prompt_cached_tokens", engine.RequestCachedTokens, "Prompt tokens of each request that were found in the KV cache (source prompt_cached_tokens_per_request, dynamo_frontend_cached_tokens)."),
		family("prompt_tokens_per_second", Exact, rateOf(engine.PromptTokens),
			"Prompt tokens per second over the window, from the counter: exact over windows of at least three request durations, bursty over shorter ones."),
		family("generation_tokens_per_second", Exact, rateOf(engine.GenerationTokens),
			"Generated tokens per second over the window, from the counter: exact over windows of at least three request durations, bursty over shorter ones."),
		family("prompt_tokens_per_second_estimate", Rough, estimate(engine.ContextTokens),
			"Prefill tokens computed per second over the window, estimated from sampled iterations. Very rough: prefill comes in bursts between samples.",
			"sum over the window of total_context_tokens * iterations since the page before, by time"),
		family("generation_tokens_per_second_estimate", Rough, estimate(engine.RequestsDecode, engine.StaticGeneration),
			"Tokens generated per second over the window, including those of requests in flight, estimated from sampled iterations: one token per decoding request and iteration. Wrong with speculative decoding, beam search and pipeline parallelism.",
			"sum over the window of generation_requests * iterations since the page before, by time"),
		family("generation_tokens_live_per_second", Sampled, rateOf(engine.GenerationTokensLive),
			"Tokens decoded per second over the window, including those of requests in flight, without the first token of each request, for servers whose other counter moves when requests end."),
		family("prompt_cache_hit_ratio", Exact, share(engine.CachedTokens, engine.PromptTokens),
			"Share of the prompt tokens of the window that were found in the KV cache, 0 to 1."),
		family("generation_tokens_per_gpu_second", Sampled, tokensPerGPU(),
			"Generated tokens of all models of the replica per GPU and second over the window. Covers the GPUs that Triton exposes: those of other ranks and nodes are missing.",
			"sum(rate(generation_tokens_total)) / number of GPUs"),
		family("energy_joules_per_token", Sampled, energyPerToken(),
			"Energy of the replica's GPUs per generated token over the window. Covers the GPUs that Triton exposes: those of other ranks and nodes are missing.",
			"sum(rate(nv_energy_consumption)) / sum(rate(generation_tokens_total))"),
	}
}

func cacheFamilies() []Family {
	return []Family{
		family("kv_cache_utilization_ratio", Sampled, perEntry(cacheUse(), executorRuns, checkBlocks, checkFraction),
			"Share of the KV cache's blocks in use, 0 to 1, computed from used and max where the server exposes them (source kv_cache_block_type=used, max; kv_cache_used_blocks, kv_cache_max_blocks; else kv_cache_utilization, gpu_cache_usage_perc). Blocks that hold nothing but reusable content count as free.",
			"used / max, else the server's own ratio"),
		family("kv_cache_blocks", Sampled, byState("free", engine.KVBlocksFree, "used", engine.KVBlocksUsed),
			"Blocks of the KV cache by state, used or free.",
			"used, free"),
		family("kv_cache_blocks_limit", Exact, copyOr(engine.KVBlocksLimit, cacheLimit()),
			"Size of the KV cache in blocks; absent if it is 0 (source kv_cache_block_type=max, kv_cache_max_blocks, dynamo_frontend_model_total_kv_blocks of each worker whose load the router knows).",
			"max blocks"),
		family("kv_cache_block_tokens", Exact, copyOr(engine.KVBlockTokens, blockTokens()),
			"Tokens that one block of the KV cache holds.",
			"tokens per block"),
		family("kv_cache_capacity_tokens", Exact, perEntry(cacheTokens(), executorRuns, checkBlocks),
			"Tokens the whole KV cache holds. Absent if its size on the page is 0.",
			"max blocks * tokens per block, or as the server states it"),
		family("kv_cache_free_tokens", Sampled, perEntry(cacheFree(), executorRuns, checkBlocks),
			"Tokens that fit into the free blocks of the KV cache.",
			"free blocks * tokens per block"),
		sampled("kv_cache_host_utilization_ratio", engine.KVHostUtilization, "Share of the KV cache's host blocks in use, 0 to 1 (source kv_cache_host_utilization)."),
		counted("kv_cache_blocks_reused_total", engine.KVBlocksReused,
			"Blocks that were found in the KV cache instead of being computed (source kv_cache_block_type=reused, a counter although the server types it gauge; kv_cache_reused_blocks_total). For Triton only with the C++ backend.", "reused blocks since the engine started"),
		counted("kv_cache_blocks_missed_total", engine.KVBlocksMissed, "Blocks looked up in the KV cache and not found (source kv_cache_missed_blocks_total)."),
		family("kv_cache_reuse_ratio", Exact, share(engine.KVBlocksReused, engine.KVBlocksReused, engine.KVBlocksMissed).
			queried(rateQuery(engine.KVBlocksReused)+" / ("+rateQuery(engine.KVBlocksReused)+" + "+rateQuery(engine.KVBlocksMissed)+")",
				"rate(reused) / (rate(reused) + rate(missed))"),
			"Share of the block lookups over the window that found the block in the KV cache, 0 to 1."),
		family("kv_cache_reuse_ratio_estimate", Rough, reuseEstimate(),
			"Share of the prompt tokens of the window that were found in the KV cache, 0 to 1, estimated: blocks count when a request begins and tokens when it ends.",
			"min(1, rate(reused) * tokens per block / rate(prompt_tokens_total))"),
		sampled("kv_cache_hit_ratio", engine.KVHitRatio,
			"Share of all block lookups since the start that found the block (source kv_cache_hit_rate). Before NVIDIA/TensorRT-LLM PR 12132 the PyTorch backend counts its warm-up too."),
		sampled("kv_cache_iteration_reuse_ratio", engine.KVIterationReuse, "Share of reused blocks in the last iteration that moved any (source kv_cache_iter_reuse_rate)."),
		sampled("kv_cache_blocks_generation_allocated_total", engine.KVBlocksAllocated, "Blocks allocated while generating (source kv_cache_gen_alloc_blocks_total)."),
		sampled("kv_cache_disk_prefetch_blocks_total", engine.KVBlocksPrefetched, "Blocks read from disk to the host (source kv_cache_disk_prefetch_blocks_total)."),
		sampled("kv_cache_onboard_bytes_total", engine.KVOnboardBytes, "Bytes of the KV cache moved from host to GPU (source kv_cache_onboard_bytes_total)."),
		sampled("kv_cache_offload_bytes_total", engine.KVOffloadBytes, "Bytes of the KV cache moved from GPU to host (source kv_cache_offload_bytes_total)."),
		sampled("kv_cache_intra_device_copy_bytes_total", engine.KVCopyBytes, "Bytes of the KV cache copied within the GPU (source kv_cache_intra_device_copy_bytes_total)."),
		counted("kv_cache_transfer_seconds_total", engine.KVTransferSeconds,
			"Time spent moving KV caches between the servers of disaggregated requests. Triton's TensorRT-LLM backend leaves it at 0 unless request_stats_max_iterations is set; SGLang measures from the last part of a prompt until its scheduler sees that the cache was sent."),
		family("kv_cache_transfer_bytes_total", Exact, copyOr(engine.KVTransferBytes, transferBytes()),
			"Bytes of KV caches moved between the servers of disaggregated requests.",
			"as counted by the server, mebibytes * 1048576"),
		counted("kv_cache_transfer_failures_total", engine.KVTransferFailures,
			"KV caches that could not be moved between the servers of disaggregated requests, by reason: bootstrap (before the transfer), transfer (on the way), receive (at the destination), notification (of its arrival), or expired (never fetched)."),
		counted("disaggregated_requests_total", engine.Disaggregated, "Disaggregated requests that completed (source disaggregated_serving_type=request_count). 0 unless request_stats_max_iterations is set."),
	}
}

func executorFamilies() []Family {
	return []Family{
		counted("engine_heartbeat_timestamp_seconds", engine.EngineHeartbeat,
			"When the metrics module of Triton's LLM-API backend last read the engine, as a Unix time; while it stands still the gauges of the engine are absent (source nv_llmapi_heartbeat_timestamp_seconds)."),
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
		sampled("engine_memory_bytes", engine.EngineMemory,
			"Memory by kind: gpu, cpu, pinned (source nv_trt_llm_runtime_memory_metrics, what the engine's leading process allocated; gpu_memory_usage_bytes, with the PyTorch backend all that is used on the device)."),
		sampled("iteration_context_tokens", engine.ContextTokens, "Prefill tokens computed in the last iteration (source total_context_tokens)."),
		sampled("iteration_generation_tokens", engine.StaticGeneration, "Tokens generated in the last iteration with static batching (source nv_trt_llm_v1_metrics{v1_specific_metric=total_generation_tokens})."),
		sampled("generation_slots_free", engine.StaticFreeSlots, "Slots of a static batch that were empty in the last iteration (source v1_specific_metric=empty_generation_slots)."),
		family("iteration_prefill_tokens", Sampled, distribution(engine.PrefillTokens),
			"Prefill tokens of each iteration that had any (source prefill_batch_tokens)."),
		sampled("prefill_occupancy_ratio", engine.PrefillOccupancy, "Share of the executor's slots that prefill took in the last iteration (source prefill_batch_occupancy)."),
		sampled("iteration_decoded_tokens_average", engine.DecodedAverage,
			"Mean tokens that each request gained in the last iteration (source avg_decoded_tokens_per_iter). Absent at 0, which is what the PyTorch backend always exposes."),
		sampled("iteration_batch_size", engine.IterationBatch, "Requests in the latest batch of each rank, 0 when idle (source scheduled_batch_size)."),
		counted("batch_size_limit", engine.BatchLimit,
			"Largest number of requests in a batch, static or as tuned at runtime (source max_batch_size_static, max_batch_size_runtime). Absent at 0, which is what the newest PyTorch backend exposes."),
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

// configFamilies returns the families about the startup settings of a trtllm-serve.
func configFamilies() []Family {
	return []Family{
		counted("model_config_info", engine.ModelConfig, "1 with the startup settings of the model (source model_config_info)."),
		counted("parallel_config_info", engine.ParallelConfig, "1 with the parallelism settings of the model (source parallel_config_info)."),
		counted("speculative_config_info", engine.SpeculativeConfig, "1 with the settings of speculative decoding (source speculative_config_info)."),
		counted("kv_cache_config_info", engine.CacheConfig, "1 with the settings of the KV cache (source kv_cache_config_info)."),
	}
}

func latencyFamilies() []Family {
	const interpolated = "Interpolated within its bucket; absent in the last bucket, which has no upper bound: see the ratio above the largest bound. Never average percentiles across replicas: use the histograms."
	above := func(name string, h histograms) Family {
		return family(name+"_above_bound_ratio", Exact, aboveBound(h),
			"Share of the observations of the window above the largest bound of the histogram, 0 to 1: how long they took is unknown.")
	}
	// spread returns the families that are computed from a histogram over the window.
	spread := func(name string, h histograms, average, percentile string) []Family {
		return []Family{
			family(name+"_average_seconds", Exact, mean(h), average),
			family(name+"_percentile_seconds", Sampled, percentiles(h), percentile+": 50, 95, 99, from the histogram over the window. "+interpolated),
			above(name, h),
		}
	}
	return slices.Concat([]Family{
		family("request_duration_seconds", Exact, passedOn(wholeRequests()),
			"Time from a request's arrival to its last token (source e2e_request_latency_seconds, dynamo_frontend_request_duration_seconds, vllm:e2e_request_latency_seconds; Triton: nv_inference_request_duration_histogram_us, in no release yet, or nv_inference_first_response_histogram_ms of an entry model that does not stream, from 26.01). Dynamo's includes errors. Triton has none for models that stream: see llm_server_request_duration_average_seconds."),
		family("time_to_first_token_seconds", Exact, passedOn(firstTokens()),
			"Time from a request's arrival to its first token (source time_to_first_token_seconds, dynamo_frontend_time_to_first_token_seconds; Triton: nv_inference_first_response_histogram_ms of an entry model that streams, including failed requests).",
			"as counted by the server; Triton: milliseconds / 1000"),
		histogram("time_per_output_token_seconds", engine.OutputToken,
			"Mean time between the tokens of a request after its first, one observation per request (source time_per_output_token_seconds of trtllm-serve). Requests with one token have none.", "(E2E - TTFT) / (tokens - 1), as counted by the server"),
		histogram("inter_token_latency_seconds", engine.InterToken, "Time between two tokens, one observation per token (source time_per_output_token_seconds of NIM and vLLM, dynamo_frontend_inter_token_latency_seconds)."),
		histogram("request_queue_seconds", engine.RequestQueue, "Time requests waited for their first iteration (source request_queue_time_seconds). Up to TensorRT-LLM 1.3.0rc5 the server leaves out times of 0."),
		histogram("request_prefill_seconds", engine.RequestPrefill, "Time from a request's first iteration to its first token (source request_prefill_time_seconds)."),
		histogram("request_decode_seconds", engine.RequestDecode, "Time from a request's first token to its last (source request_decode_time_seconds)."),
		histogram("request_inference_seconds", engine.RequestInference, "Time from a request's first iteration to its last token (source request_inference_time_seconds)."),
		histogram("prefill_perplexity", engine.PrefillPerplexity, "Perplexity of each request's prompt (source prefill_perplexity)."),
		histogram("generation_perplexity", engine.OutputPerplexity, "Perplexity of each request's output (source generation_perplexity)."),
		family("request_duration_average_seconds", Exact, meanDuration(),
			"Mean time of the requests that ended over the window, for Triton only of successful ones. Absent for decoupled Python models, whose times end when they hand the request over.",
			"rate(nv_inference_request_duration_us) / rate(nv_inference_request_success) of the entry model, or rate(sum) / rate(count) of the histogram"),
		family("request_duration_percentile_seconds", Sampled, percentiles(wholeRequests(), engine.ModelRequestDuration),
			"Time within which that percentage of requests ended: 50, 95, 99, from Triton's own summary of the last minute, else from the histogram over the window. "+interpolated,
			"nv_inference_request_summary_us of the entry model, or the histogram's quantile over the window"),
		above("request_duration", wholeRequests()),
	},
		spread("time_to_first_token", firstTokens(), "Mean time to the first token of the requests of the window.",
			"Time within which that percentage of requests had its first token"),
		spread("time_per_output_token", observed(engine.OutputToken), "Mean time between the tokens of a request, averaged over the requests of the window.",
			"Mean time between tokens within which that percentage of requests stayed"),
		spread("inter_token_latency", observed(engine.InterToken), "Mean time between two tokens over the window.",
			"Time within which that percentage of tokens came after the one before"),
		[]Family{
			family("time_per_output_token_average_seconds_estimate", Rough, tokenTimeEstimate(),
				"Mean time between tokens, in seconds, estimated from means that partly cover different requests: the first token is counted when it arrives, the rest when the request ends.",
				"(mean duration - mean time to first token) / (mean output tokens - 1) over the window"),
			family("request_queue_average_seconds", Exact, mean(observed(engine.RequestQueue)),
				"Mean time the requests of the window waited for their first iteration."),
		})
}
