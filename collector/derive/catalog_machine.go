package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// machineFamilies are of the GPUs and the host that Triton sees.
func machineFamilies() []Family {
	const twice = " Two servers on one host both expose it: aggregate with max by gpu_uuid."
	gpu := func(grade Grade, name string, of engine.Signal, help, formula string) Family {
		return gauge(name, grade, copyOf(of), help+" (source "+formula+")."+twice, formula)
	}
	host := func(name string, of engine.Signal, help, formula string) Family {
		return gauge(name, Sampled, copyOf(of), help+" (source "+formula+").", formula)
	}
	return []Family{
		gpu(Sampled, "gpu_utilization_ratio", engine.GPUUtilization, "Use of the GPU, 0 to 1, by all processes on it", "nv_gpu_utilization"),
		gpu(Sampled, "gpu_memory_used_bytes", engine.GPUMemoryUsed, "Memory in use on the GPU, by all processes", "nv_gpu_memory_used_bytes"),
		gpu(Exact, "gpu_memory_total_bytes", engine.GPUMemoryTotal, "Memory the GPU has", "nv_gpu_memory_total_bytes"),
		gpu(Sampled, "gpu_power_watts", engine.GPUPower, "Power the GPU draws", "nv_gpu_power_usage"),
		gpu(Exact, "gpu_power_limit_watts", engine.GPUPowerLimit, "Most power the GPU may draw", "nv_gpu_power_limit"),
		counter("gpu_energy_joules_total", Exact, copyOf(engine.GPUEnergy),
			"Energy the GPU used since the server started (source nv_energy_consumption)."+twice,
			"nv_energy_consumption"),
		host("host_cpu_utilization_ratio", engine.HostCPU, "Use of the host's processors, 0 to 1, by all processes", "nv_cpu_utilization"),
		host("host_memory_used_bytes", engine.HostMemoryUsed, "Memory in use on the host, by all processes", "nv_cpu_memory_used_bytes"),
		host("host_memory_total_bytes", engine.HostMemoryTotal, "Memory the host has", "nv_cpu_memory_total_bytes"),
		host("pinned_memory_used_bytes", engine.PinnedMemoryUsed, "Memory in use of Triton's pinned pool", "nv_pinned_memory_pool_used_bytes"),
		host("pinned_memory_limit_bytes", engine.PinnedMemoryLimit, "Memory of Triton's pinned pool", "nv_pinned_memory_pool_total_bytes"),
	}
}

// replicaFamilies are about the replica and how far its page can be trusted.
func replicaFamilies() []Family {
	return []Family{
		gauge("info", Exact, info(),
			"1 with the versions of the replica and where the TensorRT-LLM version comes from: config, version_endpoint, model_parameter, compatibility_table or unknown.",
			"1").
			noQuery(whyBeyond),
		gauge("source_anomaly", Exact, anomalies(),
			"1 while what the server exposes cannot be true, by check, else 0: decoupled_durations, engine_zero, failures_survived_unload, flapping_gauges, frozen_counters, kv_blocks_mismatch, kv_fraction_mismatch, stale_gauges. Values that are wrong because of it are absent meanwhile.",
			"see the checks below").
			noQuery("the checks compare a page with those before it"),
	}
}
