package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Unknown is something that no page shows, whatever is computed from it.
type Unknown struct {
	// Engines are the kinds of servers of which it is true.
	Engines []engine.Kind
	What    string
	// Why is how the server behaves, Instead what can be done.
	Why, Instead string
}

// Unknowns is what cannot be known, for the metric reference.
func Unknowns() []Unknown {
	const canary = "send canary requests"
	triton := allOf(engine.ModelSuccess).feeders()
	var late []engine.Kind
	for _, e := range engine.All() {
		if e.Quirks(nil).GaugesWhenRequestsEnd {
			late = append(late, e.Kind())
		}
	}
	either := slices.Concat(triton, late)
	of := func(engines []engine.Kind, what, why, instead string) Unknown {
		return Unknown{engines, what, why, instead}
	}
	return []Unknown{
		of(triton, "Requests refused at max_queue_size",
			"Triton answers 503 and counts them nowhere, not even under reason REJECTED; inside an ensemble they are failures of the ensemble. The error ratio is of what was counted.",
			"count at the client or proxy, "+canary),
		of(triton, "Errors of an ensemble's step",
			"From 24.07 an ensemble counts each failure twice; from 24.10 a Python step that answers with an error is a success there and only the ensemble fails. Rates and ratios count each once; the counters are as the server has them. A failure while other steps still run, as in the middle of a stream, may be counted once and is then half a failure.",
			"use llm_server_request_error_ratio"),
		of(triton, "Errors of decoupled Python models",
			"A decoupled model of the Python backend (LLM API, vLLM, streaming BLS) is a success when it accepts a request; later errors are never counted. No error ratio is derived for such entries.",
			canary),
		of(triton, "Times of decoupled Python models",
			"Their durations end when they hand the request over, after microseconds or milliseconds. No mean, percentile or compute time is derived from them; llm_server_source_anomaly{check=\"decoupled_durations\"} is 1.",
			"the first-response histogram is right"),
		of(triton, "Requests of decoupled steps",
			"A streaming ensemble calls postprocessing once a token, so its counts are tokens and not requests.",
			"use families without model_, which count at the entry"),
		of(either, "Clients that left",
			"Triton generates all tokens of a stream whose client is gone and counts them as any others; trtllm-serve does not count such requests at all.",
			"count at the client or proxy"),
		of(triton, "The executor's hidden queue",
			"Requests beyond the executor's limit are in no metric. llm_server_queue_depth is a lower bound while llm_server_saturated is 1.",
			"scale by llm_server_saturation_ratio, keep in-flight requests below the limit at the proxy"),
		of(triton, "Hangs of an idle executor",
			"Its gauges are written when an iteration ends. One that hangs in the first iteration after being idle shows no request in flight and counts nothing of what it was given: no stall is seen.",
			canary),
		of(triton, "Streams that never end",
			"A stream that is stuck after its last token is not counted at all, and readiness answers 200.",
			canary),
		of(triton, "Anything of the LLM API backend but counts",
			"It shows no tokens, queue, KV cache or batch: no such series exists for it, and llm_server_capability is 0.",
			"scrape trtllm-serve or Dynamo, "+canary),
		of(either, "Distribution of the time between tokens",
			"Only means exist at Triton and one mean a request at trtllm-serve.",
			canary),
		of(late, "Present state of an idle or long-busy trtllm-serve",
			"Its iteration gauges are read when a request ends: they do not change during long requests and keep their last values when idle.",
			"watch llm_server_iteration_batch_size where the server has it"),
		of(triton, "GPUs of other ranks and nodes",
			"Triton shows the GPUs of its own process; energy and tokens by GPU are of those.",
			"use dcgm-exporter"),
		of(triton, "Several instances of a model in one Triton",
			"They write the same gauges in turn: llm_server_source_anomaly{check=\"flapping_gauges\"} is 1 and gauges of the executor are absent.",
			"run one instance a Triton"),
	}
}
