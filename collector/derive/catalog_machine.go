package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// machineFamilies are of the GPUs and the host that Triton sees.
func machineFamilies() []Family {
	const twice = " Two servers on one host both show it: aggregate with max by gpu_uuid."
	gpu := func(name, unit string, grade Grade, of engine.Signal, help, formula string) Family {
		return Family{
			Name: name, Type: gauge, Unit: unit, Grade: grade, Labels: []string{"gpu_uuid"}, Engines: withTriton(),
			Help: help + twice, Formula: formula, rule: copyOf{of},
		}
	}
	host := func(name, unit string, of engine.Signal, help, formula string) Family {
		return Family{Name: name, Type: gauge, Unit: unit, Grade: Sampled, Engines: withTriton(), Help: help, Formula: formula, rule: copyOf{of}}
	}
	energy := gpu("gpu_energy_joules_total", "joules", Exact, engine.GPUEnergy, "Energy the GPU used since the server started (source nv_energy_consumption).", "nv_energy_consumption")
	energy.Type = counter
	return []Family{
		gpu("gpu_utilization_ratio", "ratio", Sampled, engine.GPUUtilization, "Use of the GPU, 0 to 1, by all processes on it (source nv_gpu_utilization).", "nv_gpu_utilization"),
		gpu("gpu_memory_used_bytes", "bytes", Sampled, engine.GPUMemoryUsed, "Memory in use on the GPU, by all processes (source nv_gpu_memory_used_bytes).", "nv_gpu_memory_used_bytes"),
		gpu("gpu_memory_total_bytes", "bytes", Exact, engine.GPUMemoryTotal, "Memory the GPU has (source nv_gpu_memory_total_bytes).", "nv_gpu_memory_total_bytes"),
		gpu("gpu_power_watts", "watts", Sampled, engine.GPUPower, "Power the GPU draws (source nv_gpu_power_usage).", "nv_gpu_power_usage"),
		gpu("gpu_power_limit_watts", "watts", Exact, engine.GPUPowerLimit, "Most power the GPU may draw (source nv_gpu_power_limit).", "nv_gpu_power_limit"),
		energy,
		host("host_cpu_utilization_ratio", "ratio", engine.HostCPU, "Use of the host's processors, 0 to 1, by all processes (source nv_cpu_utilization).", "nv_cpu_utilization"),
		host("host_memory_used_bytes", "bytes", engine.HostMemoryUsed, "Memory in use on the host, by all processes (source nv_cpu_memory_used_bytes).", "nv_cpu_memory_used_bytes"),
		host("host_memory_total_bytes", "bytes", engine.HostMemoryTotal, "Memory the host has (source nv_cpu_memory_total_bytes).", "nv_cpu_memory_total_bytes"),
		host("pinned_memory_used_bytes", "bytes", engine.PinnedMemoryUsed, "Memory in use of Triton's pinned pool (source nv_pinned_memory_pool_used_bytes).", "nv_pinned_memory_pool_used_bytes"),
		host("pinned_memory_limit_bytes", "bytes", engine.PinnedMemoryLimit, "Memory of Triton's pinned pool (source nv_pinned_memory_pool_total_bytes).", "nv_pinned_memory_pool_total_bytes"),
	}
}

// replicaFamilies speak of the replica and of what its page can be trusted in.
func replicaFamilies() []Family {
	return []Family{
		{
			Name: "info", Type: gauge, Grade: Exact, Labels: []string{"engine_version", "trtllm_version", "trtllm_version_source"}, Engines: withEngines(),
			Help:    "1 with the versions of the replica and where the TensorRT-LLM version comes from: config, version_endpoint, model_parameter, compatibility_table or unknown.",
			Formula: "1", rule: info{},
		},
		{
			Name: "source_anomaly", Type: gauge, Grade: Exact, Labels: []string{"check", "model", "model_id"}, Engines: withExecutor(),
			Help:    "1 while what the server says cannot be true, by check, else 0: decoupled_durations, engine_zero, failures_survived_unload, flapping_gauges, frozen_counters, kv_blocks_mismatch, kv_fraction_mismatch. Values that it falsifies are absent meanwhile.",
			Formula: "see the checks below", rule: anomalies{},
		},
	}
}
