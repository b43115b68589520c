package dashboards

const (
	tokens  = "si:tok/s"
	ratio   = "percentunit"
	seconds = "s"
	request = "reqps"

	firstToken = "time_to_first_token_seconds"
)

func fleet() Dashboard {
	first := poolHistogram("pool_id, model_id", firstToken)
	return Dashboard{
		UID: "trtllm-fleet", Title: "LLM servers / Fleet",
		Description: "Which pools serve, how much and how well. Start here, then follow a pool or a replica.",
		Templating:  variables(),
		rows: []row{
			section("Now", sideBySide(4,
				stat("Replicas serving", "Share of replicas that serve requests. Red: a pool has lost replicas; "+
					"the table below lists them. See LLMPoolDegraded in the runbook.",
					ratio, query{
						"sum(" + serving() + ") / count(" + serving() + ")",
						"",
					}, thresholds("red", 0.75, "orange", 1.0, "green"), decimals(0), coloredBackground),
				stat("Alerts firing", "Firing alerts of the shipped rules, without those that only inform. Red: "+
					"open Alertmanager, where causes mute their symptoms.",
					"none", query{
						`count(ALERTS{alertname=~"LLM.+",alertstate="firing",severity!="info"}) or 0 * count(pool:llm_server_replicas:count{` + poolMatchers + `})`,
						"",
					}, thresholds("green", 1.0, "red"), coloredBackground),
				stat("Generated tokens/s", "Generated tokens, all pools. Bursty where servers count them when a "+
					"request ends, such as Triton.",
					tokens, query{total("", pool("generation_tokens:rate")), ""}, sparkline),
				stat("Requests/s", "Completed requests of the entry models, all pools.",
					request, query{total("", pool("requests:rate")), ""}, sparkline),
				stat("Waiting per replica", "Known waiting requests per serving replica, all pools. Red: the queue "+
					"is long; see Capacity.",
					"short", query{
						total("", pool("queue_depth:sum")) + " / (sum(" + serving() + ") > 0)",
						"",
					}, thresholds("green", 4.0, "orange", 16.0, "red"), decimals(1)),
				stat("Saturated replicas", "Serving replicas that are full now, as the status page counts them; "+
					"no metric shows what waits beyond that. Orange: if it lasts, add replicas or shed load; see "+
					"Time saturated on Capacity.",
					"none", query{
						countMatching(eachReplica("llm_server_saturated"), "> 0 and on (pool_id, replica_id) "+serving()+" == 1"),
						"",
					}, thresholds("green", 1.0, "orange"), decimals(0)),
				stat("Fullest KV cache", "Highest KV cache utilization of a replica. Red: it will soon pause "+
					"requests; see KV cache on Capacity.",
					ratio, query{
						"max(" + pool("kv_cache_utilization_ratio:max") + ")",
						"",
					}, thresholds("green", 0.85, "orange", 0.95, "red"), decimals(0)),
				stat("Skew", "Facts in which replicas of one pool differ: versions, config, buckets, GPUs. Red: "+
					"identical requests may get different answers; see Versions & determinism. Pools that differ on "+
					"purpose (mixed_pools of the rules) are left out.",
					"none", query{
						countMatching(skew(), "> 0"),
						"",
					}, thresholds("green", 1.0, "red"))),
				sideBySide(6, firing()),
				sideBySide(7, poolTable())),
			section("Replicas",
				sideBySide(8, fleetStates(), notReady(), bars("Fullest replicas",
					"Load of the eight fullest replicas relative to what they can serve; above 1 requests are "+
						"waiting. Red: the replica is full; compare the other replicas of its pool, then see Capacity.",
					ratio, query{
						"topk(8, " + each("llm_server_saturation_ratio") + ")",
						"{{pool_id}} / {{replica_id}}",
					}, saturation(), atMost(1.2), namesOnTop)),
			),
			section("Traffic",
				sideBySide(8, graph("Generated tokens",
					"Generated tokens, by pool; bursty where servers count them when a request ends. A drop "+
						"with a steady request rate means slower "+
						"generation: see Latency & SLO. A drop to zero with requests running is a stall.",
					tokens, []query{{pool("generation_tokens:rate"), "{{pool_id}} {{model_id}}"}}, stacked),
					graph("Requests",
						"Completed requests, by pool. A sudden drop while clients keep sending is an outage in "+
							"front of the servers; check the states of the replicas.",
						request, []query{{pool("requests:rate"), "{{pool_id}} {{model_id}}"}}, stacked)),
				sideBySide(8, graph("Queue",
					"Known waiting requests, by pool; a lower bound while replicas are saturated. Growing: add "+
						"replicas or shed load; see Capacity.",
					"short", []query{{pool("queue_depth:sum"), "{{pool_id}} {{model_id}}"}}),
					graph("Time to first token, p95",
						"95 % of requests had their first token within this time. p95 ≤ is the lowest histogram "+
							"bound, p95 > the highest one. Above your objective: see the phases on Latency & SLO; "+
							"with full replicas, add capacity.",
						seconds, append(first.queries("95"), objectiveLine("ttft"))),
					graph("Failed requests",
						"Share of requests with server errors, by pool; client errors, cancellations and "+
							"rejections do not count. Above what the objective allows: find the failing replica by "+
							"model and reason on Replica. Servers that do not count failures have no line.",
						ratio, []query{
							{classRatio("pool_id, model_id", "server"), "{{pool_id}} {{model_id}}"},
							allowedErrors(),
						}, softMaxOnePercent)),
			),
		},
	}
}

func poolTable() Panel {
	level, first := colored, poolHistogram("pool_id", firstToken)
	// Thresholds are the same for all rows.
	allowed := "(max by (pool_id) (" + allowedErrors().expr + ") or " +
		"0 * pool:llm_server_replicas:count{" + poolMatchers + "} + 0.01)"
	p := table("Pools", "One row per pool, regardless of the selected replicas. For red cells: serving on this "+
		"dashboard, queue and saturation on Capacity, first token and errors on Latency & SLO, skew on Versions & "+
		"determinism. Of allowed: failed requests relative to what the objective availability allows, or to 1 % "+
		"without one.",
		[][2]string{{"pool_id", "Pool"}},
		[]column{
			{"Replicas", "none", replicaCount(), nil},
			{
				"Serving", ratio,
				total("pool_id", serving()) + " / " + replicaCount(),
				level("red", 0.75, "orange", 1.0, "green"),
			},
			{"Tokens/s", "short", total("pool_id", pool("generation_tokens:rate")), nil},
			{"Requests/s", "short", total("pool_id", pool("requests:rate")), nil},
			{"Waiting", "short", total("pool_id", pool("queue_depth:sum")), nil},
			{
				"Saturation", ratio,
				"max by (pool_id) (" + pool("saturation_ratio:avg") + ")",
				cells(saturation()),
			},
			{
				"KV cache", ratio,
				"max by (pool_id) (" + pool("kv_cache_utilization_ratio:max") + ")",
				level("green", 0.85, "orange", 0.95, "red"),
			},
			{"TTFT p95", seconds, first.quantile("0.95"), nil},
			{"p95 ≤", seconds, first.atMost("0.95"), nil},
			{"p95 >", seconds, first.lastBound("0.95"), nil},
			{"TTFT mean", seconds, first.mean, nil},
			{
				"Duration", seconds,
				meanDuration("pool_id") + " or " + poolHistogram("pool_id", "request_duration_seconds").mean,
				nil,
			},
			{"Failed", ratio, classRatio("pool_id", "server"), nil},
			{
				"Of allowed", ratio, classRatio("pool_id", "server") + " / " + allowed,
				level("green", 1.0, "orange", 5.0, "red"),
			},
			{
				"Budget", ratio,
				"min by (pool_id) (slo:llm_server_budget_left:ratio{" + poolModelMatchers + "})",
				level(unknown, noBudget, "red", 0.1, "orange", 0.5, "green"),
			},
			{
				"Skew", "none",
				"count by (pool_id) (" + skew() + " > 0) or 0 * max by (pool_id) (" + skew() + ")",
				level("green", 1.0, "red"),
			},
		})
	return linkColumn(p, "Pool", toPool, "trtllm-latency", "var-pool_id=${__value.raw}")
}

// skew returns by how many values the replicas of a pool differ, for pools that should not.
func skew() string { return "pool_fact:llm_server_pool_skew:max{" + poolMatchers + "}" }

func fleetStates() Panel {
	p := graph("Replicas by state", "Replicas of each pool by state. Not green for longer than a start takes: see "+
		"the table on the right.",
		"none", []query{{
			"pool_state:llm_server_replicas:count{" + poolMatchers + "}",
			"{{pool_id}} {{state}}",
		}}, stacked, stepLines)
	for _, s := range states() {
		p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, override("byRegexp", "/ "+s.Text+"$/", Property{
			"color",
			Options{"mode": "fixed", "fixedColor": s.Color},
		}))
	}
	return p
}

// notReady lists the replicas that are not ready, worst first.
func notReady() Panel {
	number := stateNumber("pool_id, replica_id", "llm_server_state", states())
	p := table("Replicas not ready", "The 25 worst that no exporter sees ready, each with a link to its dashboard. Red: "+
		"see the runbook; down, failing and stalled first. Empty: all replicas are ready.",
		[][2]string{{"pool_id", "Pool"}, {"replica_id", "Replica"}},
		[]column{{
			"State", "none", "topk(25, " + number + " != 1)",
			cells(thresholds(unknown), valueMappings(states())),
		}})
	p.FieldConfig.Defaults.NoValue = "All replicas are ready. If Replicas serving above has no value, Prometheus " +
		"does not scrape the exporter."
	return sortedBy("State", linkReplicaColumn(p))
}

// firing lists firing alerts.
func firing() Panel {
	p := table("Alerts", "Firing alerts of the shipped rules, also those that only inform. Start with critical ones: "+
		"causes mute their symptoms in Alertmanager, not here. Empty: nothing fires.",
		[][2]string{{"alertname", "Alert"}, {"severity", "Severity"}, {"pool_id", "Pool"}, {"replica_id", "Replica"}},
		[]column{{
			"", "none",
			`max by (severity, alertname, pool_id, replica_id) (ALERTS{alertname=~"LLM.+",alertstate="firing"})`,
			nil,
		}})
	p = linkColumn(p, "Alert", toFleet, "trtllm-fleet", "var-pool_id=${__data.fields.Pool}")
	return linkReplicaColumn(p)
}
