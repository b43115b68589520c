package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// canaryFamilies are what canary requests show; the collector exposes them where
// the pool's key canary turns them on.
func canaryFamilies() []Family {
	return slices.Concat(canaryResults(), canaryTimes(), canaryOutputs(), canaryCancels())
}

// canary is of what a canary request to the entry model showed.
func canary(names ...string) Rule { return beyondPage(OfEntry, allOf(engine.AnswersStream), names...) }

// canaryResults say whether canary requests succeed.
func canaryResults() []Family {
	return []Family{
		gauge("canary_active", Exact, beyondPage(OfReplica, inputs{}),
			"1 while canary requests are sent to the replica, 0 while it is left alone, as when it drains or its entry model is not known: the reason is on /targets. Absent where the canary is off.",
			"canary.enabled of the pool, and the replica's state"),
		gauge("canary_success", Exact, canary(),
			"1 if the last canary request got its first token, all others and the end of the stream in time, else 0. Absent while none are sent.",
			"one streamed request to the entry model"),
		counter("canary_requests_total", Exact, canary("result"),
			"Canary requests by how they ended. The server counts them as any other requests, in all of its metrics.",
			"ok, connect, http_error, error_frame (status 200 with an error), no_first_token, stalled, never_ended, truncated, empty, timeout, malformed, unsupported"),
		gauge("canary_age_seconds", Exact, canary(),
			"Time since the last canary request ended, at the time of the scrape.",
			"measured by the exporter"),
	}
}

// canaryTimes say how the last good answer came.
func canaryTimes() []Family {
	return []Family{
		gauge("canary_time_to_first_token_seconds", Exact, canary(),
			"Time from the canary request written to the first frame with text, network included; of one request of a few tokens, not of the clients' requests. Absent when it failed.",
			"first frame with non-empty text - request written"),
		gauge("canary_engine_time_to_first_token_seconds", Exact, canary(),
			"Time from the arrival of the last canary request in the engine to its first token as the server measured it, without the network and what is in front of the engine: only of Triton's LLM-API model, whose answers say it. Absent when the request failed.",
			"first_token_time_ns - arrival_time_ns of the answer"),
		gauge("canary_engine_queue_seconds", Exact, canary(),
			"Time from the arrival of the last canary request in the engine to its place in the batch as the server measured it: only of Triton's LLM-API model, whose answers say it. Absent when the request failed.",
			"first_scheduled_time_ns - arrival_time_ns of the answer"),
		gauge("canary_duration_seconds", Exact, canary(),
			"Time from the canary request written to the end of the stream. Absent when it failed.",
			"[DONE], or the end of the body for Triton - request written"),
		gauge("canary_inter_token_latency_max_seconds", Sampled, canary(),
			"Longest time between two frames with text of the last canary answer; a frame may hold several tokens. Absent when the request failed or the answer had one frame.",
			"max(frame - frame before)"),
		gauge("canary_tail_seconds", Exact, canary(),
			"Time from the last frame with text of the last canary answer to the end of the stream. Absent when the request failed.",
			"end - last frame with text"),
		gauge("canary_tokens", Rough, canary(),
			"Tokens of the last canary answer as the server's usage says; without usage, as from Triton's generate_stream, the frames with text. Absent when the request failed.",
			"usage.completion_tokens, else frames"),
	}
}

// canaryOutputs compare answers.
func canaryOutputs() []Family {
	return []Family{
		counter("canary_output_changes_total", Exact, canary(),
			"Good canary answers that differed from the one before by the same engine, versions and configs. Other requests in the batch decide which kernels run, so an answer may change under load without a fault: see llm_server_determinism_profile.",
			"SHA-256 of the whole text"),
		gauge("canary_deterministic", Exact, canary(),
			"1 if the last canary answers, at most ten, by the same engine, versions and configs are all the same, else 0. Absent before the second and when the last request failed. Says nothing about other prompts or another load.",
			"SHA-256 of the whole text"),
		gauge("pool_canary_outputs", Exact, beyondPage(OfPool, allOf(engine.AnswersStream)),
			"Number of distinct canary answers among the pool's replicas of equal engine and versions whose last canary request succeeded: 1 when they agree. Absent while no two can be compared. Carries pool_id and no replica. Replicas under different load may differ without a fault.",
			"distinct SHA-256 of the last answers, in the largest case"),
	}
}

// canaryCancels say whether the server stops when a client leaves.
func canaryCancels() []Family {
	return []Family{
		gauge("canary_cancel_success", Exact, canary(),
			"1 if the slot of a canary request was free again within canary.cancel_within of its client leaving in the middle of the stream, else 0; of the last check that could tell. Absent without canary.cancel_within, and where no page shows requests in flight: see capability cancel.",
			"in flight on the pages: 0 before the request, more while it ran, 0 after its client left"),
		counter("canary_cancel_checks_total", Exact, canary("result"),
			"Canary requests whose client left in the middle, by what became of them. Only those of a replica that was idle can tell: others are busy.",
			"freed, held, busy (other requests were in flight), unclear (the reason is on /targets)"),
		gauge("canary_cancel_seconds", Rough, canary(),
			"Time from the client leaving to the first page on which nothing was in flight, of the last such check: at most so long, as pages come once per scrape_interval. Absent while canary_cancel_success is not 1.",
			"page without requests in flight - connection closed"),
	}
}
