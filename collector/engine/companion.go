package engine

// companion is a program that fleets run next to their servers, and that shows names
// of theirs or is taken for one of them: a router, or what measures something else. It
// is no engine: nothing is asked of it and nothing derived.
type companion struct {
	what  string
	marks []mark
}

// companions are known by what only they show: a mark of more weight than those of
// kinds where a page shows both (production-stack, services/metrics_service; smg,
// docs/reference/metrics.md; llm-d-router and the gateway API inference extension,
// pkg/epp/metrics; ai-dynamo, planner and kvbm; nixl, src/core/telemetry).
func companions() []companion {
	const router, alone = 10, 1
	begins := func(weight int, names ...string) (marks []mark) {
		for _, name := range names {
			marks = append(marks, mark{text: name, weight: weight})
		}
		return marks
	}
	return []companion{
		{"the router of vLLM's production stack", append(begins(router, "vllm:healthy_pods_total", "router_cpu_usage_percent"),
			mark{text: `vllm:num_requests_running{server="`, anywhere: true, weight: router})},
		{"the router smg, or that of SGLang it comes from", begins(router, "smg_", "sgl_router_")},
		{"vllm-router", begins(router, "vllm_router_")},
		{"the endpoint picker of an inference gateway", begins(router, "llm_d_epp_", "llm_d_router_epp_", "inference_pool_", "inference_objective_", "inference_model_", "inference_extension_")},
		{"Dynamo's planner", begins(router, "dynamo_planner_")},
		{"Dynamo's manager of KV blocks, kvbm", begins(alone, "kvbm_")},
		{"the exporter of NIXL", begins(alone, "agent_xfer_time", "agent_xfer_post_time")},
	}
}
