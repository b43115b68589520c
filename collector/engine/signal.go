package engine

// The signals of engines that serve an entry model.
const (
	RequestsActive    Signal = "requests_active"
	RequestsRunning   Signal = "requests_running"
	RequestsWaiting   Signal = "requests_waiting"
	RequestsPrefill   Signal = "requests_prefill"
	RequestsDecode    Signal = "requests_decode"
	RequestsPaused    Signal = "requests_paused"
	RequestsLimit     Signal = "requests_limit"
	RequestsFinished  Signal = "requests_finished_total"
	PromptTokens      Signal = "prompt_tokens_total"
	GenerationTokens  Signal = "generation_tokens_total"
	TokenRequests     Signal = "token_requests"
	KVBlocksLimit     Signal = "kv_cache_blocks_limit"
	KVBlocksUsed      Signal = "kv_cache_blocks_used"
	KVBlocksFree      Signal = "kv_cache_blocks_free"
	KVBlockTokens     Signal = "kv_cache_block_tokens"
	KVBlocksReused    Signal = "kv_cache_blocks_reused_total"
	KVBlocksMissed    Signal = "kv_cache_blocks_missed_total"
	KVUtilization     Signal = "kv_cache_utilization_ratio"
	EngineMemory      Signal = "engine_memory_bytes"
	EngineIterations  Signal = "engine_iterations_total"
	EngineLastIter    Signal = "engine_last_iteration_timestamp_seconds"
	ContextTokens     Signal = "iteration_context_tokens"
	V1Generation      Signal = "iteration_generation_tokens"
	V1FreeSlots       Signal = "generation_slots_free"
	KVTransferSeconds Signal = "kv_cache_transfer_seconds_total"
	Disaggregated     Signal = "disaggregated_requests_total"
)

// The signals of single models of a server.
const (
	ModelSuccess         Signal = "model_requests_success_total"
	ModelFailed          Signal = "model_requests_failed_total"
	ModelInferences      Signal = "model_inferences_total"
	ModelExecutions      Signal = "model_executions_total"
	ModelPending         Signal = "model_requests_pending"
	ModelRequestSeconds  Signal = "model_request_seconds_total"
	ModelQueueSeconds    Signal = "model_queue_seconds_total"
	ModelComputeSeconds  Signal = "model_compute_seconds_total"
	ModelLoadSeconds     Signal = "model_load_duration_seconds"
	ModelCacheHits       Signal = "model_response_cache_hits_total"
	ModelCacheMisses     Signal = "model_response_cache_misses_total"
	ModelCacheHitSeconds Signal = "model_response_cache_hit_seconds_total"
	ModelCacheMissSecond Signal = "model_response_cache_miss_seconds_total"
)

// The signals of a server's machine.
const (
	PinnedMemoryUsed  Signal = "pinned_memory_used_bytes"
	PinnedMemoryLimit Signal = "pinned_memory_limit_bytes"
	GPUUtilization    Signal = "gpu_utilization_ratio"
	GPUMemoryUsed     Signal = "gpu_memory_used_bytes"
	GPUMemoryTotal    Signal = "gpu_memory_total_bytes"
	GPUPower          Signal = "gpu_power_watts"
	GPUPowerLimit     Signal = "gpu_power_limit_watts"
	GPUEnergy         Signal = "gpu_energy_joules_total"
	HostCPU           Signal = "host_cpu_utilization_ratio"
	HostMemoryUsed    Signal = "host_memory_used_bytes"
	HostMemoryTotal   Signal = "host_memory_total_bytes"
)
