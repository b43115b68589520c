package engine

import "slices"

// dynamoMock begins the names of the mock engine and of TensorRT-LLM inside Dynamo 0.7.
const dynamoMock = "trtllm:"

func (d *dynamo) Meanings() []Meaning { return d.withEngines(dynamoMeanings()) }

// dynamoMeanings returns the meanings of Dynamo's own series.
func dynamoMeanings() []Meaning {
	var all []Meaning
	for _, prefix := range dynamoFronts() {
		all = append(all, withPrefix(prefix, frontendMeanings())...)
	}
	return slices.Concat(all, workerMeanings(), withPrefix(dynamoMock, mockMeanings()))
}

// frontendMeanings returns the meanings of a frontend's names without prefix. output_tokens_total
// grows while tokens stream. queued_requests counts requests in flight from the handler to the
// first token, so that it includes running prefills (dynamo issue 8054) and is no HTTP queue as its
// HELP states. Request durations include errors. A migration that failed counts as attempted, even
// where none is allowed (seen in 1.6.1); only the duration of migrations has their outcome.
func frontendMeanings() []Meaning {
	const migration = "migration_type=type"
	all := []Meaning{
		{Name: "requests_total", Where: only("status", "success"), Signal: RequestsFinished, Counter: true, Const: "finish_reason=success", Outcome: &Outcome{Usual: ClassOK}},
		{Name: "requests_total", Where: only("status", "error"), Signal: RequestsFailed, Counter: true, Dims: []string{dynamoType + "=reason"}, Outcome: dynamoFailures()},
		{Name: "requests_started_total", Signal: RequestsStarted, Counter: true},
		{Name: "model_rejection_total", Signal: RequestsRejected, Counter: true},
		{Name: "model_migration_duration_seconds_count", Signal: RequestsMigrated, Counter: true, Dims: []string{migration, "outcome"}},
		{Name: "model_migration_total", Unless: []string{"model_migration_duration_seconds_count"}, Signal: RequestsMigrated, Counter: true, Dims: []string{migration}},
		{Name: "disconnected_clients", Signal: ClientsGone, Scope: OfServer, Counter: true},
		{Name: "router_queue_pending_requests", Signal: RequestsRouting},
		{Name: "output_tokens_total", Signal: GenerationTokens, Counter: true},
		{Name: "input_sequence_tokens_sum", Signal: PromptTokens, Counter: true},
		{Name: "input_sequence_tokens", Signal: RequestPromptTokens, Form: Histogram},
		{Name: "output_sequence_tokens", Signal: RequestOutputTokens, Form: Histogram},
		{Name: "cached_tokens", Signal: RequestCachedTokens, Form: Histogram},
		{Name: "request_duration_seconds", Signal: RequestDuration, Form: Histogram},
		{Name: "time_to_first_token_seconds", Signal: FirstToken, Form: Histogram},
		{Name: "inter_token_latency_seconds", Signal: InterToken, Form: Histogram},
		{Name: "queued_requests", Signal: RequestsUnanswered},
		{Name: "inflight_requests", Signal: RequestsActive},
		// 1 while requests can be routed, 0 after the last worker is lost, absent seconds later.
		{Name: "model_ready", Signal: ModelRoutable, Combine: Max},
		{Name: "model_total_kv_blocks", Signal: WorkerKVBlocks, Combine: Max, NotZero: true},
		{Name: "model_max_num_seqs", Signal: WorkerRequestsLimit, Combine: Max, NotZero: true},
		{Name: "model_kv_cache_block_size", Signal: KVBlockTokens, Combine: Max},
	}
	// The KV router counts the full blocks of prompts of each worker. This reveals how many workers
	// there are, not how full their caches are (seen in 1.6.1: a sixteenth). Workers that only
	// prefill take no requests of their own.
	for _, worker := range []string{"", "decode"} {
		all = append(all, Meaning{Name: "worker_active_decode_blocks", Where: only("worker_type", worker), Signal: WorkerKVBlocksUsed})
	}
	// failures_total counts what the frontend could not read or route, beside the errors of
	// requests_total (seen in 1.6.1). NotFound is left out: it includes wrong paths, which are no
	// requests to a model.
	for _, terminal := range []struct {
		class Class
		names []string
	}{
		{ClassClient, []string{"InvalidRequest", "NotImplemented", "PayloadTooLarge", "PermissionDenied", "Unauthenticated", "UnsupportedMedia"}},
		{ClassOverload, []string{"CapacityExhausted", "RateLimited"}},
		{ClassServer, []string{"BackendProtocol", "DeadlineExceeded", "Internal", "Unavailable"}},
	} {
		for _, name := range terminal.names {
			all = append(all, Meaning{
				Name: "failures_total", Where: only("class", name), Signal: RequestsFailed, Counter: true, Const: "reason=not_routed",
				// requests_total counts those with a model again, as one of these types.
				Outcome: &Outcome{Usual: terminal.class, Repeats: []string{"internal", "not_implemented", "overload", "response_timeout", "unavailable", "validation"}},
			})
		}
	}
	return all
}

// dynamoType is the label with the type of an error, since dynamo pull request 6252.
const dynamoType = "error_type"

// dynamoFailures returns the outcomes of a frontend's errors by type (seen in 1.6.1): unavailable
// is a lost worker, overload a rejection by the router, which counts as model_rejection_total too.
// Other types are of unknown class.
func dynamoFailures() *Outcome {
	return &Outcome{Usual: ClassUnknown, Of: map[string]Class{
		"validation": ClassClient, "not_found": ClassClient, "not_implemented": ClassClient,
		"cancelled": ClassCanceled, "overload": ClassOverload,
		"internal": ClassServer, "unavailable": ClassServer, "response_timeout": ClassServer,
	}}
}

// dynamoUntyped reports whether errors on a frontend's page have no type.
func dynamoUntyped(p *Page) bool {
	return p.hasReading(func(r reading) bool {
		return r.meaning.Signal == RequestsFailed && r.meaning.Outcome.Usual == ClassUnknown && p.labels(r).Get(dynamoType) == ""
	})
}

// workerMeanings returns the meanings of a worker's series (dynamo/common/utils/prometheus.py). Its
// requests in flight include those that wait in the engine; like the use of the KV cache, they only
// stand in for the engine's own numbers. TensorRT-LLM does not count aborted requests as finished
// (dynamo/trtllm/request_handlers/handler_base.py).
func workerMeanings() []Meaning {
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
		// Dynamo's additions (prometheus_names.rs, trtllm_additional), without failed transfers.
		{Name: "trtllm_kv_transfer_latency_seconds_sum", Signal: KVTransferSeconds, Counter: true},
		{Name: "trtllm_kv_transfer_bytes_sum", Signal: KVTransferBytes, Counter: true},
		{Name: "trtllm_num_aborted_requests_total", Signal: RequestsFailed, Counter: true, Const: "reason=aborted", Outcome: &Outcome{Usual: ClassCanceled}},
	}
}

// ofEngines marks names of an engine inside, which may name the model differently.
func ofEngines(names ...string) []string {
	for i := range names {
		names[i] = ofAny + names[i]
	}
	return names
}

// mockMeanings returns the meanings of names without the prefix of the mock engine: those of vLLM
// (seen in 1.6.1), and the five families of TensorRT-LLM 1.1 in Dynamo 0.7.
func mockMeanings() []Meaning {
	return []Meaning{
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
}
