package engine

import "strconv"

// judgeServe judges what trtllm-serve tells. Its families come with their
// first sample, so that an idle server shows little.
func judgeServe(k *Known, name string) verdict {
	p := k.Page
	if p == nil {
		return no("/prometheus/metrics answers 404: it is there only with return_perf_metrics", curePerf)
	}
	generation, _ := serveGeneration(p, k.Facts)
	for _, family := range []struct{ name, bucket, says string }{
		{CanTTFT, "time_to_first_token_seconds_bucket", "time_to_first_token_seconds, from the engine on"},
		{CanTPOT, "time_per_output_token_seconds_bucket", "time_per_output_token_seconds, the mean of each request"},
		{CanE2E, "e2e_request_latency_seconds_bucket", "e2e_request_latency_seconds"},
		{CanQuantiles, "e2e_request_latency_seconds_bucket", "histograms, when a request ends"},
	} {
		if family.name != name {
			continue
		}
		if p.Shows(family.bucket) {
			return yes(family.says)
		}
		if name == CanTPOT && p.Shows("request_success_total") {
			return no("no request had more than one token yet", "")
		}
		return no("no request has ended yet; the family comes with the first", "")
	}
	return k.serveIterations(generation, name)
}

// serveIterations judges what comes from iterations, or from request counters
// of the newest generation.
func (k *Known) serveIterations(generation Generation, name string) verdict {
	p := k.Page
	stale := "gauges of the last iteration, read when a request ends"
	if p.pids > 1 {
		stale += "; " + strconv.Itoa(p.pids) + " processes left gauges, the one that changed last counts, for the page does not say which of them live"
	}
	switch {
	case name == CanTokens && p.Has(GenerationTokens):
		return yes("generation_tokens_total, when a request ends")
	case name == CanLiveTokens:
		return no("iterations are on the JSON page /metrics only, and reading it takes them from other readers", "iteration_stats: true in the pool, if nobody else reads it")
	case name == CanQueue && p.Has(RequestsWaiting):
		return yes("num_requests_waiting: " + stale)
	case name == CanRunning && p.Has(RequestsRunning):
		return yes("num_scheduled_requests: " + stale)
	case name == CanKVCache && (p.Has(KVUtilization) || p.Has(KVBlocksUsed)):
		return yes("kv_cache_utilization or blocks: " + stale)
	case name == CanKVReuse && (p.Has(KVBlocksReused) || p.Shows("kv_cache_hit_rate")):
		return yes("reused blocks, or the hit rate since the start")
	case name == CanGPU && p.Has(EngineMemory):
		return yes("gpu_memory_usage_bytes only; for the rest " + cureDCGM)
	}
	switch cache := name == CanKVCache || name == CanKVReuse; {
	case generation == ServePlain && name == CanGPU:
		return no("this release tells nothing of its GPUs", cureDCGM)
	case generation == ServePlain:
		return no("this release has five families: requests, E2E, TTFT, TPOT and queue time", cureNewServe+" with "+cureIteration)
	case generation == ServePrefixed && cache:
		return no("no iteration was read yet, or their statistics are off", cureIteration)
	case generation == ServePrefixed:
		return no("this release has no iteration gauges and no token counters", "a later TensorRT-LLM 1.3 with "+cureIteration)
	}
	if !p.Shows("request_success_total") {
		return no("no request has ended yet; the family comes with the first", "")
	}
	if name == CanTokens {
		return no("this release has no token counters", cureNewServe)
	}
	return no("requests have ended and no iteration is on the page: their statistics are off", cureIteration)
}

// source is where a capability comes from, if the page has it.
type source struct {
	name string
	has  bool
	says string
}

// told finds the first source of a capability that the page has.
func told(name string, sources []source) (verdict, bool) {
	for _, s := range sources {
		if s.name == name && s.has {
			return yes(s.says), true
		}
	}
	return verdict{}, false
}

// judgeNIM judges what NIM 1.x tells.
func judgeNIM(k *Known, name string) verdict {
	p := k.Page
	if p == nil {
		return no("/v1/metrics answers 404; NIM 2 and later are not built on TensorRT-LLM", "")
	}
	if v, ok := told(name, []source{
		{CanTokens, p.Has(GenerationTokens), "generation_tokens_total, with each iteration"},
		{CanLiveTokens, p.Has(GenerationTokens), "generation_tokens_total, with each iteration"},
		{CanQueue, p.Has(RequestsWaiting), "num_requests_waiting"},
		{CanRunning, p.Has(RequestsRunning), "num_requests_running"},
		{CanTTFT, p.Shows("time_to_first_token_seconds_bucket"), "time_to_first_token_seconds"},
		{CanTPOT, p.Shows("time_per_output_token_seconds_bucket"), "time_per_output_token_seconds, token by token"},
		{CanE2E, p.Shows("e2e_request_latency_seconds_bucket"), "e2e_request_latency_seconds"},
		{CanQuantiles, p.Shows("e2e_request_latency_seconds_bucket"), "histograms"},
		{CanKVCache, p.Has(KVUtilization), "gpu_cache_usage_perc, 0 to 1 whatever its name says"},
	}); ok {
		return v
	}
	switch name {
	case CanKVReuse:
		return no("NIM 1.x does not tell", "")
	case CanGPU:
		return no("NIM 1.x does not tell", cureDCGM)
	}
	return no("not on the page yet; families come with the first request", "")
}

// judgeDynamo judges what a frontend or a worker tells; each knows its part.
func judgeDynamo(k *Known, name string) verdict {
	p := k.Page
	if p == nil {
		return no("/metrics answers 404", "DYN_SYSTEM_PORT for a worker's page")
	}
	front := p.Begins("dynamo_frontend_")
	const publish = "--publish-kv-events at the worker, or scrape the frontend"
	durations := p.Begins("dynamo_frontend_request_duration") || p.Shows("e2e_request_latency_seconds_bucket")
	if v, ok := told(name, []source{
		{CanTokens, front && p.Has(GenerationTokens), "dynamo_frontend_output_tokens_total, while tokens stream"},
		{CanTokens, p.Has(GenerationTokens), "the engine's generation_tokens_total, when a request ends"},
		{CanLiveTokens, front && p.Has(GenerationTokens), "dynamo_frontend_output_tokens_total, while tokens stream"},
		{CanQueue, p.Has(RequestsWaiting), "queued_requests, which is the engine's waiting whatever its HELP says"},
		{CanRunning, p.Has(RequestsRunning), "the engine's scheduled requests"},
		{CanTTFT, p.Begins("dynamo_frontend_time_to_first_token") || p.Shows("time_to_first_token_seconds_bucket"), "time_to_first_token_seconds"},
		{CanTPOT, p.Begins("dynamo_frontend_inter_token_latency"), "inter_token_latency_seconds, token by token"},
		{CanTPOT, p.Shows("time_per_output_token_seconds_bucket"), "the engine's time_per_output_token_seconds, the mean of each request"},
		{CanE2E, durations, "request durations, errors included at the frontend"},
		{CanQuantiles, durations, "histograms"},
		{CanKVCache, p.Has(KVUtilization) || p.Has(KVBlocksUsed), "the engine's KV cache"},
		{CanKVReuse, p.Has(KVBlocksReused) || p.Shows("kv_cache_hit_rate"), "the engine's reused blocks"},
	}); ok {
		return v
	}
	switch {
	case name == CanGPU:
		return no("Dynamo does not tell", cureDCGM)
	case name == CanLiveTokens && !front:
		return no("a worker counts tokens when a request ends", "scrape the frontend too")
	case front && (name == CanKVCache || name == CanKVReuse || name == CanRunning):
		return no("only the worker's page tells", "scrape the worker's DYN_SYSTEM_PORT too")
	case front:
		return no("not on the page yet; families come with the first worker and request", "")
	}
	return no("the engine's families are not on the worker's page", publish)
}
