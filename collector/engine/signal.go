package engine

// Signal is one quantity of a server in our words; rules read signals and
// know nothing of the names that servers use.
type Signal string

// The signals of engines that serve an entry model.
const (
	RequestsActive   Signal = "requests_active"
	RequestsRunning  Signal = "requests_running"
	RequestsWaiting  Signal = "requests_waiting"
	RequestsPrefill  Signal = "requests_prefill"
	RequestsDecode   Signal = "requests_decode"
	RequestsPaused   Signal = "requests_paused"
	RequestsLimit    Signal = "requests_limit"
	RequestsStarted  Signal = "requests_started_total"
	RequestsFinished Signal = "requests_finished_total"
	RequestsFailed   Signal = "requests_failed_total"
	RequestsRejected Signal = "requests_rejected_total"
	RequestsMigrated Signal = "requests_migrated_total"
	// StageRequests and the others are what a router sent to the servers of one stage,
	// what failed there, and what it sent again.
	StageRequests     Signal = "stage_requests_total"
	StageErrors       Signal = "stage_errors_total"
	StageRetries      Signal = "stage_retries_total"
	RequestsRouting   Signal = "requests_routing"
	ClientsGone       Signal = "clients_disconnected"
	RequestsCompleted Signal = "engine_requests_completed_total"

	RequestsWaitingReason Signal = "requests_waiting_by_reason"
	// RequestsUnanswered are those in flight of which no token came: they wait, or their
	// prompt is worked on.
	RequestsUnanswered Signal = "requests_unanswered"
	// Preemptions are requests that lost their place in the batch to others, for
	// want of KV cache.
	Preemptions Signal = "preemptions_total"
	// RequestsPreempted are those of the last step that the server reports.
	RequestsPreempted Signal = "requests_preempted"
	// RequestsAborted are requests that were given up, and are among those that
	// finished.
	RequestsAborted Signal = "requests_aborted_total"
	// RequestsWhole are requests that came to their own end, as far as they were
	// measured: at least so many of those that finished were not given up.
	RequestsWhole Signal = "requests_whole_total"
	// RequestsStreamed are the streamed ones of those that finished, StreamsWhole those
	// of them that came to their own end.
	RequestsStreamed Signal = "requests_streamed_total"
	StreamsWhole     Signal = "streams_whole_total"
	// RequestsTransfer wait for another server: for its room, or for their KV cache
	// from it.
	RequestsTransfer Signal = "requests_transfer"

	PromptTokens       Signal = "prompt_tokens_total"
	GenerationTokens   Signal = "generation_tokens_total"
	CachedTokens       Signal = "prompt_tokens_cached_total"
	CachedTokensByTier Signal = "prompt_tokens_cached_by_tier_total"

	// PromptTokensLive and GenerationTokensLive move while requests run, where
	// PromptTokens and GenerationTokens move when they end; the first generated
	// token of each request is missing.
	PromptTokensLive     Signal = "prompt_tokens_live_total"
	GenerationTokensLive Signal = "generation_tokens_live_total"

	// CacheStated has labels that state how many blocks the KV cache has, and how
	// many tokens each holds.
	CacheStated        Signal = "kv_cache_stated_info"
	KVTokensLimit      Signal = "kv_cache_tokens_limit"
	KVTokensUsed       Signal = "kv_cache_tokens_used"
	KVTokensFree       Signal = "kv_cache_tokens_free"
	KVBlocksLimit      Signal = "kv_cache_blocks_limit"
	KVBlocksUsed       Signal = "kv_cache_blocks_used"
	KVBlocksFree       Signal = "kv_cache_blocks_free"
	KVBlockTokens      Signal = "kv_cache_block_tokens"
	KVBlocksReused     Signal = "kv_cache_blocks_reused_total"
	KVBlocksMissed     Signal = "kv_cache_blocks_missed_total"
	KVBlocksAllocated  Signal = "kv_cache_blocks_generation_allocated_total"
	KVBlocksPrefetched Signal = "kv_cache_disk_prefetch_blocks_total"
	KVOnboardBytes     Signal = "kv_cache_onboard_bytes_total"
	KVOffloadBytes     Signal = "kv_cache_offload_bytes_total"
	KVCopyBytes        Signal = "kv_cache_intra_device_copy_bytes_total"
	KVUtilization      Signal = "kv_cache_utilization_ratio"
	KVHostUtilization  Signal = "kv_cache_host_utilization_ratio"
	KVHitRatio         Signal = "kv_cache_hit_ratio"
	KVIterationReuse   Signal = "kv_cache_iteration_reuse_ratio"
	Disaggregated      Signal = "disaggregated_requests_total"
	// KVTransferSeconds and the others are of the KV caches that prefill and decode
	// servers hand to one another; a server counts their size in bytes or in mebibytes.
	KVTransferSeconds   Signal = "kv_cache_transfer_seconds_total"
	KVTransferBytes     Signal = "kv_cache_transfer_bytes_total"
	KVTransferMebibytes Signal = "kv_cache_transfer_mebibytes_total"
	KVTransferFailures  Signal = "kv_cache_transfer_failures_total"

	EngineMemory     Signal = "engine_memory_bytes"
	EngineIterations Signal = "engine_iterations_total"
	EngineLastIter   Signal = "engine_last_iteration_timestamp_seconds"
	// EngineHeartbeat is when what measures an engine last read it: while it stands
	// still, so does all that it shows. StatedVersion names TensorRT-LLM's version.
	EngineHeartbeat   Signal = "engine_heartbeat_timestamp_seconds"
	StatedVersion     Signal = "stated_version_info"
	IterationDuration Signal = "engine_iteration_duration_seconds"
	ContextTokens     Signal = "iteration_context_tokens"
	DecodedAverage    Signal = "iteration_decoded_tokens_average"
	IterationBatch    Signal = "iteration_batch_size"
	PrefillOccupancy  Signal = "prefill_occupancy_ratio"
	StaticGeneration  Signal = "iteration_generation_tokens"
	StaticFreeSlots   Signal = "generation_slots_free"
	BatchLimit        Signal = "batch_size_limit"
	BatchTokensLimit  Signal = "batch_tokens_limit"

	SpecDraft            Signal = "spec_decode_draft_tokens_total"
	SpecAccepted         Signal = "spec_decode_accepted_tokens_total"
	SpecDraftPosition    Signal = "spec_decode_draft_tokens_by_position_total"
	SpecAcceptedPosition Signal = "spec_decode_accepted_tokens_by_position_total"
	SpecLength           Signal = "spec_decode_acceptance_length"
	SpecOverhead         Signal = "spec_decode_draft_overhead_ratio"

	// WorkerRequestsLimit and the others are what a router knows of its workers:
	// the limits of one, and what is used of each.
	WorkerRequestsLimit Signal = "worker_requests_limit"
	WorkerKVBlocks      Signal = "worker_kv_cache_blocks"
	WorkerKVBlocksUsed  Signal = "worker_kv_cache_blocks_used"
	// EngineRanks are the ranks of an engine each of which has requests of its own:
	// what it knows of one of them is as what a router knows of a worker.
	EngineRanks Signal = "engine_ranks"

	// EngineAwake is 0 while an engine has given its memory away until it is woken.
	EngineAwake Signal = "engine_awake"
	// AdaptersWritten is when adapters were last in use as the labels say, as a
	// Unix time: of several series the latest holds.
	AdaptersWritten Signal = "adapters_written_timestamp_seconds"

	// ModelRoutable is 1 while requests for a model can be sent anywhere.
	ModelRoutable Signal = "model_routable"

	ModelConfig       Signal = "model_config_info"
	ParallelConfig    Signal = "parallel_config_info"
	SpeculativeConfig Signal = "speculative_config_info"
	CacheConfig       Signal = "kv_cache_config_info"
)

// The signals of engines that are histograms, one observation a request
// unless their name says otherwise.
const (
	RequestDuration     Signal = "request_duration_seconds"
	FirstToken          Signal = "time_to_first_token_seconds"
	OutputToken         Signal = "time_per_output_token_seconds"
	InterToken          Signal = "inter_token_latency_seconds"
	RequestQueue        Signal = "request_queue_seconds"
	RequestPrefill      Signal = "request_prefill_seconds"
	RequestDecode       Signal = "request_decode_seconds"
	RequestInference    Signal = "request_inference_seconds"
	RequestPromptTokens Signal = "request_prompt_tokens"
	RequestOutputTokens Signal = "request_generation_tokens"
	RequestCachedTokens Signal = "request_prompt_cached_tokens"
	PrefillTokens       Signal = "iteration_prefill_tokens"
	PrefillPerplexity   Signal = "prefill_perplexity"
	OutputPerplexity    Signal = "generation_perplexity"
)

// The signals of single models of a server.
const (
	ModelSuccess          Signal = "model_requests_success_total"
	ModelFailed           Signal = "model_requests_failed_total"
	ModelInferences       Signal = "model_inferences_total"
	ModelExecutions       Signal = "model_executions_total"
	ModelPending          Signal = "model_requests_pending"
	ModelRequestSeconds   Signal = "model_request_seconds_total"
	ModelQueueSeconds     Signal = "model_queue_seconds_total"
	ModelComputeSeconds   Signal = "model_compute_seconds_total"
	ModelFirstResponse    Signal = "model_first_response_seconds"
	ModelRequestDuration  Signal = "model_request_duration_seconds"
	ModelRequestTimes     Signal = "model_request_duration_histogram_seconds"
	ModelQueueDuration    Signal = "model_queue_duration_seconds"
	ModelInputDuration    Signal = "model_compute_input_duration_seconds"
	ModelInferDuration    Signal = "model_compute_infer_duration_seconds"
	ModelOutputDuration   Signal = "model_compute_output_duration_seconds"
	ModelLoadSeconds      Signal = "model_load_duration_seconds"
	ModelCacheHits        Signal = "model_response_cache_hits_total"
	ModelCacheMisses      Signal = "model_response_cache_misses_total"
	ModelCacheHitSeconds  Signal = "model_response_cache_hit_seconds_total"
	ModelCacheMissSeconds Signal = "model_response_cache_miss_seconds_total"
	ModelCacheHitTimes    Signal = "model_response_cache_hit_duration_seconds"
	ModelCacheMissTimes   Signal = "model_response_cache_miss_duration_seconds"
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

// The signals of the process that shows a page: when it began, as a Unix time, and
// how long ago that was, by labels that name it.
const (
	ProcessStarted Signal = "process_started_timestamp_seconds"
	ProcessUptime  Signal = "process_uptime_seconds"
)

// What servers answer over their API, for families that are made of it.
const (
	// AnswersHealth says that the server says whether it is ready, AnswersLive
	// that it says whether it is live.
	AnswersHealth Signal = "answers_health"
	AnswersLive   Signal = "answers_live"
	// AnswersIndex is a list of models with their states, AnswersConfig the
	// config of a model, AnswersModels a list of any kind.
	AnswersIndex  Signal = "answers_index"
	AnswersConfig Signal = "answers_config"
	AnswersModels Signal = "answers_models"
	// AnswersStream says that the canary can ask for a streamed answer.
	AnswersStream Signal = "answers_stream"
	// AnswersIterations are statistics of iterations.
	AnswersIterations Signal = "answers_iterations"
	// FailuresCounted says that the page of some server of the kind shows that all
	// failures are counted: [Engine.CountsFailures].
	FailuresCounted Signal = "failures_counted"
)

// Quirks are ways of a kind's numbers that rules have to know.
type Quirks struct {
	// ActiveHoldsWaiting says that [RequestsActive] counts [RequestsWaiting] too.
	ActiveHoldsWaiting bool
	// GaugesWhenRequestsEnd says that gauges are read only when a request ends:
	// those of an idle server are of its last request.
	GaugesWhenRequestsEnd bool
	// SeriesOutliveModels says that series of a model stay on the page, frozen,
	// after its unload, all but [ModelSuccess].
	SeriesOutliveModels bool
	// CountersAppear says that a counter comes with its first event: one that the
	// page does not have yet is 0.
	CountersAppear bool
	// RefusedFailed says that requests that are refused for want of room count as
	// failed by the server, and nothing tells them apart.
	RefusedFailed bool
}
