package dashboards

import (
	"fmt"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func latency() Dashboard {
	return Dashboard{
		UID: "trtllm-latency", Title: "LLM servers / Latency & SLO",
		Description: "How long requests take, in which phase, and whether pools meet their objectives.",
		Templating:  variables(),
		rows: []row{
			objectives(),
			percentileRow("Time to first token", "ttft", firstToken,
				"Time from arrival to the first token. Above your objective: see queue and prefill under Phases; "+
					"the queue grows when replicas are full, prefill with longer prompts or a colder cache. Triton "+
					"exposes it for streaming entry models with histogram_latencies=true."),
			percentileRow(
				"Time between tokens",
				"itl",
				"inter_token_latency_seconds",
				"Time between two tokens, one observation per token ("+exposing(
					engine.InterToken,
				)+"). Above your objective: the batch is large, or long prefills of other requests interrupt "+
					"decoding; see batch fill on Capacity. The tail shows pauses that a mean per request hides.",
			),
			percentileRow("Time per output token", "tpot", "time_per_output_token_seconds",
				"Mean time between the tokens of a request, one observation "+
					"per request ("+exposing(engine.OutputToken)+"). Above your objective: the batch is large or "+
					"the GPU is slower than usual; see batch fill on Capacity and power on GPU & energy."),
			percentileRow("Whole request", "e2e", "request_duration_seconds",
				"Time from arrival to the last token. Grows with answer length, so check the lengths below before "+
					"you look for a fault."),
			phases(),
			section("Lengths and outcomes",
				sideBySide(8, graph("Prompt length", "Mean prompt tokens per request. Growing prompts delay first "+
					"tokens and fill the KV cache; find the client.",
					"short", []query{{poolMean("request_prompt_tokens"), "{{pool_id}} {{model_id}}"}}),
					graph("Answer length", "Mean generated tokens per request. A jump to the maximum means that "+
						"answers are cut off: check stop tokens and templates.",
						"short", []query{{poolMean("request_generation_tokens"), "{{pool_id}} {{model_id}}"}}),
					graph("Finish reasons", "Why requests finished. More length: answers are cut off at "+
						"max_tokens. More cancelled: clients give up waiting.",
						request, []query{{
							total(
								"pool_id, finish_reason",
								"pool_reason:llm_server_requests_finished:rate{"+poolMatchers+"}",
							),
							"{{pool_id}} {{finish_reason}}",
						}}, stacked)),
				sideBySide(8, graph("Completed requests by class", "ok, client (client error), canceled, overload "+
					"(rejected for lack of capacity), server (server error), unknown (the server counts only "+
					"accepted requests). More client: a client or a template changed. More overload: see Capacity.",
					request, []query{{
						total("pool_id, class", byClass("requests_not_ok:rate")) + " or " + total(
							"pool_id, class",
							byClass("requests:rate"),
						),
						"{{pool_id}} {{class}}",
					}}, stacked),
					graph("Unsuccessful requests by reason", "Of entry models, by class and reason, as servers "+
						"count them: Triton counts a failure of an ensemble twice. Class server above zero: find "+
						"replica and model on Replica, then read the log.",
						request, []query{{
							total(
								"pool_id, class, reason",
								"pool_class_reason:llm_server_requests_failed:rate{"+poolMatchers+"}",
							),
							"{{pool_id}} {{class}} {{reason}}",
						}}, stacked),
					graph("Failed request ratio", "Server errors; client errors, cancellations and rejections do "+
						"not count. Above what the objective allows: take the failing replica out first.",
						ratio, []query{
							{classRatio("pool_id, model_id", "server"), "{{pool_id}} {{model_id}}"},
							allowedErrors(),
						}, softMaxOnePercent),
					graph("Latency coverage", "Share of completed requests that each latency covers; minimum of "+
						"the replicas. Far below 1: percentiles leave out the rest, such as requests that failed "+
						"or do not stream.",
						ratio, []query{{
							"min by (pool_id, signal) " +
								"(pool_model_signal:llm_server_signal_coverage_ratio:min{" + poolModelMatchers + "})",
							"{{pool_id}} {{signal}}",
						}}, atMost(1))),
			),
		},
	}
}

func objectives() row {
	recorded := func(name, legend string) query {
		return query{
			fmt.Sprintf("slo:llm_server_%s:ratio{%s}", name, poolModelMatchers),
			"{{pool_id}} {{model_id}} {{slo}}" + legend,
		}
	}
	const objective = "max by (pool_id, slo) (pool:llm_server_slo_objective:max{" + poolMatchers + "})"
	burned := recorded("burn_fast_long", "")
	good := query{"1 - " + burned.expr + " * on (pool_id, slo) group_left () (1 - " + objective + ")", burned.legend}
	return section("Objectives",
		sideBySide(9, withWidth(8, bars(
			"Remaining error budget",
			"Remaining share of the 30-day error budget. Red: less than a tenth; at 0 the objective is missed. No "+
				"bar: the pool has no objective (key slo), or it is not measured, see LLMSLOBlind.",
			ratio,
			recorded("budget_left", ""),
			thresholds(unknown, noBudget, "red", 0.1, "orange", 0.5, "green"),
			atMost(1),
		)),
			withWidth(16, graph("Good requests, last hour",
				"Share of requests that met the objective; \"at least\" is lower if the target lies between two "+
					"buckets of the server. Below the objective: the phases below show where the time goes.",
				ratio, []query{
					good, recorded("attainment_lower", " at least"),
					{objective, "{{pool_id}} {{slo}} objective"},
				}, atMost(1)))),
		sideBySide(9, graph("Burn rate, fast windows",
			"How many times faster than allowed the error budget is spent, over 5 minutes and 1 hour. Both above "+
				"the red line: a critical alert fires. Below 1: the objective is met.",
			"none", []query{
				recorded("burn_fast_short", " 5m"), recorded("burn_fast_long", " 1h"),
			}, thresholds("green", 1.0, "orange", 14.4, "red"), thresholdLines),
			graph("Burn rate, slow windows",
				"The same over 6 hours and 3 days. Above 1 for long: this month's objective will be missed; "+
					"plan capacity.",
				"none", []query{
					recorded("burn_medium_long", " 6h"), recorded("burn_slow_long", " 3d"),
				}, thresholds("green", 1.0, "orange", 3.0, "red"), thresholdLines)))
}

// noBudget is below any remaining error budget, so that all values below 0.1 are red.
const noBudget = -1e6

// objectiveLine returns the target of a latency objective as a line.
func objectiveLine(slo string) query {
	return query{
		fmt.Sprintf("max by (pool_id) (llm_server_slo_threshold_seconds{%s,slo=%q})", poolMatchers, slo),
		"{{pool_id}} objective",
	}
}

// allowedErrors returns the share of requests that may fail by the availability objective.
func allowedErrors() query {
	return query{
		"1 - pool:llm_server_slo_objective:max{" + poolMatchers + `,slo="availability"}`,
		"{{pool_id}} allowed",
	}
}

// percentileRow shows a recorded histogram as percentiles, the share above the largest
// bucket, p95 by replica, and a heatmap.
func percentileRow(title, slo, name, advice string) row {
	h := poolHistogram("pool_id, model_id", name)
	family := "llm_server_" + strings.TrimSuffix(name, "_seconds")
	return section(title,
		sideBySide(9, graph(title+", percentiles", advice+" p50 ≤ is the lowest histogram bound, p99 > the "+
			"highest one; there are no values beyond them.", seconds, append(h.queries("50", "95", "99"), objectiveLine(slo))),
			graph(
				title+", above the largest bucket",
				"Share of observations above the largest histogram bound, by "+
					"replica, over the exporter's window; how far above is unknown. Above 0.01 there is no p99, above "+
					"0.05 no p95: use the mean, and look for requests that hang.",
				ratio,
				extremes("max by (pool_id, replica_id) ("+family+"_above_bound_ratio{"+modelMatchers+"})"),
				thresholds("green", 0.01, "orange", 0.05, "red"),
				thresholdLines,
				atMost(1),
			)),
		sideBySide(9, graph(
			title+", p95 by replica",
			"Over the exporter's window. A single replica above the "+
				"others: see LLMPoolSlow in the runbook. All of them: load or lengths. No line: no "+
				"requests, or p95 "+
				"is above the largest bucket.",
			seconds,
			append(
				extremes(
					"max by (pool_id, replica_id) ("+family+`_percentile_seconds{`+modelMatchers+`,percentile="95"})`,
				),
				objectiveLine(slo),
			),
		),
			heatmap(title+", distribution", "Requests by histogram bucket. Two bands: two kinds of requests, or "+
				"one bad replica; see p95 by replica. Shows only the bounds that all selected servers share; "+
				"select one kind of server for more.",
				seconds, distribution(name))))
}

// meanOfRequests returns the mean of a quantity of replicas by pool and model, weighted by their requests.
func meanOfRequests(quantity string) string {
	requests := sumBy(ofEngine, ofEntry, "llm_server_requests_per_second{"+modelMatchers+"}")
	return total("pool_id, model_id", quantity+" * "+requests) +
		" / (" + total("pool_id, model_id", requests+" and "+quantity) + " > 0)"
}

func phases() row {
	phase := func(name, legend string) query {
		return query{phaseMean("pool_id, model_id", name), "{{pool_id}} {{model_id}} " + legend}
	}
	first := newHistogram(
		"pool_id, model",
		"{{pool_id}} {{model}}",
		func(by, suffix string, matchers ...string) string {
			return total(
				by,
				fmt.Sprintf(
					"pool_part:llm_server_model_first_response_seconds%s:rate5m{%s}",
					suffix,
					with(poolMatchers, matchers),
				),
			)
		},
	)
	part := func(counter, legend string) query {
		rate := func(name string) string { return "pool_part:llm_server_model_" + name + ":rate{" + poolMatchers + "}" }
		return query{rate(counter+"_seconds") + " / (" + rate("requests") + " > 0)", legend}
	}
	return section("Phases",
		sideBySide(9, graph("Mean time by phase", "Queue, prefill and decode per request. Queue grows: capacity. "+
			"Prefill grows: prompts or cache. Decode grows: answers or batch size.",
			seconds, []query{phase("queue", "queue"), phase("prefill", "prefill"), phase("decode", "decode")}, stacked),
			graph("Mean duration of entry models", "Also for servers without histograms. Above your objective: see "+
				"the parts below. Absent for streaming Triton models, whose durations end when a request is "+
				"handed over.",
				seconds, []query{{
					meanDuration("pool_id, model_id") + " or " + poolHistogram("pool_id, model_id", "request_duration_seconds").mean,
					"{{pool_id}} {{model_id}}",
				}}),
			graph("Time per output token (estimate)", "For Triton, which does not expose it: mean duration minus "+
				"mean time to first token, divided by mean length. Rough; look at the trend.",
				seconds, []query{{
					meanOfRequests(each("llm_server_time_per_output_token_average_seconds_estimate")),
					"{{pool_id}} {{model_id}} estimate",
				}})),
		sideBySide(9, graph("Queue time by Triton model", "Mean time in Triton's own queue. Above zero for "+
			"preprocessing or postprocessing: give them more instances.",
			seconds, []query{part("queue", "{{pool_id}} {{model}}")}),
			graph("Request time by Triton model", "Mean time of each part; look at the one that grew. Parts "+
				"overlap: do not add them up.",
				seconds, []query{part("request", "{{pool_id}} {{model}}")}),
			graph("First response by Triton model, p95", "With the mean, for models that have a histogram. Slow at "+
				"tensorrt_llm: prefill or its queue; slow elsewhere: too few instances.",
				seconds, first.queries("95"))))
}
