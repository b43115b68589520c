package engine

import "slices"

// Meanings implements Engine (seen in 0.5.23, and its source).
func (*sglang) Meanings() []Meaning {
	all := slices.Concat(sglangScheduler(), sglangRequests(), sglangHTTP())
	for i := range all {
		all[i].Name = sglangPrefix + all[i].Name
	}
	return all
}

// sglangScheduler are the scheduler's. Each data-parallel rank counts for itself; the
// ranks that work on one batch together say the same, where
// --enable-metrics-for-all-schedulers has all of them speak. With priorities the
// series without one is the sum of the others.
func sglangScheduler() []Meaning {
	all := []Meaning{
		{Name: "num_running_reqs", Signal: RequestsRunning},
		{Name: "num_queue_reqs", Signal: RequestsWaiting},
		{Name: "num_grammar_queue_reqs", Signal: RequestsWaiting},
		// Of a server that only decodes, label engine_type, what waits for room is in the
		// first and what waits for its KV cache in the second, whose part in host memory is
		// in num_decode_host_receive_queue_reqs too; of one that only computes prompts what
		// waits until the other server has room is in the third, called prealloc up to
		// 0.5.9. In num_prefill_inflight_queue_reqs nothing waits to be computed any more.
		// 0.4.6 has the names and leaves all of them at 0 (scheduler_metrics_mixin.py,
		// metrics_reporter.py).
		{Name: "num_decode_prealloc_queue_reqs", Signal: RequestsWaiting},
		{Name: "num_decode_transfer_queue_reqs", Signal: RequestsTransfer},
		{Name: "num_prefill_bootstrap_queue_reqs", Signal: RequestsTransfer},
		{Name: "num_prefill_prealloc_queue_reqs", Signal: RequestsTransfer},
		// KV caches that go from a server that computes prompts to one that decodes. The MB
		// are mebibytes, and time begins with the last part of a prompt (req_time_stats.py);
		// earlier releases show the last transfer only, in gauges without these suffixes.
		{Name: "kv_transfer_latency_ms_sum", Signal: KVTransferSeconds, Shift: milli, Counter: true},
		{Name: "kv_transfer_total_mb_sum", Signal: KVTransferMebibytes, Counter: true},
		{Name: "num_transfer_failed_reqs_total", Signal: KVTransferFailures, Counter: true, Const: "reason=transfer"},
		{Name: "num_bootstrap_failed_reqs_total", Signal: KVTransferFailures, Counter: true, Const: "reason=bootstrap"},
		{Name: "num_paused_reqs", Signal: RequestsPaused},
		{Name: "num_retracted_reqs", Signal: RequestsPreempted},
		// The time in the queue has health questions too.
		{Name: "queue_time_seconds", Signal: RequestQueue, Form: Histogram},

		// Tokens of each step or so, where the first token of a request is missing.
		{Name: "realtime_tokens_total", Where: only("mode", "decode"), Signal: GenerationTokensLive, Counter: true},
		{Name: "realtime_tokens_total", Where: []string{"mode=prefill_*"}, Signal: PromptTokensLive, Counter: true},
		{Name: "spec_accept_length", Signal: SpecLength, Combine: Max, NotZero: true},
		// Passes through the model, by how they were run.
		{Name: "cuda_graph_passes_total", Signal: EngineIterations, Counter: true},

		// The KV cache, in tokens and in pages of tokens. What could be used again
		// counts as free.
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

// sglangRequests are what requests are counted by, when they end; they have label
// is_streaming and no rank.
func sglangRequests() []Meaning {
	return []Meaning{
		// Aborted ones are among those that ended, unless they waited when they were
		// (scheduler.py, abort_request). The time per output token is measured of no aborted
		// one, and of none of a single token, since 0.5.23. One that is not streamed and
		// whose client left is answered 400 as well (tokenizer_manager.py). A request with
		// n > 1 ends n + 1 times, once for its prompt.
		{Name: "num_requests_total", Signal: RequestsFinished, Counter: true, Outcome: &Outcome{Usual: ClassOK}},
		{Name: "num_aborted_requests_total", Signal: RequestsAborted, Counter: true, Outcome: &Outcome{Usual: ClassCanceled, Again: "http_400"}},
		{Name: sglangWhole, Signal: RequestsWhole, Counter: true},
		{Name: "num_requests_total", Where: only("is_streaming", "true"), Signal: RequestsStreamed, Counter: true},
		{Name: sglangWhole, Where: only("is_streaming", "true"), Signal: StreamsWhole, Counter: true},
		{Name: "prompt_tokens_total", Signal: PromptTokens, Counter: true},
		{Name: "generation_tokens_total", Signal: GenerationTokens, Counter: true},
		{Name: "cached_tokens_total", Signal: CachedTokens, Counter: true},
		{Name: "cached_tokens_total", Signal: CachedTokensByTier, Counter: true, Dims: []string{"cache_source=cache_tier"}},
		{Name: "prompt_tokens_histogram", Signal: RequestPromptTokens, Form: Histogram},
		{Name: "generation_tokens_histogram", Signal: RequestOutputTokens, Form: Histogram},
		// The first token of a request that is not streamed counts when all of its answer,
		// or its first 50 tokens, are there, so that only streamed ones say something.
		// 0.5.15 and before do not tell them apart.
		{Name: "time_to_first_token_seconds", Where: only("is_streaming", "true"), Signal: FirstToken, Form: Histogram},
		{Name: "time_to_first_token_seconds", Where: only("is_streaming", ""), Signal: FirstToken, Form: Histogram},
		{Name: "inter_token_latency_seconds", Signal: InterToken, Form: Histogram},
		{Name: "request_time_per_output_token_seconds", Signal: OutputToken, Form: Histogram},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration, Form: Histogram},
	}
}

// sglangAnswers counts the API's answers by status.
const sglangAnswers = "http_responses_total"

// sglangWhole counts the requests that came to their own end.
const sglangWhole = "request_time_per_output_token_seconds_count"

// sglangHTTP are the requests that came to the API, counted before they are answered
// (seen in 0.5.23), and those that it answered with a status of failure. A path that is
// not there is answered 404, a model that is not there is served.
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
