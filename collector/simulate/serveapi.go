package simulate

import (
	"compress/gzip"
	"net/http"
	"strings"
	"time"
)

func (s *serve) handlers(r *Replica) handlers {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { s.health(r, w) })
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, object{"version": r.Spec().TRTLLMVersion})
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		var now time.Time
		r.locked(s, func() { now = s.w.start.Add(s.w.now) })
		writeJSON(w, http.StatusOK, modelList(now.Unix(), "tensorrt_llm", s.w.spec.Model))
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var records []object
		r.locked(s, func() { records = s.statistics() })
		writeJSON(w, http.StatusOK, records)
	})
	mux.Handle("POST /v1/completions", openAICompletions(r, s, false))
	mux.Handle("POST /v1/chat/completions", openAICompletions(r, s, true))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, object{"detail": "Not Found"})
	})
	return handlers{api: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Server", "uvicorn")
		// The page is a mounted application: any method, any path that begins so.
		if strings.HasPrefix(req.URL.Path, "/prometheus/metrics") && !s.w.spec.NoPerfMetrics {
			s.prometheus(r, w, req)
			return
		}
		mux.ServeHTTP(w, req)
	})}
}

func modelList(created int64, owner string, ids ...string) object {
	list := []object{}
	for _, id := range ids {
		list = append(list, object{"id": id, "object": "model", "created": created, "owned_by": owner})
	}
	return object{"object": "list", "data": list}
}

// health is unconditionally 200 in the old server; the newer ones ask the executor.
func (s *serve) health(r *Replica, w http.ResponseWriter) {
	failing := false
	r.locked(s, func() { failing = s.w.failing })
	if failing && s.w.spec.Kind != KindServeOld {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		writeBody(w, http.StatusServiceUnavailable, []byte("LLM is unavailable. Please check the server logs for more details."))
		return
	}
	writeBody(w, http.StatusOK, nil)
}

// prometheus answers as prometheus_client's ASGI application: chunked, gzip for
// whoever names it (even with q=0), OpenMetrics for whoever accepts it.
func (s *serve) prometheus(r *Replica, w http.ResponseWriter, req *http.Request) {
	openMetrics := strings.Contains(req.Header.Get("Accept"), "application/openmetrics-text")
	var body []byte
	r.locked(s, func() {
		// A restricted registry knows nothing in multiprocess mode.
		if !s.w.emptyPage && !req.URL.Query().Has("name[]") {
			body = s.render(openMetrics)
		}
	})
	h := w.Header()
	h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if openMetrics {
		h.Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores")
	}
	compress := strings.Contains(req.Header.Get("Accept-Encoding"), "gzip")
	if compress {
		h.Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK)
	// Without a length and with an early flush the body is sent in chunks.
	_ = http.NewResponseController(w).Flush()
	if compress {
		z := gzip.NewWriter(w)
		_, _ = z.Write(body)
		_ = z.Close()
		return
	}
	_, _ = w.Write(body)
}

// statistics is GET /metrics: JSON iteration records, each handed out once. A
// server without a collector waits for two seconds without an iteration first;
// this one does not.
func (s *serve) statistics() []object {
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
	all := it.kvUsed + it.kvFree
	hits := float64(it.kv.reused) / float64(max(1, it.kv.reused+it.kv.missed))
	return object{
		"timestamp":      s.w.start.Add(it.at).Format("01-02-2006 15:04:05.000000"),
		"iter":           it.n,
		"iterLatencyMS":  float64(it.latency.Microseconds()) / 1e3,
		"gpuMemUsage":    gpuMemUsage,
		"cpuMemUsage":    0,
		"pinnedMemUsage": 0, "crossKvCacheStats": nil, "specDecodingStats": nil, "staticBatchingStats": nil,
		"newActiveRequestsQueueLatencyMS": float64(it.queueTime.Microseconds()) / 1e3,
		"numNewActiveRequests":            it.newActive,
		"numActiveRequests":               it.active,
		"numQueuedRequests":               it.queued,
		"numCompletedRequests":            it.completed,
		"maxNumActiveRequests":            s.w.spec.Engine.MaxActive,
		"maxBatchSizeStatic":              0, "maxBatchSizeTunerRecommended": 0, "maxBatchSizeRuntime": 0,
		"maxNumTokensStatic": 0, "maxNumTokensTunerRecommended": 0, "maxNumTokensRuntime": 0,
		"kvCacheStats": object{
			"maxNumBlocks": all, "freeNumBlocks": it.kvFree, "usedNumBlocks": it.kvUsed,
			"tokensPerBlock":   s.w.spec.Engine.TokensPerBlock,
			"allocTotalBlocks": it.kv.allocated, "allocNewBlocks": it.kv.allocatedNew,
			"reusedBlocks": it.kv.reused, "missedBlocks": it.kv.missed, "cacheHitRate": hits,
		},
		"inflightBatchingStats": object{
			"numScheduledRequests": it.scheduled, "numContextRequests": it.context, "numGenRequests": it.decoding,
			"numPausedRequests": it.paused, "numCtxTokens": it.contextTokens, "microBatchId": 0, "avgNumDecodedTokensPerIter": 0.0,
		},
	}
}
