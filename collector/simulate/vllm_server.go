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

// vllmServer is a simulated vLLM 0.32: token counters and times to the first and
// between tokens move with each step of the engine, all else when a request ends.
// One whose client has left is counted nowhere but by its tokens and its 2xx.
type vllmServer struct {
	plain
	prompt, cached, generation, preempted uint64
	finishedBy                            map[string]uint64
	answered                              map[string]uint64 // By class of the HTTP status.
	last                                  iteration
	vllmTimes
	vllmSizes
}

// vllmTimes are the histograms of times, vllmSizes those of tokens and counts.
type (
	vllmTimes struct{ ttft, itl, tpot, e2e, queue, prefill, decode, inference *histogram }
	vllmSizes struct{ steps, promptEach, generationEach, computedEach, params, preemptedEach *histogram }
)

func newVLLMServer(w *world) *vllmServer {
	// The bounds go by 1, 2 and 5 up to the longest context, here of 32768 tokens.
	tokens := func() *histogram {
		return newHistogram(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)
	}
	return &vllmServer{
		plain: plain{w}, finishedBy: map[string]uint64{}, answered: map[string]uint64{},
		vllmTimes: vllmTimes{
			ttft: firstTokenTimes(), itl: tokenTimes(), tpot: tokenTimes(),
			e2e: requestTimes(), queue: requestTimes(), prefill: requestTimes(), decode: requestTimes(), inference: requestTimes(),
		},
		vllmSizes: vllmSizes{
			steps:      newHistogram(1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384),
			promptEach: tokens(), generationEach: tokens(), computedEach: tokens(),
			params: newHistogram(1, 2, 5, 10, 20), preemptedEach: newHistogram(1, 2, 3, 4, 5, 10, 20),
		},
	}
}

func (s *vllmServer) admit(r *request) bool {
	ok := s.plain.admit(r)
	if !ok {
		s.answered["5xx"]++
	}
	return ok
}

func (s *vllmServer) started(r *request) {
	s.prompt += uint64(r.prompt)
	s.cached += uint64(r.cached)
	s.ttft.observe(seconds(r.arrived, r.firstToken))
}

func (s *vllmServer) failed(*request) { s.answered["5xx"]++ }

func (s *vllmServer) finished(r *request) {
	s.answered["2xx"]++
	if r.abandoned {
		return
	}
	l := latencyOf(r)
	s.finishedBy[r.reason]++
	s.e2e.observe(l.E2E.Seconds())
	s.queue.observe(l.Queue.Seconds())
	// A request of one token counts as 0.
	s.tpot.observe(l.TPOT.Seconds())
	s.prefill.observe(seconds(r.scheduled, r.firstToken))
	s.decode.observe(seconds(r.firstToken, r.lastToken))
	s.inference.observe(seconds(r.scheduled, r.lastToken))
	s.promptEach.observe(float64(r.prompt))
	s.computedEach.observe(float64(r.prompt - r.cached))
	s.generationEach.observe(float64(r.generated))
	s.params.observe(1)
	s.preemptedEach.observe(0)
}

func (s *vllmServer) iterated(it *iteration) {
	s.generation += uint64(it.tokens)
	s.preempted += uint64(it.paused)
	s.itl.observeN(it.latency.Seconds(), uint64(it.decoding))
	s.steps.observe(float64(it.contextTokens + it.tokens))
	s.last = *it
}

func (s *vllmServer) handlers(r *Replica) []http.Handler {
	return r.fastAPI(r.routes(s, map[string]answer{
		// The page takes no notice of Accept, unlike whatever else begins so.
		"GET /metrics": shown("text/plain; version=1.0.0; charset=utf-8", s.page),
		// It is 200 for as long as the process is there, whatever the engine does.
		"GET /health":    ok(func() any { return nil }),
		"GET /version":   ok(func() any { return object{"version": s.w.spec.EngineVersion} }),
		"GET /v1/models": ok(func() any { return modelList(s.w.start.Add(s.w.now), "vllm", s.w.spec.Model) }),
	}), s, false)
}
