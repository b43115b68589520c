package engine

import "slices"

// Meanings implements Engine (seen in 0.5.23, and its source).
func (*sglang) Meanings() []Meaning {
	return withPrefix(sglangPrefix, slices.Concat(sglangScheduler(), sglangRequests(), sglangHTTP()))
}

// sglangScheduler returns the meanings of the scheduler's series. Each data-parallel rank counts
// its own requests; ranks that share a batch repeat each other, if
// --enable-metrics-for-all-schedulers makes all of them report. With priorities, the series without
// one is the sum of the others.
func sglangScheduler() []Meaning {
	all := []Meaning{
		{Name: "num_running_reqs", Signal: RequestsRunning},
		{Name: "num_queue_reqs", Signal: RequestsWaiting},
		{Name: "num_grammar_queue_reqs", Signal: RequestsWaiting},
		// On a server that only decodes (label engine_type), requests wait for capacity in the
		// first and for their KV cache in the second; num_decode_host_receive_queue_reqs repeats
		// those of the second whose cache is in host memory. On a server that only prefills,
		// requests wait for the other server's capacity in the third, called prealloc up to 0.5.9;
		// those in num_prefill_inflight_queue_reqs are computed already. 0.4.6 leaves all of them
		// at 0 (scheduler_metrics_mixin.py, metrics_reporter.py).
		{Name: "num_decode_prealloc_queue_reqs", Signal: RequestsWaiting},
		{Name: "num_decode_transfer_queue_reqs", Signal: RequestsTransfer},
		{Name: "num_prefill_bootstrap_queue_reqs", Signal: RequestsTransfer},
		{Name: "num_prefill_prealloc_queue_reqs", Signal: RequestsTransfer},
		// KV caches on their way from prefill to decode. The MB are mebibytes, and time begins with
		// the last part of a prompt (req_time_stats.py). Earlier releases show only the last
		// transfer, in gauges without these suffixes.
		{Name: "kv_transfer_latency_ms_sum", Signal: KVTransferSeconds, Shift: milli, Counter: true},
		{Name: "kv_transfer_total_mb_sum", Signal: KVTransferMebibytes, Counter: true},
		{Name: "num_transfer_failed_reqs_total", Signal: KVTransferFailures, Counter: true, Const: "reason=transfer"},
		{Name: "num_bootstrap_failed_reqs_total", Signal: KVTransferFailures, Counter: true, Const: "reason=bootstrap"},
		{Name: "num_paused_reqs", Signal: RequestsPaused},
		{Name: "num_retracted_reqs", Signal: RequestsPreempted},
		// The time in the queue includes requests of health checks.
		{Name: "queue_time_seconds", Signal: RequestQueue, Form: Histogram},

		// Tokens, about once per step, without the first token of each request.
		{Name: "realtime_tokens_total", Where: only("mode", "decode"), Signal: GenerationTokensLive, Counter: true},
		{Name: "realtime_tokens_total", Where: []string{"mode=prefill_*"}, Signal: PromptTokensLive, Counter: true},
		{Name: "spec_accept_length", Signal: SpecLength, Combine: Max, NotZero: true},
		// Passes through the model, by execution mode.
		{Name: "cuda_graph_passes_total", Signal: EngineIterations, Counter: true},

		// The KV cache, in tokens and in pages of tokens. What can be evicted counts as free.
		{Name: "token_usage", Signal: KVUtilization, Combine: Max},
		{Name: "kv_used_tokens", Signal: KVTokensUsed},
		{Name: "kv_available_tokens", Signal: KVTokensFree},
		{Name: "kv_evictable_tokens", Signal: KVTokensFree},
		{Name: "max_total_num_tokens", Signal: KVTokensLimit},
		{Name: "num_pages", Signal: KVBlocksLimit},
		{Name: "page_size", Signal: KVBlockTokens, Combine: Max},
	}
	for i := range all {
		all[i].Rank = "dp_rank"
		all[i].Copies = []string{"moe_ep_rank", "pid", "pp_rank", "tp_rank"}
		all[i].Where = append(all[i].Where, "priority=")
	}
	return all
}

// sglangRequests returns the meanings of series about requests, which are updated when a request
// ends; they have label is_streaming and no rank.
func sglangRequests() []Meaning {
	return []Meaning{
		// Aborted requests count as ended, unless they were still waiting (scheduler.py,
		// abort_request). Since 0.5.23 the time per output token excludes aborted requests and
		// those of a single token. A request that is not streamed and whose client left is also
		// answered 400 (tokenizer_manager.py). A request with n > 1 ends n + 1 times, once for its
		// prompt.
		{Name: "num_requests_total", Signal: RequestsFinished, Counter: true, Outcome: &Outcome{Usual: ClassOK}},
		{Name: "num_aborted_requests_total", Signal: RequestsAborted, Counter: true, Outcome: &Outcome{Usual: ClassCanceled, Again: "http_400"}},
		{Name: sglangUnaborted, Signal: RequestsUnaborted, Counter: true},
		{Name: "num_requests_total", Where: only("is_streaming", "true"), Signal: RequestsStreamed, Counter: true},
		{Name: sglangUnaborted, Where: only("is_streaming", "true"), Signal: StreamsUnaborted, Counter: true},
		{Name: "prompt_tokens_total", Signal: PromptTokens, Counter: true},
		{Name: "generation_tokens_total", Signal: GenerationTokens, Counter: true},
		{Name: "cached_tokens_total", Signal: CachedTokens, Counter: true},
		{Name: "cached_tokens_total", Signal: CachedTokensByTier, Counter: true, Dims: []string{"cache_source=cache_tier"}},
		{Name: "prompt_tokens_histogram", Signal: RequestPromptTokens, Form: Histogram},
		{Name: "generation_tokens_histogram", Signal: RequestOutputTokens, Form: Histogram},
		// Requests that are not streamed are left out: their first token counts when the whole
		// answer, or its first 50 tokens, are there. Releases up to 0.5.15 do not tell them apart.
		{Name: "time_to_first_token_seconds", Where: only("is_streaming", "true"), Signal: FirstToken, Form: Histogram},
		{Name: "time_to_first_token_seconds", Where: only("is_streaming", ""), Signal: FirstToken, Form: Histogram},
		{Name: "inter_token_latency_seconds", Signal: InterToken, Form: Histogram},
		{Name: "request_time_per_output_token_seconds", Signal: OutputToken, Form: Histogram},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration, Form: Histogram},
	}
}

// sglangAnswers counts the API's answers by status.
const sglangAnswers = "http_responses_total"

// sglangUnaborted counts the requests that ended by themselves.
const sglangUnaborted = "request_time_per_output_token_seconds_count"

// sglangHTTP returns the meanings of requests that arrived at the API, counted before they are
// answered (seen in 0.5.23), and of those answered with an error status. 404 is left out: it is the
// answer for wrong paths, while any model name is served.
func sglangHTTP() []Meaning {
	endpoints := []string{"/v1/*", "/generate*"}
	var all []Meaning
	for _, endpoint := range endpoints {
		all = append(all, Meaning{Name: "http_requests_total", Where: []string{"endpoint=" + endpoint, "method=POST"}, Signal: RequestsStarted, Counter: true})
	}
	for _, class := range []string{"4", "5"} {
		for _, endpoint := range endpoints {
			all = append(all, Meaning{
				Name: sglangAnswers, Where: []string{"endpoint=" + endpoint, "method=POST", "status_code=" + class + "*", "status_code!=404"},
				Signal: RequestsFailed, Counter: true, Dims: []string{"status_code=reason"}, Outcome: &Outcome{Codes: true},
			})
		}
	}
	return all
}
