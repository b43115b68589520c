package own

import (
	"slices"

	"github.com/prometheus/common/model"
)

// Prefix begins the names of the exporter's own metrics; series of targets that
// begin so are left out.
const Prefix = "trtllm_exporter_"

// Metric is one of the exporter's own families.
type Metric uint8

// The families about the process.
const (
	BodyMemory Metric = iota
	BodyMemoryLimit
	BodyMemoryWaits
	ConfigReloads
	ConfigReloadSuccessful
	ConfigReloadTime
	Connections
	ConnectionsLimit
	ConnectionsWaits
	ConnectionsTaken
	DiscoveryFailures
	DiscoveryUpdated
	DiscoveryTargets
	HTTPRequests
	HTTPAborted
	HTTPPanics
	InstanceInfo
	MetadataConflicts
	MetadataDropped
	PageBuildTime
	PageBytes
	Panics
	PoolWithoutTargets
	Shards
	Targets
	TargetsDropped
	TargetsRefused
	// Those from here on are about one target each.
	TargetUp
	TargetScrapeDuration
	TargetSamples
	TargetBodyBytes
	TargetScrapes
	TargetScrapesSkipped
	TargetLastSuccess
	TargetLabelCollisions
	TargetTimestampsStripped
	TargetTypeConflicts
	TargetShapeChanges
	TargetCounterResets
	TargetRestarts
	TargetScrapeFailures
	TargetSeriesDropped
	TargetSeriesLeftOut
	TargetDerivedLeftOut
	TargetModelsLeftOut
	TargetDerivedSkipped
)

// Family is what is said of a metric.
type Family struct {
	// Name is whole, with the prefix.
	Name string
	Type model.MetricType
	Help string
	// Labels are those of its series, without a target's pool_id and replica_id.
	Labels []string
}

const (
	gauge     = model.MetricTypeGauge
	counter   = model.MetricTypeCounter
	histogram = model.MetricTypeHistogram
)

// table says everything of every metric.
//
//nolint:gochecknoglobals // constant data.
var table = [...]Family{
	BodyMemory:             {"body_memory_bytes", gauge, "Memory of the bodies over 256 KiB that are read or parsed at the moment.", nil},
	BodyMemoryLimit:        {"body_memory_limit_bytes", gauge, "Memory that bodies over 256 KiB may have at one time: a tenth of the memory limit of the process, half of it for bodies over 1 MiB.", nil},
	BodyMemoryWaits:        {"body_memory_waits_total", counter, "Times that a body over 256 KiB had to wait for memory, or was refused it.", nil},
	ConfigReloads:          {"config_reloads_total", counter, "Reloads of the configuration by result; the load at the start does not count.", []string{"result"}},
	ConfigReloadSuccessful: {"config_last_reload_successful", gauge, "1 if the last load of the configuration was successful; 0 if it failed and the previous one is still in force.", nil},
	ConfigReloadTime:       {"config_last_reload_success_timestamp_seconds", gauge, "When the configuration in force was loaded.", nil},
	Connections:            {"connections", gauge, "Connections to targets, idle ones too.", nil},
	ConnectionsLimit:       {"connections_limit", gauge, "Connections to targets that may be open at one time: the open files of the process without a reserve for readers, names and files.", nil},
	ConnectionsWaits:       {"connections_waits_total", counter, "Times that a connection to a target was not opened at once because the limit was reached.", nil},
	ConnectionsTaken:       {"connections_taken_back_total", counter, "Times that a request which took long gave up its connection because others waited for one.", nil},
	DiscoveryFailures:      {"discovery_failures_total", counter, "Files that could not be read, requests that failed, names that could not be looked up; the last good targets are kept.", []string{"mechanism"}},
	DiscoveryUpdated:       {"discovery_last_update_timestamp_seconds", gauge, "Time of the last change that discovery found.", nil},
	DiscoveryTargets:       {"discovery_targets", gauge, "Targets that discovery knows, before relabeling.", nil},
	HTTPRequests:           {"http_requests_total", counter, "HTTP requests answered, by path and status code; paths that do not exist count as \"other\".", []string{"path", "code"}},
	HTTPAborted:            {"http_aborted_total", counter, "Responses that were cut short because the client disconnected or was too slow.", nil},
	HTTPPanics:             {"http_panics_total", counter, "Requests that ended in a panic, a bug of the exporter; the log has the trace.", nil},
	InstanceInfo:           {"instance_info", gauge, "1, with the identity of this process as a label.", []string{"instance_id"}},
	MetadataConflicts:      {"metadata_conflicts", gauge, "Families of /metrics for which the targets have different HELP, TYPE or UNIT.", []string{"kind"}},
	MetadataDropped:        {"metadata_dropped_series", gauge, "Series left off /metrics because targets differ in their family: always 0, all are kept.", nil},
	PageBuildTime:          {"page_build_duration_seconds", histogram, "Time to merge and encode /metrics, without sending it to the client.", nil},
	PageBytes:              {"page_bytes", gauge, "Size of the last whole /metrics in text format before compression; vmagent accepts 16 MiB by default.", nil},
	Panics:                 {"panics_total", counter, "Panics that affected only the target whose page or API caused them; each one is a bug of the exporter.", nil},
	PoolWithoutTargets:     {"pool_without_targets", gauge, "1 while discovery has answered and the pool has no targets, in this exporter or another; the log and the pages say why.", []string{"pool_id"}},
	Shards:                 {"shards", gauge, "Exporters that share the targets, by which of them this one is; absent where there is one.", []string{"shard"}},
	Targets:                {"targets", gauge, "Targets of the pool after discovery and relabeling.", []string{"pool_id"}},
	TargetsDropped:         {"targets_dropped", gauge, "Targets of the pool that relabel_configs dropped; /targets?dropped says by which rule.", []string{"pool_id"}},
	TargetsRefused:         {"targets_refused", gauge, "Targets that are left out now because another target has the same pool_id and replica_id.", []string{"pool_id"}},

	TargetUp:                 {"target_up", gauge, "1 if the last scrape of the target succeeded, else 0.", nil},
	TargetScrapeDuration:     {"target_scrape_duration_seconds", gauge, "Duration of the last scrape of the target, from the request to the last byte of its page, whether it succeeded or not.", nil},
	TargetSamples:            {"target_scrape_samples", gauge, "Samples on the target's page at its last scrape.", nil},
	TargetBodyBytes:          {"target_body_bytes", gauge, "Size of the target's page at its last scrape, uncompressed; -1 when it was over the limit.", nil},
	TargetScrapes:            {"target_scrapes_total", counter, "Scrapes of the target.", nil},
	TargetScrapesSkipped:     {"target_scrapes_skipped_total", counter, "Scrapes skipped because the one before was still running.", nil},
	TargetLastSuccess:        {"target_last_success_timestamp_seconds", gauge, "When the last successful scrape of the target ended.", nil},
	TargetLabelCollisions:    {"target_label_collisions_total", counter, "Labels of the target's series that were renamed to exported_<name> because the exporter sets the same label.", nil},
	TargetTimestampsStripped: {"target_timestamps_stripped_total", counter, "Samples of the target whose own timestamps were removed.", nil},
	TargetTypeConflicts:      {"target_type_conflicts_total", counter, "Families for which the target's own page gives two types.", nil},
	TargetShapeChanges:       {"target_shape_changes_total", counter, "Pages of the target that differed from the one before in more than values.", nil},
	TargetCounterResets:      {"target_counter_resets_total", counter, "Counters of the target that fell between two scrapes.", nil},
	TargetRestarts:           {"target_restarts_total", counter, "Times that the server of the target began again: it says another start, or nearly all of its counters fell at once. Processes that answer in turn are none.", nil},
	TargetScrapeFailures:     {"target_scrape_failures_total", counter, "Failed scrapes of the target by reason.", []string{"reason"}},
	TargetSeriesDropped:      {"target_series_dropped_total", counter, "Series of the target's pages that were left out, by reason.", []string{"reason"}},
	TargetSeriesLeftOut:      {"target_series_left_out", gauge, "Series of the target's page that limits.output_series or limits.output_bytes keeps off /metrics, whole families; absent while there are none.", nil},
	TargetDerivedLeftOut:     {"target_derived_left_out", gauge, "Derived series of the target that limits.output_series or limits.output_bytes keeps off /metrics, those of whole models; absent while there are none.", nil},
	TargetModelsLeftOut:      {"target_models_left_out", gauge, "Models on the target's page that have no derived series because limits.output_models has others: those that its API lists come first, then those with more traffic; absent while there are none.", nil},
	TargetDerivedSkipped:     {"target_derived_skipped_total", counter, "Events that left derived series without a value, by reason.", []string{"reason"}},
}

// Family is everything that is said of a metric.
func (m Metric) Family() Family {
	f := table[m]
	f.Name = Prefix + f.Name
	f.Labels = slices.Clone(f.Labels)
	return f
}

// AboutTarget says whether a metric is about one target, whose pool_id and
// replica_id its series have.
func (m Metric) AboutTarget() bool { return m >= TargetUp }

// ByPool says whether a metric has label pool_id from whoever registers it, as
// discovery's have, which is one for each pool.
func (m Metric) ByPool() bool {
	return m == DiscoveryFailures || m == DiscoveryUpdated || m == DiscoveryTargets
}

// All lists every metric, in the order of the table.
func All() []Metric {
	all := make([]Metric, len(table))
	for i := range all {
		all[i] = Metric(i)
	}
	return all
}
