package simulate

// vllmState is what Triton's vLLM backend publishes beside the core families
// (README of vllm_backend): token counters per iteration, latencies per token
// and per request.
type vllmState struct {
	prompt, generation uint64
	ttft, tpot, e2e    *histogram
}

func newVLLMState() *vllmState {
	return &vllmState{
		ttft: newHistogram(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
		tpot: newHistogram(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5),
		e2e:  newHistogram(1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60),
	}
}

func (s *vllmState) iterated(it *iteration) {
	s.prompt += uint64(it.contextTokens)
	s.generation += uint64(it.tokens)
	if it.decoding > 0 {
		s.tpot.observeN(it.latency.Seconds(), uint64(it.decoding))
	}
}

func (s *vllmState) finished(r *request) { s.e2e.observe((r.lastToken - r.arrived).Seconds()) }

func vllmLabels() string { return pairs("model", "vllm_model", "version", "1") }

func (s *vllmState) writeCounters(p *page) {
	p.family("vllm:prompt_tokens_total", "Number of prefill tokens processed.", "counter")
	p.add(vllmLabels(), float64(s.prompt))
	p.family("vllm:generation_tokens_total", "Number of generation tokens processed.", "counter")
	p.add(vllmLabels(), float64(s.generation))
}

func (s *vllmState) writeHistograms(p *page) {
	p.family("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", "histogram")
	p.addHistogram(vllmLabels(), s.ttft)
	p.family("vllm:time_per_output_token_seconds", "Histogram of time per output token in seconds.", "histogram")
	p.addHistogram(vllmLabels(), s.tpot)
	p.family("vllm:e2e_request_latency_seconds", "Histogram of end to end request latency in seconds.", "histogram")
	p.addHistogram(vllmLabels(), s.e2e)
}
