package derive

import (
	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// modelFamilies returns families about Triton's models; entry models and parts never add up.
func modelFamilies() []Family {
	const handsOver = " Absent for decoupled Python models, whose times end when they hand the request over."
	return []Family{
		family("model_requests_total", Sampled, modelRequests(),
			"Requests of each model that ended, including failed ones (source nv_inference_request_success, nv_inference_request_failure). A streaming ensemble counts postprocessing once per token; decoupled Python models count requests when they accept them.",
			"success + failure"),
		sampled("model_requests_failed_total", engine.ModelFailed,
			"Failed requests of each model by reason (source nv_inference_request_failure). An ensemble counts each failure twice since 24.07; from 24.06 a request that the Python backend answers with an error counts as a success, and of an ensemble around it as a failure; the counter survives an unload of the model."),
		counted("model_inferences_total", engine.ModelInferences, "Inferences of each model: requests times their own batch size (source nv_inference_count)."),
		counted("model_executions_total", engine.ModelExecutions, "Batches each model executed (source nv_inference_exec_count). TensorRT-LLM counts one per request."),
		family("model_batch_size_average", Exact, executedBatch(),
			"Mean size of the batches each model executed over the window. Absent for models that batch in flight and for ensembles: see llm_server_batch_size_average.",
			"rate(nv_inference_count) / rate(nv_inference_exec_count)"),
		counted("model_requests_pending", engine.ModelPending,
			"Requests waiting in the model's own queue in Triton (source nv_inference_pending_request_count). Near 0 for models that hand requests over at once: TensorRT-LLM and decoupled Python models."),
		counted("model_request_seconds_total", engine.ModelRequestSeconds, "Time of each model's successful requests from arrival to end (source nv_inference_request_duration_us)."+handsOver, "microseconds / 1000000"),
		counted("model_queue_seconds_total", engine.ModelQueueSeconds, "Time requests waited in each model's queue in Triton (source nv_inference_queue_duration_us). Not the executor's queue.", "microseconds / 1000000"),
		counted("model_compute_seconds_total", engine.ModelComputeSeconds,
			"Compute time of each model by phase: input, infer, output (source nv_inference_compute_input_duration_us and similar). For TensorRT-LLM, infer includes the executor's queue; for an ensemble it is the sum over its steps."+handsOver, "microseconds / 1000000"),
		family("model_queue_compute_ratio", Exact, queueCompute(),
			"Time in Triton's queue divided by compute time over the window, for scaling if Triton itself queues. Absent for ensembles and for models whose compute time is not exposed."+handsOver,
			"rate(nv_inference_queue_duration_us) / rate(nv_inference_compute_{input,infer,output}_duration_us)"),
		counted("model_load_duration_seconds", engine.ModelLoadSeconds, "How long the model took to load (source nv_model_load_duration_secs)."),
		counted("model_response_cache_hits_total", engine.ModelCacheHits, "Requests answered from Triton's response cache (source nv_cache_num_hits_per_model). Not the KV cache."),
		counted("model_response_cache_misses_total", engine.ModelCacheMisses, "Requests not found in Triton's response cache (source nv_cache_num_misses_per_model)."),
		counted("model_response_cache_hit_seconds_total", engine.ModelCacheHitSeconds, "Time of response cache lookups that found the answer (source nv_cache_hit_duration_per_model).", "microseconds / 1000000"),
		counted("model_response_cache_miss_seconds_total", engine.ModelCacheMissSeconds,
			"Time of response cache lookups that found none, and of inserting the answer (source nv_cache_miss_duration_per_model).", "microseconds / 1000000"),
	}
}

func modelLatencyFamilies() []Family {
	summary := func(name string, signal engine.Signal, what, source string) Family {
		return family(name, Sampled, distribution(signal).typed(model.MetricTypeSummary),
			what+", as Triton's summary of its last minute (source "+source+", with --metrics-config summary_latencies=true). Quantiles of several replicas cannot be averaged; they are absent while no request ended.",
			"microseconds / 1000000; NaN is left out")
	}
	return []Family{
		histogram("model_first_response_seconds", engine.ModelFirstResponse,
			"Time to each model's first response (source nv_inference_first_response_histogram_ms, with --metrics-config histogram_latencies=true; up to 25.12 of decoupled models only). The time to the first token where requests stream.", "milliseconds / 1000, bounds too"),
		summary("model_request_duration_seconds", engine.ModelRequestDuration, "Time of each model's requests", "nv_inference_request_summary_us"),
		summary("model_queue_duration_seconds", engine.ModelQueueDuration, "Time in each model's queue in Triton", "nv_inference_queue_summary_us"),
		summary("model_compute_input_duration_seconds", engine.ModelInputDuration, "Time each model took for its input", "nv_inference_compute_input_summary_us"),
		summary("model_compute_infer_duration_seconds", engine.ModelInferDuration, "Time each model computed", "nv_inference_compute_infer_summary_us"),
		summary("model_compute_output_duration_seconds", engine.ModelOutputDuration, "Time each model took for its output", "nv_inference_compute_output_summary_us"),
		summary("model_response_cache_hit_duration_seconds", engine.ModelCacheHitTimes, "Time of response cache lookups that found the answer", "nv_cache_hit_summary_per_model"),
		summary("model_response_cache_miss_duration_seconds", engine.ModelCacheMissTimes, "Time of response cache lookups that found none, and of inserting the answer", "nv_cache_miss_summary_per_model"),
	}
}

func machineFamilies() []Family {
	const twice = " Two servers on one host both expose it: aggregate with max by gpu_uuid."
	const unknown = " Absent if it is 0."
	return []Family{
		sampled("gpu_utilization_ratio", engine.GPUUtilization, "GPU utilization, 0 to 1, by all processes on it (source nv_gpu_utilization)."+twice),
		sampled("gpu_memory_used_bytes", engine.GPUMemoryUsed, "Memory in use on the GPU, by all processes (source nv_gpu_memory_used_bytes)."+twice),
		counted("gpu_memory_total_bytes", engine.GPUMemoryTotal, "Total memory of the GPU (source nv_gpu_memory_total_bytes)."+twice),
		sampled("gpu_power_watts", engine.GPUPower, "Power the GPU draws (source nv_gpu_power_usage)."+unknown+twice),
		counted("gpu_power_limit_watts", engine.GPUPowerLimit, "Power limit of the GPU (source nv_gpu_power_limit)."+unknown+twice),
		counted("gpu_energy_joules_total", engine.GPUEnergy, "Energy the GPU used since the server started (source nv_energy_consumption). Absent while it is 0 or stands still for a whole window: it always grows."+twice),
		sampled("host_cpu_utilization_ratio", engine.HostCPU, "CPU utilization of the host, 0 to 1, by all processes (source nv_cpu_utilization)."),
		sampled("host_memory_used_bytes", engine.HostMemoryUsed, "Memory in use on the host, by all processes (source nv_cpu_memory_used_bytes)."),
		sampled("host_memory_total_bytes", engine.HostMemoryTotal, "Total memory of the host (source nv_cpu_memory_total_bytes)."),
		sampled("pinned_memory_used_bytes", engine.PinnedMemoryUsed, "Memory in use in Triton's pinned pool (source nv_pinned_memory_pool_used_bytes)."),
		sampled("pinned_memory_limit_bytes", engine.PinnedMemoryLimit, "Size of Triton's pinned pool (source nv_pinned_memory_pool_total_bytes)."),
	}
}

func replicaFamilies() []Family {
	return []Family{
		family("info", Exact, info(),
			"1 with the versions of the replica and where the TensorRT-LLM version comes from: config, version_endpoint, model_parameter, compatibility_table or unknown.",
			"1"),
		family("source_anomaly", Exact, anomalies(),
			"1 while the server exposes something that cannot be true, by check, else 0: decoupled_durations, engine_zero, failures_survived_unload, flapping_gauges, frozen_counters, kv_blocks_mismatch, kv_fraction_mismatch, stale_gauges. Values that it makes wrong are absent meanwhile.",
			"see the checks below"),
	}
}
