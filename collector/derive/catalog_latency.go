package derive

import (
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func latencyFamilies() []Family {
	const interpolated = "Interpolated within its bucket; absent in the last bucket, which has no upper bound: see the ratio above the largest bound. Never average percentiles across replicas: use the histograms."
	above := func(name string, h histograms) Family {
		return family(name+"_above_bound_ratio", Exact, aboveBound(h),
			"Share of the observations of the window above the largest bound of the histogram, 0 to 1: how long they took is unknown.")
	}
	// spread returns what is computed from a histogram over the window.
	spread := func(name string, h histograms, average, percentile string) []Family {
		return []Family{
			family(name+"_average_seconds", Exact, mean(h), average),
			family(name+"_percentile_seconds", Sampled, percentiles(h), percentile+": 50, 95, 99, from the histogram over the window. "+interpolated),
			above(name, h),
		}
	}
	return slices.Concat([]Family{
		family("request_duration_seconds", Exact, passedOn(wholeRequests()),
			"Time from a request's arrival to its last token (source e2e_request_latency_seconds, dynamo_frontend_request_duration_seconds, vllm:e2e_request_latency_seconds; Triton: nv_inference_request_duration_histogram_us, in no release yet, or nv_inference_first_response_histogram_ms of an entry model that does not stream, from 26.01). Dynamo's includes errors. Triton has none for models that stream: see llm_server_request_duration_average_seconds."),
		family("time_to_first_token_seconds", Exact, passedOn(firstTokens()),
			"Time from a request's arrival to its first token (source time_to_first_token_seconds, dynamo_frontend_time_to_first_token_seconds; Triton: nv_inference_first_response_histogram_ms of an entry model that streams, failed requests included).",
			"as counted by the server; Triton: milliseconds / 1000"),
		histogram("time_per_output_token_seconds", engine.OutputToken, "Mean time between the tokens of a request after its first, one observation per request (source time_per_output_token_seconds of trtllm-serve). Requests with one token have none.", "(E2E - TTFT) / (tokens - 1), as counted by the server"),
		histogram("inter_token_latency_seconds", engine.InterToken, "Time between two tokens, one observation per token (source time_per_output_token_seconds of NIM and vLLM, dynamo_frontend_inter_token_latency_seconds)."),
		histogram("request_queue_seconds", engine.RequestQueue, "Time requests waited for their first iteration (source request_queue_time_seconds). Up to TensorRT-LLM 1.3.0rc5 the server leaves out times of 0."),
		histogram("request_prefill_seconds", engine.RequestPrefill, "Time from a request's first iteration to its first token (source request_prefill_time_seconds)."),
		histogram("request_decode_seconds", engine.RequestDecode, "Time from a request's first token to its last (source request_decode_time_seconds)."),
		histogram("request_inference_seconds", engine.RequestInference, "Time from a request's first iteration to its last token (source request_inference_time_seconds)."),
		histogram("prefill_perplexity", engine.PrefillPerplexity, "Perplexity of each request's prompt (source prefill_perplexity)."),
		histogram("generation_perplexity", engine.OutputPerplexity, "Perplexity of each request's output (source generation_perplexity)."),
		family("request_duration_average_seconds", Exact, meanDuration(),
			"Mean time of the requests that ended over the window, for Triton only of successful ones. Absent for decoupled Python models, whose times end when they hand the request over.",
			"rate(nv_inference_request_duration_us) / rate(nv_inference_request_success) of the entry model, or rate(sum) / rate(count) of the histogram"),
		family("request_duration_percentile_seconds", Sampled, percentiles(wholeRequests(), engine.ModelRequestDuration),
			"Time within which that percentage of requests ended: 50, 95, 99, from Triton's own summary of the last minute, else from the histogram over the window. "+interpolated,
			"nv_inference_request_summary_us of the entry model, or the histogram's quantile over the window"),
		above("request_duration", wholeRequests()),
	},
		spread("time_to_first_token", firstTokens(), "Mean time to the first token of the requests of the window.",
			"Time within which that percentage of requests had its first token"),
		spread("time_per_output_token", observed(engine.OutputToken), "Mean time between the tokens of a request, averaged over the requests of the window.",
			"Mean time between tokens within which that percentage of requests stayed"),
		spread("inter_token_latency", observed(engine.InterToken), "Mean time between two tokens over the window.",
			"Time within which that percentage of tokens came after the one before"),
		[]Family{
			family("time_per_output_token_average_seconds_estimate", Rough, tokenTimeEstimate(),
				"Mean time between tokens, in seconds, estimated from means that partly cover different requests: the first token is counted when it arrives, the rest when the request ends.",
				"(mean duration - mean time to first token) / (mean output tokens - 1) over the window"),
			family("request_queue_average_seconds", Exact, mean(observed(engine.RequestQueue)),
				"Mean time the requests of the window waited for their first iteration."),
		})
}
