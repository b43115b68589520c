package simulate

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// KindSGLang is SGLang's own server, with one rank.
const KindSGLang Kind = "sglang"

func sglangSoftware() software {
	return software{
		path: "/metrics", onePort: true, abortsAbandoned: true,
		complete: func(s *Spec) error {
			setDefault(&s.EngineVersion, "0.5.23")
			return nil
		},
		start: func(w *world) server { return newSGLang(w) },
	}
}

// sglang is a simulated SGLang 0.5.23: what requests are booked with comes when
// they end, those of clients that left too; tokens of each step are in counters of
// their own, all but the first of each request.
type sglang struct {
	plain
	requests, aborted, prompt, generation, cached uint64
	computed, decoded, prefills, decodes          uint64
	responses                                     map[int]uint64 // To chat completions, by status.
	last                                          iteration

	ttft, itl, tpot, e2e, queue, promptEach, generationEach *histogram
}

func newSGLang(w *world) *sglang {
	between := func() *histogram {
		return newHistogram(0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8)
	}
	tokens := func() *histogram {
		return newHistogram(100, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 12500, 15000, 17500, 20000, 22500, 25000,
			27500, 30000, 35000, 40000, 60000, 80000, 100000, 200000, 300000, 400000, 600000, 800000, 1e6, 1.1e6)
	}
	return &sglang{
		plain: plain{w}, responses: map[int]uint64{},
		ttft: newHistogram(0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400),
		itl:  between(), tpot: between(), promptEach: tokens(), generationEach: tokens(),
		e2e: newHistogram(0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1200, 1800, 2400),
		queue: newHistogram(0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600,
			700, 800, 900, 1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000),
	}
}

func (s *sglang) admit(r *request) bool {
	ok := s.plain.admit(r)
	if !ok {
		s.responses[http.StatusInternalServerError]++
	}
	return ok
}

func (s *sglang) started(r *request) {
	s.ttft.observe(seconds(r.arrived, r.firstToken))
	s.queue.observe(seconds(r.arrived, r.scheduled))
}

func (s *sglang) failed(*request) { s.responses[http.StatusInternalServerError]++ }

func (s *sglang) finished(r *request) {
	if r.stuck {
		return
	}
	s.responses[http.StatusOK]++
	s.requests++
	if r.abandoned {
		s.aborted++
	}
	s.prompt += uint64(r.prompt)
	s.cached += uint64(r.cached)
	s.generation += uint64(r.generated)
	s.promptEach.observe(float64(r.prompt))
	s.generationEach.observe(float64(r.generated))
	l := latencyOf(r)
	s.e2e.observe(l.E2E.Seconds())
	if r.generated > 1 {
		s.tpot.observe(l.TPOT.Seconds())
	}
}

func (s *sglang) iterated(it *iteration) {
	s.computed += uint64(it.contextTokens)
	s.decoded += uint64(it.decoding)
	if it.contextTokens > 0 {
		s.prefills++
	}
	if it.decoding > 0 {
		s.decodes++
	}
	s.itl.observeN(it.latency.Seconds(), uint64(it.decoding))
	s.last = *it
}

// labels are those of the scheduler's series with a further pair in its place.
func (s *sglang) labels(name, value string) string {
	var all []string
	for _, pair := range [][2]string{{"engine_type", "unified"}, {"mode", ""}, {"model_name", s.w.spec.Model}, {"moe_ep_rank", "0"}, {"pid", ""}, {"pp_rank", "0"}, {"tp_rank", "0"}} {
		if pair[0] == name {
			pair[1] = value
		}
		if pair[1] != "" {
			all = append(all, pair[0], pair[1])
		}
	}
	return pairs(all...)
}

// ofRequests are the labels of what requests are booked with.
func (s *sglang) ofRequests() string {
	return pairs("engine_type", "unified", "is_streaming", "true", "model_name", s.w.spec.Model)
}

func (s *sglang) page() []byte {
	p := &page{dialect: pythonDialect()}
	s.writeLoad(p)
	s.writeHTTP(p)
	s.writeSteps(p)
	s.writeRequests(p)
	return p.bytes()
}

func (s *sglang) writeLoad(p *page) {
	cfg, kv, inFlight := s.w.spec.Engine, s.w.engine.kv, s.w.engine.inFlight()
	running := min(s.last.scheduled, inFlight)
	used, evictable := (kv.used-kv.evictable)*kv.perBlock, kv.evictable*kv.perBlock
	room := cfg.KVBlocks * cfg.TokensPerBlock
	gauge := func(name, help string, v float64) { p.one("gauge", "sglang:"+name, help, s.labels("", ""), v) }
	gauge("max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", float64(room))
	gauge("page_size", "KV cache page size in tokens.", float64(cfg.TokensPerBlock))
	gauge("num_pages", "Number of KV cache pages.", float64(cfg.KVBlocks))
	gauge("num_running_reqs", "The number of running requests.", float64(running))
	gauge("num_queue_reqs", "The number of requests in the waiting queue.", float64(inFlight-running))
	gauge("num_grammar_queue_reqs", "The number of requests in the grammar waiting queue.", 0)
	throughput := 0.0
	if s.last.latency > 0 {
		throughput = float64(s.last.decoding) / s.last.latency.Seconds()
	}
	gauge("gen_throughput", "The generation throughput (token/s).", throughput)
	gauge("token_usage", "The token usage.", math.Round(100*float64(used)/float64(room))/100)
	gauge("kv_available_tokens", "Number of free token slots in the KV cache pool.", float64(room-used-evictable))
	gauge("kv_evictable_tokens", "Number of evictable (radix-cached) token slots in the KV cache pool.", float64(evictable))
	gauge("kv_used_tokens", "Number of actively used token slots in the KV cache pool.", float64(used))
	gauge("spec_accept_length", "Mean acceptance length of speculative decoding (accepted drafts + bonus token per forward).", 0)
	gauge("spec_accept_rate", "Speculative acceptance rate (`accepted drafts / proposed drafts` in batch).", 0)
	gauge("fwd_occupancy", "Forward pass GPU occupancy percentage.", math.NaN())
	pid := strconv.Itoa(2000 + s.w.truth.Epoch)
	p.one("gauge", "sglang:num_retracted_reqs", "The number of retracted requests.", s.labels("pid", pid), float64(s.last.paused))
	p.one("gauge", "sglang:num_paused_reqs", "The number of paused requests by async weight sync.", s.labels("pid", pid), 0)
}

func (s *sglang) writeHTTP(p *page) {
	const path = "/v1/chat/completions"
	var all uint64
	p.family("counter", "sglang:http_responses_total", "Total number of HTTP responses by endpoint and status code")
	for _, status := range []int{http.StatusOK, http.StatusInternalServerError} {
		if n := s.responses[status]; n > 0 {
			p.add(pairs("endpoint", path, "method", "POST", "status_code", strconv.Itoa(status)), float64(n))
			all += n
		}
	}
	if inFlight := uint64(s.w.engine.inFlight()); all+inFlight > 0 {
		p.one("counter", "sglang:http_requests_total", "Total number of HTTP requests by endpoint and method",
			pairs("endpoint", path, "method", "POST"), float64(all+inFlight))
	}
}

// writeSteps writes what moves with the steps of the engine.
func (s *sglang) writeSteps(p *page) {
	modes := func(name, help string, modes []string, of ...uint64) {
		p.family("counter", "sglang:"+name, help)
		for i, mode := range modes {
			if of[i] > 0 {
				p.add(s.labels("mode", mode), float64(of[i]))
			}
		}
	}
	modes("cuda_graph_passes_total", "Total number of forward passes categorized by CUDA graph.", []string{"prefill_none", "decode_none"}, s.prefills, s.decodes)
	modes("realtime_tokens_total", "Total number of tokens processed (updated on each log interval). mode: prefill_compute, prefill_cache, decode.",
		[]string{"prefill_compute", "decode"}, s.computed, s.decoded)
	p.histogram("sglang:queue_time_seconds", "Histogram of queueing time in seconds.", s.labels("", ""), s.queue)
	p.histogram("sglang:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", pairs("engine_type", "unified", "model_name", s.w.spec.Model), s.itl)
	p.histogram("sglang:time_to_first_token_seconds", "Histogram of time to first token in seconds.", s.ofRequests(), s.ttft)
}

// writeRequests writes what requests are booked with when they end.
func (s *sglang) writeRequests(p *page) {
	if s.requests == 0 {
		return
	}
	plain := pairs("engine_type", "unified", "model_name", s.w.spec.Model)
	p.one("counter", "sglang:prompt_tokens_total", "Number of prefill tokens processed.", s.ofRequests(), float64(s.prompt))
	p.one("counter", "sglang:generation_tokens_total", "Number of generation tokens processed.", s.ofRequests(), float64(s.generation))
	p.one("counter", "sglang:num_requests_total", "Number of requests processed.", s.ofRequests(), float64(s.requests))
	if s.aborted > 0 {
		p.one("counter", "sglang:num_aborted_requests_total", "Number of requests aborted.", plain, float64(s.aborted))
	}
	if s.cached > 0 {
		p.one("counter", "sglang:cached_tokens_total", "Number of cached prompt tokens by source (device/host/storage).",
			pairs("cache_source", "device", "engine_type", "unified", "model_name", s.w.spec.Model), float64(s.cached))
	}
	p.histogram("sglang:e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", s.ofRequests(), s.e2e)
	p.histogram("sglang:request_time_per_output_token_seconds",
		"Per-request TPOT in seconds: (finished_time - first_token_time) / (completion_tokens - 1).", s.ofRequests(), s.tpot)
	p.histogram("sglang:prompt_tokens_histogram", "Histogram of prompt token length.", plain, s.promptEach)
	p.histogram("sglang:generation_tokens_histogram", "Histogram of generation token length.", plain, s.generationEach)
}

func (s *sglang) handlers(r *Replica) []http.Handler {
	info := ok(func() any {
		return object{"model_path": "/models/" + s.w.spec.Model, "served_model_name": s.w.spec.Model, "model_type": "llama"}
	})
	version := ok(func() any {
		return object{"version": s.w.spec.EngineVersion, "max_running_requests": s.w.spec.Engine.MaxActive}
	})
	mux := r.routes(s, map[string]answer{
		"GET /model_info": info, "GET /get_model_info": info, "GET /server_info": version, "GET /get_server_info": version,
		"GET /ping":      ok(func() any { return nil }),
		"GET /v1/models": ok(func() any { return modelList(s.w.start.Add(s.w.now), "sglang", s.w.spec.Model) }),
	})
	for _, path := range []string{"GET /health", "GET /health_generate"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, req *http.Request) { s.generateHealth(r, w, req) })
	}
	r.addChat(mux, s)
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		if s.w.spec.NoPerfMetrics || !strings.HasPrefix(req.URL.Path, "/metrics") {
			notFound(w, req)
			return
		}
		r.clientPage(s, w, req, s.page)
	})
	return []http.Handler{uvicorn(mux)}
}

// generateHealth sends a request of one token through the engine, and answers
// when it is done, or 503 after a while. The real server leaves it out of what it
// books requests with.
func (s *sglang) generateHealth(r *Replica, w http.ResponseWriter, req *http.Request) {
	const patience = 20 * time.Second
	x, ok := r.enter(s, "health", 1)
	status := http.StatusServiceUnavailable
	late := time.NewTimer(patience)
	defer late.Stop()
	for ok {
		select {
		case <-req.Context().Done():
			x.leave()
			return
		case <-late.C:
			ok = false
		case e := <-x.events:
			if e.done && !e.failed {
				status = http.StatusOK
			}
			ok = !e.done
		}
	}
	write(w, status, nil)
}
