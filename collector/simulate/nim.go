package simulate

import "net/http"

// nim is a simulated NIM for LLMs 1.x: one port, names without prefix, token
// counters and per-token times that move every iteration.
type nim struct {
	plain
	prompt, generation         uint64
	ttft, tpot, e2e            *histogram
	promptEach, generationEach *histogram
	success, failures          uint64
	finishedReasons            map[string]uint64
	reasons                    []string
	last                       iteration
}

func newNIM(w *world) *nim {
	tokens := []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000}
	return &nim{
		plain:           plain{w},
		ttft:            newHistogram(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
		tpot:            newHistogram(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5),
		e2e:             newHistogram(1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60),
		promptEach:      newHistogram(tokens...),
		generationEach:  newHistogram(tokens...),
		finishedReasons: map[string]uint64{},
	}
}

func (s *nim) started(r *request) { s.ttft.observe((r.firstToken - r.arrived).Seconds()) }

func (s *nim) failed(*request) { s.failures++ }

func (s *nim) finished(r *request) {
	if r.stuck {
		return
	}
	if s.finishedReasons[r.reason] == 0 {
		s.reasons = append(s.reasons, r.reason)
	}
	s.finishedReasons[r.reason]++
	s.success++
	s.e2e.observe((r.lastToken - r.arrived).Seconds())
	s.promptEach.observe(float64(r.prompt))
	s.generationEach.observe(float64(r.generated))
}

func (s *nim) iterated(it *iteration) {
	s.last = *it
	s.prompt += uint64(it.contextTokens)
	s.generation += uint64(it.tokens)
	if it.decoding > 0 {
		s.tpot.observeN(it.latency.Seconds(), uint64(it.decoding))
	}
}

func (s *nim) page() []byte {
	p := &page{number: appendPythonOld, layout: layoutPython}
	labels := pairs("model_name", s.w.spec.Model)
	one := func(kind, name, help string, v float64) {
		p.family(name, help, kind)
		p.add(labels, v)
	}
	p.family("python_info", "Python platform information", "gauge")
	p.add(pairs("implementation", "CPython", "major", "3", "minor", "10", "patchlevel", "12", "version", "3.10.12"), 1)
	p.family("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "gauge")
	p.add("", float64(s.w.start.Add(s.w.up).UnixMilli())/1e3)
	one("gauge", "num_requests_running", "Number of requests currently running on GPU.", float64(s.last.scheduled))
	waiting := 0
	if s.w.engine != nil {
		waiting = s.w.engine.inFlight() - s.last.scheduled
	}
	one("gauge", "num_requests_waiting", "Number of requests waiting to be processed.", float64(max(0, waiting)))
	one("gauge", "num_request_max", "Max number of concurrently running requests.", float64(s.w.spec.Engine.MaxActive))
	one("gauge", "gpu_cache_usage_perc", "GPU KV-cache usage. 1 means 100 percent usage.",
		float64(s.last.kvUsed)/float64(s.w.spec.Engine.KVBlocks))
	one("counter", "prompt_tokens_total", "Number of prefill tokens processed.", float64(s.prompt))
	one("counter", "generation_tokens_total", "Number of generation tokens processed.", float64(s.generation))
	each := func(name, help string, h *histogram) {
		if h.n > 0 {
			p.family(name, help, "histogram")
			p.addHistogram(labels, h)
		}
	}
	each("time_to_first_token_seconds", "Histogram of time to first token in seconds.", s.ttft)
	each("time_per_output_token_seconds", "Histogram of time per output token in seconds.", s.tpot)
	each("e2e_request_latency_seconds", "Histogram of end to end request latency in seconds.", s.e2e)
	each("request_prompt_tokens", "Number of prefill tokens processed.", s.promptEach)
	each("request_generation_tokens", "Number of generation tokens processed.", s.generationEach)
	p.family("request_finish_total", "Count of finished requests, differentiated by finish reason as label.", "counter")
	for _, reason := range s.reasons {
		p.add(pairs("finished_reason", reason, "model_name", s.w.spec.Model), float64(s.finishedReasons[reason]))
	}
	one("counter", "request_success_total", "Count of successful requests.", float64(s.success))
	one("counter", "request_failure_total", "Count of failed requests.", float64(s.failures))
	body := p.bytes()
	// The real page has no newline at its end.
	return body[:max(0, len(body)-1)]
}

func (s *nim) handlers(r *Replica) handlers {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/metrics", func(w http.ResponseWriter, _ *http.Request) {
		var body []byte
		r.locked(s, func() {
			if !s.w.emptyPage {
				body = s.page()
			}
		})
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		writeBody(w, http.StatusOK, body)
	})
	mux.HandleFunc("GET /v1/version", func(w http.ResponseWriter, _ *http.Request) {
		version := r.Spec().EngineVersion
		w.Header().Set("Content-Type", "application/json")
		writeBody(w, http.StatusOK, []byte(`{"release":"`+version+`","api":"`+version+`"}`))
	})
	for _, path := range []string{"live", "ready"} {
		mux.HandleFunc("GET /v1/health/"+path, func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, object{"object": "health." + path, "message": "Service is " + path + "."})
		})
	}
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, modelList(s.w.start.Unix(), "system", s.w.spec.Model))
	})
	mux.Handle("POST /v1/completions", openAICompletions(r, s, false))
	mux.Handle("POST /v1/chat/completions", openAICompletions(r, s, true))
	return handlers{api: mux}
}
