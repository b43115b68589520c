package assess

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// MetricPrefix is the prefix of the exporter's own metrics. Series of targets with this prefix are
// dropped.
const MetricPrefix = "trtllm_exporter_"

// Metric is one of the exporter's metrics about itself and its targets. Every name, type, HELP text
// and label is declared in this file and nowhere else: other packages create their metrics from it,
// and the queries of dashboards and alerts are checked against it. It holds no values.
type Metric struct {
	exposition.Family

	// Group is what exposition.normalised lists to have it. Most are in group core, for alerts or as they are few.
	Group exposition.Group

	labels []string
}

// exporterMetrics lists the metrics in the order of their declarations.
//
//nolint:gochecknoglobals // constant data.
var exporterMetrics []*Metric

// Metrics about the process.
//
//nolint:gochecknoglobals // constant data.
var (
	MetricBodyMemory = gauge("body_memory_bytes", "Memory of the bodies over 256 KiB that are being "+
		"read or parsed.")
	MetricBodyMemoryLimit = gauge("body_memory_limit_bytes", "Limit of the memory of bodies over 256 KiB: a "+
		"tenth of the memory limit of the process, half of it for bodies over 1 MiB.")
	MetricBodyMemoryWaits = counter("body_memory_waits_total", "Bodies over 256 KiB that had to wait for "+
		"memory or were refused.")
	MetricConfigReloads = counter("config_reloads_total", "Reloads of the configuration by result; the "+
		"load at the start does not count.", "result")
	MetricConfigReloadSuccessful = gauge("config_last_reload_successful", "1 if the last load of the configuration "+
		"succeeded, 0 if it failed and the previous configuration is still in use.")
	MetricConfigReloadTime = gauge("config_last_reload_success_timestamp_seconds", "Timestamp of the last "+
		"successful load of the configuration.")
	MetricConnections      = gauge("connections", "Open connections to targets, including idle ones.")
	MetricConnectionsLimit = gauge("connections_limit", "Limit of open connections to targets: the open file "+
		"limit of the process less a reserve for clients, DNS and files.")
	MetricConnectionsWaits = counter("connections_waits_total", "Connections to targets that had to wait "+
		"because the limit was reached.")
	MetricConnectionsTaken = counter("connections_taken_back_total", "Slow requests that gave up their "+
		"connection because others waited for one.")
	MetricDiscoveryFailures = counter("discovery_failures_total", "Failed reads, requests and lookups of "+
		"discovery; the last targets stay in use.", "mechanism", "pool_id")
	MetricDiscoveryUpdated = gauge(
		"discovery_last_update_timestamp_seconds",
		"Timestamp of the last change found by discovery.",
		"pool_id",
	)
	MetricDiscoveryTargets = gauge("discovery_targets", "Targets found by discovery, before relabeling.", "pool_id")
	MetricHTTPRequests     = counter("http_requests_total", "HTTP requests by path and status code; unknown "+
		"paths count as \"other\".", "path", "code")
	MetricHTTPAborted = counter("http_aborted_total", "Responses that were cut short because the client "+
		"disconnected or was too slow.")
	MetricHTTPPanics = counter("http_panics_total", "Requests that ended in a panic, a bug of the "+
		"exporter; the log has the trace.")
	MetricInstanceInfo = gauge("instance_info", "1, with the ID of this process as a label.", "instance_id")
	MetricLogDropped   = counter("log_lines_dropped_total", "Lines of the log that were dropped because they "+
		"could not be written in time.")
	MetricMetadataConflicts = gauge("metadata_conflicts", "Families of /metrics for which the targets have "+
		"different HELP or TYPE.", "kind")
	MetricPageBuildTime = declare(
		"page_build_duration_seconds",
		model.MetricTypeHistogram,
		"Time to merge and encode /metrics, without sending it to the client.",
		nil,
	)
	MetricPageBytes = gauge("page_bytes", "Size of the last whole /metrics in text format before "+
		"compression; vmagent accepts 16 MiB by default.")
	MetricPanics = counter("panics_total", "Panics that affected only the target whose page or API "+
		"caused them; each one is a bug of the exporter.")
	MetricPoolWithoutTargets = gauge("pool_without_targets", "1 if discovery found no targets of the pool, for "+
		"this exporter or another one; the log and the status pages give the reason.", "pool_id")
	MetricShards = gauge("shards", "Number of exporters that share the targets, with the index of "+
		"this one as a label; absent without sharding.", "shard")
	MetricTargets        = gauge("targets", "Targets of the pool after discovery and relabeling.", "pool_id")
	MetricTargetsDropped = gauge("targets_dropped", "Targets of the pool that were dropped, by "+
		"relabel_configs, because their pod has ended or another has the same page; /targets?dropped shows why.", "pool_id")
	MetricTargetsRefused = gauge("targets_refused", "Targets left out because another server has the same "+
		"pool_id and replica_id, or because the memory limit does not allow more.", "pool_id")
)

// Metrics about a target.
//
//nolint:gochecknoglobals // constant data.
var (
	MetricTargetUp             = gauge("target_up", "1 if the last scrape of the target succeeded, else 0.")
	MetricTargetScrapeDuration = gauge("target_scrape_duration_seconds", "Duration of the last scrape of the "+
		"target, from the request to the last byte of its page, whether it succeeded or not.").detail()
	MetricTargetSamples = gauge(
		"target_scrape_samples",
		"Samples on the target's page at its last scrape.",
	).detail()
	MetricTargetBodyBytes = gauge("target_body_bytes", "Uncompressed size of the target's page at its "+
		"last scrape; -1 if it exceeded the limit.").detail()
	MetricTargetScrapes        = counter("target_scrapes_total", "Scrapes of the target.")
	MetricTargetScrapesSkipped = counter("target_scrapes_skipped_total", "Scrapes skipped because the previous "+
		"one was still running.").detail()
	MetricTargetLastSuccess = gauge("target_last_success_timestamp_seconds", "Timestamp of the end of the "+
		"last successful scrape of the target.")
	MetricTargetLabelCollisions = counter("target_label_collisions_total", "Labels of the target's series that "+
		"were renamed to exported_<name> because the exporter sets the same label; absent if none was.")
	MetricTargetTimestampsStripped = counter(
		"target_timestamps_stripped_total",
		"Samples of the target whose own timestamps were removed; absent if none had one.",
	)
	MetricTargetTypeConflicts = counter("target_type_conflicts_total", "Families for which the target's own "+
		"page declares two types; absent if there are none.")
	MetricTargetShapeChanges = counter("target_shape_changes_total", "Pages of the target that differed from "+
		"the previous one in more than values.").detail()
	MetricTargetCounterResets = counter("target_counter_resets_total", "Counters of the target that decreased "+
		"between two scrapes.").detail()
	MetricTargetRestarts = counter("target_restarts_total", "Restarts of the target's server: its start "+
		"time changed, all of its counters fell at once, or one fell and its connection was lost. Several "+
		"processes behind one address do not count.")
	MetricTargetScrapeFailures = counter(
		"target_scrape_failures_total",
		"Failed scrapes of the target by reason.",
		"reason",
	)
	MetricTargetSeriesDropped = counter("target_series_dropped_total", "Series of the target's pages that "+
		"were left out, by reason.", "reason")
	MetricTargetSeriesLeftOut = gauge("target_series_left_out", "Series of the target's page left out because "+
		"of limits.output_series or limits.output_bytes, whole families at a time; absent if none was.")
	MetricTargetDerivedLeftOut = gauge("target_derived_left_out", "Derived series of the target left out "+
		"because of limits.output_series or limits.output_bytes, whole models at a time; absent if none was.")
	MetricTargetModelsLeftOut = gauge("target_models_left_out", "Models of the target without derived series "+
		"because of limits.output_models, which prefers models that the API lists, then those with more traffic; "+
		"absent if none was left out.")
	MetricTargetDerivedSkipped = counter("target_derived_skipped_total", "Events that left derived series "+
		"without a value, by reason.", "reason")
)

func gauge(name, help string, labels ...string) *Metric {
	return declare(name, model.MetricTypeGauge, help, labels)
}

func counter(name, help string, labels ...string) *Metric {
	return declare(name, model.MetricTypeCounter, help, labels)
}

func declare(name string, typ model.MetricType, help string, labels []string) *Metric {
	m := &Metric{
		Family: exposition.Family{Name: MetricPrefix + name, Type: typ, Help: help},
		Group:  exposition.GroupCore,
		labels: labels,
	}
	exporterMetrics = append(exporterMetrics, m)
	return m
}

// detail puts a metric about every target that no alert reads into group details.
func (m *Metric) detail() *Metric {
	m.Group = exposition.GroupDetails
	return m
}

// Labels returns the label names of the metric, without a target's pool_id and replica_id.
func (m *Metric) Labels() []string { return slices.Clone(m.labels) }

// AboutTarget reports whether the series of the metric have pool_id and replica_id.
func (m *Metric) AboutTarget() bool { return strings.HasPrefix(m.Name, MetricPrefix+"target_") }

// ExporterMetrics returns all metrics in the order of the table.
func ExporterMetrics() []*Metric { return slices.Clone(exporterMetrics) }
