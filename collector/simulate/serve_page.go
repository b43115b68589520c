package simulate

import (
	"maps"
	"slices"
	"strconv"
)

// page renders prometheus_client's multiprocess mode: no empty families, gauges have a pid.
func (s *serve) page() []byte {
	p := &page{dialect: pythonDialect()}
	s.write(s, p)
	return p.bytes()
}

// serveWritten returns what not all pages of 1.3 have, by the pull request that brought it.
func serveWritten() written {
	return written{
		since("12132"): {"kv_cache_reused_blocks_total", "kv_cache_missed_blocks_total"},
		since("12413"): {
			"kv_cache_iter_reuse_rate", "kv_cache_iter_reused_blocks_total", "kv_cache_iter_full_reused_blocks_total",
			"kv_cache_iter_partial_reused_blocks_total", "kv_cache_iter_missed_blocks_total",
			"kv_cache_gen_alloc_blocks_total",
		},
		since(serveIterations): {
			"prompt_tokens_total", "generation_tokens_total", "request_prefill_time_seconds", "request_decode_time_seconds",
			"request_inference_time_seconds", "num_requests_running", "num_requests_waiting", "max_num_active_requests",
			"iteration_latency_seconds", "gpu_memory_usage_bytes", "cpu_memory_usage_bytes", "pinned_memory_usage_bytes",
			"max_batch_size_static", "max_batch_size_runtime", "max_num_tokens_runtime", "kv_cache_max_blocks",
			"kv_cache_free_blocks", "kv_cache_used_blocks", "kv_cache_tokens_per_block", "num_context_requests",
			"num_generation_requests", "num_paused_requests", "num_scheduled_requests", "total_context_tokens",
			"avg_decoded_tokens_per_iter", "spec_decode_acceptance_length", "spec_decode_draft_overhead",
			"num_requests_completed_total", "spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total",
			"model_config_info", "parallel_config_info", "kv_cache_config_info",
		},
		since("12636"): {
			"prompt_cached_tokens_total", "prompt_cached_tokens_per_request", "prefill_batch_tokens",
			"spec_decode_drafted_tokens_total", "spec_decode_accepted_tokens_total", "prefill_batch_occupancy",
			"request_error_total",
		},
	}
}

// serveIterations is the pull request that brought gauges of iterations and repaired the labels.
const serveIterations = "12545"

// serveDialects returns the pages between release candidates.
func serveDialects() []Dialect {
	var all []Dialect
	for _, change := range serveWritten().releases("12132") {
		all = append(all, Dialect{Change: change})
	}
	return all
}

func (s *serve) writeNewest(p *page) {
	if s.w.spec.Change != "" {
		p.written, p.release, p.prefix = serveWritten(), s.w.spec.Change, "trtllm_"
	}
	s.writeBasics(p, "trtllm_")
	s.writePhases(p)
	s.writeConfig(p)
	s.writeIteration(p)
	s.writeCounters(p)
	s.writeDrafts(p)
}

// names returns engine_type and model_name.
func (s *serve) names() (engine, model string) {
	if s.engine == "" || s.w.spec.Change != "" && earlier(s.w.spec.Change, serveIterations) {
		return "undefined", "undefined"
	}
	return s.engine, s.w.spec.Model
}

func (s *serve) labels() string {
	engine, model := s.names()
	return pairs("engine_type", engine, "model_name", model)
}

func (s *serve) writeSuccess(p *page, prefix string) {
	p.family("counter", prefix+"request_success_total", "Count of successfully processed requests.")
	for _, c := range s.booked.reasons {
		p.add(with(s.labels(), "finished_reason", c.reason), c.n)
	}
}

func (s *serve) writeBasics(p *page, prefix string) {
	b, labels := &s.booked, s.labels()
	p.histogram(
		prefix+"e2e_request_latency_seconds",
		"Histogram of end to end request latency in seconds.",
		labels,
		b.e2e,
	)
	p.histogram(prefix+"time_to_first_token_seconds", "Histogram of time to first token in seconds.", labels, b.ttft)
	p.histogram(
		prefix+"time_per_output_token_seconds",
		"Histogram of time per output token in seconds.",
		labels,
		b.tpot,
	)
	p.histogram(
		prefix+"request_queue_time_seconds",
		"Histogram of time spent in WAITING phase for request.",
		labels,
		b.queue,
	)
}

func (s *serve) writePhases(p *page) {
	b, labels := &s.booked, s.labels()
	p.histogram("trtllm_request_prefill_time_seconds",
		"Histogram of prefill (context) phase duration in seconds (first_token_time - "+
			"first_scheduled_time).", labels, b.prefill)
	p.histogram("trtllm_request_decode_time_seconds",
		"Histogram of decode (generation) phase duration in seconds (last_token_time - "+
			"first_token_time).", labels, b.decode)
	p.histogram("trtllm_request_inference_time_seconds",
		"Histogram of total inference duration in seconds (last_token_time - "+
			"first_scheduled_time).", labels, b.inference)
	p.histogram(
		"trtllm_prompt_cached_tokens_per_request",
		"Histogram of cached prompt tokens per request.",
		labels,
		b.cachedEach,
	)
	p.histogram(
		"trtllm_prefill_batch_tokens",
		"Histogram of total context tokens per iteration.",
		labels,
		s.collected.batch,
	)
}

func (s *serve) writeConfig(p *page) {
	engine, model := s.names()
	gpus := strconv.Itoa(max(1, s.w.spec.GPUs))
	p.one("gauge", "trtllm_model_config_info", "Model configuration info", pairs(
		"dtype", "bfloat16", "engine_type", engine, "gpu_type", "NVIDIA H200", "max_model_len", "4096",
		"model", model, "model_name", model, "pid", s.pid, "quantization", "none", "served_model_name", model), 1)
	p.one("gauge", "trtllm_parallel_config_info", "Parallelism configuration info", pairs(
		"context_parallel_size", "1", "engine_type", engine, "expert_parallel_size", "1", "gpu_count", gpus,
		"model_name", model, "pid", s.pid, "pipeline_parallel_size", "1", "tensor_parallel_size", gpus), 1)
	p.one("gauge", "trtllm_kv_cache_config_info", "KV cache configuration info", pairs(
		"cache_dtype", "auto", "enable_block_reuse", "True", "enable_partial_reuse", "True",
		"engine_type", engine, "free_gpu_memory_fraction", "0.9", "model_name", model, "pid", s.pid), 1)
}

// gauge writes a gauge of the last iteration, if there was one.
func (s *serve) gauge(p *page, name, help string, v float64) {
	if s.collected.last.n > 0 {
		p.one("gauge", "trtllm_"+name, help, with(s.labels(), "pid", s.pid), v)
	}
}

func (s *serve) writeKVRates(p *page) {
	it := s.lastIteration()
	if blocks := it.kv.reused + it.kv.missed; blocks > 0 {
		s.gauge(p, "kv_cache_hit_rate", "KV cache hit rate", float64(it.kv.reused)/float64(blocks))
	}
	s.gauge(p, "kv_cache_utilization", "KV cache utilization", float64(it.kvUsed)/float64(it.kvUsed+it.kvFree))
}

// writeIteration writes the gauges of the last collected iteration.
func (s *serve) writeIteration(p *page) {
	it, cfg := s.lastIteration(), s.w.spec.Engine
	count := func(name, help string, v int) { s.gauge(p, name, help, float64(v)) }
	count("num_requests_running", "Number of active requests", it.active)
	count("num_requests_waiting", "Number of queued requests", it.queued)
	count("max_num_active_requests", "Maximum number of active requests", cfg.MaxActive)
	s.gauge(p, "iteration_latency_seconds", "Iteration latency in seconds", float64(it.latency.Microseconds())/1e6)
	count("gpu_memory_usage_bytes", "GPU memory usage in bytes", 123456789012)
	// The PyTorch path reports these five as 0.
	count("cpu_memory_usage_bytes", "CPU memory usage in bytes", 0)
	count("pinned_memory_usage_bytes", "Pinned memory usage in bytes", 0)
	count("max_batch_size_static", "Static maximum batch size", 0)
	count("max_batch_size_runtime", "Runtime maximum batch size", 0)
	count("max_num_tokens_runtime", "Runtime maximum number of tokens", 0)
	s.writeKVRates(p)
	count("kv_cache_max_blocks", "Maximum number of KV cache blocks", it.kvUsed+it.kvFree)
	count("kv_cache_free_blocks", "Number of free KV cache blocks", it.kvFree)
	count("kv_cache_used_blocks", "Number of used KV cache blocks", it.kvUsed)
	count("kv_cache_tokens_per_block", "Number of tokens per KV cache block", cfg.TokensPerBlock)
	count("num_context_requests", "Number of context (prefill) requests", it.context)
	count("num_generation_requests", "Number of generation (decode) requests", it.decoding)
	count("num_paused_requests", "Number of paused requests", it.paused)
	count("num_scheduled_requests", "Number of scheduled requests", it.scheduled)
	count("total_context_tokens", "Total number of context tokens", it.contextTokens)
	count("avg_decoded_tokens_per_iter", "Average number of decoded tokens per iteration", 0)
	s.gauge(p, "prefill_batch_occupancy", "Fraction of max active slots occupied by context requests.",
		float64(it.context)/float64(cfg.MaxActive))
	if all := s.collected.last.scheduled; s.w.spec.AttentionDP && it.n > 0 {
		p.family("gauge", "trtllm_scheduled_batch_size", "Number of real context and generation "+
			"requests in the latest scheduled batch on this executor rank; zero when no batch is submitted.")
		for rank, n := range []int{all - it.scheduled, it.scheduled} {
			p.add(with(with(s.labels(), "pid", s.pid), "rank", strconv.Itoa(rank)), float64(n))
		}
	}
	if s.collected.moved {
		s.gauge(p, "kv_cache_iter_reuse_rate", "Per-iteration KV cache block reuse rate", s.collected.reuseRate)
	}
}

func (s *serve) writeCounters(p *page) {
	b, c, labels := &s.booked, &s.collected, s.labels()
	counter := func(name, help string, v uint64) { p.one("counter", "trtllm_"+name, help, labels, float64(v)) }
	counter("prompt_cached_tokens_total", "Process-lifetime total prompt tokens served from KV cache. "+
		"Resets only when the serving process restarts, not when the KV cache is flushed or evicted.", b.ended.cached)
	p.family("counter", "trtllm_request_error_total", "Total request errors, labeled by HTTP status code.")
	for _, status := range slices.Sorted(maps.Keys(s.failures)) {
		p.addCounts(map[string]uint64{with(labels, "http_code", status): s.failures[status]})
	}
	if len(b.reasons) > 0 {
		s.writeSuccess(p, "trtllm_")
		counter("prompt_tokens_total", "Cumulative number of prompt (input) tokens processed.", b.ended.prompt)
		counter(
			"generation_tokens_total",
			"Cumulative number of generation (output) tokens produced.",
			b.ended.generation,
		)
	}
	if c.last.n == 0 {
		return
	}
	counter("kv_cache_reused_blocks_total", "Cumulative number of KV cache blocks reused (cache hits)", c.reused)
	counter("kv_cache_missed_blocks_total", "Cumulative number of KV cache blocks missed (cache misses)", c.missed)
	counter("kv_cache_iter_reused_blocks_total", "Total reused KV cache blocks (full + partial)", c.iterReused)
	counter("kv_cache_iter_full_reused_blocks_total", "Total fully reused KV cache blocks", c.iterReused)
	counter("kv_cache_iter_partial_reused_blocks_total", "Total partially reused KV cache blocks", 0)
	counter("kv_cache_iter_missed_blocks_total", "Total missed KV cache blocks (context phase)", c.iterMissed)
	counter("kv_cache_gen_alloc_blocks_total", "Total blocks allocated during generation phase", c.genAlloc)
	counter("num_requests_completed_total", "Total number of completed requests across iterations", c.completed)
}

// writeRouter writes the page of a router, which has its families from the start. Streams count as
// answered when they start; both roles fail. HELP is left out, since it is wrong.
func (s *serve) writeRouter(p *page) {
	p.parts, p.sparse = "bcs", false
	count := func(name string, n uint64) { p.one("counter", name+"_total", "", "", float64(n)) }
	count("total_requests", s.asked)
	count("validation_exceptions", s.failures["400"])
	count("http_exceptions", s.failures["503"])
	count("internal_errors", s.failures["500"])
	count("total_responses", s.answered)
	p.histogram("queue_latency_seconds", "", "", s.booked.queue)
	for i, h := range []*histogram{s.booked.prefill, s.booked.decode} {
		role := []string{"ctx_", "gen_"}[i]
		count(role+"total_requests", s.answered+s.failures["500"])
		count(role+"error_requests", s.failures["500"])
		count(role+"completed_requests", []uint64{s.answered + s.failures["500"], s.completed}[i])
		p.histogram(role+"complete_latency_seconds", "", "", h)
	}
}
