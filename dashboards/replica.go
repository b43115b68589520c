package dashboards

import (
	"fmt"
	"strings"
)

// replica is everything of one replica, or of a few next to each other.
func replica() Dashboard {
	return Dashboard{
		Heading:    Heading{UID: replicaUID, Title: "LLM servers / Replica", Description: "Everything about one replica: choose it above. Choose several to see how they differ."},
		Templating: variablesOfOne(),
		rows: []row{
			section("Health", sideBySide(4, replicaNow()...), sideBySide(7,
				timeline("State", "What the replica was doing. Anything but green: the runbook section of that state.",
					query{numbered("pool_id, replica_id", "llm_server_state", states()), "{{pool_id}} / {{replica_id}}"}, states()),
				timeline("Models", "What its models were doing, as the repository index says. Unavailable in red: requests to it fail; LLMModelUnavailable in the runbook.",
					query{numbered("pool_id, replica_id, model", "llm_server_model_state", modelStates()), "{{model}} {{pool_id}} / {{replica_id}}"}, modelStates()))),
			replicaRequests(),
			replicaTokens(),
			replicaBatch(),
			replicaModels(),
			replicaMemory(),
		},
	}
}

// replicaUID is where links to a replica lead.
const replicaUID = "trtllm-replica"

// modelStates are those of llm_server_model_state.
func modelStates() []Outcome {
	return []Outcome{{Text: "unknown", Color: "gray"}, {Text: "ready", Color: "green"}, {Text: "loading", Color: "blue"}, {Text: "unloading", Color: "purple"}, {Text: "unavailable", Color: "red"}}
}

// percentiles are those of a latency over the exporter's window, with the mean,
// and where there is a histogram on which side of its bounds they are. The 99th
// percentile below the mean says nothing: what makes the mean is beyond.
func percentiles(series, name string) []query {
	h := ofOneReplica(series, name+"_seconds")
	of := func(suffix, matchers string) string {
		return fmt.Sprintf("max by (pool_id, replica_id) (llm_server_%s_%s_seconds{%s%s})", name, suffix, ofModel, matchers)
	}
	mean := of("average", "")
	var values, bounds []query
	for _, p := range []string{"50", "95", "99"} {
		value := of("percentile", `,percentile="`+p+`"`) + " unless " + h.inFirst("0."+p)
		if p == "99" {
			value += " unless " + of("percentile", `,percentile="99"`) + " < " + mean
		}
		values = append(values, query{value, "p" + p + " " + h.legend})
		bounds = append(bounds, query{h.atMost("0." + p), "p" + p + " ≤ " + h.legend}, query{h.beyond("0." + p), "p" + p + " > " + h.legend})
	}
	return append(append(values, query{mean, "mean " + h.legend}), bounds...)
}

// replicaNow are the numbers at the top.
func replicaNow() []Panel {
	yes := mapped([]Outcome{{Text: "no", Color: "red"}, {Text: "yes", Color: "green"}})
	name := "{{pool_id}} / {{replica_id}}"
	return []Panel{
		wide(5, stat("State now", "What the replica is doing. Anything but green: the runbook section of that state.",
			"none", query{numbered("pool_id, replica_id", "llm_server_state", states()), name}, mapped(states()), levels(unknown), filled)),
		stat("Says ready", "What the server itself says. No: LLMReplicaNotUp in the runbook. Triton says yes while it stalls or fails: the state is right.",
			"none", query{eachReplica("llm_server_ready"), name}, mapped([]Outcome{{Text: "no", Color: "orange"}, {Text: "yes", Color: "text"}})),
		stat("Scraped", "Whether its page could be read. No: the reason is on the exporter's /targets; LLMReplicaUnreadable in the runbook if its API answers.",
			"none", query{eachTarget("trtllm_exporter_target_up"), name}, yes, levels("red", 1.0, "green")),
		stat("Saturation", "Its load as a share of what it can serve. Red: full; requests should go elsewhere.",
			ratio, query{each("llm_server_saturation_ratio"), name}, levels("green", 0.8, "orange", 1.0, "red"), decimals(0)),
		stat("In flight now", "Requests it has admitted. While draining this is what is left to finish; it must fall to zero before the process ends.",
			"short", query{admitted(), name}),
		stat("KV cache in use", "Share of its KV cache in use. Red: it pauses requests; LLMKVCacheFull in the runbook.",
			ratio, query{each("llm_server_kv_cache_utilization_ratio"), name}, levels("green", 0.85, "orange", 0.95, "red"), decimals(0)),
		stat("Restarts", "Times it restarted in the time shown. Red: it crashes; LLMReplicaRestarts in the runbook.",
			"none", query{"max by (pool_id, replica_id) (increase(trtllm_exporter_target_restarts_total{" + ofTarget + "}[$__range]))", name}, levels("green", 1.0, "orange", 3.0, "red"), decimals(0)),
	}
}

func replicaRequests() row {
	const engine = "pool_id, replica_id, model_id"
	const entry = engine + ", model, version"
	count := func(name, legend string) query {
		return query{each("llm_server_requests_" + name), named(legend)}
	}
	return section("Requests",
		sideBySide(9, graph("In flight", "Admitted, running in prefill and decode, waiting, paused, and the limit. Waiting grows while running stays: full. Running stays and nothing ends: LLMReplicaBroken.",
			"short", []query{
				count("active", "admitted"), count("prefill", "prefill"), count("decode", "decode"),
				count("waiting", "waiting"), count("paused", "paused"), count("limit", "limit"),
			}),
			graph("Ended", "Requests that ended, by class, and those that did not end well by reason, as the server counts: a Triton counts failures of an ensemble twice. Only class server: it is failing; take it out of the load balancer.",
				request, []query{
					{rateOfEntries("pool_id, replica_id, class", "llm_server_requests_total"), "{{class}} {{pool_id}} / {{replica_id}}"},
					{rateOfEntries("pool_id, replica_id, class, reason", "llm_server_requests_failed_total"), "{{class}} {{reason}} {{pool_id}} / {{replica_id}}"},
				}),
			graph("Left to drain", "Requests in flight while it drains or is not ready, else 0. Does not fall: it does no iterations, or a request does not end; LLMReplicaNotUp.",
				"short", []query{{"sum by (pool_id, replica_id) (" + admitted() + ") * on (pool_id, replica_id) " + eachReplica("llm_server_state", `state=~"draining|not_ready"`), "{{pool_id}} / {{replica_id}}"}})),
		sideBySide(9, graph("Mean duration", "Mean time of its requests. Far above the others of its pool: LLMReplicaSlow.",
			seconds, []query{{eachEntry("llm_server_request_duration_average_seconds"), "{{pool_id}} / {{replica_id}}"}}),
			graph("First token", "Percentiles and mean over the exporter's window. Late: full batch, or long prompts. Below the first bound of the histogram and above the last one there is no value: p50 ≤ and p99 > are those bounds.",
				seconds, percentiles(entry, "time_to_first_token")),
			graph("Time between tokens", "Of each token, where the server counts it so (NIM, Dynamo, vLLM, SGLang). A tail far above the mean: long prefills of other requests come in between.",
				seconds, percentiles(engine, "inter_token_latency")),
			graph("Time per output token", "Mean of each request, where the server counts it so (trtllm-serve, vLLM, SGLang). Grows with the batch; alone at one replica: power or thermal limits.",
				seconds, percentiles(engine, "time_per_output_token"))))
}

// named is the legend of a line of a replica: what it is comes first, for the end
// of a long legend is cut off.
func named(what string) string { return strings.TrimSpace(what + " {{pool_id}} / {{replica_id}}") }

// admitted are the requests in a server: those that TensorRT-LLM says are active,
// or those that another engine runs.
func admitted() string {
	return each("llm_server_requests_active") + " or " + each("llm_server_requests_running")
}

func replicaTokens() row {
	return section("Tokens",
		sideBySide(9, graph("Generated tokens", "Counted when a request ends, and for Triton the live estimate from iterations. Estimate steady and count at zero: long requests, or they never end.",
			tokens, []query{
				{each("llm_server_generation_tokens_per_second"), "{{pool_id}} / {{replica_id}}"},
				{each("llm_server_generation_tokens_per_second_estimate"), "estimate {{pool_id}} / {{replica_id}}"},
			}),
			graph("Prompt tokens", "Prefill work. Peaks delay the tokens of running requests; chunked context evens them out.",
				tokens, []query{
					{each("llm_server_prompt_tokens_per_second"), "{{pool_id}} / {{replica_id}}"},
					{each("llm_server_prompt_tokens_per_second_estimate"), "estimate {{pool_id}} / {{replica_id}}"},
				}),
			graph("Mean lengths", "Tokens of the mean request. Longer prompts fill the KV cache, longer answers the batch.",
				"short", []query{
					{mean("pool_id, replica_id", "llm_server_request_prompt_tokens"), "prompt {{pool_id}} / {{replica_id}}"},
					{mean("pool_id, replica_id", "llm_server_request_generation_tokens"), "answer {{pool_id}} / {{replica_id}}"},
				})))
}

func replicaBatch() row {
	return section("Batch manager",
		sideBySide(9, graph("Iterations", "Steps of Triton's executor. Zero with requests in flight is a stall: take a dump, then restart it.",
			"ops", []query{{each("llm_server_engine_iterations_per_second"), "{{pool_id}} / {{replica_id}}"}}),
			graph("Duration of an iteration", "trtllm-serve: the last iteration. Growing: larger batches or longer prefill chunks.",
				seconds, []query{{each("llm_server_engine_iteration_duration_seconds"), "{{pool_id}} / {{replica_id}}"}}),
			graph("Batch size", "Mean size of the in-flight batch. Small with a queue: the KV cache limits it.",
				"short", []query{{each("llm_server_batch_size_average"), "{{pool_id}} / {{replica_id}}"}}),
			graph("Prefill tokens in an iteration", "Context tokens of the last iteration. At the token budget all the time: prefill is the bottleneck; add replicas or reuse prefixes.",
				"short", []query{{each("llm_server_iteration_context_tokens"), "{{pool_id}} / {{replica_id}}"}})),
		sideBySide(9, graph("KV cache blocks", "Used and free. Free at zero: requests are paused.",
			"short", []query{{"max by (pool_id, replica_id, state) (llm_server_kv_cache_blocks{" + ofModel + "})", "{{state}} {{pool_id}} / {{replica_id}}"}}, stacked),
			graph("KV cache reuse", "Blocks a second found instead of computed. Falls to zero after a change of the prompt template or with reuse switched off.",
				"ops", []query{{eachRate("llm_server_kv_cache_blocks_reused_total"), "{{pool_id}} / {{replica_id}}"}}),
			graph("Prompt tokens from the cache", "trtllm-serve: share of prompt tokens that were in the cache. Lower than its pool's: affinity sends it other prompts.",
				ratio, []query{{each("llm_server_prompt_cache_hit_ratio"), "{{pool_id}} / {{replica_id}}"}}, atMost(1)),
			graph("Disaggregated transfers", "KV cache transfer time of each disaggregated request. Growing: the link between prefill and decode servers. Empty without disaggregated serving.",
				seconds, []query{{eachRate("llm_server_kv_cache_transfer_seconds_total") + " / (" + eachRate("llm_server_disaggregated_requests_total") + " > 0)", "{{pool_id}} / {{replica_id}}"}})))
}

func replicaModels() row {
	part := func(name string) string { return rateBy("pool_id, replica_id, model", "llm_server_model_"+name) }
	return section("Models of Triton",
		sideBySide(9, graph("Requests by model", "Entry model and parts; never add them. A part with far fewer than the entry: requests fail before it.",
			request, []query{{part("requests_total"), "{{model}} {{pool_id}} / {{replica_id}}"}}),
			graph("Failures by model", "The part that fails, by reason. An ensemble counts its parts' failures too.",
				request, []query{{rateBy("pool_id, replica_id, model, reason", "llm_server_model_requests_failed_total"), "{{model}} {{reason}} {{pool_id}} / {{replica_id}}"}}),
			graph("Pending by model", "Requests in Triton's queue of each model. Above zero at preprocessing or postprocessing: more instances.",
				"short", []query{{"max by (pool_id, replica_id, model) (llm_server_model_requests_pending{" + ofModel + "})", "{{model}} {{pool_id}} / {{replica_id}}"}}),
			graph("Compute time by phase", "Seconds of work a second. Input or output large compared with infer: tensors are copied too far.",
				"none", []query{{rateBy("pool_id, replica_id, phase", "llm_server_model_compute_seconds_total"), "{{phase}} {{pool_id}} / {{replica_id}}"}}, stacked)))
}

func replicaMemory() row {
	one := func(name, legend string) query {
		return query{eachReplica(name), named(legend)}
	}
	return section("Memory and host",
		sideBySide(8, graph("Engine memory", "What the engine's runtime allocated, leading process only. It is allocated at start; growth is a leak.",
			"bytes", []query{{fmt.Sprintf("max by (pool_id, replica_id, memory) (llm_server_engine_memory_bytes{%s})", ofModel), "{{memory}} {{pool_id}} / {{replica_id}}"}}),
			graph("Pinned pool of Triton", "Used of the pinned memory pool. At its limit copies become slow: --pinned-memory-pool-byte-size.",
				"bytes", []query{one("llm_server_pinned_memory_used_bytes", "used"), one("llm_server_pinned_memory_limit_bytes", "limit")}),
			graph("Host memory", "Of the whole machine. Near the total: the kernel will end the server.",
				"bytes", []query{one("llm_server_host_memory_used_bytes", "used"), one("llm_server_host_memory_total_bytes", "total")}),
			graph("Host CPU", "Of the whole machine. Near 1: tokenizers and detokenizers starve; give them cores.",
				ratio, []query{one("llm_server_host_cpu_utilization_ratio", "")}, atMost(1), levels("green", 0.9, "red"), lines),
			graph("Health checks", "How long the server took to answer whether it is ready. Growing: its front end is overloaded.",
				seconds, []query{one("llm_server_health_check_duration_seconds", "")})))
}
