package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// latencyFamilies are the histograms of requests.
func latencyFamilies() []Family {
	return []Family{
		histogram("request_duration_seconds", Exact, passedOn(wholeRequests()),
			"Time from a request's arrival to its last token (source e2e_request_latency_seconds, dynamo_frontend_request_duration_seconds, vllm:e2e_request_latency_seconds; Triton: nv_inference_request_duration_histogram_us, in no release yet, or nv_inference_first_response_histogram_ms of an entry model that does not stream, from 26.01). Dynamo's includes errors. Triton has none of models that stream: see llm_server_request_duration_average_seconds.",
			counted),
		histogram("time_to_first_token_seconds", Exact, passedOn(firstTokens()),
			"Time from a request's arrival to its first token (source time_to_first_token_seconds, dynamo_frontend_time_to_first_token_seconds; Triton: nv_inference_first_response_histogram_ms of an entry model that streams, failed requests included).",
			"as counted by the server; Triton: milliseconds / 1000"),
		histogram("time_per_output_token_seconds", Exact, distribution(engine.OutputToken),
			"Mean time between the tokens of a request after its first, one observation a request (source time_per_output_token_seconds of trtllm-serve). Requests of one token have none.",
			"(E2E - TTFT) / (tokens - 1), as counted by the server"),
		histogram("inter_token_latency_seconds", Exact, distribution(engine.InterToken),
			"Time between two tokens, one observation a token (source time_per_output_token_seconds of NIM and vLLM, dynamo_frontend_inter_token_latency_seconds).",
			counted),
		histogram("request_queue_seconds", Exact, distribution(engine.RequestQueue),
			"Time requests waited for their first iteration (source request_queue_time_seconds). Up to TensorRT-LLM 1.3.0rc5 times of 0 are left out by the server.",
			counted),
		histogram("request_prefill_seconds", Exact, distribution(engine.RequestPrefill),
			"Time from a request's first iteration to its first token (source request_prefill_time_seconds).",
			counted),
		histogram("request_decode_seconds", Exact, distribution(engine.RequestDecode),
			"Time from a request's first token to its last (source request_decode_time_seconds).",
			counted),
		histogram("request_inference_seconds", Exact, distribution(engine.RequestInference),
			"Time from a request's first iteration to its last token (source request_inference_time_seconds).",
			counted),
		histogram("prefill_perplexity", Exact, distribution(engine.PrefillPerplexity),
			"Perplexity of each request's prompt (source prefill_perplexity).",
			counted),
		histogram("generation_perplexity", Exact, distribution(engine.OutputPerplexity),
			"Perplexity of each request's output (source generation_perplexity).",
			counted),
	}
}

// latencyGauges are means and percentiles over the window.
func latencyGauges() []Family {
	const interpolated = "Interpolated inside the bucket it falls into; absent in the last bucket, which has no end: see the ratio above the largest bound. Never average percentiles over replicas: use the histograms."
	above := func(of string, h histograms) Family {
		return gauge(of+"_above_bound_ratio", Exact, aboveBound(h),
			"Share of the observations of the window that are above the largest bound of the histogram, 0 to 1: of them it is only known that they took longer.",
			"1 - rate(bucket of the largest bound) / rate(count) of "+of+"_seconds")
	}
	return []Family{
		gauge("request_duration_average_seconds", Exact, meanDuration(),
			"Mean time of the requests that ended over the window, successful ones only at Triton. Absent for decoupled Python models, whose times end when they hand the request over.",
			"rate(nv_inference_request_duration_us) / rate(nv_inference_request_success) of the entry model, or rate(sum) / rate(count) of the histogram"),
		gauge("request_duration_percentile_seconds", Sampled, percentiles(wholeRequests(), engine.ModelRequestDuration),
			"Time within which that percentage of requests ended: 50, 95, 99. From Triton's summary as given, over its last minute; else from the histogram over the window. "+interpolated,
			"nv_inference_request_summary_us of the entry model, or the histogram's quantile over the window"),
		above("request_duration", wholeRequests()),
		gauge("time_to_first_token_average_seconds", Exact, mean(firstTokens()),
			"Mean time to the first token of the requests of the window.",
			"rate(sum) / rate(count) of time_to_first_token_seconds"),
		gauge("time_to_first_token_percentile_seconds", Sampled, percentiles(firstTokens()),
			"Time within which that percentage of requests had its first token: 50, 95, 99, from the histogram over the window. "+interpolated,
			"quantile of time_to_first_token_seconds over the window"),
		above("time_to_first_token", firstTokens()),
		gauge("time_per_output_token_average_seconds", Exact, mean(observed(engine.OutputToken)),
			"Mean over the requests of the window of their mean time between tokens.",
			"rate(sum) / rate(count) of time_per_output_token_seconds"),
		gauge("time_per_output_token_percentile_seconds", Sampled, percentiles(observed(engine.OutputToken)),
			"Mean time between tokens within which that percentage of requests stayed: 50, 95, 99, from the histogram over the window. "+interpolated,
			"quantile of time_per_output_token_seconds over the window"),
		above("time_per_output_token", observed(engine.OutputToken)),
		gauge("inter_token_latency_average_seconds", Exact, mean(observed(engine.InterToken)),
			"Mean time between two tokens over the window.",
			"rate(sum) / rate(count) of inter_token_latency_seconds"),
		gauge("inter_token_latency_percentile_seconds", Sampled, percentiles(observed(engine.InterToken)),
			"Time within which that percentage of tokens came after the one before: 50, 95, 99, from the histogram over the window. "+interpolated,
			"quantile of inter_token_latency_seconds over the window"),
		above("inter_token_latency", observed(engine.InterToken)),
		gauge("time_per_output_token_average_seconds_estimate", Rough, tokenTimeEstimate(),
			"Mean time between tokens, in seconds, estimated from means: the means are of other requests in part, for the first token is counted when it comes and the rest when the request ends.",
			"(mean duration - mean time to first token) / (mean output tokens - 1) over the window"),
		gauge("request_queue_average_seconds", Exact, mean(observed(engine.RequestQueue)),
			"Mean time the requests of the window waited for their first iteration.",
			"rate(sum) / rate(count) of request_queue_seconds"),
	}
}
