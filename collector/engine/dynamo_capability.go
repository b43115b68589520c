package engine

import "github.com/trtllm-exporter/trtllm_exporter/collector/target"

// Remedies for Dynamo. Up to 1.5 the flag for events also turned on the statistics of the engine
// (dynamo/trtllm/backend_args.py).
const (
	cureMetrics = "--publish-metrics at a worker with TensorRT-LLM, --publish-kv-events before Dynamo 1.6"
	cureEngines = cureMetrics + ", --enable-metrics at one with SGLang; or scrape the frontend"
	cureFront   = "scrape the frontend too"
	cureWorkers = "scrape the worker's DYN_SYSTEM_PORT too"

	dynamoNoGPU = "Dynamo does not expose it"
)

func (d *dynamo) judge(name string, k *Knowledge) target.Check {
	p := k.Page
	switch {
	case name == CanConfig && !p.Has(CacheConfig):
		return d.base.judge(name, k)
	case p == nil:
		return no("/metrics answers 404", "DYN_SYSTEM_PORT for a worker's page")
	case dynamoFront(p) != "":
		return judgeFrontend(name, p)
	}
	return d.judgeWorker(name, k)
}

// judgeWorker judges a worker by the engine inside, but for what Dynamo hides.
func (*dynamo) judgeWorker(name string, k *Knowledge) target.Check {
	p, in := k.Page, k.Page.Inside()
	switch {
	case name == CanGPU && !p.Has(GPUUtilization) && !p.Has(EngineMemory):
		return no(dynamoNoGPU, cureDCGM)
	case name == CanOutcomes && (in == nil || in.Kind() != Triton):
		return no("a worker counts requests that its engine finished; its own errors_total counts clients that left as errors", cureFront)
	case name == CanKVCache && p.readsFrom(dynamoComponent, KVUtilization):
		return yes("dynamo_component_gpu_cache_usage_percent, 0 to 1 despite its name")
	case name == CanKVReuse && p.readsFrom(dynamoComponent, KVHitRatio):
		return yes("dynamo_component_kv_cache_hit_rate, of each rank")
	case in == nil:
		return p.judge(name, dynamoMockSources(p), lacks("the page has no families of an engine: they appear with its first request, if they are on", cureEngines))
	}
	c := in.judge(name, k)
	switch {
	case c.OK:
	case name == CanLiveTokens && in.Kind() == TRTLLMServe:
		return no("a worker with TensorRT-LLM counts tokens when a request ends", cureFront)
	case in.Kind() == TRTLLMServe && c.Cure != "":
		c.Cure = cureMetrics + ", with a TensorRT-LLM that has it"
	}
	return c
}

// dynamoMockSources returns the sources of a worker with the mock engine.
func dynamoMockSources(p *Page) []source {
	sources := []source{
		from(CanQueue, "what waits in the engine, num_requests_waiting", RequestsWaiting),
		from(CanRunning, "what runs in the engine, num_requests_running", RequestsRunning),
		from(CanTTFT, "time_to_first_token_seconds of the engine", FirstToken),
		from(CanTPOT, "time_per_output_token_seconds of the engine, the mean of each request", OutputToken),
		from(CanTPOT, "inter_token_latency_seconds of the engine, token by token", InterToken),
		from(CanE2E, "e2e_request_latency_seconds of the engine", RequestDuration),
		from(CanQuantiles, "histograms", RequestDuration),
		from(CanKVCache, "kv_cache_usage_perc of the engine, 0 to 1 despite its name", KVUtilization),
	}
	if p.showsInFlight() {
		sources = append(sources, from(CanStall, "requests that end while others run for more than twice as long as the longest seen", RequestDuration))
	}
	return sources
}

// judgeFrontend judges a frontend.
func judgeFrontend(name string, p *Page) target.Check {
	const live = "output_tokens_total, while tokens stream"
	sources := []source{
		from(CanTokens, live, GenerationTokens),
		from(CanLiveTokens, live, GenerationTokens),
		from(CanQueue, "requests in flight beyond the capacity of its workers, and those that its router holds back", WorkerRequestsLimit, WorkerKVBlocksUsed),
		from(CanTTFT, "time_to_first_token_seconds, of requests that are not streamed too", FirstToken),
		from(CanTPOT, "inter_token_latency_seconds, token by token", InterToken),
		from(CanE2E, "request_duration_seconds, errors included", RequestDuration),
		from(CanQuantiles, "histograms", RequestDuration),
	}
	if p.showsInFlight() {
		sources = append(sources, from(CanStall, "output_tokens_total, while requests are in flight", GenerationTokens))
	}
	switch {
	case name != CanOutcomes:
	case dynamoUntyped(p):
		return no("requests_total of this release has no type of error: mistakes of clients and failures count together", "a later Dynamo")
	case p.HasName(dynamoFront(p) + "failures_total"):
		return yes("requests_total by type of error, and failures_total for what could not be read or routed; unknown models and paths are not counted")
	default:
		return yes("requests_total by type of error; what the frontend could not read or route is not counted unless failures_total is there")
	}
	if name == CanQueue && p.Has(RequestsUnanswered) {
		return p.judge(name, sources, lacks("queued_requests includes prompts in prefill, and only the KV router shows how many requests the workers can take", cureWorkers))
	}
	return p.judge(name, sources,
		lacks(dynamoNoGPU, cureDCGM, CanGPU),
		lacks("only the worker's page has it", cureWorkers, CanKVCache, CanKVReuse, CanRunning),
		lacks("not on the page yet; families appear with the first worker and request", ""),
	)
}
