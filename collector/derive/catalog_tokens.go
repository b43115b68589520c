package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

func tokenFamilies() []Family {
	return []Family{
		counted("prompt_tokens_total", engine.PromptTokens, "Prompt tokens (source nv_llm_input_token_len_sum, prompt_tokens_total, dynamo_frontend_input_sequence_tokens_sum). Grows when a request ends, with NIM and vLLM at each iteration."),
		counted("generation_tokens_total", engine.GenerationTokens, "Generated tokens (source nv_llm_output_token_len_sum, generation_tokens_total, dynamo_frontend_output_tokens_total). Grows when a request ends, with NIM, Dynamo and vLLM while tokens are generated. Triton also counts the tokens of clients that disconnected, trtllm-serve does not."),
		sampled("prompt_tokens_live_total", engine.PromptTokensLive, "Prompt tokens prefilled so far, including those of running requests (source sglang:realtime_tokens_total{mode=prefill_*})."),
		sampled("generation_tokens_live_total", engine.GenerationTokensLive, "Tokens decoded so far, including those of running requests, without the first token of each request (source sglang:realtime_tokens_total{mode=decode})."),
		counted("prompt_tokens_cached_total", engine.CachedTokens, "Prompt tokens that were found in the KV cache (source prompt_cached_tokens_total)."),
		counted("prompt_tokens_cached_by_tier_total", engine.CachedTokensByTier, "Prompt tokens that were found in each level of the KV cache (source prompt_cache_hit_tokens_total{cache_level,cache_tier})."),
		histogram("request_prompt_tokens", engine.RequestPromptTokens, "Prompt tokens of each request (source nv_llm_input_token_len, request_prompt_tokens, dynamo_frontend_input_sequence_tokens)."),
		histogram("request_generation_tokens", engine.RequestOutputTokens, "Generated tokens of each request (source nv_llm_output_token_len, request_generation_tokens, dynamo_frontend_output_sequence_tokens). TensorRT-LLM in Triton has no bound above 1000."),
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
