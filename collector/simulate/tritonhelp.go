package simulate

import "fmt"

// HELP texts of Triton core (src/metrics.cc) and of the TRT-LLM backend's
// custom_metrics_reporter.cc, verbatim.
const (
	helpSuccess        = "Number of successful inference requests, all batch sizes"
	helpFailure        = "Number of failed inference requests, all batch sizes"
	helpCount          = "Number of inferences performed (does not include cached requests)"
	helpExecCount      = "Number of model executions performed (does not include cached requests)"
	helpPending        = "Instantaneous number of pending requests awaiting execution per-model."
	helpLoadDuration   = "Model load time in seconds"
	helpPinnedTotal    = "Pinned memory pool total memory size, in bytes"
	helpPinnedUsed     = "Pinned memory pool used memory size, in bytes"
	helpFirstResponse  = "Duration from request to first response in milliseconds"
	helpGPUUtilization = "GPU utilization rate [0.0 - 1.0)"
	helpGPUMemoryTotal = "GPU total memory, in bytes"
	helpGPUMemoryUsed  = "GPU used memory, in bytes"
	helpGPUPowerUsage  = "GPU power usage in watts"
	helpGPUPowerLimit  = "GPU power management limit in watts"
	helpEnergy         = "GPU energy consumption in joules since the Triton Server started"
	helpCPUUtilization = "CPU utilization rate [0.0 - 1.0]"
	helpCPUMemoryTotal = "CPU total memory (RAM), in bytes"
	helpCPUMemoryUsed  = "CPU used memory (RAM), in bytes"
	helpRequest        = "TRT LLM request metrics"
	helpRuntimeMemory  = "TRT LLM runtime memory metrics"
	helpKVCache        = "TRT LLM KV cache block metrics"
	helpDisagg         = "TRT LLM disaggregated serving metrics"
	helpInflight       = "TRT LLM inflight_batcher-specific metrics"
	helpV1             = "TRT LLM v1-specific metrics"
	helpGeneral        = "General TRT LLM metrics"
	helpGeneralOld     = "General TRT LLM statistics"
	helpTokenLen       = "TRT LLM response metrics"
)

// pinnedPoolBytes is Triton's default pinned memory pool (256 MiB).
const pinnedPoolBytes = 268435456

// durationFamily names one of the five times Triton books per request.
type durationFamily struct {
	counter, counterHelp string
	summary, summaryHelp string
}

// durationFamilies lists the five times in Triton's order: request, queue,
// compute input, compute infer, compute output.
func durationFamilies() []durationFamily {
	return []durationFamily{
		{
			"nv_inference_request_duration_us", "Cumulative inference request duration in microseconds (includes cached requests)",
			"nv_inference_request_summary_us", "Summary of inference request duration in microseconds (includes cached requests)",
		},
		{
			"nv_inference_queue_duration_us", "Cumulative inference queuing duration in microseconds (includes cached requests)",
			"nv_inference_queue_summary_us", "Summary of inference queuing duration in microseconds (includes cached requests)",
		},
		{
			"nv_inference_compute_input_duration_us", "Cumulative compute input duration in microseconds (does not include cached requests)",
			"nv_inference_compute_input_summary_us", "Cumulative compute input duration in microseconds (does not include cached requests)",
		},
		{
			"nv_inference_compute_infer_duration_us", "Cumulative compute inference duration in microseconds (does not include cached requests)",
			"nv_inference_compute_infer_summary_us", "Cumulative compute inference duration in microseconds (does not include cached requests)",
		},
		{
			"nv_inference_compute_output_duration_us", "Cumulative inference compute output duration in microseconds (does not include cached requests)",
			"nv_inference_compute_output_summary_us", "Cumulative inference compute output duration in microseconds (does not include cached requests)",
		},
	}
}

// failureReasons lists the values of the reason label (core infer_stats.cc).
func failureReasons() []string { return []string{"REJECTED", "CANCELED", "BACKEND", "OTHER"} }

// tokenBounds are the buckets of the two token length histograms.
func tokenBounds() []float64 { return []float64{10, 50, 100, 500, 1000} }

// defaultQuantiles are Triton's summary quantiles.
func defaultQuantiles() []float64 { return []float64{0.5, 0.9, 0.95, 0.99, 0.999} }

// category renders the labels of one nv_trt_llm_* series in alphabetical order,
// as prometheus-cpp does.
func category(label, value, model, version string) string {
	if label < "model" {
		return pairs(label, value, "model", model, "version", version)
	}
	if label < "version" {
		return pairs("model", model, label, value, "version", version)
	}
	return pairs("model", model, "version", version, label, value)
}

// gpuUUIDs makes n GPU ids that differ between seeds.
func gpuUUIDs(seed uint64, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		a, b := mix(seed, fmt.Sprintf("gpu%d", i)), mix(seed, fmt.Sprintf("uuid%d", i))
		ids[i] = fmt.Sprintf("GPU-%08x-%04x-%04x-%04x-%012x", uint32(a), uint16(a>>32), uint16(a>>48), uint16(b), b>>16)
	}
	return ids
}
