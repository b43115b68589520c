package engine

import (
	"slices"
	"sync"
)

// Signal is a quantity of a server. Rules read signals instead of the metric names of servers.
type Signal string

// Type is what a signal is, whatever server shows it.
type Type struct {
	Form  Form
	Scope Scope
	// Counter is true for a single value that only grows while the server runs.
	Counter bool
	// Executor is true for what TensorRT-LLM's executor sets with each iteration, counters included:
	// it is 0 before the first iteration, it stays when the executor hangs or its process ends, and
	// several executors in one server overwrite each other's.
	Executor bool
}

// Form is how many series make up one value of a signal.
type Form uint8

const (
	// Single is one series.
	Single Form = iota
	// Histogram is buckets, a sum and a count.
	Histogram
	// Summary is quantiles, a sum and a count.
	Summary
)

// Scope is what a signal measures.
type Scope uint8

// Scopes: the engine behind an entry model, a single model, or the server and its machine.
const (
	OfEngine Scope = iota
	OfModel
	OfServer
)

// Signals of engines that serve an entry model.
const (
	RequestsActive  Signal = "requests_active"
	RequestsRunning Signal = "requests_running"
	RequestsWaiting Signal = "requests_waiting"
	RequestsPrefill Signal = "requests_prefill"
	RequestsDecode  Signal = "requests_decode"
	RequestsPaused  Signal = "requests_paused"
	RequestsLimit   Signal = "requests_limit"
	RequestsStarted Signal = "requests_started_total"
	// RequestsOnce counts requests that ended, each once, where each of their completions counts as a finished one.
	RequestsOnce Signal = "requests_once_total"
	// RequestsOpen are those that the API of the server has accepted and not yet answered.
	RequestsOpen     Signal = "requests_open"
	RequestsFinished Signal = "requests_finished_total"
	RequestsFailed   Signal = "requests_failed_total"
	RequestsRejected Signal = "requests_rejected_total"
	RequestsMigrated Signal = "requests_migrated_total"
	// These count requests that a router sent to a stage, that ended, failed, and were retried.
	StageRequests     Signal = "stage_requests_total"
	StageEnded        Signal = "stage_ended_total"
	StageErrors       Signal = "stage_errors_total"
	StageRetries      Signal = "stage_retries_total"
	RequestsRouting   Signal = "requests_routing"
	ClientsGone       Signal = "clients_disconnected"
	RequestsCompleted Signal = "engine_requests_completed_total"

	RequestsWaitingReason Signal = "requests_waiting_by_reason"
	// RequestsDeferred are those of RequestsWaiting that wait for something else than capacity of the engine: a KV
	// cache that another server computes, the grammar of their output, a place for their adapter.
	RequestsDeferred Signal = "requests_deferred"
	// RequestsUnanswered are in flight without a token so far: they wait or are in prefill.
	RequestsUnanswered Signal = "requests_unanswered"
	// Preemptions counts requests that were removed from the batch for lack of KV cache.
	Preemptions Signal = "preemptions_total"
	// RequestsPreempted are the preemptions in the latest step that the server reports.
	RequestsPreempted Signal = "requests_preempted"
	// RequestsAborted counts the aborted requests among RequestsFinished.
	RequestsAborted Signal = "requests_aborted_total"
	// RequestsUnaborted counts requests that are known to have completed, a lower bound.
	RequestsUnaborted Signal = "requests_whole_total"
	// RequestsStreamed counts streamed requests, StreamsUnaborted the ones that completed.
	RequestsStreamed Signal = "requests_streamed_total"
	StreamsUnaborted Signal = "streams_whole_total"
	// RequestsTransfer wait for the capacity of another server, or for their KV cache from it.
	RequestsTransfer Signal = "requests_transfer"
	// RequestsHandedOn are computed, and wait until another server has their KV cache.
	RequestsHandedOn Signal = "requests_handed_on"

	PromptTokens       Signal = "prompt_tokens_total"
	GenerationTokens   Signal = "generation_tokens_total"
	CachedTokens       Signal = "prompt_tokens_cached_total"
	CachedTokensByTier Signal = "prompt_tokens_cached_by_tier_total"
	// PrefixHits and PrefixQueries count what was found of prompts in a cache and what was looked up, both in the
	// same unit, whether tokens or blocks.
	PrefixHits    Signal = "prefix_cache_hits_total"
	PrefixQueries Signal = "prefix_cache_queries_total"

	// These grow while requests run, for servers whose PromptTokens and GenerationTokens grow when
	// they end. The first generated token of each request is missing.
	PromptTokensLive     Signal = "prompt_tokens_live_total"
	GenerationTokensLive Signal = "generation_tokens_live_total"

	// CacheStated has the number of KV cache blocks and of tokens per block in its labels.
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
	KVHostTokensUsed   Signal = "kv_cache_host_tokens_used"
	KVHostTokensLimit  Signal = "kv_cache_host_tokens_limit"
	KVHostStatesUsed   Signal = "kv_cache_host_states_used"
	KVHostStatesLimit  Signal = "kv_cache_host_states_limit"
	KVHitRatio         Signal = "kv_cache_hit_ratio"
	KVIterationReuse   Signal = "kv_cache_iteration_reuse_ratio"
	Disaggregated      Signal = "disaggregated_requests_total"
	// These measure the KV caches that prefill servers send to decode servers.
	KVTransferSeconds   Signal = "kv_cache_transfer_seconds_total"
	KVTransferBytes     Signal = "kv_cache_transfer_bytes_total"
	KVTransferMebibytes Signal = "kv_cache_transfer_mebibytes_total"
	KVTransferFailures  Signal = "kv_cache_transfer_failures_total"

	EngineMemory     Signal = "engine_memory_bytes"
	EngineIterations Signal = "engine_iterations_total"
	EngineLastIter   Signal = "engine_last_iteration_timestamp_seconds"
	// EngineHeartbeat is when the engine was last read. StatedVersion has a version in a label.
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

	// These show the limits of a router's workers, and the blocks in use of each.
	WorkerRequestsLimit Signal = "worker_requests_limit"
	WorkerKVBlocks      Signal = "worker_kv_cache_blocks"
	WorkerKVBlocksUsed  Signal = "worker_kv_cache_blocks_used"
	// EngineRanks counts the data-parallel ranks of an engine, which are like workers of a router.
	EngineRanks Signal = "engine_ranks"

	// EngineAwake is 0 while an engine sleeps: it has released its memory.
	EngineAwake Signal = "engine_awake"
	// AdaptersWritten is the Unix time at which the labels were written. The latest one counts.
	AdaptersWritten Signal = "adapters_written_timestamp_seconds"

	// ModelRoutable is 1 while requests for a model can be routed.
	ModelRoutable Signal = "model_routable"

	ModelConfig       Signal = "model_config_info"
	ParallelConfig    Signal = "parallel_config_info"
	SpeculativeConfig Signal = "speculative_config_info"
	CacheConfig       Signal = "kv_cache_config_info"
)

// Signals of engines that are histograms, usually with one observation per request.
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

// Signals of single models of a server.
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

// Signals of a server's machine.
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

// types returns the type of each signal that pages show; signals of the API have none.
//
//nolint:gochecknoglobals // constant data, built on first use.
var types = sync.OnceValue(func() map[Signal]Type {
	all := make(map[Signal]Type)
	for t, signals := range map[Type][]Signal{
		{Form: Single, Scope: OfEngine}: {
			RequestsOpen, RequestsRouting, RequestsWaitingReason, RequestsUnanswered, RequestsPreempted,
			RequestsTransfer, RequestsHandedOn, RequestsDeferred, CacheStated, KVTokensLimit, KVTokensUsed, KVTokensFree,
			KVHostUtilization, KVHostTokensUsed, KVHostTokensLimit, KVHostStatesUsed, KVHostStatesLimit, KVHitRatio,
			KVIterationReuse, EngineHeartbeat, StatedVersion, DecodedAverage, IterationBatch, BatchLimit,
			BatchTokensLimit, SpecLength, SpecOverhead,
			WorkerRequestsLimit,
			WorkerKVBlocks, WorkerKVBlocksUsed, EngineRanks, EngineAwake, AdaptersWritten, ModelRoutable,
			ModelConfig, ParallelConfig, SpeculativeConfig, CacheConfig, HTTPAnswers, WeightUpdates,
			CallsOpen, OperationsOpen,
		},
		{Form: Single, Scope: OfEngine, Executor: true}: {
			RequestsActive, RequestsRunning, RequestsWaiting, RequestsPrefill, RequestsDecode, RequestsPaused,
			RequestsLimit, KVBlocksLimit, KVBlocksUsed, KVBlocksFree, KVBlockTokens, KVUtilization, EngineMemory,
			EngineLastIter, IterationDuration, ContextTokens, PrefillOccupancy, StaticGeneration, StaticFreeSlots,
		},
		{Form: Single, Scope: OfEngine, Counter: true, Executor: true}: {
			EngineIterations, KVBlocksReused,
		},
		{Form: Single, Scope: OfEngine, Counter: true}: {
			RequestsStarted, RequestsOnce, AnsweredWell, SocketsOpened, RequestsFinished, RequestsFailed, RequestsRejected,
			RequestsMigrated,
			StageRequests, StageEnded, StageErrors, StageRetries, RequestsCompleted, Preemptions, RequestsAborted,
			RequestsUnaborted, RequestsStreamed, StreamsUnaborted, PromptTokens, GenerationTokens, CachedTokens,
			CachedTokensByTier, PrefixHits, PrefixQueries, PromptTokensLive, GenerationTokensLive, KVBlocksMissed,
			KVBlocksAllocated, KVBlocksPrefetched, KVOnboardBytes, KVOffloadBytes, KVCopyBytes, Disaggregated,
			KVTransferSeconds, KVTransferBytes, KVTransferMebibytes, KVTransferFailures, SpecDraft, SpecAccepted,
			SpecDraftPosition, SpecAcceptedPosition,
		},
		{Form: Single, Scope: OfModel}: {
			ModelPending, ModelLoadSeconds,
		},
		{Form: Single, Scope: OfModel, Counter: true}: {
			ModelSuccess, ModelFailed, ModelInferences, ModelExecutions, ModelRequestSeconds, ModelQueueSeconds,
			ModelComputeSeconds, ModelCacheHits, ModelCacheMisses, ModelCacheHitSeconds, ModelCacheMissSeconds,
		},
		{Form: Single, Scope: OfServer}: {
			PinnedMemoryUsed, PinnedMemoryLimit, GPUUtilization, GPUMemoryUsed, GPUMemoryTotal, GPUPower,
			GPUPowerLimit, HostCPU, HostMemoryUsed, HostMemoryTotal, ProcessStarted,
		},
		{Form: Single, Scope: OfServer, Counter: true}: {
			ClientsGone, GPUEnergy, ProcessUptime,
		},
		{Form: Histogram, Scope: OfEngine}: {
			RequestDuration, FirstToken, OutputToken, InterToken, RequestQueue, RequestPrefill, RequestDecode,
			RequestInference, RequestPromptTokens, RequestOutputTokens, RequestCachedTokens, PrefillTokens,
			PrefillPerplexity, OutputPerplexity,
		},
		{Form: Histogram, Scope: OfModel}: {
			ModelFirstResponse, ModelRequestTimes,
		},
		{Form: Summary, Scope: OfModel}: {
			ModelRequestDuration, ModelQueueDuration, ModelInputDuration, ModelInferDuration, ModelOutputDuration,
			ModelCacheHitTimes, ModelCacheMissTimes,
		},
	} {
		for _, signal := range signals {
			all[signal] = t
		}
	}
	return all
})

// IsShare reports whether the signal is a part of a whole, which is at most 1.
func (s Signal) IsShare() bool {
	return slices.Contains([]Signal{
		KVUtilization, KVHostUtilization, KVHitRatio, KVIterationReuse, GPUUtilization,
	}, s)
}

// Adds reports whether several series of one model add up. Shares, means and the tokens of a block do not: two
// ranks with half of their caches in use have half in use.
func (s Signal) Adds() bool {
	switch s { //nolint:exhaustive // The others add up.
	case KVBlockTokens, EngineAwake, SpecLength, DecodedAverage:
		return false
	}
	return !s.IsShare()
}

// Type returns the type of a signal, zero if pages do not show it.
func (s Signal) Type() Type { return types()[s] }

// sized reports whether 0 means that the value is unknown: sizes and limits, sensors of GPUs in use,
// and means that are 1 at least.
func (s Signal) sized() bool {
	switch s { //nolint:exhaustive // The others may be 0.
	case RequestsLimit, WorkerRequestsLimit, BatchLimit, BatchTokensLimit,
		KVBlocksLimit, WorkerKVBlocks, KVTokensLimit, KVHostTokensLimit, KVHostStatesLimit, KVBlockTokens,
		GPUMemoryTotal, GPUPower, GPUPowerLimit, GPUEnergy, HostMemoryTotal, PinnedMemoryLimit,
		SpecLength, DecodedAverage:
		return true
	}
	return false
}

// Times returns the signals of times in which something is computed: what is 0 for all requests, the server did not
// measure (vllm-project/vllm#6337). A wait may take none.
func Times() []Signal {
	return []Signal{
		RequestDuration, FirstToken, OutputToken, InterToken, RequestPrefill, RequestDecode, RequestInference,
	}
}

// TakesTime reports whether the signal is one of [Times].
func (s Signal) TakesTime() bool { return slices.Contains(Times(), s) }

// Size returns the signal of the size that the value is a part of, empty if there is none. While the
// size is unknown, so is the part.
func (s Signal) Size() Signal {
	switch s { //nolint:exhaustive // The others are no parts.
	case KVBlocksUsed, KVBlocksFree:
		return KVBlocksLimit
	case KVTokensUsed, KVTokensFree:
		return KVTokensLimit
	case GPUMemoryUsed:
		return GPUMemoryTotal
	case HostMemoryUsed:
		return HostMemoryTotal
	case PinnedMemoryUsed:
		return PinnedMemoryLimit
	}
	return ""
}

// Signals of the process behind a page: its start, and its uptime with labels that name it.
const (
	ProcessStarted Signal = "process_started_timestamp_seconds"
	ProcessUptime  Signal = "process_uptime_seconds"
)

// WeightUpdates are requests, not yet answered, that replace the weights of the model.
const WeightUpdates Signal = "weight_updates"

// CallsOpen are the calls of an API that are not yet answered: [RequestsOpen], and those that ask no model.
const CallsOpen Signal = "calls_open"

// OperationsOpen are calls of an operator, not yet answered, that the engine carries out between its steps: to put
// it to sleep, to replace its weights.
const OperationsOpen Signal = "operations_open"

// AnsweredWell counts answers of an API, with a status of success, to requests that ask a model. A request may
// end several times in the engine, or end well there and be answered with an error; and one may be answered whose
// client has left.
const AnsweredWell Signal = "answered_well_total"

// SocketsOpened counts connections of clients over each of which requests may come that are no calls of the API,
// so that [AnsweredWell] misses them.
const SocketsOpened Signal = "sockets_opened_total"

// HTTPAnswers counts answers of an API by route and status: those of the routes that ask a model are
// counted too, as soon as there are any.
const HTTPAnswers Signal = "http_answers_total"

// Signals from the API.
const (
	// AnswersHealth and AnswersLive are readiness and liveness.
	AnswersHealth Signal = "answers_health"
	AnswersLive   Signal = "answers_live"
	// AnswersIndex is a list of models with states, AnswersModels any list of models.
	AnswersIndex  Signal = "answers_index"
	AnswersConfig Signal = "answers_config"
	AnswersModels Signal = "answers_models"
	// AnswersStream is a streamed answer to the canary.
	AnswersStream Signal = "answers_stream"
	// AnswersIterations are statistics of iterations.
	AnswersIterations Signal = "answers_iterations"
	// FailuresCounted is present for kinds whose [Kind.CountsFailures] can be true.
	FailuresCounted Signal = "failures_counted"
)

// Quirks are peculiarities of a server's numbers that rules must know.
type Quirks struct {
	// ActiveHoldsWaiting is true if [RequestsActive] includes [RequestsWaiting].
	ActiveHoldsWaiting bool
	// GaugesWhenRequestsEnd is true if an idle server shows the gauges of its last request.
	GaugesWhenRequestsEnd bool
	// SeriesOutliveModels is true if all series except [ModelSuccess] stay after an unload, stale.
	SeriesOutliveModels bool
	// CountersAppear is true if counters appear with their first event: an absent one is 0.
	CountersAppear bool
	// RefusedFailed is true if rejections for lack of capacity cannot be told from failures.
	RefusedFailed bool
	// AbortsRepeated is true if [RequestsAborted] counts most requests that completed.
	AbortsRepeated bool
	// AnswersAll is true if an API that counts its answers answers all requests of the engine, so that none ends
	// well without one, and a status without a counter had no answer.
	AnswersAll bool
}
