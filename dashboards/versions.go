package dashboards

import "fmt"

// modelVersions compares versions of entry models; a Triton may serve several at once.
func modelVersions() row {
	by := "pool_id, model_id, model, version"
	const pair = "pool_id, replica_id, model, version, than"
	difference := func(name string) []query {
		bound := func(bound string) string { return maxBy(pair, name, modelMatchers, `bound="`+bound+`"`) }
		worst := "topk by (pool_id) (3, " + bound("lower") + ")"
		const legend = "{{pool_id}} {{replica_id}} {{model}} {{version}} - {{than}} "
		return []query{
			{worst, legend + "lower"},
			{bound("upper") + " and on (" + pair + ") " + worst, legend + "upper"},
		}
	}
	const reading = " The three worst pairs of each pool. Both lines of a pair above 0: the newer version is " +
		"worse; both below: better; 0 in between: too few requests to tell. Empty: no model has two versions."
	const legend = "{{pool_id}} {{model}} {{version}}"
	return section("Versions side by side",
		sideBySide(8, graph("Requests by version", "Completed requests per second, by version of the entry model. "+
			"Two lines for a model: an A/B test or a rollout within the server.",
			"reqps", []query{{
				fmt.Sprintf(
					"sum by (%s) (avg by (replica_id, %s) (%s))",
					by,
					by,
					fromClients(modelFamily("llm_server_requests_per_second")),
				),
				legend,
			}}),
			graph("Mean duration by version", "Mean duration of successful requests, weighted by the requests of "+
				"each replica. The newer version stays above the other: see the difference below.",
				"s", []query{{meanDuration(by), legend}}),
			graph("Tokens by version", "Generated tokens per second, by version of the model that generates them.",
				"none", []query{{
					"sum by (" + by + ") (pool_version:llm_server_model_generation_tokens:rate{" + poolModelMatchers + "})",
					legend,
				}})),
		sideBySide(8, graph("Difference in failed requests", "95 % confidence bounds of the difference in the "+
			"share of server errors between a version and the previous one."+reading,
			ratio, difference("llm_server_version_error_ratio_difference"), allowNegative),
			graph("Difference in mean duration", "95 % confidence bounds of the difference in mean request "+
				"duration between a version and the previous one."+reading,
				"s", difference("llm_server_version_duration_difference_seconds"), allowNegative),
			graph("Difference in time to first token", "95 % confidence bounds of the difference in mean time to "+
				"first token between a version and the previous one."+reading,
				"s", difference("llm_server_version_time_to_first_token_difference_seconds"), allowNegative),
			table("Worse than the previous version", "Whether the newer of two versions is worse, and in what, "+
				"with 95 % confidence over the exporter's window. Yes for minutes: undo the rollout. Empty: no "+
				"model has two versions.",
				[][2]string{
					{"pool_id", "Pool"},
					{"replica_id", "Replica"},
					{"model", "Model"},
					{"version", "Version"},
					{"than", "Than"},
					{"by", "In"},
				},
				[]column{{
					"Worse", "none",
					fmt.Sprintf("max by (pool_id, replica_id, model, version, than, by) "+
						"(llm_server_version_worse{%s})", modelMatchers),
					cells(thresholds(unknown), valueMappings([]MappedValue{
						{Text: "no", Color: "text"},
						{Text: "yes", Color: "red"},
					})),
				}})))
}

func allowNegative(p *Panel) { p.FieldConfig.Defaults.Min = nil }

func versions() Dashboard {
	return Dashboard{
		UID: "trtllm-versions", Title: "LLM servers / Versions & determinism",
		Description: "Which versions and configs run, where replicas of a pool differ, and whether identical " +
			"requests get identical answers.",
		Templating: variables(),
		rows: []row{
			section("Now", sideBySide(4,
				stat("Skewed facts", "Facts in which replicas of one pool differ; the table below lists them. Red: "+
					"finish or undo the rollout; see LLMPoolSkew in the runbook.",
					"none", query{
						countMatching(skew(), "> 0"),
						"",
					}, thresholds("green", 1.0, "red"), coloredBackground),
				stat("Unmet expectations", "Facts that differ from the expect block of the pool. Red: see "+
					"LLMExpectationMismatch in the runbook.",
					"none", query{
						countMatching(
							maxBy("pool_id, replica_id, fact", "llm_server_expectation_mismatch", replicaMatchers),
							"== 1",
						),
						"",
					}, thresholds("green", 1.0, "red"), coloredBackground),
				stat("Deterministic replicas", "Share of replicas that meet every condition of the determinism "+
					"profile. Orange matters only for pools declared deterministic.",
					ratio, query{
						"avg(min by (pool_id, replica_id) (" + maxBy(
							"pool_id, replica_id, check",
							"llm_server_determinism_profile",
							replicaMatchers,
						) + "))",
						"",
					}, thresholds("orange", 1.0, "green"), decimals(0)),
				stat("Data anomalies", "Checks that found impossible values; the table below lists them. Values "+
					"that depend on them are dropped.",
					"none", query{
						countMatching(
							maxBy("pool_id, replica_id, model_id, check", "llm_server_source_anomaly", replicaMatchers),
							"== 1",
						),
						"",
					}, thresholds("green", 1.0, "orange"), coloredBackground))),
			section("Versions",
				sideBySide(9, withWidth(15, table("Replicas", "What runs where. A different version in a pool is a "+
					"rollout that stopped halfway.",
					[][2]string{
						{"pool_id", "Pool"},
						{"replica_id", "Replica"},
						{"engine", "Engine"},
						{"engine_version", "Version"},
						{"trtllm_version", "TensorRT-LLM"},
						{"trtllm_version_source", "Source"},
					},
					[]column{{
						"", "none",
						maxBy("pool_id, replica_id, engine, engine_version, trtllm_version, "+
							"trtllm_version_source", "llm_server_info", replicaMatchers),
						nil,
					}})),
					graph("Replicas by version", "Progress of a rollout. Two versions for longer than a rollout "+
						"takes: finish or undo it.",
						"none", []query{{
							"count by (pool_id, engine_version, trtllm_version) (" + maxBy(
								"pool_id, replica_id, engine_version, trtllm_version",
								"llm_server_info",
								replicaMatchers,
							) + ")",
							"{{pool_id}} {{engine_version}} / {{trtllm_version}}",
						}}, stacked, stepLines)),
				sideBySide(9, withWidth(8, sortedBy("Other values", table("Skew by fact", "Distinct values in the pool besides "+
					"the first. Red: replicas differ; different buckets make quantiles over the pool wrong. Pools "+
					"that differ on purpose (mixed_pools of the rules) are left out.",
					[][2]string{{"pool_id", "Pool"}, {"fact", "Fact"}},
					[]column{{
						"Other values", "none",
						skew(),
						colored("green", 1.0, "red"),
					}}))),
					table("Model configs", "Short hash of each model's config, without instance names and devices. "+
						"Two hashes for one model in a pool: one config was edited.",
						[][2]string{{"pool_id", "Pool"}, {"model", "Model"}, {"sha256", "Config"}},
						[]column{{
							"Replicas", "none",
							"count by (pool_id, model, sha256) (" + maxBy(
								"pool_id, replica_id, model, sha256",
								"llm_server_model_config_hash_info",
								replicaMatchers,
							) + ")",
							[]Property{{"custom.width", 85}},
						}}),
					withWidth(7, table("Expectations", "What the expect blocks require, and how many replicas differ; /targets "+
						"lists them. Empty: no pool has an expect block.",
						[][2]string{{"pool_id", "Pool"}, {"fact", "Fact"}},
						[]column{{
							"Differ", "none",
							"sum by (pool_id, fact) (" + maxBy(
								"pool_id, replica_id, fact",
								"llm_server_expectation_mismatch",
								replicaMatchers,
							) + ")",
							colored("green", 1.0, "red"),
						}})))),
			section("Determinism and capabilities",
				sideBySide(10, table("Determinism profile", "Conditions for identical answers to identical "+
					"requests. Below 100 %: the reason is on the exporter's /targets. Without them, batching alone "+
					"changes tokens.",
					[][2]string{{"pool_id", "Pool"}, {"check", "Condition"}},
					[]column{{
						"Replicas that meet it", ratio,
						"avg by (pool_id, check) (" + maxBy(
							"pool_id, replica_id, check",
							"llm_server_determinism_profile",
							replicaMatchers,
						) + ")",
						colored("orange", 1.0, "green"),
					}}),
					table("Capabilities", "What servers expose, as share of the replicas of a pool that could. "+
						"Red: a flag, a setting or a newer release is missing; /targets and doctor name it.",
						[][2]string{{"pool_id", "Pool"}, {"capability", "Capability"}},
						[]column{{
							"Replicas that expose it", ratio,
							"avg by (pool_id, capability) (" + maxBy(
								"pool_id, replica_id, capability",
								"llm_server_capability",
								replicaMatchers,
							) + ")",
							colored("red", 0.01, "orange", 1.0, "green"),
						}}),
					sortedBy("Replicas", table("Data anomalies by check", "Replicas whose page contradicts itself; "+
						"docs/metrics.md describes the checks.",
						[][2]string{{"pool_id", "Pool"}, {"check", "Check"}},
						[]column{{
							"Replicas", "none",
							"sum by (pool_id, check) (" + maxBy(
								"pool_id, replica_id, check",
								"llm_server_source_anomaly",
								replicaMatchers,
							) + ")",
							colored("green", 1.0, "orange"),
						}})))),
			modelVersions(),
			canary(),
			section("Models",
				sideBySide(9, table("Models", "Several instances on one GPU share it; dynamic batching "+
					"changes answers.",
					[][2]string{
						{"pool_id", "Pool"},
						{"model", "Model"},
						{"role", "Role"},
						{"backend", "Backend"},
						{"platform", "Platform"},
						{"decoupled", "Streams"},
						{"dynamic_batching", "Dynamic batching"},
						{"instance_count", "Instances"},
						{"max_batch_size", "Batch"},
					},
					[]column{{"Replicas", "none", "count by (pool_id, model, role, backend, platform, decoupled, " +
						"dynamic_batching, instance_count, max_batch_size) (" +
						maxBy("pool_id, replica_id, model, role, backend, platform, decoupled, dynamic_batching, "+
							"instance_count, max_batch_size", "llm_server_model_info", replicaMatchers) + ")", nil}}))),
		},
	}
}
