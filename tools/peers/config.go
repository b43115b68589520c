package main

import (
	"fmt"
	"strings"
	"time"
)

// replica returns the replica_id of a target.
func replica(i int) string { return fmt.Sprintf("replica-%04d", i) }

func exporterConfig(j *job) string {
	var b strings.Builder
	fmt.Fprintf(&b, "global: {scrape_interval: %s, scrape_timeout: %s}\npools:\n  - pool_id: bench\n    engine: "+
		"triton\n    static_configs:\n", milliseconds(j.interval), milliseconds(j.interval*9/10))
	for i, address := range j.fleet.addresses {
		fmt.Fprintf(&b, "      - targets: [%q]\n        labels: {__api_address__: %q, "+
			"replica_id: %s}\n", address, address, replica(i))
	}
	return b.String()
}

// prometheusConfig returns the configuration of Prometheus, also for the collector, indented.
func prometheusConfig(j *job, indent string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, indent+format+"\n", args...) }
	line("scrape_configs:")
	line("  - job_name: triton")
	line("    scrape_interval: %s", milliseconds(j.interval))
	line("    scrape_timeout: %s", milliseconds(j.interval*9/10))
	line("    metric_relabel_configs:")
	line("      - {source_labels: [model], regex: '(.+)', target_label: model_id}")
	line("    static_configs:")
	for i, address := range j.fleet.addresses {
		line("      - targets: [%q]", address)
		line("        labels: {engine: triton, engine_version: 2.51.0, trtllm_version: 0.14.0, pool_id: bench, "+
			"replica_id: %s}", replica(i))
	}
	return b.String()
}

// collectorConfig returns a configuration with one receiver and a page with the servers' names.
func collectorConfig(j *job) string {
	return "receivers:\n  prometheus:\n    config:\n" + prometheusConfig(j, "      ") +
		fmt.Sprintf("exporters:\n  prometheus: {endpoint: %q, translation_strategy: "+
			"UnderscoreEscapingWithoutSuffixes, without_scope_info: true, metric_expiration: 5m}\n", j.address) +
		"service:\n  telemetry: {metrics: {level: none}, logs: {level: fatal}}\n  pipelines:\n    metrics: " +
		"{receivers: [prometheus], exporters: [prometheus]}\n"
}

// milliseconds formats a duration for all configurations.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
