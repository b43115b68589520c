package engine

import (
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Ways out that several capabilities of trtllm-serve have.
const (
	cureNewServe  = "TensorRT-LLM 1.3 or later"
	cureIteration = "enable_iter_perf_stats: true"
	curePerf      = "return_perf_metrics: true"
)

// Capability implements Engine.
func (s *trtllmServe) Capability(name string, k *Known) target.Check {
	switch {
	case name == CanHealth:
		return s.base.Capability(name, k)
	case k.Page == nil:
		return target.No(name, "/prometheus/metrics answers 404: it is there only with return_perf_metrics", curePerf)
	case name == CanConfig:
		return named(name, k.config(no("this release has no config info on its page", cureNewServe)))
	}
	return named(name, s.judge(name, k))
}

// judge judges what the page shows. Its families come with their first sample,
// so that an idle server shows little.
func (s *trtllmServe) judge(name string, k *Known) target.Check {
	p := k.Page
	if c, ok := p.firstOf(name, []source{
		{CanTTFT, FirstToken, "time_to_first_token_seconds, from the engine on"},
		{CanTPOT, OutputToken, "time_per_output_token_seconds, the mean of each request"},
		{CanE2E, RequestDuration, "e2e_request_latency_seconds"},
		{CanQuantiles, RequestDuration, "histograms, when a request ends"},
	}); ok {
		return c
	}
	switch name {
	case CanTPOT:
		if p.Has(RequestsFinished) {
			return no("no request had more than one token yet", "")
		}
		return no(serveNoRequest, "")
	case CanTTFT, CanE2E, CanQuantiles:
		return no(serveNoRequest, "")
	}
	return s.judgeIterations(name, k)
}

// serveNoRequest says why an idle server shows so little.
const serveNoRequest = "no request has ended yet; the family comes with the first"

// judgeIterations judges what comes from iterations, or from request counters of
// the newest generation.
func (s *trtllmServe) judgeIterations(name string, k *Known) target.Check {
	p := k.Page
	stale := "gauges of the last iteration, read when a request ends"
	if n := serveProcesses(p); n > 1 {
		stale += "; " + strconv.Itoa(n) + " processes left gauges, the one that changed last counts, for the page does not say which of them live"
	}
	if c, ok := p.firstOf(name, []source{
		{CanTokens, GenerationTokens, "generation_tokens_total, when a request ends"},
		{CanQueue, RequestsWaiting, "num_requests_waiting: " + stale},
		{CanRunning, RequestsRunning, "num_scheduled_requests: " + stale},
		{CanKVCache, KVUtilization, "kv_cache_utilization or blocks: " + stale},
		{CanKVCache, KVBlocksUsed, "kv_cache_utilization or blocks: " + stale},
		{CanKVReuse, KVBlocksReused, "reused blocks, or the hit rate since the start"},
		{CanKVReuse, KVHitRatio, "reused blocks, or the hit rate since the start"},
		{CanGPU, EngineMemory, "gpu_memory_usage_bytes only; for the rest " + cureDCGM},
	}); ok {
		return c
	}
	switch {
	case name == CanOutcomes:
		return s.judgeOutcomes(p)
	case name == CanStall && (p.Has(RequestsActive) || p.Has(RequestsRunning)) && p.Has(RequestDuration):
		return yes("requests that end, while others run for more than twice as long as the longest that was seen")
	case name == CanLiveTokens:
		return no("iterations are on the JSON page /metrics only, and reading it takes them from other readers", "iteration_stats: true in the pool, if nobody else reads it")
	case name == CanKVReuse && p.Has(CachedTokens) && p.Has(RequestsFinished):
		return yes("prompt_cached_tokens_total, the prompt tokens that were found in the cache")
	}
	return s.without(name, k)
}

// without says why iterations or request counters are not on the page.
func (s *trtllmServe) without(name string, k *Known) target.Check {
	p := k.Page
	generation, _ := s.Generation(p, k.Facts)
	switch cache := name == CanKVCache || name == CanKVReuse; {
	case generation == ServePlain && name == CanGPU:
		return no("this release exposes nothing of its GPUs", cureDCGM)
	case generation == ServePlain:
		return no("this release has five families: requests, E2E, TTFT, TPOT and queue time", cureNewServe+" with "+cureIteration)
	case generation == ServePrefixed && cache:
		return no("no iteration was read yet, or their statistics are off", cureIteration)
	case generation == ServePrefixed:
		return no("this release has no iteration gauges and no token counters", "a later TensorRT-LLM 1.3 with "+cureIteration)
	}
	if !p.Has(RequestsFinished) {
		return no(serveNoRequest, "")
	}
	if name == CanTokens {
		return no("this release has no token counters", cureNewServe)
	}
	return no("requests have ended and no iteration is on the page: their statistics are off", cureIteration)
}

// judgeOutcomes judges whether errors are counted.
func (s *trtllmServe) judgeOutcomes(p *Page) target.Check {
	switch {
	case s.CountsFailures(p):
		return yes("request_success_total, and request_error_total by HTTP status; clients that left are not counted")
	case !p.Has(RequestsFinished):
		return no(serveNoRequest, "")
	}
	return no("this release counts no errors", cureNewServe)
}

// serveProcesses is how many processes have gauges on a multiprocess page.
func serveProcesses(p *Page) int {
	pids := make(map[string]bool)
	for _, r := range p.readings {
		if pid := p.labels(r).Get("pid"); pid != "" {
			pids[pid] = true
		}
	}
	return len(pids)
}

// NotShown implements Engine.
func (*trtllmServe) NotShown() []NotShown {
	return []NotShown{
		{"Clients that left", "Requests of clients that left are not counted at all.", "count at the client or proxy"},
		{"Distribution of the time between tokens", "There is one mean a request.", canary},
		{
			"Present state of a server that is idle or long busy",
			"Its iteration gauges are read when a request ends: they do not change during long requests and keep their last values when idle.",
			"watch llm_server_iteration_batch_size where the server has it",
		},
	}
}
