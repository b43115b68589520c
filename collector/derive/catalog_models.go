package derive

import (
	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// modelFamilies returns families about single models; entry models and parts never add up.
func modelFamilies() []Family {
	return []Family{
		family("model_requests_total", Sampled, modelRequestsRule(),
			"Ended requests of each model; do not add up models.",
			"success + failure"),
		sampled("model_requests_failed_total", engine.ModelFailed, "Failed requests of each model by reason."),
		counted("model_inferences_total", engine.ModelInferences,
			"Requests of each model times their own batch size."),
		counted("model_executions_total", engine.ModelExecutions, "Batches that each model executed."),
		family("model_batch_size_average", Exact, executedBatchRule(),
			"Mean size of each model's batches over the window.",
			"rate(model_inferences_total) / rate(model_executions_total)"),
		counted("model_requests_pending", engine.ModelPending,
			"Requests in the model's own queue."),
		counted("model_request_seconds_total", engine.ModelRequestSeconds,
			"Total time of each model's successful requests.", "microseconds / 1000000"),
		counted("model_queue_seconds_total", engine.ModelQueueSeconds,
			"Time in the model's own queue.", "microseconds / 1000000"),
		counted("model_compute_seconds_total", engine.ModelComputeSeconds,
			"Compute time of each model by phase.", "microseconds / 1000000"),
		family("model_queue_compute_ratio", Exact, queueComputeRule(),
			"Time in the model's queue divided by compute time.",
			"rate(model_queue_seconds_total) / rate(model_compute_seconds_total)"),
		counted("model_load_duration_seconds", engine.ModelLoadSeconds, "Time that the model took to load."),
		counted("model_response_cache_hits_total", engine.ModelCacheHits,
			"Requests answered from the response cache."),
		counted("model_response_cache_misses_total", engine.ModelCacheMisses,
			"Requests not found in the response cache."),
		counted("model_response_cache_hit_seconds_total", engine.ModelCacheHitSeconds,
			"Time of response cache lookups that hit.", "microseconds / 1000000"),
		counted("model_response_cache_miss_seconds_total", engine.ModelCacheMissSeconds,
			"Time of response cache misses and insertions.", "microseconds / 1000000"),
	}
}

func modelLatencyFamilies() []Family {
	summary := func(name string, signal engine.Signal, what string) Family {
		return family(name, Sampled, distribution(signal).typed(model.MetricTypeSummary),
			what+", last minute.",
			"microseconds / 1000000; NaN is left out")
	}
	return []Family{
		histogram("model_first_response_seconds", engine.ModelFirstResponse,
			"Time to each model's first response.", "milliseconds / 1000, bounds too"),
		summary("model_request_duration_seconds", engine.ModelRequestDuration, "Time of each model's requests"),
		summary("model_queue_duration_seconds", engine.ModelQueueDuration, "Time in each model's queue"),
		summary("model_compute_input_duration_seconds", engine.ModelInputDuration, "Time for each model's input"),
		summary("model_compute_infer_duration_seconds", engine.ModelInferDuration, "Time that each model computed"),
		summary("model_compute_output_duration_seconds", engine.ModelOutputDuration, "Time for each model's output"),
		summary("model_response_cache_hit_duration_seconds", engine.ModelCacheHitTimes, "Time of response cache hits"),
		summary("model_response_cache_miss_duration_seconds", engine.ModelCacheMissTimes, "Time of response cache misses"),
	}
}

func machineFamilies() []Family {
	return []Family{
		sampled("gpu_utilization_ratio", engine.GPUUtilization, "GPU utilization by all processes."),
		sampled("gpu_memory_used_bytes", engine.GPUMemoryUsed, "GPU memory in use by all processes."),
		counted("gpu_memory_total_bytes", engine.GPUMemoryTotal, "Total memory of the GPU."),
		sampled("gpu_power_watts", engine.GPUPower, "Power that the GPU draws."),
		counted("gpu_power_limit_watts", engine.GPUPowerLimit, "Power limit of the GPU."),
		counted("gpu_energy_joules_total", engine.GPUEnergy, "Energy of the GPU since the server started."),
		sampled("host_cpu_utilization_ratio", engine.HostCPU, "CPU utilization of the host."),
		sampled("host_memory_used_bytes", engine.HostMemoryUsed, "Memory in use on the host."),
		sampled("host_memory_total_bytes", engine.HostMemoryTotal, "Total memory of the host."),
		sampled("pinned_memory_used_bytes", engine.PinnedMemoryUsed, "Memory in use in the server's pinned pool."),
		sampled("pinned_memory_limit_bytes", engine.PinnedMemoryLimit, "Size of the server's pinned pool."),
	}
}

func replicaFamilies() []Family {
	return []Family{
		family("info", Exact, info(), "1 with the versions of the replica.", "1"),
		family("source_anomaly", Exact, anomalyRule(),
			"1 while the server exposes something impossible.",
			"see the checks below"),
	}
}
