package engine

// Meanings implements Engine for vLLM 0.8 to 0.32, by the sources of each release; the pages of
// 0.12.0 and 0.32.0 were seen.
func (*vllm) Meanings() []Meaning {
	return append(withPrefix(vllmPrefix, append(vllmEngine(), vllmTransfers()...)), vllmHTTP()...)
}

// vllmRank is the label of data-parallel ranks: each reports its own requests, tokens and cache.
const vllmRank = "engine"

// vllmEngine returns the meanings of the engine's series.
func vllmEngine() []Meaning {
	return []Meaning{
		// Requests. Those of clients that left count nowhere as ended; each of several answers or
		// prompts of a request counts. A rejected request, streamed or not, is answered 503 and
		// counts by status too (exceptions.py, QueueOverflowError); if its stream has begun, as in
		// a burst, the error is inside a 200 (seen in 0.32.0).
		{Name: "num_requests_running", Signal: RequestsRunning, Rank: vllmRank},
		{Name: "num_requests_waiting", Signal: RequestsWaiting, Rank: vllmRank},
		{Name: "num_requests_waiting_by_reason", Signal: RequestsWaitingReason, Dims: []string{"reason"}},
		{Name: "num_preemptions_total", Signal: Preemptions, Counter: true},
		{Name: "request_success_total", Signal: RequestsFinished, Counter: true, Rank: vllmRank, Dims: []string{"finished_reason=finish_reason"}, Outcome: finished()},
		{Name: "admission_rejections_total", Signal: RequestsFailed, Counter: true, Dims: []string{"reason"}, Outcome: &Outcome{Usual: ClassOverload, Again: "http_5xx"}},
		{Name: "admission_rejections_total", Signal: RequestsRejected, Counter: true},

		// Tokens, with each step of the engine. prompt_tokens_cached_total is new in 0.16;
		// gpu_prefix_cache_hits_total was replaced in 0.9.2 and removed in 0.12.
		{Name: "prompt_tokens_total", Signal: PromptTokens, Counter: true, Rank: vllmRank},
		{Name: "generation_tokens_total", Signal: GenerationTokens, Counter: true, Rank: vllmRank},
		{Name: "prompt_tokens_cached_total", Signal: CachedTokens, Counter: true},
		{Name: "prefix_cache_hits_total", Signal: CachedTokens, Counter: true, Unless: []string{"prompt_tokens_cached_total"}},
		{
			Name: "gpu_prefix_cache_hits_total", Signal: CachedTokens, Counter: true,
			Unless: []string{"prompt_tokens_cached_total", "prefix_cache_hits_total"},
		},
		{Name: "prompt_tokens_cached_by_source_total", Signal: CachedTokensByTier, Counter: true, Dims: []string{"source=cache_tier"}},
		{Name: "request_prompt_tokens", Signal: RequestPromptTokens, Form: Histogram},
		{Name: "request_generation_tokens", Signal: RequestOutputTokens, Form: Histogram},
		{Name: "spec_decode_num_draft_tokens_total", Signal: SpecDraft, Counter: true},
		{Name: "spec_decode_num_accepted_tokens_total", Signal: SpecAccepted, Counter: true},
		{Name: "spec_decode_num_accepted_tokens_per_pos_total", Signal: SpecAcceptedPosition, Counter: true, Dims: []string{"position"}},

		// Durations, all but the first two observed when a request ends. The old
		// time_per_output_token_seconds, removed in 0.16, is observed token by token and equals
		// inter_token_latency_seconds, new in 0.10.2.
		{Name: "time_to_first_token_seconds", Signal: FirstToken, Form: Histogram},
		{Name: "inter_token_latency_seconds", Signal: InterToken, Form: Histogram},
		{Name: "time_per_output_token_seconds", Signal: InterToken, Form: Histogram, Unless: []string{"inter_token_latency_seconds"}},
		{Name: "request_time_per_output_token_seconds", Signal: OutputToken, Form: Histogram},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration, Form: Histogram},
		{Name: "request_queue_time_seconds", Signal: RequestQueue, Form: Histogram},
		{Name: "request_prefill_time_seconds", Signal: RequestPrefill, Form: Histogram},
		{Name: "request_decode_time_seconds", Signal: RequestDecode, Form: Histogram},
		{Name: "request_inference_time_seconds", Signal: RequestInference, Form: Histogram},

		// The engine and its cache. Each rank has a cache of its own, and the fullest counts; it
		// was named after the GPU until 0.11. iteration_tokens_total is a histogram despite its
		// name, and its count is that of iterations. The value of lora_requests_info is when it was
		// written; past label sets stay, and the largest value is current.
		{Name: "kv_cache_usage_perc", Signal: KVUtilization, Combine: Max, Rank: vllmRank},
		{Name: "gpu_cache_usage_perc", Signal: KVUtilization, Combine: Max, Rank: vllmRank, Unless: []string{"kv_cache_usage_perc"}},
		{Name: "iteration_tokens_total_count", Signal: EngineIterations, Counter: true, Rank: vllmRank},
		{Name: "engine_sleep_state", Where: only("sleep_state", "awake"), Signal: EngineAwake, Combine: Max, Rank: vllmRank},
		// num_gpu_blocks of each rank is the sum over the ranks that report to one API
		// (core_client.py of 0.9 to 0.32); kv_cache_size_tokens of newer releases is the rank's
		// own.
		{
			Name: vllmConfig, Signal: CacheStated, Combine: Max, Rank: vllmRank,
			Dims: []string{"num_gpu_blocks=blocks", "block_size=block_tokens", "kv_cache_size_tokens=tokens"},
		},
		{
			Name: vllmConfig, Signal: CacheConfig, Combine: Max,
			Dims: []string{"block_size=page_size", "cache_dtype", "enable_prefix_caching=enable_block_reuse", "num_gpu_blocks"},
		},
		{
			Name: "lora_requests_info", Signal: AdaptersWritten, Combine: Max,
			Dims: []string{"max_lora", "running_lora_adapters=running", "waiting_lora_adapters=waiting"},
		},
	}
}

// vllmTransfers returns the meanings of transfers of KV caches by the connectors of disaggregated
// servers: NIXL (seen in the Rust frontend of 0.32.0), and Mooncake since 0.33. The prefill server
// counts caches that nobody fetched in time.
func vllmTransfers() []Meaning {
	var all []Meaning
	for _, connector := range []string{"nixl_", "mooncake_"} {
		all = append(
			all,
			Meaning{Name: connector + "xfer_time_seconds_sum", Signal: KVTransferSeconds, Counter: true},
			Meaning{Name: connector + "bytes_transferred_sum", Signal: KVTransferBytes, Counter: true},
			Meaning{Name: connector + "num_failed_transfers_total", Signal: KVTransferFailures, Counter: true, Const: "reason=transfer"},
			Meaning{Name: connector + "num_kv_expired_reqs_total", Signal: KVTransferFailures, Counter: true, Const: "reason=expired"},
		)
	}
	return append(
		all,
		Meaning{Name: "nixl_num_failed_notifications_total", Signal: KVTransferFailures, Counter: true, Const: "reason=notification"},
		Meaning{Name: "mooncake_num_failed_recvs_total", Signal: KVTransferFailures, Counter: true, Const: "reason=receive"},
	)
}

// vllmAnswers counts the API's answers by the first digit of their status.
const vllmAnswers = "http_requests_total"

// vllmHTTP returns the meanings of requests answered with an error status and, where the engine
// counts none because of --disable-log-stats, of those that ended well. Errors inside a stream
// follow a 200 and count nowhere else; neither do clients that left.
func vllmHTTP() []Meaning {
	var all []Meaning
	for _, handler := range []string{"/v1/*", "/invocations*"} {
		all = append(all, Meaning{
			Name: vllmAnswers, Where: []string{"handler=" + handler, "method=POST", "status=2xx"},
			Unless: []string{vllmPrefix + "request_success_total"},
			Signal: RequestsFinished, Counter: true, Outcome: &Outcome{Usual: ClassOK},
		})
		for _, status := range []string{"4xx", "5xx"} {
			all = append(all, Meaning{
				Name: vllmAnswers, Where: []string{"handler=" + handler, "method=POST", "status=" + status},
				Signal: RequestsFailed, Counter: true, Dims: []string{"status=reason"},
				Outcome: &Outcome{Codes: true, Missed: []Class{ClassCanceled, ClassOverload}},
			})
		}
	}
	return all
}
