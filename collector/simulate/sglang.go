package simulate

import (
	"math"
	"net/http"
	"strconv"
)

// KindSGLang is SGLang's own server, with one rank.
const KindSGLang Kind = "sglang"

func sglangSoftware() software {
	return software{
		path: "/metrics", onePort: true, engineVersion: "0.5.23", abortsAbandoned: true,
		start:    func(w *world) server { return newSGLang(w) },
		dialects: func() []Dialect { return dialectsOf(sglangWritten().releases("0.3.5.post1")...) },
	}
}

// sglangWritten returns what not all releases write, from 0.3.5.post1 on.
func sglangWritten() written {
	return written{
		since("0.4.1.post6"):  {"num_requests_total"},
		since("0.4.1.post7"):  {"spec_accept_length"},
		since("0.4.3.post3"):  {"inter_token_latency_seconds"},
		since("0.4.3.post4"):  {"cached_tokens_total"},
		before("0.4.4.post4"): {"time_per_output_token_seconds"},
		since("0.4.6.post4"): {
			"num_grammar_queue_reqs", "num_decode_prealloc_queue_reqs", "num_decode_transfer_queue_reqs",
			"prompt_tokens_histogram", "generation_tokens_histogram", "{engine_type}", "num_transfer_failed_reqs_total",
			"num_bootstrap_failed_reqs_total",
		},
		between("0.4.6.post4", "0.5.1.post2"): {"num_prefill_infight_queue_reqs"},
		between("0.4.6.post4", "0.5.12"):      {"num_prefill_prealloc_queue_reqs"},
		since("0.4.7"):                        {"num_aborted_requests_total"},
		since("0.4.9.post1"):                  {"{pp_rank}", "{tp_rank}"},
		since("0.5.1.post2"):                  {"num_prefill_inflight_queue_reqs"},
		since("0.5.2"):                        {"num_paused_reqs", "num_retracted_reqs", "kv_transfer_latency_ms"},
		between("0.5.2", "0.5.3"):             {"queue_time_s"},
		since("0.5.3"):                        {"queue_time_seconds"},
		since("0.5.3.post2"):                  {"spec_accept_rate"},
		since("0.5.4.post3"):                  {"mamba_usage"},
		since("0.5.5"):                        {"{moe_ep_rank}"},
		since("0.5.6"):                        {"max_total_num_tokens"},
		since("0.5.6.post2"):                  {"http_responses_total"},
		since("0.5.7"): {
			"cuda_graph_passes_total", "realtime_tokens_total", "num_retracted_requests_total", "http_requests_total",
			"kv_transfer_total_mb",
		},
		since("0.5.8"): {"http_requests_active"},
		since("0.5.9"): {"{cache_source}"},
		since("0.5.10"): {
			sglangTransferTimes, sglangFullest, "hicache_host_used_tokens", "hicache_host_total_tokens",
		},
		since("0.5.11"): {
			"kv_used_tokens", "kv_available_tokens", "kv_evictable_tokens", "num_pages", "page_size",
		},
		since("0.5.12"): {"num_prefill_bootstrap_queue_reqs", "fwd_occupancy"},
		since("0.5.16"): {"spec_cap_length"},
		since("0.5.17"): {"{is_streaming}"},
		since("0.5.18"): {"load_back_bytes_total", "hicache_backup_bytes_total"},
		since("0.5.22"): {"request_time_per_output_token_seconds"},
	}
}

// sglang is an SGLang 0.5.23: it counts requests when they end, even abandoned ones, and the tokens
// of each step without the first of each request.
type sglang struct {
	plain
	booked
	inside                            bool // Inside a worker of Dynamo, without API.
	asked, aborted, prefills, decodes uint64
	// unanswered have left the engine.
	unanswered int
	responses  map[string]uint64 // By labels.
	waited     *histogram
}

func newSGLang(w *world) *sglang {
	between := func() *histogram {
		return newHistogram(0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08,
			0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8)
	}
	tokens := func() *histogram {
		return newHistogram(100, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000,
			12500, 15000, 17500, 20000, 22500, 25000, 27500, 30000, 35000, 40000, 60000, 80000, 100000, 200000,
			300000, 400000, 600000, 800000, 1e6, 1.1e6)
	}
	return &sglang{
		plain: plain{w}, responses: map[string]uint64{},
		booked: booked{requestSizes: requestSizes{
			promptEach:     tokens(),
			generationEach: tokens(),
		}, requestTimings: requestTimings{
			ttft: newHistogram(0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400),
			itl:  between(), tpot: between(),
			e2e: newHistogram(0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1200,
				1800, 2400),
		}},
		waited: newHistogram(0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60,
			70, 80, 90, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000),
	}
}

func (s *sglang) admit(r *request) bool {
	s.asked++
	ok := s.plain.admit(r)
	if !ok {
		s.failed(r)
	}
	return ok
}

// respond counts responses of a path.
func (s *sglang) respond(path, method string, status int, n uint64) {
	s.responses[pairs("endpoint", path, "method", method, "status_code", strconv.Itoa(status))] += n
}

func (s *sglang) started(r *request) {
	s.booked.started(r)
	s.waited.observe(seconds(r.arrived, r.scheduled))
}

func (s *sglang) failed(*request) {
	s.respond(chatPath, http.MethodPost, http.StatusInternalServerError, 1)
}

func (s *sglang) finished(r *request) {
	s.respond(chatPath, http.MethodPost, http.StatusOK, 1)
	if r.abandoned {
		s.aborted++
	}
	s.booked.finished(r)
}

func (s *sglang) iterated(it *iteration) {
	s.booked.iterated(it)
	if it.contextTokens > 0 {
		s.prefills++
	}
	if it.decoding > 0 {
		s.decodes++
	}
}

// total counts canceled requests as completed too. Others than requests were answered as well.
func (s *sglang) total(t *Totals) {
	ended := t.OK + t.Canceled
	s.booked.total(s.w, t, ended)
	s.asked, s.aborted, s.decodes, s.unanswered = t.Begun, t.Canceled, t.Steps, t.Unanswered
	s.waited.observeN(t.Queue.Seconds(), t.OK)
	s.respond("/metrics", http.MethodGet, http.StatusOK, 1)
	s.respond("/health", http.MethodGet, http.StatusServiceUnavailable, 3)
	answered := ended - uint64(t.Unanswered)
	for status, n := range map[int]uint64{200: answered, 400: t.Client, 500: t.Failed, 503: t.Overload} {
		s.respond(chatPath, http.MethodPost, status, n)
	}
}

func (s *sglang) handlers(r *Replica) []http.Handler {
	info := ok(func() any {
		return object{
			"model_path":        "/models/" + s.w.spec.Model,
			"served_model_name": s.w.spec.Model,
			"model_type":        "llama",
		}
	})
	version := ok(func() any {
		return object{"version": s.w.spec.EngineVersion, "max_running_requests": s.w.spec.Engine.MaxActive}
	})
	mux := r.routes(s, map[string]answer{
		"GET /model_info":      info,
		"GET /get_model_info":  info,
		"GET /server_info":     version,
		"GET /get_server_info": version,
		"GET /v1/models":       ok(func() any { return modelList(s.w.start.Add(s.w.now), "sglang", s.w.spec.Model) }),
	})
	return r.fastAPI(mux, s, s.w.spec.NoPerfMetrics)
}

// labels, ofRank and ofRequests return the labels of engine, scheduler and requests.
func (s *sglang) labels() string {
	return pairs("engine_type", "unified", "model_name", s.w.spec.Model)
}

func (s *sglang) ofRank() string {
	return s.labels() + "," + pairs("moe_ep_rank", "0", "pp_rank", "0", "tp_rank", "0")
}

func (s *sglang) ofRequests() string { return with(s.labels(), "is_streaming", "true") }

func (s *sglang) page() []byte {
	p := &page{dialect: pythonDialect(), written: sglangWritten(), prefix: "sglang:"}
	if !s.inside {
		p.release = s.w.spec.EngineVersion
	}
	s.writeLoad(p)
	if !s.inside {
		s.writeHTTP(p)
	}
	s.writeSteps(p)
	s.writeRequests(p)
	s.writeTransfers(p)
	s.writeHost(p)
	return p.bytes()
}

func (s *sglang) writeLoad(p *page) {
	cfg, kv, inFlight := s.w.spec.Engine, s.w.engine.kv, s.w.engine.inFlight()
	running := min(s.last.scheduled, inFlight)
	used, evictable := kv.used*kv.perBlock, kv.evictable*kv.perBlock
	room := cfg.KVBlocks * cfg.TokensPerBlock
	gauge := func(name, help string, v float64) { p.one("gauge", "sglang:"+name, help, s.ofRank(), v) }
	gauge("max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", float64(room))
	gauge("page_size", "KV cache page size in tokens.", float64(cfg.TokensPerBlock))
	gauge("num_pages", "Number of KV cache pages.", float64(cfg.KVBlocks))
	gauge("num_running_reqs", "The number of running requests.", float64(running))
	gauge("num_queue_reqs", "The number of requests in the waiting queue.", float64(inFlight-running))
	gauge("num_grammar_queue_reqs", "The number of requests in the grammar waiting queue.", 0)
	gauge("num_prefill_prealloc_queue_reqs", "The number of requests in the prefill prealloc queue.", 0)
	gauge("num_prefill_bootstrap_queue_reqs", "The number of requests in the prefill bootstrap queue.", 0)
	gauge("num_decode_prealloc_queue_reqs", "The number of requests in the decode prealloc queue.", 0)
	gauge("num_decode_transfer_queue_reqs", "The number of requests in the decode transfer queue.", 0)
	gauge("num_prefill_infight_queue_reqs", "The number of requests in the prefill infight queue.", 0)
	gauge("num_prefill_inflight_queue_reqs", "The number of requests in the prefill inflight queue.", 0)
	throughput := 0.0
	if s.last.latency > 0 {
		throughput = float64(s.last.decoding) / s.last.latency.Seconds()
	}
	gauge("num_used_tokens", "The number of used tokens.", float64(used))
	gauge("gen_throughput", "The generation throughput (token/s).", throughput)
	usage, states := s.usage(p, float64(used)/float64(room))
	gauge("token_usage", "The token usage.", math.Round(100*usage)/100)
	gauge("mamba_usage", "The token usage for Mamba layers.", states)
	gauge("kv_available_tokens", "Number of free token slots in the KV cache pool.", float64(room-used-evictable))
	gauge("kv_evictable_tokens", "Number of evictable (radix-cached) token slots in the "+
		"KV cache pool.", float64(evictable))
	gauge("kv_used_tokens", "Number of actively used token slots in the KV cache pool.", float64(used))
	length, rate := s.accepted()
	gauge("spec_accept_length", "Mean acceptance length of speculative decoding (accepted drafts + bonus token "+
		"per forward).", length)
	gauge("spec_accept_rate", "Speculative acceptance rate (`accepted drafts / proposed drafts` in batch).", rate)
	gauge("spec_cap_length", "Mean number of draft tokens that were verified per request.", 0)
	gauge("fwd_occupancy", "Forward pass GPU occupancy percentage.", math.NaN())
	process := with(s.ofRank(), "pid", strconv.Itoa(2000+s.w.truth.Epoch))
	p.one("gauge", "sglang:num_retracted_reqs", "The number of retracted requests.", process, float64(s.last.paused))
	p.one("gauge", "sglang:num_paused_reqs", "The number of paused requests by async weight sync.", process, 0)
	if s.paused > 0 {
		p.one("counter", "sglang:num_retracted_requests_total", "Total number of retracted requests.", s.ofRank(),
			float64(s.paused))
	}
}

func (s *sglang) writeHTTP(p *page) {
	p.family("counter", "sglang:http_responses_total", "Total number of HTTP responses by endpoint and status code")
	p.addCounts(s.responses)
	if s.asked > 0 {
		labels := pairs("endpoint", chatPath, "method", http.MethodPost)
		p.one("counter", "sglang:http_requests_total", "Total number of HTTP requests by endpoint and method",
			labels, float64(s.asked))
		p.one("gauge", "sglang:http_requests_active", "Number of currently active HTTP requests",
			labels, float64(s.w.inFlight()+s.unanswered))
	}
}

// writeSteps writes what changes with each step of the engine.
func (s *sglang) writeSteps(p *page) {
	modes := func(name, help string, modes []string, of ...uint64) {
		p.family("counter", "sglang:"+name, help)
		for i, mode := range modes {
			if of[i] > 0 {
				p.add(with(s.ofRank(), "mode", mode), float64(of[i]))
			}
		}
	}
	modes(
		"cuda_graph_passes_total",
		"Total number of forward passes categorized by CUDA graph.",
		[]string{"prefill_none", "decode_none"},
		s.prefills,
		s.decodes,
	)
	modes("realtime_tokens_total", "Total number of tokens processed (updated on each log interval). mode: "+
		"prefill_compute, prefill_cache, decode.",
		[]string{"prefill_compute", "decode"}, s.context, s.decoded)
	p.histogram("sglang:queue_time_s", "Histogram of queueing time in seconds.", s.ofRank(), s.waited)
	p.histogram("sglang:queue_time_seconds", "Histogram of queueing time in seconds.", s.ofRank(), s.waited)
	// The first releases observe a mean since the first token, once a chunk.
	p.histogram("sglang:time_per_output_token_seconds", "Histogram of time per output token in seconds.", s.labels(),
		s.e2e)
	p.histogram("sglang:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", s.labels(), s.itl)
	p.histogram(
		"sglang:time_to_first_token_seconds",
		"Histogram of time to first token in seconds.",
		s.ofRequests(),
		s.ttft,
	)
}

// writeRequests writes what changes when requests end.
func (s *sglang) writeRequests(p *page) {
	if s.requests == 0 {
		return
	}
	p.one(
		"counter",
		"sglang:prompt_tokens_total",
		"Number of prefill tokens processed.",
		s.ofRequests(),
		float64(s.ended.prompt),
	)
	p.one(
		"counter",
		"sglang:generation_tokens_total",
		"Number of generation tokens processed.",
		s.ofRequests(),
		float64(s.ended.generation),
	)
	p.one("counter", "sglang:num_requests_total", "Number of requests processed.", s.ofRequests(), float64(s.requests))
	if s.aborted > 0 {
		p.one(
			"counter",
			"sglang:num_aborted_requests_total",
			"Number of requests aborted.",
			s.labels(),
			float64(s.aborted),
		)
	}
	if s.ended.cached > 0 {
		p.one("counter", "sglang:cached_tokens_total", "Number of cached prompt tokens by source "+
			"(device/host/storage).",
			with(s.labels(), "cache_source", "device"), float64(s.ended.cached))
	}
	p.histogram(
		"sglang:e2e_request_latency_seconds",
		"Histogram of End-to-end request latency in seconds",
		s.ofRequests(),
		s.e2e,
	)
	p.histogram("sglang:request_time_per_output_token_seconds",
		"Per-request TPOT in seconds: (finished_time - first_token_time) / "+
			"(completion_tokens - 1).", s.ofRequests(), s.tpot)
	p.histogram("sglang:prompt_tokens_histogram", "Histogram of prompt token length.", s.labels(), s.promptEach)
	p.histogram(
		"sglang:generation_tokens_histogram",
		"Histogram of generation token length.",
		s.labels(),
		s.generationEach,
	)
}
