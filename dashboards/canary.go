package dashboards

import "fmt"

// canary is what the canary shows: empty for pools that have none.
func canary() row {
	one := func(name, legend string) query {
		return query{"topk by (pool_id) (3, " + each("llm_server_canary_"+name) + ")", "{{pool_id}} / {{replica_id}} " + legend}
	}
	of := func(name string) string {
		return fmt.Sprintf("max by (pool_id, replica_id) (llm_server_canary_%s{%s})", name, ofModel)
	}
	return section("Canary",
		sideBySide(8, timeline("Canary", "Whether the exporter's own small request got its first token, all others and its end in time. Red: clients see the same; the reason is on /targets. LLMCanaryFailing in the runbook. A gap: the replica got no requests; empty: no pool has the canary on.",
			query{"bottomk(25, " + of("success") + ")", "{{pool_id}} / {{replica_id}}"},
			[]Outcome{{Text: "fails", Color: "red"}, {Text: "well", Color: "green"}}),
			graph("Canary requests by result", "How the requests went. never_ended: all tokens came and the stream stayed open; no_first_token: a hang or a long queue; http_error: the model is missing or dead. LLMCanaryFailing in the runbook says what to do for each.",
				request, []query{{rateBy("pool_id, result", "llm_server_canary_requests_total"), "{{pool_id}} {{result}}"}}, stacked),
			graph("Seen by the canary", "First token and whole answer of one small request, network included, of the three slowest replicas of each pool. Only first tokens late: a queue, or long prefills of other requests; only the rest late: a large batch. One replica unlike its pool: LLMReplicaSlow.",
				seconds, []query{one("time_to_first_token_seconds", "first token"), one("duration_seconds", "whole answer")}),
			graph("Longest gap and tail", "Longest time between two tokens, and from the last one to the end of the stream, of the three worst replicas of each pool. A tail that grows comes before streams that never end: look at post-processing and at the proxies in between.",
				seconds, []query{one("inter_token_latency_max_seconds", "gap"), one("tail_seconds", "tail")})),
		sideBySide(8, graph("Distinct answers in the pool", "Different answers to the same request among replicas of equal versions. Above 1: another engine somewhere, or unequal load; LLMCanaryOutputsDiffer in the runbook.",
			"none", []query{{"max by (pool_id) (llm_server_pool_canary_outputs{" + ofPool + "})", "{{pool_id}}"}}, steps, levels("green", 2.0, "orange"), lines),
			wide(16, table("Answers", "Whether the replicas of each pool gave the same answer to the same request the last ten times, under the same versions. Below 100 %: the current batch, or the model was changed without a new version. An old request, or none at all: the reason is on /targets; LLMCanaryFailing in the runbook.",
				[][2]string{{"pool_id", "Pool"}},
				[]column{
					{"Asked", "none", "sum by (pool_id) (" + eachReplica("llm_server_canary_active") + ")", nil},
					{"Always the same", ratio, "avg by (pool_id) (" + of("deterministic") + ")", colored("orange", 1.0, "green")},
					{"Changes", "none", "sum by (pool_id) (max by (pool_id, replica_id) (increase(llm_server_canary_output_changes_total{" + ofModel + "}[$__range])))", nil},
					{"Fewest tokens", "none", "min by (pool_id) (" + of("tokens") + ")", nil},
					{"Oldest request", seconds, "max by (pool_id) (" + of("age_seconds") + ")", colored("green", 300.0, "orange")},
				}))))
}
