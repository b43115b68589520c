package engine

import (
	"slices"
	"sync"
)

// Signal is a quantity of a server. Rules read signals instead of the metric names of servers. It is a number, so that
// what pages show is found by place, and has a name where text is read or written.
type Signal uint16

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

// Signals of pages, of the process behind one, and of the API. What each is called is in [descriptions].
const (
	// NoSignal is none.
	NoSignal Signal = iota

	// Signals of engines that serve an entry model.

	RequestsActive
	RequestsRunning
	RequestsWaiting
	RequestsPrefill
	RequestsDecode
	RequestsPaused
	RequestsLimit
	RequestsStarted
	// RequestsOnce counts requests that ended, each once, where each of their completions counts as a finished one.
	RequestsOnce
	// AnswerBytes are the bytes of answers, also of those that are errors, and of their ends.
	AnswerBytes
	// RequestsOpen are those that the API of the server has accepted and not yet answered.
	RequestsOpen
	RequestsFinished
	RequestsFailed
	RequestsRejected
	RequestsMigrated
	// These count requests that a router sent to a stage, that ended, failed, and were retried.
	StageRequests
	StageEnded
	StageErrors
	StageRetries
	RequestsRouting
	ClientsGone
	RequestsCompleted

	RequestsWaitingReason
	// RequestsDeferred are those of RequestsWaiting that wait for something else than capacity of the engine: a KV
	// cache that another server computes, the grammar of their output, a place for their adapter.
	RequestsDeferred
	// RequestsUnanswered are in flight without a token so far: they wait or are in prefill.
	RequestsUnanswered
	// Preemptions counts requests that were removed from the batch for lack of KV cache.
	Preemptions
	// RequestsPreempted are the preemptions in the latest step that the server reports.
	RequestsPreempted
	// RequestsAborted counts the aborted requests among RequestsFinished.
	RequestsAborted
	// RequestsUnaborted counts requests that are known to have completed, a lower bound.
	RequestsUnaborted
	// RequestsStreamed counts streamed requests, StreamsUnaborted the ones that completed.
	RequestsStreamed
	StreamsUnaborted
	// RequestsTransfer wait for the capacity of another server, or for their KV cache from it.
	RequestsTransfer
	// RequestsHandedOn are computed, and wait until another server has their KV cache.
	RequestsHandedOn

	PromptTokens
	GenerationTokens
	CachedTokens
	CachedTokensByTier
	// PrefixHits and PrefixQueries count what was found of prompts in a cache and what was looked up, both in the
	// same unit, whether tokens or blocks.
	PrefixHits
	PrefixQueries

	// These grow while requests run, for servers whose PromptTokens and GenerationTokens grow when
	// they end. The first generated token of each request is missing.
	PromptTokensLive
	GenerationTokensLive

	// CacheStated has the number of KV cache blocks and of tokens per block in its labels.
	CacheStated
	KVTokensLimit
	KVTokensUsed
	KVTokensFree
	KVBlocksLimit
	KVBlocksUsed
	KVBlocksFree
	KVBlockTokens
	KVBlocksReused
	KVBlocksMissed
	KVBlocksAllocated
	KVBlocksPrefetched
	KVOnboardBytes
	KVOffloadBytes
	KVCopyBytes
	KVUtilization
	KVHostUtilization
	KVHostTokensUsed
	KVHostTokensLimit
	KVHostStatesUsed
	KVHostStatesLimit
	KVHitRatio
	KVIterationReuse
	Disaggregated
	// These measure the KV caches that prefill servers send to decode servers.
	KVTransferSeconds
	KVTransferBytes
	KVTransferMebibytes
	KVTransferFailures

	EngineMemory
	EngineIterations
	// EngineOutputs counts an iteration once for each process of the API that got something of it.
	EngineOutputs
	EngineLastIter
	// EngineHeartbeat is when the engine was last read. StatedVersion has a version in a label.
	EngineHeartbeat
	StatedVersion
	IterationDuration
	ContextTokens
	DecodedAverage
	IterationBatch
	PrefillOccupancy
	StaticGeneration
	StaticFreeSlots
	BatchLimit
	BatchTokensLimit

	SpecDraft
	SpecAccepted
	SpecDraftPosition
	SpecAcceptedPosition
	SpecLength
	SpecRate
	SpecOverhead

	// These show the limits of a router's workers, and the blocks in use of each.
	WorkerRequestsLimit
	WorkerKVBlocks
	WorkerKVBlocksUsed
	// EngineRanks counts the data-parallel ranks of an engine, which are like workers of a router.
	EngineRanks

	// EngineAwake is 0 while an engine sleeps: it has released its memory.
	EngineAwake
	// AdaptersWritten is the Unix time at which the labels were written. The latest one counts.
	AdaptersWritten

	// ModelRoutable is 1 while requests for a model can be routed.
	ModelRoutable

	ModelConfig
	ParallelConfig
	SpeculativeConfig
	CacheConfig

	// Signals of engines that are histograms, usually with one observation per request.

	RequestDuration
	FirstToken
	OutputToken
	InterToken
	RequestQueue
	RequestPrefill
	RequestDecode
	RequestInference
	RequestPromptTokens
	RequestOutputTokens
	RequestCachedTokens
	PrefillTokens
	PrefillPerplexity
	OutputPerplexity

	// Signals of single models of a server.

	ModelSuccess
	ModelFailed
	ModelInferences
	ModelExecutions
	ModelPending
	ModelRequestSeconds
	ModelQueueSeconds
	ModelComputeSeconds
	ModelFirstResponse
	ModelRequestDuration
	ModelRequestTimes
	ModelQueueDuration
	ModelInputDuration
	ModelInferDuration
	ModelOutputDuration
	ModelLoadSeconds
	ModelCacheHits
	ModelCacheMisses
	ModelCacheHitSeconds
	ModelCacheMissSeconds
	ModelCacheHitTimes
	ModelCacheMissTimes

	// Signals of a server's machine.

	PinnedMemoryUsed
	PinnedMemoryLimit
	GPUUtilization
	GPUMemoryUsed
	GPUMemoryTotal
	GPUPower
	GPUPowerLimit
	GPUEnergy
	HostCPU
	HostMemoryUsed
	HostMemoryTotal

	// Signals of the process behind a page: its start, and its uptime with labels that name it.

	ProcessStarted
	ProcessUptime

	// Signals from the API.

	// AnswersHealth and AnswersLive are readiness and liveness.
	AnswersHealth
	AnswersLive
	// AnswersIndex is a list of models with states, AnswersModels any list of models.
	AnswersIndex
	AnswersConfig
	AnswersModels
	// AnswersStream is a streamed answer to the canary.
	AnswersStream
	// AnswersIterations are statistics of iterations.
	AnswersIterations
	// FailuresCounted is present for kinds whose [Kind.CountsFailures] can be true.
	FailuresCounted

	// WeightUpdates are requests, not yet answered, that replace the weights of the model.
	WeightUpdates

	// CallsOpen are the calls of an API that are not yet answered: [RequestsOpen], and those that ask no model.
	CallsOpen

	// OperationsOpen are calls of an operator, not yet answered, that the engine carries out between its steps: to put
	// it to sleep, to replace its weights.
	OperationsOpen

	// AnsweredWell counts answers of an API, with a status of success, to requests that ask a model. A request may
	// end several times in the engine, or end well there and be answered with an error; and one may be answered whose
	// client has left.
	AnsweredWell

	// SocketsOpened counts connections of clients over each of which requests may come that are no calls of the API,
	// so that [AnsweredWell] misses them.
	SocketsOpened

	// HTTPAnswers counts answers of an API by route and status: those of the routes that ask a model are
	// counted too, as soon as there are any.
	HTTPAnswers

	// UnloadedFailures are [ModelFailed] of a model that is no longer loaded. No series has it for its meaning.
	UnloadedFailures

	// SignalCount is the number of signals, with NoSignal.
	SignalCount
)

// description is what a signal is called and what it is. Only signals of pages have a type.
type description struct {
	name   string
	typ    Type
	ofPage bool
}

// descriptions returns what each signal is.
//
//nolint:gochecknoglobals // constant data, built on first use.
var descriptions = sync.OnceValue(func() []description {
	all := make([]description, SignalCount)
	for t, signals := range map[Type]map[Signal]string{
		{Form: Single, Scope: OfEngine}: {
			RequestsOpen:          "requests_open",
			RequestsRouting:       "requests_routing",
			RequestsWaitingReason: "requests_waiting_by_reason",
			RequestsUnanswered:    "requests_unanswered",
			RequestsPreempted:     "requests_preempted",
			RequestsTransfer:      "requests_transfer",
			RequestsHandedOn:      "requests_handed_on",
			RequestsDeferred:      "requests_deferred",
			CacheStated:           "kv_cache_stated_info",
			KVTokensLimit:         "kv_cache_tokens_limit",
			KVTokensUsed:          "kv_cache_tokens_used",
			KVTokensFree:          "kv_cache_tokens_free",
			KVHostUtilization:     "kv_cache_host_utilization_ratio",
			KVHostTokensUsed:      "kv_cache_host_tokens_used",
			KVHostTokensLimit:     "kv_cache_host_tokens_limit",
			KVHostStatesUsed:      "kv_cache_host_states_used",
			KVHostStatesLimit:     "kv_cache_host_states_limit",
			KVHitRatio:            "kv_cache_hit_ratio",
			KVIterationReuse:      "kv_cache_iteration_reuse_ratio",
			EngineHeartbeat:       "engine_heartbeat_timestamp_seconds",
			StatedVersion:         "stated_version_info",
			DecodedAverage:        "iteration_decoded_tokens_average",
			IterationBatch:        "iteration_batch_size",
			BatchLimit:            "batch_size_limit",
			BatchTokensLimit:      "batch_tokens_limit",
			SpecLength:            "spec_decode_acceptance_length",
			SpecRate:              "spec_decode_latest_acceptance_ratio",
			SpecOverhead:          "spec_decode_draft_overhead_ratio",
			WorkerRequestsLimit:   "worker_requests_limit",
			WorkerKVBlocks:        "worker_kv_cache_blocks",
			WorkerKVBlocksUsed:    "worker_kv_cache_blocks_used",
			EngineRanks:           "engine_ranks",
			EngineAwake:           "engine_awake",
			AdaptersWritten:       "adapters_written_timestamp_seconds",
			ModelRoutable:         "model_routable",
			ModelConfig:           "model_config_info",
			ParallelConfig:        "parallel_config_info",
			SpeculativeConfig:     "speculative_config_info",
			CacheConfig:           "kv_cache_config_info",
			HTTPAnswers:           "http_answers_total",
			WeightUpdates:         "weight_updates",
			CallsOpen:             "calls_open",
			OperationsOpen:        "operations_open",
		},
		{Form: Single, Scope: OfEngine, Executor: true}: {
			RequestsActive:    "requests_active",
			RequestsRunning:   "requests_running",
			RequestsWaiting:   "requests_waiting",
			RequestsPrefill:   "requests_prefill",
			RequestsDecode:    "requests_decode",
			RequestsPaused:    "requests_paused",
			RequestsLimit:     "requests_limit",
			KVBlocksLimit:     "kv_cache_blocks_limit",
			KVBlocksUsed:      "kv_cache_blocks_used",
			KVBlocksFree:      "kv_cache_blocks_free",
			KVBlockTokens:     "kv_cache_block_tokens",
			KVUtilization:     "kv_cache_utilization_ratio",
			EngineMemory:      "engine_memory_bytes",
			EngineLastIter:    "engine_last_iteration_timestamp_seconds",
			IterationDuration: "engine_iteration_duration_seconds",
			ContextTokens:     "iteration_context_tokens",
			PrefillOccupancy:  "prefill_occupancy_ratio",
			StaticGeneration:  "iteration_generation_tokens",
			StaticFreeSlots:   "generation_slots_free",
		},
		{Form: Single, Scope: OfEngine, Counter: true, Executor: true}: {
			EngineIterations: "engine_iterations_total",
			EngineOutputs:    "engine_outputs_total",
			KVBlocksReused:   "kv_cache_blocks_reused_total",
		},
		{Form: Single, Scope: OfEngine, Counter: true}: {
			RequestsStarted:      "requests_started_total",
			RequestsOnce:         "requests_once_total",
			AnswerBytes:          "answer_bytes_total",
			AnsweredWell:         "answered_well_total",
			SocketsOpened:        "sockets_opened_total",
			RequestsFinished:     "requests_finished_total",
			RequestsFailed:       "requests_failed_total",
			RequestsRejected:     "requests_rejected_total",
			RequestsMigrated:     "requests_migrated_total",
			StageRequests:        "stage_requests_total",
			StageEnded:           "stage_ended_total",
			StageErrors:          "stage_errors_total",
			StageRetries:         "stage_retries_total",
			RequestsCompleted:    "engine_requests_completed_total",
			Preemptions:          "preemptions_total",
			RequestsAborted:      "requests_aborted_total",
			RequestsUnaborted:    "requests_whole_total",
			RequestsStreamed:     "requests_streamed_total",
			StreamsUnaborted:     "streams_whole_total",
			PromptTokens:         "prompt_tokens_total",
			GenerationTokens:     "generation_tokens_total",
			CachedTokens:         "prompt_tokens_cached_total",
			CachedTokensByTier:   "prompt_tokens_cached_by_tier_total",
			PrefixHits:           "prefix_cache_hits_total",
			PrefixQueries:        "prefix_cache_queries_total",
			PromptTokensLive:     "prompt_tokens_live_total",
			GenerationTokensLive: "generation_tokens_live_total",
			KVBlocksMissed:       "kv_cache_blocks_missed_total",
			KVBlocksAllocated:    "kv_cache_blocks_generation_allocated_total",
			KVBlocksPrefetched:   "kv_cache_disk_prefetch_blocks_total",
			KVOnboardBytes:       "kv_cache_onboard_bytes_total",
			KVOffloadBytes:       "kv_cache_offload_bytes_total",
			KVCopyBytes:          "kv_cache_intra_device_copy_bytes_total",
			Disaggregated:        "disaggregated_requests_total",
			KVTransferSeconds:    "kv_cache_transfer_seconds_total",
			KVTransferBytes:      "kv_cache_transfer_bytes_total",
			KVTransferMebibytes:  "kv_cache_transfer_mebibytes_total",
			KVTransferFailures:   "kv_cache_transfer_failures_total",
			SpecDraft:            "spec_decode_draft_tokens_total",
			SpecAccepted:         "spec_decode_accepted_tokens_total",
			SpecDraftPosition:    "spec_decode_draft_tokens_by_position_total",
			SpecAcceptedPosition: "spec_decode_accepted_tokens_by_position_total",
		},
		{Form: Single, Scope: OfModel}: {
			ModelPending:     "model_requests_pending",
			ModelLoadSeconds: "model_load_duration_seconds",
		},
		{Form: Single, Scope: OfModel, Counter: true}: {
			ModelSuccess:          "model_requests_success_total",
			ModelFailed:           "model_requests_failed_total",
			ModelInferences:       "model_inferences_total",
			ModelExecutions:       "model_executions_total",
			ModelRequestSeconds:   "model_request_seconds_total",
			ModelQueueSeconds:     "model_queue_seconds_total",
			ModelComputeSeconds:   "model_compute_seconds_total",
			ModelCacheHits:        "model_response_cache_hits_total",
			ModelCacheMisses:      "model_response_cache_misses_total",
			ModelCacheHitSeconds:  "model_response_cache_hit_seconds_total",
			ModelCacheMissSeconds: "model_response_cache_miss_seconds_total",
		},
		{Form: Single, Scope: OfServer}: {
			PinnedMemoryUsed:  "pinned_memory_used_bytes",
			PinnedMemoryLimit: "pinned_memory_limit_bytes",
			GPUUtilization:    "gpu_utilization_ratio",
			GPUMemoryUsed:     "gpu_memory_used_bytes",
			GPUMemoryTotal:    "gpu_memory_total_bytes",
			GPUPower:          "gpu_power_watts",
			GPUPowerLimit:     "gpu_power_limit_watts",
			HostCPU:           "host_cpu_utilization_ratio",
			HostMemoryUsed:    "host_memory_used_bytes",
			HostMemoryTotal:   "host_memory_total_bytes",
			ProcessStarted:    "process_started_timestamp_seconds",
		},
		{Form: Single, Scope: OfServer, Counter: true}: {
			ClientsGone:   "clients_disconnected",
			GPUEnergy:     "gpu_energy_joules_total",
			ProcessUptime: "process_uptime_seconds",
		},
		{Form: Histogram, Scope: OfEngine}: {
			RequestDuration:     "request_duration_seconds",
			FirstToken:          "time_to_first_token_seconds",
			OutputToken:         "time_per_output_token_seconds",
			InterToken:          "inter_token_latency_seconds",
			RequestQueue:        "request_queue_seconds",
			RequestPrefill:      "request_prefill_seconds",
			RequestDecode:       "request_decode_seconds",
			RequestInference:    "request_inference_seconds",
			RequestPromptTokens: "request_prompt_tokens",
			RequestOutputTokens: "request_generation_tokens",
			RequestCachedTokens: "request_prompt_cached_tokens",
			PrefillTokens:       "iteration_prefill_tokens",
			PrefillPerplexity:   "prefill_perplexity",
			OutputPerplexity:    "generation_perplexity",
		},
		{Form: Histogram, Scope: OfModel}: {
			ModelFirstResponse: "model_first_response_seconds",
			ModelRequestTimes:  "model_request_duration_histogram_seconds",
		},
		{Form: Summary, Scope: OfModel}: {
			ModelRequestDuration: "model_request_duration_seconds",
			ModelQueueDuration:   "model_queue_duration_seconds",
			ModelInputDuration:   "model_compute_input_duration_seconds",
			ModelInferDuration:   "model_compute_infer_duration_seconds",
			ModelOutputDuration:  "model_compute_output_duration_seconds",
			ModelCacheHitTimes:   "model_response_cache_hit_duration_seconds",
			ModelCacheMissTimes:  "model_response_cache_miss_duration_seconds",
		},
	} {
		for signal, name := range signals {
			all[signal] = description{name, t, true}
		}
	}
	for signal, name := range map[Signal]string{
		AnswersHealth:     "answers_health",
		AnswersLive:       "answers_live",
		AnswersIndex:      "answers_index",
		AnswersConfig:     "answers_config",
		AnswersModels:     "answers_models",
		AnswersStream:     "answers_stream",
		AnswersIterations: "answers_iterations",
		FailuresCounted:   "failures_counted",
		UnloadedFailures:  "unloaded_failures",
	} {
		all[signal].name = name
	}
	return all
})

// String returns the name of the signal, by which files and documents call it.
func (s Signal) String() string { return descriptions()[s].name }

// MarshalText returns the name of the signal.
func (s Signal) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// SignalNamed returns the signal with a name, NoSignal if there is none.
func SignalNamed(name string) Signal {
	named := func(d description) bool { return d.name == name }
	return Signal(max(slices.IndexFunc(descriptions(), named), 0))
}

// IsShare reports whether the signal is a part of a whole, which is at most 1.
func (s Signal) IsShare() bool {
	return slices.Contains([]Signal{
		KVUtilization, KVHostUtilization, KVHitRatio, KVIterationReuse, GPUUtilization, SpecRate,
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
func (s Signal) Type() Type { return descriptions()[s].typ }

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

// Size returns the signal of the size that the value is a part of, [NoSignal] if there is none. While the
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
	return NoSignal
}

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
