package simulate

import "slices"

// KindNIM is NIM for LLMs 1.x.
const KindNIM Kind = "nim"

// nim is a NIM: one port, names without prefix, tokens and their times move as they come.
func nim() software {
	tokens := func() *histogram {
		return newHistogram(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)
	}
	return simple{
		product: "NIM 1.x",
		path:    "/v1/metrics",
		version: "1.0.0",
		model:   "meta/llama-3.1-8b-instruct",
		families: slices.Concat([]family{
			{name: "num_requests_running", shows: requestsRunning, help: "Number of requests currently running on GPU."},
			{name: "num_requests_waiting", shows: requestsWaiting, help: "Number of requests waiting to be processed."},
			{name: "num_request_max", shows: requestLimit, help: "Max number of concurrently running requests."},
			{name: "gpu_cache_usage_perc", shows: kvCacheUse, help: "GPU KV-cache usage. 1 means 100 percent usage."},
		}, oldVLLMTokens(), oldVLLMTimes(), []family{
			{
				name:    "request_prompt_tokens",
				shows:   promptLength,
				help:    "Number of prefill tokens processed.",
				buckets: tokens,
			},
			{
				name:    "request_generation_tokens",
				shows:   answerLength,
				help:    "Number of generation tokens processed.",
				buckets: tokens,
			},
			{
				name:  "request_finish_total",
				shows: requestsEndedByReason,
				help:  "Count of finished requests, differentiated by finish reason as label.",
			},
			{name: "request_success_total", shows: requestsEnded, help: "Count of successful requests."},
			{name: "request_failure_total", shows: requestsFailed, help: "Count of failed requests."},
		}),
		routes:  nimRoutes,
		python:  "3.10.12",
		dialect: dialect{number: appendPythonOld, parts: "bcs", sorted: true, sparse: true, unended: true},
	}.software()
}

func nimRoutes(w *world) map[string]answer {
	health := func(state string) answer {
		return ok(func() any { return object{"object": "health." + state, "message": "Service is " + state + "."} })
	}
	return map[string]answer{
		"GET /v1/version": ok(func() any {
			version := w.spec.EngineVersion
			return struct {
				Release string `json:"release"`
				API     string `json:"api"`
			}{version, version}
		}),
		"GET /v1/health/live":  health("live"),
		"GET /v1/health/ready": health("ready"),
	}
}
