package simulate

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// KindDynamo is a Dynamo frontend and one TRT-LLM worker.
const KindDynamo Kind = "dynamo"

func dynamoSoftware() software {
	return software{
		path: "/metrics", engineVersion: "1.6.1", trtllmVersion: "1.3.0rc5",
		start: func(w *world) server { return newDynamo(w) },
	}
}

// dynamo is a Dynamo frontend (API port) with one TRT-LLM worker (metrics port).
type dynamo struct {
	*serve
	workerID                       uint64
	requests, errors, requestBytes uint64
	front                          booked
	component                      *histogram
}

func newDynamo(w *world) *dynamo {
	length := []float64{0, 50, 100, 200, 500, 1000, 2000, 4000, 8000}
	return &dynamo{
		serve: newServe(w, generation{engine: "trtllm"}),
		front: booked{
			requestTimings: requestTimings{
				ttft: newHistogram(
					0,
					0.0022,
					0.0047,
					0.01,
					0.022,
					0.047,
					0.1,
					0.22,
					0.47,
					1,
					2.2,
					4.7,
					10,
					22,
					48,
					100,
					220,
					480,
				),
				itl: newHistogram(
					0,
					0.0018,
					0.0033,
					0.0059,
					0.011,
					0.02,
					0.035,
					0.064,
					0.12,
					0.21,
					0.38,
					0.69,
					1.2,
					2.3,
					4.1,
					7.4,
					13,
					24,
					44,
					80,
				),
				e2e: newHistogram(0, 2, 4, 8, 16, 32, 64, 130, 260, 510),
			},
			requestSizes: requestSizes{promptEach: newHistogram(length...), generationEach: newHistogram(length...)},
		},
		component: newHistogram(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600),
		workerID:  mix(w.spec.Seed+uint64(w.truth.Epoch), "worker"),
	}
}

func (d *dynamo) admit(r *request) bool {
	if !d.serve.admit(r) {
		return false
	}
	d.requests++
	d.requestBytes += uint64(r.prompt) * 5
	return true
}

func (d *dynamo) started(r *request) { d.front.started(r) }

func (d *dynamo) failed(r *request) {
	d.errors++
	d.front.e2e.observe(seconds(r.arrived, d.w.now))
}

func (d *dynamo) finished(r *request) {
	d.serve.finished(r)
	d.front.finished(r)
	d.component.observe(seconds(r.arrived, r.lastToken))
}

func (d *dynamo) iterated(it *iteration) {
	d.serve.iterated(it)
	d.front.iterated(it)
}

// page renders the worker's page: Dynamo's component families, then the engine's.
func (d *dynamo) page() []byte {
	const prefix = "dynamo_component_"
	p, id := &page{dialect: rustDialect()}, strconv.FormatUint(d.workerID, 16)
	labels := pairs(
		"dynamo_component",
		"backend",
		"dynamo_endpoint",
		"generate",
		"dynamo_namespace",
		"dynamo",
		"worker_id",
		id,
	)
	counter := func(name, help string, v uint64) { p.one("counter", prefix+name, help, labels, float64(v)) }
	p.one("gauge", prefix+"inflight_requests", "Number of requests currently being processed by "+
		"work handler", labels, float64(d.w.engine.inFlight()))
	counter("request_bytes_total", "Total number of bytes received in requests by work handler", d.requestBytes)
	p.histogram(
		prefix+"request_duration_seconds",
		"Time spent processing requests by work handler",
		labels,
		d.component,
	)
	counter("requests_total", "Total number of requests processed by work handler", d.requests)
	counter(
		"response_bytes_total",
		"Total number of bytes sent in responses by work handler",
		d.front.ended.generation*40,
	)
	p.one(
		"gauge",
		prefix+"uptime_seconds",
		"Total uptime of the DistributedRuntime in seconds",
		pairs("worker_id", id),
		seconds(d.w.up, d.w.now),
	)
	engine := &page{dialect: pythonDialect()}
	d.writeBasics(engine, "trtllm_")
	d.writeSuccess(engine, "trtllm_")
	return append(p.bytes(), engine.bytes()...)
}

// frontend renders the page of the HTTP frontend.
func (d *dynamo) frontend() []byte {
	const prefix = "dynamo_frontend_"
	p, labels, cfg := &page{dialect: rustDialect()}, pairs("model", d.w.spec.Model), d.w.spec.Engine
	gauge := func(name, help string, v int) { p.one("gauge", prefix+name, help, labels, float64(v)) }
	each := func(name, help string, h *histogram) { p.histogram(prefix+name, help, labels, h) }
	p.one("gauge", prefix+"disconnected_clients", "Number of disconnected clients", "", 0)
	gauge("inflight_requests", "Number of inflight requests", d.w.engine.inFlight())
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
	gauge("model_total_kv_blocks", "Total KV cache blocks available for a worker serving the model", cfg.KVBlocks)
	each("output_sequence_tokens", "Output sequence length in tokens", d.front.generationEach)
	p.one("counter", prefix+"output_tokens_total", "Total number of output tokens generated (updates "+
		"in real-time)", labels, float64(d.front.generated))
	gauge("queued_requests", "Number of requests in HTTP processing queue", len(d.w.engine.queue))
	each("request_duration_seconds", "Duration of LLM requests", d.front.e2e)
	p.one("counter", prefix+"requests_started_total", "Total number of LLM requests accepted by the frontend handler",
		pairs("endpoint", "chat_completions", "model", d.w.spec.Model, "request_type", "stream"), float64(d.requests))
	p.family("counter", prefix+"requests_total", "Total number of LLM requests processed")
	ended := func(errorType, status string, n uint64) {
		if n > 0 {
			p.add(pairs("endpoint", "chat_completions", "error_type", errorType, "model", d.w.spec.Model,
				"request_type", "stream", "status", status), float64(n))
		}
	}
	ended("", "success", d.front.generationEach.n)
	ended("internal", "error", d.errors)
	each("time_to_first_token_seconds", "Time to first token in seconds", d.front.ttft)
	return p.bytes()
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
		"GET /metrics": shown(plainText, d.page), "GET /health": notReady, "GET /live": notReady,
	})
	return []http.Handler{front, worker}
}
