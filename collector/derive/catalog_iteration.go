package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// iterationFamilies are what trtllm-serve's JSON statistics add up to; the
// collector exposes them where iteration_stats is on.
func iterationFamilies() []Family {
	read := beyondPage(OfReplica, allOf(engine.AnswersIterations))
	return []Family{
		counter("iteration_stats_read_total", Exact, read,
			"Iterations of the executor whose statistics were read, each once.",
			"rows of GET /metrics (JSON), distinct by iter"),
		counter("iteration_stats_gaps_total", Exact, read,
			"Iterations that are missing between those that were read: the server dropped them, an answer was lost, or another reader has them. The other iteration counters lack them.",
			"holes in iter"),
		gauge("iteration_stats_foreign_reader", Rough, read,
			"1 if iterations were missing during the last five minutes that the server had no reason to drop: something else reads its GET /metrics, which hands out each iteration once. Servers from 1.3.0rc5 until the fix of their own collector (PR 13405) do that themselves. Else 0.",
			"holes in iter of answers below 1000 rows, statsDroppedFrames left out"),
		counter("iteration_stats_failures_total", Exact, read,
			"Requests for iteration statistics that had no usable answer. Servers before 1.3.0 do not answer while requests are in flight.",
			"GET /metrics (JSON)"),
		counter("iteration_stats_generation_tokens_estimated_total", Rough, read,
			"Tokens generated, estimated from iterations as they happen and not at the end of requests: decoding requests, accepted drafts, and one first token for each request that became active.",
			"sum(numGenRequests x max(1, avgNumDecodedTokensPerIter) + numAcceptedTokens + numNewActiveRequests)"),
		counter("iteration_stats_context_tokens_total", Sampled, read,
			"Prompt tokens computed in prefill, without those found in the cache. 0 on PyTorch backends of 1.0.",
			"sum(numCtxTokens)"),
		counter("iteration_stats_completed_requests_total", Sampled, read,
			"Requests that completed in the iterations that were read.",
			"sum(numCompletedRequests)"),
		gauge("iteration_stats_queued_requests", Sampled, read,
			"Requests that wait to become active, in the newest iteration; absent while no iteration is new.",
			"numQueuedRequests of the last row"),
		gauge("iteration_stats_active_requests", Sampled, read,
			"Active requests in the newest iteration; absent while no iteration is new.",
			"numActiveRequests of the last row"),
	}
}
