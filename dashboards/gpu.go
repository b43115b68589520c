package dashboards

import "fmt"

// gpu is what GPUs do and what tokens cost.
func gpu() Dashboard {
	each := func(name string) string {
		return fmt.Sprintf("max by (pool_id, replica_id, gpu_uuid) (%s{%s})", name, ofReplica)
	}
	energy := fmt.Sprintf("sum by (pool_id) (max by (pool_id, replica_id, gpu_uuid) (rate(llm_server_gpu_energy_joules_total{%s}[$__rate_interval])))", ofReplica)
	produced := total("pool_id", pool("generation_tokens:rate"))
	name := "{{pool_id}} / {{replica_id}} {{gpu_uuid}}"
	return Dashboard{
		UID: "trtllm-gpu", Title: "LLM servers / GPU & energy",
		Description: "GPUs as Triton exposes them; for trtllm-serve run the DCGM exporter next to it.",
		Templating:  variables(),
		rows: []row{
			section("Now", sideBySide(4,
				stat("GPUs", "GPUs that servers expose. Fewer than before: LLMGPUMissing in the runbook.", "none", query{"count(" + each("llm_server_gpu_memory_total_bytes") + ")", ""}),
				stat("Power", "Power that all GPUs draw together.", "watt", query{"sum(" + each("llm_server_gpu_power_watts") + ")", ""}, trend),
				stat("Energy in the time shown", "Energy that all GPUs used together.", "kwatth",
					query{fmt.Sprintf("sum(max by (pool_id, replica_id, gpu_uuid) (increase(llm_server_gpu_energy_joules_total{%s}[$__range]))) / 3.6e6", ofReplica), ""}, decimals(1)),
				stat("Energy per token", "Of generated tokens, all pools that expose both. Rises at low load and with lost optimisations; LLMEnergyPerTokenHigh in the runbook.", "joule",
					query{"sum(" + energy + ") / (sum(" + produced + " and on (pool_id) " + energy + ") > 0)", ""}, decimals(2)),
				stat("Idle GPUs", "GPUs used less than 5 %. Red with requests running: LLMGPUIdle in the runbook; without: fewer replicas would do.", "none",
					query{"count(" + each("llm_server_gpu_utilization_ratio") + " < 0.05) or vector(0)", ""}, levels("green", 1.0, "orange")))),
			section("Use",
				sideBySide(9, graph("GPU use", "Share of time that something ran. Near 1 is normal for serving and no reason for an alert. Near 0 at one GPU of a replica: a hung rank.",
					ratio, []query{{each("llm_server_gpu_utilization_ratio"), name}}, atMost(1)),
					graph("GPU memory in use", "The engine takes its KV cache at start, so a high level is normal. Growth after the start is a leak, or another process.",
						ratio, []query{{each("llm_server_gpu_memory_used_bytes") + " / " + each("llm_server_gpu_memory_total_bytes"), name}}, atMost(1), levels("green", 0.99, "red"), lines))),
			section("Power and energy",
				sideBySide(9, graph("Power by limit", "Power drawn by the limit of the GPU. At 1 it is throttled by power: clocks fall, time per token rises; raise the limit or lower the batch.",
					ratio, []query{{each("llm_server_gpu_power_watts") + " / " + each("llm_server_gpu_power_limit_watts"), name}}, levels("green", 0.98, "red"), lines),
					graph("Power by pool", "Power of all GPUs of a pool. High with few tokens: see energy per token.",
						"watt", []query{{"sum by (pool_id) (" + each("llm_server_gpu_power_watts") + ")", "{{pool_id}}"}}, stacked),
					graph("Energy per generated token", "By pool. Rises: low batch fill, long prompts for few tokens, throttling, or a lost optimisation.",
						"joule", []query{{energy + " / (" + produced + " > 0)", "{{pool_id}}"}})),
				sideBySide(9, graph("Energy per token by replica", "From the exporter's window. One replica above its pool: less load, or throttled.",
					"joule", []query{{eachReplica("llm_server_energy_joules_per_token"), "{{pool_id}} / {{replica_id}}"}}),
					graph("Tokens by GPU-second", "Generated tokens for each second of each GPU: what you get for the cost. Falls: see batch fill on Capacity.",
						"si:tok", []query{{eachReplica("llm_server_generation_tokens_per_gpu_second"), "{{pool_id}} / {{replica_id}}"}}))),
		},
	}
}
