package simulate

import (
	"net/http"
	"strconv"
	"strings"
)

// KindVLLM is vLLM's own OpenAI server, with one engine and one API process.
const KindVLLM Kind = "vllm"

func vllmServerSoftware() software {
	return software{
		path: "/metrics", onePort: true, abortsAbandoned: true,
		complete: func(s *Spec) error {
			setDefault(&s.EngineVersion, "0.32.0")
			return nil
		},
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

	ttft, itl, tpot, e2e, queue, prefill, decode, inference *histogram
	steps, promptEach, generationEach, computedEach         *histogram
	params, preemptedEach                                   *histogram
}

func newVLLMServer(w *world) *vllmServer {
	const longest = 32768
	phase := func() *histogram {
		return newHistogram(0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
	}
	between := func() *histogram {
		return newHistogram(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
	}
	// The bounds go by 1, 2 and 5 up to the longest context.
	tokens := func() *histogram {
		var bounds []float64
		for ten := 1; ten <= longest; ten *= 10 {
			for _, n := range []int{1, 2, 5} {
				if n*ten <= longest {
					bounds = append(bounds, float64(n*ten))
				}
			}
		}
		return newHistogram(bounds...)
	}
	return &vllmServer{
		plain: plain{w}, finishedBy: map[string]uint64{}, answered: map[string]uint64{},
		ttft: newHistogram(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560),
		itl:  between(), tpot: between(), e2e: phase(), queue: phase(), prefill: phase(), decode: phase(), inference: phase(),
		steps:      newHistogram(1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384),
		promptEach: tokens(), generationEach: tokens(), computedEach: tokens(),
		params: newHistogram(1, 2, 5, 10, 20), preemptedEach: newHistogram(1, 2, 3, 4, 5, 10, 20),
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
	if r.stuck {
		return
	}
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

func (s *vllmServer) page() []byte {
	p := &vllmWriter{page: page{dialect: dialect{number: appendPython, parts: "bcs", sorted: true}}, s: s}
	p.process()
	if !s.w.spec.NoPerfMetrics {
		p.load()
		p.tokens()
		p.requests()
		p.config()
	}
	p.http()
	return p.bytes()
}

// vllmWriter writes the page; each counter and histogram has a second family with
// the time of its creation.
type vllmWriter struct {
	page

	s *vllmServer
}

// of are the labels of the engine, with further ones that come between or after
// them by name.
func (p *vllmWriter) of(pairsMore ...string) string {
	all := append([]string{"engine", "0", "model_name", p.s.w.spec.Model}, pairsMore...)
	if len(pairsMore) > 0 && pairsMore[0] < "model_name" {
		all = append(append([]string{"engine", "0"}, pairsMore...), "model_name", p.s.w.spec.Model)
	}
	return pairs(all...)
}

// counter writes a counter of the engine, by the values of a label if it has one.
func (p *vllmWriter) counter(name, help, label string, values []string, of func(value string) uint64) {
	labels := func(value string) string {
		if label == "" {
			return p.of()
		}
		return p.of(label, value)
	}
	p.family("counter", "vllm:"+name+"_total", help)
	for _, v := range values {
		p.add(labels(v), float64(of(v)))
	}
	p.family("gauge", "vllm:"+name+"_created", help)
	for _, v := range values {
		p.add(labels(v), p.s.born())
	}
}

// count is a counter without a label of its own.
func (p *vllmWriter) count(name, help string, v uint64) {
	p.counter(name, help, "", []string{""}, func(string) uint64 { return v })
}

// born is when the process made its counters.
func (s *vllmServer) born() float64 { return float64(s.w.start.Add(s.w.up).UnixMilli()) / 1e3 }

func (p *vllmWriter) gauge(name, help string, v float64) {
	p.one("gauge", "vllm:"+name, help, p.of(), v)
}

func (p *vllmWriter) each(name, help string, h *histogram) {
	p.histogram("vllm:"+name, help, p.of(), h)
	p.one("gauge", "vllm:"+name+"_created", help, p.of(), p.s.born())
}

func (p *vllmWriter) process() {
	p.one("gauge", "python_info", "Python platform information",
		pairs("implementation", "CPython", "major", "3", "minor", "12", "patchlevel", "1", "version", "3.12.1"), 1)
	p.one("gauge", "process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "", p.s.born())
}

func (p *vllmWriter) load() {
	s, inFlight := p.s, p.s.w.engine.inFlight()
	running := min(s.last.scheduled, inFlight)
	p.gauge("num_requests_running", "Number of requests in model execution batches.", float64(running))
	p.gauge("num_requests_waiting", "Number of requests waiting to be processed.", float64(inFlight-running))
	p.family("gauge", "vllm:num_requests_waiting_by_reason", "Number of waiting requests by reason.")
	p.add(p.of("reason", "capacity"), float64(inFlight-running))
	p.add(p.of("reason", "deferred"), 0)
	p.family("gauge", "vllm:engine_sleep_state", "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.")
	p.add(p.of("sleep_state", "awake"), 1)
	p.add(p.of("sleep_state", "weights_offloaded"), 0)
	p.add(p.of("sleep_state", "discard_all"), 0)
	used := min(float64(s.w.engine.kv.used)/float64(s.w.spec.Engine.KVBlocks-1), 1)
	p.gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", used)
}

func (p *vllmWriter) tokens() {
	s := p.s
	p.count("prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.", s.prompt)
	p.count("prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", s.cached)
	p.count("num_preemptions", "Cumulative number of preemption from the engine.", s.preempted)
	p.count("prompt_tokens", "Number of prefill tokens processed.", s.prompt)
	p.counter("prompt_tokens_by_source", "Number of prompt tokens by source.", "source",
		[]string{"local_compute", "local_cache_hit", "external_kv_transfer"}, func(source string) uint64 {
			return map[string]uint64{"local_compute": s.prompt - s.cached, "local_cache_hit": s.cached}[source]
		})
	p.count("prompt_tokens_cached", "Number of cached prompt tokens (local + external).", s.cached)
	p.counter("prompt_tokens_cached_by_source", "Prefix-cache hit tokens by the cache tier that supplied them.", "source",
		[]string{"device", "host", "p2p", "disk", "external_unspecified"}, func(source string) uint64 {
			return map[string]uint64{"device": s.cached}[source]
		})
	p.count("generation_tokens", "Number of generation tokens processed.", s.generation)
}

func (p *vllmWriter) requests() {
	s := p.s
	p.counter("request_success", "Count of successfully processed requests.", "finished_reason",
		[]string{"stop", "length", "abort", "error", "repetition"}, func(reason string) uint64 { return s.finishedBy[reason] })
	const rejections = "Number of admission attempts rejected by a queue limit, by reason."
	for _, part := range []struct {
		kind, suffix string
		v            float64
	}{{"counter", "_total", 0}, {"gauge", "_created", s.born()}} {
		p.family(part.kind, "vllm:admission_rejections"+part.suffix, rejections)
		for _, reason := range []string{"max_num_queued_reqs", "max_num_queued_tokens"} {
			p.add(pairs("model_name", s.w.spec.Model, "reason", reason), part.v)
		}
	}
	p.each("request_prompt_tokens", "Number of prefill tokens processed.", s.promptEach)
	p.each("request_generation_tokens", "Number of generation tokens processed.", s.generationEach)
	p.each("iteration_tokens_total", "Histogram of number of tokens per engine_step.", s.steps)
	p.each("request_params_n", "Histogram of the n request parameter.", s.params)
	p.each("time_to_first_token_seconds", "Histogram of time to first token in seconds.", s.ttft)
	p.each("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", s.itl)
	p.each("request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", s.tpot)
	p.each("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", s.e2e)
	p.each("request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", s.queue)
	p.each("request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", s.inference)
	p.each("request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", s.prefill)
	p.each("request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", s.decode)
	p.each("request_num_preemptions", "Histogram of the number of times a request was preempted.", s.preemptedEach)
	p.each("request_prefill_kv_computed_tokens", "Histogram of new KV tokens computed during prefill (excluding cached tokens).", s.computedEach)
}

// config writes some of the labels of the real one, of which each release has
// more.
func (p *vllmWriter) config() {
	cfg := p.s.w.spec.Engine
	p.one("gauge", "vllm:cache_config_info", "Information of the LLMEngine CacheConfig", pairs(
		"block_size", strconv.Itoa(cfg.TokensPerBlock), "cache_dtype", "auto", "enable_prefix_caching", "True", "engine", "0",
		"gpu_memory_utilization", "0.92", "num_cpu_blocks", "None", "num_gpu_blocks", strconv.Itoa(cfg.KVBlocks)), 1)
}

func (p *vllmWriter) http() {
	p.family("counter", "http_requests_total", "Total number of requests by method, status and handler.")
	for _, status := range []string{"2xx", "4xx", "5xx"} {
		if n := p.s.answered[status]; n > 0 {
			p.add(pairs("handler", "/v1/chat/completions", "method", "POST", "status", status), float64(n))
		}
	}
}

func (s *vllmServer) handlers(r *Replica) []http.Handler {
	mux := r.routes(s, map[string]answer{
		// The page takes no notice of Accept, unlike whatever else begins so.
		"GET /metrics": s.w.shown("text/plain; version=1.0.0; charset=utf-8", s.page),
		// It is 200 for as long as the process is there, whatever the engine does.
		"GET /health":    ok(func() any { return nil }),
		"GET /ping":      ok(func() any { return nil }),
		"GET /version":   ok(func() any { return object{"version": s.w.spec.EngineVersion} }),
		"GET /v1/models": ok(func() any { return modelList(s.w.start.Add(s.w.now), "vllm", s.w.spec.Model) }),
	})
	r.addChat(mux, s)
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasPrefix(req.URL.Path, "/metrics") {
			notFound(w, req)
			return
		}
		r.clientPage(s, w, req, s.page)
	})
	return []http.Handler{uvicorn(mux)}
}
