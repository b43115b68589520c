package simulate

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Dynamo is a frontend (API port) and one worker (metrics port), by the engine of the worker.
const (
	KindDynamo       Kind = "dynamo" // TensorRT-LLM.
	KindDynamoVLLM   Kind = "dynamo-vllm"
	KindDynamoSGLang Kind = "dynamo-sglang"
	KindDynamoTriton Kind = "dynamo-triton"
	// KindDynamoFrontend is the frontend alone.
	KindDynamoFrontend Kind = "dynamo-frontend"
)

// dynamoSoftware returns a Dynamo whose worker has an engine.
func dynamoSoftware(inside func(w *world) server) software {
	return software{
		path: "/metrics", engineVersion: "1.6.1", trtllmVersion: "1.3.0rc5",
		start:    func(w *world) server { return newDynamo(w, inside(w)) },
		dialects: dynamoWorkerDialects,
	}
}

// dynamoWritten returns what not all releases of a frontend write, without prefix, and of a worker, by the
// last release of each minor one.
func dynamoWritten() written {
	return written{
		since("0.3"): {
			"input_sequence_tokens", "output_sequence_tokens", "time_to_first_token_seconds",
			"inter_token_latency_seconds",
		},
		since("0.4.1"): {
			"dynamo_component_inflight_requests", "dynamo_component_requests_total", "dynamo_component_uptime_seconds",
		},
		since("0.5"): {"model_max_num_seqs", "model_total_kv_blocks"},
		between("0.5", "0.9"): {
			"dynamo_component_kvstats_total_blocks", "dynamo_component_kvstats_gpu_cache_usage_percent",
		},
		between("0.5.1", "0.6"): {"inflight_requests_total", "queued_requests_total", "client_disconnects"},
		since("0.6"):            {"disconnected_clients", "queued_requests"},
		since("0.7"):            {"output_tokens_total"},
		since("0.8"):            {"{error_type}"},
		since("1.0"): {
			"worker_active_decode_blocks", "dynamo_component_total_blocks", "dynamo_component_gpu_cache_usage_percent",
		},
		since("1.1"): {"model_rejection_total", "router_queue_pending_requests"},
		since("1.3"): {"requests_started_total"},
		since("1.5"): {"model_ready"},
	}
}

// dynamoDialects returns the releases of a frontend. The page of a worker changed with its own families
// of the KV cache, until that of the engine inside followed.
func dynamoDialects() []Dialect { return dialectsOf(dynamoWritten().releases("0.2.1")...) }

func dynamoWorkerDialects() []Dialect { return dialectsOf("0.4.1", "0.5", "0.9", "1.6.1") }

func dynamoTRTLLM(w *world) server {
	return newServe(w, generation{engine: "trtllm", write: func(s *serve, p *page) {
		s.writeBasics(p, "trtllm_")
		s.writeSuccess(p, "trtllm_")
	}})
}

func dynamoVLLM(w *world) server {
	s := newVLLMServer(w)
	s.inside = true
	return s
}

func dynamoSGLang(w *world) server {
	s := newSGLang(w)
	s.inside = true
	return s
}

func dynamoTriton(w *world) server {
	f := repository("tensorrtllm")
	f.version = "2.64.0"
	return newTriton(w, f)
}

func dynamoFrontend() software {
	s := dynamoSoftware(dynamoTRTLLM)
	s.onePort, s.dialects = true, dynamoDialects
	return s
}

// dynamo is a Dynamo frontend with one worker.
type dynamo struct {
	server // The engine of the worker.

	w                                *world
	workerID                         uint64
	requests, accepted, requestBytes uint64 // The worker accepts what the frontend does not refuse.
	rejected, disconnected           uint64
	ended                            map[string]uint64 // By labels.
	front                            booked
	component                        *histogram
}

func newDynamo(w *world, inside server) *dynamo {
	length := []float64{0, 50, 100, 200, 500, 1000, 2000, 4000, 8000}
	return &dynamo{
		server: inside, w: w, ended: map[string]uint64{},
		front: booked{
			requestTimings: requestTimings{
				ttft: newHistogram(0, 0.0022, 0.0047, 0.01, 0.022, 0.047, 0.1, 0.22, 0.47, 1, 2.2, 4.7, 10, 22, 48, 100,
					220, 480),
				itl: newHistogram(0, 0.0018, 0.0033, 0.0059, 0.011, 0.02, 0.035, 0.064, 0.12, 0.21, 0.38, 0.69, 1.2, 2.3,
					4.1, 7.4, 13, 24, 44, 80),
				e2e: newHistogram(0, 2, 4, 8, 16, 32, 64, 130, 260, 510),
			},
			requestSizes: requestSizes{promptEach: newHistogram(length...), generationEach: newHistogram(length...)},
		},
		component: newHistogram(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600),
		workerID:  mix(w.spec.Seed+uint64(w.truth.Epoch), "worker"),
	}
}

func (d *dynamo) admit(r *request) bool {
	if !d.server.admit(r) {
		return false
	}
	d.requests++
	d.accepted++
	d.requestBytes += uint64(r.prompt) * 5
	return true
}

// end counts requests that ended in the frontend.
func (d *dynamo) end(model, errorType string, n uint64) {
	status := "error"
	if errorType == "" {
		status = "success"
	}
	labels := pairs("endpoint", "chat_completions", "error_type", errorType, "model", model, "request_type", "stream",
		"status", status)
	d.ended[d.newPage("").known(labels)] += n
}

func (d *dynamo) started(r *request) {
	d.server.started(r)
	d.front.started(r)
}

func (d *dynamo) failed(r *request) {
	d.server.failed(r)
	d.end(d.w.spec.Model, "internal", 1)
	d.front.e2e.observe(seconds(r.arrived, d.w.now))
}

func (d *dynamo) finished(r *request) {
	d.server.finished(r)
	d.front.finished(r)
	d.end(d.w.spec.Model, "", 1)
	d.component.observe(seconds(r.arrived, r.lastToken))
}

func (d *dynamo) iterated(it *iteration) {
	d.server.iterated(it)
	d.front.iterated(it)
}

// total counts what the frontend refuses in the frontend alone. Half of the clients' errors are
// requests for unknown models, counted under a placeholder.
func (d *dynamo) total(t *Totals) {
	d.server.total(t)
	d.front.total(d.w, t, t.OK)
	d.component.observeN(t.E2E.Seconds(), t.OK)
	d.requests, d.accepted, d.rejected, d.disconnected = t.Begun, t.Begun-t.Client-t.Overload, t.Overload, t.Canceled
	for errorType, n := range map[string]uint64{
		"": t.OK, "internal": t.Failed, "cancelled": t.Canceled, "overload": t.Overload,
		"validation": t.Client - t.Client/2,
	} {
		d.end(d.w.spec.Model, errorType, n)
	}
	d.end("unknown_model", "not_found", t.Client/2)
}

func (d *dynamo) page() []byte {
	if d.w.spec.Kind == KindDynamoFrontend {
		return d.frontend()
	}
	return d.worker()
}

// newPage returns an empty page of the release, with a prefix of its names.
func (d *dynamo) newPage(prefix string) *page {
	return &page{dialect: rustDialect(), written: dynamoWritten(), release: d.w.spec.EngineVersion, prefix: prefix}
}

// worker renders the worker's page: Dynamo's component families, then the engine's.
func (d *dynamo) worker() []byte {
	const prefix = "dynamo_component_"
	p, id := d.newPage(""), strconv.FormatUint(d.workerID, 16)
	labels := pairs("dynamo_component", "backend", "dynamo_endpoint", "generate", "dynamo_namespace", "dynamo",
		"worker_id", id)
	counter := func(name, help string, v uint64) { p.one("counter", prefix+name, help, labels, float64(v)) }
	p.one("gauge", prefix+"inflight_requests", "Number of requests currently being processed by "+
		"work handler", labels, float64(d.w.inFlight()))
	counter("request_bytes_total", "Total number of bytes received in requests by work handler", d.requestBytes)
	p.histogram(prefix+"request_duration_seconds", "Time spent processing requests by work handler", labels,
		d.component)
	counter("requests_total", "Total number of requests processed by work handler", d.accepted)
	counter("response_bytes_total", "Total number of bytes sent in responses by work handler",
		d.front.ended.generation*40)
	p.one("gauge", prefix+"uptime_seconds", "Total uptime of the DistributedRuntime in seconds",
		pairs("worker_id", id), seconds(d.w.up, d.w.now))
	if !earlier(d.w.spec.EngineVersion, "1.0") {
		return append(p.bytes(), d.server.page()...)
	}
	// What the engine inside wrote then is not known.
	own, kv := pairs("dynamo_component", "backend", "dynamo_namespace", "dynamo"), d.w.engine.kv
	p.one("gauge", prefix+"kvstats_total_blocks", "Total number of KV cache blocks", own, float64(kv.blocks))
	p.one("gauge", prefix+"kvstats_gpu_cache_usage_percent", "GPU cache usage as a percentage (0.0-1.0)", own,
		float64(kv.used)/float64(kv.blocks))
	return p.bytes()
}

// frontend renders the page of the HTTP frontend. What has requests appears with the first.
func (d *dynamo) frontend() []byte {
	prefix := "dynamo_frontend_"
	if earlier(d.w.spec.EngineVersion, "0.4.1") {
		prefix = "nv_llm_http_service_"
	}
	p, labels, cfg := d.newPage(prefix), pairs("model", d.w.spec.Model), d.w.spec.Engine
	p.sparse = true
	gauge := func(name, help string, v int) { p.one("gauge", prefix+name, help, labels, float64(v)) }
	each := func(name, help string, h *histogram) { p.histogram(prefix+name, help, labels, h) }
	counts := func(name, help, labels string, n uint64) {
		p.family("counter", prefix+name, help)
		p.addCounts(map[string]uint64{labels: n})
	}
	for _, name := range []string{"client_disconnects", "disconnected_clients"} {
		p.one("gauge", prefix+name, "Number of disconnected clients", "", float64(d.disconnected))
	}
	if d.requests > 0 {
		gauge(d.inFlightName(), "Number of inflight requests", d.w.inFlight())
	}
	each("input_sequence_tokens", "Input sequence length in tokens", d.front.promptEach)
	each("inter_token_latency_seconds", "Inter-token latency in seconds", d.front.itl)
	gauge("model_context_length", "Maximum context length in tokens for a worker serving the model", 0)
	gauge("model_kv_cache_block_size", "KV cache block size in tokens for a worker "+
		"serving the model", cfg.TokensPerBlock)
	gauge("model_max_num_batched_tokens", "Maximum number of batched tokens for a worker serving the model", maxTokens)
	gauge("model_max_num_seqs", "Maximum number of sequences for a worker serving the model", cfg.MaxActive)
	gauge("model_migration_limit", "Maximum number of request migrations allowed for the model", 0)
	gauge("model_ready", "Whether the frontend can route at least one inference request for the model (1 = ready, "+
		"0 = not ready)", 1)
	counts("model_rejection_total", "Total number of requests rejected due to resource exhaustion",
		with(labels, "endpoint", "chat_completions"), d.rejected)
	gauge("model_total_kv_blocks", "Total KV cache blocks available for a worker serving the model", cfg.KVBlocks)
	each("output_sequence_tokens", "Output sequence length in tokens", d.front.generationEach)
	counts("output_tokens_total", "Total number of output tokens generated (updates in real-time)", labels,
		d.front.generated)
	if d.requests > 0 {
		for _, name := range []string{"queued_requests_total", "queued_requests"} {
			gauge(name, "Number of requests in HTTP processing queue", len(d.w.engine.queue)+d.w.arrived)
		}
	}
	each("request_duration_seconds", "Duration of LLM requests", d.front.e2e)
	counts("requests_started_total", "Total number of LLM requests accepted by the frontend handler",
		pairs("endpoint", "chat_completions", "model", d.w.spec.Model, "request_type", "stream"), d.requests)
	p.family("counter", prefix+"requests_total", "Total number of LLM requests processed")
	p.addCounts(d.ended)
	if d.w.spec.KVRouter {
		p.one("gauge", prefix+"router_queue_pending_requests", "Number of requests pending in the router "+
			"scheduler queue", pairs("model", d.w.spec.Model, "policy_class", "default", "worker_type", "decode"), 0)
	}
	each("time_to_first_token_seconds", "Time to first token in seconds", d.front.ttft)
	if d.w.spec.KVRouter {
		p.family("gauge", prefix+"worker_active_decode_blocks", "Active KV cache decode blocks per worker")
		for _, id := range []string{"1", "2"} {
			p.add(pairs("dp_rank", "0", "worker_id", id, "worker_type", "decode"), float64(d.w.engine.kv.used/2))
		}
	}
	return p.bytes()
}

// inFlightName returns the name of the gauge of requests in flight: 0.5.1 alone calls it a total.
func (d *dynamo) inFlightName() string {
	const total = "inflight_requests_total"
	if dynamoWritten().lacks(d.w.spec.EngineVersion)[total] {
		return "inflight_requests"
	}
	return total
}

func (d *dynamo) handlers(r *Replica) []http.Handler {
	front := r.routes(d, map[string]answer{
		"GET /metrics": shown(plainText, d.frontend),
		// The frontend is always healthy, whatever the worker does.
		"GET /health": ok(func() any {
			return object{
				"status":    "healthy",
				"endpoints": []string{"dyn://dynamo.backend.generate"},
				"instances": []object{
					{"component": "backend", "endpoint": "generate", "namespace": "dynamo", "instance_id": d.workerID},
				},
			}
		}),
		"GET /v1/models": ok(func() any { return modelList(d.w.start, "nvidia", d.w.spec.Model) }),
	})
	r.addChat(front, d)
	if d.w.spec.Kind == KindDynamoFrontend {
		return []http.Handler{front}
	}
	// A worker reports notready although it serves.
	notReady := func(*http.Request) (int, any) {
		up := d.w.now - d.w.up
		return http.StatusServiceUnavailable, text{plainText, fmt.Appendf(
			nil,
			`{"status":"notready","uptime":{"secs":%d,"nanos":%d},"endpoints":{"generate":"ready"}}`,
			up/time.Second,
			up%time.Second,
		)}
	}
	worker := r.routes(d, map[string]answer{
		"GET /metrics": shown(plainText, d.worker), "GET /health": notReady, "GET /live": notReady,
	})
	return []http.Handler{front, worker}
}
