package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

func requestFamilies() []Family {
	return []Family{
		family("requests_total", Sampled, requestsTotalRule(),
			"Ended requests by class: ok, or why not.",
			"success and failures of each entry model, without parts; with model and version if the server counts by "+
				"model, so that an unloaded one does not look like a reset of all"),
		family("requests_failed_total", Rough, requestsFailedRule(),
			"Failed requests as far as the server counts them.",
			"failures of each entry model"),
		counted("requests_finished_total", engine.RequestsFinished, "Finished requests by reason and class."),
		sampled("engine_requests_completed_total", engine.RequestsCompleted,
			"Requests completed in sampled iterations."),
		family("requests_per_second", Exact, requestRateRule(),
			"Ended requests per second.",
			"rate(success) + rate(failure), of ensembles max(failure / 2, failures of steps)"),
		family("request_error_ratio", Rough, errorRatioRule(),
			"Share of ended requests that failed, by class.",
			"rate(ended of the class) / rate(ended), failures of an ensemble counted once"),
		counted("requests_rejected_total", engine.RequestsRejected, "Requests rejected for lack of capacity."),
		counted("requests_migrated_total", engine.RequestsMigrated,
			"Attempts to move a request off a lost worker."),
		counted("stage_requests_total", engine.StageRequests, "Requests that a router sent to a stage."),
		counted("stage_errors_total", engine.StageErrors, "Errors at a stage, including client errors."),
		counted("stage_retries_total", engine.StageRetries, "Retries of a router at a stage."),
		counted("clients_disconnected_total", engine.ClientsGone, "Clients gone before their request ended."),
	}
}

func runningFamilies() []Family {
	return []Family{
		family("requests_running", Sampled, inFlight(engine.RequestsRunning),
			"Requests in the last iteration's batch."),
		family("requests_active", Sampled, inFlight(engine.RequestsActive),
			"Requests admitted to the executor, running or not."),
		family("requests_waiting", Sampled, requestsWaitingRule(),
			"Requests waiting in the engine.",
			"waiting, or active - scheduled"),
		family("requests_prefill", Sampled, inFlight(engine.RequestsPrefill),
			"Running requests in their prefill phase."),
		family("requests_decode", Sampled, inFlight(engine.RequestsDecode),
			"Running requests in their decode phase."),
		sampled("requests_paused", engine.RequestsPaused, "Requests paused in the last iteration."),
		counted("requests_preempted_total", engine.Preemptions, "Times a running request lost its KV cache."),
		sampled("requests_preempted", engine.RequestsPreempted,
			"Requests preempted in the last reported step."),
		family("requests_limit", Exact, requestsLimitRule(),
			"Most requests admitted at once; a queue is extra.",
			"max active requests"),
		family("requests_fill_ratio", Sampled, fillRatioRule(),
			"Running requests divided by their limit.",
			"requests_running / requests_limit"),
		family("batch_size_average", Sampled, batchSizeRule(),
			"Mean in-flight batch size over the window.",
			"avg(requests_running) over the window"),
	}
}

func queueFamilies() []Family {
	return []Family{
		family("queue_depth", Sampled, queueDepthRule(),
			"Waiting requests, as far as exposed.",
			"queue_requests{queue=core} + queue_requests{queue=engine}; models that the core itself queues: core alone"),
		family("queue_requests", Sampled, queueSplitRule(),
			"Waiting requests by queue: core, then engine.",
			"core: sum of pending; engine: waiting, or active - scheduled"),
		sampled("requests_routing", engine.RequestsRouting, "Requests that wait in a router for a worker."),
		sampled("requests_waiting_by_reason", engine.RequestsWaitingReason,
			"Requests waiting in the engine, by reason."),
		family("queue_hidden_requests_estimate", Rough, hiddenQueueRule(),
			"Estimate of waiting requests that nothing shows.",
			"sum(rate(model_request_seconds_total)) of the entry models - avg(active) - avg(pending), at least 0"),
		family("headroom_requests", Sampled, headroomRule(),
			"Further requests of mean size that fit.",
			"min(limit - active, free tokens / (mean prompt + mean output tokens))"),
		family("limited_by", Sampled, limitedByRule(),
			"1 for what requests wait for.",
			"paused > 0 or KV cache >= 0.95; active >= limit; waiting > 0 with prefills; pending > 0"),
		family("signal_coverage_ratio", Exact, coverage(),
			"Share of ended requests that a latency metric covers.",
			"rate(count of the histogram) / rate(ended)"),
		family("saturated", Sampled, saturatedRule(),
			"1 while the executor is full, else 0.",
			"active >= limit, else waiting > 0"),
		family("saturation_ratio", Sampled, saturationRule(),
			"Demand divided by capacity; over 1 if some wait.",
			"0 without requests, else max(requests in flight and known to wait / (requests_limit, or running while "+
				"others wait), kv_cache_utilization_ratio)"),
	}
}

func objectiveFamilies() []Family {
	return []Family{
		family("slo_requests_total", Exact, objectiveRequestsRule(),
			"Requests (for itl, gaps) that the objective counts.",
			"the last bucket of the histogram; for availability the requests of all classes, failures of an "+
				"ensemble halved"),
		family("slo_requests_bad_total", Exact, objectiveBadRule(),
			"Bounds of requests that missed the objective.",
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
			"Error ratio minus the previous version's (bounds).",
			"Newcombe's interval of two shares"),
		family("version_duration_difference_seconds", Rough, bounds(durationComparison()),
			"Mean duration minus the previous version's (bounds).",
			"Welch's interval of two means, their errors from the means between pages"),
		family("version_time_to_first_token_difference_seconds", Rough, bounds(firstTokenComparison()),
			"Mean TTFT minus the previous version's (bounds).",
			"Welch's interval of two means, their errors from the means between pages"),
		family("version_worse", Rough, worse(),
			"1 if the version is worse than the previous one.",
			"lower bound of the difference > 0"),
	}
}

func poolFamilies() []Family {
	pool := func(name string, answers inputs, help, formula string, names ...string) Family {
		return family(name, Exact, beyondPage(OfPool, answers, names...), help, formula)
	}
	return []Family{
		pool("slo_objective", inputs{}, "Promised share of good requests.",
			"slo.<name>.objective of the configuration", "slo"),
		pool("slo_threshold_seconds", inputs{}, "Longest time of a good request.",
			"slo.<name>.le of the configuration", "slo"),
		pool("pool_replicas_expected", inputs{}, "Replicas expected in the pool, by bound.",
			"expect.replicas of the configuration", "bound"),
		pool("pool_start_budget_seconds", inputs{}, "Time that a new replica may take to start.",
			"start_budget of the configuration"),
		pool("pool_cost_per_hour", inputs{}, "Declared cost of the pool's replicas for an hour.",
			"cost.replica_hour of the configuration * replicas", "currency"),
		pool("pool_skew", inputs{}, "Distinct values of a fact in the pool, minus 1.",
			"engine_version, trtllm_version, config_hash, kv_block_tokens, histogram_buckets, gpu", "fact"),
		pool("pool_canary_outputs", allOf(engine.AnswersStream), "Distinct canary answers of comparable replicas.",
			"distinct SHA-256 of the last answers, in the largest case"),
	}
}
