package matrix

import (
	"fmt"
	"maps"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// singleModel returns the facts of a server that lists one model.
func singleModel(version string) engine.Facts {
	return engine.Facts{EngineVersion: version, Listed: true, Models: []engine.ModelFacts{{Name: "llama"}}}
}

// serves returns the generations of trtllm-serve.
func serves() []Server {
	const unnamed, named = `engine_type="undefined",model_name="undefined"`, `engine_type="pytorch",model_name="llama"`
	success := []engine.Class{engine.ClassOK}
	all := []engine.Class{engine.ClassOK, engine.ClassClient, engine.ClassOverload, engine.ClassServer}
	return []Server{
		{
			Name:   "trtllm-serve 1.1 and 1.2",
			Kind:   engine.TRTLLMServe,
			Facts:  singleModel("1.1.0"),
			Counts: success,
			page:   func(b *Book, p *pageWriter) { serve(b, p, "", unnamed) },
		},
		{
			Name:   "trtllm-serve 1.3.0rc5",
			Kind:   engine.TRTLLMServe,
			Facts:  singleModel("1.3.0rc5"),
			Counts: success,
			page: func(b *Book, p *pageWriter) {
				serve(b, p, "trtllm_", unnamed)
				if b.ok() > 0 {
					p.gauge("trtllm_kv_cache_utilization", unnamed+`,pid="7"`, 0.2)
				}
			},
		},
		{
			Name:   "trtllm-serve 1.3",
			Kind:   engine.TRTLLMServe,
			Facts:  singleModel("1.3.0rc14"),
			Counts: all,
			page: func(b *Book, p *pageWriter) {
				serveNewest(b, p, named)
				if b.ok() > 0 {
					serveIterations(b, p, named+`,pid="7"`)
				}
			},
		},
		{
			Name:   "trtllm-serve 1.3 without iteration statistics",
			Kind:   engine.TRTLLMServe,
			Facts:  singleModel("1.3.0rc14"),
			Counts: all,
			page: func(b *Book, p *pageWriter) {
				serveNewest(b, p, named)
			},
		},
		{
			Name:   "trtllm-serve 1.3 with attention data parallelism",
			Kind:   engine.TRTLLMServe,
			Facts:  singleModel("1.3.0rc14"),
			Counts: all,
			page: func(b *Book, p *pageWriter) {
				serveNewest(b, p, named)
				if b.ok() > 0 {
					serveRanks(b, p, named+`,pid="7"`)
				}
			},
		},
		{
			Name:      "trtllm-serve, disaggregated orchestrator",
			Kind:      engine.TRTLLMDisaggregated,
			Facts:     singleModel("1.3.0rc14"),
			Counts:    all,
			TakenAsOK: []engine.Class{engine.ClassCanceled},
			page:      serveOrchestrator,
		},
	}
}

// serveRanks writes the iterations of two ranks with their own requests, which move between them now and
// then. Gauges show the last rank, which has no queue.
func serveRanks(b *Book, p *pageWriter, l string) {
	const often = 20 // Requests.
	last := *b
	last.Running, last.Waiting = b.Running/4, 0
	if b.ok()%(2*often) < often {
		last.Running = b.Running / 2
	}
	serveIterations(&last, p, l)
	p.gauge("trtllm_scheduled_batch_size", l+`,rank="0"`, float64(b.Running-last.Running))
	p.gauge("trtllm_scheduled_batch_size", l+`,rank="1"`, float64(last.Running))
}

// serveOrchestrator writes the page of the router for prefill and decode servers, which
// counts a stream as answered when it starts.
func serveOrchestrator(b *Book, p *pageWriter) {
	answered := b.ok() + b.canceled()
	p.count("total_requests_total", "", answered+b.overload()+b.failed()+b.Arrived)
	p.count("total_responses_total", "", answered)
	p.count("validation_exceptions_total", "", b.client())
	p.count("http_exceptions_total", "", b.overload())
	p.count("internal_errors_total", "", b.failed())
	p.times("queue_latency_seconds", "", answered, 0.05)
	for _, role := range []string{"ctx", "gen"} {
		p.count(role+"_total_requests_total", "", answered+b.failed())
		p.count(role+"_error_requests_total", "", b.failed())
		p.times(role+"_complete_latency_seconds", "", answered, requestDuration/2)
	}
}

// serve writes the five families of every generation, which appear with their first sample
// and do not count canceled requests.
func serve(b *Book, p *pageWriter, prefix, l string) {
	p.event(prefix+"request_success_total", l+`,finished_reason="stop"`, b.ok())
	p.latencies(prefix+"e2e_request_latency_seconds", l, b.ok(), requestDuration)
	p.latencies(prefix+"time_to_first_token_seconds", l, b.ok(), firstToken)
	p.latencies(prefix+"time_per_output_token_seconds", l, b.ok(), tokenGap)
	p.latencies(prefix+"request_queue_time_seconds", l, b.ok(), 0.05)
}

// serveNewest adds the families that were introduced with the counter of errors.
func serveNewest(b *Book, p *pageWriter, l string) {
	serve(b, p, "trtllm_", l)
	p.gauge("trtllm_model_config_info", l+`,served_model_name="llama",pid="7"`, 1)
	p.count("trtllm_prompt_cached_tokens_total", l, 0)
	p.event("trtllm_prompt_tokens_total", l, 100*b.ok())
	p.event("trtllm_generation_tokens_total", l, 100*b.ok())
	p.event("trtllm_request_error_total", l+`,http_code="400"`, b.client())
	p.event("trtllm_request_error_total", l+`,http_code="500"`, b.failed())
	p.event("trtllm_request_error_total", l+`,http_code="503"`, b.overload())
}

// serveIterations writes the gauges of the last iteration before a request completed.
func serveIterations(b *Book, p *pageWriter, l string) {
	p.count("trtllm_kv_cache_reused_blocks_total", l, b.ok())
	p.count("trtllm_kv_cache_missed_blocks_total", l, 3*b.ok())
	all := map[string]float64{
		"num_requests_running": float64(
			b.Running + b.Waiting,
		),
		"num_scheduled_requests":    float64(b.Running),
		"num_requests_waiting":      float64(b.Waiting),
		"max_num_active_requests":   8,
		"iteration_latency_seconds": 0.01,
		"kv_cache_max_blocks":       1000,
		"kv_cache_used_blocks":      30 * float64(b.Running),
		"kv_cache_free_blocks": 1000 - 30*float64(
			b.Running,
		),
		"kv_cache_tokens_per_block": 64,
		"kv_cache_utilization":      0.03 * float64(b.Running),
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p.gauge("trtllm_"+name, l, all[name])
	}
}

// nims returns NIM 1.x, whose counters of success and failure exist from the start, and 2.x,
// which exposes the page of its engine.
func nims() []Server {
	const l = `model_name="llama"`
	inside := func(name string, served Server) Server {
		served.Name, served.Kind, served.Facts = name, engine.NIM, singleModel("2.1.4")
		return served
	}
	newest := vllms()[1]
	return []Server{inside("NIM 2.x with vLLM", newest), inside("NIM 2.x with SGLang", sglangs()[0]), {
		Name: "NIM 1.x", Kind: engine.NIM, Facts: singleModel("1.0.0"),
		Counts: []engine.Class{engine.ClassOK, engine.ClassServer, engine.ClassCanceled},
		page: func(b *Book, p *pageWriter) {
			p.gauge("num_requests_running", l, float64(b.Running))
			p.gauge("num_requests_waiting", l, float64(b.Waiting))
			p.gauge("num_request_max", l, 8)
			p.gauge("gpu_cache_usage_perc", l, 0.03*float64(b.Running))
			p.count("prompt_tokens_total", l, 100*b.ok())
			p.count("generation_tokens_total", l, b.Tokens)
			p.event("request_finish_total", l+`,finished_reason="stop"`, b.ok())
			p.event("request_finish_total", l+`,finished_reason="abort"`, b.canceled())
			p.count("request_success_total", l, b.ok())
			p.count("request_failure_total", l, b.failed())
			p.times("e2e_request_latency_seconds", l, b.ok(), requestDuration)
			p.times("time_to_first_token_seconds", l, b.ok(), firstToken)
			p.times("time_per_output_token_seconds", l, b.Tokens, tokenGap)
		},
	}}
}

// dynamos returns Dynamo's frontends, and its workers by engine.
func dynamos() []Server {
	worker := func(with string, inside func(b *Book, p *pageWriter), counts ...engine.Class) Server {
		return Server{
			Name:   "Dynamo, worker with " + with,
			Kind:   engine.Dynamo,
			Counts: counts,
			page: func(b *Book, p *pageWriter) {
				dynamoWorker(b, p)
				inside(b, p)
			},
		}
	}
	triton := worker(
		"Triton",
		func(b *Book, p *pageWriter) { ensemble(b, p, true); executor(b, p, "tokens reuse") },
		engine.ClassOK,
		engine.ClassServer,
	)
	triton.TakenAsOK, triton.ShowsArrivals = []engine.Class{engine.ClassCanceled}, true
	return []Server{
		{
			Name:          "Dynamo, frontend",
			Kind:          engine.Dynamo,
			Facts:         singleModel(""),
			Counts:        engine.Classes(),
			ShowsArrivals: true,
			page:          dynamoFrontend,
		},
		{
			Name:          "Dynamo, frontend with the KV router",
			Kind:          engine.Dynamo,
			Facts:         singleModel(""),
			Counts:        engine.Classes(),
			ShowsArrivals: true,
			page: func(b *Book, p *pageWriter) {
				dynamoFrontend(b, p)
				p.gauge(
					"dynamo_frontend_router_queue_pending_requests",
					`model="llama",policy_class="default",worker_type="decode"`,
					0,
				)
				for _, worker := range []string{"1", "2"} {
					p.gauge(
						"dynamo_frontend_worker_active_decode_blocks",
						fmt.Sprintf(`dp_rank="0",worker_id=%q,worker_type="decode"`, worker),
						2*float64(b.Running),
					)
				}
			},
		},
		worker(
			"TensorRT-LLM",
			func(b *Book, p *pageWriter) { serve(b, p, "trtllm_", `engine_type="trtllm",model_name="llama"`) },
			engine.ClassOK,
		),
		worker("vLLM", func(b *Book, p *pageWriter) { vllmRank(b, p, "0", vllmNewest) }, engine.ClassOK),
		worker("SGLang", func(b *Book, p *pageWriter) {
			sglangScheduler(b, p, sglangRank)
			sglangLive(b, p, sglangRank)
			sglangEnded(b, p)
		}, engine.ClassOK, engine.ClassCanceled),
		triton,
	}
}

// dynamoWorker writes the start of a worker's page, before that of the engine.
func dynamoWorker(b *Book, p *pageWriter) {
	const l = `dynamo_component="backend",dynamo_endpoint="generate",dynamo_namespace="dynamo"`
	p.gauge("dynamo_component_inflight_requests", l, float64(b.Running+b.Waiting+b.Arrived))
	p.count("dynamo_component_requests_total", l, b.ok()+b.failed())
	p.gauge("dynamo_component_uptime_seconds", `worker_id="1"`, 50)
}

// dynamoFrontend writes a frontend's page. Half of the client errors are requests for unknown
// models, which it counts under a placeholder name.
func dynamoFrontend(b *Book, p *pageWriter) {
	const l, nobody, f = `model="llama"`, `model="unknown_model"`, "dynamo_frontend_"
	request := func(model, status, kind string) string {
		return fmt.Sprintf(
			`endpoint="chat_completions",error_type=%q,%s,request_type="stream",status=%q`,
			kind,
			model,
			status,
		)
	}
	p.gauge(f+"model_ready", l, 1)
	p.gauge(f+"model_max_num_seqs", l, 8)
	p.gauge(f+"model_total_kv_blocks", l, 1000)
	p.gauge(f+"model_kv_cache_block_size", l, 64)
	p.gauge(f+"disconnected_clients", "", float64(b.canceled()))
	p.event(f+"requests_total", request(l, "success", ""), b.ok())
	p.event(f+"requests_total", request(l, "error", "internal"), b.failed())
	missed := b.client() / 2
	p.event(f+"requests_total", request(l, "error", "validation"), b.client()-missed)
	p.event(f+"requests_total", request(nobody, "error", "not_found"), missed)
	p.event(f+"requests_total", request(l, "error", "cancelled"), b.canceled())
	p.event(f+"requests_total", request(l, "error", "overload"), b.overload())
	p.event(f+"model_rejection_total", l, b.overload())
	if b.begun() == 0 {
		return
	}
	inFlight := b.Running + b.Waiting + b.Arrived
	p.event(f+"requests_started_total", `endpoint="chat_completions",request_type="stream",`+l, b.begun())
	p.gauge(f+"inflight_requests", l, float64(inFlight))
	p.gauge(f+"queued_requests", l, float64(b.Waiting+b.Arrived))
	p.event(f+"output_tokens_total", l, b.Tokens)
	p.latencies(f+"input_sequence_tokens", l, b.ok(), 100)
	p.latencies(f+"output_sequence_tokens", l, b.ok(), 100)
	p.latencies(f+"request_duration_seconds", l, b.ok(), requestDuration)
	p.latencies(f+"time_to_first_token_seconds", l, b.ok(), firstToken)
	p.latencies(f+"inter_token_latency_seconds", l, b.Tokens, tokenGap)
}
