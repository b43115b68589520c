package dashboards

import "fmt"

// disaggregation follows a request through servers that only prefill or only decode. Such servers
// are in pools of their own, or tell by their replica_id what they do, which the rules turn into a tier.
func disaggregation() Dashboard {
	return Dashboard{
		UID: "trtllm-disaggregation", Title: "LLM servers / Disaggregation",
		Description: "Where requests spend their time when some servers prefill and others decode, and what fails " +
			"between them. Panels are in the order of a request. Servers of one pool are told apart by their " +
			"replica_id: prefill, decode, context, ctx, generation or gen is a word of it.",
		Templating: variables(),
		rows: []row{
			wayOfRequest(),
			frontends(),
			prefillServers(),
			cacheTiers(),
			transfers(),
			decodeServers(),
		},
	}
}

// tiers returns what a join adds to the label tier of a replica: nothing.
func tiers(matchers ...string) string {
	serving := maxBy("pool_id, replica_id, tier", "pool_tier_replica:llm_server_serving:max", targetMatchers, matchers...)
	return " + on (pool_id, replica_id) group_left (tier) 0 * " + serving
}

// byTier sums a quantity of replicas by pool and tier, and more labels.
func byTier(replicas, more string) string { return total("pool_id, tier"+more, replicas+tiers()) }

// ofReplicas returns a recorded quantity of replicas, by pool and tier.
func ofReplicas(name string) string {
	return byTier("pool_replica:llm_server_"+name+"{"+targetMatchers+"}", "")
}

// transferSpeed returns the bytes per second of a transfer, by pool and tier.
func transferSpeed() string {
	return ofReplicas("kv_cache_transfer_bytes:rate") + " / (" + ofReplicas("kv_cache_transfer_seconds:rate") + " > 0)"
}

// failedTransfers returns the failed transfers per second, by pool, tier and reason.
func failedTransfers() string {
	return byTier("pool_replica_reason:llm_server_kv_cache_transfer_failures:rate{"+targetMatchers+"}", ", reason")
}

// routing returns the requests that wait in a router, by pool and model.
func routing() string {
	return sumBy("pool_id, model_id", ofEngine, "llm_server_requests_routing{"+modelMatchers+"}")
}

const tierLegend = "{{pool_id}} {{tier}}"

// wayOfRequest has a number for each step of a request, and the times of all steps.
func wayOfRequest() row {
	slowest := func(title, phase, description string) Panel {
		return stat(title, "Longest mean of a pool or tier. "+description, seconds,
			query{"max(" + phaseMean("pool_id, tier", phase) + ")", ""}, sparkline)
	}
	return section("Steps",
		sideBySide(4,
			stat("Requests", "Completed requests, all pools. Below what clients send: see what waits on the right.",
				request, query{total("", pool("requests:rate")), ""}, sparkline),
			stat("In routers", "Requests that wait in a router for a worker. Above zero for minutes: the servers "+
				"behind are full.",
				"none", query{total("", routing()), ""}, sparkline),
			slowest("Queue", "queue", "Growing: the servers are full; see Waiting by tier."),
			slowest("Prefill", "prefill", "Growing: prompts, or fewer hits; see Hit ratio by cache tier."),
			stat("Transfer speed", "Slowest pool or tier. Falling: see Transfer speed by tier.",
				"binBps", query{"min(" + transferSpeed() + ")", ""}, sparkline),
			stat("Failed transfers", "Failed moves of KV caches. Red: requests are computed again or fail; see "+
				"Failed transfers by reason.",
				"ops", query{total("", failedTransfers()), ""}, thresholds("green", 0.001, "red"), decimals(2)),
			slowest("Decode", "decode", "Growing: answers, or the batch; see Running by tier."),
		),
		sideBySide(9, graph("Mean time by step", "Queue, prefill and decode per request, by pool and tier. One "+
			"grew: open its row below. Prefill servers show hardly any decode, decode servers hardly any prefill.",
			seconds, []query{
				{phaseMean("pool_id, tier", "queue"), tierLegend + " queue"},
				{phaseMean("pool_id, tier", "prefill"), tierLegend + " prefill"},
				{phaseMean("pool_id, tier", "decode"), tierLegend + " decode"},
			}),
			graph("Serving replicas by tier", "Replicas that serve, by pool and tier. Zero of a tier: no request is "+
				"answered, though the others serve.",
				"none", []query{{"pool_tier:llm_server_replicas_serving:sum{" + poolMatchers + "}", tierLegend}}, stepLines)))
}

func frontends() row {
	stages := func(quantity, legend string) query {
		return query{
			fmt.Sprintf("pool_stage:llm_server_stage_%s:rate{%s}", quantity, poolMatchers),
			"{{pool_id}} {{stage}}" + legend,
		}
	}
	first := poolHistogram("pool_id, model_id", firstToken)
	return section("Frontend and its queue",
		sideBySide(8, graph("Time to first token at the frontend, p95", "What clients see: router, queue, prefill and "+
			"transfer together. p95 ≤ is the lowest histogram bound, p95 > the highest one. Above your objective: "+
			"Mean time by step tells where.",
			seconds, append(first.queries("95"), objectiveLine("ttft"))),
			graph("Waiting in routers", "Requests that wait in a router until a worker has room. Growing: add "+
				"servers of the tier that is full.",
				"short", []query{{routing(), "{{pool_id}} {{model_id}}"}})),
		sideBySide(8, graph("Requests sent to a stage", "By an orchestrator. Decode far below prefill: requests are "+
			"lost between them; see Failed transfers by reason.",
			request, []query{stages("requests", "")}),
			graph("Errors and retries at a stage", "As an orchestrator counts them, clients' mistakes included. Of "+
				"one stage alone: find its replica on Fleet.",
				request, []query{stages("errors", " errors"), stages("retries", " retries")}),
			graph("Migrated requests", "Attempts to move a request off a lost worker, by type and outcome. Any: a "+
				"worker was lost; see Fleet.",
				request, []query{{
					rateBy("pool_id, type, outcome", "llm_server_requests_migrated_total"),
					"{{pool_id}} {{type}} {{outcome}}",
				}})))
}

func prefillServers() row {
	return section("Prefill",
		sideBySide(8, graph("Waiting by tier", "Known waiting requests, with those that wait for the other server or "+
			"for their KV cache. Only prefill grows: add prefill servers. Only decode grows: add decode servers.",
			"short", []query{{byTier(each("llm_server_queue_depth"), ""), tierLegend}}),
			graph("Mean prefill by tier", "From the first iteration to the first token; of an orchestrator, the whole "+
				"answer of a prefill server. Growing without a queue: longer prompts or fewer hits.",
				seconds, []query{{phaseMean("pool_id, tier", "prefill"), tierLegend}}),
			graph("Prompt tokens by pool", "Prompt tokens per second, hits included. Growing without more requests: "+
				"prompts became longer.",
				tokens, []query{{pool("prompt_tokens:rate"), "{{pool_id}} {{model_id}}"}})))
}

func cacheTiers() row {
	const legend = "{{pool_id}} {{cache_tier}} {{level}}"
	hits := "pool_cache_tier:llm_server_prompt_tokens_cached_by_tier:rate{" + poolMatchers + "}"
	prompts := total("pool_id", pool("prompt_tokens:rate"))
	moved := func(name, legend string) query {
		return query{"pool:llm_server_kv_cache_" + name + "_bytes:rate{" + poolMatchers + "}", "{{pool_id}} " + legend}
	}
	return section("Hits by cache tier",
		sideBySide(8, graph("Hit ratio by cache tier", "Share of prompt tokens found in each tier of the KV cache: the "+
			"GPU, the host, disks, another server. All fall: prompts changed, or are spread over more servers. Only "+
			"the GPU falls: its cache is too small.",
			ratio, []query{{hits + " / on (pool_id) group_left () (" + prompts + " > 0)", legend}}, atMost(1)),
			graph("Hit ratio of all tiers", "Share of prompt tokens found in the KV cache, or of blocks, median replica "+
				"of each pool. Of blocks since the start of the server: see its trend.",
				ratio, []query{
					{median("prompt_cache_hit_ratio"), "{{pool_id}} {{model_id}} of tokens"},
					{median("kv_cache_reuse_ratio"), "{{pool_id}} {{model_id}} of blocks"},
					{median("kv_cache_hit_ratio"), "{{pool_id}} {{model_id}} of blocks since the start"},
				}, atMost(1)),
			graph("Moved between GPU and host", "KV cache loaded from the host and moved to it. Both high: the cache "+
				"on the GPU is too small for the prompts in use.",
				"binBps", []query{moved("onboard", "to GPU"), moved("offload", "to host")})))
}

// median returns the median replica of each pool, by model.
func median(name string) string {
	return "quantile by (pool_id, model_id) (0.5, " + each("llm_server_"+name) + ")"
}

func transfers() row {
	return section("Transfer",
		sideBySide(8, graph("Transferred KV caches", "Bytes per second between servers. Zero while both tiers have "+
			"requests: decode servers compute prompts themselves, or nothing arrives.",
			"binBps", []query{{ofReplicas("kv_cache_transfer_bytes:rate"), tierLegend}}),
			graph("Transfer speed by tier", "Bytes per second of a transfer. SGLang's time begins with the last part "+
				"of the prompt, so it is a lower bound. Falling: check the link between the servers.",
				"binBps", []query{{transferSpeed(), tierLegend}}),
			graph("Transfers under way", "Mean number of transfers at a time: their time per second. Growing at the "+
				"same load: they became slow.",
				"short", []query{{ofReplicas("kv_cache_transfer_seconds:rate"), tierLegend}})),
		sideBySide(8, graph("Failed transfers by reason", "bootstrap: before the transfer, check the address of the "+
			"other server; transfer, receive: on the way, check the link; notification: it arrived untold; expired: "+
			"nobody fetched it in time, decode servers are full or gone.",
			"ops", []query{{failedTransfers(), "{{pool_id}} {{tier}} {{reason}}"}}),
			graph("Transfer time per disaggregated request", "As Triton counts both. Growing: check the link between "+
				"prefill and decode servers.",
				seconds, []query{{
					ofReplicas("kv_cache_transfer_seconds:rate") + " / (" + ofReplicas("disaggregated_requests:rate") + " > 0)",
					tierLegend,
				}})))
}

func decodeServers() row {
	fullest := "max by (pool_id, tier) (" + each("llm_server_kv_cache_utilization_ratio") + tiers(`tier!="frontend"`) + ")"
	gap := poolHistogram("pool_id, model_id", "inter_token_latency_seconds")
	return section("Decode",
		sideBySide(8, graph("Running by tier", "Requests in the batches. Decode at its limit while prefill waits for "+
			"it: add decode servers.",
			"short", []query{{byTier(each("llm_server_requests_running"), ""), tierLegend}}),
			graph("Mean decode by tier", "From the first to the last token; of an orchestrator, the whole answer of a "+
				"decode server. Growing with the same answers: the batch is large.",
				seconds, []query{{phaseMean("pool_id, tier", "decode"), tierLegend}}),
			graph("Time between tokens at the frontend, p95", "p95 ≤ is the lowest histogram bound, p95 > the highest "+
				"one. Above your objective: the batches of decode servers are large.",
				seconds, append(gap.queries("95"), objectiveLine("itl")))),
		sideBySide(8, graph("Fullest KV cache by tier", "Highest utilization of a replica. Decode near 1: transfers "+
			"wait for room, and expire.",
			ratio, []query{{fullest, tierLegend}},
			thresholds("green", 0.85, "orange", 0.95, "red"), thresholdLines, atMost(1)),
			graph("Generated tokens by pool", "Generated tokens per second. Falling at the same requests: see Mean "+
				"decode by tier.",
				tokens, []query{{pool("generation_tokens:rate"), "{{pool_id}} {{model_id}}"}})))
}
