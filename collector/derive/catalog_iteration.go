package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// iterationFamilies are what trtllm-serve's JSON statistics add up to; the
// collector says them where iteration_stats is on.
func iterationFamilies() []Family {
	serve := []engine.Kind{engine.TRTLLMServe}
	return []Family{
		{
			Name: "iteration_stats_read_total", Type: counter, Grade: Exact, Engines: serve,
			Help:    "Iterations of the executor whose statistics were read, each once.",
			Formula: "rows of GET /metrics (JSON), distinct by iter",
		},
		{
			Name: "iteration_stats_gaps_total", Type: counter, Grade: Exact, Engines: serve,
			Help:    "Iterations that are missing between those that were read: the server dropped them, an answer was lost, or another reader has them. The other iteration counters are too low by their part.",
			Formula: "holes in iter",
		},
		{
			Name: "iteration_stats_foreign_reader", Type: gauge, Grade: Rough, Engines: serve,
			Help:    "1 if iterations were missing during the last five minutes that the server had no reason to drop: something else reads its GET /metrics, which hands out each iteration once. Servers from 1.3.0rc5 until the fix of their own collector (PR 13405) do that themselves. Else 0.",
			Formula: "holes in iter of answers below 1000 rows, statsDroppedFrames left out",
		},
		{
			Name: "iteration_stats_failures_total", Type: counter, Grade: Exact, Engines: serve,
			Help:    "Questions for iteration statistics that had no usable answer. Servers before 1.3.0 do not answer while requests are in flight.",
			Formula: "GET /metrics (JSON)",
		},
		{
			Name: "iteration_stats_generation_tokens_estimated_total", Type: counter, Grade: Rough, Engines: serve,
			Help:    "Tokens generated, estimated from iterations as they happen and not at the end of requests: decoding requests, accepted drafts, and one first token for each request that became active.",
			Formula: "sum(numGenRequests x max(1, avgNumDecodedTokensPerIter) + numAcceptedTokens + numNewActiveRequests)",
		},
		{
			Name: "iteration_stats_context_tokens_total", Type: counter, Grade: Sampled, Engines: serve,
			Help:    "Prompt tokens computed in prefill, without those found in the cache. 0 on PyTorch backends of 1.0.",
			Formula: "sum(numCtxTokens)",
		},
		{
			Name: "iteration_stats_completed_requests_total", Type: counter, Grade: Sampled, Engines: serve,
			Help:    "Requests that completed in the iterations that were read.",
			Formula: "sum(numCompletedRequests)",
		},
		{
			Name: "iteration_stats_queued_requests", Type: gauge, Grade: Sampled, Engines: serve,
			Help:    "Requests that wait to become active, in the newest iteration; absent while no iteration is new.",
			Formula: "numQueuedRequests of the last row",
		},
		{
			Name: "iteration_stats_active_requests", Type: gauge, Grade: Sampled, Engines: serve,
			Help:    "Active requests in the newest iteration; absent while no iteration is new.",
			Formula: "numActiveRequests of the last row",
		},
	}
}
