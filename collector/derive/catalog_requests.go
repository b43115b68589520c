package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

func requestFamilies() []Family {
	return []Family{
		family("requests_total", Sampled, requestsTotal(),
			"Requests that ended at the entry model, by outcome: ok, client (the client's mistake), canceled, overload (rejected for lack of capacity), server (failed by the server's fault), or unknown if failures may be counted as successes: for models of Triton whose acceptance counts (decoupled Python models), Python models since 24.06, and backends and releases of which it is not known (source nv_inference_request_success and nv_inference_request_failure, request_success_total and request_error_total, request_finish_total, dynamo_frontend_requests_total). An ensemble counts each failure twice since 24.07; requests that Triton rejects at max_queue_size are not counted. Requests that a server counts twice count once: those that vLLM rejects with 503 and, as far as is known, those of SGLang whose clients disconnected and that are answered 400; for SGLang before 0.5.23 class ok is a lower bound.",
			"success and failures of each entry model, without parts; Triton's with model and version, so that an unloaded one does not look like a reset of all"),
		family("requests_failed_total", Rough, requestsFailed(),
			"Requests that did not succeed at the entry model, by class and reason (source nv_inference_request_failure, request_error_total{http_code}, request_failure_total, dynamo_frontend_requests_total{status=error}, dynamo_frontend_failures_total for what the former lacks). An ensemble counts each failure twice since 24.07; errors of decoupled Python models after acceptance, and since 24.06 errors with which any Python model answers, are never counted.",
			"failures of each entry model; trtllm-serve: reason is http_ and the code"),
		counted("requests_finished_total", engine.RequestsFinished,
			"Requests that finished, by reason and class (source request_success_total{finished_reason}, request_finish_total, dynamo_frontend_requests_total{status=success}). A cancelled request counts with its reason; trtllm-serve does not count requests of clients that disconnected."),
		sampled("engine_requests_completed_total", engine.RequestsCompleted,
			"Requests the executor completed, from the iterations that were read (source num_requests_completed_total); fewer if iteration statistics are thinned out."),
		family("requests_per_second", Exact, requestRate(),
			"Requests per second that ended over the window, at the entry model only; failures of an ensemble, which Triton counts twice since 24.07, count once.",
			"rate(success) + rate(failure), of ensembles max(failure / 2, failures of steps) with reason OTHER"),
		family("request_error_ratio", Rough, errorRatio(),
			"Share of the requests that ended over the window without success, by class: client, canceled, overload, server; 0 to 1. Only server is the server's fault. Absent if not all failures are counted, or it is not known: for models of Triton, capability outcomes says why; for trtllm-serve up to 1.2. A class that the server counts only partly, like Triton overload and canceled, appears once one was counted.",
			"rate(ended of the class) / rate(ended), failures of an ensemble counted once"),
		counted("requests_rejected_total", engine.RequestsRejected,
			"Requests that a router or engine rejected for lack of capacity (source dynamo_frontend_model_rejection_total). They are also in requests_total{class=overload} if the server counts them as ended."),
		counted("requests_migrated_total", engine.RequestsMigrated,
			"Requests that a router tried to move to another worker because theirs was lost, by outcome if the release reports it: failure if no worker took it (source dynamo_frontend_model_migration_duration_seconds_count{migration_type,outcome}, else dynamo_frontend_model_migration_total{migration_type})."),
		counted("stage_requests_total", engine.StageRequests,
			"Requests that a router sent to the servers of a stage: prefill, decode or encode (source ctx_total_requests_total, gen_total_requests_total, mme_total_requests_total of a disaggregated trtllm-serve)."),
		counted("stage_errors_total", engine.StageErrors, "Requests that failed at a stage, including client errors (source ctx_error_requests_total and similar)."),
		counted("stage_retries_total", engine.StageRetries, "Times that a router retried a request at a stage (source ctx_retry_requests_total and similar)."),
		counted("clients_disconnected_total", engine.ClientsGone, "Clients that disconnected before their request ended (source dynamo_frontend_disconnected_clients, a gauge that only grows)."),
	}
}

func runningFamilies() []Family {
	return []Family{
		family("requests_running", Sampled, inFlight(engine.RequestsRunning),
			"Requests in the batch of the last iteration (source nv_trt_llm_request_metrics{request_type=scheduled}, num_scheduled_requests, num_requests_running of NIM)."),
		family("requests_active", Sampled, inFlight(engine.RequestsActive),
			"Requests the executor has admitted, running or waiting for a slot in the batch (source nv_trt_llm_request_metrics{request_type=active}, num_requests_running of trtllm-serve, dynamo_frontend_inflight_requests)."),
		family("requests_waiting", Sampled, perEntry(waiting(), executorRuns),
			"Requests waiting in the engine (source nv_trt_llm_request_metrics{request_type=waiting}, before TensorRT-LLM 0.18 active - scheduled; num_requests_waiting). TensorRT-LLM in Triton counts only those within its limit.",
			"waiting, or active - scheduled"),
		family("requests_prefill", Sampled, inFlight(engine.RequestsPrefill),
			"Running requests in their prefill (context) phase; a part of llm_server_requests_running (source request_type=context, num_context_requests)."),
		family("requests_decode", Sampled, inFlight(engine.RequestsDecode),
			"Running requests in their decode (generation) phase; a part of llm_server_requests_running (source generation_requests, num_generation_requests)."),
		sampled("requests_paused", engine.RequestsPaused, "Requests that were paused in the last iteration, a sign that the KV cache is too small (source paused_requests, num_paused_requests)."),
		counted("requests_preempted_total", engine.Preemptions, "Times that a running request lost its slot and its KV cache to others and was recomputed (source vllm:num_preemptions_total)."),
		sampled("requests_preempted", engine.RequestsPreempted, "Requests that lost their slot in the last step that the server reports (source sglang:num_retracted_reqs)."),
		family("requests_limit", Exact, copyOr(engine.RequestsLimit, requestsLimit()),
			"Largest number of requests the executor admits at once (source nv_trt_llm_request_metrics{request_type=max}, max_num_active_requests, num_request_max, dynamo_frontend_model_max_num_seqs of each worker whose load the router knows). Not a limit of the queue.",
			"max active requests"),
		family("requests_fill_ratio", Sampled, perEntry(combineTerms(total(engine.RequestsRunning), requestsLimit(), ratio), executorRuns).
			because("requests_running / requests_limit needs no window, so that the family stays"),
			"How full the batch is, 0 to 1: running requests divided by the limit of the executor.",
			"requests_running / requests_limit"),
		family("batch_size_average", Sampled, batchSize(),
			"Mean size of the in-flight batch over the pages of the window. For models that batch otherwise see llm_server_model_batch_size_average.",
			"avg(requests_running) over the window"),
	}
}

func queueFamilies() []Family {
	return []Family{
		family("queue_depth", Sampled, queueDepth(),
			"Waiting requests: pending in Triton's queues plus waiting in the engine. A lower bound while llm_server_saturated is 1, because TensorRT-LLM in Triton does not expose requests beyond its limit. For a router, those that it holds back and those that exceed the limit of its workers (dynamo_frontend_inflight_requests beyond their limit, without a token by dynamo_frontend_queued_requests), which is a lower bound too. Absent if no queue is exposed.",
			"queue_requests{queue=core} + queue_requests{queue=engine}; models that Triton itself queues: core alone"),
		family("queue_requests", Sampled, queueSplit(),
			"Waiting requests by queue: core is Triton's (source nv_inference_pending_request_count of all models but ensembles), engine is the executor's (source request_type=waiting, before TensorRT-LLM 0.18 active - scheduled). Core is near 0 for models that hand requests over at once.",
			"core: sum of pending; engine: waiting, or active - scheduled"),
		sampled("requests_routing", engine.RequestsRouting, "Requests waiting in a router for a worker with free capacity (source dynamo_frontend_router_queue_pending_requests)."),
		sampled("requests_waiting_by_reason", engine.RequestsWaitingReason,
			"Requests waiting in the engine by reason: capacity if there is none, deferred if they wait for something else (source vllm:num_requests_waiting_by_reason)."),
		family("queue_hidden_requests_estimate", Rough, hiddenQueue(),
			"Requests waiting beyond what the executor admits, which Triton does not expose, estimated by Little's law over the window: the total time that ended requests spent in the ensemble, divided by time, less the requests that are exposed. Absent while requests end at a decoupled entry model; too small while the queue grows, because it reflects the queue that ended requests met.",
			"sum(rate(nv_inference_request_duration_us)) of the entry models - avg(active) - avg(pending), at least 0"),
		family("headroom_requests", Sampled, headroom(),
			"How many more requests the engine could admit at once: free slots, or as many mean requests of the window as fit into the free tokens of the KV cache, whichever is less.",
			"min(limit - active, free tokens / (mean prompt + mean output tokens))"),
		family("limited_by", Sampled, limitedBy(),
			"1 for what requests wait for, 0 for the others: slots (the batch is full), kv_cache (full, or requests were paused for it), prefill (prompts are computed while others wait), core_queue (Triton's queue in front of an engine with free slots), none, or unknown if requests wait and nothing that the server exposes explains it.",
			"paused > 0 or KV cache >= 0.95; active >= limit; waiting > 0 with prefills; pending > 0"),
		family("signal_coverage_ratio", Exact, coverage(),
			"Share of the requests that ended over the window that a latency metric measured, by signal, 0 to 1: its percentiles do not cover the rest. Absent if not all failures are counted.",
			"rate(count of the histogram) / rate(ended)"),
		family("saturated", Sampled, saturated(),
			"1 while the executor has admitted as many requests as its limit allows; others then wait in a queue that TensorRT-LLM in Triton does not expose. For an engine without an exposed limit, like vLLM and SGLang, 1 while requests wait in it.",
			"active >= limit, else waiting > 0"),
		family("saturation_ratio", Sampled, saturation(),
			"Demand divided by capacity, for scaling: 0 without requests, 1 when full, more while requests are known to wait. Absent if unknown. For an engine without an exposed limit, like vLLM and SGLang, it is KV cache utilization, and while requests wait, demand divided by running requests.",
			"0 without requests, else max(requests in flight and known to wait / (requests_limit, or running while others wait), kv_cache_utilization_ratio)"),
	}
}

func objectiveFamilies() []Family {
	return []Family{
		family("slo_requests_total", Exact, objectiveRequests(),
			"Requests that the pool's objectives (key slo of its configuration) count: ended requests for availability, requests with a first token for ttft, requests for tpot and e2e, gaps between tokens for itl. Absent if no objective is set or it cannot be measured: see llm_server_slo_measured.",
			"the last bucket of the histogram; for availability the requests of all classes, failures of an ensemble halved"),
		family("slo_requests_bad_total", Exact, objectiveBad(),
			"Requests of llm_server_slo_requests_total that missed the objective: slower than the target, or failed by the server's fault. At least (bound=lower) and at most (bound=upper) that many: equal if a bucket ends at the target, further apart if the target lies between two bounds, or for an ensemble, which counts most failures twice since 24.07.",
			"last bucket - bucket of the next bound above the target (lower), or below it (upper); for availability class server"),
	}
}

// versionFamilies returns the families that compare versions of a model that serve side by side.
func versionFamilies() []Family {
	const compared = " Label version less label than, which is the version before it; 95 % confidence. Both above 0: version is worse; both below 0: better; otherwise the window is inconclusive."
	tokens := func(name string, signal engine.Signal, what, source string) Family {
		return family(name, Exact, tokensByVersion(signal), what+" of each model and version (source "+source+"). Their sum is the family without model_.")
	}
	return []Family{
		tokens("model_prompt_tokens_total", engine.PromptTokens, "Prompt tokens", "nv_llm_input_token_len_sum"),
		tokens("model_generation_tokens_total", engine.GenerationTokens, "Generated tokens", "nv_llm_output_token_len_sum"),
		family("version_error_ratio_difference", Rough, bounds(compareErrors()),
			"Bounds of the difference in the share of requests that failed by the server's fault over the window, between two versions of an entry model."+compared,
			"Newcombe's interval of two shares"),
		family("version_duration_difference_seconds", Rough, bounds(compareDurations()),
			"Bounds of the difference in the mean time of requests that succeeded over the window, between two versions of an entry model."+compared+" Absent while requests ended in fewer than five intervals of the window; assumes that intervals are independent of each other.",
			"Welch's interval of two means, their errors from the means between pages"),
		family("version_time_to_first_token_difference_seconds", Rough, bounds(compareFirstTokens()),
			"Bounds of the difference in the mean time to the first token over the window, between two versions of an entry model that streams."+compared+" Absent while first tokens came in fewer than five intervals of the window.",
			"Welch's interval of two means, their errors from the means between pages"),
		family("version_worse", Rough, worse(),
			"1 when a version of an entry model is worse than the version before it (label than) with 95 % confidence over the window, by errors, duration or first_token; 0 when it is better or the window is inconclusive. One of forty such comparisons of equal versions is 1 by chance: require it for several minutes.",
			"lower bound of the difference > 0"),
	}
}

func poolFamilies() []Family {
	pool := func(name string, answers inputs, help, formula string, names ...string) Family {
		return family(name, Exact, beyondPage(OfPool, answers, names...), help+" Carries pool_id and no replica.", formula)
	}
	return []Family{
		pool("slo_objective", inputs{}, "Promised share of good requests, 0 to 1: key slo of its configuration.",
			"slo.<name>.objective of the configuration", "slo"),
		pool("slo_threshold_seconds", inputs{}, "Time that good requests take at most: key slo of the pool's configuration; availability has none.",
			"slo.<name>.le of the configuration", "slo"),
		pool("pool_replicas_expected", inputs{}, "Replicas that the pool should have, at least (bound=lower) and at most (bound=upper): key expect.replicas of its configuration; absent without it.",
			"expect.replicas of the configuration", "bound"),
		pool("pool_start_budget_seconds", inputs{}, "How long a replica of the pool that was never seen may take to start: its state is unknown until then, and down afterwards. Key start_budget of the configuration.",
			"start_budget of the configuration"),
		pool("pool_skew", inputs{}, "Number of distinct values of the fact among the pool's replicas that answer, minus 1: 0 if they all agree. In a pool with several kinds of servers, the value for the kind whose replicas differ most.",
			"engine_version, trtllm_version, config_hash, kv_block_tokens, histogram_buckets, gpu", "fact"),
		pool("pool_canary_outputs", allOf(engine.AnswersStream), "Number of distinct canary answers among the pool's replicas of equal engine and versions whose last canary request succeeded: 1 when they agree. Absent while no two can be compared. Replicas under different load may differ without a fault.",
			"distinct SHA-256 of the last answers, in the largest case"),
	}
}
