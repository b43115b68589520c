package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// latencyFamilies are the histograms of requests.
func latencyFamilies() []Family {
	return []Family{
		{
			Name: "request_duration_seconds", Type: histo, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Time from a request's arrival to its last token (source e2e_request_latency_seconds, dynamo_frontend_request_duration_seconds, vllm:e2e_request_latency_seconds). Dynamo's includes errors. Triton has no such histogram: see llm_server_request_duration_average_seconds.",
			Formula: "as counted by the server", rule: distribution{engine.RequestDuration},
		},
		{
			Name: "time_to_first_token_seconds", Type: histo, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Time from a request's arrival to its first token (source time_to_first_token_seconds, dynamo_frontend_time_to_first_token_seconds; Triton: nv_inference_first_response_histogram_ms of an entry model that streams, failed requests included).",
			Formula: "as counted by the server; Triton: milliseconds / 1000", rule: firstToken{},
		},
		{
			Name: "time_per_output_token_seconds", Type: histo, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Mean time between the tokens of a request after its first, one observation a request (source time_per_output_token_seconds of trtllm-serve). Requests of one token have none.",
			Formula: "(E2E - TTFT) / (tokens - 1), as counted by the server", rule: distribution{engine.OutputToken},
		},
		{
			Name: "inter_token_latency_seconds", Type: histo, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: append(withTriton(), engine.NIM, engine.Dynamo),
			Help:    "Time between two tokens, one observation a token (source time_per_output_token_seconds of NIM and vLLM, dynamo_frontend_inter_token_latency_seconds).",
			Formula: "as counted by the server", rule: distribution{engine.InterToken},
		},
		{
			Name: "request_queue_seconds", Type: histo, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Time requests waited for their first iteration (source request_queue_time_seconds). Up to TensorRT-LLM 1.3.0rc5 times of 0 are left out by the server.",
			Formula: "as counted by the server", rule: distribution{engine.RequestQueue},
		},
		{
			Name: "request_prefill_seconds", Type: histo, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Time from a request's first iteration to its first token (source request_prefill_time_seconds).",
			Formula: "as counted by the server", rule: distribution{engine.RequestPrefill},
		},
		{
			Name: "request_decode_seconds", Type: histo, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Time from a request's first token to its last (source request_decode_time_seconds).",
			Formula: "as counted by the server", rule: distribution{engine.RequestDecode},
		},
		{
			Name: "request_inference_seconds", Type: histo, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Time from a request's first iteration to its last token (source request_inference_time_seconds).",
			Formula: "as counted by the server", rule: distribution{engine.RequestInference},
		},
		{
			Name: "prefill_perplexity", Type: histo, Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Perplexity of each request's prompt (source prefill_perplexity).",
			Formula: "as counted by the server", rule: distribution{engine.PrefillPerplexity},
		},
		{
			Name: "generation_perplexity", Type: histo, Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Perplexity of each request's output (source generation_perplexity).",
			Formula: "as counted by the server", rule: distribution{engine.OutputPerplexity},
		},
	}
}

// latencyGauges are means and percentiles over the window.
func latencyGauges() []Family {
	const interpolated = "Interpolated inside the bucket it falls into; a value equal to the highest bound means that or more. Never average percentiles over replicas: use the histograms."
	percentile := byModel("percentile")
	return []Family{
		{
			Name: "request_duration_average_seconds", Type: gauge, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Mean time of the requests that ended over the window, successful ones only at Triton. Absent for decoupled Python models, whose times end when they hand over.",
			Formula: "rate(nv_inference_request_duration_us) / rate(nv_inference_request_success) of the entry model, or rate(sum) / rate(count) of the histogram",
			rule:    meanDuration{},
		},
		{
			Name: "request_duration_percentile_seconds", Type: gauge, Unit: "seconds", Grade: Sampled, Labels: percentile, Engines: withEngines(),
			Help:    "Time within which that percentage of requests ended: 50, 95, 99. From Triton's summary as given, over its last minute; else from the histogram over the window. " + interpolated,
			Formula: "nv_inference_request_summary_us of the entry model, or the histogram's quantile over the window",
			rule:    percentiles{of: engine.RequestDuration, given: engine.ModelRequestDuration},
		},
		{
			Name: "time_to_first_token_average_seconds", Type: gauge, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withEngines(),
			Help:    "Mean time to the first token of the requests of the window.",
			Formula: "rate(sum) / rate(count) of time_to_first_token_seconds", rule: mean{engine.FirstToken},
		},
		{
			Name: "time_to_first_token_percentile_seconds", Type: gauge, Unit: "seconds", Grade: Sampled, Labels: percentile, Engines: withEngines(),
			Help:    "Time within which that percentage of requests had its first token: 50, 95, 99, from the histogram over the window. " + interpolated,
			Formula: "quantile of time_to_first_token_seconds over the window", rule: percentiles{of: engine.FirstToken},
		},
		{
			Name: "time_per_output_token_average_seconds", Type: gauge, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Mean over the requests of the window of their mean time between tokens.",
			Formula: "rate(sum) / rate(count) of time_per_output_token_seconds", rule: mean{engine.OutputToken},
		},
		{
			Name: "time_per_output_token_percentile_seconds", Type: gauge, Unit: "seconds", Grade: Sampled, Labels: percentile, Engines: withServe(),
			Help:    "Mean time between tokens within which that percentage of requests stayed: 50, 95, 99, from the histogram over the window. " + interpolated,
			Formula: "quantile of time_per_output_token_seconds over the window", rule: percentiles{of: engine.OutputToken},
		},
		{
			Name: "time_per_output_token_average_seconds_estimate", Type: gauge, Grade: Rough, Labels: byModel(), Engines: withTriton(),
			Help:    "Mean time between tokens, in seconds, estimated from means: of other requests in part, for the first token is counted when it comes and the rest when the request ends.",
			Formula: "(mean duration - mean time to first token) / (mean output tokens - 1) over the window", rule: tokenTimeEstimate{},
		},
		{
			Name: "request_queue_average_seconds", Type: gauge, Unit: "seconds", Grade: Exact, Labels: byModel(), Engines: withServe(),
			Help:    "Mean time the requests of the window waited for their first iteration.",
			Formula: "rate(sum) / rate(count) of request_queue_seconds", rule: mean{engine.RequestQueue},
		},
	}
}
