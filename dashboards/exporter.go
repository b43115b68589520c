package dashboards

import "fmt"

// exporter is the exporter itself: can its numbers be trusted?
func exporter() Dashboard {
	const own = `instance=~"$instance"`
	const ofScrape = own + "," + ofTarget
	byReason := func(name string) string {
		return fmt.Sprintf("sum by (pool_id, reason) (pool_reason:trtllm_exporter_target_%s:rate{%s,%s})", name, own, ofPool)
	}
	byPool := func(name string) string {
		return fmt.Sprintf("sum by (pool_id) (pool:trtllm_exporter_target_%s:rate{%s,%s})", name, own, ofPool)
	}
	gauge := func(name string) string { return fmt.Sprintf("%s{%s}", name, own) }
	rate := func(name string) string { return fmt.Sprintf("rate(%s{%s}[$__rate_interval])", name, own) }
	const instance = "{{instance}}"
	built := ofExporters("trtllm_exporter_page_build_duration_seconds", own)
	instances := choice("instance", "Exporter", ofClusters("trtllm_exporter_build_info"))
	return Dashboard{
		Heading: Heading{UID: "trtllm-exporter", Title: "LLM servers / Exporter", Description: "The exporter itself: what it scrapes, how fast, what it leaves out."},
		Templating: Templating{List: []Variable{
			chooseSource(), chooseCluster("trtllm_exporter_build_info"), instances,
			choice("pool_id", "Pool", ofClusters("trtllm_exporter_target_up")),
			choice("replica_id", "Replica", ofClusters(`trtllm_exporter_target_up{pool_id=~"$pool_id"}`)),
		}},
		rows: []row{
			section("Now", sideBySide(4,
				stat("Targets up", "Share of targets whose last scrape succeeded. Red: reasons below and on /targets; LLMReplicaUnreadable or LLMReplicaDown say what to do.",
					ratio, query{fmt.Sprintf("avg(max by (pool_id, replica_id) (trtllm_exporter_target_up{%s}))", ofScrape), ""}, levels("red", 0.9, "orange", 1.0, "green"), decimals(0), filled),
				stat("Targets", "Targets after discovery and relabeling. Zero: LLMDiscovery.", "none",
					query{fmt.Sprintf("sum(max by (pool_id) (count by (pool_id) (max by (pool_id, replica_id) (trtllm_exporter_target_up{%s})) or trtllm_exporter_targets{%s,%s}))", ofScrape, own, ofPool), ""}, levels("red", 1.0, "text")),
				stat("Configuration", "Whether the last reload succeeded. No: the previous configuration is in force; trtllm_exporter check-config names the line.", "none",
					query{"min(" + gauge("trtllm_exporter_config_last_reload_successful") + ")", ""}, mapped([]Outcome{{Text: "refused", Color: "red"}, {Text: "in force", Color: "green"}}), levels("red", 1.0, "green")),
				stat("Oldest page", "Age of the oldest last good page. Red: a target fails, or the exporter lacks CPU; LLMReplicaUnreadable.", seconds,
					query{fmt.Sprintf("time() - min(max by (pool_id, replica_id) (trtllm_exporter_target_last_success_timestamp_seconds{%s}))", ofScrape), ""}, levels("green", 30.0, "orange", 60.0, "red")),
				stat("Size of /metrics", "Before compression. Red: clients with a limit of 16 MiB will refuse it; LLMExporterPageLarge.", "bytes",
					query{"max(" + gauge("trtllm_exporter_page_bytes") + ")", ""}, levels("green", 8e6, "orange", 12.5e6, "red")),
				stat("Panics", "Panics in the time shown. Each is a bug: report it with its trace from the log.", "none",
					query{fmt.Sprintf("sum(increase(trtllm_exporter_panics_total{%[1]s}[$__range])) + sum(increase(trtllm_exporter_http_panics_total{%[1]s}[$__range]))", own), ""}, levels("green", 1.0, "red"), decimals(0)))),
			section("Scrapes of targets",
				sideBySide(9, graph("Duration", "How long each target took to answer. Near the timeout: the server is overloaded; lengthen interval and timeout.",
					seconds, extremes(fmt.Sprintf("max by (pool_id, replica_id) (trtllm_exporter_target_scrape_duration_seconds{%s})", ofScrape))),
					graph("Failures by reason", "Failed scrapes. Any line: LLMReplicaUnreadable; the reason says whether it is network, time, size or content.",
						"ops", []query{{byReason("scrape_failures"), "{{pool_id}} {{reason}}"}}, stacked),
					graph("Scrapes and those skipped", "Skipped because the one before was still running: lengthen the pool's interval.",
						"ops", []query{
							{byPool("scrapes"), "{{pool_id}}"},
							{byPool("scrapes_skipped"), "{{pool_id}} skipped"},
						})),
				sideBySide(9, graph("Samples", "Samples on the page of each target. A jump: it exposes more since its last start; check limits.",
					"short", extremes(fmt.Sprintf("max by (pool_id, replica_id) (trtllm_exporter_target_scrape_samples{%s})", ofScrape))),
					graph("Size of pages", "Bytes of each target's page. Near the limit of its pool: raise limits.body, or the whole page will be refused.",
						"bytes", extremes(fmt.Sprintf("max by (pool_id, replica_id) (trtllm_exporter_target_body_bytes{%s})", ofScrape))),
					graph("Age of the last good page", "Time since each target's last good page; a sawtooth as high as the interval. Climbing: it fails.",
						seconds, extremes(fmt.Sprintf("time() - max by (pool_id, replica_id) (trtllm_exporter_target_last_success_timestamp_seconds{%s})", ofScrape))))),
			section("What was left out",
				sideBySide(9, graph("Series dropped", "Series left out, by reason. Any line: LLMSeriesDropped; raise the limit or drop them on purpose.",
					"ops", []query{{byReason("series_dropped"), "{{pool_id}} {{reason}}"}}),
					graph("Values withheld", "What left derived series without a value: resets, restarts, gaps, clocks. Peaks at restarts are right; a steady line is a server that flaps.",
						"ops", []query{{byReason("derived_skipped"), "{{pool_id}} {{reason}}"}}),
					graph("Resets and new shapes", "Counters that fell, and pages of another shape than before. Steady: several processes answer on one address.",
						"ops", []query{{byPool("counter_resets"), "{{pool_id}} resets"}, {byPool("shape_changes"), "{{pool_id}} shapes"}}),
					graph("Disagreements", "Families whose HELP or TYPE differ between targets. Types: align versions.",
						"none", []query{{gauge("trtllm_exporter_metadata_conflicts"), instance + " {{kind}}"}}))),
			section("/metrics and the process",
				sideBySide(9, graph("Time to build /metrics", "Merging and encoding. Above some hundred milliseconds: shard the exporter.",
					seconds, built.shown("95")),
					graph("Time Prometheus waits", "The whole scrape of the exporter as Prometheus sees it. Near its timeout: shard, or raise it.",
						seconds, []query{{`scrape_duration_seconds{` + own + `} and on (instance, job) up{` + own + `} and on (instance, job) trtllm_exporter_build_info{` + own + `}`, instance}}),
					graph("Answers", "HTTP answers by path and code. 503: more clients than --web.max-requests; 401: a client without its password.",
						request, []query{{fmt.Sprintf("sum by (path, code) (rate(trtllm_exporter_http_requests_total{%s}[$__rate_interval]))", own), "{{path}} {{code}}"}})),
				sideBySide(9, graph("CPU", "Cores in use. Near the container's limit scrapes are late: raise it or shard.",
					"none", []query{{rate("process_cpu_seconds_total") + " and on (instance, job) trtllm_exporter_build_info{" + own + "}", instance}}),
					graph("Memory", "Resident memory. Growth without more targets is a leak: report it.",
						"bytes", []query{{gauge("process_resident_memory_bytes") + " and on (instance, job) trtllm_exporter_build_info{" + own + "}", instance}}),
					graph("Goroutines", "Grows with targets and clients. Growth without them is a leak: report it.",
						"short", []query{{gauge("go_goroutines") + " and on (instance, job) trtllm_exporter_build_info{" + own + "}", instance}}),
					graph("Targets discovered", "Before relabeling. A fall to zero: discovery lost its source; the last targets stay while it fails.",
						"none", []query{{fmt.Sprintf("max by (pool_id) (trtllm_exporter_discovery_targets{%s,%s})", own, ofPool), "{{pool_id}}"}}, steps))),
		},
	}
}
