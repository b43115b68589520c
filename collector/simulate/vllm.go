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
		path: "/metrics", onePort: true, engineVersion: "0.32.0", abortsAbandoned: true, endsFailed: true,
		start:    func(w *world) server { return newVLLMServer(w) },
		dialects: vllmDialects,
	}
}

// vllmServer is a vLLM 0.32: tokens and their times move with each step, all else when a request
// ends. A client that left counts only its tokens and its 2xx.
type vllmServer struct {
	plain
	booked
	transfers
	inside                       bool // Inside a worker of Dynamo, without API.
	finishedBy                   map[string]uint64
	rejected                     uint64
	answered                     map[string]uint64 // Answers by labels.
	stepped, params, preemptions *histogram
}

func newVLLMServer(w *world) *vllmServer {
	s := &vllmServer{
		plain: plain{w}, booked: booked{zeros: true, zeroWaits: true},
		finishedBy: map[string]uint64{}, answered: map[string]uint64{},
		stepped:   newHistogram(1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384),
		transfers: newTransfers(),
		params:    newHistogram(1, 2, 5, 10, 20), preemptions: newHistogram(1, 2, 3, 4, 5, 10, 20),
	}
	s.observe(w, vllmFamilies())
	return s
}

func (s *vllmServer) admit(r *request) bool {
	ok := s.plain.admit(r)
	if !ok {
		s.failed(r)
	}
	return ok
}

// answer counts answers with a class of the HTTP status.
func (s *vllmServer) answer(handler, method, class string, n uint64) {
	s.answered[pairs("handler", handler, "method", method, "status", class)] += n
}

func (s *vllmServer) started(r *request) {
	s.booked.started(r)
	if s.w.spec.Stage == StageDecode {
		s.fetch(s.w, r)
	}
}

func (s *vllmServer) failed(*request) { s.answer(chatPath, http.MethodPost, "5xx", 1) }

func (s *vllmServer) finished(r *request) {
	s.answer(chatPath, http.MethodPost, "2xx", 1)
	if r.abandoned {
		return
	}
	s.booked.finished(r)
	s.finishedBy[r.reason]++
	s.params.observe(1)
	s.preemptions.observe(0)
}

// total counts canceled requests as answered only, unless the frontend is the one in Rust. Where the
// queue is limited, half of the rejected requests are streams, which have begun with a 200. A request
// for models, and as many for unknown paths as clients' errors, are counted beside.
func (s *vllmServer) total(t *Totals) {
	well, badly, ended := t.OK+t.Canceled-uint64(t.Unanswered), t.Failed, t.OK
	if s.limits() {
		s.rejected = t.Overload
		well, badly = well+t.Overload/2, badly+t.Overload-t.Overload/2
	}
	s.finishedBy["stop"] = t.OK
	if s.w.spec.RustFrontend {
		s.finishedBy["abort"], ended = t.Canceled, t.OK+t.Canceled
	}
	s.booked.total(s.w, t, ended)
	s.stepped.observeN(2, t.Steps)
	for class, n := range map[string]uint64{"2xx": well, "4xx": t.Client, "5xx": badly} {
		s.answer(chatPath, http.MethodPost, class, n)
	}
	s.answer("/v1/models", http.MethodGet, "2xx", 1)
	s.answer("none", http.MethodGet, "4xx", t.Client)
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

// vllmSwapped returns the releases that show the time of prefill as that of decode, and the reverse.
func vllmSwapped() span { return between("0.6.4", "0.6.5") }

// vllmBlocks returns the releases that count what they found in the prefix cache in blocks
// (v1/core/kv_cache_manager.py), as HELP says.
func vllmBlocks() span { return before("0.9.0") }

// vllmLimits is the release that limits its queue.
const vllmLimits = "0.32.0"

// vllmDialects returns the releases with engine V0, and those with V1.
func vllmDialects() []Dialect {
	all := dialectsOf(vllmWrittenV0().releases("0.4.3")...)
	for i := range all {
		all[i].OldEngine = true
	}
	return append(all, dialectsOf(vllmWritten().releases("0.7.1")...)...)
}

// since reports whether the release is one or later. The engine of another server is the newest.
func (s *vllmServer) since(release string) bool {
	return s.inside || !earlier(s.w.spec.EngineVersion, release)
}

// limits reports whether the queue has a limit, and the page counts rejected requests.
func (s *vllmServer) limits() bool {
	return s.since(vllmLimits) && !s.inside && !s.w.spec.RustFrontend && !s.w.spec.NoPerfMetrics
}

// page renders the families of the engine and of the API. The frontend in Rust exposes neither the
// config of the cache nor whether the engine sleeps.
func (s *vllmServer) page() []byte {
	p := &vllmWriter{page: page{dialect: dialect{number: appendPython, parts: "bcs", sorted: true}, prefix: "vllm:"}, s: s}
	if p.written = vllmWritten(); s.w.spec.OldEngine {
		p.written = vllmWrittenV0()
	}
	if !s.inside {
		p.release = s.w.spec.EngineVersion
	}
	rust := s.w.spec.RustFrontend
	if !rust && !s.inside {
		s.w.writePython(&p.page, "3.12.1")
	}
	if !s.w.spec.NoPerfMetrics {
		p.load()
		if !rust {
			p.sleep()
		}
		p.cache()
		p.tokens()
		p.requests()
		p.drafts()
		p.adapters()
		p.transfers()
		p.offloads()
		if !rust {
			p.config()
		}
	}
	if !s.inside {
		p.family("counter", "http_requests_total", "Total number of requests by method, status and handler.")
		p.addCounts(s.answered)
	}
	return p.bytes()
}

// vllmWritten returns what not all releases of engine V1 write, from 0.7.1 on.
func vllmWritten() written {
	return written{
		since("0.7.2"): {"request_success_total"},
		since("0.7.3"): {
			"e2e_request_latency_seconds", "iteration_tokens_total", "request_queue_time_seconds",
			"request_prefill_time_seconds", "request_decode_time_seconds", "request_inference_time_seconds",
		},
		between("0.7.3", "0.11.0"): {"gpu_prefix_cache_queries_total", "gpu_prefix_cache_hits_total"},
		vllmBlocks():               {}, // Names alone do not tell.
		since("0.8.0"): {
			"num_preemptions_total", "request_params_n", "cache_config_info", "lora_requests_info",
		},
		since("0.8.3"): {
			"http_requests_total", "{engine}", "spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total",
		},
		since("0.8.5"):   {"spec_decode_num_drafts_total", "spec_decode_num_accepted_tokens_per_pos_total"},
		since("0.9.2"):   {"kv_cache_usage_perc", "prefix_cache_queries_total", "prefix_cache_hits_total"},
		since("0.10.2"):  {"inter_token_latency_seconds"},
		since("0.11.0"):  {"request_time_per_output_token_seconds"},
		before("0.11.0"): {"gpu_cache_usage_perc"},
		since("0.11.1"): {
			"engine_sleep_state", "nixl_xfer_time_seconds", "nixl_bytes_transferred", "nixl_num_failed_transfers_total",
			"nixl_num_failed_notifications_total",
		},
		before("0.12.0"):  {"time_per_output_token_seconds"},
		since("0.13.0"):   {"request_prefill_kv_computed_tokens"},
		since("0.15.0"):   {"nixl_num_kv_expired_reqs_total"},
		since("0.16.0"):   {"prompt_tokens_cached_total", "prompt_tokens_by_source_total", "kv_offload_total_bytes_total"},
		since("0.20.0"):   {"num_requests_waiting_by_reason"},
		since("0.22.0"):   {"mooncake_store_operation_bytes_total"},
		since("0.24.0"):   {"kv_offload_load_bytes_total", "kv_offload_store_bytes_total"},
		since("0.30.0"):   {"request_num_preemptions"},
		since(vllmLimits): {"admission_rejections_total", "prompt_tokens_cached_by_source_total"},
		since("0.33.0"): {
			"mooncake_xfer_time_seconds", "mooncake_bytes_transferred", "mooncake_num_failed_transfers_total",
			"mooncake_num_failed_recvs_total", "mooncake_num_kv_expired_reqs_total", "umbp_transfer_bytes_total",
		},
		inNone(): {"num_requests_swapped", "gpu_prefix_cache_hit_rate"},
	}
}

// vllmWrittenV0 returns what not all releases of engine V0 write, from 0.4.3 to 0.11.0.
func vllmWrittenV0() written {
	return written{
		since("0.6.4"): {
			"iteration_tokens_total", "request_queue_time_seconds", "request_prefill_time_seconds",
			"request_decode_time_seconds", "request_inference_time_seconds", "lora_requests_info",
		},
		between("0.5.3", "0.10.0"): {
			"spec_decode_draft_acceptance_rate", "spec_decode_num_emitted_tokens_total",
			"spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total",
		},
		vllmSwapped():             {}, // Names alone do not tell.
		before("0.8.3"):           {"num_requests_swapped"},
		between("0.5.5", "0.8.3"): {"gpu_prefix_cache_hit_rate"},
		since("0.8.3"):            {"http_requests_total"},
		since("0.10.2"):           {"inter_token_latency_seconds"},
		inNone(): {
			"kv_cache_usage_perc", "prefix_cache_queries_total", "prefix_cache_hits_total", "gpu_prefix_cache_queries_total",
			"gpu_prefix_cache_hits_total", "request_time_per_output_token_seconds", "engine_sleep_state",
			"request_prefill_kv_computed_tokens", "prompt_tokens_cached_total", "prompt_tokens_by_source_total",
			"num_requests_waiting_by_reason", "request_num_preemptions", "admission_rejections_total",
			"prompt_tokens_cached_by_source_total", "{engine}", "spec_decode_num_drafts_total",
			"spec_decode_num_accepted_tokens_per_pos_total", "nixl_xfer_time_seconds", "nixl_bytes_transferred",
			"nixl_num_failed_transfers_total", "nixl_num_failed_notifications_total", "nixl_num_kv_expired_reqs_total",
			"mooncake_xfer_time_seconds", "mooncake_bytes_transferred", "mooncake_num_failed_transfers_total",
			"mooncake_num_failed_recvs_total", "mooncake_num_kv_expired_reqs_total", "kv_offload_total_bytes_total",
			"kv_offload_load_bytes_total", "kv_offload_store_bytes_total", "mooncake_store_operation_bytes_total",
			"umbp_transfer_bytes_total",
		},
	}
}

// vllmFamilies returns the families that other servers took over, and what they show there.
func vllmFamilies() []family {
	const times = "Histogram of time spent in "
	return []family{
		{name: "num_requests_running", shows: requestsRunning, help: "Number of requests in model execution batches."},
		{name: "num_requests_waiting", shows: requestsWaiting, help: "Number of requests waiting to be processed."},
		{name: "kv_cache_usage_perc", shows: kvCacheUse, help: "KV-cache usage. 1 means 100 percent usage."},
		{
			name:  "request_success_total",
			shows: requestsEndedByReason,
			help:  "Count of successfully processed requests.",
		},
		{name: "prompt_tokens_total", shows: tokensOfPrompts, help: "Number of prefill tokens processed."},
		{
			name:  "prompt_tokens_cached_total",
			shows: tokensCached,
			help:  "Number of cached prompt tokens (local + external).",
		},
		{name: "generation_tokens_total", shows: tokensGenerated, help: "Number of generation tokens processed."},
		{name: "request_prompt_tokens", shows: promptLength, help: "Number of prefill tokens processed."},
		{name: "request_generation_tokens", shows: answerLength, help: "Number of generation tokens processed."},
		{
			name:  "time_to_first_token_seconds",
			shows: firstTokenTime,
			help:  "Histogram of time to first token in seconds.",
		},
		{
			name:  "time_per_output_token_seconds",
			shows: betweenTokens,
			help:  "Histogram of time per output token in seconds.",
		},
		{name: "inter_token_latency_seconds", shows: betweenTokens, help: "Histogram of inter-token latency in seconds."},
		{
			name:  "request_time_per_output_token_seconds",
			shows: timePerToken,
			help:  "Histogram of time_per_output_token_seconds per request.",
		},
		{name: "e2e_request_latency_seconds", shows: requestTime, help: "Histogram of e2e request latency in seconds."},
		{name: "request_queue_time_seconds", shows: queueTime, help: times + "WAITING phase for request."},
		{name: "request_inference_time_seconds", shows: inferenceTime, help: times + "RUNNING phase for request."},
		{name: "request_prefill_time_seconds", shows: prefillTime, help: times + "PREFILL phase for request."},
		{name: "request_decode_time_seconds", shows: decodeTime, help: times + "DECODE phase for request."},
		{
			name:  "request_prefill_kv_computed_tokens",
			shows: computedLength,
			help:  "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
		},
	}
}

// asInVLLM returns families of vLLM by their names. One that has none of them shows nothing.
func asInVLLM(names ...string) []family {
	all := make([]family, len(names))
	for i, name := range names {
		all[i].name = name
		for _, f := range vllmFamilies() {
			if f.name == name {
				all[i] = f
			}
		}
	}
	return all
}

// oldVLLMTokens and oldVLLMTimes return families of the first releases, as Triton's vLLM backend (README of
// vllm_backend) and, without the prefix, NIM 1.x have them. They report times between tokens under the
// name of the mean time per token.
func oldVLLMTokens() []family {
	return []family{
		{name: "prompt_tokens_total", shows: tokensComputed, help: "Number of prefill tokens processed."},
		{name: "generation_tokens_total", shows: tokensGenerated, help: "Number of generation tokens processed."},
	}
}

func oldVLLMTimes() []family {
	return []family{
		{
			name:    "time_to_first_token_seconds",
			shows:   firstTokenTime,
			help:    "Histogram of time to first token in seconds.",
			buckets: func() *histogram { return newHistogram(firstTokenTimes().bounds[:16]...) },
		},
		{
			name:    "time_per_output_token_seconds",
			shows:   betweenTokens,
			help:    "Histogram of time per output token in seconds.",
			buckets: func() *histogram { return newHistogram(tokenTimes().bounds[:13]...) },
		},
		{
			name:    "e2e_request_latency_seconds",
			shows:   requestTime,
			help:    "Histogram of end to end request latency in seconds.",
			buckets: func() *histogram { return newHistogram(1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60) },
		},
	}
}

// vllmWriter writes counters and histograms each with the family of its creation.
type vllmWriter struct {
	page

	s *vllmServer
}

// labels returns the labels of the engine.
func (p *vllmWriter) labels() string { return pairs("engine", "0", "model_name", p.s.w.spec.Model) }

// counter writes a counter with one series per value of a label; those without a count are 0.
func (p *vllmWriter) counter(name, help, labels, label string, values []string, counts ...uint64) {
	p.family("counter", "vllm:"+name+"_total", help)
	counts = append(counts, make([]uint64, len(values)-len(counts))...)
	for i, v := range values {
		p.add(with(labels, label, v), float64(counts[i]))
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

// show writes families that other servers took over.
func (p *vllmWriter) show(names ...string) {
	for _, f := range asInVLLM(names...) {
		p.page.show(p.s.w, &p.s.booked, "vllm:", p.labels(), &f)
		if _, gauge := f.shows(p.s.w, &p.s.booked).(float64); !gauge {
			p.created(strings.TrimSuffix(f.name, "_total"), f.help)
		}
	}
}

func (p *vllmWriter) load() {
	s, inFlight := p.s, p.s.w.engine.inFlight()
	running := min(s.last.scheduled, inFlight)
	p.show("num_requests_running", "num_requests_waiting")
	p.family("gauge", "vllm:num_requests_waiting_by_reason", "Number of waiting requests by reason.")
	p.add(with(p.labels(), "reason", "capacity"), float64(inFlight-running))
	p.add(with(p.labels(), "reason", "deferred"), 0)
	if s.w.spec.OldEngine {
		p.gauge("num_requests_swapped", "Number of requests swapped to CPU.", 0)
	}
}

func (p *vllmWriter) sleep() {
	p.family("gauge", "vllm:engine_sleep_state", "Engine sleep state; awake = 0 means engine is sleeping; awake = "+
		"1 means engine is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.")
	p.add(with(p.labels(), "sleep_state", "awake"), 1)
	p.add(with(p.labels(), "sleep_state", "weights_offloaded"), 0)
	p.add(with(p.labels(), "sleep_state", "discard_all"), 0)
}

// cache writes the use of the KV cache, and of prefixes in it.
func (p *vllmWriter) cache() {
	used := min(float64(p.s.w.engine.kv.used)/float64(p.s.w.spec.Engine.KVBlocks-1), 1)
	unit, size := "tokens", uint64(1)
	if vllmBlocks().holds(p.release) {
		unit, size = "blocks", uint64(p.s.w.spec.Engine.TokensPerBlock)
	}
	each := func(usage, prefix, help string) {
		p.gauge(usage, help+" 1 means 100 percent usage.", used)
		p.count(prefix+"_queries", "Prefix cache queries, in terms of number of queried "+unit+".", p.s.begun.prompt/size)
		p.count(prefix+"_hits", "Prefix cache hits, in terms of number of cached "+unit+".", p.s.begun.cached/size)
	}
	each("kv_cache_usage_perc", "prefix_cache", "KV-cache usage.")
	each("gpu_cache_usage_perc", "gpu_prefix_cache", "GPU KV-cache usage.")
	if p.s.w.spec.OldEngine {
		p.gauge("gpu_prefix_cache_hit_rate", "GPU prefix cache block hit rate.", p.s.hitRate())
	}
}

// hitRate returns the share of tokens of prompts that were found in the cache, 0 before the first.
func (s *vllmServer) hitRate() float64 {
	return float64(s.begun.cached) / float64(max(s.begun.prompt, 1))
}

func (p *vllmWriter) tokens() {
	s := p.s
	p.count("num_preemptions", "Cumulative number of preemption from the engine.", s.paused)
	p.show("prompt_tokens_total")
	p.counter("prompt_tokens_by_source", "Number of prompt tokens by source.", p.labels(), "source",
		[]string{"local_compute", "local_cache_hit", "external_kv_transfer"},
		s.begun.prompt-s.begun.cached-s.transferred(), s.begun.cached, s.transferred())
	if s.w.spec.Transfers {
		p.count("prompt_tokens_cached", "Number of cached prompt tokens (local + external).",
			s.begun.cached+s.transferred())
	} else {
		p.show("prompt_tokens_cached_total")
	}
	p.counter("prompt_tokens_cached_by_source", "Prefix-cache hit tokens by the cache tier that "+
		"supplied them.", p.labels(), "source",
		[]string{"device", "host", "p2p", "disk", "external_unspecified"}, s.begun.cached, 0, s.transferred())
	p.show("generation_tokens_total")
}

func (p *vllmWriter) requests() {
	s, reasons := p.s, []string{"stop", "length", "abort"}
	if s.since(vllmLimits) {
		reasons = append(reasons, "error", "repetition")
	}
	p.counter("request_success", "Count of successfully processed requests.", p.labels(), "finished_reason",
		reasons, s.finishedBy["stop"], s.finishedBy["length"], s.finishedBy["abort"])
	if s.limits() {
		p.counter("admission_rejections", "Number of admission attempts rejected by a queue limit, by reason.",
			pairs("model_name", s.w.spec.Model), "reason", []string{"max_num_queued_reqs", "max_num_queued_tokens"},
			s.rejected)
	}
	p.show("request_prompt_tokens", "request_generation_tokens")
	p.each("iteration_tokens_total", "Histogram of number of tokens per engine_step.", s.stepped)
	p.each("request_params_n", "Histogram of the n request parameter.", s.params)
	p.show("time_to_first_token_seconds", "time_per_output_token_seconds", "inter_token_latency_seconds",
		"request_time_per_output_token_seconds", "e2e_request_latency_seconds", "request_queue_time_seconds",
		"request_inference_time_seconds")
	p.phases()
	p.each("request_num_preemptions", "Histogram of the number of times a request was preempted.", s.preemptions)
	p.show("request_prefill_kv_computed_tokens")
}

// phases writes the times of prefill and decode.
func (p *vllmWriter) phases() {
	if prefill, decode := &p.s.prefill, &p.s.decode; p.s.w.spec.OldEngine && vllmSwapped().holds(p.release) {
		*prefill, *decode = *decode, *prefill
		defer func() { *prefill, *decode = *decode, *prefill }()
	}
	p.show("request_prefill_time_seconds", "request_decode_time_seconds")
}

// config writes some of the labels of the real family.
func (p *vllmWriter) config() {
	cfg, swapped := p.s.w.spec.Engine, "None"
	if p.s.w.spec.OldEngine {
		swapped = "512"
	}
	p.one("gauge", "vllm:cache_config_info", "Information of the LLMEngine CacheConfig", pairs(
		"block_size", strconv.Itoa(cfg.TokensPerBlock),
		"cache_dtype", "auto",
		"enable_prefix_caching", "True",
		"engine", "0",
		"gpu_memory_utilization", "0.92",
		"num_cpu_blocks", swapped,
		"num_gpu_blocks", strconv.Itoa(cfg.KVBlocks),
	), 1)
}
