package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// tokenFamilies are the tokens that were counted.
func tokenFamilies() []Family {
	return []Family{
		{
			Name: "prompt_tokens_total", Type: counter, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Prompt tokens (source nv_llm_input_token_len_sum, prompt_tokens_total, dynamo_frontend_input_sequence_tokens_sum). Moves when a request ends, at NIM and vLLM with each iteration.",
			Formula: "as counted by the server",
			rule:    copyOf{engine.PromptTokens},
		},
		{
			Name: "generation_tokens_total", Type: counter, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Generated tokens (source nv_llm_output_token_len_sum, generation_tokens_total, dynamo_frontend_output_tokens_total). Moves when a request ends, at NIM, Dynamo and vLLM while tokens come. Triton counts the tokens of clients that left too, trtllm-serve does not.",
			Formula: "as counted by the server",
			rule:    copyOf{engine.GenerationTokens},
		},
		{
			Name: "prompt_tokens_cached_total", Type: counter, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Prompt tokens that were found in the KV cache (source prompt_cached_tokens_total).",
			Formula: "as counted by the server",
			rule:    copyOf{engine.CachedTokens},
		},
		{
			Name: "prompt_tokens_cached_by_tier_total", Type: counter, Unit: "", Grade: Exact, Labels: byModel("level", "tier"), Engines: withServe(),
			Help:    "Prompt tokens that were found in each level of the KV cache (source prompt_cache_hit_tokens_total{cache_level,cache_tier}).",
			Formula: "as counted by the server",
			rule:    copyOf{engine.CachedTokensByTier},
		},
		{
			Name: "request_prompt_tokens", Type: histo, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Prompt tokens of each request (source nv_llm_input_token_len, request_prompt_tokens, dynamo_frontend_input_sequence_tokens).",
			Formula: "as counted by the server",
			rule:    distribution{engine.RequestPromptTokens},
		},
		{
			Name: "request_generation_tokens", Type: histo, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Generated tokens of each request (source nv_llm_output_token_len, request_generation_tokens, dynamo_frontend_output_sequence_tokens). TensorRT-LLM in Triton has no bound above 1000.",
			Formula: "as counted by the server",
			rule:    distribution{engine.RequestOutputTokens},
		},
		{
			Name: "request_prompt_cached_tokens", Type: histo, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Prompt tokens of each request that were found in the KV cache (source prompt_cached_tokens_per_request, dynamo_frontend_cached_tokens).",
			Formula: "as counted by the server",
			rule:    distribution{engine.RequestCachedTokens},
		},
	}
}

// tokenRateFamilies are what the tokens come to by time and energy.
func tokenRateFamilies() []Family {
	return []Family{
		{
			Name: "prompt_tokens_per_second", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Prompt tokens a second over the window, from the counter: exact over windows of three request durations and more, bursty over shorter ones.",
			Formula: "rate(prompt_tokens_total)",
			rule:    rateOf{engine.PromptTokens},
		},
		{
			Name: "generation_tokens_per_second", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Generated tokens a second over the window, from the counter: exact over windows of three request durations and more, bursty over shorter ones.",
			Formula: "rate(generation_tokens_total)",
			rule:    rateOf{engine.GenerationTokens},
		},
		{
			Name: "prompt_tokens_per_second_estimate", Type: gauge, Grade: Rough, Labels: byModel(), Engines: withTriton(),
			Help:    "Prefill tokens computed a second over the window, estimated from the iterations that were seen. Very rough: prefill comes in bursts between samples.",
			Formula: "sum over the window of total_context_tokens * iterations since the page before, by time",
			rule:    estimate{[]engine.Signal{engine.ContextTokens}},
		},
		{
			Name: "generation_tokens_per_second_estimate", Type: gauge, Grade: Rough, Labels: byModel(), Engines: withTriton(),
			Help:    "Tokens generated a second over the window by requests still in flight too, estimated from the iterations that were seen: one token a decoding request and iteration. Wrong with speculative decoding, beams and pipeline parallelism.",
			Formula: "sum over the window of generation_requests * iterations since the page before, by time",
			rule:    estimate{[]engine.Signal{engine.RequestsDecode, engine.StaticGeneration}},
		},
		{
			Name: "prompt_cache_hit_ratio", Type: gauge, Unit: "ratio", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Share of the prompt tokens of the window that were found in the KV cache, 0 to 1.",
			Formula: "rate(prompt_tokens_cached_total) / rate(prompt_tokens_total)",
			rule:    ratioOfRates{of: engine.CachedTokens, divided: []engine.Signal{engine.PromptTokens}},
		},
		{
			Name: "generation_tokens_per_gpu_second", Type: gauge, Grade: Sampled, Engines: withTriton(),
			Help:    "Generated tokens of all models of the replica a second and GPU over the window. Of the GPUs that Triton shows: those of other ranks and nodes are missing.",
			Formula: "sum(rate(generation_tokens_total)) / number of GPUs",
			rule:    tokensPerGPU{},
		},
		{
			Name: "energy_joules_per_token", Type: gauge, Grade: Sampled, Engines: withTriton(),
			Help:    "Energy of the replica's GPUs for each generated token over the window. Of the GPUs that Triton shows: those of other ranks and nodes are missing.",
			Formula: "sum(rate(nv_energy_consumption)) / sum(rate(generation_tokens_total))",
			rule:    energyPerToken{},
		},
	}
}

// speculativeFamilies are of speculative decoding.
func speculativeFamilies() []Family {
	return []Family{
		{
			Name: "spec_decode_draft_tokens_total", Type: counter, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Tokens drafted, by iteration (source spec_decode_num_draft_tokens_total). Differs from the count by position, which is booked when requests end.",
			Formula: "as counted by the server", rule: copyOf{engine.SpecDraft},
		},
		{
			Name: "spec_decode_accepted_tokens_total", Type: counter, Unit: "tokens", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Drafted tokens that were accepted, by iteration (source spec_decode_num_accepted_tokens_total).",
			Formula: "as counted by the server", rule: copyOf{engine.SpecAccepted},
		},
		{
			Name: "spec_decode_draft_tokens_by_position_total", Type: counter, Grade: Exact, Labels: byModel("position"), Engines: withServe(),
			Help:    "Tokens drafted by their position, booked when requests end (source spec_decode_drafted_tokens_total).",
			Formula: "as counted by the server", rule: copyOf{engine.SpecDraftPosition},
		},
		{
			Name: "spec_decode_accepted_tokens_by_position_total", Type: counter, Grade: Exact, Labels: byModel("position"), Engines: withServe(),
			Help:    "Drafted tokens that were accepted by their position, booked when requests end (source spec_decode_accepted_tokens_total).",
			Formula: "as counted by the server", rule: copyOf{engine.SpecAcceptedPosition},
		},
		{
			Name: "spec_decode_acceptance_ratio", Type: gauge, Unit: "ratio", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Share of the tokens drafted over the window that were accepted, 0 to 1.",
			Formula: "rate(spec_decode_accepted_tokens_total) / rate(spec_decode_draft_tokens_total)",
			rule:    ratioOfRates{of: engine.SpecAccepted, divided: []engine.Signal{engine.SpecDraft}},
		},
		{
			Name: "spec_decode_acceptance_length", Type: gauge, Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Tokens a request gained in the last iteration with drafts, accepted ones and its own (source spec_decode_acceptance_length).",
			Formula: "as told by the server", rule: copyOf{engine.SpecLength},
		},
		{
			Name: "spec_decode_draft_overhead_ratio", Type: gauge, Unit: "ratio", Grade: Sampled, Labels: byModel(), Engines: withServe(),
			Help:    "Share of the last iteration's time that drafting took (source spec_decode_draft_overhead).",
			Formula: "as told by the server", rule: copyOf{engine.SpecOverhead},
		},
	}
}
