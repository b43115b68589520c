package dashboards

const (
	tokens  = "si:tok/s"
	ratio   = "percentunit"
	seconds = "s"
	request = "reqps"

	firstToken = "time_to_first_token_seconds"
)

// fleet is the first look at all pools.
func fleet() Dashboard {
	first := ofPoolModels("pool_id, model_id", firstToken)
	return Dashboard{
		Heading:    Heading{UID: "trtllm-fleet", Title: "LLM servers / Fleet", Description: "All pools at once: which serve, how much, how well. Start here, then follow a pool or a replica."},
		Templating: variables(),
		rows: []row{
			section("Now", sideBySide(4, fleetNow()...)),
			section("Alerts", sideBySide(6, firing())),
			section("Pools", sideBySide(7, poolTable())),
			section("Replicas",
				sideBySide(8, fleetStates(), notReady(), bars("Fullest replicas",
					"Load of the eight fullest replicas as a share of what they can serve, 0 to 1, more while requests are known to wait. Red: the replica is full; look at the pool's other replicas for imbalance, then at Capacity.",
					ratio, query{"topk(8, " + each("llm_server_saturation_ratio") + ")", "{{pool_id}} / {{replica_id}}"}, levels("green", 0.7, "yellow", 0.9, "red"), atMost(1.2), namesOnTop)),
			),
			section("Traffic",
				sideBySide(8, graph("Generated tokens",
					"Tokens of requests that ended, by pool. A fall with a steady request rate means slower generation: see Latency & SLO; a fall to zero with requests running is a stall.",
					tokens, []query{{pool("generation_tokens:rate"), "{{pool_id}} {{model_id}}"}}, stacked),
					graph("Requests",
						"Requests that ended, by pool. A sudden fall while clients still send is an outage in front of the servers; see the state of the replicas.",
						request, []query{{pool("requests:rate"), "{{pool_id}} {{model_id}}"}}, stacked)),
				sideBySide(8, graph("Queue",
					"Requests known to wait, by pool. While replicas are saturated it is a lower bound. Growing: add replicas or shed load; see Capacity.",
					"short", []query{{pool("queue_depth:sum"), "{{pool_id}} {{model_id}}"}}),
					graph("Time to first token, p95",
						"95 % of requests had their first token within this time; p95 ≤ and p95 >: not later than the first bound that the servers count, later than the last one. Above your objective: see the phases on Latency & SLO; with full replicas it is too little capacity.",
						seconds, append(first.shown("95"), promise("ttft"))),
					graph("Failed requests",
						"Share of requests that failed by the server's fault, by pool: not what clients asked wrongly or cancelled, nor what was refused for want of room. Any line above what the objective allows: find the failing replica by model and reason on Replica. Servers that do not count failures have no line.",
						ratio, []query{{notOK("pool_id, model_id", "server"), "{{pool_id}} {{model_id}}"}, allowed()}, fromOnePercent)),
			),
		},
	}
}

// fleetNow are the numbers at the top.
func fleetNow() []Panel {
	return []Panel{
		stat("Replicas serving", "Share of all replicas that serve requests. Red: a pool has lost replicas; the table below names them, the runbook section of LLMPoolDegraded says what to do.",
			ratio, query{"sum(" + serving() + ") / count(" + serving() + ")", ""}, levels("red", 0.75, "orange", 1.0, "green"), decimals(0), filled),
		stat("Alerts firing", "Alerts of the shipped rules that fire now. Red: open the Alertmanager; causes mute their symptoms there, so start with what it shows.",
			"none", query{`count(ALERTS{alertname=~"LLM.+",alertstate="firing",severity!="info"}) or 0 * count(pool:llm_server_replicas:count{` + ofPool + `})`, ""}, levels("green", 1.0, "red"), filled),
		stat("Tokens now", "Tokens a second of requests that ended, all pools. Counted when a request ends, hence bursty.",
			tokens, query{total("", pool("generation_tokens:rate")), ""}, trend),
		stat("Requests now", "Requests a second that ended at the entry models, all pools.",
			request, query{total("", pool("requests:rate")), ""}, trend),
		stat("Waiting by replica", "Requests known to wait, all pools, for each replica that serves. Red: the queue is long; see Capacity.",
			"short", query{total("", pool("queue_depth:sum")) + " / (sum(" + serving() + ") > 0)", ""}, levels("green", 4.0, "orange", 16.0, "red"), decimals(1)),
		stat("Saturated replicas", "Share of the last minutes in which executors had admitted all the requests they may, mean of all that serve; further ones wait in no metric. Red: add replicas or shed load.",
			ratio, query{
				"sum(" + pool("saturated:avg") + " * on (pool_id) group_left () pool:llm_server_replicas_serving:sum{" + ofPool + "})" +
					" / sum(0 * " + pool("saturated:avg") + " + on (pool_id) group_left () pool:llm_server_replicas_serving:sum{" + ofPool + "})", "",
			}, levels("green", 0.5, "orange", 0.8, "red"), decimals(0)),
		stat("Fullest KV cache", "Largest share of a KV cache in use. Red: requests are about to be paused there; see KV cache on Capacity.",
			ratio, query{"max(" + pool("kv_cache_utilization_ratio:max") + ")", ""}, levels("green", 0.85, "orange", 0.95, "red"), decimals(0)),
		stat("Skew", "Facts in which replicas of one pool differ: versions, config, buckets, GPUs. Red: equal requests may get unequal answers; see Versions & determinism.",
			"none", query{counted("pool_fact:llm_server_pool_skew:max{"+ofPool+"}", "> 0"), ""}, levels("green", 1.0, "red")),
	}
}

// poolTable has a line for each pool.
func poolTable() Panel {
	level, first := colored, ofPoolModels("pool_id", firstToken)
	p := table("Pools", "One line for each pool, whatever replicas are chosen. Red cells say where to look: serving and state on this dashboard, queue and saturation on Capacity, first token and errors on Latency & SLO, skew on Versions & determinism.",
		[][2]string{{"pool_id", "Pool"}},
		[]column{
			{"Replicas", "none", known(), nil},
			{"Serving", ratio, total("pool_id", serving()) + " / " + known(), level("red", 0.75, "orange", 1.0, "green")},
			{"Tokens", tokens, total("pool_id", pool("generation_tokens:rate")), nil},
			{"Requests", request, total("pool_id", pool("requests:rate")), nil},
			{"Waiting", "short", total("pool_id", pool("queue_depth:sum")), nil},
			{"Saturation", ratio, "max by (pool_id) (" + pool("saturation_ratio:avg") + ")", level("green", 0.7, "orange", 0.9, "red")},
			{"KV cache", ratio, "max by (pool_id) (" + pool("kv_cache_utilization_ratio:max") + ")", level("green", 0.85, "orange", 0.95, "red")},
			{"TTFT p95", seconds, first.quantile("0.95"), nil},
			{"p95 ≤", seconds, first.atMost("0.95"), nil},
			{"p95 >", seconds, first.beyond("0.95"), nil},
			{"TTFT mean", seconds, first.mean, nil},
			{"Duration", seconds, weighted("pool_id", "pool_id, replica_id, model_id, model, version", fromClients(ofModels("llm_server_request_duration_average_seconds")), fromClients(ofModels("llm_server_requests_per_second"))), nil},
			{"Failed", ratio, notOK("pool_id", "server"), level("green", 0.01, "orange", 0.05, "red")},
			{"Budget", ratio, "min by (pool_id) (slo:llm_server_budget_left:ratio{" + ofPools + "})", level(unknown, overspent, "red", 0.1, "orange", 0.5, "green")},
			{"Skew", "none", "count by (pool_id) (pool_fact:llm_server_pool_skew:max{" + ofPool + "} > 0) or (0 * " + known() + ")", level("green", 1.0, "red")},
		})
	return leading(p, "Pool", "/d/trtllm-latency?${datasource:queryparam}&${cluster:queryparam}&var-pool_id=${__value.raw}&${__url_time_range}")
}

// fleetStates is how many replicas are in which state.
func fleetStates() Panel {
	p := graph("Replicas by state", "How many replicas of each pool were in which state. Anything but green for longer than a start takes: the table on the right names them.",
		"none", []query{{"pool_state:llm_server_replicas:count{" + ofPool + "}", "{{pool_id}} {{state}}"}}, stacked, steps)
	for _, s := range states() {
		p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, Override{
			Matcher:    Matcher{ID: "byRegexp", Options: "/ " + s.Text + "$/"},
			Properties: []Property{{ID: "color", Value: Color{Mode: "fixed", FixedColor: s.Color}}},
		})
	}
	return p
}

// notReady names the replicas that are not ready, the worst first.
func notReady() Panel {
	number := numbered("pool_id, replica_id", "llm_server_state", states())
	p := table("Replicas that are not ready", "The 25 worst; each leads to its own dashboard. Red: the runbook section of its state, down, failing and stalled first. Empty: all replicas are ready.",
		[][2]string{{"pool_id", "Pool"}, {"replica_id", "Replica"}},
		[]column{{"State", "none", "topk(25, " + number + " != 1)", valued(states())}})
	p = empty("All replicas are ready. If Replicas serving above has no number, none is known: Prometheus does not scrape the exporter.", p)
	return sorted("State", leading(p, "Replica", "/d/"+replicaUID+"?${datasource:queryparam}&${cluster:queryparam}&var-pool_id=${__data.fields.Pool}&var-replica_id=${__value.raw}&${__url_time_range}"))
}

// firing are the alerts that fire, each with its section of the runbook.
func firing() Panel {
	p := table("Alerts", "What fires now of the shipped rules; a name leads to its section of the runbook. Start with what is critical: causes mute their symptoms in the Alertmanager, not here. Empty: nothing fires.",
		[][2]string{{"alertname", "Alert"}, {"severity", "Severity"}, {"pool_id", "Pool"}, {"replica_id", "Replica"}},
		[]column{{"", "none", `max by (severity, alertname, pool_id, replica_id) (ALERTS{alertname=~"LLM.+",alertstate="firing"})`, nil}})
	p = leading(p, "Alert", runbook+"#${__value.raw}")
	return leading(p, "Replica", "/d/"+replicaUID+"?${datasource:queryparam}&${cluster:queryparam}&var-pool_id=${__data.fields.Pool}&var-replica_id=${__value.raw}&${__url_time_range}")
}

// runbook has a section for each alert.
const runbook = "https://github.com/trtllm-exporter/trtllm_exporter/blob/main/alerts/runbook.md"
