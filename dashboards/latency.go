package dashboards

import (
	"fmt"
	"strings"
)

// latency is how long requests take, and the objectives for it.
func latency() Dashboard {
	return Dashboard{
		Heading:    Heading{UID: "trtllm-latency", Title: "LLM servers / Latency & SLO", Description: "How long requests take, in which phase, and how the objectives of the pools are met."},
		Templating: variables(),
		rows: []row{
			objectives(),
			percentileRow("Time to first token", "ttft", firstToken,
				"Time from arrival to the first token. Above your objective: see queue and prefill under Phases; queue grows when replicas are full, prefill with longer prompts or a colder cache. Triton exposes it for entry models that stream, with histogram_latencies=true."),
			percentileRow("Time between tokens", "itl", "inter_token_latency_seconds",
				"Time between two tokens, one observation a token (NIM, Dynamo, vLLM, SGLang). Above your objective: the batch is large, or long prefills of other requests come in between; see batch fill on Capacity. Its tail shows the pauses that a mean by request hides."),
			percentileRow("Time per output token", "tpot", "time_per_output_token_seconds",
				"Mean time between the tokens of a request, one observation a request (trtllm-serve, vLLM, SGLang). Above your objective: the batch is large or the GPU slower than usual; see batch fill on Capacity and power on GPU & energy."),
			percentileRow("Whole request", "e2e", "request_duration_seconds",
				"Time from arrival to the last token. Grows with the length of answers: compare with generated tokens under Lengths before you look for a fault."),
			phases(),
			section("Lengths and ends",
				sideBySide(8, graph("Prompt length", "Mean prompt tokens of a request. Growing prompts make first tokens later and fill the KV cache; find the client.",
					"short", []query{{poolMean("request_prompt_tokens"), "{{pool_id}} {{model_id}}"}}),
					graph("Answer length", "Mean generated tokens of a request. A jump to the maximum means that answers are cut off at the limit: look at stop tokens and templates.",
						"short", []query{{poolMean("request_generation_tokens"), "{{pool_id}} {{model_id}}"}}),
					graph("Finish reasons", "Why requests finished. More of length: answers are cut off at max_tokens; more of cancelled: clients give up waiting.",
						request, []query{{total("pool_id, finish_reason", "pool_reason:llm_server_requests_finished:rate{"+ofPool+"}"), "{{pool_id}} {{finish_reason}}"}}, stacked)),
				sideBySide(8, graph("Ended requests by class", "What became of requests: ok, client (the client's mistake), canceled, overload (refused for want of room), server (failed by the server's fault), unknown (only accepting them is counted). More of client: a client or a template changed; more of overload: see Capacity.",
					request, []query{{total("pool_id, class", byClass("requests_not_ok:rate")) + " or " + total("pool_id, class", byClass("requests:rate")), "{{pool_id}} {{class}}"}}, stacked),
					graph("Requests that did not end well, by reason", "At the entry models, by class and reason; as servers count, and Triton counts a failure of an ensemble twice. Any line of class server: find the replica and the model on Replica, and its log.",
						request, []query{{total("pool_id, class, reason", "pool_class_reason:llm_server_requests_failed:rate{"+ofPool+"}"), "{{pool_id}} {{class}} {{reason}}"}}, stacked),
					graph("Share of failed requests", "Failed by the server's fault: not what clients asked wrongly or cancelled, nor what was refused for want of room. Above what the objective allows: take the failing replica out first.",
						ratio, []query{{notOK("pool_id, model_id", "server"), "{{pool_id}} {{model_id}}"}, allowed()}, fromOnePercent),
					graph("Share of requests that latencies measure", "Of the requests that ended, by signal; the least of the replicas. Far below 1: percentiles say nothing of the rest, such as requests that failed or do not stream.",
						ratio, []query{{"min by (pool_id, signal) (max by (pool_id, replica_id, model_id, model, version, signal) (" + fromClients(ofModels("llm_server_signal_coverage_ratio")) + "))", "{{pool_id}} {{signal}}"}}, atMost(1))),
			),
		},
	}
}

// objectives are those of the pools, and how they are met.
func objectives() row {
	recorded := func(name, legend string) query {
		return query{fmt.Sprintf("slo:llm_server_%s:ratio{%s}", name, ofPools), "{{pool_id}} {{model_id}} {{slo}}" + legend}
	}
	return section("Objectives",
		sideBySide(9, wide(8, bars("Error budget left",
			"Of what the objective allows to be bad in 30 days, what is left. Red: less than a tenth; at 0 the objective is missed. No bar: the pool has no objective (key slo of its configuration), or LLMSLOBlind says why it is not measured.",
			ratio, recorded("budget_left", ""), levels(unknown, overspent, "red", 0.1, "orange", 0.5, "green"), atMost(1))),
			wide(16, graph("Good requests of the last hour",
				"Share of requests that met the objective, at most; \"at least\" is lower where the target lies between two buckets of the server. Below the objective: the phases below show where the time goes.",
				ratio, []query{
					recorded("attainment", ""), recorded("attainment_lower", " at least"),
					{"pool:llm_server_slo_objective:max{" + ofPool + "}", "{{pool_id}} {{slo}} objective"},
				}, atMost(1)))),
		sideBySide(9, graph("Burn rate, fast windows",
			"How many times faster than allowed the error budget is spent, over 5 minutes and 1 hour. Both above the red line: a critical alert fires; below 1: the objective is met.",
			"none", []query{recorded("burn_fast_short", " 5m"), recorded("burn_fast_long", " 1h")}, levels("green", 1.0, "orange", 14.4, "red"), lines),
			graph("Burn rate, slow windows",
				"The same over 6 hours and 3 days. Above 1 for long: the objective of the month will be missed; plan capacity.",
				"none", []query{recorded("burn_crawl_short", " 6h"), recorded("burn_crawl_long", " 3d")}, levels("green", 1.0, "orange", 3.0, "red"), lines)))
}

// overspent is less than is left of any error budget: what is below 0 is red.
const overspent = -1e6

// promise is the target of an objective of time, as a line among what is measured.
func promise(slo string) query {
	return query{fmt.Sprintf("max by (pool_id) (llm_server_slo_threshold_seconds{%s,slo=%q})", ofPool, slo), "{{pool_id}} objective"}
}

// allowed is the share of requests that may fail by the objective of availability.
func allowed() query {
	return query{"1 - pool:llm_server_slo_objective:max{" + ofPool + `,slo="availability"}`, "{{pool_id}} allowed"}
}

// percentileRow is a recorded histogram as percentiles, by replica, what is
// above its largest bound, and as a heatmap.
func percentileRow(title, slo, name, advice string) row {
	h := ofPoolModels("pool_id, model_id", name)
	family := "llm_server_" + strings.TrimSuffix(name, "_seconds")
	return section(title,
		sideBySide(9, graph(title+", percentiles", advice+" Below the first bound of the histogram and above the last one there is no value: p50 ≤ and p99 > are those bounds.", seconds, append(h.shown("50", "95", "99"), promise(slo))),
			graph(title+", above the largest bound", "Share of what took longer than the largest bound that the server counts, by replica, over the exporter's window; how much longer is not known. Above 0.01 there is no p99, above 0.05 no p95: look at the mean, and for requests that hang.",
				ratio, extremes("max by (pool_id, replica_id) ("+family+"_above_bound_ratio{"+ofModel+"})"), levels("green", 0.01, "orange", 0.05, "red"), lines, atMost(1))),
		sideBySide(9, graph(title+", p95 by replica", "Over the exporter's window. A single replica above the others: see LLMReplicaSlow in the runbook; all of them: it is load or lengths. No line: no requests, or p95 is above the largest bound.",
			seconds, append(extremes("max by (pool_id, replica_id) ("+family+`_percentile_seconds{`+ofModel+`,percentile="95"})`), promise(slo))),
			heatmap(title+", distribution", "How requests spread over the buckets. Two bands are two kinds of requests, or one sick replica: see p95 by replica. Drawn are the bounds that all servers have which are chosen: one kind of server alone has more.",
				seconds, distribution(name))))
}

// phases is where the time goes.
func phases() row {
	phase := func(name, legend string) query {
		return query{poolMean("request_" + name + "_seconds"), "{{pool_id}} {{model_id}} " + legend}
	}
	models := func(name string) string { return "llm_server_" + name + "{" + ofModel + "}" }
	first := ofPoolParts("first_response_seconds")
	part := func(counter, legend string) query {
		of := func(name string) string { return "pool_part:llm_server_model_" + name + ":rate{" + ofPool + "}" }
		return query{of(counter+"_seconds") + " / (" + of("requests") + " > 0)", legend}
	}
	return section("Phases",
		sideBySide(9, graph("Mean time by phase", "trtllm-serve: queue, prefill, decode of the mean request. Queue grows: capacity. Prefill grows: prompts or cache. Decode grows: answers or batch size.",
			seconds, []query{phase("queue", "queue"), phase("prefill", "prefill"), phase("decode", "decode")}, stacked),
			graph("Mean duration at the entry model", "Works for servers without histograms too. Above your objective: see the parts on the right. Absent for streaming models of Triton, whose times end when a request is handed over.",
				seconds, []query{{weighted("pool_id, model_id", "pool_id, replica_id, model_id, model, version", models("request_duration_average_seconds"), models("requests_per_second")), "{{pool_id}} {{model_id}}"}}),
			graph("Time per output token, estimate", "For Triton, which does not expose it: mean duration less mean first token, by mean length. Rough; look at its trend.",
				seconds, []query{{weighted("pool_id, model_id", "pool_id, replica_id, model_id", models("time_per_output_token_average_seconds_estimate"), models("requests_per_second")), "{{pool_id}} {{model_id}} estimate"}})),
		sideBySide(9, graph("Queue time by model of Triton", "Mean time in Triton's own queue. Above zero for preprocessing or postprocessing: give them more instances.",
			seconds, []query{part("queue", "{{pool_id}} {{model}}")}),
			graph("Request time by model of Triton", "Mean time at each part. The part that grew is where to look. Parts overlap: do not add them.",
				seconds, []query{part("request", "{{pool_id}} {{model}}")}),
			graph("First response by model of Triton, p95", "From the histogram of each model that has one, with the mean. Late at tensorrt_llm: prefill or its queue; late elsewhere: too few instances.",
				seconds, first.shown("95"))))
}
