package simulate

// KindNIM is NIM for LLMs 1.x.
const KindNIM Kind = "nim"

// nim is a NIM: one port, names without prefix, tokens and their times move as they come.
func nim() software {
	tokens := func() *histogram {
		return newHistogram(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)
	}
	return software{
		path: "/v1/metrics", onePort: true, engineVersion: "1.0.0", model: "meta/llama-3.1-8b-instruct",
		start: func(w *world) server {
			s := newSimple(w, writeNIM)
			s.dialect.number, s.dialect.unended = appendPythonOld, true
			s.promptEach, s.generationEach = tokens(), tokens()
			s.routes = nimRoutes(w)
			return s
		},
	}
}

func writeNIM(s *simple, p *page) {
	cfg, labels := s.w.spec.Engine, pairs("model_name", s.w.spec.Model)
	waiting := max(0, s.w.engine.inFlight()-s.last.scheduled)
	gauge := func(name, help string, v float64) { p.one("gauge", name, help, labels, v) }
	counter := func(name, help string, v uint64) { p.one("counter", name, help, labels, float64(v)) }
	s.w.writePython(p, "10", "12")
	gauge("num_requests_running", "Number of requests currently running on GPU.", float64(s.last.scheduled))
	gauge("num_requests_waiting", "Number of requests waiting to be processed.", float64(waiting))
	gauge("num_request_max", "Max number of concurrently running requests.", float64(cfg.MaxActive))
	gauge(
		"gpu_cache_usage_perc",
		"GPU KV-cache usage. 1 means 100 percent usage.",
		float64(s.last.kvUsed)/float64(cfg.KVBlocks),
	)
	s.writeTokens(p, "", labels)
	s.writeTimes(p, "", labels)
	p.histogram("request_prompt_tokens", "Number of prefill tokens processed.", labels, s.promptEach)
	p.histogram("request_generation_tokens", "Number of generation tokens processed.", labels, s.generationEach)
	p.family("counter", "request_finish_total", "Count of finished requests, differentiated by finish reason as label.")
	for _, c := range s.reasons {
		p.add(with(labels, "finished_reason", c.reason), c.n)
	}
	counter("request_success_total", "Count of successful requests.", s.e2e.n)
	counter("request_failure_total", "Count of failed requests.", s.failures)
}

func nimRoutes(w *world) map[string]answer {
	health := func(state string) answer {
		return ok(func() any { return object{"object": "health." + state, "message": "Service is " + state + "."} })
	}
	return map[string]answer{
		"GET /v1/version": ok(func() any {
			version := w.spec.EngineVersion
			return struct {
				Release string `json:"release"`
				API     string `json:"api"`
			}{version, version}
		}),
		"GET /v1/health/live":  health("live"),
		"GET /v1/health/ready": health("ready"),
	}
}
