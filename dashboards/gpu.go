package dashboards

import "fmt"

// gpu is what GPUs do and what tokens cost.
func gpu() Dashboard {
	each := func(name string) string {
		return fmt.Sprintf("max by (pool_id, replica_id, gpu_uuid) (%s{%s})", name, ofReplica)
	}
	energy := "pool:llm_server_gpu_energy_joules:rate{" + ofPool + "}"
	byReplica := func(name string) string {
		return fmt.Sprintf("pool_replica:llm_server_gpu_%s{%s}", name, ofTarget)
	}
	produced := total("pool_id", pool("generation_tokens:rate"))
	return Dashboard{
		Heading:    Heading{UID: "trtllm-gpu", Title: "LLM servers / GPU & energy", Description: "GPUs as Triton exposes them; for trtllm-serve run the DCGM exporter next to it."},
		Templating: variables(),
		rows: []row{
			section("Now", sideBySide(4,
				stat("GPUs", "GPUs that servers expose. Fewer than before: LLMGPUMissing in the runbook.", "none", query{"count(count by (gpu_uuid) (llm_server_gpu_memory_total_bytes{" + ofReplica + "}))", ""}),
				stat("Power", "Power that all GPUs draw together.", "watt", query{"sum(pool:llm_server_gpu_power_watts:sum{" + ofPool + "})", ""}, trend),
				stat("Energy in the time shown", "Energy that all GPUs used together.", "kwatth",
					query{fmt.Sprintf("sum(sum_over_time(pool:llm_server_gpu_energy_joules:sum{%s}[$__range])) / 3.6e6", ofPool), ""}, decimals(1)),
				stat("Energy per token", "Of generated tokens, all pools that expose both. Rises at low load and with lost optimisations.", "joule",
					query{"sum(" + energy + " and on (pool_id) " + produced + ") / (sum(" + produced + " and on (pool_id) " + energy + ") > 0)", ""}, decimals(2)),
				stat("Idle GPUs", "GPUs used less than 5 %. Red with requests running: LLMGPUIdle in the runbook; without: fewer replicas would do.", "none",
					query{counted(each("llm_server_gpu_utilization_ratio"), "< 0.05"), ""}, levels("green", 1.0, "orange")))),
			section("Use",
				sideBySide(9, graph("GPU use", "Share of time that something ran, mean of the GPUs of a replica: of each pool the highest, the median and the lowest. Near 1 is normal for serving and no reason for an alert.",
					ratio, extremes(byReplica("utilization_ratio:avg")), atMost(1)),
					graph("Least used GPU", "Of each replica the GPU that ran least; shown are the five lowest replicas of each pool. Near 0 next to busy ones: a hung rank; LLMGPUIdle in the runbook.",
						ratio, []query{{"bottomk by (pool_id) (5, " + byReplica("utilization_ratio:min") + ")", "{{pool_id}} / {{replica_id}}"}}, atMost(1)),
					graph("GPU memory in use", "The engine takes its KV cache at start, so a high level is normal. Growth after the start is a leak, or another process.",
						ratio, extremes(byReplica("memory_ratio:max")), atMost(1), levels("green", 0.99, "red"), lines))),
			section("Power and energy",
				sideBySide(9, graph("Power by limit", "Power drawn by the limit of the GPU. At 1 it is throttled by power: clocks fall, time per token rises; raise the limit or lower the batch.",
					ratio, extremes(byReplica("power_ratio:max")), levels("green", 0.98, "red"), lines),
					graph("Power by pool", "Power of all GPUs of a pool. High with few tokens: see energy per token.",
						"watt", []query{{"pool:llm_server_gpu_power_watts:sum{" + ofPool + "}", "{{pool_id}}"}}, stacked),
					graph("Energy per generated token", "By pool. Rises: low batch fill, long prompts for few tokens, throttling, or a lost optimisation.",
						"joule", []query{{energy + " / (" + produced + " > 0)", "{{pool_id}}"}})),
				sideBySide(9, graph("Energy per token by replica", "From the exporter's window. One replica above its pool: less load, or throttled.",
					"joule", extremes(eachReplica("llm_server_energy_joules_per_token"))),
					graph("Tokens by GPU-second", "Generated tokens for each second of each GPU: what you get for the cost. Falls: see batch fill on Capacity.",
						"si:tok", extremes(eachReplica("llm_server_generation_tokens_per_gpu_second"))))),
		},
	}
}
