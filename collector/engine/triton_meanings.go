package engine

import (
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Shifts to base units.
const (
	micro = 6
	milli = 3
)

// tritonMeanings returns the meanings. Names and semantics are from Triton core src/metrics.cc and
// the TensorRT-LLM backend's custom_metrics_reporter.cc.
func tritonMeanings() []Meaning {
	return slices.Concat(
		tritonHistory().with(coreMeanings()),
		inReleases(Releases{Of: tensorRTLLM}, backendMeanings()),
		moduleMeanings(),
		inReleases(Releases{Unverified: true, Of: "the vLLM backend"}, vllmMeanings()),
	)
}

// tensorRTLLM is the part of Triton whose backend has releases of its own.
const tensorRTLLM = "TensorRT-LLM"

// ofBackend returns releases of the backend of TensorRT-LLM.
func (r Releases) ofBackend() Releases {
	r.Of = tensorRTLLM
	return r
}

// tritonHistory returns what not all releases of Triton show.
func tritonHistory() history {
	return history{
		since("2.26.0"): {"nv_cpu_utilization", "nv_cpu_memory_used_bytes", "nv_cpu_memory_total_bytes"}, // 22.09
		since("2.32.0"): {"nv_cache_hit_duration_per_model", "nv_cache_miss_duration_per_model"},         // 23.03
		since("2.33.0"): { // 23.04
			"nv_inference_request_summary_us", "nv_inference_queue_summary_us",
			"nv_inference_compute_input_summary_us", "nv_inference_compute_infer_summary_us",
			"nv_inference_compute_output_summary_us", "nv_cache_hit_summary_per_model",
			"nv_cache_miss_summary_per_model",
		},
		since("2.38.0"):    {"nv_inference_pending_request_count"},                                      // 23.09
		since("2.42.0"):    {"nv_pinned_memory_pool_used_bytes", "nv_pinned_memory_pool_total_bytes"},   // 24.01
		since("2.52.0"):    {"nv_model_load_duration_secs", "nv_inference_first_response_histogram_ms"}, // 24.11
		{Unverified: true}: {"nv_inference_request_duration_histogram_us"},
	}
}

// tritonFailures returns the outcomes of failures by reason, in lower case (core
// src/infer_request.h, FailureReason); before 24.07 they have no reason. Rejections at
// max_queue_size and clients that leave in the middle of a stream are not counted (seen on 2.51).
func tritonFailures() *Outcome {
	return &Outcome{
		Usual: ClassServer, Of: map[string]Class{"rejected": ClassOverload, "canceled": ClassCanceled},
		Missed: []Class{ClassOverload, ClassCanceled},
	}
}

// pendingLeaks returns the versions that count requests as pending forever if they could not be
// queued: 23.09, which introduced the count, and 23.10 (core, pull request 286, in branch r23.11).
func pendingLeaks() []Exception { return inVersions("2.38.", "2.39.") }

// coreMeanings returns the meanings of Triton's own series.
func coreMeanings() []Meaning {
	gpu := kept("gpu_uuid")
	return []Meaning{
		{Name: "nv_inference_request_success", Signal: ModelSuccess, Outcome: &Outcome{Usual: ClassOK}},
		{Name: "nv_inference_request_failure", Signal: ModelFailed, Dims: kept("reason"), Outcome: tritonFailures()},
		{Name: "nv_inference_count", Signal: ModelInferences},
		{Name: "nv_inference_exec_count", Signal: ModelExecutions},
		{Name: "nv_inference_pending_request_count", Signal: ModelPending, Unless: pendingLeaks()},
		{Name: "nv_inference_request_duration_us", Signal: ModelRequestSeconds, Shift: micro},
		{Name: "nv_inference_queue_duration_us", Signal: ModelQueueSeconds, Shift: micro},
		{
			Name:   "nv_inference_compute_input_duration_us",
			Signal: ModelComputeSeconds,
			Shift:  micro,
			Const:  labeled("phase", "input"),
		},
		{
			Name:   "nv_inference_compute_infer_duration_us",
			Signal: ModelComputeSeconds,
			Shift:  micro,
			Const:  labeled("phase", "infer"),
		},
		{
			Name:   "nv_inference_compute_output_duration_us",
			Signal: ModelComputeSeconds,
			Shift:  micro,
			Const:  labeled("phase", "output"),
		},
		{Name: "nv_model_load_duration_secs", Signal: ModelLoadSeconds, Combine: Max},
		{Name: "nv_cache_num_hits_per_model", Signal: ModelCacheHits},
		{Name: "nv_cache_num_misses_per_model", Signal: ModelCacheMisses},
		{Name: "nv_cache_hit_duration_per_model", Signal: ModelCacheHitSeconds, Shift: micro},
		{Name: "nv_cache_miss_duration_per_model", Signal: ModelCacheMissSeconds, Shift: micro},
		{Name: "nv_pinned_memory_pool_used_bytes", Signal: PinnedMemoryUsed},
		{Name: "nv_pinned_memory_pool_total_bytes", Signal: PinnedMemoryLimit},
		{Name: "nv_gpu_utilization", Signal: GPUUtilization, Combine: Max, Dims: gpu},
		{Name: "nv_gpu_memory_used_bytes", Signal: GPUMemoryUsed, Dims: gpu},
		{Name: "nv_gpu_memory_total_bytes", Signal: GPUMemoryTotal, Dims: gpu},
		{Name: "nv_gpu_power_usage", Signal: GPUPower, Dims: gpu},
		{Name: "nv_gpu_power_limit", Signal: GPUPowerLimit, Dims: gpu},
		{Name: "nv_energy_consumption", Signal: GPUEnergy, Dims: gpu},
		{Name: "nv_cpu_utilization", Signal: HostCPU},
		{Name: "nv_cpu_memory_used_bytes", Signal: HostMemoryUsed},
		{Name: "nv_cpu_memory_total_bytes", Signal: HostMemoryTotal},

		// Enabled by --metrics-config. Quantiles are of the last minute, NaN if no request ended.
		// An answer with an error is a response too (core src/infer_response.cc, UpdateResponseMetrics); what else
		// measures times does so of successes only (core src/infer_stats.cc, UpdateSuccess).
		{
			Name:   "nv_inference_first_response_histogram_ms",
			Signal: ModelFirstResponse,
			Shift:  milli,
			Fails:  []Class{ClassClient, ClassCanceled, ClassOverload, ClassServer, ClassUnknown},
		},
		// In no release yet (core, pull request 474). It counts requests that succeeded, with
		// bounds up to 100 ms unless the model's config has others.
		{Name: "nv_inference_request_duration_histogram_us", Signal: ModelRequestTimes, Shift: micro},
		{Name: "nv_inference_request_summary_us", Signal: ModelRequestDuration, Shift: micro},
		{Name: "nv_inference_queue_summary_us", Signal: ModelQueueDuration, Shift: micro},
		{Name: "nv_inference_compute_input_summary_us", Signal: ModelInputDuration, Shift: micro},
		{Name: "nv_inference_compute_infer_summary_us", Signal: ModelInferDuration, Shift: micro},
		{Name: "nv_inference_compute_output_summary_us", Signal: ModelOutputDuration, Shift: micro},
		{Name: "nv_cache_hit_summary_per_model", Signal: ModelCacheHitTimes, Shift: micro},
		{Name: "nv_cache_miss_summary_per_model", Signal: ModelCacheMissTimes, Shift: micro},
	}
}

// vllmMeanings returns the meanings of Triton's vLLM backend (vllm_backend, README). Tokens grow
// with each iteration, and the time per output token is observed token by token, also under its
// name in newer vLLM releases. A worker of Dynamo shows the same (seen in 1.6.1).
func vllmMeanings() []Meaning {
	return []Meaning{
		{Name: "vllm:prompt_tokens_total", Signal: PromptTokens},
		{Name: "vllm:generation_tokens_total", Signal: GenerationTokens},
		{Name: "vllm:time_to_first_token_seconds", Signal: FirstToken},
		{Name: "vllm:inter_token_latency_seconds", Signal: InterToken},
		{
			Name:   "vllm:time_per_output_token_seconds",
			Signal: InterToken,
			Unless: replacedBy("vllm:inter_token_latency_seconds"),
		},
		{Name: "vllm:e2e_request_latency_seconds", Signal: RequestDuration},
		{Name: "vllm:request_prompt_tokens", Signal: RequestPromptTokens},
		{Name: "vllm:request_generation_tokens", Signal: RequestOutputTokens},
		{Name: "vllm:num_requests_running", Signal: RequestsRunning},
		{Name: "vllm:num_requests_waiting", Signal: RequestsWaiting},
		{Name: "vllm:num_preemptions_total", Signal: Preemptions},
		{Name: "vllm:gpu_cache_usage_perc", Signal: KVUtilization, Combine: Max},
		{Name: "vllm:kv_cache_usage_perc", Signal: KVUtilization, Combine: Max},
	}
}

// backendMeanings returns the meanings of TensorRT-LLM's series. In 23.11 names ended in
// _statistics.
func backendMeanings() []Meaning {
	var all []Meaning
	for _, m := range append(batcherMeanings(), cacheMeanings()...) {
		all = append(all, m)
		m.Name = strings.TrimSuffix(m.Name, "_metrics") + "_statistics"
		m.Releases = before("0.7.1").ofBackend().unverified()
		all = append(all, m)
	}
	const transfer, kind = "nv_trt_llm_disaggregated_serving_metrics", "disaggregated_serving_type"
	history := history{
		since("0.15.0").ofBackend(): {transfer},
		since("0.16.0").ofBackend(): {
			"nv_llm_input_token_len", "nv_llm_input_token_len_sum", "nv_llm_output_token_len",
			"nv_llm_output_token_len_sum",
		},
	}
	// Of a request with a batch of several inferences the tokens of the one that ends last are observed
	// (backend inflight_batcher_llm src/model_instance_state.cc).
	return history.with(append(all,
		Meaning{Name: transfer, Where: only(kind, "kv_cache_transfer_ms"), Signal: KVTransferSeconds, Shift: milli},
		Meaning{Name: transfer, Where: only(kind, "request_count"), Signal: Disaggregated},
		Meaning{
			Name:       "nv_llm_input_token_len_sum",
			Signal:     PromptTokens,
			WhenEnded:  true,
			PerRequest: true,
			Unless:     replacedBy(modulePrefix + "prompt_tokens_total"),
		},
		Meaning{
			Name:       "nv_llm_output_token_len_sum",
			Signal:     GenerationTokens,
			WhenEnded:  true,
			PerRequest: true,
			Unless:     replacedBy(modulePrefix + "generation_tokens_total"),
		},
		Meaning{Name: "nv_llm_input_token_len", Signal: RequestPromptTokens, PerRequest: true},
		Meaning{Name: "nv_llm_output_token_len", Signal: RequestOutputTokens, PerRequest: true},
	))
}

// batcherMeanings returns the meanings of requests and iterations of the executor. Values are from
// its last iteration, sampled every 100 ms, and stay while it is idle.
func batcherMeanings() []Meaning {
	const (
		requests, kind     = "nv_trt_llm_request_metrics", "request_type"
		batcher, specific  = "nv_trt_llm_inflight_batcher_metrics", "inflight_batcher_specific_metric"
		v1, v1Kind         = "nv_trt_llm_v1_metrics", "v1_specific_metric"
		general, generally = "nv_trt_llm_general_metrics", "general_type"
	)
	return []Meaning{
		{
			Name:   requests,
			Where:  only(kind, "active"),
			Signal: RequestsActive,
			Unless: replacedBy(modulePrefix + "requests_in_flight"),
		},
		{Name: requests, Where: only(kind, "max"), Signal: RequestsLimit},
		{Name: requests, Where: only(kind, "scheduled"), Signal: RequestsRunning},
		{Name: requests, Where: only(kind, "context"), Signal: RequestsPrefill},
		{
			Name:     requests,
			Where:    only(kind, "waiting"),
			Releases: since("0.18.0").ofBackend(),
			Signal:   RequestsWaiting,
			Unless:   replacedBy(modulePrefix + "requests_waiting"),
		},
		{Name: batcher, Where: only(specific, "total_context_tokens"), Signal: ContextTokens},
		{Name: batcher, Where: only(specific, "generation_requests"), Signal: RequestsDecode},
		{
			Name:     batcher,
			Where:    only(specific, "paused_requests"),
			Signal:   RequestsPaused,
			Releases: since("0.9.0").ofBackend(),
		},
		{Name: v1, Where: only(v1Kind, "total_context_tokens"), Signal: ContextTokens},
		{Name: v1, Where: only(v1Kind, "total_generation_tokens"), Signal: StaticGeneration},
		{Name: v1, Where: only(v1Kind, "empty_generation_slots"), Signal: StaticFreeSlots},
		{
			Name:   general,
			Where:  only(generally, "iteration_counter"),
			Signal: EngineIterations,
			Unless: replacedBy(modulePrefix + "iterations_total"),
		},
		{Name: general, Where: only(generally, "timestamp"), Signal: EngineLastIter, Combine: Max},
	}
}

// cacheMeanings returns the meanings of the memory and the paged KV cache of the executor. "reused"
// only grows, although its TYPE is gauge.
func cacheMeanings() []Meaning {
	const (
		memory, where = "nv_trt_llm_runtime_memory_metrics", "memory_type"
		kv, kind      = "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type"
	)
	return []Meaning{
		{Name: memory, Signal: EngineMemory, Dims: renamed(where, "memory"), Combine: Max},
		{Name: kv, Where: only(kind, "max"), Signal: KVBlocksLimit},
		{Name: kv, Where: only(kind, "used"), Signal: KVBlocksUsed},
		{Name: kv, Where: only(kind, "free"), Signal: KVBlocksFree},
		{Name: kv, Where: only(kind, "tokens_per"), Signal: KVBlockTokens, Combine: Max},
		{
			Name:     kv,
			Where:    only(kind, "fraction"),
			Signal:   KVUtilization,
			Combine:  Max,
			Releases: since("0.18.0").ofBackend(),
		},
		{
			Name:     kv,
			Where:    only(kind, "reused"),
			Releases: since("0.13.0").ofBackend(),
			Signal:   KVBlocksReused,
			Unless:   replacedBy(modulePrefix + "kv_cache_reused_blocks_total"),
		},
	}
}

const (
	// modulePrefix begins the names of the metrics module for the LLM-API backend, which publishes
	// nothing itself (deploy/triton/llmapi/trtllm_metrics.py).
	modulePrefix = "nv_llmapi_"
	// moduleRank is the label of the instances of a model, each of which has an engine.
	moduleRank = "model_instance"
	// moduleBeat is when the module last read the engine.
	moduleBeat = modulePrefix + "heartbeat_timestamp_seconds"
)

// moduleMeanings returns the meanings of the module's own names. They replace the names of the
// former C++ backend, since the module counts requests at the server and tokens as they are
// generated. Latencies are counters of buckets, since Triton's own histograms cost a message per
// token.
func moduleMeanings() []Meaning {
	all := []Meaning{
		{Name: "requests_in_flight", Signal: RequestsActive, Rank: moduleRank},
		{Name: "requests_waiting", Signal: RequestsWaiting, Rank: moduleRank},
		{Name: "iterations_total", Signal: EngineIterations, Rank: moduleRank},
		{Name: "heartbeat_timestamp_seconds", Signal: EngineHeartbeat, Combine: Max},
		{Name: "generation_tokens_total", Signal: GenerationTokens, Rank: moduleRank},
		{Name: "prompt_tokens_total", Signal: PromptTokens, Rank: moduleRank},
		{Name: "prefill_tokens_total", Signal: PromptTokensLive, Rank: moduleRank},
		{Name: "requests_preempted_total", Signal: Preemptions},
		{Name: "kv_cache_reused_blocks_total", Signal: KVBlocksReused},
		{Name: "kv_cache_missed_blocks_total", Signal: KVBlocksMissed},
		{Name: "time_to_first_token_seconds", Signal: FirstToken},
		{Name: "inter_token_latency_seconds", Signal: InterToken},
		{Name: "request_duration_seconds", Signal: RequestDuration},
		{Name: "info", Signal: StatedVersion, Combine: Max},
	}
	for _, class := range Classes() {
		m := Meaning{
			Name: "requests_ended_total", Where: only("class", string(class)), Signal: RequestsFailed, PerModel: true,
			Dims: renamed("finish_reason", "reason"), Outcome: &Outcome{Usual: class},
		}
		if class == ClassOK || class == ClassCanceled {
			m.Signal, m.Dims = RequestsFinished, kept("finish_reason")
		}
		all = append(all, m)
	}
	return withPrefix(modulePrefix, all)
}

// hasModule reports whether a model with the metrics module is loaded.
func hasModule(p *Page) bool { return p.HasName(moduleBeat) }

// cureModule is the remedy if the LLM-API backend publishes nothing.
const cureModule = "the metrics module of deploy/triton/llmapi, three lines in the model's folder"

// moduleLacks explains what a page with the metrics module lacks.
func moduleLacks(name string) target.Check {
	switch name {
	case CanQueue, CanRunning, CanKVCache, CanKVReuse:
		return no("the engine has no statistics of its iterations, or has "+
			"not run any yet", "enable_iter_perf_stats: true in model.yaml")
	}
	return no("no request has ended yet", "")
}
