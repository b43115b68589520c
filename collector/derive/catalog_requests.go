package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// requestFamilies are the requests that ended.
func requestFamilies() []Family {
	return []Family{
		counter("requests_total", Sampled, requestsTotal(),
			"Requests that ended at the entry model, by what became of them: ok, client (the client's mistake), canceled, overload (refused for want of room), server (failed by the server's fault), or unknown, where only their acceptance is counted: decoupled Python models, and models of which that is not known (source nv_inference_request_success and nv_inference_request_failure, request_success_total and request_error_total, request_finish_total, dynamo_frontend_requests_total). An ensemble counts each failure twice since 24.07; what Triton refuses at max_queue_size is not counted. What a server counts twice counts once: requests that vLLM refuses and answers 503, and as far as it is known those of SGLang whose clients left and that are answered 400; of SGLang before 0.5.23 class ok is at least what is shown.",
			"success and failures of each entry model, parts have none; Triton's with model and version, for one of several that is unloaded must not look like a reset of all"),
		counter("requests_failed_total", Rough, requestsFailed(),
			"Requests that ended at the entry model otherwise than well, by class and reason (source nv_inference_request_failure, request_error_total{http_code}, request_failure_total, dynamo_frontend_requests_total{status=error}, dynamo_frontend_failures_total for what the former has not). An ensemble counts each failure twice since 24.07; errors of decoupled Python models after they accepted are never counted.",
			"failures of each entry model; trtllm-serve: reason is http_ and the code"),
		counter("requests_finished_total", Exact, copyOf(engine.RequestsFinished),
			"Requests that finished, by reason and class (source request_success_total{finished_reason}, request_finish_total, dynamo_frontend_requests_total{status=success}). A cancelled request counts with its reason; requests of clients that left are not counted by trtllm-serve.",
			counted),
		counter("engine_requests_completed_total", Sampled, copyOf(engine.RequestsCompleted),
			"Requests the executor completed, from the iterations that were read (source num_requests_completed_total); fewer where iteration statistics are thinned out.",
			counted),
		gauge("requests_per_second", Exact, requestRate(),
			"Requests a second that ended over the window, at the entry model only; failures of an ensemble, which Triton counts twice since 24.07, count once.",
			"rate(success) + rate(failure), of ensembles max(failure / 2, failures of steps) with reason OTHER"),
		gauge("request_error_ratio", Rough, errorRatio(),
			"Share of the requests that ended over the window and did not end well, by class: client, canceled, overload, server; 0 to 1. Only server is the server's fault. Absent where not all failures are counted: decoupled Python models, which never count errors after they accepted, models of which nobody says whether they are such, and trtllm-serve up to 1.2. A class of which the server counts only some, as Triton does overload and canceled, is there once one was counted.",
			"rate(ended of the class) / rate(ended), failures of an ensemble counted once"),
		counter("requests_rejected_total", Exact, copyOf(engine.RequestsRejected),
			"Requests that a router or engine refused for want of room (source dynamo_frontend_model_rejection_total). They are in requests_total{class=overload} too where the server counts them as ended.",
			counted),
		counter("requests_migrated_total", Exact, copyOf(engine.RequestsMigrated),
			"Requests that a router would send to another worker because theirs was lost, by what became of them where the release says it: outcome failure is one that no worker took (source dynamo_frontend_model_migration_duration_seconds_count{migration_type,outcome}, else dynamo_frontend_model_migration_total{migration_type}).",
			counted),
		counter("stage_requests_total", Exact, copyOf(engine.StageRequests),
			"Requests that a router sent to the servers of a stage: prefill, decode or encode (source ctx_total_requests_total, gen_total_requests_total, mme_total_requests_total of a disaggregated trtllm-serve).",
			counted),
		counter("stage_errors_total", Exact, copyOf(engine.StageErrors),
			"Requests that failed at a stage, clients' mistakes among them (source ctx_error_requests_total and its like).",
			counted),
		counter("stage_retries_total", Exact, copyOf(engine.StageRetries),
			"Times that a router sent a request to a stage again (source ctx_retry_requests_total and its like).",
			counted),
		counter("clients_disconnected_total", Exact, copyOf(engine.ClientsGone),
			"Clients that left before their request ended (source dynamo_frontend_disconnected_clients, which only grows although it is a gauge).",
			counted),
	}
}

// runningFamilies are the requests in flight.
func runningFamilies() []Family {
	return []Family{
		gauge("requests_running", Sampled, inFlight(engine.RequestsRunning),
			"Requests in the batch of the last iteration (source nv_trt_llm_request_metrics{request_type=scheduled}, num_scheduled_requests, num_requests_running of NIM).",
			"scheduled requests"),
		gauge("requests_active", Sampled, inFlight(engine.RequestsActive),
			"Requests the executor has admitted, running or waiting for a slot in the batch (source nv_trt_llm_request_metrics{request_type=active}, num_requests_running of trtllm-serve, dynamo_frontend_inflight_requests).",
			"active requests"),
		gauge("requests_waiting", Sampled, perEntry(waiting(), (*Plan).executorGate),
			"Requests that wait in the engine (source nv_trt_llm_request_metrics{request_type=waiting}, before TensorRT-LLM 0.18 active - scheduled; num_requests_waiting). TensorRT-LLM in Triton counts only those within its limit.",
			"waiting, or active - scheduled"),
		gauge("requests_prefill", Sampled, inFlight(engine.RequestsPrefill),
			"Running requests in their prefill (context) phase; a part of llm_server_requests_running (source request_type=context, num_context_requests).",
			"context requests"),
		gauge("requests_decode", Sampled, inFlight(engine.RequestsDecode),
			"Running requests in their decode (generation) phase; a part of llm_server_requests_running (source generation_requests, num_generation_requests).",
			"generation requests"),
		gauge("requests_paused", Sampled, copyOf(engine.RequestsPaused),
			"Requests that were paused in the last iteration, a sign that the KV cache is too small (source paused_requests, num_paused_requests).",
			"paused requests"),
		counter("requests_preempted_total", Exact, copyOf(engine.Preemptions),
			"Times that a running request lost its place and its KV cache to others, and was computed again (source vllm:num_preemptions_total).",
			counted),
		gauge("requests_preempted", Sampled, copyOf(engine.RequestsPreempted),
			"Requests that lost their place in the last step that the server reports (source sglang:num_retracted_reqs).",
			exposed),
		gauge("requests_limit", Exact, copyOr(engine.RequestsLimit, requestsLimit()),
			"Largest number of requests the executor admits at once (source nv_trt_llm_request_metrics{request_type=max}, max_num_active_requests, num_request_max, dynamo_frontend_model_max_num_seqs of each worker that the router knows the load of). Not a limit of the queue.",
			"max active requests"),
		gauge("requests_fill_ratio", Sampled, perEntry(both(total(engine.RequestsRunning), requestsLimit(), ratio), (*Plan).executorGate).
			because("requests_running / requests_limit is of one moment, and costs no window: it stays"),
			"How full the batch is, 0 to 1: running requests divided by how many the executor admits.",
			"requests_running / requests_limit"),
		gauge("batch_size_average", Sampled, batchSize(),
			"Mean size of the in-flight batch over the pages of the window. For models that batch otherwise see llm_server_model_batch_size_average.",
			"avg(requests_running) over the window"),
	}
}

// queueFamilies are what waits, and how near its limits the engine is.
func queueFamilies() []Family {
	return []Family{
		gauge("queue_depth", Sampled, queueDepth(),
			"Requests that wait: pending in Triton's queues plus waiting in the engine. A lower bound while llm_server_saturated is 1, for TensorRT-LLM in Triton does not expose requests beyond its limit. Of a router those are known to wait that it holds back and those for which its workers have no place (dynamo_frontend_inflight_requests beyond their limit, without a token by dynamo_frontend_queued_requests), which is a lower bound too. Absent where no queue is exposed.",
			"queue_requests{queue=core} + queue_requests{queue=engine}; models that Triton itself queues: core alone"),
		gauge("queue_requests", Sampled, queueSplit(),
			"Requests that wait, by queue: core is Triton's (source nv_inference_pending_request_count of all models but ensembles), engine is the executor's (source request_type=waiting, before TensorRT-LLM 0.18 active - scheduled). Core is near 0 for models that hand requests over at once.",
			"core: sum of pending; engine: waiting, or active - scheduled"),
		gauge("requests_routing", Sampled, copyOf(engine.RequestsRouting),
			"Requests that wait in a router for a worker with room (source dynamo_frontend_router_queue_pending_requests).",
			"router_queue_pending_requests"),
		gauge("requests_waiting_by_reason", Sampled, copyOf(engine.RequestsWaitingReason),
			"Requests that wait in the engine by reason: capacity for want of room, deferred for something else (source vllm:num_requests_waiting_by_reason).",
			exposed),
		gauge("queue_hidden_requests_estimate", Rough, hiddenQueue(),
			"Requests that wait beyond what the executor admits, which Triton exposes nowhere, estimated by Little's law over the window: the time that the requests which ended spent in the ensemble, by time, less those that are shown. Absent while requests end at a decoupled entry; too small while the queue grows, for it is that which the requests that ended found.",
			"sum(rate(nv_inference_request_duration_us)) of the entry models - avg(active) - avg(pending), at least 0"),
		gauge("headroom_requests", Sampled, headroom(),
			"How many more requests the engine could take on at once: free places, or as many as the free tokens of the KV cache hold of the mean request of the window, whichever is less.",
			"min(limit - active, free tokens / (mean prompt + mean output tokens))"),
		gauge("limited_by", Sampled, limitedBy(),
			"1 for what requests wait for, 0 for the others: slots (the batch is full), kv_cache (full, or requests were paused for it), prefill (prompts are computed while others wait), core_queue (Triton's queue before an engine with room), none, or unknown, where requests wait and nothing that the server exposes explains it.",
			"paused > 0 or KV cache >= 0.95; active >= limit; waiting > 0 with prefills; pending > 0"),
		gauge("signal_coverage_ratio", Exact, coverage(),
			"Share of the requests that ended over the window which a latency has measured, by signal, 0 to 1: of the rest its percentiles say nothing. Absent where not all failures are counted.",
			"rate(count of the histogram) / rate(ended)"),
		gauge("saturated", Sampled, saturated(),
			"1 while the executor has admitted as many requests as it may; further ones then wait in a queue that TensorRT-LLM in Triton does not expose. Of an engine that does not say how many it may, as vLLM and SGLang: 1 while requests wait in it.",
			"active >= limit, else waiting > 0"),
		gauge("saturation_ratio", Sampled, saturation(),
			"How much of what the replica can serve is asked for, to scale by: 0 without requests, 1 when full, more while requests are known to wait. Absent when it is not known. Of an engine that does not say how many requests it takes, as vLLM and SGLang, it is the use of the KV cache, and while requests wait those by the ones that run.",
			"0 without requests, else max(requests in flight and known to wait / (requests_limit, or running while others wait), kv_cache_utilization_ratio)"),
	}
}

// objectiveFamilies are the requests by the objectives of the pool.
func objectiveFamilies() []Family {
	return []Family{
		counter("slo_requests_total", Exact, objectiveRequests(),
			"What the objective of key slo in the pool's configuration counts: requests that ended for availability, requests with a first token for ttft, requests for tpot and e2e, gaps between tokens for itl. Absent where no objective is set, or it cannot be measured: see llm_server_slo_measured.",
			"the last bucket of the histogram; for availability the requests of all classes, failures of an ensemble halved"),
		counter("slo_requests_bad_total", Exact, objectiveBad(),
			"Those of llm_server_slo_requests_total that were not good: slower than the target, or failed by the server's fault. At least so many (bound=lower) and at most so many (bound=upper): equal where a bucket ends at the target, and further apart where it lies between two bounds. An ensemble counts most failures twice since 24.07, and its bounds say so.",
			"last bucket - bucket of the next bound above the target (lower), or below it (upper); for availability class server"),
	}
}

// versionFamilies compare versions of one model that serve side by side. Requests,
// failures and times of each version are in the families of requests and latency.
func versionFamilies() []Family {
	const compared = " Of label version less that of label than, the version before it; 95 % confidence. Both above 0: version is worse; below 0: better; else the window does not tell."
	tokens := func(name string, of engine.Signal, what, source string) Family {
		return counter(name, Exact, tokensByVersion(of), what+" of each model and version (source "+source+"). The tokens of all of them together are those of the family without model_.", counted)
	}
	return []Family{
		tokens("model_prompt_tokens_total", engine.PromptTokens, "Prompt tokens", "nv_llm_input_token_len_sum"),
		tokens("model_generation_tokens_total", engine.GenerationTokens, "Generated tokens", "nv_llm_output_token_len_sum"),
		gauge("version_error_ratio_difference", Rough, bounds(failedMore()),
			"Bounds of the difference in the share of requests that failed by the server's fault over the window, between two versions of an entry model."+compared,
			"Newcombe's interval of two shares"),
		gauge("version_duration_difference_seconds", Rough, bounds(tookLonger()),
			"Bounds of the difference in the mean time of requests that succeeded over the window, between two versions of an entry model."+compared+" Absent while requests ended in fewer than five intervals of the window; takes what ended in one interval for independent of the next.",
			"Welch's interval of two means, their errors from the means between pages"),
		gauge("version_time_to_first_token_difference_seconds", Rough, bounds(cameLater()),
			"Bounds of the difference in the mean time to the first token over the window, between two versions of an entry model that streams."+compared+" Absent while first tokens came in fewer than five intervals of the window.",
			"Welch's interval of two means, their errors from the means between pages"),
		gauge("version_worse", Rough, worse(),
			"1 when a version of an entry model is worse than the version before it (label than) with 95 % confidence over the window, by errors, duration or first_token; 0 when it is better or when the window does not tell. One of forty such comparisons of equal versions is 1 by chance: ask for several minutes of it.",
			"lower bound of the difference > 0"),
	}
}

// poolFamilies are about a pool as a whole.
func poolFamilies() []Family {
	return []Family{
		gauge("slo_objective", Exact, beyondPage(OfPool, inputs{}, "slo"),
			"Share of good requests that the pool promises, 0 to 1: key slo of its configuration. Carries pool_id and no replica.",
			"slo.<name>.objective of the configuration"),
		gauge("slo_threshold_seconds", Exact, beyondPage(OfPool, inputs{}, "slo"),
			"Time that good requests of the pool stay within: key slo of its configuration; availability has none. Carries pool_id and no replica.",
			"slo.<name>.le of the configuration"),
		gauge("pool_replicas_expected", Exact, beyondPage(OfPool, inputs{}, "bound"),
			"Replicas that the pool should have, at least (bound=lower) and at most (bound=upper): key expect.replicas of its configuration; absent without it. Carries pool_id and no replica.",
			"expect.replicas of the configuration"),
		gauge("pool_start_budget_seconds", Exact, beyondPage(OfPool, inputs{}),
			"How long a replica of the pool that was never seen may take to come up: until then its state is unknown, and down afterwards. Key start_budget of the configuration. Carries pool_id and no replica.",
			"start_budget of the configuration"),
		gauge("pool_skew", Exact, beyondPage(OfPool, inputs{}, "fact"),
			"Number of distinct values of the fact among the pool's replicas that answer, less 1: 0 when all are alike. Of a pool with several kinds of servers it is that of the kind whose replicas differ most. Carries pool_id and no replica.",
			"engine_version, trtllm_version, config_hash, kv_block_tokens, histogram_buckets, gpu"),
		gauge("pool_canary_outputs", Exact, beyondPage(OfPool, allOf(engine.AnswersStream)),
			"Number of distinct canary answers among the pool's replicas of equal engine and versions whose last canary request succeeded: 1 when they agree. Absent while no two can be compared. Carries pool_id and no replica. Replicas under different load may differ without a fault.",
			"distinct SHA-256 of the last answers, in the largest case"),
	}
}
