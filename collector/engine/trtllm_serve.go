package engine

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// TRTLLMServe is TensorRT-LLM's own OpenAI server. Page and API share a port.
const TRTLLMServe Name = "trtllm-serve"

// Generations with few series: five families without prefix in 1.1 and 1.2, and names with the
// prefix trtllm_ without iteration gauges (PR #11243).
const (
	servePlain    Generation = "unprefixed"
	servePrefixed Generation = "prefixed"
)

// servePrefix begins the names of its series from 1.3.0rc5 on.
const servePrefix = "trtllm_"

// GET /metrics of this server returns its iteration statistics as JSON, and reading it takes rows
// away from other readers. Its priority makes detection request what only trtllm-serve answers
// before it requests the pages of others at that path; its models have an owner of their own
// (openai_protocol.py, ModelCard). Families appear with their first sample, so that a fresh server
// answers 200 with an empty body. GET /health_generate, in releases since 1.0, asks for one token of a
// chat and waits behind others; it counts as a request (openai_server.py).
func trtllmServe() *Kind {
	return &Kind{
		Name:      TRTLLMServe,
		Path:      "/prometheus/metrics",
		EmptyPage: true,
		NoPage: Missing{
			Hint: "trtllm-serve has the page from TensorRT-LLM 1.1 on with return_perf_metrics: true, and none " +
				"for embeddings",
			Why:   ": it exists from TensorRT-LLM 1.1 on, with return_perf_metrics",
			Cure:  curePerf,
			Since: "1.1.0",
		},
		marks: []mark{
			{text: servePrefix, weight: 5},
			// Other servers, such as MindIE, share the names without prefix, but not the labels.
			{text: `request_success_total{engine_type=`, weight: 3},
			{text: `e2e_request_latency_seconds_sum{engine_type=`, weight: 3},
		},
		priority: 1,
		// Five families without prefix at first. The prefix is there from 1.3.0rc5 on
		// (NVIDIA/TensorRT-LLM PR #11243), iteration gauges from PR #12545 on.
		Census: "1.1.0 to 1.3, by references and pull requests",
		series: slices.Concat(serveSeries(between("1.1.0", "1.3.0rc5")),
			withPrefix(servePrefix, serveSeries(since("1.3.0rc5")))),
		quirks: Quirks{GaugesWhenRequestsEnd: true, CountersAppear: true},

		trtllm:   true,
		identify: serveIdentify,

		Ready:       "/health",
		SelfTest:    SelfTest{Path: "/health_generate", Counted: true},
		versionPath: versionPath,
		versionKey:  versionKey,
		owners:      serveOwners(),
		Iterations:  "/metrics",
		stream:      Stream{Usage: true, Seed: true, IgnoreEOS: true},

		ask:    serveAsk,
		health: serveHealth,

		countsFailures: serveCountsFailures,
		generation:     serveGeneration,

		judge:       serveJudge,
		remark:      serveRemarks,
		gaps:        serveGaps,
		determinism: serveDeterminism,
	}
}

func serveOwners() []string { return []string{"tensorrt_llm"} }

// serveIdentify returns the evidence. A server that loads has neither page nor models, but says what it is.
func serveIdentify(ctx context.Context, q *questions) string {
	if owned := q.ownedBy(ctx, serveOwners()); owned != "" {
		return owned
	}
	_, header, _, err := q.client.Do(ctx, http.MethodGet, q.base+usualModels, nil, answerLimit)
	if err != nil || header.Get(serveState) == "" {
		return ""
	}
	return "its answers have the header " + serveState
}

// serveAsk asks without GET /health, on which newer servers may exit (openai_server.py).
func serveAsk(ctx context.Context, k *Kind, client Client, address string, _ Earlier) Round {
	return func(yield func(Facts, bool) bool) {
		f := k.askOpenAI(ctx, client, address)
		if f.EngineVersion != "" {
			f.TRTLLMVersion, f.TRTLLMSource = f.EngineVersion, SourceServer
		}
		yield(f, true)
	}
}

// Recent servers answer every request with 503 and this header while they load
// (serve/lifecycle.py).
const serveState, serveStarting = "X-Trtllm-Server-State", "starting"

// serveHealth asks whether the server is live and ready. Servers up to 1.1 always answer 200 to
// /health. A newer server with a broken executor exits on it (openai_server.py), as it would on the
// next request.
func serveHealth(ctx context.Context, k *Kind, client Client, address string) Health {
	h, header := readiness(ctx, client, address+k.Ready)
	if h.API != APIReady && header.Get(serveState) == serveStarting {
		h.API, h.FromServer, h.Starting, h.Detail = APINotReady, true, true, "the server loads its engine"
	}
	h.liveIfAnswered()
	return h
}

func serveGeneration(p *Page, f *Facts) (Generation, string) {
	switch {
	case p.HasName("trtllm_model_config_info") || p.HasName("trtllm_prompt_tokens_total") ||
		p.HasName("trtllm_num_requests_running"):
		// Since PR #12545.
		return "prefixed with iteration statistics", "the page has config info, token counters or iteration gauges"
	case p.HasPrefix(servePrefix):
		return servePrefixed, "the names have the prefix trtllm_ and there is no config info"
	case p.Has(RequestsFinished) || p.Has(RequestDuration):
		return servePlain, "the names have no prefix"
	case strings.HasPrefix(f.get().EngineVersion, "1.1.") || strings.HasPrefix(f.get().EngineVersion, "1.2."):
		return servePlain, "the page is empty; versions 1.1 and 1.2 have five families without prefix"
	}
	return "not known before the first request", "the page is empty: families appear with their first sample"
}

// serveCountsFailures reports whether failures are counted. Releases with the counter of errors count those of
// validation, and some no other (serve/openai_server.py): only a failure of the server on the page tells that it
// counts these too.
func serveCountsFailures(p *Page) bool {
	return p.hasReading(func(r reading) bool {
		return r.meaning.Signal == RequestsFailed && classOfCode(p.labels(r).Get("http_code")) == ClassServer
	})
}

func serveDeterminism(_ *Facts, p *Page) []target.Check {
	checks := []target.Check{target.Passed(CheckOneInstance, "the server is one instance of its engine")}
	if c, ok := admitsOne(p); ok {
		checks = append(checks, c)
	}
	return checks
}

// serveSeries returns the meanings with the releases of the first five families, and of those that came
// after the prefix, of which nobody knows in which candidate of 1.3.
func serveSeries(first Releases) []Meaning {
	names := history{first: {
		"request_success_total", "e2e_request_latency_seconds", "time_to_first_token_seconds",
		"time_per_output_token_seconds", "request_queue_time_seconds",
	}}
	return inReleases(since("1.3").unverified(), names.with(serveMeanings()))
}

// serveMeanings returns the meanings of names without prefix. The time per output token is the mean
// of a request, observed once per request. Gauges of iterations show the last iteration that was
// read: they do not move during long requests and keep their values when idle; the PyTorch path
// shows 0 for unknown values. With data-parallel attention the row of each rank sets the same
// gauges: they have the values of the last rank or copies of rank 0's, and counters count copies
// once per rank (executor/iteration_stats.py, _materialize_frame; serve/openai_server.py passes on
// every row). Only the batch that each rank shows itself is complete, and moves while requests run.
func serveMeanings() []Meaning {
	position := renamed("token_position", "position")
	return []Meaning{
		// Requests, when they end.
		{
			Name:    "request_success_total",
			Signal:  RequestsFinished,
			Dims:    slices.Concat(renamed("finished_reason", "finish_reason"), kept("finish_reason")),
			Outcome: finished(),
		},
		{
			Name:    "request_error_total",
			Signal:  RequestsFailed,
			Dims:    renamed("http_code", "reason"),
			Outcome: &Outcome{Codes: true, Missed: []Class{ClassCanceled}},
		},
		{Name: "num_requests_completed_total", Signal: RequestsCompleted},
		{Name: "prompt_tokens_total", Signal: PromptTokens, WhenEnded: true},
		{Name: "generation_tokens_total", Signal: GenerationTokens, WhenEnded: true},
		{Name: "prompt_cached_tokens_total", Signal: CachedTokens},
		{
			Name:   "prompt_cache_hit_tokens_total",
			Signal: CachedTokensByTier,
			Dims:   slices.Concat(renamed("cache_level", "level"), kept("cache_tier")),
		},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration},
		{Name: "time_to_first_token_seconds", Signal: FirstToken, WhenEnded: true},
		{Name: "time_per_output_token_seconds", Signal: OutputToken},
		{Name: "request_queue_time_seconds", Signal: RequestQueue},
		{Name: "request_prefill_time_seconds", Signal: RequestPrefill},
		{Name: "request_decode_time_seconds", Signal: RequestDecode},
		{Name: "request_inference_time_seconds", Signal: RequestInference},
		{Name: "prompt_cached_tokens_per_request", Signal: RequestCachedTokens},
		{Name: "prefill_batch_tokens", Signal: PrefillTokens},
		{Name: "prefill_perplexity", Signal: PrefillPerplexity},
		{Name: "generation_perplexity", Signal: OutputPerplexity},

		// Iterations. "running" is numActiveRequests: admitted, not scheduled.
		{Name: "num_requests_running", Signal: RequestsActive, Combine: Newest},
		{Name: "num_scheduled_requests", Signal: RequestsRunning, Combine: Newest},
		{Name: "num_requests_waiting", Signal: RequestsWaiting, Combine: Newest},
		{Name: "num_context_requests", Signal: RequestsPrefill, Combine: Newest},
		{Name: "num_generation_requests", Signal: RequestsDecode, Combine: Newest},
		{Name: "num_paused_requests", Signal: RequestsPaused, Combine: Newest},
		{Name: "max_num_active_requests", Signal: RequestsLimit, Combine: Newest},
		{Name: "max_num_active_requests", Signal: WorkerRequestsLimit, Combine: Newest},
		{Name: "iteration_latency_seconds", Signal: IterationDuration, Combine: Newest},
		{Name: "total_context_tokens", Signal: ContextTokens, Combine: Newest},
		{Name: "avg_decoded_tokens_per_iter", Signal: DecodedAverage, Combine: Newest},
		{Name: "scheduled_batch_size", Signal: IterationBatch, Combine: Newest, Dims: kept(labelRank)},
		{Name: "scheduled_batch_size", Signal: RequestsRunning, Combine: Newest},
		{Name: "scheduled_batch_size", Signal: RequestsRunning, Combine: ZeroOnly},
		{Name: "scheduled_batch_size", Signal: RequestsRunning},
		{Name: "scheduled_batch_size", Signal: EngineRanks},
		{Name: "prefill_batch_occupancy", Signal: PrefillOccupancy, Combine: Newest},
		{Name: "max_batch_size_static", Signal: BatchLimit, Combine: Newest, Const: labeled("kind", "static")},
		{Name: "max_batch_size_runtime", Signal: BatchLimit, Combine: Newest, Const: labeled("kind", "runtime")},
		{Name: "max_num_tokens_runtime", Signal: BatchTokensLimit, Combine: Newest},
		{
			Name:    "gpu_memory_usage_bytes",
			Signal:  EngineMemory,
			Combine: Newest,
			NotZero: true,
			Const:   labeled("memory", "gpu"),
		},
		{
			Name:    "cpu_memory_usage_bytes",
			Signal:  EngineMemory,
			Combine: Newest,
			NotZero: true,
			Const:   labeled("memory", "cpu"),
		},
		{
			Name:    "pinned_memory_usage_bytes",
			Signal:  EngineMemory,
			Combine: Newest,
			NotZero: true,
			Const:   labeled("memory", "pinned"),
		},
		{Name: "kv_cache_utilization", Signal: KVUtilization, Combine: Newest, Releases: since("1.3.0rc5")},
		{Name: "kv_cache_host_utilization", Signal: KVHostUtilization, Combine: Newest},
		// Releases before those that count blocks count the long prompts of their warm-up too (TensorRT-LLM pull request
		// 12132).
		{
			Name:     "kv_cache_hit_rate",
			Signal:   KVHitRatio,
			Combine:  Newest,
			Releases: since("1.3.0rc5"),
			Unless:   inReleasesWithout("kv_cache_missed_blocks_total"),
		},
		{Name: "kv_cache_iter_reuse_rate", Signal: KVIterationReuse, Combine: Newest},
		{Name: "kv_cache_max_blocks", Signal: KVBlocksLimit, Combine: Newest},
		{Name: "kv_cache_used_blocks", Signal: KVBlocksUsed, Combine: Newest},
		{Name: "kv_cache_free_blocks", Signal: KVBlocksFree, Combine: Newest},
		{Name: "kv_cache_max_blocks", Signal: WorkerKVBlocks, Combine: Newest},
		{Name: "kv_cache_tokens_per_block", Signal: KVBlockTokens, Combine: Newest},

		// Counters of the KV cache.
		{Name: "kv_cache_reused_blocks_total", Signal: KVBlocksReused},
		{Name: "kv_cache_missed_blocks_total", Signal: KVBlocksMissed},
		{Name: "kv_cache_gen_alloc_blocks_total", Signal: KVBlocksAllocated},
		{Name: "kv_cache_disk_prefetch_blocks_total", Signal: KVBlocksPrefetched},
		{Name: "kv_cache_onboard_bytes_total", Signal: KVOnboardBytes},
		{Name: "kv_cache_offload_bytes_total", Signal: KVOffloadBytes},
		{Name: "kv_cache_intra_device_copy_bytes_total", Signal: KVCopyBytes},

		// Speculative decoding. Counters by position are updated per request, the others per
		// iteration, so they differ.
		{Name: "spec_decode_num_draft_tokens_total", Signal: SpecDraft},
		{Name: "spec_decode_num_accepted_tokens_total", Signal: SpecAccepted},
		{Name: "spec_decode_drafted_tokens_total", Signal: SpecDraftPosition, Dims: position},
		{Name: "spec_decode_accepted_tokens_total", Signal: SpecAcceptedPosition, Dims: position},
		{Name: "spec_decode_acceptance_length", Signal: SpecLength, Combine: Newest},
		{Name: "spec_decode_draft_overhead", Signal: SpecOverhead, Combine: Newest},

		// Configuration.
		{
			Name:    "model_config_info",
			Signal:  ModelConfig,
			Combine: Max,
			Dims:    kept("dtype", "gpu_type", "max_model_len", "quantization", "served_model_name"),
		},
		{
			Name:    "parallel_config_info",
			Signal:  ParallelConfig,
			Combine: Max,
			Dims: kept(
				"context_parallel_size",
				"expert_parallel_size",
				"gpu_count",
				"pipeline_parallel_size",
				"tensor_parallel_size",
			),
		},
		{
			Name:    "speculative_config_info",
			Signal:  SpeculativeConfig,
			Combine: Max,
			Dims:    kept("spec_draft_model", "spec_enabled", "spec_method", "spec_num_tokens"),
		},
		{
			Name:    "kv_cache_config_info",
			Signal:  CacheConfig,
			Combine: Max,
			Dims: kept(
				"cache_dtype",
				"enable_block_reuse",
				"enable_partial_reuse",
				"free_gpu_memory_fraction",
				"page_size",
			),
		},
	}
}

// Remedies for trtllm-serve.
const (
	cureNewServe  = "TensorRT-LLM 1.3 or later"
	cureLastServe = "a later TensorRT-LLM 1.3"
	cureIteration = "enable_iter_perf_stats: true"
	curePerf      = "return_perf_metrics: true"
	cureReadStats = "iteration_stats: true in the pool, if nobody else reads it"
)

// serveNewer names the release that has what a page lacks: early releases of 1.3 have names with prefix.
func serveNewer(p *Page) string {
	if p.HasPrefix(servePrefix) {
		return cureLastServe
	}
	return cureNewServe
}

// serveJudge judges what the series do not tell.
func serveJudge(name string, k *Knowledge) (c target.Check, ok bool) {
	p := k.Page
	switch {
	case p == nil:
		return c, false
	case name == CanConfig:
		return k.config(no("this release has no config info on its page", serveNewer(p))), true
	case name == CanGPU && p.Has(EngineMemory):
		return yes("gpu_memory_usage_bytes only; for the rest " + cureDCGM), true
	case name == CanOutcomes && serveCountsFailures(p):
		return yes("request_success_total, and request_error_total by HTTP status; clients that left " +
			"are not counted"), true
	case name == CanOutcomes && (p.Has(RequestsFailed) || p.Has(CachedTokens)):
		// The counter of errors came with that of cached tokens (NVIDIA/TensorRT-LLM PR 12636), which is always there.
		return no("request_error_total shows no failure of the server, and releases count there those of validation "+
			"alone, so that nobody knows whether others are counted", ""), true
	case name == CanLiveTokens && k.Iterations && p.Has(IterationDuration):
		return yes("an estimate from the iterations of GET /metrics: " +
			"llm_server_iteration_stats_generation_tokens_estimated_total"), true
	}
	return p.judgeRanks(name, k.Iterations)
}

// serveRemarks returns remarks on what the page shows: gauges are those of iterations.
func serveRemarks(p *Page) map[string]string {
	stale := "of the last iteration, updated when a request ends"
	if n := serveProcesses(p); n > 1 {
		stale += "; " + strconv.Itoa(n) + " processes left gauges; the one that changed last counts, since the " +
			"page does not show " +
			"which of them are alive"
	}
	return map[string]string{
		CanTTFT:               "from the engine on",
		CanQuantiles:          "when a request ends",
		CanQueue:              stale,
		CanRunning:            stale,
		CanKVCache:            stale,
		KVHitRatio.String():   "the hit rate since the start",
		CachedTokens.String(): "the prompt tokens that were found in the cache",
	}
}

// serveGaps explains what a page lacks: most families appear with a request, others with an iteration.
func serveGaps(k *Knowledge) []gap {
	const (
		noRequest = "no request has ended yet; the family appears with the first"
		jsonOnly  = "iterations are on the JSON page /metrics only, and reading it takes them from other readers"
		noneRead  = "the iterations of GET /metrics are read, and none is on the page: their statistics are off, " +
			"or no request has ended yet"
	)
	live := lacks(jsonOnly, cureReadStats, CanLiveTokens)
	if k.Iterations {
		live = lacks(noneRead, cureIteration, CanLiveTokens)
	}
	all := []gap{live, awaits(noRequest, CanTTFT, CanE2E, CanQuantiles)}
	finished := k.Page.Has(RequestsFinished)
	if finished {
		all = append(all,
			lacks("no request had more than one token yet", "", CanTPOT),
			lacks("this release counts no errors", serveNewer(k.Page), CanOutcomes))
	} else {
		all = append(all, lacks(noRequest, "", CanTPOT, CanOutcomes))
	}
	switch generation, _ := serveGeneration(k.Page, k.Facts); {
	case generation == servePlain:
		return append(all,
			lacks("this release exposes nothing about its GPUs", cureDCGM, CanGPU),
			lacks("this release has five families: requests, E2E, TTFT, TPOT "+
				"and queue time", cureNewServe+" with "+cureIteration, serveRest()...))
	case generation == servePrefixed:
		if rate := servePrefix + "kv_cache_hit_rate"; k.Page.HasName(rate) {
			all = append(all, lacks(rate+" of this release counts the prompts of its warm-up too", cureLastServe, CanKVReuse))
		}
		return append(all,
			lacks("no iteration was read yet, or their statistics are off", cureIteration, CanKVCache, CanKVReuse),
			lacks("this release has no iteration gauges and no "+
				"token counters", cureLastServe+" with "+cureIteration, serveRest()...))
	case !finished:
		return append(all, lacks(noRequest, "", serveRest()...))
	case k.Page.Has(IterationDuration):
		return append(all, lacks("its iteration gauges do not include it", "", serveRest()...))
	}
	return append(all,
		lacks("this release has no token counters", cureLastServe, CanTokens),
		lacks("requests have ended and no iteration is on the page: their "+
			"statistics are off", cureIteration, serveRest()...))
}

// serveRest lists what appears with iterations, the memory of GPUs among it.
func serveRest() []string {
	return []string{CanTokens, CanQueue, CanRunning, CanStall, CanKVCache, CanKVReuse, CanGPU}
}

// serveProcesses returns how many processes have gauges on a multiprocess page, without the ranks
// of an engine, each of which is a process with its own batch.
func serveProcesses(p *Page) int {
	pids := make(map[string]bool)
	for _, r := range p.readings {
		if pid := p.labels(r).Get("pid"); pid != "" && p.labels(r).Get(labelRank) == "" {
			pids[pid] = true
		}
	}
	return len(pids)
}
