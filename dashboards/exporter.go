package dashboards

import "fmt"

// exporter shows whether the exporter's numbers can be trusted.
func exporter() Dashboard {
	const exporterMatchers = `instance=~"$instance"`
	const scrapeMatchers = exporterMatchers + "," + targetMatchers
	byReason := func(name string) string {
		return fmt.Sprintf("sum by (pool_id, reason) "+
			"(pool_reason:trtllm_exporter_target_%s:rate{%s,%s})", name, exporterMatchers, poolMatchers)
	}
	byPool := func(name string) string {
		return fmt.Sprintf(
			"sum by (pool_id) (pool:trtllm_exporter_target_%s:rate{%s,%s})",
			name,
			exporterMatchers,
			poolMatchers,
		)
	}
	gauge := func(name string) string { return fmt.Sprintf("%s{%s}", name, exporterMatchers) }
	rate := func(name string) string { return fmt.Sprintf("rate(%s{%s}[$__rate_interval])", name, exporterMatchers) }
	const instance = "{{instance}}"
	built := exporterHistogram("trtllm_exporter_page_build_duration_seconds", exporterMatchers)
	instances := queryVariable("instance", "Exporter", inSelectedClusters("trtllm_exporter_build_info"))
	return Dashboard{
		UID: "trtllm-exporter", Title: "LLM servers / Exporter",
		Description: "Whether the numbers can be trusted: what the exporter scrapes, how fast, and what it drops.",
		Templating: Templating{List: []Variable{
			datasourceVariable(), queryVariable("cluster", "Cluster", "trtllm_exporter_build_info"), instances,
			queryVariable("pool_id", "Pool", inSelectedClusters("trtllm_exporter_target_up")),
			queryVariable(
				"replica_id",
				"Replica",
				inSelectedClusters(`trtllm_exporter_target_up{pool_id=~"$pool_id"}`),
			),
		}},
		rows: []row{
			section("Now", sideBySide(4,
				stat("Targets up", "Share of targets whose last scrape succeeded. Red: see the reasons below and "+
					"on /targets, and LLMReplicaUnreadable or LLMReplicaDown in the runbook.",
					ratio, query{
						fmt.Sprintf("avg(max by (pool_id, replica_id) "+
							"(trtllm_exporter_target_up{%s}))", scrapeMatchers),
						"",
					}, thresholds("red", 0.9, "orange", 1.0, "green"), decimals(0), coloredBackground),
				stat("Targets", "Targets after discovery and relabeling. Zero: see LLMDiscovery in "+
					"the runbook.", "none",
					query{
						fmt.Sprintf("sum(max by (pool_id) (count by (pool_id) (max by (pool_id, replica_id) "+
							"(trtllm_exporter_target_up{%s})) or "+
							"trtllm_exporter_targets{%s,%s}))", scrapeMatchers, exporterMatchers, poolMatchers),
						"",
					}, thresholds("red", 1.0, "text")),
				stat("Config reload OK", "Whether the last reload succeeded. No: the exporter runs with the "+
					"previous configuration; trtllm_exporter check-config shows the error.", "none",
					query{
						"min(" + gauge("trtllm_exporter_config_last_reload_successful") + ")",
						"",
					}, valueMappings([]MappedValue{
						{Text: "no", Color: "red"},
						{Text: "yes", Color: "green"},
					}), thresholds("red", 1.0, "green")),
				stat("Max scrape age", "Longest time since a successful scrape of a target. Red: a target fails, "+
					"or the exporter lacks CPU; see LLMReplicaUnreadable in the runbook.", seconds,
					query{
						fmt.Sprintf("time() - min(max by (pool_id, replica_id) "+
							"(trtllm_exporter_target_last_success_timestamp_seconds{%s}))", scrapeMatchers),
						"",
					}, thresholds("green", 30.0, "orange", 60.0, "red")),
				stat("Size of /metrics", "Before compression. Red: clients with a limit of 16 MiB, such as vmagent, "+
					"will reject it: add a shard, drop families, or raise their limit.", "bytes",
					query{
						"max(" + gauge("trtllm_exporter_page_bytes") + ")", "",
					}, thresholds("green", 8e6, "orange", 12.5e6, "red")),
				stat("Panics", "Panics in the time range. Each is a bug: report it with the trace "+
					"from the log.", "none",
					query{
						fmt.Sprintf("sum(increase(trtllm_exporter_panics_total{%[1]s}[$__range])) + "+
							"sum(increase(trtllm_exporter_http_panics_total{%[1]s}[$__range]))", exporterMatchers),
						"",
					}, thresholds("green", 1.0, "red"), decimals(0)))),
			section("Scrapes of targets",
				sideBySide(9, graph("Scrape duration", "Response time of targets. Near the timeout: the server is "+
					"overloaded; raise interval and timeout.",
					seconds, extremes(fmt.Sprintf("max by (pool_id, replica_id) "+
						"(trtllm_exporter_target_scrape_duration_seconds{%s})", scrapeMatchers))),
					graph("Failures by reason", "Failed scrapes. Above zero: see LLMReplicaUnreadable in the "+
						"runbook; the reason tells network, time, size or content.",
						"ops", []query{{byReason("scrape_failures"), "{{pool_id}} {{reason}}"}}, stacked),
					graph("Scrapes and skipped scrapes", "Skipped because the previous one was still running: "+
						"raise the interval of the pool.",
						"ops", []query{
							{byPool("scrapes"), "{{pool_id}}"},
							{byPool("scrapes_skipped"), "{{pool_id}} skipped"},
						})),
				sideBySide(9, graph("Samples", "Samples of each target. A jump: it exposes more since its last "+
					"start; check the limits of the pool.",
					"short", extremes(fmt.Sprintf("max by (pool_id, replica_id) "+
						"(trtllm_exporter_target_scrape_samples{%s})", scrapeMatchers))),
					graph("Response size", "Uncompressed bytes of each target. Near the limit of its pool: raise "+
						"limits.body, or scrapes will fail.",
						"bytes", extremes(fmt.Sprintf("max by (pool_id, replica_id) "+
							"(trtllm_exporter_target_body_bytes{%s})", scrapeMatchers))),
					graph("Time since last successful scrape", "A sawtooth as high as the interval. Climbing: "+
						"scrapes fail.",
						seconds, extremes(fmt.Sprintf("time() - max by (pool_id, replica_id) "+
							"(trtllm_exporter_target_last_success_timestamp_seconds{%s})", scrapeMatchers))))),
			section("Dropped series",
				sideBySide(9, graph("Dropped series by reason", "Above zero: raise the limit, or "+
					"drop them on purpose with metric_relabel_configs.",
					"ops", []query{{byReason("series_dropped"), "{{pool_id}} {{reason}}"}}),
					graph("Skipped derived values", "Why derived series had no value: resets, restarts, gaps, "+
						"clocks. Peaks at restarts are normal; a steady line is a server that flaps.",
						"ops", []query{{byReason("derived_skipped"), "{{pool_id}} {{reason}}"}}),
					graph("Counter resets and shape changes", "Counters that decreased, and pages with other "+
						"series than before. Steady: a server, or a model of it, restarts again and again. "+
						"Counters of several processes at one address are not compared, see LLMReplicaProcesses in "+
						"the runbook.",
						"ops", []query{
							{byPool("counter_resets"), "{{pool_id}} resets"},
							{byPool("shape_changes"), "{{pool_id}} shapes"},
						}),
					graph("Metadata conflicts", "Families whose HELP or TYPE differ between targets. For types, "+
						"align versions.",
						"none", []query{{gauge("trtllm_exporter_metadata_conflicts"), instance + " {{kind}}"}}))),
			section("/metrics and the process",
				sideBySide(9, graph("Time to build /metrics", "Merging and encoding. Above a few hundred "+
					"milliseconds: shard the exporter.",
					seconds, built.queries("95")),
					graph("Scrape duration in Prometheus", "How long Prometheus takes to scrape the exporter. Near "+
						"the timeout: shard the exporter, or raise the timeout.",
						seconds, []query{{
							`scrape_duration_seconds{` + exporterMatchers + `} and on (instance, job) up{` + exporterMatchers + `} and on (instance, job) trtllm_exporter_build_info{` + exporterMatchers + `}`,
							instance,
						}}),
					graph("HTTP responses", "By path and code. 503: more clients than --web.max-requests; 401: a "+
						"client without password.",
						request, []query{{
							fmt.Sprintf("sum by (path, code) "+
								"(rate(trtllm_exporter_http_requests_total{%s}[$__rate_interval]))", exporterMatchers),
							"{{path}} {{code}}",
						}})),
				sideBySide(9, graph("CPU", "Cores in use. Near the container's limit scrapes are late: raise the "+
					"limit or shard.",
					"none", []query{{
						rate(
							"process_cpu_seconds_total",
						) + " and on (instance, job) trtllm_exporter_build_info{" + exporterMatchers + "}",
						instance,
					}}),
					graph("Memory", "Resident memory. Growth without more targets is a leak: report it.",
						"bytes", []query{{
							gauge(
								"process_resident_memory_bytes",
							) + " and on (instance, job) trtllm_exporter_build_info{" + exporterMatchers + "}",
							instance,
						}}),
					graph("Goroutines", "Grows with targets and clients. Growth without either is a leak: report it.",
						"short", []query{{
							gauge(
								"go_goroutines",
							) + " and on (instance, job) trtllm_exporter_build_info{" + exporterMatchers + "}",
							instance,
						}}),
					graph("Targets discovered", "Before relabeling. A drop to zero: discovery lost its source; the "+
						"last targets stay while it fails.",
						"none", []query{{
							fmt.Sprintf(
								"max by (pool_id) (trtllm_exporter_discovery_targets{%s,%s})",
								exporterMatchers,
								poolMatchers,
							),
							"{{pool_id}}",
						}}, stepLines))),
		},
	}
}
