package simulate

import (
	"math"
	"time"
)

// trtllmState is what the TRT-LLM backend of a Triton publishes: the last
// iteration as its statistics thread found it, and the token histograms.
type trtllmState struct {
	sampled       iteration
	input, output *histogram
}

func newTRTLLMState() *trtllmState {
	return &trtllmState{input: newHistogram(tokenBounds()...), output: newHistogram(tokenBounds()...)}
}

// sample copies the last iteration; without a new one nothing changes.
func (s *trtllmState) sample(e *engine) {
	if e.last.n > 0 {
		s.sampled = e.last
	}
}

// observeTokens books a request that ended, failed ones with what they got.
func (s *trtllmState) observeTokens(r *request) {
	s.input.observe(float64(r.prompt))
	s.output.observe(float64(r.generated))
}

// value is one category of a family.
type value struct {
	category string
	number   float64
}

// trtllmPage writes one family after another to a page.
type trtllmPage struct {
	*page
	model   string
	version tritonVersion
}

func (p trtllmPage) group(name, help, kind, label string, values []value) {
	p.family(name, help, kind)
	for _, v := range values {
		p.add(category(label, v.category, p.model, "1"), v.number)
	}
}

// writeDisagg writes the counter family, which stands among core's counters.
func (t *triton) writeDisagg(p *page) {
	if t.trt == nil || t.python() || t.version < triton2411 || !t.customPrinted() {
		return
	}
	trtllmPage{p, "tensorrt_llm", t.version}.group("nv_trt_llm_disaggregated_serving_metrics", helpDisagg, "counter",
		"disaggregated_serving_type", []value{{"kv_cache_transfer_ms", 0}, {"request_count", 0}})
}

// python says that the LLM model is the Python executor (set B).
func (t *triton) python() bool { return t.w.spec.Kind == KindTritonPython }

// customPrinted says that the backend's own families are on the page: while the
// model is, and for a Python model for ever after its first load.
func (t *triton) customPrinted() bool {
	return t.model(roleLLM).printed() || t.keepsCustom()
}

// writeTRTLLM writes the backend's gauges.
func (t *triton) writeTRTLLM(p *page) {
	if t.trt == nil || !t.customPrinted() {
		return
	}
	it, cfg := t.trt.sampled, t.w.spec.Engine
	g := trtllmPage{p, "tensorrt_llm", t.version}
	suffix := t.version.suffix()
	once := func(v float64) float64 {
		if it.n == 0 {
			return 0 // Before the first iteration even the constants are 0.
		}
		return v
	}
	requests := []value{
		{"active", float64(it.active)},
		{"max", once(float64(cfg.MaxActive))},
		{"scheduled", float64(it.scheduled)},
		{"context", float64(it.context)},
	}
	if t.version >= triton2504 {
		requests = append(requests, value{"waiting", float64(it.active - it.scheduled)})
	}
	g.group("nv_trt_llm_request"+suffix, helpRequest, "gauge", "request_type", requests)
	g.group("nv_trt_llm_runtime_memory"+suffix, helpRuntimeMemory, "gauge", "memory_type", []value{
		{"cpu", once(68172)}, {"gpu", once(36100332423)}, {"pinned", once(2952841216)},
	})
	g.group("nv_trt_llm_kv_cache_block"+suffix, helpKVCache, "gauge", "kv_cache_block_type", t.kvValues(it, once))
	t.writeBatcher(g, suffix, it)
	help := helpGeneral
	if t.version <= triton2311 {
		help = helpGeneralOld
	}
	g.group("nv_trt_llm_general"+suffix, help, "gauge", "general_type", []value{
		{"timestamp", once(t.timestamp(it.at))}, {"iteration_counter", float64(it.n)},
	})
}

func (t *triton) kvValues(it iteration, once func(float64) float64) []value {
	all := float64(it.kvUsed + it.kvFree)
	values := []value{
		{"max", all},
		{"free", float64(it.kvFree)},
		{"used", float64(it.kvUsed)},
		{"tokens_per", once(float64(t.w.spec.Engine.TokensPerBlock))},
	}
	if t.version >= triton2410 && !t.python() {
		values = append(values, value{"reused", float64(it.kv.reused)})
	}
	if t.version >= triton2504 {
		fraction := 0.0
		if all > 0 {
			fraction = float64(it.kvUsed) / all
		}
		if !t.python() {
			// The C++ backend passes numbers through std::to_string: six decimals.
			fraction = math.Round(fraction*1e6) / 1e6
		}
		values = append(values, value{"fraction", fraction})
	}
	return values
}

func (t *triton) writeBatcher(g trtllmPage, suffix string, it iteration) {
	if t.w.spec.StaticBatching {
		g.group("nv_trt_llm_v1"+suffix, helpV1, "gauge", "v1_specific_metric", []value{
			{"total_context_tokens", float64(it.contextTokens)},
			{"total_generation_tokens", float64(it.decoding)},
			{"empty_generation_slots", float64(max(0, it.active-it.scheduled))},
		})
		return
	}
	values := []value{
		{"total_context_tokens", float64(it.contextTokens)}, {"generation_requests", float64(it.decoding)}, {"micro_batch_id", 0},
	}
	switch {
	case t.version >= triton2404:
		values = append(values, value{"paused_requests", float64(it.paused)})
	case t.version >= triton2402:
		values = append(values, value{"terminated_requests", float64(it.paused)})
	}
	g.group("nv_trt_llm_inflight_batcher"+suffix, helpInflight, "gauge", "inflight_batcher_specific_metric", values)
}

// timestamp is the time of the last iteration in the unit of the release.
func (t *triton) timestamp(at time.Duration) float64 {
	wall := t.w.start.Add(at)
	if t.version >= triton2408 && !t.python() {
		return float64(wall.UnixMicro())
	}
	return float64(wall.Unix())
}

// writeTokens writes the two token length histograms. The Python backend makes
// the input one first.
func (t *triton) writeTokens(p *page) {
	if t.trt == nil || t.version < triton2412 || !t.customPrinted() {
		return
	}
	write := func(name, kind string, h *histogram) {
		p.family(name, helpTokenLen, "histogram")
		p.addHistogram(category("response_metric_type", kind, "tensorrt_llm", "1"), h)
	}
	if t.python() {
		write("nv_llm_input_token_len", "total_input_tokens", t.trt.input)
		write("nv_llm_output_token_len", "total_output_tokens", t.trt.output)
		return
	}
	write("nv_llm_output_token_len", "total_output_tokens", t.trt.output)
	write("nv_llm_input_token_len", "total_input_tokens", t.trt.input)
}
