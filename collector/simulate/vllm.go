package simulate

import (
	"net/http"
	"strconv"
)

// KindVLLM is vLLM's own OpenAI server, with one engine and one API process.
const KindVLLM Kind = "vllm"

func vllmServerSoftware() software {
	return software{
		path: "/metrics", onePort: true, engineVersion: "0.32.0", abortsAbandoned: true, endsFailed: true,
		start: func(w *world) server { return newVLLMServer(w) },
	}
}

// vllmServer is a vLLM 0.32: tokens and their times move with each step, all else when a request
// ends. A client that left counts only its tokens and its 2xx.
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
				ttft:      firstTokenTimes(),
				itl:       tokenTimes(),
				tpot:      tokenTimes(),
				e2e:       requestTimes(),
				queue:     requestTimes(),
				prefill:   requestTimes(),
				decode:    requestTimes(),
				inference: requestTimes(),
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

func (s *vllmServer) page() []byte {
	p := &vllmWriter{page: page{dialect: dialect{number: appendPython, parts: "bcs", sorted: true}}, s: s}
	s.w.writePython(&p.page, "12", "1")
	if !s.w.spec.NoPerfMetrics {
		p.load()
		p.tokens()
		p.requests()
		p.config()
	}
	p.http()
	return p.bytes()
}

// vllmWriter writes counters and histograms each with the family of its creation.
type vllmWriter struct {
	page

	s *vllmServer
}

// labels returns the labels of the engine.
func (p *vllmWriter) labels() string { return pairs("engine", "0", "model_name", p.s.w.spec.Model) }

// counter writes a counter with one series per value of a label.
func (p *vllmWriter) counter(name, help, labels, label string, values []string, count func(value string) uint64) {
	p.family("counter", "vllm:"+name+"_total", help)
	for _, v := range values {
		p.add(with(labels, label, v), float64(count(v)))
	}
	p.family("gauge", "vllm:"+name+"_created", help)
	for _, v := range values {
		p.add(with(labels, label, v), p.s.w.born())
	}
}

// count writes a counter without a label of its own.
func (p *vllmWriter) count(name, help string, v uint64) {
	p.one("counter", "vllm:"+name+"_total", help, p.labels(), float64(v))
	p.created(name, help)
}

// created writes the creation time of a counter.
func (p *vllmWriter) created(name, help string) {
	p.one("gauge", "vllm:"+name+"_created", help, p.labels(), p.s.w.born())
}

func (p *vllmWriter) gauge(name, help string, v float64) {
	p.one("gauge", "vllm:"+name, help, p.labels(), v)
}

func (p *vllmWriter) each(name, help string, h *histogram) {
	p.histogram("vllm:"+name, help, p.labels(), h)
	p.created(name, help)
}

func (p *vllmWriter) load() {
	s, inFlight := p.s, p.s.w.engine.inFlight()
	running := min(s.last.scheduled, inFlight)
	p.gauge("num_requests_running", "Number of requests in model execution batches.", float64(running))
	p.gauge("num_requests_waiting", "Number of requests waiting to be processed.", float64(inFlight-running))
	p.family("gauge", "vllm:num_requests_waiting_by_reason", "Number of waiting requests by reason.")
	p.add(with(p.labels(), "reason", "capacity"), float64(inFlight-running))
	p.add(with(p.labels(), "reason", "deferred"), 0)
	p.family("gauge", "vllm:engine_sleep_state", "Engine sleep state; awake = 0 means engine is sleeping; awake = "+
		"1 means engine is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.")
	p.add(with(p.labels(), "sleep_state", "awake"), 1)
	p.add(with(p.labels(), "sleep_state", "weights_offloaded"), 0)
	p.add(with(p.labels(), "sleep_state", "discard_all"), 0)
	used := min(float64(s.w.engine.kv.used)/float64(s.w.spec.Engine.KVBlocks-1), 1)
	p.gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", used)
}

func (p *vllmWriter) tokens() {
	s := p.s
	p.count("prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.", s.begun.prompt)
	p.count("prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", s.begun.cached)
	p.count("num_preemptions", "Cumulative number of preemption from the engine.", s.paused)
	p.count("prompt_tokens", "Number of prefill tokens processed.", s.begun.prompt)
	p.counter("prompt_tokens_by_source", "Number of prompt tokens by source.", p.labels(), "source",
		[]string{"local_compute", "local_cache_hit", "external_kv_transfer"}, func(source string) uint64 {
			return map[string]uint64{
				"local_compute":   s.begun.prompt - s.begun.cached,
				"local_cache_hit": s.begun.cached,
			}[source]
		})
	p.count("prompt_tokens_cached", "Number of cached prompt tokens (local + external).", s.begun.cached)
	p.counter("prompt_tokens_cached_by_source", "Prefix-cache hit tokens by the cache tier that "+
		"supplied them.", p.labels(), "source",
		[]string{"device", "host", "p2p", "disk", "external_unspecified"}, func(source string) uint64 {
			return map[string]uint64{"device": s.begun.cached}[source]
		})
	p.count("generation_tokens", "Number of generation tokens processed.", s.generated)
}

func (p *vllmWriter) requests() {
	s := p.s
	p.counter("request_success", "Count of successfully processed requests.", p.labels(), "finished_reason",
		[]string{
			"stop", "length", "abort", "error", "repetition",
		}, func(reason string) uint64 { return s.finishedBy[reason] })
	p.counter("admission_rejections", "Number of admission attempts rejected by a queue "+
		"limit, by reason.", pairs("model_name", s.w.spec.Model), "reason",
		[]string{"max_num_queued_reqs", "max_num_queued_tokens"}, func(string) uint64 { return 0 })
	p.each("request_prompt_tokens", "Number of prefill tokens processed.", s.promptEach)
	p.each("request_generation_tokens", "Number of generation tokens processed.", s.generationEach)
	p.each("iteration_tokens_total", "Histogram of number of tokens per engine_step.", s.stepped)
	p.each("request_params_n", "Histogram of the n request parameter.", s.params)
	p.each("time_to_first_token_seconds", "Histogram of time to first token in seconds.", s.ttft)
	p.each("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", s.itl)
	p.each("request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", s.tpot)
	p.each("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", s.e2e)
	p.each("request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", s.queue)
	p.each("request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", s.inference)
	p.each("request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", s.prefill)
	p.each("request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", s.decode)
	p.each("request_num_preemptions", "Histogram of the number of times a request was preempted.", s.preemptions)
	p.each("request_prefill_kv_computed_tokens", "Histogram of new KV tokens computed during prefill (excluding "+
		"cached tokens).", s.computedEach)
}

// config writes some of the labels of the real family.
func (p *vllmWriter) config() {
	cfg := p.s.w.spec.Engine
	p.one("gauge", "vllm:cache_config_info", "Information of the LLMEngine CacheConfig", pairs(
		"block_size",
		strconv.Itoa(cfg.TokensPerBlock),
		"cache_dtype",
		"auto",
		"enable_prefix_caching",
		"True",
		"engine",
		"0",
		"gpu_memory_utilization",
		"0.92",
		"num_cpu_blocks",
		"None",
		"num_gpu_blocks",
		strconv.Itoa(cfg.KVBlocks),
	), 1)
}

func (p *vllmWriter) http() {
	p.family("counter", "http_requests_total", "Total number of requests by method, status and handler.")
	for _, status := range []string{"2xx", "4xx", "5xx"} {
		if n := p.s.answered[status]; n > 0 {
			p.add(pairs("handler", "/v1/chat/completions", "method", "POST", "status", status), float64(n))
		}
	}
}
