package simulate

import "net/http"

// KindVLLM is vLLM's own OpenAI server, with one engine and one API process.
const KindVLLM Kind = "vllm"

func vllmServerSoftware() software {
	return software{
		path: "/metrics", onePort: true, engineVersion: "0.32.0", abortsAbandoned: true, endsFailed: true,
		start: func(w *world) server { return newVLLMServer(w) },
	}
}

// vllmServer is a simulated vLLM 0.32: token counters, times to first token and times
// between tokens move with each step of the engine, all else when a request ends. A
// request whose client has left counts only its tokens and its 2xx.
type vllmServer struct {
	plain
	booked
	finishedBy                   map[string]uint64
	answered                     map[string]uint64 // Answers by class of the HTTP status.
	stepped, params, preemptions *histogram
}

func newVLLMServer(w *world) *vllmServer {
	// The bounds end at the longest context, here 32768 tokens.
	tokens := func() *histogram {
		return newHistogram(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)
	}
	return &vllmServer{
		plain: plain{w}, finishedBy: map[string]uint64{}, answered: map[string]uint64{},
		booked: booked{
			zeros: true, zeroWaits: true,
			requestTimings: requestTimings{
				ttft: firstTokenTimes(), itl: tokenTimes(), tpot: tokenTimes(),
				e2e: requestTimes(), queue: requestTimes(), prefill: requestTimes(), decode: requestTimes(), inference: requestTimes(),
			},
			requestSizes: requestSizes{promptEach: tokens(), generationEach: tokens(), computedEach: tokens()},
		},
		stepped: newHistogram(1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384),
		params:  newHistogram(1, 2, 5, 10, 20), preemptions: newHistogram(1, 2, 3, 4, 5, 10, 20),
	}
}

func (s *vllmServer) admit(r *request) bool {
	ok := s.plain.admit(r)
	if !ok {
		s.answered["5xx"]++
	}
	return ok
}

func (s *vllmServer) failed(*request) { s.answered["5xx"]++ }

func (s *vllmServer) finished(r *request) {
	s.answered["2xx"]++
	if r.abandoned {
		return
	}
	s.booked.finished(r)
	s.finishedBy[r.reason]++
	s.params.observe(1)
	s.preemptions.observe(0)
}

func (s *vllmServer) iterated(it *iteration) {
	s.booked.iterated(it)
	s.stepped.observe(float64(it.contextTokens + it.tokens))
}

func (s *vllmServer) handlers(r *Replica) []http.Handler {
	return r.fastAPI(r.routes(s, map[string]answer{
		// The page ignores Accept, unlike longer paths.
		"GET /metrics": shown("text/plain; version=1.0.0; charset=utf-8", s.page),
		// Health is 200 as long as the process runs, whatever the engine does.
		"GET /health":    ok(func() any { return nil }),
		"GET /version":   ok(func() any { return object{"version": s.w.spec.EngineVersion} }),
		"GET /v1/models": ok(func() any { return modelList(s.w.start.Add(s.w.now), "vllm", s.w.spec.Model) }),
	}), s, false)
}
