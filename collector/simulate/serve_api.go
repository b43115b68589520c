package simulate

import "net/http"

func (s *serve) handlers(r *Replica) []http.Handler {
	return r.fastAPI(r.routes(s, map[string]answer{
		"GET /health":    s.health,
		"GET /version":   ok(func() any { return object{"version": s.w.spec.TRTLLMVersion} }),
		"GET /v1/models": ok(func() any { return modelList(s.w.start.Add(s.w.now), "tensorrt_llm", s.w.spec.Model) }),
		"GET /metrics":   ok(s.statistics),
	}), s, s.w.spec.NoPerfMetrics)
}

// health is always 200 in the old server; newer ones query the executor.
func (s *serve) health(*http.Request) (status int, body any) {
	if s.w.failing && !s.blind {
		return http.StatusServiceUnavailable, text{plainText, []byte("LLM is unavailable. Please check the server logs for more details.")}
	}
	return http.StatusOK, nil
}

// statistics answers GET /metrics with JSON iteration records, each once. A real server
// without a collector first waits for two seconds without an iteration.
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

// record returns the fields of the PyTorch backend's JSON that the exporter reads.
func (*serve) record(it *iteration) object {
	return object{
		"iter": it.n, "specDecodingStats": nil,
		"numNewActiveRequests": it.newActive, "numActiveRequests": it.active, "numQueuedRequests": it.queued, "numCompletedRequests": it.completed,
		"inflightBatchingStats": object{
			"numGenRequests": it.decoding, "numCtxTokens": it.contextTokens, "avgNumDecodedTokensPerIter": 0.0,
		},
	}
}
