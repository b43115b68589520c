package derive

import "slices"

// canaryFamilies are what the canary shows; the collector writes them where key
// canary of a pool turns it on.
func canaryFamilies() []Family {
	return slices.Concat(canaryResults(), canaryTimes(), canaryOutputs())
}

// canaryResults say whether the requests went well.
func canaryResults() []Family {
	return []Family{
		{
			Name: "canary_active", Type: gauge, Grade: Exact, Engines: withEngines(),
			Help:    "1 while the canary asks the replica, 0 while it is left alone, as when it drains or its entry model is not known: the reason is on /targets. Absent where the canary is off.",
			Formula: "canary.enabled of the pool, and the replica's state",
		},
		{
			Name: "canary_success", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "1 if the last canary request got its first token, all others and the end of the stream in time, else 0. Absent while the replica is not asked.",
			Formula: "one streamed request to the entry model",
		},
		{
			Name: "canary_requests_total", Type: counter, Grade: Exact, Labels: byModel("result"), Engines: withEngines(),
			Help:    "Canary requests by how they went. The server counts them among its own requests, in every number of its own.",
			Formula: "ok, connect, http_error, error_frame (status 200 with an error), no_first_token, stalled, never_ended, truncated, empty, timeout, malformed, unsupported",
		},
		{
			Name: "canary_age_seconds", Type: gauge, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Time since the last canary request ended, at the time of the scrape.",
			Formula: "measured by the exporter",
		},
	}
}

// canaryTimes say how the last good answer came.
func canaryTimes() []Family {
	return []Family{
		{
			Name: "canary_time_to_first_token_seconds", Type: gauge, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Time from the canary's request written to the first frame with text, network included; of one request of a few tokens, not of the server's. Absent when the request failed.",
			Formula: "first frame with non-empty text - request written",
		},
		{
			Name: "canary_duration_seconds", Type: gauge, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Time from the canary's request written to the end of the stream. Absent when the request failed.",
			Formula: "[DONE], or the end of the body for Triton - request written",
		},
		{
			Name: "canary_inter_token_latency_max_seconds", Type: gauge, Unit: "seconds", Grade: Sampled, Labels: byModel(), Engines: withEngines(),
			Help:    "Longest time between two frames with text of the last canary request; a frame may hold several tokens. Absent when the request failed or had one frame.",
			Formula: "max(frame - frame before)",
		},
		{
			Name: "canary_tail_seconds", Type: gauge, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Time from the last frame with text to the end of the stream. Absent when the request failed.",
			Formula: "end - last frame with text",
		},
		{
			Name: "canary_tokens", Type: gauge, Grade: Rough, Labels: byModel(), Engines: withEngines(),
			Help:    "Tokens of the last answer to the canary as the server's usage says; without usage, as from Triton's generate_stream, the frames with text. Absent when the request failed.",
			Formula: "usage.completion_tokens, else frames",
		},
	}
}

// canaryOutputs compare answers.
func canaryOutputs() []Family {
	return []Family{
		{
			Name: "canary_output_changes_total", Type: counter, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Good answers to the one fixed request that differed from the one before by the same engine, versions and configs. The batch of the moment chooses kernels, so an answer may change under load without a fault: see llm_server_determinism_profile.",
			Formula: "SHA-256 of the whole text",
		},
		{
			Name: "canary_deterministic", Type: gauge, Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "1 if the last answers, at most ten, by the same engine, versions and configs are all the same, else 0. Absent before the second and when the last request failed. Says nothing of other prompts, nor of another load than there was.",
			Formula: "SHA-256 of the whole text",
		},
		{
			Name: "pool_canary_outputs", Type: gauge, Grade: Exact, Engines: withEngines(),
			Help:    "Number of distinct answers to the same request among the pool's replicas of equal engine and versions whose last canary request was well: 1 when they agree. Absent while no two can be compared. Carries pool_id and no replica. Replicas under different load may differ without a fault.",
			Formula: "distinct SHA-256 of the last answers, in the largest case",
		},
	}
}
