package engine

// vllmPage is a name as vLLM's page has it.
func vllmPage(name string) string { return vllmPrefix + name }

// Meanings implements Engine: vLLM 0.8 to 0.32, by the sources of each release; the
// pages of 0.12.0 and 0.32.0 were seen. Label engine is the data-parallel rank.
func (*vllm) Meanings() []Meaning {
	all := append(vllmEngine(), vllmTransfers()...)
	for i := range all {
		all[i].Name = vllmPage(all[i].Name)
		for n := range all[i].Unless {
			all[i].Unless[n] = vllmPage(all[i].Unless[n])
		}
	}
	return append(all, vllmHTTP()...)
}

// vllmRank is the label of data-parallel ranks: each reports its own requests,
// tokens and cache.
const vllmRank = "engine"

// vllmEngine are the series of the engine.
func vllmEngine() []Meaning {
	return []Meaning{
		// Requests. One whose client left is in no counter of those that ended; each of
		// several answers or prompts of one request counts. A rejected request is answered
		// 503, streamed or not, and so is among the answers by status too (exceptions.py,
		// QueueOverflowError); one that is rejected when its stream has begun, as in a burst,
		// has its error inside a 200 (seen in 0.32.0).
		{Name: "num_requests_running", Signal: RequestsRunning, Rank: vllmRank},
		{Name: "num_requests_waiting", Signal: RequestsWaiting, Rank: vllmRank},
		{Name: "num_requests_waiting_by_reason", Signal: RequestsWaitingReason, Dims: []string{"reason"}},
		{Name: "num_preemptions_total", Signal: Preemptions, Counter: true},
		{Name: "request_success_total", Signal: RequestsFinished, Counter: true, Rank: vllmRank, Dims: []string{"finished_reason=finish_reason"}, Outcome: finished()},
		{Name: "admission_rejections_total", Signal: RequestsFailed, Counter: true, Dims: []string{"reason"}, Outcome: &Outcome{Usual: ClassOverload, Again: "http_5xx"}},
		{Name: "admission_rejections_total", Signal: RequestsRejected, Counter: true},

		// Tokens, which move with each step of the engine. Cached ones:
		// prompt_tokens_cached_total is of 0.16, gpu_prefix_cache_hits_total was replaced in
		// 0.9.2 and left in 0.12.
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

		// Histograms of times, all but the first two observed when a request ends. The old
		// time_per_output_token_seconds, which 0.16 has no more, is observed token by token:
		// the same as inter_token_latency_seconds of 0.10.2, and next to it with the same
		// values.
		{Name: "time_to_first_token_seconds", Signal: FirstToken, Form: Histogram},
		{Name: "inter_token_latency_seconds", Signal: InterToken, Form: Histogram},
		{Name: "time_per_output_token_seconds", Signal: InterToken, Form: Histogram, Unless: []string{"inter_token_latency_seconds"}},
		{Name: "request_time_per_output_token_seconds", Signal: OutputToken, Form: Histogram},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration, Form: Histogram},
		{Name: "request_queue_time_seconds", Signal: RequestQueue, Form: Histogram},
		{Name: "request_prefill_time_seconds", Signal: RequestPrefill, Form: Histogram},
		{Name: "request_decode_time_seconds", Signal: RequestDecode, Form: Histogram},
		{Name: "request_inference_time_seconds", Signal: RequestInference, Form: Histogram},

		// The engine and its cache. Use of the cache is of each rank's own, so that the
		// fullest counts; it was named after the GPU until 0.11. The count of
		// iteration_tokens_total, a histogram whatever its name says, is that of iterations.
		// The value of lora_requests_info is when it was written, and label sets of the past
		// stay: the largest is the one that holds.
		{Name: "kv_cache_usage_perc", Signal: KVUtilization, Combine: Max, Rank: vllmRank},
		{Name: "gpu_cache_usage_perc", Signal: KVUtilization, Combine: Max, Rank: vllmRank, Unless: []string{"kv_cache_usage_perc"}},
		{Name: "iteration_tokens_total_count", Signal: EngineIterations, Counter: true, Rank: vllmRank},
		{Name: "engine_sleep_state", Where: only("sleep_state", "awake"), Signal: EngineAwake, Combine: Max, Rank: vllmRank},
		// Each rank has all of num_gpu_blocks, the sum over the ranks of the page since
		// they report to one API (core_client.py of 0.9 to 0.32), and its own
		// kv_cache_size_tokens, which newer releases have.
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

// vllmTransfers are the KV caches that the connectors of disaggregated servers move:
// NIXL (seen in the Rust frontend of 0.32.0), and Mooncake since 0.33. The server that
// computes prompts counts those that nobody fetched in time.
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

// vllmHTTP are the requests that ended with an HTTP status of failure, and where
// the engine counts none, with --disable-log-stats, those that ended well. Errors
// inside a stream come after a 200 and are counted nowhere else, and neither are
// clients that left.
func vllmHTTP() []Meaning {
	var all []Meaning
	for _, handler := range []string{"/v1/*", "/invocations*"} {
		all = append(all, Meaning{
			Name: vllmAnswers, Where: []string{"handler=" + handler, "method=POST", "status=2xx"},
			Unless: []string{vllmPage("request_success_total")},
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
