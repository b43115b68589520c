package dashboards

import "fmt"

// canary shows the results of the canary. It is empty for pools without one.
func canary() row {
	slowest := func(name, legend string) query {
		return query{
			"topk by (pool_id) (3, " + each("llm_server_canary_"+name) + ")",
			"{{pool_id}} / {{replica_id}} " + legend,
		}
	}
	replicas := func(name string) string {
		return fmt.Sprintf("max by (pool_id, replica_id) (llm_server_canary_%s{%s})", name, modelMatchers)
	}
	return section("Canary",
		sideBySide(8, timeline("Canary", "Whether the exporter's test request got its first token, all others and "+
			"its end in time. Red: clients see the same; the reason is on /targets; see LLMCanaryFailing in the "+
			"runbook. A gap: no request was sent. Empty: no pool has the canary on.",
			query{"bottomk(25, " + replicas("success") + ")", "{{pool_id}} / {{replica_id}}"},
			[]MappedValue{{Text: "failing", Color: "red"}, {Text: "ok", Color: "green"}}),
			graph("Canary requests by result", "Results of the requests. never_ended: all tokens arrived and the "+
				"stream stayed open; no_first_token: a hang or a long queue; http_error: the model is missing or "+
				"dead. LLMCanaryFailing in the runbook covers each.",
				request, []query{{
					rateBy("pool_id, result", "llm_server_canary_requests_total"),
					"{{pool_id}} {{result}}",
				}}, stacked),
			graph("Canary latency", "First token and whole answer of one small request, network included, for the "+
				"three slowest replicas of each pool. Only first tokens slow: a queue, or long prefills of other "+
				"requests. Only the rest slow: a large batch. One replica unlike its pool: LLMPoolSlow.",
				seconds, []query{
					slowest("time_to_first_token_seconds", "first token"),
					slowest("duration_seconds", "whole answer"),
				}),
			graph("Canary gap and tail", "Longest time between two tokens, and from the last one to the end of the "+
				"stream, for the three worst replicas of each pool. A growing tail precedes streams that never "+
				"end: check post-processing and proxies.",
				seconds, []query{slowest("inter_token_latency_max_seconds", "gap"), slowest("tail_seconds", "tail")})),
		sideBySide(8, graph("Distinct canary answers", "Different answers to the same request among replicas with "+
			"the same versions. Above 1: another engine somewhere, or unequal load; see LLMCanaryOutputsDiffer in "+
			"the runbook.",
			"none", []query{{
				"max by (pool_id) (llm_server_pool_canary_outputs{" + poolMatchers + "})",
				"{{pool_id}}",
			}}, stepLines, thresholds("green", 2.0, "orange"), thresholdLines),
			withWidth(16, table("Canary answers", "Whether each replica gave the same answer to the same request "+
				"the last ten times, with the same versions. Below 100 %: other requests in the batch, or the "+
				"model changed without a new version. No recent request: the reason is on /targets; see "+
				"LLMCanaryFailing in the runbook.",
				[][2]string{{"pool_id", "Pool"}},
				[]column{
					{"Active", "none", "sum by (pool_id) (" + eachReplica("llm_server_canary_active") + ")", nil},
					{
						"Deterministic", ratio,
						"avg by (pool_id) (" + replicas("deterministic") + ")",
						colored("orange", 1.0, "green"),
					},
					{
						"Changes", "none",
						"sum by (pool_id) (max by (pool_id, replica_id) " +
							"(increase(llm_server_canary_output_changes_total{" + modelMatchers + "}[$__range])))",
						nil,
					},
					{"Fewest tokens", "none", "min by (pool_id) (" + replicas("tokens") + ")", nil},
					{
						"Oldest request", seconds,
						"max by (pool_id) (" + replicas("age_seconds") + ")",
						colored("green", 300.0, "orange"),
					},
				}))))
}
