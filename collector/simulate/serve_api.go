package simulate

import (
	"net/http"
	"time"
)

func (s *serve) handlers(r *Replica) []http.Handler {
	return r.fastAPI(r.routes(s, map[string]answer{
		"GET /health":    s.health,
		"GET /version":   ok(func() any { return object{"version": s.w.spec.TRTLLMVersion} }),
		"GET /v1/models": ok(func() any { return modelList(s.w.start.Add(s.w.now), "tensorrt_llm", s.w.spec.Model) }),
		"GET /metrics":   ok(s.statistics),
	}), s, s.w.spec.NoPerfMetrics)
}

// health is always 200 in the old server; the newer ones ask the executor.
func (s *serve) health(*http.Request) (status int, body any) {
	if s.w.failing && !s.blind {
		return http.StatusServiceUnavailable, text{plainText, []byte("LLM is unavailable. Please check the server logs for more details.")}
	}
	return http.StatusOK, nil
}

// statistics is GET /metrics: JSON iteration records, each handed out once. A
// server without a collector waits for two seconds without an iteration first;
// this one does not.
func (s *serve) statistics() any {
	if !s.collects() {
		s.tee, s.undrained = s.undrained, nil
	}
	records := []object{}
	for i := range s.tee {
		records = append(records, s.record(&s.tee[i]))
	}
	s.tee = nil
	return records
}

// gpuMemUsage is what every iteration reports.
const gpuMemUsage = 123456789012

// record is one iteration as the PyTorch backend's JSON has it.
func (s *serve) record(it *iteration) object {
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	cfg := s.w.spec.Engine
	return object{
		"timestamp":      s.w.start.Add(it.at).Format("01-02-2006 15:04:05.000000"),
		"iter":           it.n,
		"iterLatencyMS":  milliseconds(it.latency),
		"gpuMemUsage":    gpuMemUsage,
		"cpuMemUsage":    0,
		"pinnedMemUsage": 0, "crossKvCacheStats": nil, "specDecodingStats": nil, "staticBatchingStats": nil,
		"newActiveRequestsQueueLatencyMS": milliseconds(it.queueTime),
		"numNewActiveRequests":            it.newActive,
		"numActiveRequests":               it.active,
		"numQueuedRequests":               it.queued,
		"numCompletedRequests":            it.completed,
		"maxNumActiveRequests":            cfg.MaxActive,
		"maxBatchSizeStatic":              0, "maxBatchSizeTunerRecommended": 0, "maxBatchSizeRuntime": 0,
		"maxNumTokensStatic": 0, "maxNumTokensTunerRecommended": 0, "maxNumTokensRuntime": 0,
		"kvCacheStats": object{
			"maxNumBlocks": it.kvUsed + it.kvFree, "freeNumBlocks": it.kvFree, "usedNumBlocks": it.kvUsed,
			"tokensPerBlock": cfg.TokensPerBlock, "allocTotalBlocks": it.kv.allocated, "allocNewBlocks": it.kv.allocatedNew,
			"reusedBlocks": it.kv.reused, "missedBlocks": it.kv.missed,
			"cacheHitRate": float64(it.kv.reused) / float64(max(1, it.kv.reused+it.kv.missed)),
		},
		"inflightBatchingStats": object{
			"numScheduledRequests": it.scheduled, "numContextRequests": it.context, "numGenRequests": it.decoding,
			"numPausedRequests": it.paused, "numCtxTokens": it.contextTokens, "microBatchId": 0, "avgNumDecodedTokensPerIter": 0.0,
		},
	}
}
