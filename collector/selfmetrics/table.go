package selfmetrics

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Prefix begins the names of the exporter's own metrics; series of targets that
// begin so are left out.
const Prefix = "trtllm_exporter_"

// Metric is one of the exporter's own families. It never changes.
type Metric struct {
	exposition.Family

	// labels are those of its series, without a target's pool_id and replica_id.
	labels []string
}

// all are the metrics in the order of their declarations.
//
//nolint:gochecknoglobals // constant data.
var all []*Metric

// The metrics about the process.
//
//nolint:gochecknoglobals // constant data.
var (
	BodyMemory             = gauge("body_memory_bytes", "Memory of the bodies over 256 KiB that are read or parsed at the moment.")
	BodyMemoryLimit        = gauge("body_memory_limit_bytes", "Memory that bodies over 256 KiB may have at one time: a tenth of the memory limit of the process, half of it for bodies over 1 MiB.")
	BodyMemoryWaits        = counter("body_memory_waits_total", "Times that a body over 256 KiB had to wait for memory, or was refused it.")
	ConfigReloads          = counter("config_reloads_total", "Reloads of the configuration by result; the load at the start does not count.", "result")
	ConfigReloadSuccessful = gauge("config_last_reload_successful", "1 if the last load of the configuration was successful; 0 if it failed and the previous one is still in force.")
	ConfigReloadTime       = gauge("config_last_reload_success_timestamp_seconds", "When the configuration in force was loaded.")
	Connections            = gauge("connections", "Connections to targets, idle ones too.")
	ConnectionsLimit       = gauge("connections_limit", "Connections to targets that may be open at one time: the open files of the process without a reserve for readers, names and files.")
	ConnectionsWaits       = counter("connections_waits_total", "Times that a connection to a target was not opened at once because the limit was reached.")
	ConnectionsTaken       = counter("connections_taken_back_total", "Times that a request which took long gave up its connection because others waited for one.")
	DiscoveryFailures      = counter("discovery_failures_total", "Files that could not be read, requests that failed, names that could not be looked up; the last good targets are kept.", "mechanism")
	DiscoveryUpdated       = gauge("discovery_last_update_timestamp_seconds", "Time of the last change that discovery found.")
	DiscoveryTargets       = gauge("discovery_targets", "Targets that discovery knows, before relabeling.")
	HTTPRequests           = counter("http_requests_total", "HTTP requests answered, by path and status code; paths that do not exist count as \"other\".", "path", "code")
	HTTPAborted            = counter("http_aborted_total", "Responses that were cut short because the client disconnected or was too slow.")
	HTTPPanics             = counter("http_panics_total", "Requests that ended in a panic, a bug of the exporter; the log has the trace.")
	InstanceInfo           = gauge("instance_info", "1, with the identity of this process as a label.", "instance_id")
	MetadataConflicts      = gauge("metadata_conflicts", "Families of /metrics for which the targets have different HELP, TYPE or UNIT.", "kind")
	PageBuildTime          = histogram("page_build_duration_seconds", "Time to merge and encode /metrics, without sending it to the client.")
	PageBytes              = gauge("page_bytes", "Size of the last whole /metrics in text format before compression; vmagent accepts 16 MiB by default.")
	Panics                 = counter("panics_total", "Panics that affected only the target whose page or API caused them; each one is a bug of the exporter.")
	PoolWithoutTargets     = gauge("pool_without_targets", "1 while discovery has answered and the pool has no targets, in this exporter or another; the log and the pages say why.", "pool_id")
	Shards                 = gauge("shards", "Exporters that share the targets, by which of them this one is; absent where there is one.", "shard")
	Targets                = gauge("targets", "Targets of the pool after discovery and relabeling.", "pool_id")
	TargetsDropped         = gauge("targets_dropped", "Targets of the pool that relabel_configs dropped; /targets?dropped says by which rule.", "pool_id")
	TargetsRefused         = gauge("targets_refused", "Targets that are left out now because another target has the same pool_id and replica_id, or because the memory limit has no room for more.", "pool_id")
)

// The metrics about one target each.
//
//nolint:gochecknoglobals // constant data.
var (
	TargetUp                 = gauge("target_up", "1 if the last scrape of the target succeeded, else 0.")
	TargetScrapeDuration     = gauge("target_scrape_duration_seconds", "Duration of the last scrape of the target, from the request to the last byte of its page, whether it succeeded or not.")
	TargetSamples            = gauge("target_scrape_samples", "Samples on the target's page at its last scrape.")
	TargetBodyBytes          = gauge("target_body_bytes", "Size of the target's page at its last scrape, uncompressed; -1 when it was over the limit.")
	TargetScrapes            = counter("target_scrapes_total", "Scrapes of the target.")
	TargetScrapesSkipped     = counter("target_scrapes_skipped_total", "Scrapes skipped because the one before was still running.")
	TargetLastSuccess        = gauge("target_last_success_timestamp_seconds", "When the last successful scrape of the target ended.")
	TargetLabelCollisions    = counter("target_label_collisions_total", "Labels of the target's series that were renamed to exported_<name> because the exporter sets the same label.")
	TargetTimestampsStripped = counter("target_timestamps_stripped_total", "Samples of the target whose own timestamps were removed.")
	TargetTypeConflicts      = counter("target_type_conflicts_total", "Families for which the target's own page gives two types.")
	TargetShapeChanges       = counter("target_shape_changes_total", "Pages of the target that differed from the one before in more than values.")
	TargetCounterResets      = counter("target_counter_resets_total", "Counters of the target that fell between two scrapes.")
	TargetRestarts           = counter("target_restarts_total", "Times that the server of the target began again: it says another start, or nearly all of its counters fell at once. Processes that answer in turn are none.")
	TargetScrapeFailures     = counter("target_scrape_failures_total", "Failed scrapes of the target by reason.", "reason")
	TargetSeriesDropped      = counter("target_series_dropped_total", "Series of the target's pages that were left out, by reason.", "reason")
	TargetSeriesLeftOut      = gauge("target_series_left_out", "Series of the target's page that limits.output_series or limits.output_bytes keeps off /metrics, whole families; absent while there are none.")
	TargetDerivedLeftOut     = gauge("target_derived_left_out", "Derived series of the target that limits.output_series or limits.output_bytes keeps off /metrics, those of whole models; absent while there are none.")
	TargetModelsLeftOut      = gauge("target_models_left_out", "Models on the target's page that have no derived series because limits.output_models has others: those that its API lists come first, then those with more traffic; absent while there are none.")
	TargetDerivedSkipped     = counter("target_derived_skipped_total", "Events that left derived series without a value, by reason.", "reason")
)

func gauge(name, help string, labels ...string) *Metric {
	return add(name, model.MetricTypeGauge, help, labels)
}

func counter(name, help string, labels ...string) *Metric {
	return add(name, model.MetricTypeCounter, help, labels)
}

func histogram(name, help string) *Metric {
	return add(name, model.MetricTypeHistogram, help, nil)
}

func add(name string, typ model.MetricType, help string, labels []string) *Metric {
	m := &Metric{exposition.Family{Name: Prefix + name, Type: typ, Help: help}, labels}
	all = append(all, m)
	return m
}

// Labels are those of the metric's series, without a target's pool_id and replica_id.
func (m *Metric) Labels() []string { return slices.Clone(m.labels) }

// AboutTarget reports whether a metric is about one target, whose pool_id and
// replica_id its series have.
func (m *Metric) AboutTarget() bool { return strings.HasPrefix(m.Name, Prefix+"target_") }

// ByPool reports whether a metric has label pool_id from whoever registers it, as
// discovery's have, which is one for each pool.
func (m *Metric) ByPool() bool { return strings.HasPrefix(m.Name, Prefix+"discovery_") }

// All lists every metric, in the order of the table.
func All() []*Metric { return slices.Clone(all) }
