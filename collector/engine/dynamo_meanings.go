package engine

import "slices"

// dynamoMock begins the names of the mock engine in place of TensorRT-LLM (seen in
// 1.6.1), and of the TensorRT-LLM inside of Dynamo 0.7.
const dynamoMock = "trtllm:"

// Meanings implements Engine.
func (d *dynamo) Meanings() []Meaning { return d.with(dynamoMeanings()) }

// dynamoMeanings are the series of Dynamo itself.
func dynamoMeanings() []Meaning {
	var all []Meaning
	for _, f := range dynamoFronts() {
		all = append(all, dynamoFrontend(f)...)
	}
	return slices.Concat(all, dynamoWorker(), dynamoMocked())
}

// dynamoFrontend are a frontend's. Its output_tokens_total moves while tokens stream.
// Its queued_requests is of requests that it has in flight, from its handler to the
// first token, so that it holds prefills that run (dynamo issue 8054), and is no HTTP
// queue as its HELP says. Its request durations include errors. A migration that
// failed, as all do where none is allowed, counts as one that was tried (seen in 1.6.1);
// only the duration of migrations says what became of them.
func dynamoFrontend(f string) []Meaning {
	const migration = "migration_type=type"
	all := []Meaning{
		{Name: f + "requests_total", Where: only("status", "success"), Signal: RequestsFinished, Counter: true, Const: "finish_reason=success", Outcome: &Outcome{Usual: ClassOK}},
		{Name: f + "requests_total", Where: only("status", "error"), Signal: RequestsFailed, Counter: true, Dims: []string{dynamoType + "=reason"}, Outcome: dynamoFailures()},
		{Name: f + "requests_started_total", Signal: RequestsStarted, Counter: true},
		{Name: f + "model_rejection_total", Signal: RequestsRejected, Counter: true},
		{Name: f + "model_migration_duration_seconds_count", Signal: RequestsMigrated, Counter: true, Dims: []string{migration, "outcome"}},
		{Name: f + "model_migration_total", Unless: []string{f + "model_migration_duration_seconds_count"}, Signal: RequestsMigrated, Counter: true, Dims: []string{migration}},
		{Name: f + "disconnected_clients", Signal: ClientsGone, Scope: OfServer, Counter: true},
		{Name: f + "router_queue_pending_requests", Signal: RequestsRouting},
		{Name: f + "output_tokens_total", Signal: GenerationTokens, Counter: true},
		{Name: f + "input_sequence_tokens_sum", Signal: PromptTokens, Counter: true},
		{Name: f + "input_sequence_tokens", Signal: RequestPromptTokens, Form: Histogram},
		{Name: f + "output_sequence_tokens", Signal: RequestOutputTokens, Form: Histogram},
		{Name: f + "cached_tokens", Signal: RequestCachedTokens, Form: Histogram},
		{Name: f + "request_duration_seconds", Signal: RequestDuration, Form: Histogram},
		{Name: f + "time_to_first_token_seconds", Signal: FirstToken, Form: Histogram},
		{Name: f + "inter_token_latency_seconds", Signal: InterToken, Form: Histogram},
		{Name: f + "queued_requests", Signal: RequestsUnanswered},
		{Name: f + "inflight_requests", Signal: RequestsActive},
		// It is 1 while the frontend can route requests for a model; it falls to 0 when the
		// last worker is lost, and is gone some seconds later.
		{Name: f + "model_ready", Signal: ModelRoutable, Combine: Max},
		{Name: f + "model_total_kv_blocks", Signal: WorkerKVBlocks, Combine: Max, NotZero: true},
		{Name: f + "model_max_num_seqs", Signal: WorkerRequestsLimit, Combine: Max, NotZero: true},
		{Name: f + "model_kv_cache_block_size", Signal: KVBlockTokens, Combine: Max},
	}
	// The KV router shows the full blocks of prompts of each worker, which says how many
	// there are and not how full their caches are (seen in 1.6.1: a sixteenth). Those that
	// only prefill take no requests of their own.
	for _, worker := range []string{"", "decode"} {
		all = append(all, Meaning{Name: f + "worker_active_decode_blocks", Where: only("worker_type", worker), Signal: WorkerKVBlocksUsed})
	}
	for _, class := range []Class{ClassClient, ClassOverload, ClassServer} {
		for _, name := range dynamoTerminal()[class] {
			all = append(all, Meaning{
				Name: f + "failures_total", Where: only("class", name), Signal: RequestsFailed, Counter: true, Const: "reason=not_routed",
				Outcome: &Outcome{Usual: class, Repeats: dynamoRepeats()},
			})
		}
	}
	return all
}

// dynamoType is the label of a request's error; releases before dynamo pull request
// 6252 have none, and count mistakes of clients and failures as one.
const dynamoType = "error_type"

// dynamoFailures are the outcomes of a frontend's errors by type (seen in 1.6.1):
// unavailable is a worker that was lost, overload the router's refusal, which is
// counted as a rejection too. What another release calls otherwise is of no class that
// is known.
func dynamoFailures() *Outcome {
	return &Outcome{Usual: ClassUnknown, Of: map[string]Class{
		"validation": ClassClient, "not_found": ClassClient, "not_implemented": ClassClient,
		"cancelled": ClassCanceled, "overload": ClassOverload,
		"internal": ClassServer, "unavailable": ClassServer, "response_timeout": ClassServer,
	}}
}

// dynamoTerminal are the classes of failures_total, which counts what the frontend
// could not read or route beside the errors of requests_total (seen in 1.6.1). NotFound
// is of paths that are not there too, which are no requests to a model.
func dynamoTerminal() map[Class][]string {
	return map[Class][]string{
		ClassClient:   {"InvalidRequest", "NotImplemented", "PayloadTooLarge", "PermissionDenied", "Unauthenticated", "UnsupportedMedia"},
		ClassOverload: {"CapacityExhausted", "RateLimited"},
		ClassServer:   {"BackendProtocol", "DeadlineExceeded", "Internal", "Unavailable"},
	}
}

// dynamoRepeats are the types of error that requests_total counts of what is in
// failures_total.
func dynamoRepeats() []string {
	return []string{"internal", "not_implemented", "overload", "response_timeout", "unavailable", "validation"}
}

// dynamoUntyped says whether errors on a frontend's page have no type.
func dynamoUntyped(p *Page) bool {
	return slices.ContainsFunc(p.readings, func(r reading) bool {
		return r.meaning.Signal == RequestsFailed && r.meaning.Outcome.Usual == ClassUnknown && p.labels(r).Get(dynamoType) == ""
	})
}

// dynamoWorker are a worker's (dynamo/common/utils/prometheus.py). What it has in flight
// holds what waits in its engine, and it and the use of the KV cache stand in for the
// engine's own numbers only. TensorRT-LLM does not count requests that were given up
// among those that finished (dynamo/trtllm/request_handlers/handler_base.py).
func dynamoWorker() []Meaning {
	const c, rank = dynamoComponent, "dp_rank"
	return []Meaning{
		{
			Name: c + "inflight_requests", Where: only("dynamo_endpoint", dynamoServing), Signal: RequestsActive,
			Unless: ofEngines("trtllm_num_requests_running", dynamoMock+"num_requests_running", "vllm:num_requests_running", "sglang:num_running_reqs"),
		},
		{
			Name: c + "total_blocks", Signal: KVBlocksLimit, Rank: rank,
			Unless: ofEngines("trtllm_kv_cache_max_blocks", "vllm:cache_config_info", "sglang:num_pages"),
		},
		{
			Name: c + "gpu_cache_usage_percent", Signal: KVUtilization, Combine: Max, Rank: rank,
			Unless: ofEngines("trtllm_kv_cache_utilization", dynamoMock+"kv_cache_usage_perc", "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"),
		},
		{Name: c + "kv_cache_hit_rate", Signal: KVHitRatio, Dims: []string{rank + "=rank"}, Unless: ofEngines("trtllm_kv_cache_hit_rate")},
		// The frontend and each worker name themselves (seen in 1.6.1).
		{Name: c + "uptime_seconds", Signal: ProcessUptime, Scope: OfServer, Counter: true, Dims: []string{"worker_id"}},
		// What Dynamo counts beside TensorRT-LLM's own (prometheus_names.rs,
		// trtllm_additional); a transfer that failed is not counted.
		{Name: "trtllm_kv_transfer_latency_seconds_sum", Signal: KVTransferSeconds, Counter: true},
		{Name: "trtllm_kv_transfer_bytes_sum", Signal: KVTransferBytes, Counter: true},
		{Name: "trtllm_num_aborted_requests_total", Signal: RequestsFailed, Counter: true, Const: "reason=aborted", Outcome: &Outcome{Usual: ClassCanceled}},
	}
}

// ofEngines are names of engines inside, which may call the model otherwise.
func ofEngines(names ...string) []string {
	for i := range names {
		names[i] = ofAny + names[i]
	}
	return names
}

// dynamoMocked are the series under the prefix of the mock engine, which has vLLM's
// (seen in 1.6.1); what vLLM has not is of 0.7 with TensorRT-LLM 1.1, which had five
// families.
func dynamoMocked() []Meaning {
	all := []Meaning{
		{Name: "num_requests_running", Signal: RequestsRunning},
		{Name: "num_requests_waiting", Signal: RequestsWaiting},
		{Name: "num_preemptions_total", Signal: Preemptions, Counter: true},
		{Name: "kv_cache_usage_perc", Signal: KVUtilization, Combine: Max},
		{Name: "inter_token_latency_seconds", Signal: InterToken, Form: Histogram},
		{Name: "time_to_first_token_seconds", Signal: FirstToken, Form: Histogram},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration, Form: Histogram},
		{Name: "time_per_output_token_seconds", Signal: OutputToken, Form: Histogram},
		{Name: "request_queue_time_seconds", Signal: RequestQueue, Form: Histogram},
		{Name: "request_success_total", Signal: RequestsFinished, Counter: true, Dims: []string{"finished_reason=finish_reason"}, Outcome: finished()},
	}
	for i := range all {
		all[i].Name = dynamoMock + all[i].Name
	}
	return all
}
