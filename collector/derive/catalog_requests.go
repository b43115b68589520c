package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

func requestFamilies() []Family {
	return []Family{
		family("requests_total", Sampled, requestsTotalRule(),
			"Requests that ended, by class: ok, client, canceled, overload, server (its fault) or unknown.",
			"success and failures of each entry model, without parts; Triton's with model and version, so that an "+
				"unloaded one does not look like a reset of all"),
		family("requests_failed_total", Rough, requestsFailedRule(),
			"Requests that ended without success, by class and reason; not every server counts them all.",
			"failures of each entry model; trtllm-serve: reason is http_ and the code"),
		counted("requests_finished_total", engine.RequestsFinished,
			"Requests that finished, by reason and class."),
		sampled("engine_requests_completed_total", engine.RequestsCompleted,
			"Requests that the executor completed in the iterations that were sampled."),
		family("requests_per_second", Exact, requestRateRule(),
			"Requests that ended per second over the window.",
			"rate(success) + rate(failure), of ensembles max(failure / 2, failures of steps) with reason OTHER"),
		family("request_error_ratio", Rough, errorRatioRule(),
			"Share of ended requests without success, by class; only class server is the server's fault.",
			"rate(ended of the class) / rate(ended), failures of an ensemble counted once"),
		counted("requests_rejected_total", engine.RequestsRejected,
			"Requests that a router or engine rejected for lack of capacity."),
		counted("requests_migrated_total", engine.RequestsMigrated,
			"Attempts to move a request to another worker because its own was lost."),
		counted("stage_requests_total", engine.StageRequests,
			"Requests that a router sent to a stage: prefill, decode or encode."),
		counted("stage_errors_total", engine.StageErrors, "Requests that failed at a stage, including client errors."),
		counted("stage_retries_total", engine.StageRetries, "Times that a router retried a request at a stage."),
		counted(
			"clients_disconnected_total",
			engine.ClientsGone,
			"Clients that disconnected before their request ended.",
		),
	}
}

func runningFamilies() []Family {
	return []Family{
		family("requests_running", Sampled, inFlight(engine.RequestsRunning),
			"Requests in the batch of the last iteration."),
		family("requests_active", Sampled, inFlight(engine.RequestsActive),
			"Requests that the executor has admitted, in the batch or waiting for a slot in it."),
		family("requests_waiting", Sampled, requestsWaitingRule(),
			"Requests waiting in the engine.",
			"waiting, or active - scheduled"),
		family("requests_prefill", Sampled, inFlight(engine.RequestsPrefill),
			"Running requests in their prefill phase."),
		family("requests_decode", Sampled, inFlight(engine.RequestsDecode),
			"Running requests in their decode phase."),
		sampled("requests_paused", engine.RequestsPaused, "Requests paused in the last iteration, a sign that the "+
			"KV cache is too small."),
		counted("requests_preempted_total", engine.Preemptions, "Times that a running request lost its KV cache to "+
			"others and had to be recomputed."),
		sampled("requests_preempted", engine.RequestsPreempted, "Requests that lost their slot in the last step "+
			"that the server reports."),
		family("requests_limit", Exact, requestsLimitRule(),
			"Maximum number of requests that the executor admits at once; not a limit of the queue.",
			"max active requests"),
		family("requests_fill_ratio", Sampled, fillRatioRule(),
			"Running requests divided by the executor's limit, 0 to 1.",
			"requests_running / requests_limit"),
		family("batch_size_average", Sampled, batchSizeRule(),
			"Mean size of the in-flight batch over the window.",
			"avg(requests_running) over the window"),
	}
}

func queueFamilies() []Family {
	return []Family{
		family("queue_depth", Sampled, queueDepthRule(),
			"Waiting requests as far as the server exposes its queues; absent if it exposes none.",
			"queue_requests{queue=core} + queue_requests{queue=engine}; models that Triton itself queues: core alone"),
		family("queue_requests", Sampled, queueSplitRule(),
			"Waiting requests by queue: core is Triton's, engine is the executor's.",
			"core: sum of pending; engine: waiting, or active - scheduled"),
		sampled("requests_routing", engine.RequestsRouting, "Requests waiting in a router for a worker with "+
			"free capacity."),
		sampled("requests_waiting_by_reason", engine.RequestsWaitingReason,
			"Requests waiting in the engine, by reason: capacity if none is free, else deferred."),
		family("queue_hidden_requests_estimate", Rough, hiddenQueueRule(),
			"Waiting requests that Triton does not expose, by Little's law; too low while the queue grows.",
			"sum(rate(nv_inference_request_duration_us)) of the entry models - avg(active) - avg(pending), at least 0"),
		family("headroom_requests", Sampled, headroomRule(),
			"Requests of mean size that still fit: free slots or free KV cache, whichever is less.",
			"min(limit - active, free tokens / (mean prompt + mean output tokens))"),
		family("limited_by", Sampled, limitedByRule(),
			"1 for the resource that requests wait for, 0 for others; unknown if nothing explains the wait.",
			"paused > 0 or KV cache >= 0.95; active >= limit; waiting > 0 with prefills; pending > 0"),
		family("signal_coverage_ratio", Exact, coverage(),
			"Share of ended requests that a latency metric measured, by signal; its percentiles do not cover the rest.",
			"rate(count of the histogram) / rate(ended)"),
		family("saturated", Sampled, saturatedRule(),
			"1 while the executor is at its request limit or, if that is not exposed, while requests wait.",
			"active >= limit, else waiting > 0"),
		family("saturation_ratio", Sampled, saturationRule(),
			"Demand divided by capacity, for autoscaling: 1 when full, more while requests wait.",
			"0 without requests, else max(requests in flight and known to wait / (requests_limit, or running while "+
				"others wait), kv_cache_utilization_ratio)"),
	}
}

func objectiveFamilies() []Family {
	return []Family{
		family("slo_requests_total", Exact, objectiveRequestsRule(),
			"Requests that the objective counts; for itl, gaps between tokens.",
			"the last bucket of the histogram; for availability the requests of all classes, failures of an "+
				"ensemble halved"),
		family("slo_requests_bad_total", Exact, objectiveBadRule(),
			"Requests that missed the objective: at least (bound=lower), at most (bound=upper).",
			"last bucket - bucket of the next bound above the target (lower), or below it (upper); for "+
				"availability class server"),
	}
}

// versionFamilies returns the families that compare versions of a model that serve side by side.
func versionFamilies() []Family {
	tokens := func(name string, signal engine.Signal, what string) Family {
		return family(name, Exact, tokensByVersion(signal), what+" of each model and version.")
	}
	return []Family{
		tokens("model_prompt_tokens_total", engine.PromptTokens, "Prompt tokens"),
		tokens("model_generation_tokens_total", engine.GenerationTokens, "Generated tokens"),
		family("version_error_ratio_difference", Rough, bounds(errorComparison()),
			"Error ratio minus that of the version before (label than), 95 % bounds; worse if both are above 0.",
			"Newcombe's interval of two shares"),
		family("version_duration_difference_seconds", Rough, bounds(durationComparison()),
			"Mean duration minus that of the version before (label than), 95 % bounds; slower if both are above 0.",
			"Welch's interval of two means, their errors from the means between pages"),
		family("version_time_to_first_token_difference_seconds", Rough, bounds(firstTokenComparison()),
			"Mean TTFT minus that of the version before (label than), 95 % bounds; slower if both are above 0.",
			"Welch's interval of two means, their errors from the means between pages"),
		family("version_worse", Rough, worse(),
			"1 if the version is worse than the one before (label than) with 95 % confidence; by chance 1 time in 40.",
			"lower bound of the difference > 0"),
	}
}

func poolFamilies() []Family {
	pool := func(name string, answers inputs, help, formula string, names ...string) Family {
		return family(name, Exact, beyondPage(OfPool, answers, names...), help, formula)
	}
	return []Family{
		pool("slo_objective", inputs{}, "Share of good requests that the configuration promises, 0 to 1.",
			"slo.<name>.objective of the configuration", "slo"),
		pool("slo_threshold_seconds", inputs{}, "Time that good requests take at most, from the configuration.",
			"slo.<name>.le of the configuration", "slo"),
		pool("pool_replicas_expected", inputs{}, "Number of replicas that the configuration expects in the pool, "+
			"lower and upper bound.",
			"expect.replicas of the configuration", "bound"),
		pool("pool_start_budget_seconds", inputs{}, "Time that a new replica may take to start: unknown until "+
			"then, down afterwards.",
			"start_budget of the configuration"),
		pool("pool_skew", inputs{}, "Distinct values of the fact among the pool's replicas, minus 1: 0 if they agree.",
			"engine_version, trtllm_version, config_hash, kv_block_tokens, histogram_buckets, gpu", "fact"),
		pool("pool_canary_outputs", allOf(engine.AnswersStream), "Distinct canary answers among comparable "+
			"replicas of the pool: 1 if they agree.",
			"distinct SHA-256 of the last answers, in the largest case"),
	}
}
