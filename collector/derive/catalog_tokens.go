package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// tokenFamilies are the tokens that were counted.
func tokenFamilies() []Family {
	return []Family{
		counter("prompt_tokens_total", Exact, copyOf(engine.PromptTokens),
			"Prompt tokens (source nv_llm_input_token_len_sum, prompt_tokens_total, dynamo_frontend_input_sequence_tokens_sum). Grows when a request ends, at NIM and vLLM with each iteration.",
			counted),
		counter("generation_tokens_total", Exact, copyOf(engine.GenerationTokens),
			"Generated tokens (source nv_llm_output_token_len_sum, generation_tokens_total, dynamo_frontend_output_tokens_total). Grows when a request ends, at NIM, Dynamo and vLLM while tokens come. Triton counts the tokens of clients that left too, trtllm-serve does not.",
			counted),
		counter("prompt_tokens_live_total", Sampled, copyOf(engine.PromptTokensLive),
			"Prompt tokens that were prefilled so far, of requests that still run too (source sglang:realtime_tokens_total{mode=prefill_*}).",
			counted),
		counter("generation_tokens_live_total", Sampled, copyOf(engine.GenerationTokensLive),
			"Tokens that were decoded so far, of requests that still run too; the first token of each request is not among them (source sglang:realtime_tokens_total{mode=decode}).",
			counted),
		counter("prompt_tokens_cached_total", Exact, copyOf(engine.CachedTokens),
			"Prompt tokens that were found in the KV cache (source prompt_cached_tokens_total).",
			counted),
		counter("prompt_tokens_cached_by_tier_total", Exact, copyOf(engine.CachedTokensByTier),
			"Prompt tokens that were found in each level of the KV cache (source prompt_cache_hit_tokens_total{cache_level,cache_tier}).",
			counted),
		histogram("request_prompt_tokens", Exact, distribution(engine.RequestPromptTokens),
			"Prompt tokens of each request (source nv_llm_input_token_len, request_prompt_tokens, dynamo_frontend_input_sequence_tokens).",
			counted),
		histogram("request_generation_tokens", Exact, distribution(engine.RequestOutputTokens),
			"Generated tokens of each request (source nv_llm_output_token_len, request_generation_tokens, dynamo_frontend_output_sequence_tokens). TensorRT-LLM in Triton has no bound above 1000.",
			counted),
		histogram("request_prompt_cached_tokens", Exact, distribution(engine.RequestCachedTokens),
			"Prompt tokens of each request that were found in the KV cache (source prompt_cached_tokens_per_request, dynamo_frontend_cached_tokens).",
			counted),
	}
}

// tokenRateFamilies are tokens by time, GPU and energy.
func tokenRateFamilies() []Family {
	return []Family{
		gauge("prompt_tokens_per_second", Exact, rateOf(engine.PromptTokens),
			"Prompt tokens a second over the window, from the counter: exact over windows of three request durations and more, bursty over shorter ones.",
			"rate(prompt_tokens_total)"),
		gauge("generation_tokens_per_second", Exact, rateOf(engine.GenerationTokens),
			"Generated tokens a second over the window, from the counter: exact over windows of three request durations and more, bursty over shorter ones.",
			"rate(generation_tokens_total)"),
		gauge("prompt_tokens_per_second_estimate", Rough, estimate(engine.ContextTokens),
			"Prefill tokens computed a second over the window, estimated from the iterations that were seen. Very rough: prefill comes in bursts between samples.",
			"sum over the window of total_context_tokens * iterations since the page before, by time"),
		gauge("generation_tokens_per_second_estimate", Rough, estimate(engine.RequestsDecode, engine.StaticGeneration),
			"Tokens generated a second over the window by requests still in flight too, estimated from the iterations that were seen: one token a decoding request and iteration. Wrong with speculative decoding, beams and pipeline parallelism.",
			"sum over the window of generation_requests * iterations since the page before, by time"),
		gauge("generation_tokens_live_per_second", Sampled, rateOf(engine.GenerationTokensLive),
			"Tokens decoded a second over the window by requests still in flight too, without the first token of each request, of servers whose other counter moves when requests end.",
			"rate(generation_tokens_live_total)"),
		gauge("prompt_cache_hit_ratio", Exact, share(engine.CachedTokens, engine.PromptTokens),
			"Share of the prompt tokens of the window that were found in the KV cache, 0 to 1.",
			"rate(prompt_tokens_cached_total) / rate(prompt_tokens_total), at most 1"),
		gauge("generation_tokens_per_gpu_second", Sampled, tokensPerGPU(),
			"Generated tokens of all models of the replica a second and GPU over the window. Of the GPUs that Triton exposes: those of other ranks and nodes are missing.",
			"sum(rate(generation_tokens_total)) / number of GPUs"),
		gauge("energy_joules_per_token", Sampled, energyPerToken(),
			"Energy of the replica's GPUs for each generated token over the window. Of the GPUs that Triton exposes: those of other ranks and nodes are missing.",
			"sum(rate(nv_energy_consumption)) / sum(rate(generation_tokens_total))"),
	}
}

// speculativeFamilies are of speculative decoding.
func speculativeFamilies() []Family {
	return []Family{
		counter("spec_decode_draft_tokens_total", Exact, copyOf(engine.SpecDraft),
			"Tokens drafted, by iteration (source spec_decode_num_draft_tokens_total). Differs from the count by position, which grows when requests end.",
			counted),
		counter("spec_decode_accepted_tokens_total", Exact, copyOf(engine.SpecAccepted),
			"Drafted tokens that were accepted, by iteration (source spec_decode_num_accepted_tokens_total).",
			counted),
		counter("spec_decode_draft_tokens_by_position_total", Exact, copyOf(engine.SpecDraftPosition),
			"Tokens drafted by their position, counted when requests end (source spec_decode_drafted_tokens_total).",
			counted),
		counter("spec_decode_accepted_tokens_by_position_total", Exact, copyOf(engine.SpecAcceptedPosition),
			"Drafted tokens that were accepted by their position, counted when requests end (source spec_decode_accepted_tokens_total).",
			counted),
		gauge("spec_decode_acceptance_ratio", Exact, share(engine.SpecAccepted, engine.SpecDraft),
			"Share of the tokens drafted over the window that were accepted, 0 to 1.",
			"rate(spec_decode_accepted_tokens_total) / rate(spec_decode_draft_tokens_total), at most 1"),
		gauge("spec_decode_acceptance_length", Sampled, copyOf(engine.SpecLength),
			"Tokens a request gained in the last iteration with drafts, accepted ones and its own (source spec_decode_acceptance_length).",
			exposed),
		gauge("spec_decode_draft_overhead_ratio", Sampled, copyOf(engine.SpecOverhead),
			"Share of the last iteration's time that drafting took (source spec_decode_draft_overhead).",
			exposed),
	}
}
