package engine

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// VLLM is vLLM's own OpenAI server. Page and API share a port.
const VLLM Name = "vllm"

// Servers with vLLM inside also show its names, next to names of their own, which weigh more.
// Models are owned by vllm (vllm/entrypoints/openai, ModelCard); the Rust frontend has an owner of
// its own (rust/src/server/src/routes/openai/models.rs). /health answers 503 once the engine's process has
// died, a moment before the server exits. While that process hangs, sleeps or drains it answers
// 200 (seen in 0.32.0: for up to 301 s).
func vllm() *Kind {
	return &Kind{
		Name:     VLLM,
		marks:    []mark{{text: vllmPrefix, weight: 2}},
		priority: -1,
		// By pages that the code of the releases wrote, of both engines; 0.12.0 and 0.32.0 were seen.
		Census:      "0.4.3 to 0.33.0",
		Copied:      2,
		ShowsHidden: "--show-hidden-metrics-for-version",
		series: slices.Concat(
			withPrefix(vllmPrefix, vllmHistory().with(slices.Concat(vllmEngine(), vllmTransfers()))),
			inReleases(since("0.8.3"), vllmHTTP()),
		),
		stage:   "stage", // Of vLLM-Omni (vllm_omni/metrics/stat_logger.py).
		repeats: vllmRepeats,
		quirks:  Quirks{CountersAppear: true},

		Ready:       "/health",
		live:        "/health",
		versionPath: versionPath,
		versionKey:  versionKey,
		owners:      []string{"vllm", "vllm-frontend-rs"},
		stream:      Stream{Usage: true, Seed: true, IgnoreEOS: true},
		healthNote:  "the API answers; it may report ready for minutes while the engine hangs, which the page shows",

		health:  vllmHealth,
		pausing: vllmPauseSeries,

		adapt: vllmQuirks,
		// The API counts its answers by route and status, beginning with the first, for example to the
		// request for its models. Requests for the page and about health do not count
		// (entrypoints/serve/instrumentator/metrics.py).
		failures: []Signal{HTTPAnswers},
		arrange:  vllmArrange,

		unserved:   vllmUnserved,
		deliberate: vllmDeliberate,

		judge:  vllmJudge,
		remark: vllmRemarks,
		gaps:   vllmGaps,
	}
}

// vllmConfig is the info metric about the KV cache, which the Python frontend always shows.
const vllmConfig = "cache_config_info"

// vllmRust reports whether the page belongs to the Rust frontend. It counts requests of
// disconnected clients, and shows neither the config of the KV cache nor, before the first
// request, any family about requests, but always lookups in its cache beside the gauges of an
// engine (rust/src/metrics/src/request.rs; seen in 0.32.0).
func vllmRust(p *Page) bool {
	return p.HasPrefix(vllmPrefix) && !vllmPython(p) &&
		(!p.HasName(vllmPrefix+"num_requests_running") || p.HasName(vllmPrefix+"prefix_cache_queries_total"))
}

// vllmPython reports whether the page belongs to the frontend in Python. Only engine V1 of 0.7
// lacks that config, and there a single process writes the page.
func vllmPython(p *Page) bool { return p.HasName(vllmPrefix+vllmConfig) || p.hasFamily("python_info") }

// vllmImitated reports whether the page is of neither frontend: that of a simulator, or a part of another one.
func vllmImitated(p *Page) bool { return p.HasPrefix(vllmPrefix) && !vllmPython(p) && !vllmRust(p) }

// vllmRepeats returns what several processes of the API count on one page: each of them counts the iterations that
// brought it tokens (v1/engine/async_llm.py; seen in 0.32.0: 1001 instead of 600 with two). Python shows nothing
// about the process itself then.
func vllmRepeats(has func(family string) bool) []Signal {
	if has(vllmPrefix+vllmConfig) && !has("python_info") && !has(processStart) {
		return []Signal{EngineIterations}
	}
	return nil
}

// vllmQuirks returns the quirks of a page. A rejection (503) is among the 5xx unless the engine
// counts it.
func vllmQuirks(q Quirks, p *Page) Quirks {
	q.RefusedFailed = p.HasName(vllmAnswers) && !p.HasPrefix(vllmPrefix)
	return q
}

// vllmUnserved explains why it serves nothing. Requests hang while all engines sleep (seen in
// 0.32.0).
func vllmUnserved(p *Page, _ *Facts, _ []ModelState) string {
	if p.Has(EngineAwake) && p.values[EngineAwake] <= 0 {
		return "its engines sleep until they are woken"
	}
	return ""
}

// vllmDeliberate reports whether that was done on purpose. Nothing but a request puts engines to
// sleep.
func vllmDeliberate(p *Page, f *Facts, models []ModelState) bool {
	return vllmUnserved(p, f, models) != ""
}

// vllmHealth asks whether the server is live and ready. A paused or sleeping server answers /health
// with 200. It tells where it can be paused or put to sleep: 0.12 to 0.14 whether they are paused,
// others in development mode (VLLM_SERVER_DEV_MODE=1; source of 0.11 to 0.32). A paused 0.32 says
// that it sleeps too, and the reverse (seen). Both questions wait for the engine, so that a hanging
// one answers neither.
func vllmHealth(ctx context.Context, k *Kind, client Client, address string) Health {
	h := k.healthByStatus(ctx, client, address)
	if h.API != APIReady {
		return h
	}
	q := &questions{client: client, base: address}
	var answer struct {
		Paused   bool `json:"is_paused"`
		Sleeping bool `json:"is_sleeping"`
	}
	q.get(ctx, "/is_paused", &answer)
	hangs := slices.ContainsFunc(q.problems, func(p Problem) bool { return p.Unanswered })
	if !answer.Paused && !hangs {
		q.get(ctx, "/is_sleeping", &answer)
	}
	switch {
	case answer.Paused:
		h.Paused, h.Detail = true, "it is paused, as for new weights, or asleep, until it is resumed"
	case answer.Sleeping:
		h.Paused, h.Detail = true, "its engines sleep until they are woken"
	}
	return h
}

// vllmArrange arranges the models. Series name the base model, listed before its adapters, or none.
func vllmArrange(t *Topology, models NamedModels, facts []ModelFacts) {
	arrangeOnly(t, models, facts)
	if len(facts) > 0 {
		t.fallback = facts[0].Name
	}
}

// vllmOutcomes explains which outcomes of requests are known. Rejections are answered
// with 503, or inside a stream with 200 (seen in 0.32.0), and are not counted separately.
func vllmOutcomes(p *Page) string {
	const counted, not = "requests that finished, but no more than were answered 2xx, and answers by HTTP " +
		"status", "errors inside a stream and " +
		"disconnected clients are not counted"
	switch {
	case vllmRust(p):
		return counted + "; disconnected clients count as finished, by reason; errors inside a stream are not counted"
	case p.HasName(vllmPrefix + "admission_rejections_total"):
		return counted + "; rejections are subtracted from the 5xx answers, although some have their error inside " +
			"a stream: failures are then a lower bound; " + not
	case !p.HasPrefix(vllmPrefix):
		return "answers by HTTP status, refused ones among the failed; " + not
	}
	return counted + "; " + not
}

// vllmWithoutV0 is the first release without engine V0.
const vllmWithoutV0 = "0.11.1"

const cureLogStats = "start vLLM without --disable-log-stats"

// vllmMute is the release whose page had lost the series of the engine.
const vllmMute = "0.5.4"

// vllmJudge judges what the series do not tell.
func vllmJudge(name string, k *Knowledge) (c target.Check, ok bool) {
	p := k.Page
	switch {
	case p == nil:
		return c, false
	case name == CanOutcomes && p.Has(HTTPAnswers):
		return yes(vllmOutcomes(p)), true
	case name == CanOutcomes && p.HasName(vllmAnswers):
		return no(vllmAnswers+" does not tell routes apart: clients' mistakes cannot be told from wrong paths; "+
			"answers of 5xx still count as failures", "the release of FastAPI that this vLLM asks for"), true
	case p.get().staged && name != CanGPU:
		return no("this vLLM-Omni counts each request in every stage of its pipeline, and what clients ask for is "+
			"not read", ""), true
	case !p.HasPrefix(vllmPrefix) && name != CanGPU && k.Facts.get().EngineVersion == vllmMute:
		return no("vLLM "+vllmMute+" shows no series of its engine while that is a process of its own "+
			"(vllm-project/vllm#7188)", "vLLM 0.5.5 or later, or --disable-frontend-multiprocessing"), true
	case !p.HasPrefix(vllmPrefix) && name != CanGPU:
		return no("the page has no series of the engine, as with --disable-log-stats", cureLogStats), true
	case name == CanKVReuse && p.shareless(KVHitRatio):
		return no(p.seriesOf("and", KVHitRatio)+" is -1: prefix caching is off", "--enable-prefix-caching"), true
	case name == CanKVReuse && p.HasName(vllmPrefix+vllmConfig) && !p.Has(CachedTokens) && !p.Has(PrefixHits) &&
		!p.Has(KVHitRatio) && k.mayPrecede(VLLM, vllmWithoutV0):
		return no("engine V0 of this release does not show what it found in its cache",
			"vLLM 0.8 or later with engine V1, its default"), true
	case name == CanKVReuse && vllmCountsBlocks(k):
		return yes(p.seriesOf("and", PrefixHits) + " of " + p.seriesOf("and", PrefixQueries) +
			", in blocks before 0.9.0, which are not counted as tokens"), true
	case name == CanKVCache && p.HasName(vllmPrefix+"kv_cache_usage_perc") && !p.Has(KVUtilization):
		return no("each of its API processes shows the value that it saw last, and nothing tells which is current",
			"vLLM 0.11.1 or later"), true
	}
	return c, false
}

// vllmCountsBlocks reports whether what was found in the prefix cache may be in blocks: names alone do not tell, and
// the release of an engine inside another server is not known.
func vllmCountsBlocks(k *Knowledge) bool {
	counted := func(r reading) bool {
		return r.meaning.Signal == CachedTokens && r.meaning.Holds(k.Version)
	}
	return k.Page.Has(PrefixHits) && k.Page.Has(PrefixQueries) && !k.Page.hasReading(counted)
}

// vllmRemarks returns remarks on what the page shows.
func vllmRemarks(p *Page) map[string]string {
	disconnected, found := "without requests of clients that left", "prompt tokens that were found in the prefix cache"
	if vllmRust(p) {
		disconnected = "with requests of clients that left"
	}
	if p.Has(KVHitRatio) {
		found = "of blocks, since the start"
	}
	return map[string]string{
		OutputToken.String(): "the mean of each request; one of a single token counts as 0",
		CanE2E:               disconnected,
		CanKVCache:           "0 to 1 despite its name",
		CanKVReuse:           found,
	}
}

// vllmGaps explains what a page lacks.
func vllmGaps(k *Knowledge) []gap {
	silent := awaits("no engine has reported yet: with several API processes gauges appear with the first request")
	switch {
	case vllmRust(k.Page):
		silent = lacks("the server was started with --disable-log-stats: the page has no gauges of "+
			"its scheduler", cureLogStats)
	case vllmImitated(k.Page):
		silent = lacks("vLLM's own page shows more: this is a simulator's, or something passes on a part of it", "")
	}
	silent.names = []string{CanQueue, CanRunning, CanStall, CanKVCache}
	all := append([]gap{silent}, vllmFirstV1(k)...)
	switch {
	case vllmRust(k.Page):
		all = append(all, lacks("the frontend in Rust does not expose cache_config_info", "", CanConfig))
	case vllmImitated(k.Page):
		all = append(all, lacks(silent.reason, "", CanConfig))
	}
	all = append(all, awaits(notYet))
	if k.Page.ended() {
		cure := ""
		if k.mayPrecede(VLLM, "0.8.3") {
			cure = "vLLM 0.8.3 or later"
		}
		all = append(all, lacks("requests have ended, and the page does not count the API's answers", cure, CanOutcomes))
	}
	return all
}

// vllmFirstV1 explains what the first releases with engine V1 lack, which show no config of the cache.
func vllmFirstV1(k *Knowledge) (all []gap) {
	if !k.Page.hasFamily("python_info") || k.Page.HasName(vllmPrefix+vllmConfig) {
		return nil
	}
	for _, g := range []struct {
		does, in string
		names    []string
	}{
		{"expose cache_config_info", "0.8", []string{CanConfig}},
		{"time whole requests", "0.7.3", []string{CanE2E, CanQuantiles}},
		{"count what it found in its cache", "0.7.3", []string{CanKVReuse}},
	} {
		if k.mayPrecede(VLLM, g.in) {
			all = append(all, lacks("engine V1 of this release does not "+g.does, "vLLM "+g.in+" or later", g.names...))
		}
	}
	return all
}

// vllmHistory returns what not all releases show, with engine V0, which ended with 0.11.0, or V1, whose
// first pages in 0.7 lacked more.
func vllmHistory() history {
	return history{
		since("0.6.4"): {
			"request_queue_time_seconds", "request_prefill_time_seconds", "request_decode_time_seconds",
			"request_inference_time_seconds", "iteration_tokens_total_count", "lora_requests_info",
		},
		between("0.5.5", "0.9.1").hidden("0.8.3"):   {vllmHitRate},
		between("0.7.3", "0.12.0").hidden("0.11.0"): {"gpu_prefix_cache_hits_total", "gpu_prefix_cache_queries_total"},
		since("0.8.3"):                  {"spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total"},
		since("0.8.5"):                  {"spec_decode_num_accepted_tokens_per_pos_total"},
		before("0.9.1").hidden("0.8.3"): {"num_requests_swapped"},
		since("0.9.2"): {
			"prefix_cache_hits_total", "prefix_cache_queries_total", "kv_cache_usage_perc",
		},
		since("0.10.2"): {"inter_token_latency_seconds"},
		since("0.11.0"): {"request_time_per_output_token_seconds"},
		since("0.11.1"): {
			"engine_sleep_state", "nixl_xfer_time_seconds_sum", "nixl_bytes_transferred_sum",
			"nixl_num_failed_transfers_total",
		},
		// Later ones are among the failed transfers, as their HELP says.
		between("0.11.1", "0.31.0").decided(): {"nixl_num_failed_notifications_total"},
		before("0.12.0").hidden("0.11.0"):     {"gpu_cache_usage_perc"},
		since("0.15.0"):                       {"nixl_num_kv_expired_reqs_total"},
		before("0.15.0").hidden("0.12.0"):     {"time_per_output_token_seconds"},
		since("0.16.0"):                       {"prompt_tokens_cached_total", vllmBySource, vllmOffload},
		since("0.18.0"):                       {"websocket_connections_total"},
		since("0.20.0"):                       {"num_requests_waiting_by_reason"},
		since("0.22.0"):                       {vllmStored},
		since("0.24.0"):                       {vllmOnboarded, vllmOffloaded},
		since("0.32.0"): {
			"hisparse_host_to_device_bytes_total", "hisparse_host_cache_usage_perc",
			"admission_rejections_total", "prompt_tokens_cached_by_source_total",
			"sleep_mode_operations_in_flight", "rl_weight_update_operations_in_flight",
		},
		since("0.33.0"): {
			"mooncake_xfer_time_seconds_sum", "mooncake_bytes_transferred_sum",
			"mooncake_num_failed_transfers_total", "mooncake_num_kv_expired_reqs_total",
			"mooncake_num_failed_recvs_total", vllmMoved,
		},
	}
}

// vllmBySource counts tokens of prompts by where they came from, in all as prompt_tokens_cached_total does.
const vllmBySource = "prompt_tokens_by_source_total"

// vllmHitRate is the share of all lookups of blocks in engine V0, -1 without prefix caching (core/block/common.py of
// 0.5.5 to 0.9.0, CacheMetricData).
const vllmHitRate = "gpu_prefix_cache_hit_rate"

// vllmEmitted counts the tokens of drafts and what they are verified with in engine V0.
const vllmEmitted = "spec_decode_num_emitted_tokens_total"

// vllmRank is the label of data-parallel ranks: each reports its own requests, tokens and cache.
const vllmRank = "engine"

// vllmPauseSeries adds a series.
func vllmPauseSeries(s *pauseSeries, m *Meaning, series int, _ labels.Labels) {
	switch m.Signal { //nolint:exhaustive // Others say nothing.
	case RequestsRunning, RequestsWaiting:
		s.open = append(s.open, series)
	case OperationsOpen:
		s.operations = append(s.operations, series)
	case EngineOutputs, GenerationTokens, PromptTokens:
		s.steps = append(s.steps, series)
	}
}

// vllmSwapped is the release whose times of prefill are those of decode, and the reverse.
const vllmSwapped = "0.6.4"

// vllmEngine returns the meanings of the engine's series.
func vllmEngine() []Meaning {
	swapped := between(vllmSwapped, "0.6.5").decided()
	return []Meaning{
		// Requests. Those of disconnected clients never count as ended; each of several answers or
		// prompts of a request counts, which [AnsweredWell] bounds. A rejected request, streamed or not,
		// is answered with 503 and also counts by status (exceptions.py, QueueOverflowError); if its
		// stream has begun, as in a burst, the error is inside a 200 (seen in 0.32.0).
		{Name: "num_requests_running", Signal: RequestsRunning, Rank: vllmRank},
		{Name: "num_requests_waiting", Signal: RequestsWaiting, Rank: vllmRank},
		// With engine V0: preempted requests in the memory of the host, which neither run nor wait.
		{Name: "num_requests_swapped", Signal: RequestsWaiting},
		{Name: "num_requests_waiting_by_reason", Signal: RequestsWaitingReason, Dims: kept("reason")},
		{
			Name:   "num_requests_waiting_by_reason",
			Where:  except("reason", "capacity"),
			Signal: RequestsDeferred,
			Rank:   vllmRank,
		},
		{Name: "num_preemptions_total", Signal: Preemptions},
		{
			Name:    "request_success_total",
			Where:   except("finished_reason", "error"),
			Signal:  RequestsFinished,
			Rank:    vllmRank,
			Dims:    renamed("finished_reason", "finish_reason"),
			Outcome: finished(),
		},
		{
			Name:    "request_success_total",
			Where:   only("finished_reason", "error"),
			Signal:  RequestsFinished,
			Rank:    vllmRank,
			Dims:    renamed("finished_reason", "finish_reason"),
			Outcome: &Outcome{Usual: ClassServer, Again: "http_5xx"},
		},
		// A request with n completions counts here once its last one ends, and each of several prompts by itself
		// (v1/engine/parallel_sampling.py, observe_finished_request; vllm-project/vllm#56361).
		{Name: "request_params_n_count", Signal: RequestsOnce, Rank: vllmRank},
		{
			Name:    "admission_rejections_total",
			Signal:  RequestsFailed,
			Dims:    kept("reason"),
			Outcome: &Outcome{Usual: ClassOverload, Again: "http_5xx"},
		},
		{Name: "admission_rejections_total", Signal: RequestsRejected},
		{Name: "websocket_connections_total", Signal: SocketsOpened},
		{Name: "sleep_mode_operations_in_flight", Signal: OperationsOpen},
		{Name: "rl_weight_update_operations_in_flight", Signal: OperationsOpen},

		// Tokens, with each step of the engine. The hits before prompt_tokens_cached_total count a
		// request that is tried in vain once more (vllm-project/vllm#43736), as do the queries. Both
		// count blocks before 0.9.0 (vllm-project/vllm#18003).
		{Name: "prompt_tokens_total", Signal: PromptTokens, Rank: vllmRank},
		{Name: "generation_tokens_total", Signal: GenerationTokens, Rank: vllmRank},
		// What came from elsewhere (external_kv_transfer) is no hit: what a prefill server sends was computed
		// for this request, and nothing tells it from what another store holds.
		{Name: vllmBySource, Where: only("source", "local_cache_hit"), Signal: CachedTokens},
		{Name: "prompt_tokens_cached_total", Signal: CachedTokens, Unless: replacedBy(vllmBySource)},
		{
			Name:   "prefix_cache_hits_total",
			Signal: CachedTokens,
			Unless: replacedBy(vllmBySource, "prompt_tokens_cached_total"),
		},
		{
			Name:   "prefix_cache_hits_total",
			Signal: PrefixHits,
			Unless: replacedBy(vllmBySource, "prompt_tokens_cached_total"),
		},
		{
			Name:   "prefix_cache_queries_total",
			Signal: PrefixQueries,
			Unless: replacedBy(vllmBySource, "prompt_tokens_cached_total"),
		},
		{
			Name:   "gpu_prefix_cache_hits_total",
			Signal: PrefixHits,
			Unless: replacedBy(vllmBySource, "prompt_tokens_cached_total", "prefix_cache_hits_total"),
		},
		{
			Name:   "gpu_prefix_cache_queries_total",
			Signal: PrefixQueries,
			Unless: replacedBy(vllmBySource, "prompt_tokens_cached_total", "prefix_cache_queries_total"),
		},
		{
			Name:     "gpu_prefix_cache_hits_total",
			Signal:   CachedTokens,
			Releases: between("0.9.0", "0.12.0").hidden("0.11.0").decided(),
			Unless:   replacedBy(vllmBySource, "prompt_tokens_cached_total", "prefix_cache_hits_total"),
		},
		{Name: vllmHitRate, Signal: KVHitRatio, Combine: Max},
		{
			Name:   "prompt_tokens_cached_by_source_total",
			Signal: CachedTokensByTier,
			Dims:   renamed("source", "cache_tier"),
		},
		{Name: "request_prompt_tokens", Signal: RequestPromptTokens},
		{Name: "request_generation_tokens", Signal: RequestOutputTokens},
		// Engine V0, which alone counts emitted tokens, adds all drafts since its start again and again
		// (engine/metrics.py of 0.5.3 to 0.9.2).
		{Name: "spec_decode_num_draft_tokens_total", Signal: SpecDraft, Unless: inReleasesWith(vllmEmitted)},
		{Name: "spec_decode_num_accepted_tokens_total", Signal: SpecAccepted, Unless: inReleasesWith(vllmEmitted)},
		{Name: "spec_decode_num_accepted_tokens_per_pos_total", Signal: SpecAcceptedPosition, Dims: kept("position")},

		// Durations, all but the first two observed when a request ends. The old
		// time_per_output_token_seconds is observed token by token and equals
		// inter_token_latency_seconds.
		{Name: "time_to_first_token_seconds", Signal: FirstToken},
		{Name: "inter_token_latency_seconds", Signal: InterToken},
		{Name: "time_per_output_token_seconds", Signal: InterToken, Unless: replacedBy("inter_token_latency_seconds")},
		{Name: "request_time_per_output_token_seconds", Signal: OutputToken},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration},
		{Name: "request_queue_time_seconds", Signal: RequestQueue},
		{Name: "request_prefill_time_seconds", Signal: RequestPrefill, Unless: inVersions(vllmSwapped)},
		{Name: "request_decode_time_seconds", Signal: RequestDecode, Unless: inVersions(vllmSwapped)},
		{Name: "request_prefill_time_seconds", Signal: RequestDecode, Releases: swapped},
		{Name: "request_decode_time_seconds", Signal: RequestPrefill, Releases: swapped},
		{Name: "request_inference_time_seconds", Signal: RequestInference},

		// The engine and its cache. Each rank has its own cache, and the fullest counts; it was
		// first named after the GPU. With several API processes of 0.9.2 to 0.11.0, each shows
		// under the new name what it saw last, by pid, and nothing shows which is current; the old
		// name has the newest. iteration_tokens_total is a
		// histogram despite its name, and its count is the number of iterations. The value of
		// lora_requests_info is when it was written; past label sets stay, and the largest value
		// is current.
		{Name: "kv_cache_usage_perc", Where: absent("pid"), Signal: KVUtilization, Combine: Max, Rank: vllmRank},
		{
			Name:    "gpu_cache_usage_perc",
			Signal:  KVUtilization,
			Combine: Max,
			Rank:    vllmRank,
			Unless:  replacedBy("kv_cache_usage_perc"),
		},
		{Name: "iteration_tokens_total_count", Signal: EngineIterations, Rank: vllmRank},
		{Name: "iteration_tokens_total_count", Signal: EngineOutputs, Rank: vllmRank},
		{
			Name:    "engine_sleep_state",
			Where:   only("sleep_state", "awake"),
			Signal:  EngineAwake,
			Combine: Max,
			Rank:    vllmRank,
		},
		// num_gpu_blocks of each rank is the sum over the ranks that report to one API
		// (core_client.py of 0.9 to 0.32); kv_cache_size_tokens of newer releases is per rank.
		{
			Name:    vllmConfig,
			Signal:  CacheStated,
			Combine: Max,
			Rank:    vllmRank,
			Dims: slices.Concat(
				renamed("num_gpu_blocks", "blocks"),
				renamed("block_size", "block_tokens"),
				// Of models that have layers with states, which share the blocks with the others.
				renamed("mamba_block_size", "state_tokens"),
				renamed("kv_cache_size_tokens", "tokens"),
				renamed("num_cpu_blocks", "swap_blocks"), // Of engine V0 alone.
			),
		},
		{
			Name:    vllmConfig,
			Signal:  CacheConfig,
			Combine: Max,
			Dims: slices.Concat(
				renamed("block_size", "page_size"),
				kept("cache_dtype"),
				renamed("enable_prefix_caching", "enable_block_reuse"),
				kept("num_gpu_blocks"),
			),
		},
		{
			Name:    "lora_requests_info",
			Signal:  AdaptersWritten,
			Combine: Max,
			Dims: slices.Concat(
				kept("max_lora"),
				renamed("running_lora_adapters", "running"),
				renamed("waiting_lora_adapters", "waiting"),
			),
		},
	}
}

// vllmOffload counts the bytes that the connector for the memory of the host moved. What connectors for other storage
// move it does not count from 0.24.0 on, and in series of their own before (offloading/metrics.py).
const vllmOffload = "kv_offload_total_bytes_total"

// vllmOnboarded and vllmOffloaded count since 0.24.0 what comes from and goes to any storage. The older name, which is
// deprecated, has that of the host's memory alone (offloading/metrics.py).
const vllmOnboarded, vllmOffloaded = "kv_offload_load_bytes_total", "kv_offload_store_bytes_total"

// vllmStored counts the bytes of operations of Mooncake's store by their outcome. One that failed, in part or as a
// whole, counts all that it was to move (mooncake/store/worker.py).
const vllmStored = "mooncake_store_operation_bytes_total"

// vllmMoved counts the bytes of what Mori's store moved completely (umbp/worker.py).
const vllmMoved = "umbp_transfer_bytes_total"

// vllmTransfers returns the meanings of KV cache transfers by the connectors of disaggregated
// servers: NIXL (seen in the Rust frontend of 0.32.0), and Mooncake. The prefill server
// counts caches that were not fetched in time.
func vllmTransfers() []Meaning {
	var all []Meaning
	done := func(operation string) []Match {
		return slices.Concat(only("operation", operation), only("status", "ok"))
	}
	for _, connector := range []string{"nixl_", "mooncake_"} {
		all = append(all,
			Meaning{Name: connector + "xfer_time_seconds_sum", Signal: KVTransferSeconds},
			Meaning{Name: connector + "bytes_transferred_sum", Signal: KVTransferBytes},
			Meaning{
				Name:   connector + "num_failed_transfers_total",
				Signal: KVTransferFailures,
				Const:  labeled("reason", "transfer"),
			},
			Meaning{
				Name:   connector + "num_kv_expired_reqs_total",
				Signal: KVTransferFailures,
				Const:  labeled("reason", "expired"),
			},
		)
	}
	return append(all,
		Meaning{Name: vllmOffload, Where: only("transfer_type", "CPU_to_GPU"), Signal: KVOnboardBytes},
		Meaning{Name: vllmOffload, Where: only("transfer_type", "GPU_to_CPU"), Signal: KVOffloadBytes},
		Meaning{Name: vllmOnboarded, Signal: KVOnboardBytes, Unless: replacedBy(vllmOffload)},
		Meaning{Name: vllmOffloaded, Signal: KVOffloadBytes, Unless: replacedBy(vllmOffload)},
		Meaning{Name: vllmStored, Where: done("load_get"), Signal: KVOnboardBytes},
		Meaning{Name: vllmStored, Where: done("save_put"), Signal: KVOffloadBytes},
		Meaning{Name: vllmMoved, Where: only("operation", "load"), Signal: KVOnboardBytes},
		Meaning{Name: vllmMoved, Where: only("operation", "store"), Signal: KVOffloadBytes},
		// HiSparse keeps the whole cache in the memory of the host, and moves what attention picks; what could be evicted
		// counts as free there, as it does on the GPU (kv_connector/v1/hisparse/metrics.py).
		Meaning{Name: "hisparse_host_to_device_bytes_total", Signal: KVOnboardBytes},
		Meaning{Name: "hisparse_host_cache_usage_perc", Signal: KVHostUtilization, Combine: Max},
		Meaning{
			Name:   "nixl_num_failed_notifications_total",
			Signal: KVTransferFailures,
			Const:  labeled("reason", "notification"),
		},
		Meaning{
			Name:   "mooncake_num_failed_recvs_total",
			Signal: KVTransferFailures,
			Const:  labeled("reason", "receive"),
		},
	)
}

// vllmAnswers counts the API's answers by the first digit of their status.
const vllmAnswers = "http_requests_total"

// vllmAsksNoModel lists the routes that answer POST without a model: texts and tokens, the state of
// the engine, adapters, weights, profiles (0.8.5 to 0.32.0, and the frontend in Rust). Every other
// route asks a model, among them routes that do not exist yet.
func vllmAsksNoModel() []string {
	return []string{
		"/tokenize", "/detokenize", "/v1/messages/count_tokens",
		"/v1/chat/completions/render", "/v1/completions/render", "/v1/messages/render",
		"/v1/responses/render", "/cohere/v2/chat/render",
		"/v1/chat/completions/derender", "/v1/completions/derender",
		"/v1/responses/{response_id}/cancel", "/abort_requests", "/inference/v1/abort_requests",
		"/v1/load_lora_adapter", "/v1/unload_lora_adapter",
		"/sleep", "/wake_up", "/release_kv_cache_memory", "/pause", "/resume",
		"/reset_prefix_cache", "/reset_mm_cache", "/reset_encoder_cache",
		"/start_profile", "/stop_profile", "/collective_rpc", "/ping",
		"/scale_elastic_ep", "/is_scaling_elastic_ep", "/fault_tolerance/apply",
		"/init_weight_transfer_engine", "/shutdown_weight_transfer_engine",
		"/start_weight_update", "/start_draft_weight_update", "/update_weights",
		"/finish_weight_update", "/update_weight_version", "/weight_checker",
	}
}

// vllmNoHandler is the handler of answers that belong to no route: of a wrong path, or of all if
// FastAPI is newer than vLLM knows (0.24 to 0.33 with FastAPI 0.137 or later).
const vllmNoHandler = "none"

// vllmHTTP returns the meanings of requests answered with an error status and, if the engine
// counts none because of --disable-log-stats, of successful requests. Errors inside a stream
// follow a 200 and do not count elsewhere; neither do disconnected clients. A wrong path is no
// request to a model, and its answer is never 2xx or 5xx.
func vllmHTTP() []Meaning {
	where := func(more ...Match) []Match {
		return slices.Concat(only("method", "POST"), more, except("handler", vllmAsksNoModel()...))
	}
	failed := func(where []Match) Meaning {
		return Meaning{
			Name: vllmAnswers, Where: where,
			Signal: RequestsFailed, Dims: renamed("status", "reason"),
			Outcome: &Outcome{Codes: true, Missed: []Class{ClassCanceled, ClassOverload}},
		}
	}
	return []Meaning{
		{
			Name: vllmAnswers, Where: where(only("status", "2xx")...),
			Unless: replacedBy(vllmPrefix + "request_success_total"),
			Signal: RequestsFinished, Outcome: &Outcome{Usual: ClassOK},
		},
		{Name: vllmAnswers, Where: where(only("status", "2xx")...), Signal: AnsweredWell},
		failed(where(slices.Concat(only("status", "4xx"), except("handler", vllmNoHandler))...)),
		failed(where(only("status", "5xx")...)),
		{
			Name:   vllmAnswers,
			Where:  slices.Concat(present("handler", "status"), except("handler", vllmNoHandler)),
			Signal: HTTPAnswers,
		},
	}
}
