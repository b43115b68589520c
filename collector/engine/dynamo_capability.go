package engine

import "github.com/trtllm-exporter/trtllm_exporter/collector/target"

// Ways out that several capabilities of Dynamo have. Up to 1.5 the flag for events
// turned the engine's statistics on as well, since 1.6 it does not
// (dynamo/trtllm/backend_args.py).
const (
	cureMetrics = "--publish-metrics at a worker with TensorRT-LLM, --publish-kv-events before Dynamo 1.6"
	cureEngines = cureMetrics + ", --enable-metrics at one with SGLang; or scrape the frontend"
	cureFront   = "scrape the frontend too"
	cureWorkers = "scrape the worker's DYN_SYSTEM_PORT too"
	// dynamoNoGPU is of frontends and workers alike.
	dynamoNoGPU = "Dynamo does not expose it"
)

// judge implements Engine: a frontend and a worker each know their part.
func (d *dynamo) judge(name string, k *Known) target.Check {
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

// judgeWorker judges what a worker shows: by the engine inside, but for what Dynamo is
// in the way of.
func (*dynamo) judgeWorker(name string, k *Known) target.Check {
	p, in := k.Page, k.Page.Inside()
	switch {
	case name == CanGPU && !p.Has(GPUUtilization) && !p.Has(EngineMemory):
		return no(dynamoNoGPU, cureDCGM)
	case name == CanOutcomes && (in == nil || in.Kind() != Triton):
		return no("a worker counts requests that its engine finished; its own errors_total counts clients that left as errors", cureFront)
	case name == CanKVCache && p.readsFrom(dynamoComponent, KVUtilization):
		return yes("dynamo_component_gpu_cache_usage_percent, 0 to 1 whatever its name says")
	case name == CanKVReuse && p.readsFrom(dynamoComponent, KVHitRatio):
		return yes("dynamo_component_kv_cache_hit_rate, of each rank")
	case in == nil:
		return p.judge(name, dynamoOwn(p), lacks("the page has no families of an engine: they come with its first request, if they are on", cureEngines))
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

// dynamoOwn are what a worker shows with its mock engine.
func dynamoOwn(p *Page) []source {
	sources := []source{
		from(CanQueue, "what waits in the engine, num_requests_waiting", RequestsWaiting),
		from(CanRunning, "what runs in the engine, num_requests_running", RequestsRunning),
		from(CanTTFT, "time_to_first_token_seconds of the engine", FirstToken),
		from(CanTPOT, "time_per_output_token_seconds of the engine, the mean of each request", OutputToken),
		from(CanTPOT, "inter_token_latency_seconds of the engine, token by token", InterToken),
		from(CanE2E, "e2e_request_latency_seconds of the engine", RequestDuration),
		from(CanQuantiles, "histograms", RequestDuration),
		from(CanKVCache, "kv_cache_usage_perc of the engine, 0 to 1 whatever its name says", KVUtilization),
	}
	if p.flying() {
		sources = append(sources, from(CanStall, "requests that end, while others run for more than twice as long as the longest that was seen", RequestDuration))
	}
	return sources
}

// judgeFrontend judges what a frontend shows.
func judgeFrontend(name string, p *Page) target.Check {
	const live = "output_tokens_total, while tokens stream"
	sources := []source{
		from(CanTokens, live, GenerationTokens),
		from(CanLiveTokens, live, GenerationTokens),
		from(CanQueue, "requests in flight for which its workers have no place, and those that its router holds back", WorkerRequestsLimit, WorkerKVBlocksUsed),
		from(CanTTFT, "time_to_first_token_seconds, of requests that are not streamed too", FirstToken),
		from(CanTPOT, "inter_token_latency_seconds, token by token", InterToken),
		from(CanE2E, "request_duration_seconds, errors included", RequestDuration),
		from(CanQuantiles, "histograms", RequestDuration),
	}
	if p.flying() {
		sources = append(sources, from(CanStall, "output_tokens_total, while requests are in flight", GenerationTokens))
	}
	switch {
	case name != CanOutcomes:
	case dynamoUntyped(p):
		return no("requests_total of this release does not say the type of an error: mistakes of clients and failures are one", "a later Dynamo")
	case p.Shows(dynamoFront(p) + "failures_total"):
		return yes("requests_total by type of error, and failures_total for what could not be read or routed; models and paths that are not there are not counted")
	default:
		return yes("requests_total by type of error; what the frontend could not read or route is not counted unless failures_total is there")
	}
	if name == CanQueue && p.Has(RequestsUnanswered) {
		return p.judge(name, sources, lacks("queued_requests holds prompts that are being worked on, and only the KV router shows for how many requests there are workers", cureWorkers))
	}
	return p.judge(name, sources,
		lacks(dynamoNoGPU, cureDCGM, CanGPU),
		lacks("only the worker's page has it", cureWorkers, CanKVCache, CanKVReuse, CanRunning),
		lacks("not on the page yet; families come with the first worker and request", ""),
	)
}
