package derive

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// core lists the families of group core, without prefix: those that alerts read and the dashboards Fleet,
// Latency & SLO and Capacity, by recording rules or by themselves. A test of package dashboards compares the
// list with what they read.
//
//nolint:gochecknoglobals // constant data.
var core = []string{
	"batch_size_average",
	"canary_active",
	"canary_deterministic",
	"canary_success",
	"engine_awake",
	"expectation_mismatch",
	"generation_tokens_total",
	"gpu_memory_total_bytes",
	"headroom_requests",
	"info",
	"inter_token_latency_above_bound_ratio",
	"inter_token_latency_percentile_seconds",
	"inter_token_latency_seconds",
	"kv_cache_blocks_reused_total",
	"kv_cache_capacity_tokens",
	"kv_cache_free_tokens",
	"kv_cache_reuse_ratio",
	"kv_cache_reuse_ratio_estimate",
	"kv_cache_utilization_ratio",
	"limited_by",
	"model_first_response_seconds",
	"model_queue_seconds_total",
	"model_request_seconds_total",
	"model_requests_total",
	"model_state",
	"model_unloaded",
	"paused",
	"pool_canary_outputs",
	"pool_cost_per_hour",
	"pool_replicas_expected",
	"pool_skew",
	"pool_start_budget_seconds",
	"processes",
	"prompt_cache_hit_ratio",
	"prompt_tokens_total",
	"queue_depth",
	"queue_hidden_requests_estimate",
	"queue_requests",
	"request_decode_seconds",
	"request_duration_above_bound_ratio",
	"request_duration_average_seconds",
	"request_duration_percentile_seconds",
	"request_duration_seconds",
	"request_error_ratio",
	"request_generation_tokens",
	"request_prefill_seconds",
	"request_prompt_tokens",
	"request_queue_seconds",
	"requests_failed_total",
	"requests_fill_ratio",
	"requests_finished_total",
	"requests_limit",
	"requests_paused",
	"requests_per_second",
	"requests_rejected_total",
	"requests_running",
	"requests_total",
	"saturated",
	"saturation_ratio",
	"serving",
	"signal_coverage_ratio",
	"slo_measured",
	"slo_objective",
	"slo_requests_bad_total",
	"slo_requests_total",
	"slo_threshold_seconds",
	"state",
	"suspected",
	"time_per_output_token_above_bound_ratio",
	"time_per_output_token_average_seconds_estimate",
	"time_per_output_token_percentile_seconds",
	"time_per_output_token_seconds",
	"time_to_first_token_above_bound_ratio",
	"time_to_first_token_percentile_seconds",
	"time_to_first_token_seconds",
}

// meansInCore lists the histograms of which group core has the mean only: the sum, the count and the last bucket.
//
//nolint:gochecknoglobals // constant data.
var meansInCore = []string{
	"request_decode_seconds",
	"request_generation_tokens",
	"request_prefill_seconds",
	"request_prompt_tokens",
	"request_queue_seconds",
}

// percentileInCore is the percentile that dashboards draw; group windows has the others.
const percentileInCore = "95"

// group returns the group of a family, given its section of the reference.
func (f *Family) group(section string) exposition.Group {
	name := strings.TrimPrefix(f.Name, Prefix)
	switch {
	case slices.Contains(core, name):
		return exposition.GroupCore
	case section == machineSection, name == "energy_joules_per_token", name == "generation_tokens_per_gpu_second":
		return exposition.GroupGPU
	case f.rule.query != "":
		return exposition.GroupWindows
	case section == modelSection, name == "model_configs_pending", name == "models_left_out":
		return exposition.GroupModels
	case name == "live", name == "ready", name == "health_check_duration_seconds",
		strings.HasPrefix(name, "iteration_stats_"):
		return exposition.GroupDetails
	case section == versionSection, section == replicaSection:
		return exposition.GroupVersions
	}
	return exposition.GroupDetails
}

// GroupOf returns the group of a series of the family: that of the family, but for series of a family in group
// core which nothing of that group reads.
func (f *Family) GroupOf(suffix string, lset labels.Labels) exposition.Group {
	if f.Group != exposition.GroupCore {
		return f.Group
	}
	name := strings.TrimPrefix(f.Name, Prefix)
	switch percentile := lset.Get("percentile"); {
	case isPoint(suffix, lset) && slices.Contains(meansInCore, name):
		return exposition.GroupDetails
	case suffix == "_bucket" && lset.Get(model.BucketLabel) == "0": // Nothing takes no time.
		return exposition.GroupDetails
	case percentile != "" && percentile != percentileInCore:
		return exposition.GroupWindows
	}
	return exposition.GroupCore
}

// isPoint reports whether a series is a point of a distribution: a bucket, but for the last one, which is the count,
// or a quantile.
func isPoint(suffix string, lset labels.Labels) bool {
	return suffix == "_bucket" && lset.Get(model.BucketLabel) != "+Inf" || lset.Has(model.QuantileLabel)
}

// InCore says what group core has of a family that it has in part, and which group has the rest.
func (f *Family) InCore() (part string, rest exposition.Group) {
	switch name := strings.TrimPrefix(f.Name, Prefix); {
	case f.Group != exposition.GroupCore:
	case slices.Contains(meansInCore, name):
		return "sum, count and the last bucket, for means", exposition.GroupDetails
	case slices.Contains(f.Labels, "percentile"):
		return "percentile " + percentileInCore, exposition.GroupWindows
	}
	return "", f.Group
}
