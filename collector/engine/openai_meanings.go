package engine

// Meanings implements Engine.
func (tritonOpenAI) Meanings() []Meaning { return triton{}.Meanings() }

// Meanings implements Engine. Token counters move with each iteration here,
// and the time per output token is observed token by token, unlike
// trtllm-serve's of the same name.
func (nim) Meanings() []Meaning {
	return []Meaning{
		{Name: "num_requests_running", Signal: RequestsRunning},
		{Name: "num_requests_waiting", Signal: RequestsWaiting},
		{Name: "num_request_max", Signal: RequestsLimit},
		{Name: "gpu_cache_usage_perc", Signal: KVUtilization},
		{Name: "prompt_tokens_total", Signal: PromptTokens, Counter: true},
		{Name: "generation_tokens_total", Signal: GenerationTokens, Counter: true},
		{Name: "request_finish_total", Signal: RequestsFinished, Counter: true, Dims: []string{"finished_reason=finish_reason"}},
		{Name: "request_failure_total", Signal: RequestsFailed, Counter: true},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration, Form: Histogram},
		{Name: "time_to_first_token_seconds", Signal: FirstToken, Form: Histogram},
		{Name: "time_per_output_token_seconds", Signal: InterToken, Form: Histogram},
		{Name: "request_prompt_tokens", Signal: RequestPromptTokens, Form: Histogram},
		{Name: "request_generation_tokens", Signal: RequestOutputTokens, Form: Histogram},
	}
}

// Meanings implements Engine. The frontend's output_tokens_total moves while
// tokens stream; its queued_requests is the engine's waiting and a part of
// inflight_requests, not an HTTP queue as its HELP says (seen in 1.6.1). Its
// request durations include errors.
func (dynamo) Meanings() []Meaning {
	const f = "dynamo_frontend_"
	return append([]Meaning{
		{Name: f + "requests_total", Label: "status", Value: "success", Signal: RequestsFinished, Counter: true, Const: "finish_reason=success"},
		{Name: f + "requests_total", Label: "status", Value: "error", Signal: RequestsFailed, Counter: true, Dims: []string{"error_type=reason"}},
		{Name: f + "output_tokens_total", Signal: GenerationTokens, Counter: true},
		{Name: f + "input_sequence_tokens_sum", Signal: PromptTokens, Counter: true},
		{Name: f + "input_sequence_tokens", Signal: RequestPromptTokens, Form: Histogram},
		{Name: f + "output_sequence_tokens", Signal: RequestOutputTokens, Form: Histogram},
		{Name: f + "cached_tokens", Signal: RequestCachedTokens, Form: Histogram},
		{Name: f + "request_duration_seconds", Signal: RequestDuration, Form: Histogram},
		{Name: f + "time_to_first_token_seconds", Signal: FirstToken, Form: Histogram},
		{Name: f + "inter_token_latency_seconds", Signal: InterToken, Form: Histogram},
		{Name: f + "queued_requests", Signal: RequestsWaiting},
		{Name: f + "inflight_requests", Signal: RequestsActive},
		{Name: f + "model_total_kv_blocks", Signal: KVBlocksLimit, Combine: Max},
		{Name: f + "model_kv_cache_block_size", Signal: KVBlockTokens, Combine: Max},
	}, withPrefixes("", "trtllm_", "trtllm:")...)
}
