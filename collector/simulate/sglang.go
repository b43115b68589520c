package simulate

import "net/http"

// KindSGLang is SGLang's own server, with one rank.
const KindSGLang Kind = "sglang"

func sglangSoftware() software {
	return software{
		path: "/metrics", onePort: true, engineVersion: "0.5.23", abortsAbandoned: true,
		start: func(w *world) server { return newSGLang(w) },
	}
}

// sglang is a simulated SGLang 0.5.23: it counts requests when they end, even if their
// client has left. The tokens of each step have counters of their own, except the first
// token of each request.
type sglang struct {
	plain
	booked
	requests, aborted, prefills, decodes uint64
	responses                            map[int]uint64 // Answers to chat completions by status.
	waited                               *histogram
}

func newSGLang(w *world) *sglang {
	between := func() *histogram {
		return newHistogram(0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8)
	}
	tokens := func() *histogram {
		return newHistogram(100, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 12500, 15000, 17500, 20000, 22500, 25000,
			27500, 30000, 35000, 40000, 60000, 80000, 100000, 200000, 300000, 400000, 600000, 800000, 1e6, 1.1e6)
	}
	return &sglang{
		plain: plain{w}, responses: map[int]uint64{},
		booked: booked{requestSizes: requestSizes{promptEach: tokens(), generationEach: tokens()}, requestTimings: requestTimings{
			ttft: newHistogram(0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400),
			itl:  between(), tpot: between(),
			e2e: newHistogram(0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1200, 1800, 2400),
		}},
		waited: newHistogram(0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600,
			700, 800, 900, 1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000),
	}
}

func (s *sglang) admit(r *request) bool {
	ok := s.plain.admit(r)
	if !ok {
		s.responses[http.StatusInternalServerError]++
	}
	return ok
}

func (s *sglang) started(r *request) {
	s.booked.started(r)
	s.waited.observe(seconds(r.arrived, r.scheduled))
}

func (s *sglang) failed(*request) { s.responses[http.StatusInternalServerError]++ }

func (s *sglang) finished(r *request) {
	s.responses[http.StatusOK]++
	s.requests++
	if r.abandoned {
		s.aborted++
	}
	s.booked.finished(r)
}

func (s *sglang) iterated(it *iteration) {
	s.booked.iterated(it)
	if it.contextTokens > 0 {
		s.prefills++
	}
	if it.decoding > 0 {
		s.decodes++
	}
}

func (s *sglang) handlers(r *Replica) []http.Handler {
	info := ok(func() any {
		return object{"model_path": "/models/" + s.w.spec.Model, "served_model_name": s.w.spec.Model, "model_type": "llama"}
	})
	version := ok(func() any {
		return object{"version": s.w.spec.EngineVersion, "max_running_requests": s.w.spec.Engine.MaxActive}
	})
	mux := r.routes(s, map[string]answer{
		"GET /model_info": info, "GET /get_model_info": info, "GET /server_info": version, "GET /get_server_info": version,
		"GET /v1/models": ok(func() any { return modelList(s.w.start.Add(s.w.now), "sglang", s.w.spec.Model) }),
	})
	return r.fastAPI(mux, s, s.w.spec.NoPerfMetrics)
}
