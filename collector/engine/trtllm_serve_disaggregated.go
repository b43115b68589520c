package engine

// TRTLLMDisaggregated is the router of a disaggregated trtllm-serve. It has one port.
const TRTLLMDisaggregated Name = "trtllm-serve-disaggregated"

// The names have neither prefix nor labels, and are there from the start (TensorRT-LLM,
// serve/perf_metrics.py). openai_disagg_server.py mounts the page without any option; the path
// without the slash redirects. The API answers like other APIs, and lists a server's models in
// later releases, so that only the page identifies the kind, and has to be requested first.
func trtllmDisaggregated() *Kind {
	return &Kind{
		Name:     TRTLLMDisaggregated,
		Path:     "/prometheus/metrics/",
		marks:    []mark{{text: "ctx_total_requests", weight: 6}, {text: "gen_total_requests", weight: 6}},
		priority: 2,
		series:   inReleases(Releases{Unverified: true}, disaggregatedMeanings()),
		trtllm:   true,

		Ready:       "/health",
		versionPath: versionPath,
		versionKey:  versionKey,
		stream:      Stream{Usage: true, Seed: true, IgnoreEOS: true},
		healthNote:  "the API is ready while a prefill and a decode server are",

		failures: []Signal{}, // Its exceptions are failures and client errors alike.
		tier:     TierFrontend,

		gaps: disaggregatedGaps,
	}
}

// disaggregatedMeanings returns the meanings. Each request ends as one answer or one exception,
// whichever role failed; total_requests_total lacks invalid requests. Answers are counted when they
// begin, even if the stream fails later. HTTP exceptions are all errors of the servers behind,
// client errors and failures alike. The latencies of a role begin when the request is sent to it
// (openai_client.py): for prefill they cover the complete answer, and first_token_latency of decode
// begins after prefill, so it is not what clients see. The HELP texts are wrong about that.
func disaggregatedMeanings() []Meaning {
	failed := func(name string, class Class, reason string) Meaning {
		return Meaning{
			Name:    name,
			Signal:  RequestsFailed,
			Const:   labeled("reason", reason),
			Outcome: &Outcome{Usual: class},
		}
	}
	all := []Meaning{
		{Name: "total_requests_total", Signal: RequestsStarted},
		{Name: "validation_exceptions_total", Signal: RequestsStarted},
		{
			Name:    "total_responses_total",
			Signal:  RequestsFinished,
			Const:   labeled("finish_reason", "answered"),
			Outcome: &Outcome{Usual: ClassOK},
		},
		failed("validation_exceptions_total", ClassClient, "validation"),
		failed("http_exceptions_total", ClassUnknown, "http_exception"),
		failed("internal_errors_total", ClassServer, "internal"),
		{Name: "queue_latency_seconds", Signal: RequestQueue},
		{Name: "ctx_complete_latency_seconds", Signal: RequestPrefill},
		{Name: "gen_complete_latency_seconds", Signal: RequestDecode},
	}
	for _, role := range [][2]string{{"ctx", "prefill"}, {"gen", "decode"}, {"mme", "encode"}} {
		all = append(all,
			Meaning{Name: role[0] + "_total_requests_total", Signal: StageRequests, Const: labeled("stage", role[1])},
			Meaning{Name: role[0] + "_completed_requests_total", Signal: StageEnded, Const: labeled("stage", role[1])},
			Meaning{Name: role[0] + "_error_requests_total", Signal: StageErrors, Const: labeled("stage", role[1])},
			Meaning{Name: role[0] + "_retry_requests_total", Signal: StageRetries, Const: labeled("stage", role[1])},
		)
	}
	return all
}

const cureBehind = cureScrape + "servers behind it too"

// disaggregatedGaps explains what a router lacks.
func disaggregatedGaps(*Knowledge) []gap {
	return []gap{
		lacks("a stream counts as answered when it begins, and http_exceptions_total counts clients' mistakes and "+
			"failures together",
			cureBehind, CanOutcomes),
		lacks("its latencies begin when a request is sent to prefill or decode, none is of the whole request",
			cureCanary, CanTTFT, CanE2E),
		lacks("only prefill, decode and the queue have histograms: llm_server_request_prefill_seconds "+
			"and its like", cureAtClient,
			CanQuantiles),
		lacks("no gauge on its page shows requests in flight", cureBehind, CanRunning, CanQueue),
		lacks("a router does not expose it", cureBehind, CanTokens, CanLiveTokens, CanTPOT, CanKVCache, CanKVReuse, CanGPU),
	}
}
