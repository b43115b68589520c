package dashboards

import "fmt"

func capacity() Dashboard {
	rejected := sumBy("pool_id, model_id", ofEngine, fromClients(func(tier string) string {
		return rate("llm_server_requests_rejected_total", tier)
	}))
	return Dashboard{
		UID: "trtllm-capacity", Title: "LLM servers / Capacity",
		Description: "How full the pools are, what limits them, and how many replicas the load needs.",
		Templating:  variables(),
		rows: []row{
			section("Autoscaling",
				sideBySide(9, graph("Saturation signal",
					"Mean over the serving replicas of a pool: 0 without requests, 1 when full, above 1 while "+
						"requests wait. Scale on this; 0.8 is a good target. Red for minutes: add replicas by hand "+
						"if the autoscaler does not.",
					ratio, []query{{
						pool("saturation_ratio:avg"), "{{pool_id}} {{model_id}}",
					}}, saturation(), thresholdLines),
					graph("Serving and needed replicas",
						"Serving replicas, routers excluded, and how many the load needs at 80 % each. Needed "+
							"above serving for long: scale out, or check on Fleet why new replicas do not start.",
						"none", []query{
							{
								total("pool_id", "max by (pool_id, replica_id) ("+servingEngines()+")"),
								"{{pool_id}} serving",
							},
							{"ceil(" + pool("saturation_ratio:sum") + " / 0.8)", "{{pool_id}} {{model_id}} needed"},
						}, stepLines),
					graph("Time saturated",
						"Share of the last minutes in which executors had no free slot. Red: LLMPoolSaturated "+
							"fires; no metric shows what waits beyond that.",
						ratio, []query{{pool("saturated:avg"), "{{pool_id}} {{model_id}}"}},
						thresholds("green", 0.5, "orange", 0.8, "red"), thresholdLines, atMost(1)))),
			section("Batch",
				sideBySide(9, graph("Running requests and limit", "Requests in the batches of a pool, those that "+
					"wait, and how many the servers admit at once. Together near the limit: first tokens are slow; "+
					"what waits may be inside.",
					"short", []query{
						{pool("requests_running:sum"), "{{pool_id}} {{model_id}} running"},
						{pool("queue_depth:sum"), "{{pool_id}} {{model_id}} waiting"},
						{pool("requests_limit:sum"), "{{pool_id}} {{model_id}} limit"},
					}),
					graph(
						"Batch fill by replica",
						"Running requests relative to the limit. One full and others "+
							"idle: the load balancer ignores load.",
						ratio,
						extremes(each("llm_server_requests_fill_ratio")),
						thresholds("green", 0.8, "orange", 0.95, "red"),
						thresholdLines,
						atMost(1),
					),
					graph("Tokens per running request", "Generated tokens per second and running request. Drops as "+
						"batches fill; far below earlier values at the same fill: see LLMPoolSlow.",
						tokens, []query{{
							pool("generation_tokens:rate") + " / (" + sumBy(
								"pool_id, model_id",
								ofEngine,
								fromEngines(modelFamily("llm_server_batch_size_average")),
							) + " > 0)",
							"{{pool_id}} {{model_id}}",
						}}))),
			section("Queue",
				sideBySide(9, graph("Queue by kind", "Known waiting requests: core in Triton's queues, engine in "+
					"the executor's. Core grows: too few instances of a part. Engine grows: add replicas.",
					"short", []query{{
						"sum by (pool_id, queue) (max by (pool_id, replica_id, " +
							"model_id, queue) (" + fromClients(modelFamily("llm_server_queue_requests")) + "))",
						"{{pool_id}} {{queue}}",
					}}, stacked),
					graph("Queue by replica", "One long queue next to short ones: imbalance. All long: too "+
						"little capacity.",
						"short", extremes(each("llm_server_queue_depth"))),
					graph("Queue relative to limit", "Waiting requests per request that may run. Above the red "+
						"line LLMPoolSaturated fires: add replicas or limit concurrency at the gateway.",
						ratio, []query{{
							pool("queue_depth:sum") + " / (" + pool("requests_limit:sum") + " > 0)",
							"{{pool_id}} {{model_id}}",
						}}, thresholds("green", 0.5, "red"), thresholdLines),
					graph("Rejected (overload)", "Share of requests rejected for lack of capacity (class "+
						"overload), and by routers. Above zero: add replicas, or limit concurrency at the gateway. "+
						"Objectives do not count these as failures.",
						ratio, []query{
							{classRatio("pool_id, model_id", "overload"), "{{pool_id}} {{model_id}} overload"},
							{
								rejected + " / (" + pool("requests:rate") + " > 0)",
								"{{pool_id}} {{model_id}} rejected by routers",
							},
						}, softMaxOnePercent))),
			headroom(),
			section("KV cache",
				sideBySide(9, graph(
					"KV cache utilization",
					"Share of blocks held by running requests. Red: new "+
						"requests wait although the batch has free slots, and running ones are paused.",
					ratio,
					extremes(each("llm_server_kv_cache_utilization_ratio")),
					thresholds("green", 0.85, "orange", 0.95, "red"),
					thresholdLines,
					atMost(1),
				),
					graph("Free KV cache tokens", "Tokens that still fit into the KV caches of a pool. Near zero: "+
						"shorten contexts, use a smaller KV type, or add replicas.",
						"short", []query{
							{ofEngines("llm_server_kv_cache_free_tokens"), "{{pool_id}} {{model_id}} free"},
							{ofEngines("llm_server_kv_cache_capacity_tokens"), "{{pool_id}} {{model_id}} capacity"},
						}),
					graph(
						"Paused requests",
						"Requests paused for lack of KV cache; their prefill is recomputed. "+
							"Above zero for minutes: the batch limit is too high for the KV cache.",
						"short",
						extremes(each("llm_server_requests_paused")),
						thresholds("green", 1.0, "red"),
						thresholdLines,
					)),
				sideBySide(9, graph("Blocks reused", "Blocks found in the KV cache instead of being computed. A "+
					"drop makes prefill more expensive: did a prompt template change, or are requests spread over "+
					"more replicas? Then use prefix affinity.",
					"ops", []query{{
						rateBy("pool_id, model_id", "llm_server_kv_cache_blocks_reused_total"),
						"{{pool_id}} {{model_id}}",
					}}),
					graph("Block reuse ratio", "Reused share of the blocks that prompts needed, median replica; "+
						"estimated for Triton, by tokens where servers count those. A drop: see the panel on the left.",
						ratio, []query{
							{median("kv_cache_reuse_ratio"), "{{pool_id}} {{model_id}} median"},
							{median("kv_cache_reuse_ratio_estimate"), "{{pool_id}} {{model_id}} median, estimate"},
							{median("prompt_cache_hit_ratio"), "{{pool_id}} {{model_id}} median, of tokens"},
						}, atMost(1)),
					graph("Prompt tokens", "Prompt tokens per second, also those found in the KV cache. "+
						"Growing without more requests: prompts "+
						"became longer, which slows decoding.",
						tokens, []query{{pool("prompt_tokens:rate"), "{{pool_id}} {{model_id}}"}}))),
			cost(),
		},
	}
}

func headroom() row {
	const by = "pool_id, model_id"
	sum := func(name string) string {
		return sumBy(by, ofEngine, fromEngines(modelFamily("llm_server_"+name)))
	}
	return section("Headroom",
		sideBySide(9, graph("Request headroom", "How many more requests the engines of a pool can run at once, by "+
			"free slots and free KV cache tokens. Zero: further requests wait; add replicas.",
			"short", []query{{sum("headroom_requests"), "{{pool_id}} {{model_id}}"}}),
			graph("Limiting resource", "Replicas by what their requests wait for. slots: add replicas, or a larger "+
				"batch; kv_cache: shorter contexts, a smaller KV type or more replicas; prefill: reuse prefixes, "+
				"chunk prompts; core_queue: more instances of a part.",
				"none", []query{{
					total("pool_id, resource", "pool_model_resource:llm_server_limited_by:sum{"+poolModelMatchers+"}"),
					"{{pool_id}} {{resource}}",
				}}, stacked, stepLines),
			graph("Hidden queue of Triton's executor (estimate)", "Requests waiting beyond what TensorRT-LLM "+
				"admits, which Triton does not expose; estimated from request durations. Rough while the load "+
				"changes; above zero for minutes: add replicas.",
				"short", []query{{sum("queue_hidden_requests_estimate"), "{{pool_id}} {{model_id}}"}})))
}

// cost is about what pools cost, as far as it is declared.
func cost() row {
	declared := func(rule string) string { return "pool:llm_server_" + rule + "{" + poolMatchers + "}" }
	return section("Cost",
		sideBySide(9, graph("Cost per hour", "What the replicas of a pool cost, as declared by key cost of the "+
			"configuration, whether they work or not.",
			"none", []query{{declared("cost_per_hour:sum"), "{{pool_id}} {{currency}}"}}, stepLines),
			graph("Cost per million generated tokens", "Of the last hour and the last day, idle replicas included. "+
				"It rises as load falls: scale in, or give the pool more to do.",
				"none", []query{
					{declared("cost_per_million_tokens:1h"), "{{pool_id}} {{currency}} hour"},
					{declared("cost_per_million_tokens:1d"), "{{pool_id}} {{currency}} day"},
				}),
			graph("Idle replicas", "Share of the replicas in which nothing runs, those that are down included. "+
				"They cost as much as the others: scale in.",
				ratio, []query{{declared("replicas_idle:ratio"), "{{pool_id}}"}}, atMost(1))))
}

// servingEngines selects serving replicas, except frontends of pools whose workers are scraped.
func servingEngines() string {
	state := func(tier string) string {
		return fmt.Sprintf(`llm_server_serving{%s,%s}`, replicaMatchers, tier)
	}
	others, frontends, workers := state(`tier!="frontend"`), state(`tier="frontend"`), state(`tier="worker"`)
	return others + " or " + frontends + " unless on (pool_id) " + workers
}
