package engine

import (
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Remedies for trtllm-serve.
const (
	cureNewServe  = "TensorRT-LLM 1.3 or later"
	cureIteration = "enable_iter_perf_stats: true"
	curePerf      = "return_perf_metrics: true"
	cureReadStats = "iteration_stats: true in the pool, if nobody else reads it"
)

func (t *trtllmServe) judge(name string, k *Knowledge) target.Check {
	p := k.Page
	switch {
	case p == nil:
		return no("/prometheus/metrics answers 404: it exists only with return_perf_metrics", curePerf)
	case name == CanConfig:
		return k.config(no("this release has no config info on its page", cureNewServe))
	case name == CanOutcomes && t.CountsFailures(p):
		return yes("request_success_total, and request_error_total by HTTP status; clients that left are not counted")
	case name == CanLiveTokens && k.Iterations && p.Has(IterationDuration):
		return yes("an estimate from the iterations of GET /metrics: llm_server_iteration_stats_generation_tokens_estimated_total")
	}
	if c, ok := p.judgeRanks(name); ok {
		return c
	}
	return p.judge(name, serveSources(p), t.gaps(k)...)
}

// serveSources returns the sources: requests when they end, and gauges of iterations.
func serveSources(p *Page) []source {
	stale := "gauges of the last iteration, updated when a request ends"
	if n := serveProcesses(p); n > 1 {
		stale += "; " + strconv.Itoa(n) + " processes left gauges; the one that changed last counts, since the page does not show which of them are alive"
	}
	const (
		stands = "requests that end while others run for more than twice as long as the longest seen"
		reuse  = "reused blocks, or the hit rate since the start"
	)
	return []source{
		from(CanTTFT, "time_to_first_token_seconds, from the engine on", FirstToken),
		from(CanTPOT, "time_per_output_token_seconds, the mean of each request", OutputToken),
		from(CanE2E, "e2e_request_latency_seconds", RequestDuration),
		from(CanQuantiles, "histograms, when a request ends", RequestDuration),
		from(CanTokens, "generation_tokens_total, when a request ends", GenerationTokens),
		from(CanQueue, "num_requests_waiting: "+stale, RequestsWaiting),
		from(CanRunning, "num_scheduled_requests: "+stale, RequestsRunning),
		from(CanStall, stands, RequestsActive, RequestDuration),
		from(CanStall, stands, RequestsRunning, RequestDuration),
		from(CanKVCache, "kv_cache_utilization or blocks: "+stale, KVUtilization),
		from(CanKVCache, "kv_cache_utilization or blocks: "+stale, KVBlocksUsed),
		from(CanKVReuse, reuse, KVBlocksReused),
		from(CanKVReuse, reuse, KVHitRatio),
		from(CanKVReuse, "prompt_cached_tokens_total, the prompt tokens that were found in the cache", CachedTokens, RequestsFinished),
		from(CanGPU, "gpu_memory_usage_bytes only; for the rest "+cureDCGM, EngineMemory),
	}
}

// gaps returns the gaps: most families appear when the first request ends, others with iteration
// statistics.
func (t *trtllmServe) gaps(k *Knowledge) []gap {
	const noRequest = "no request has ended yet; the family appears with the first"
	live := lacks("iterations are on the JSON page /metrics only, and reading it takes them from other readers", cureReadStats, CanLiveTokens)
	if k.Iterations {
		live = lacks("the iterations of GET /metrics are read, and none is on the page: their statistics are off, or no request has ended yet", cureIteration, CanLiveTokens)
	}
	all := []gap{live, lacks(noRequest, "", CanTTFT, CanE2E, CanQuantiles)}
	finished := k.Page.Has(RequestsFinished)
	if finished {
		all = append(all, lacks("no request had more than one token yet", "", CanTPOT), lacks("this release counts no errors", cureNewServe, CanOutcomes))
	} else {
		all = append(all, lacks(noRequest, "", CanTPOT, CanOutcomes))
	}
	switch generation, _ := t.Generation(k.Page, k.Facts); {
	case generation == servePlain:
		return append(all, lacks("this release exposes nothing about its GPUs", cureDCGM, CanGPU),
			lacks("this release has five families: requests, E2E, TTFT, TPOT and queue time", cureNewServe+" with "+cureIteration))
	case generation == servePrefixed:
		return append(all, lacks("no iteration was read yet, or their statistics are off", cureIteration, CanKVCache, CanKVReuse),
			lacks("this release has no iteration gauges and no token counters", "a later TensorRT-LLM 1.3 with "+cureIteration))
	case !finished:
		return append(all, lacks(noRequest, ""))
	case k.Page.Has(IterationDuration):
		return append(all, lacks("its iteration gauges do not include it", ""))
	}
	return append(all, lacks("this release has no token counters", cureNewServe, CanTokens),
		lacks("requests have ended and no iteration is on the page: their statistics are off", cureIteration))
}

// serveProcesses returns how many processes have gauges on a multiprocess page, without the ranks
// of an engine, each of which is a process that shows its batch.
func serveProcesses(p *Page) int {
	pids := make(map[string]bool)
	for _, r := range p.readings {
		if pid := p.labels(r).Get("pid"); pid != "" && p.labels(r).Get(labelRank) == "" {
			pids[pid] = true
		}
	}
	return len(pids)
}
