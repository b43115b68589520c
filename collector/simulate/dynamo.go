package simulate

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// dynamo is a simulated Dynamo deployment of one frontend (the API port) and one
// TRT-LLM worker (the metrics port): two pages of one request stream.
type dynamo struct {
	*serve
	requests, errors     uint64
	ttft, itl, duration  *histogram
	input, output        *histogram
	outputTokens         uint64
	component            *histogram
	workerID             uint64
	requestBytes, replyB uint64
}

func newDynamo(w *world) *dynamo {
	length := []float64{0, 50, 100, 200, 500, 1000, 2000, 4000, 8000}
	return &dynamo{
		serve:     newServe(w),
		ttft:      newHistogram(0, 0.0022, 0.0047, 0.01, 0.022, 0.047, 0.1, 0.22, 0.47, 1, 2.2, 4.7, 10, 22, 48, 100, 220, 480),
		itl:       newHistogram(0, 0.0018, 0.0033, 0.0059, 0.011, 0.02, 0.035, 0.064, 0.12, 0.21, 0.38, 0.69, 1.2, 2.3, 4.1, 7.4, 13, 24, 44, 80),
		duration:  newHistogram(0, 2, 4, 8, 16, 32, 64, 130, 260, 510),
		input:     newHistogram(length...),
		output:    newHistogram(length...),
		component: newHistogram(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600),
		workerID:  mix(w.spec.Seed+uint64(w.truth.Epoch), "worker"),
	}
}

func (d *dynamo) accepted(r *request) {
	d.requests++
	d.requestBytes += uint64(r.prompt) * 5
}

func (d *dynamo) started(r *request) { d.ttft.observe((r.firstToken - r.arrived).Seconds()) }

func (d *dynamo) failed(r *request) {
	d.errors++
	d.duration.observe((d.w.now - r.arrived).Seconds())
}

func (d *dynamo) finished(r *request) {
	d.serve.finished(r)
	if r.stuck {
		return
	}
	total := (r.lastToken - r.arrived).Seconds()
	d.duration.observe(total)
	d.component.observe(total)
	d.input.observe(float64(r.prompt))
	d.output.observe(float64(r.generated))
	d.replyB += uint64(r.generated) * 40
}

func (d *dynamo) iterated(it *iteration) {
	d.serve.iterated(it)
	d.outputTokens += uint64(it.tokens)
	if it.decoding > 0 {
		d.itl.observeN(it.latency.Seconds(), uint64(it.decoding))
	}
}

// page is the worker's: Dynamo's component families, then the engine's.
func (d *dynamo) page() []byte {
	p := &page{number: appendRust, layout: layoutRust}
	labels := pairs("dynamo_component", "backend", "dynamo_endpoint", "generate", "dynamo_namespace", "dynamo",
		"worker_id", strconv.FormatUint(d.workerID, 16))
	one := func(kind, name, help string, v float64) {
		p.family("dynamo_component_"+name, help, kind)
		p.add(labels, v)
	}
	one("gauge", "inflight_requests", "Number of requests currently being processed by work handler", d.inflight())
	one("counter", "request_bytes_total", "Total number of bytes received in requests by work handler", float64(d.requestBytes))
	p.family("dynamo_component_request_duration_seconds", "Time spent processing requests by work handler", "histogram")
	p.addHistogram(labels, d.component)
	one("counter", "requests_total", "Total number of requests processed by work handler", float64(d.requests))
	one("counter", "response_bytes_total", "Total number of bytes sent in responses by work handler", float64(d.replyB))
	p.family("dynamo_component_uptime_seconds", "Total uptime of the DistributedRuntime in seconds", "gauge")
	p.add(pairs("worker_id", strconv.FormatUint(d.workerID, 16)), (d.w.now - d.w.up).Seconds())
	engine := &page{number: appendPython, layout: layoutPythonMulti}
	d.writeBasics(engine, "trtllm_")
	d.writeSuccess(engine, "trtllm_")
	return append(p.bytes(), engine.bytes()...)
}

// inflight counts the requests in the engine, waiting ones with them.
func (d *dynamo) inflight() float64 {
	if d.w.engine == nil {
		return 0
	}
	return float64(d.w.engine.inFlight())
}

// frontend is the page of the HTTP frontend.
func (d *dynamo) frontend() []byte {
	p := &page{number: appendRust, layout: layoutRust}
	labels := pairs("model", d.w.spec.Model)
	one := func(kind, name, help string, v float64) {
		p.family("dynamo_frontend_"+name, help, kind)
		p.add(labels, v)
	}
	each := func(name, help string, h *histogram) {
		p.family("dynamo_frontend_"+name, help, "histogram")
		p.addHistogram(labels, h)
	}
	cfg := d.w.spec.Engine
	p.family("dynamo_frontend_disconnected_clients", "Number of disconnected clients", "gauge")
	p.add("", 0)
	one("gauge", "inflight_requests", "Number of inflight requests", d.inflight())
	each("input_sequence_tokens", "Input sequence length in tokens", d.input)
	each("inter_token_latency_seconds", "Inter-token latency in seconds", d.itl)
	one("gauge", "model_context_length", "Maximum context length in tokens for a worker serving the model", 0)
	one("gauge", "model_kv_cache_block_size", "KV cache block size in tokens for a worker serving the model", float64(cfg.TokensPerBlock))
	one("gauge", "model_max_num_batched_tokens", "Maximum number of batched tokens for a worker serving the model", maxTokens)
	one("gauge", "model_max_num_seqs", "Maximum number of sequences for a worker serving the model", float64(cfg.MaxActive))
	one("gauge", "model_migration_limit", "Maximum number of request migrations allowed for the model", 0)
	one("gauge", "model_ready", "Whether the frontend can route at least one inference request for the model (1 = ready, 0 = not ready)", 1)
	one("gauge", "model_total_kv_blocks", "Total KV cache blocks available for a worker serving the model", float64(cfg.KVBlocks))
	each("output_sequence_tokens", "Output sequence length in tokens", d.output)
	one("counter", "output_tokens_total", "Total number of output tokens generated (updates in real-time)", float64(d.outputTokens))
	queued := 0
	if d.w.engine != nil {
		queued = len(d.w.engine.queue)
	}
	one("gauge", "queued_requests", "Number of requests in HTTP processing queue", float64(queued))
	each("request_duration_seconds", "Duration of LLM requests", d.duration)
	p.family("dynamo_frontend_requests_started_total", "Total number of LLM requests accepted by the frontend handler", "counter")
	p.add(pairs("endpoint", "chat_completions", "model", d.w.spec.Model, "request_type", "stream"), float64(d.requests))
	p.family("dynamo_frontend_requests_total", "Total number of LLM requests processed", "counter")
	done := func(errorType, status string, n uint64) {
		if n > 0 {
			p.add(pairs("endpoint", "chat_completions", "error_type", errorType, "model", d.w.spec.Model,
				"request_type", "stream", "status", status), float64(n))
		}
	}
	done("", "success", d.output.n)
	done("internal", "error", d.errors)
	each("time_to_first_token_seconds", "Time to first token in seconds", d.ttft)
	return p.bytes()
}

func (d *dynamo) handlers(r *Replica) handlers {
	text := func(render func() []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			var body []byte
			r.locked(d, func() {
				if !d.w.emptyPage {
					body = render()
				}
			})
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			writeBody(w, http.StatusOK, body)
		}
	}
	front := http.NewServeMux()
	front.HandleFunc("GET /metrics", text(d.frontend))
	front.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		// Healthy always, whatever the worker does.
		writeJSON(w, http.StatusOK, object{"status": "healthy", "endpoints": []string{"dyn://dynamo.backend.generate"}, "instances": []object{
			{"component": "backend", "endpoint": "generate", "namespace": "dynamo", "instance_id": d.workerID},
		}})
	})
	front.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, object{"status": "live", "message": "Service is live"})
	})
	front.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, modelList(d.w.start.Unix(), "nvidia", d.w.spec.Model))
	})
	front.Handle("POST /v1/completions", openAICompletions(r, d, false))
	front.Handle("POST /v1/chat/completions", openAICompletions(r, d, true))

	worker := http.NewServeMux()
	worker.HandleFunc("GET /metrics", text(d.page))
	notReady := func(w http.ResponseWriter, _ *http.Request) {
		var up time.Duration
		r.locked(d, func() { up = d.w.now - d.w.up })
		// A worker says notready while it serves.
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		writeBody(w, http.StatusServiceUnavailable, fmt.Appendf(nil,
			`{"status":"notready","uptime":{"secs":%d,"nanos":%d},"endpoints":{"generate":"ready"}}`,
			up/time.Second, up%time.Second))
	}
	worker.HandleFunc("GET /health", notReady)
	worker.HandleFunc("GET /live", notReady)
	return handlers{api: front, metrics: worker}
}
