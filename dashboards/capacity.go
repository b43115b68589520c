package dashboards

// capacity is how much more load the pools can take.
func capacity() Dashboard {
	return Dashboard{
		Heading:    Heading{UID: "trtllm-capacity", Title: "LLM servers / Capacity", Description: "How full the pools are, of what, and how many replicas the load needs."},
		Templating: variables(),
		rows: []row{
			section("Autoscaling",
				sideBySide(9, graph("Saturation signal",
					"Mean over the replicas of a pool that serve: 0 without requests, 1 when full, more while requests are known to wait. Scale on this; 0.8 is a good target. Red for minutes: add replicas by hand if the autoscaler does not.",
					ratio, []query{{pool("saturation_ratio:avg"), "{{pool_id}} {{model_id}}"}}, levels("green", 0.8, "orange", 1.0, "red"), lines),
					graph("Replicas: serving and needed",
						"Replicas that serve, routers left out, and how many the load needs at 80 % each. Needed above serving for long: scale out, or look on Fleet why new replicas do not come up.",
						"none", []query{
							{total("pool_id", "max by (pool_id, replica_id) ("+servingEngines()+")"), "{{pool_id}} serving"},
							{"ceil(" + pool("saturation_ratio:sum") + " / 0.8)", "{{pool_id}} {{model_id}} needed"},
						}, steps),
					graph("Saturated share of the time",
						"Share of the last minutes in which executors had admitted all the requests they may. Red: LLMPoolSaturated fires; further requests wait where no metric shows them.",
						ratio, []query{{pool("saturated:avg"), "{{pool_id}} {{model_id}}"}},
						levels("green", 0.5, "orange", 0.8, "red"), lines, atMost(1)))),
			section("Batch",
				sideBySide(9, graph("Running and limit", "Requests in the batches of a pool compared with the most they may hold. Near the limit: first tokens come late.",
					"short", []query{
						{pool("requests_running:sum"), "{{pool_id}} {{model_id}} running"},
						{pool("requests_limit:sum"), "{{pool_id}} {{model_id}} limit"},
					}),
					graph("Batch fill by replica", "Running requests by the limit. One full and others idle is imbalance of the load balancer: LLMPoolImbalanced in the runbook.",
						ratio, extremes(each("llm_server_requests_fill_ratio")), levels("green", 0.8, "orange", 0.95, "red"), lines, atMost(1)),
					graph("Tokens by running request", "Generated tokens a second for each running request. Falls as batches fill; far below earlier values at the same fill: see LLMReplicaSlow.",
						tokens, []query{{pool("generation_tokens:rate") + " / (" + total("pool_id, model_id", "max by (pool_id, replica_id, model_id) ("+fromEngines(ofModels("llm_server_batch_size_average"))+")") + " > 0)", "{{pool_id}} {{model_id}}"}}))),
			section("Queue",
				sideBySide(9, graph("Queue by kind", "Requests known to wait: core in Triton's queues, engine in the executor's. Core grows: too few instances of a part. Engine grows: add replicas.",
					"short", []query{{"sum by (pool_id, queue) (max by (pool_id, replica_id, model_id, queue) (" + fromClients(ofModels("llm_server_queue_requests")) + "))", "{{pool_id}} {{queue}}"}}, stacked),
					graph("Queue by replica", "One long queue next to short ones is imbalance; all long means too little capacity.",
						"short", extremes(each("llm_server_queue_depth"))),
					graph("Queue by limit", "Requests that wait for each that may run. Above the red line LLMPoolSaturated fires: add replicas or limit concurrency at the gateway.",
						ratio, []query{{pool("queue_depth:sum") + " / (" + pool("requests_limit:sum") + " > 0)", "{{pool_id}} {{model_id}}"}}, levels("green", 0.5, "red"), lines),
					graph("Refused for want of room", "Share of requests that were refused because there was no room (class overload), and those that a router refused. Any line: add replicas, or limit concurrency at the gateway. No failure of the servers: the objectives leave it out.",
						ratio, []query{
							{notOK("pool_id, model_id", "overload"), "{{pool_id}} {{model_id}} overload"},
							{rateOfClients("pool_id, replica_id, model_id", "pool_id, model_id", "llm_server_requests_rejected_total") + " / (" + pool("requests:rate") + " > 0)", "{{pool_id}} {{model_id}} refused by routers"},
						}, fromOnePercent))),
			room(),
			section("KV cache",
				sideBySide(9, graph("KV cache in use", "Share of blocks that running requests hold. Red: new requests wait although the batch has room, and running ones are paused.",
					ratio, extremes(each("llm_server_kv_cache_utilization_ratio")), levels("green", 0.85, "orange", 0.95, "red"), lines, atMost(1)),
					graph("Room for tokens", "Tokens that still fit into the KV caches of a pool. Near zero: shorter contexts, a smaller KV type, or more replicas.",
						"short", []query{
							{pool("kv_cache_free_tokens:sum"), "{{pool_id}} {{model_id}} free"},
							{pool("kv_cache_capacity_tokens:sum"), "{{pool_id}} {{model_id}} capacity"},
						}),
					graph("Paused requests", "Requests paused for lack of KV cache; their prefill is computed again. Above zero for minutes: LLMKVCachePauses in the runbook.",
						"short", extremes(each("llm_server_requests_paused")), levels("green", 1.0, "red"), lines)),
				sideBySide(9, graph("Blocks reused", "Blocks found in the KV cache instead of being computed. A fall makes prefill more expensive: did a prompt template change, or do requests spread over more replicas? Then prefer affinity by prefix.",
					"ops", []query{{rateBy("pool_id, model_id", "llm_server_kv_cache_blocks_reused_total"), "{{pool_id}} {{model_id}}"}}),
					graph("Share of blocks reused", "Of the blocks that prompts needed, in the median replica; an estimate for Triton, of tokens where servers count these. A fall: see the panel on the left.",
						ratio, []query{
							{"quantile by (pool_id, model_id) (0.5, " + each("llm_server_kv_cache_reuse_ratio") + ")", "{{pool_id}} {{model_id}} median"},
							{"quantile by (pool_id, model_id) (0.5, " + each("llm_server_kv_cache_reuse_ratio_estimate") + ")", "{{pool_id}} {{model_id}} median, estimate"},
							{"quantile by (pool_id, model_id) (0.5, " + each("llm_server_prompt_cache_hit_ratio") + ")", "{{pool_id}} {{model_id}} median, of tokens"},
						}, atMost(1)),
					graph("Prompt tokens", "Tokens a second to be prefilled. Grows without more requests: prompts became longer; room for decode shrinks.",
						tokens, []query{{pool("prompt_tokens:rate"), "{{pool_id}} {{model_id}}"}}))),
		},
	}
}

// room is how much more the engines could take on, and what keeps them from it.
func room() row {
	const series, by = "pool_id, replica_id, model_id", "pool_id, model_id"
	sum := func(name string) string {
		return total(by, "max by ("+series+") ("+fromEngines(ofModels("llm_server_"+name))+")")
	}
	return section("Room",
		sideBySide(9, graph("Room for requests", "How many more requests the engines of a pool could take on at once, by free slots and free tokens of the KV cache. Zero: further ones wait; add replicas.",
			"short", []query{{sum("headroom_requests"), "{{pool_id}} {{model_id}}"}}),
			graph("What requests wait for", "Replicas by what limits them. slots: add replicas, or a larger batch; kv_cache: shorter contexts, a smaller KV type or more replicas; prefill: reuse prefixes, chunk prompts; core_queue: more instances of a part.",
				"none", []query{{"sum by (pool_id, resource) (max by (" + series + ", resource) (" + fromEngines(ofModels("llm_server_limited_by")) + "))", "{{pool_id}} {{resource}}"}}, stacked, steps),
			graph("Hidden in Triton's executor, estimate", "Requests that wait beyond what TensorRT-LLM admits, which Triton exposes nowhere: an estimate from how long requests take. Rough while the load changes; above zero for minutes: add replicas.",
				"short", []query{{sum("queue_hidden_requests_estimate"), "{{pool_id}} {{model_id}}"}})))
}

// servingEngines are the replicas that serve, without the frontends of pools whose
// workers are scraped; a state is no model's.
func servingEngines() string {
	state := ofReplicas("llm_server_state", `state=~"ready|blind"`)
	return state(`tier!="frontend"`) + " or " + state(`tier="frontend"`) + " unless on (pool_id) " + state(`tier="worker"`)
}
