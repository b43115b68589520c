package simulate

import (
	"math"
	"slices"
	"strconv"
)

// TRT-LLM repositories, by the backend of their LLM model.
const (
	KindTriton       Kind = "triton"        // C++, "tensorrtllm".
	KindTritonPython Kind = "triton-python" // The Python executor backend.
)

// repository returns the flavour with TensorRT-LLM's repository on a backend.
func repository(backendName string) flavour {
	text := []string{"text_input BYTES", "max_tokens INT32", "stream BOOL", "top_k INT32"}
	first := triton2311
	if backendName == "python" {
		first = triton2407
	}
	return flavour{
		first: first,
		models: []model{
			{name: "ensemble", role: roleEnsemble, decoupled: true, loadSeconds: 0.000412, inputs: text},
			{
				name:        "postprocessing",
				role:        rolePost,
				backend:     "python",
				loadSeconds: 3.917212,
				inputs:      []string{"TOKENS_BATCH INT32", "SEQUENCE_LENGTH INT32"},
			},
			{
				name:        "preprocessing",
				role:        rolePre,
				backend:     "python",
				loadSeconds: 4.182733,
				inputs:      []string{"QUERY BYTES", "REQUEST_OUTPUT_LEN INT32"},
			},
			{
				name:        "tensorrt_llm",
				role:        roleLLM,
				backend:     backendName,
				decoupled:   true,
				loadSeconds: 38.54021973,
				inputs:      []string{"input_ids INT32", "request_output_len INT32"},
			},
			{
				name:        "tensorrt_llm_bls",
				role:        roleBLS,
				backend:     "python",
				decoupled:   true,
				loadSeconds: 3.800112,
				inputs:      text,
			},
		},
		backend: func(t *triton) backend {
			if backendName == "python" && t.version < triton2407 {
				return silent{}
			}
			b := &trtllm{t: t, python: backendName == "python"}
			b.reset()
			return b
		},
		configure: configureTRTLLM,
	}
}

// configureTRTLLM returns the parameters of TensorRT-LLM's own repository.
func configureTRTLLM(s Spec, _ object) []string {
	batching := "inflight_fused_batching"
	if s.StaticBatching {
		batching = "V1"
	}
	return []string{
		"gpt_model_type", batching, "gpt_model_path", "/models/engine", "max_beam_width", "1",
		"batch_scheduler_policy", "max_utilization", "kv_cache_free_gpu_mem_fraction", "0.9",
		"enable_kv_cache_reuse",
		"true", "enable_chunked_context", "true", "decoupled_mode", strconv.FormatBool(s.Streaming),
		"executor_worker_path",
		"/opt/tritonserver/backends/tensorrtllm/trtllmExecutorWorker", "FORCE_CPU_ONLY_INPUT_TENSORS", "no",
	}
}

// trtllm is the TRT-LLM backend: token lengths, and the last iteration that was sampled.
type trtllm struct {
	silent
	t      *triton
	python bool
	// module is true if the metrics module of the LLM API writes the families.
	module        bool
	sampled       iteration
	input, output *histogram
}

func (b *trtllm) reset() {
	lengths := []float64{10, 50, 100, 500, 1000}
	b.sampled, b.input, b.output = iteration{}, newHistogram(lengths...), newHistogram(lengths...)
}

// reloaded resets the series of the C++ backend; others survive.
func (b *trtllm) reloaded() {
	if !b.python {
		b.reset()
	}
}

// printed reports whether the families are on the page; those of Python models always are.
func (b *trtllm) printed() bool { return b.python || b.t.model(roleLLM).printed() }

func (b *trtllm) countsLLM() bool { return b.t.version > triton2311 }

// sample copies the last iteration, if there is one.
func (b *trtllm) sample(e *engine) {
	if e.last.n > 0 {
		b.sampled = e.last
	}
}

// total counts requests that ended well.
func (b *trtllm) total(t *Totals) {
	b.sampled = b.t.w.engine.last
	b.input.observeN(float64(t.Prompt), t.OK)
	b.output.observeN(float64(t.Output), t.OK)
}

// finished counts a request that has ended.
func (b *trtllm) finished(r *request) {
	b.input.observe(float64(r.prompt))
	b.output.observe(float64(r.generated))
}

func (b *trtllm) failed(r *request) { b.finished(r) }

// counters writes the one counter family.
func (b *trtllm) counters(p *page) {
	if !b.python && b.t.version >= triton2411 && b.printed() {
		p.group(
			"counter",
			"nv_trt_llm_disaggregated_serving_metrics",
			"TRT LLM disaggregated serving metrics",
			"disaggregated_serving_type",
			[]value{
				{"kv_cache_transfer_ms", 0}, {"request_count", 0},
			},
		)
	}
}

func (b *trtllm) gauges(p *page) {
	if !b.printed() {
		return
	}
	it, v, cfg := &b.sampled, b.t.version, b.t.w.spec.Engine
	suffix, help := "_metrics", "General TRT LLM metrics"
	if v <= triton2311 {
		suffix, help = "_statistics", "General TRT LLM statistics"
	}
	requests := []value{
		{"active", float64(it.active)},
		{"max", b.constant(float64(cfg.MaxActive))},
		{"scheduled", float64(it.scheduled)},
		{"context", float64(it.context)},
	}
	if v >= triton2504 {
		requests = append(requests, value{"waiting", float64(it.active - it.scheduled)})
	}
	p.group("gauge", "nv_trt_llm_request"+suffix, "TRT LLM request metrics", "request_type", requests)
	p.group("gauge", "nv_trt_llm_runtime_memory"+suffix, "TRT LLM runtime memory metrics", "memory_type", []value{
		{"cpu", b.constant(68172)}, {"gpu", b.constant(36100332423)}, {"pinned", b.constant(2952841216)},
	})
	p.group(
		"gauge",
		"nv_trt_llm_kv_cache_block"+suffix,
		"TRT LLM KV cache block metrics",
		"kv_cache_block_type",
		b.blocks(),
	)
	b.writeBatcher(p, suffix)
	p.group("gauge", "nv_trt_llm_general"+suffix, help, "general_type", []value{
		{"timestamp", b.constant(b.timestamp())}, {"iteration_counter", float64(it.n)},
	})
}

// constant returns a constant, or 0 before the first iteration.
func (b *trtllm) constant(v float64) float64 {
	if b.sampled.n == 0 {
		return 0
	}
	return v
}

func (b *trtllm) blocks() []value {
	it, v := &b.sampled, b.t.version
	all := float64(it.kvUsed + it.kvFree)
	values := []value{
		{"max", all},
		{"free", float64(it.kvFree)},
		{"used", float64(it.kvUsed)},
		{"tokens_per", b.constant(float64(b.t.w.spec.Engine.TokensPerBlock))},
	}
	if v >= triton2410 && (b.module || !b.python) {
		values = append(values, value{"reused", float64(it.kv.reused)})
	}
	if v < triton2504 {
		return values
	}
	fraction := float64(it.kvUsed) / max(1, all)
	if b.module || !b.python {
		// The C++ backend passes numbers through std::to_string: six decimals.
		fraction = math.Round(fraction*1e6) / 1e6
	}
	return append(values, value{"fraction", fraction})
}

func (b *trtllm) writeBatcher(p *page, suffix string) {
	it, v := &b.sampled, b.t.version
	tokens := value{"total_context_tokens", float64(it.contextTokens)}
	if b.t.w.spec.StaticBatching {
		p.group("gauge", "nv_trt_llm_v1"+suffix, "TRT LLM v1-specific metrics", "v1_specific_metric", []value{
			tokens, {
				"total_generation_tokens", float64(it.decoding),
			}, {"empty_generation_slots", float64(max(0, it.active-it.scheduled))},
		})
		return
	}
	values := []value{tokens, {"generation_requests", float64(it.decoding)}, {"micro_batch_id", 0}}
	switch {
	case v >= triton2404:
		values = append(values, value{"paused_requests", float64(it.paused)})
	case v >= triton2402:
		values = append(values, value{"terminated_requests", float64(it.paused)})
	}
	p.group(
		"gauge",
		"nv_trt_llm_inflight_batcher"+suffix,
		"TRT LLM inflight_batcher-specific metrics",
		"inflight_batcher_specific_metric",
		values,
	)
}

// timestamp returns the time of the last iteration in the unit of the release.
func (b *trtllm) timestamp() float64 {
	wall := b.t.w.start.Add(b.sampled.at)
	if b.t.version >= triton2408 && (b.module || !b.python) {
		return float64(wall.UnixMicro())
	}
	return float64(wall.Unix())
}

// histograms writes the two token lengths; the Python backend writes the input first.
func (b *trtllm) histograms(p *page) {
	if b.t.version < triton2412 || !b.printed() {
		return
	}
	lengths, directions := map[string]*histogram{"input": b.input, "output": b.output}, []string{"output", "input"}
	if b.python {
		slices.Reverse(directions)
	}
	for _, d := range directions {
		p.histogram(
			"nv_llm_"+d+"_token_len",
			"TRT LLM response metrics",
			category("response_metric_type", "total_"+d+"_tokens"),
			lengths[d],
		)
	}
}

// value is one category of a family of the TRT-LLM backend.
type value struct {
	category string
	number   float64
}

// group writes a family of the TRT-LLM backend.
func (p *page) group(kind, name, help, label string, values []value) {
	p.family(kind, name, help)
	for _, v := range values {
		p.add(category(label, v.category), v.number)
	}
}

// category renders the labels of one series of the TRT-LLM backend.
func category(label, value string) string { return with(modelLabels("tensorrt_llm"), label, value) }
