package dashboards

import "fmt"

// sideVersions are the versions of entry models, of which a Triton may serve
// several side by side.
func sideVersions() row {
	by := "pool_id, model_id, model, version"
	difference := func(name, bound string) query {
		return query{
			fmt.Sprintf("max by (pool_id, replica_id, model, version, than) (%s{%s})", name, with(ofModel, []string{`bound="` + bound + `"`})),
			"{{pool_id}} {{replica_id}} {{model}} {{version}} - {{than}} " + bound,
		}
	}
	const reading = " Both lines of a pair above 0: the newer version is worse; below 0: better; 0 in between: too few requests to tell. Empty: no model has two versions."
	const legend = "{{pool_id}} {{model}} {{version}}"
	return section("Versions side by side",
		sideBySide(8, graph("Requests by version", "Requests that ended a second, by version of the model that clients call. Two lines of a model: an A/B test or a rollout within the server.",
			"reqps", []query{{fmt.Sprintf("sum by (%s) (max by (replica_id, %s) (%s))", by, by, fromClients(ofModels("llm_server_requests_per_second"))), legend}}),
			graph("Mean time by version", "Mean time of requests that succeeded, weighted by the requests of each replica. The newer one above the other for long: see the difference below.",
				"s", []query{{weighted(by, "replica_id, "+by, "llm_server_request_duration_average_seconds{"+ofModel+"}", "llm_server_requests_per_second{"+ofModel+"}"), legend}}),
			graph("Tokens by version", "Generated tokens a second of each version of the model that computes.",
				"none", []query{{"sum by (" + by + ") (pool_version:llm_server_model_generation_tokens:rate{" + ofPools + "})", legend}})),
		sideBySide(8, graph("Difference in failed requests", "Bounds of the difference between a version and the one before it in the share of requests that failed by the server's fault, 95 % confidence."+reading,
			ratio, []query{difference("llm_server_version_error_ratio_difference", "lower"), difference("llm_server_version_error_ratio_difference", "upper")}, signed),
			graph("Difference in mean time", "Bounds of the difference between a version and the one before it in the mean time of requests, 95 % confidence."+reading,
				"s", []query{difference("llm_server_version_duration_difference_seconds", "lower"), difference("llm_server_version_duration_difference_seconds", "upper")}, signed),
			graph("Difference in time to first token", "Bounds of the difference between a version and the one before it in the mean time to the first token, 95 % confidence."+reading,
				"s", []query{difference("llm_server_version_time_to_first_token_difference_seconds", "lower"), difference("llm_server_version_time_to_first_token_difference_seconds", "upper")}, signed),
			table("Worse than the version before", "Which of two versions is worse, and in what, with 95 % confidence over the exporter's window. Yes for minutes: undo the rollout. Empty: no model has two versions.",
				[][2]string{{"pool_id", "Pool"}, {"replica_id", "Replica"}, {"model", "Model"}, {"version", "Version"}, {"than", "Than"}, {"by", "In"}},
				[]column{{"Worse", "none", fmt.Sprintf("max by (pool_id, replica_id, model, version, than, by) (llm_server_version_worse{%s})", ofModel), flags(Outcome{Text: "not shown", Color: "text"}, Outcome{Text: "yes", Color: "red"})}})))
}

// signed shows values below 0 too.
func signed(p *Panel) { p.FieldConfig.Defaults.Min = nil }

// versions is whether replicas are what they should be, and the same.
func versions() Dashboard {
	info := func(by, name, selector string) string { return highest(by, name, selector) }
	return Dashboard{
		Heading:    Heading{UID: "trtllm-versions", Title: "LLM servers / Versions & determinism", Description: "Which versions and configs run, where replicas of a pool differ, and which conditions of equal answers hold."},
		Templating: variables(),
		rows: []row{
			section("Now", sideBySide(4,
				stat("Skewed facts", "Facts in which replicas of one pool differ. Red: the table below says which; finish or undo the rollout. LLMPoolSkew in the runbook.",
					"none", query{counted(info("pool_id, fact", "llm_server_pool_skew", ofPool), "> 0"), ""}, levels("green", 1.0, "red"), filled),
				stat("Not as expected", "Facts that differ from the expect block of the pool's configuration. Red: LLMExpectationMismatch in the runbook.",
					"none", query{counted(info("pool_id, replica_id, fact", "llm_server_expectation_mismatch", ofReplica), "== 1"), ""}, levels("green", 1.0, "red"), filled),
				stat("Replicas with the whole profile", "Share of replicas that meet every known condition of equal answers. Red matters only for pools that are declared deterministic.",
					ratio, query{"avg(min by (pool_id, replica_id) (" + info("pool_id, replica_id, check", "llm_server_determinism_profile", ofReplica) + "))", ""}, levels("orange", 1.0, "green"), decimals(0)),
				stat("Impossible numbers", "Checks that found numbers which cannot be true. Red: the table below says which; values that depend on them are left out.",
					"none", query{counted(info("pool_id, replica_id, model_id, check", "llm_server_source_anomaly", ofReplica), "== 1"), ""}, levels("green", 1.0, "orange"), filled))),
			section("Versions",
				sideBySide(9, wide(13, table("Replicas", "What runs where. An odd one out in a pool is a rollout that stopped halfway.",
					[][2]string{{"pool_id", "Pool"}, {"replica_id", "Replica"}, {"engine", "Engine"}, {"engine_version", "Version"}, {"trtllm_version", "TensorRT-LLM"}, {"trtllm_version_source", "Known from"}},
					[]column{{"", "none", info("pool_id, replica_id, engine, engine_version, trtllm_version, trtllm_version_source", "llm_server_info", ofReplica), nil}})),
					graph("Replicas by version", "How a rollout proceeds. Two versions for longer than a rollout takes: finish or undo it.",
						"none", []query{{"count by (pool_id, engine_version, trtllm_version) (" + info("pool_id, replica_id, engine_version, trtllm_version", "llm_server_info", ofReplica) + ")", "{{pool_id}} {{engine_version}} / {{trtllm_version}}"}}, stacked, steps)),
				sideBySide(9, sorted("Other values", table("Skew by fact", "Distinct values in the pool besides the first. Red: replicas differ; buckets that differ make quantiles over the pool wrong.",
					[][2]string{{"pool_id", "Pool"}, {"fact", "Fact"}},
					[]column{{"Other values", "none", info("pool_id, fact", "llm_server_pool_skew", ofPool), colored("green", 1.0, "red")}})),
					table("Configs of models", "Beginning of the hash of each model's config; instance names and devices do not count. Two hashes of one model in a pool: one was edited.",
						[][2]string{{"pool_id", "Pool"}, {"model", "Model"}, {"sha256", "Config"}},
						[]column{{"Replicas", "none", "count by (pool_id, model, sha256) (" + info("pool_id, replica_id, model, sha256", "llm_server_model_config_hash_info", ofReplica) + ")", nil}}),
					table("Expected", "What the expect block of the configuration requires; the replicas that differ are on /targets. Empty: no pool has one.",
						[][2]string{{"pool_id", "Pool"}, {"fact", "Fact"}},
						[]column{{"Replicas that differ", "none", "sum by (pool_id, fact) (" + info("pool_id, replica_id, fact", "llm_server_expectation_mismatch", ofReplica) + ")", colored("green", 1.0, "red")}}))),
			section("Determinism and capabilities",
				sideBySide(10, table("Determinism profile", "Conditions of equal answers to equal requests. Below 100 %: the reason is on the exporter's /targets. Without the profile, batching alone changes tokens.",
					[][2]string{{"pool_id", "Pool"}, {"check", "Condition"}},
					[]column{{"Replicas that meet it", ratio, "avg by (pool_id, check) (" + info("pool_id, replica_id, check", "llm_server_determinism_profile", ofReplica) + ")", colored("orange", 1.0, "green")}}),
					table("Capabilities", "What can be known of each pool: share of its replicas that expose it. Red: a flag is missing; /targets and doctor name it.",
						[][2]string{{"pool_id", "Pool"}, {"capability", "Capability"}},
						[]column{{"Replicas that expose it", ratio, "avg by (pool_id, capability) (" + info("pool_id, replica_id, capability", "llm_server_capability", ofReplica) + ")", colored("red", 0.01, "orange", 1.0, "green")}}),
					sorted("Replicas", table("Impossible numbers by check", "Checks of what servers expose. Above 0: see",
						[][2]string{{"pool_id", "Pool"}, {"check", "Check"}},
						[]column{{"Replicas", "none", "sum by (pool_id, check) (" + info("pool_id, replica_id, check", "llm_server_source_anomaly", ofReplica) + ")", colored("green", 1.0, "orange")}})))),
			sideVersions(),
			canary(),
			section("Models",
				sideBySide(9, table("Models", "What is known of each model. Instances above 1 on one GPU share it; dynamic batching changes answers.",
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
					[]column{{"Replicas", "none", "count by (pool_id, model, role, backend, platform, decoupled, dynamic_batching, instance_count, max_batch_size) (" +
						info("pool_id, replica_id, model, role, backend, platform, decoupled, dynamic_batching, instance_count, max_batch_size", "llm_server_model_info", ofReplica) + ")", nil}}))),
		},
	}
}
