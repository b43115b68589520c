package engine

// NotShown implements Engine.
func (*tritonPage) NotShown() []NotShown {
	return []NotShown{
		{
			"Requests refused at max_queue_size",
			"Triton answers 503 and counts them nowhere, not even under reason REJECTED; inside an ensemble they are failures of the ensemble. The error ratio is of what was counted.",
			"count at the client or proxy, " + canary,
		},
		{
			"Errors of an ensemble's step",
			"From 24.07 an ensemble counts each failure twice; from 24.10 a Python step that answers with an error is a success there and only the ensemble fails. Rates and ratios count each once; the counters are as the server has them. A failure while other steps still run, as in the middle of a stream, may be counted once and is then half a failure.",
			"use llm_server_request_error_ratio",
		},
		{
			"Errors of decoupled Python models",
			"A decoupled model of the Python backend (LLM API, vLLM, streaming BLS) is a success when it accepts a request; later errors are never counted. No error ratio is derived for such entries.",
			canary,
		},
		{
			"Times of decoupled Python models",
			"Their durations end when they hand the request over, after microseconds or milliseconds. No mean, percentile or compute time is derived from them; llm_server_source_anomaly{check=\"decoupled_durations\"} is 1.",
			"the first-response histogram is right",
		},
		{
			"Requests of decoupled steps",
			"A streaming ensemble calls postprocessing once a token, so its counts are tokens and not requests.",
			"use families without model_, which count at the entry",
		},
		{
			"Clients that left",
			"Triton generates all tokens of a stream whose client is gone and counts them as any others.",
			"count at the client or proxy",
		},
		{
			"The executor's hidden queue",
			"Requests beyond the executor's limit are in no metric. llm_server_queue_depth is a lower bound while llm_server_saturated is 1.",
			"scale by llm_server_saturation_ratio, keep in-flight requests below the limit at the proxy",
		},
		{
			"Hangs of an idle executor",
			"Its gauges are written when an iteration ends. One that hangs in the first iteration after being idle shows no request in flight and counts nothing of what it was given: no stall is seen.",
			canary,
		},
		{
			"Streams that never end",
			"A stream that is stuck after its last token is not counted at all, and readiness answers 200.",
			canary,
		},
		{
			"Anything of the LLM API backend but counts",
			"It shows no tokens, queue, KV cache or batch: no such series exists for it, and llm_server_capability is 0.",
			"scrape trtllm-serve or Dynamo, " + canary,
		},
		{
			"Distribution of the time between tokens",
			"Only means exist.",
			canary,
		},
		{
			"GPUs of other ranks and nodes",
			"Triton shows the GPUs of its own process; energy and tokens by GPU are of those.",
			"use dcgm-exporter",
		},
		{
			"Several instances of a model in one Triton",
			"They write the same gauges in turn: llm_server_source_anomaly{check=\"flapping_gauges\"} is 1 and gauges of the executor are absent.",
			"run one instance a Triton",
		},
	}
}
