package dashboards

import (
	"fmt"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func replica() Dashboard {
	name := "{{pool_id}} / {{replica_id}}"
	return Dashboard{
		UID: replicaUID, Title: "LLM servers / Replica",
		Description: "Why one replica is slow, full or broken. Select several to compare them.",
		Templating:  singleReplicaVariables(),
		rows: []row{
			section("Health", sideBySide(4,
				withWidth(5, stat("Current state", "Not green: see the runbook section for that state.",
					"none", query{
						stateNumber("pool_id, replica_id", "llm_server_state", states()),
						name,
					}, valueMappings(states()), thresholds(unknown), coloredBackground)),
				stat("Reports ready", "The server's own readiness. No: see LLMReplicaNotUp in the runbook. Triton "+
					"stays ready while it stalls or fails; trust the state.",
					"none", query{eachReplica("llm_server_ready"), name}, valueMappings([]MappedValue{
						{Text: "no", Color: "orange"},
						{Text: "yes", Color: "text"},
					})),
				stat("Scraped", "Whether the last scrape succeeded. No: the reason is on the exporter's /targets; "+
					"see LLMReplicaUnreadable in the runbook.",
					"none", query{
						maxBy("pool_id, replica_id", "trtllm_exporter_target_up", targetMatchers),
						name,
					}, valueMappings([]MappedValue{
						{Text: "no", Color: "red"},
						{Text: "yes", Color: "green"},
					}), thresholds("red", 1.0, "green")),
				stat("Saturation", "Load relative to what it can serve. Red: full; requests should go elsewhere.",
					ratio, query{
						each("llm_server_saturation_ratio"), name,
					}, saturation(), decimals(0)),
				stat("In-flight requests", "Admitted requests. While the replica drains, this must drop to zero "+
					"before the process ends.",
					"short", query{inFlight(), name}),
				stat("KV cache utilization", "Red: new requests wait, and running ones are paused.",
					ratio, query{
						each("llm_server_kv_cache_utilization_ratio"), name,
					}, thresholds("green", 0.85, "orange", 0.95, "red"), decimals(0)),
				stat("Restarts", "Restarts in the time range. Red: it crashes; see LLMReplicaRestarts in the runbook.",
					"none", query{
						"max by (pool_id, replica_id) " +
							"(increase(trtllm_exporter_target_restarts_total{" + targetMatchers + "}[$__range]))",
						name,
					}, thresholds("green", 1.0, "orange", 3.0, "red"), decimals(0))),
				sideBySide(7,
					timeline("State", "State over time. Not green: see the runbook section for that state.",
						query{
							stateNumber("pool_id, replica_id", "llm_server_state", states()),
							"{{pool_id}} / {{replica_id}}",
						}, states()),
					timeline("Models", "State of its models by Triton's repository index. Red: requests for the "+
						"model fail; see LLMModelUnavailable in the runbook.",
						query{
							stateNumber("pool_id, replica_id, model", "llm_server_model_state", modelStates()),
							"{{model}} {{pool_id}} / {{replica_id}}",
						}, modelStates()))),
			replicaRequests(),
			replicaTokens(),
			replicaBatch(),
			replicaModels(),
			replicaMemory(),
		},
	}
}

// replicaUID is the dashboard that links to replicas open.
const replicaUID = "trtllm-replica"

func modelStates() []MappedValue {
	return []MappedValue{
		{Text: "unknown", Color: "gray"},
		{Text: "ready", Color: "green"},
		{Text: "loading", Color: "blue"},
		{Text: "unloading", Color: "purple"},
		{Text: "unavailable", Color: "red"},
	}
}

// percentiles returns the percentiles of a latency over the exporter's window, the mean, and the
// outermost bounds of the histogram for percentiles beyond them. See [histogram.aboveMean] for the
// 99th percentile.
func percentiles(series, name string) []query {
	h := newHistogram(
		"pool_id, replica_id",
		"{{pool_id}} / {{replica_id}}",
		func(by, suffix string, matchers ...string) string {
			return sumBy(by, series, rate("llm_server_"+name+"_seconds"+suffix, matchers...))
		},
	)
	gauge := func(suffix, matchers string) string {
		return fmt.Sprintf("max by (pool_id, replica_id) "+
			"(llm_server_%s_%s_seconds{%s%s})", name, suffix, modelMatchers, matchers)
	}
	mean := gauge("average", "")
	var values, bounds []query
	for _, p := range []string{"50", "95", "99"} {
		value := gauge("percentile", `,percentile="`+p+`"`) + " unless " + h.inFirstBucket("0."+p)
		if p == "99" {
			value += " unless " + gauge("percentile", `,percentile="99"`) + " < " + mean
		}
		values = append(values, query{value, "p" + p + " " + h.legend})
		bounds = append(bounds, query{
			h.atMost("0." + p), "p" + p + " ≤ " + h.legend,
		}, query{h.lastBound("0." + p), "p" + p + " > " + h.legend})
	}
	return append(append(values, query{mean, "mean " + h.legend}), bounds...)
}

func replicaRequests() row {
	count := func(name, legend string) query {
		return query{each("llm_server_requests_" + name), named(legend)}
	}
	return section("Requests",
		sideBySide(9, graph("In flight", "Admitted requests, those in prefill and decode, waiting, paused, and the "+
			"limit. Waiting grows while running is constant: full. Running is constant and nothing completes: "+
			"LLMReplicaSuspected.",
			"short", []query{
				count("active", "admitted"), count("prefill", "prefill"), count("decode", "decode"),
				count("waiting", "waiting"), count("paused", "paused"), count("limit", "limit"),
			}),
			graph("Completed requests", "By class, and unsuccessful ones by reason, as the server counts them: "+
				"Triton counts failures of an ensemble twice. Only class server: the replica is failing; take it "+
				"out of the load balancer.",
				request, []query{
					{
						rateOfEntries("pool_id, replica_id, class", "llm_server_requests_total"),
						"{{class}} {{pool_id}} / {{replica_id}}",
					},
					{
						rateOfEntries("pool_id, replica_id, class, reason", "llm_server_requests_failed_total"),
						"{{class}} {{reason}} {{pool_id}} / {{replica_id}}",
					},
				}),
			graph("In-flight while draining", "Requests in flight while the replica drains or is not ready, "+
				"otherwise 0. Does not drop: it is stuck, or a request does not end; see LLMReplicaNotUp.",
				"short", []query{{
					"sum by (pool_id, replica_id) (" + inFlight() + ") * on (pool_id, replica_id) " + eachReplica(
						"llm_server_state",
						`state=~"draining|not_ready"`,
					),
					"{{pool_id}} / {{replica_id}}",
				}})),
		sideBySide(
			9,
			graph("Mean duration", "Mean request duration. Far above the rest of its pool: LLMPoolSlow.",
				seconds, []query{{
					maxBy(ofEntry, "llm_server_request_duration_average_seconds", modelMatchers),
					"{{pool_id}} / {{replica_id}}",
				}}),
			graph("Time to first token", "Percentiles and mean over the exporter's window. Slow: a full batch or "+
				"long prompts. p50 ≤ is the lowest histogram bound, p99 > the highest one; there are no values "+
				"beyond them.",
				seconds, percentiles(ofEntry, "time_to_first_token")),
			graph(
				"Time between tokens",
				"One observation per token ("+exposing(
					engine.InterToken,
				)+"). A tail far above the mean: long prefills of other requests interrupt decoding.",
				seconds,
				percentiles(ofEngine, "inter_token_latency"),
			),
			graph(
				"Time per output token",
				"One observation per request ("+exposing(
					engine.OutputToken,
				)+"). Grows with the batch; on a single replica: power or thermal limits.",
				seconds,
				percentiles(ofEngine, "time_per_output_token"),
			),
		))
}

// named returns the legend of a replica's line. The quantity comes first, because long
// legends are cut off.
func named(quantity string) string {
	return strings.TrimSpace(quantity + " {{pool_id}} / {{replica_id}}")
}

// inFlight returns the requests in a server: active ones of TensorRT-LLM, or running ones
// of other engines.
func inFlight() string {
	return each("llm_server_requests_active") + " or " + each("llm_server_requests_running")
}

func replicaTokens() row {
	return section("Tokens",
		sideBySide(9, graph("Generated tokens", "Most servers count them when requests end; for Triton also a live "+
			"estimate from iterations. A steady estimate with a count of zero: long requests, or requests that never end.",
			tokens, []query{
				{each("llm_server_generation_tokens_per_second"), "{{pool_id}} / {{replica_id}}"},
				{each("llm_server_generation_tokens_per_second_estimate"), "estimate {{pool_id}} / {{replica_id}}"},
			}),
			graph("Prompt tokens", "Tokens of prompts, also those found in the KV cache; prefill computes "+
				"the others. Peaks delay the tokens of running requests; chunked prefill "+
				"smooths them.",
				tokens, []query{
					{each("llm_server_prompt_tokens_per_second"), "{{pool_id}} / {{replica_id}}"},
					{each("llm_server_prompt_tokens_per_second_estimate"), "estimate {{pool_id}} / {{replica_id}}"},
				}),
			graph("Mean request length", "Tokens per request. Longer prompts fill the KV cache, longer "+
				"answers the batch.",
				"short", []query{
					{
						mean("pool_id, replica_id", "llm_server_request_prompt_tokens"),
						"prompt {{pool_id}} / {{replica_id}}",
					},
					{
						mean("pool_id, replica_id", "llm_server_request_generation_tokens"),
						"answer {{pool_id}} / {{replica_id}}",
					},
				})))
}

func replicaBatch() row {
	return section("Batch manager",
		sideBySide(9, graph("Iterations", "Steps of Triton's executor. Zero with requests in flight is a stall: "+
			"take a dump, then restart the server.",
			"ops", []query{{each("llm_server_engine_iterations_per_second"), "{{pool_id}} / {{replica_id}}"}}),
			graph("Iteration duration", "Last iteration (trtllm-serve). Growing: larger batches or longer "+
				"prefill chunks.",
				seconds, []query{{
					each("llm_server_engine_iteration_duration_seconds"),
					"{{pool_id}} / {{replica_id}}",
				}}),
			graph("Batch size", "Mean size of the in-flight batch. Small with a queue: the KV cache limits it.",
				"short", []query{{each("llm_server_batch_size_average"), "{{pool_id}} / {{replica_id}}"}}),
			graph("Prefill tokens per iteration", "Context tokens of the last iteration. Always at the token "+
				"budget: prefill is the bottleneck; add replicas or reuse prefixes.",
				"short", []query{{each("llm_server_iteration_context_tokens"), "{{pool_id}} / {{replica_id}}"}})),
		sideBySide(9, graph("KV cache blocks", "Used and free. Free at zero: requests are paused.",
			"short", []query{{
				"max by (pool_id, replica_id, state) (llm_server_kv_cache_blocks{" + modelMatchers + "})",
				"{{state}} {{pool_id}} / {{replica_id}}",
			}}, stacked),
			graph("KV cache reuse", "Blocks per second found instead of computed. Zero after a change of the "+
				"prompt template, or if reuse is off.",
				"ops", []query{{eachRate("llm_server_kv_cache_blocks_reused_total"), "{{pool_id}} / {{replica_id}}"}}),
			graph("Prompt cache hit ratio", "Share of prompt tokens found in the cache (trtllm-serve). Lower than "+
				"the rest of the pool: affinity sends it other prompts.",
				ratio, []query{{each("llm_server_prompt_cache_hit_ratio"), "{{pool_id}} / {{replica_id}}"}}, atMost(1)),
			graph("Disaggregated transfers", "KV cache transfer time per disaggregated request. Growing: check the "+
				"link between prefill and decode servers.",
				seconds, []query{{
					eachRate("llm_server_kv_cache_transfer_seconds_total") + " / (" +
						eachRate("llm_server_disaggregated_requests_total") + " > 0)",
					"{{pool_id}} / {{replica_id}}",
				}})))
}

func replicaModels() row {
	part := func(name string) string { return rateBy("pool_id, replica_id, model", "llm_server_model_"+name) }
	return section("Triton models",
		sideBySide(9, graph("Requests by model", "Entry model and parts; never add them up. A part with far fewer "+
			"than the entry model: requests fail before it.",
			request, []query{{part("requests_total"), "{{model}} {{pool_id}} / {{replica_id}}"}}),
			graph("Failures by model", "Which part fails, by reason. An ensemble counts failures of its parts too.",
				request, []query{{
					rateBy("pool_id, replica_id, model, reason", "llm_server_model_requests_failed_total"),
					"{{model}} {{reason}} {{pool_id}} / {{replica_id}}",
				}}),
			graph("Pending by model", "Requests in Triton's queue of each model. Above zero at preprocessing or "+
				"postprocessing: more instances.",
				"short", []query{{
					"max by (pool_id, replica_id, model) (llm_server_model_requests_pending{" + modelMatchers + "})",
					"{{model}} {{pool_id}} / {{replica_id}}",
				}}),
			graph("Compute time by phase", "Compute seconds per second. Input or output large compared with infer: "+
				"tensors are copied too far.",
				"none", []query{{
					rateBy("pool_id, replica_id, phase", "llm_server_model_compute_seconds_total"),
					"{{phase}} {{pool_id}} / {{replica_id}}",
				}}, stacked)))
}

func replicaMemory() row {
	gauge := func(name, legend string) query {
		return query{eachReplica(name), named(legend)}
	}
	return section("Memory and host",
		sideBySide(8, graph("Engine memory", "Allocated by the engine's runtime at start, leading process only. "+
			"Growth is a leak.",
			"bytes", []query{{
				fmt.Sprintf("max by (pool_id, replica_id, memory) (llm_server_engine_memory_bytes{%s})", modelMatchers),
				"{{memory}} {{pool_id}} / {{replica_id}}",
			}}),
			graph("Triton pinned memory", "At its limit copies become slow: raise --pinned-memory-pool-byte-size.",
				"bytes", []query{
					gauge("llm_server_pinned_memory_used_bytes", "used"),
					gauge("llm_server_pinned_memory_limit_bytes", "limit"),
				}),
			graph("Host memory", "Whole machine. Near the total: the server will be OOM-killed.",
				"bytes", []query{
					gauge("llm_server_host_memory_used_bytes", "used"),
					gauge("llm_server_host_memory_total_bytes", "total"),
				}),
			graph(
				"Host CPU",
				"Whole machine. Near 1: tokenizers and detokenizers lack CPU; add cores.",
				ratio,
				[]query{gauge("llm_server_host_cpu_utilization_ratio", "")},
				atMost(1),
				thresholds("green", 0.9, "red"),
				thresholdLines,
			),
			graph("Health checks", "Duration of readiness checks. Growing: the server's frontend is overloaded.",
				seconds, []query{gauge("llm_server_health_check_duration_seconds", "")})))
}
