package simulate

// KindTritonLLMAPI is Triton with an LLM API (PyTorch) model, with nv_inference_* only.
const KindTritonLLMAPI Kind = "triton-llmapi"

// llmapiFlavour returns the flavour with TensorRT-LLM's llmapi repository.
func llmapiFlavour() flavour {
	return flavour{
		complete: func(s *Spec) { s.Streaming = true },
		models: []model{{
			name: "tensorrt_llm", role: roleLLM, backend: "python", decoupled: true, loadSeconds: 41.220145713,
			inputs: []string{"text_input BYTES", "streaming BOOL", "sampling_param_max_tokens INT32", "stop BOOL"},
		}},
		configure: func(_ Spec, config object) []string {
			config["max_batch_size"] = 64
			return nil
		},
	}
}

// KindTritonLLMAPIModule is the same with the metrics module of deploy/triton/llmapi.
const KindTritonLLMAPIModule Kind = "triton-llmapi-module"

// moduleFlavour returns the flavour with the metrics module.
func moduleFlavour() flavour {
	f := llmapiFlavour()
	f.backend = func(t *triton) backend {
		b := &llmapiModule{trtllm: trtllm{t: t, python: true, module: true}, unwell: map[string]uint64{}}
		b.reset()
		b.llm.ttft, b.llm.e2e = firstTokenTimes(), requestTimes()
		b.llm.itl = newHistogram(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
			0.75, 1, 2.5, 5, 10, 20, 40, 80)
		return b
	}
	return f
}

// llmapiModule has the families of the metrics module, and of the former C++ backend.
type llmapiModule struct {
	trtllm
	llm    booked
	unwell map[string]uint64 // Requests that did not end well, by labels.
}

// fail counts requests of a class that did not end well.
func (b *llmapiModule) fail(class, reason string, n uint64) {
	b.unwell[ended(class, reason)] += n
}

// ended renders the labels of requests that ended.
func ended(class, reason string) string {
	return pairs("class", class, "finish_reason", reason, "model", "tensorrt_llm", "version", "1")
}

// total does not count requests that came to a crashed process.
func (b *llmapiModule) total(t *Totals) {
	b.trtllm.total(t)
	b.llm.total(b.t.w, t, t.OK)
	b.fail("server", "error", t.Failed-t.Crashed)
	b.fail("canceled", "cancelled", t.Canceled)
	b.fail("client", "error", t.Client)
	b.fail("overload", "error", t.Overload)
}

func (b *llmapiModule) started(r *request) { b.llm.started(r) }

func (b *llmapiModule) finished(r *request) {
	if r.stuck {
		return
	}
	b.trtllm.finished(r)
	b.llm.finished(r)
}

func (b *llmapiModule) failed(r *request) {
	b.trtllm.finished(r)
	b.fail("server", "error", 1)
}

func (b *llmapiModule) iterated(it *iteration) { b.llm.iterated(it) }

func (b *llmapiModule) counters(p *page) {
	if !b.printed() {
		return
	}
	labels := modelLabels("tensorrt_llm")
	counter := func(name, help string, v uint64) { p.one("counter", "nv_llmapi_"+name, help, labels, float64(v)) }
	counter("iterations_total", "Iterations of the engine whose statistics were read.", b.llm.steps)
	counter("generation_tokens_total", "Generated tokens, counted as they come.", b.llm.generated)
	counter("prompt_tokens_total", "Tokens of prompts, counted with a request's first output.", b.llm.begun.prompt)
	counter("prefill_tokens_total", "Tokens that context requests computed, added up over iterations.", b.llm.context)
	counter("requests_preempted_total", "Requests that an iteration paused, added up over iterations.", b.llm.paused)
	counter("kv_cache_reused_blocks_total", "KV cache blocks that were found in the cache.", b.llm.last.kv.reused)
	counter("kv_cache_missed_blocks_total", "KV cache blocks that were looked for and not found.", b.llm.last.kv.missed)
	counter("module_errors_total", "Errors inside the metrics module; each kind is in Triton's log once.", 0)
	p.family("counter", "nv_llmapi_requests_ended_total", "Requests that ended, by class and by the engine's "+
		"finish reason.")
	for _, e := range b.llm.reasons {
		p.add(ended("ok", e.reason), e.n)
	}
	p.addCounts(b.unwell)
	b.latency(p, "nv_llmapi_time_to_first_token_seconds", b.llm.ttft)
	b.latency(p, "nv_llmapi_inter_token_latency_seconds", b.llm.itl)
	b.latency(p, "nv_llmapi_request_duration_seconds", b.llm.e2e)
}

// latency writes a histogram as counters, which cost the module no message per token.
func (*llmapiModule) latency(p *page, name string, h *histogram) {
	p.family("counter", name+"_bucket", "Buckets of a latency, by the server's clock.")
	p.name = name
	p.buckets(modelLabels("tensorrt_llm"), h)
	p.one("counter", name+"_sum", "Sum of a latency, by the server's clock.", modelLabels("tensorrt_llm"), h.sum)
	p.one("counter", name+"_count", "Number of observations of a latency.", modelLabels("tensorrt_llm"), float64(h.n))
}

func (b *llmapiModule) gauges(p *page) {
	b.trtllm.gauges(p)
	if !b.printed() {
		return
	}
	labels, it := modelLabels("tensorrt_llm"), &b.sampled
	gauge := func(name, help string, v float64) { p.one("gauge", "nv_llmapi_"+name, help, labels, v) }
	p.one(
		"gauge",
		"nv_llmapi_info",
		"Versions of the metrics module and of TensorRT-LLM; 0 when the model "+
			"is unloaded.",
		pairs(
			"model", "tensorrt_llm",
			"module_version", "1",
			"tensorrt_llm_version", b.t.w.spec.TRTLLMVersion,
			"version", "1",
		),
		1,
	)
	gauge(
		"heartbeat_timestamp_seconds",
		"When the module last read the engine.",
		float64(b.t.w.start.Add(b.t.w.now).Unix()),
	)
	gauge("requests_in_flight", "Requests that have arrived and not ended, counted "+
		"at the server.", float64(b.t.w.inFlight()))
	gauge(
		"requests_waiting",
		"Requests that the engine has and does not run.",
		float64(it.queued+max(0, it.active-it.scheduled)),
	)
}
