package dashboards

import "fmt"

func gpu() Dashboard {
	byGPU := func(name string) string {
		return fmt.Sprintf("max by (pool_id, replica_id, gpu_uuid) (%s{%s})", name, replicaMatchers)
	}
	energy := "pool:llm_server_gpu_energy_joules:rate{" + poolMatchers + "}"
	byReplica := func(name string) string {
		return fmt.Sprintf("pool_replica:llm_server_gpu_%s{%s}", name, targetMatchers)
	}
	produced := total("pool_id", pool("generation_tokens:rate"))
	return Dashboard{
		UID: "trtllm-gpu", Title: "LLM servers / GPU & energy",
		Description: "How busy GPUs are, and how much energy a token takes. Only Triton exposes them; for other servers " +
			"run dcgm-exporter.",
		Templating: variables(),
		rows: []row{
			section("Now", sideBySide(4,
				stat("GPUs", "GPUs that servers expose. Fewer than before: see LLMGPUMissing in "+
					"the runbook.", "none", query{
					"count(count by (gpu_uuid) (llm_server_gpu_memory_total_bytes{" + replicaMatchers + "}))",
					"",
				}),
				stat("Power", "Total power of all GPUs.", "watt", query{
					"sum(pool:llm_server_gpu_power_watts:sum{" + poolMatchers + "})",
					"",
				}, sparkline),
				stat("Energy in time range", "Total energy of all GPUs.", "kwatth",
					query{
						fmt.Sprintf(
							"sum(sum_over_time(pool:llm_server_gpu_energy_joules:sum{%s}[$__range])) / 3.6e6",
							poolMatchers,
						),
						"",
					}, decimals(1)),
				stat("Energy per token", "Energy per generated token, over all pools that expose both. Rises at "+
					"low load and with lost optimizations.", "joule",
					query{
						"sum(" + energy + " and on (pool_id) " + produced + ") / " +
							"(sum(" + produced + " and on (pool_id) " + energy + ") > 0)",
						"",
					}, decimals(2)),
				stat("Idle GPUs", "GPUs with a utilization below 5 %. With requests running: a rank hangs, or "+
					"the gauge is frozen. Without: fewer replicas are enough.", "none",
					query{
						countMatching(byGPU("llm_server_gpu_utilization_ratio"), "< 0.05"),
						"",
					}, thresholds("green", 1.0, "orange")))),
			section("Utilization",
				sideBySide(9, graph("GPU utilization", "Share of time with a kernel running, averaged over the "+
					"GPUs of a replica: highest, median and lowest of each pool. Near 1 is normal for serving.",
					ratio, extremes(byReplica("utilization_ratio:avg")), atMost(1)),
					graph("Least utilized GPU", "The least utilized GPU of a replica, for the five lowest replicas "+
						"of each pool. Near 0 next to busy ones: a hung rank.",
						ratio, []query{{
							"bottomk by (pool_id) (5, " + byReplica("utilization_ratio:min") + ")",
							"{{pool_id}} / {{replica_id}}",
						}}, atMost(1)),
					graph(
						"GPU memory utilization",
						"The engine allocates its KV cache at start, so a high level "+
							"is normal. Growth after the start is a leak or another process.",
						ratio,
						extremes(byReplica("memory_ratio:max")),
						atMost(1),
						thresholds("green", 0.99, "red"),
						thresholdLines,
					))),
			section("Power and energy",
				sideBySide(9, graph("Power relative to limit", "At 1 the GPU is throttled: clocks drop and time "+
					"per token rises; raise the limit or lower the batch.",
					ratio, extremes(byReplica("power_ratio:max")), thresholds("green", 0.98, "red"), thresholdLines),
					graph("Power by pool", "Total power of the GPUs of a pool. High with few tokens: see "+
						"energy per token.",
						"watt", []query{{
							"pool:llm_server_gpu_power_watts:sum{" + poolMatchers + "}",
							"{{pool_id}}",
						}}, stacked),
					graph("Energy per generated token", "By pool. Rising: low batch fill, long prompts for few "+
						"tokens, throttling, or a lost optimization.",
						"joule", []query{{energy + " / (" + produced + " > 0)", "{{pool_id}}"}})),
				sideBySide(9, graph("Energy per token by replica", "Over the exporter's window. One replica above "+
					"its pool: less load, or throttling.",
					"joule", extremes(eachReplica("llm_server_energy_joules_per_token"))),
					graph("Tokens per GPU-second", "Generated tokens per second and GPU: what you get for the "+
						"cost. Dropping: see batch fill on Capacity.",
						"si:tok", extremes(eachReplica("llm_server_generation_tokens_per_gpu_second"))))),
		},
	}
}
