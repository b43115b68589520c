package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// SGLang is SGLang's own server. Page and API share a port.
const SGLang Name = "sglang"

// sglangPrefix begins the names of its series.
const sglangPrefix = "sglang:"

// GET /health_generate is in 0.3.5 to 0.5.23; /health is the same from 0.5.0 on, unless
// SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION turns that off. Since 0.4.4 the server waits for
// SGLANG_HEALTH_CHECK_TIMEOUT (20 s) for any output of its engine, so that requests in progress answer
// for it (http_server.py; seen in 0.5.23: 1 s while idle, busy or with a full queue).
func sglang() *Kind {
	return &Kind{
		Name: SGLang,
		NoPage: Missing{
			Hint: "SGLang has the page only with --enable-metrics; the router smg answers like it, " +
				"and has its page on another port (--prometheus-port, 29000)",
			Why:  ": it exists only with --enable-metrics",
			Cure: "--enable-metrics",
		},
		marks:    []mark{{text: sglangPrefix, weight: 2}},
		priority: -1,
		series:   sglangMeanings(),
		Census:   "0.3.5.post1 to 0.5.23",
		Copied:   1,
		quirks:   Quirks{CountersAppear: true, AnswersAll: true},

		SelfTest: SelfTest{Path: "/health_generate", Patience: 20 * time.Second, Remembered: true, Shown: true},
		owners:   sglangOwners(),
		stream:   Stream{Usage: true, Seed: true, IgnoreEOS: true},
		healthNote: "the API lists its models, whatever the engine does; /health is not asked: from 0.5.0 on it " +
			"may send the engine a request",

		identify: sglangIdentify,
		ask:      sglangAsk,
		health:   sglangHealth,
		pausing:  sglangPauseSeries,

		adapt:    sglangQuirks,
		ranks:    sglangRanks,
		failures: []Signal{HTTPAnswers}, // By route and status, including the one with this page.

		judge:  sglangJudge,
		remark: sglangRemarks,
		gaps:   sglangGaps,
	}
}

func sglangOwners() []string { return []string{"sglang"} }

// sglangIdentify returns the evidence (seen in 0.5.23).
func sglangIdentify(ctx context.Context, q *questions) string {
	if list, _ := q.models(ctx); !slices.Contains(sglangOwners(), list.owner()) {
		return ""
	}
	for _, path := range []string{"/model_info", "/get_model_info"} {
		var info struct {
			Path string `json:"model_path"`
			Name string `json:"served_model_name"`
		}
		if _, ok := q.get(ctx, path, &info); ok && info.Path+info.Name != "" {
			return "/v1/models lists models owned by sglang, and " + path + " answers"
		}
	}
	return ""
}

// sglangAsk asks who the server is. The version comes last, since its answer waits for the
// schedulers (sgl-project/sglang#4191).
func sglangAsk(ctx context.Context, _ *Kind, client Client, address string, _ Earlier) Round {
	return func(yield func(Facts, bool) bool) {
		var f Facts
		q := &questions{client: client, base: address}
		q.askModels(ctx, sglangOwners(), &f)
		if yield(f, false) {
			sglangAskSchedulers(ctx, q, &f)
			yield(f, true)
		}
	}
}

// sglangAskSchedulers requests what waits for an answer of the schedulers.
func sglangAskSchedulers(ctx context.Context, q *questions, f *Facts) {
	var info struct {
		Version      string `json:"version"`
		DataParallel int    `json:"dp_size"`
	}
	if _, ok := q.get(ctx, "/server_info", &info); !ok && ctx.Err() == nil {
		q.get(ctx, "/get_server_info", &info) // For older releases.
	}
	f.EngineVersion, f.DataParallel, f.Problems = plainVersion(info.Version), info.DataParallel, q.problems
}

// sglangRanked is the first release whose gauges have the label dp_rank, sglangOverwrites that since which
// gauges without it show what one rank wrote last. Before, gauges of requests show the sum, and those of the
// cache do not (multiprocess_mode in metrics/collector.py).
const sglangRanked, sglangOverwrites = "0.4.9.post3", "0.4.3.post3"

// sglangRanks says how the page shows data-parallel ranks where their gauges do not name them.
func sglangRanks(f *Facts) Ranks {
	switch {
	case f.DataParallel == 0:
		return 0
	case f.DataParallel == 1:
		return RanksOne
	case before(sglangOverwrites).Hold(f.EngineVersion):
		return RanksAdd
	}
	return RanksOverwrite
}

// sglangHealth asks whether the server is live and ready. It does not request /health and
// /health_generate: each sends a request for one token through the queue of the engine and answers
// after a second. The list of models is answered regardless of the engine; the page shows whether
// that hangs.
func sglangHealth(ctx context.Context, _ *Kind, client Client, address string) Health {
	h, _ := readiness(ctx, client, address+"/v1/models")
	if h.API == APIReady {
		h.Detail = "the API lists its models"
		ready, healthy, said := sglangSays(ctx, client, address)
		h.PausedByPage, h.Unwell = !said, said && !ready && !healthy
		if said && !ready && healthy {
			h.pause(commanded)
		}
	}
	if h.Status == http.StatusNotFound && sglangFollows(ctx, client, address) {
		h.API, h.FromServer, h.NoEndpoint = APINotReady, true, true
		h.Detail = "the server takes no requests: " + mayFollow
	}
	h.liveIfAnswered()
	return h
}

// sglangSays reports whether the server says that it is ready and healthy. Since 0.5.20 it tells so that it is
// paused: healthy, and yet not ready (http_server.py, /ready; earlier releases lack that path, so that nothing is
// said). If it is neither, it starts, or exits, or somebody's last request for /health failed, which it
// remembers until the next one: that says nothing about now.
func sglangSays(ctx context.Context, client Client, address string) (ready, healthy, said bool) {
	switch h, _ := readiness(ctx, client, address+"/ready"); h.API { //nolint:exhaustive // Others say nothing.
	case APIReady:
		return true, true, true
	case APINotReady:
		h, _ := readiness(ctx, client, address+"/ping")
		return false, h.API != APINotReady, h.API == APIReady || h.API == APINotReady
	}
	return false, false, false
}

// sglangFollows reports whether a server without models is healthy, as a follower node answers whatever
// happens (seen in the source of 0.5.23, launch_dummy_health_check_server).
func sglangFollows(ctx context.Context, client Client, address string) bool {
	h, _ := readiness(ctx, client, address+"/ping")
	return h.API == APIReady
}

// sglangQuirks returns the quirks of a page. With several tokenizer workers no answers are counted,
// and streams count as aborted shortly after they ended (sgl-project/sglang#28868).
func sglangQuirks(q Quirks, p *Page) Quirks {
	q.AbortsRepeated = p != nil && p.engine.Name == SGLang && sglangSteps(p) && !p.Has(HTTPAnswers)
	return q
}

// sglangSteps reports whether the page counts steps, which 0.5.7 brought, one release after the counters
// of answers.
func sglangSteps(p *Page) bool { return p.Has(EngineIterations) || p.Has(GenerationTokensLive) }

// sglangOutcomes explains which outcomes of requests are known.
func sglangOutcomes(p *Page) string {
	left := "it is unknown which aborted ones were answered 2xx, so class ok is a lower bound, and so is class client: " +
		"all aborted requests are subtracted, although only those whose answer had not begun were answered 400"
	if p.Has(RequestsUnaborted) {
		left = "aborted streams are taken off class ok, and are those that did not complete, among which are streams " +
			"of one token; a client that disconnects before its answer begins is answered 400, which is subtracted " +
			"from class client as far as known"
	}
	return "num_requests_total as far as they were answered 2xx, aborted ones, and failures by HTTP status; " + left +
		"; a request with n > 1 or a list of prompts counts once; errors inside a stream are not counted"
}

// sglangJudge judges outcomes, which the series do not tell.
func sglangJudge(name string, k *Knowledge) (c target.Check, ok bool) {
	if name == CanOutcomes && k.Page.Has(HTTPAnswers) {
		return yes(sglangOutcomes(k.Page)), true
	}
	hidden := map[string]Signal{
		CanRunning: RequestsRunning,
		CanQueue:   RequestsWaiting,
		CanStall:   RequestsRunning,
		CanKVCache: KVUtilization,
	}
	if s, ok := hidden[name]; ok && k.Page.hides(s) {
		return no(fmt.Sprintf("its %d data-parallel ranks write gauges which do not name them: each shows what "+
			"one rank wrote last", k.Facts.get().DataParallel), "SGLang "+sglangRanked+" or later"), true
	}
	return c, false
}

// sglangRemarks returns remarks on what the page shows. While idle, releases up to 0.4.3 do not update
// the gauge of running requests, and those up to 0.5.15 only after 30 s (scheduler.py, check_memory;
// metrics_reporter.py). The next one came with a gauge that is always on the page.
func sglangRemarks(p *Page) map[string]string {
	running := "updated every few steps"
	if !p.hasFamily(sglangPrefix + "spec_cap_length") {
		running += "; an idle server may show its last batch"
	}
	first := "with requests that are not streamed, which count when a part of their answer is there"
	streamed := func(r reading) bool {
		return r.meaning.Signal == FirstToken && r.meaning.chooses("is_streaming", "true")
	}
	if p.hasReading(streamed) {
		first = "of streamed requests"
	}
	return map[string]string{
		GenerationTokensLive.String(): "all but the first token of each request",
		CanRunning:                    running,
		CanTTFT:                       first,
		OutputToken.String():          "the mean of each request of more than one token",
		InterToken.String():           "token by token; several that arrive at once count with their mean",
		CanE2E:                        "with requests of clients that left",
		KVUtilization.String():        "rounded to 2 digits",
		CanKVReuse:                    "when a request ends",
	}
}

// sglangOther returns what a server does that is not an engine of LLMs: it encodes for other servers (since 0.5.15), or
// diffuses (since 0.5.21), and its page has other families.
func sglangOther(p *Page) string {
	for _, other := range []struct{ prefix, does string }{
		{sglangPrefix + "encoder_", "encodes images and the like for other servers"},
		{sglangPrefix + "diffusion_", "generates images or videos"},
	} {
		shows := func(f exposition.Family) bool { return strings.HasPrefix(f.Name, other.prefix) }
		if !p.Has(RequestsRunning) && slices.ContainsFunc(p.families(), shows) {
			return other.does
		}
	}
	return ""
}

// sglangGaps explains what a page lacks.
func sglangGaps(k *Knowledge) []gap {
	if does := sglangOther(k.Page); does != "" {
		all := lacks("it "+does+", and its page has none of the series of an LLM's engine", "", CapabilityNames()...)
		return []gap{lacks(notExposed, cureDCGM, CanGPU), all}
	}
	noLive := lacks("this release counts tokens when a request ends", "SGLang 0.5.7 or later", CanLiveTokens)
	begins := k.Page.Has(KVTokensLimit) && !k.Page.ended() // That size came with 0.5.6.
	if sglangSteps(k.Page) || begins || !k.mayPrecede(SGLang, "0.5.7") {
		noLive = awaits(notYet, CanLiveTokens)
	}
	return []gap{
		lacks("no streamed request had its first token yet", "", CanTTFT),
		lacks("the family appears with the first prompt that is found in the cache, from SGLang 0.4.3.post4 on and "+
			"unless --disable-radix-cache is set", "",
			CanKVReuse),
		noLive,
		awaits(notYet),
	}
}

// sglangMeanings returns the meanings (seen in 0.5.23, and its source).
func sglangMeanings() []Meaning {
	all := slices.Concat(sglangScheduler(), sglangRequests(), sglangHTTP())
	return withPrefix(sglangPrefix, sglangHistory().with(all))
}

// sglangHistory returns what not all releases show.
func sglangHistory() history {
	return history{
		since("0.4.1.post6"): {"num_requests_total"},
		since("0.4.1.post7"): {"spec_accept_length"},
		since("0.4.3.post3"): {"inter_token_latency_seconds"},
		since("0.4.3.post4"): {"cached_tokens_total"},
		since("0.4.6.post4"): {
			"num_grammar_queue_reqs", "num_decode_prealloc_queue_reqs", "num_decode_transfer_queue_reqs",
			"num_transfer_failed_reqs_total", "num_bootstrap_failed_reqs_total",
			"prompt_tokens_histogram", "generation_tokens_histogram",
		},
		between("0.4.6.post4", "0.5.1.post2"): {"num_prefill_infight_queue_reqs"},
		between("0.4.6.post4", "0.5.12"):      {"num_prefill_prealloc_queue_reqs"},
		since("0.4.7"):                        {"num_aborted_requests_total"},
		since("0.5.1.post2"):                  {"num_prefill_inflight_queue_reqs"},
		since("0.5.2"):                        {"num_paused_reqs", "num_retracted_reqs"},
		between("0.5.2", "0.5.3"):             {"queue_time_s"},
		since("0.5.3"):                        {"queue_time_seconds"},
		since("0.5.4.post3"):                  {"mamba_usage"},
		since("0.5.6"):                        {"max_total_num_tokens"},
		since("0.5.6.post2"):                  {sglangAnswers},
		since("0.5.7"): {
			"num_retracted_requests_total", "realtime_tokens_total", "cuda_graph_passes_total",
			"http_requests_total",
		},
		since("0.5.8"): {"http_requests_active"},
		since("0.5.10"): {
			"kv_transfer_latency_ms_sum", "kv_transfer_total_mb_sum", "hicache_host_used_tokens", "hicache_host_total_tokens",
		},
		since("0.5.11"): {
			"kv_used_tokens", "kv_available_tokens", "kv_evictable_tokens", "num_pages", "page_size", "spec_accept_rate",
		},
		since("0.5.12"): {"num_prefill_bootstrap_queue_reqs"},
		since("0.5.18"): {"load_back_bytes_total", "hicache_backup_bytes_total"},
		since("0.5.22"): {sglangUnaborted, strings.TrimSuffix(sglangUnaborted, "_count")},
		since("0.5.23"): {"hicache_host_mamba_used_states", "hicache_host_mamba_total_states"},
	}
}

// sglangScheduler returns the meanings of the scheduler's series. Each data-parallel rank counts
// its own requests; ranks that share a batch repeat each other if
// --enable-metrics-for-all-schedulers makes all of them report. With priorities, the series
// without a priority is the sum of the others.
func sglangScheduler() []Meaning {
	all := []Meaning{
		{Name: "num_running_reqs", Signal: RequestsRunning},
		{Name: "num_queue_reqs", Signal: RequestsWaiting},
		{Name: "num_grammar_queue_reqs", Signal: RequestsWaiting},
		{Name: "num_grammar_queue_reqs", Signal: RequestsDeferred},
		// On a server that only decodes (label engine_type), requests wait for capacity, or for the
		// other server, in the first and for their KV cache in the second, of which
		// num_decode_host_receive_queue_reqs repeats a part. On a server that only prefills, they
		// wait for the other server's capacity in the third, first called prealloc; those in
		// num_prefill_inflight_queue_reqs are computed already. 0.4.6 leaves all of them at 0
		// (scheduler_metrics_mixin.py, metrics_reporter.py).
		{Name: "num_decode_prealloc_queue_reqs", Signal: RequestsWaiting},
		{Name: "num_decode_transfer_queue_reqs", Signal: RequestsTransfer},
		{Name: "num_prefill_bootstrap_queue_reqs", Signal: RequestsTransfer},
		{Name: "num_prefill_prealloc_queue_reqs", Signal: RequestsTransfer},
		{Name: "num_prefill_inflight_queue_reqs", Signal: RequestsHandedOn},
		{Name: "num_prefill_infight_queue_reqs", Signal: RequestsHandedOn}, // Misspelt at first.
		// Transfers of KV caches from prefill to decode. The MB are mebibytes, and the time begins
		// with the last part of a prompt (req_time_stats.py). Earlier releases show only the last
		// transfer, in gauges without these suffixes.
		{Name: "kv_transfer_latency_ms_sum", Signal: KVTransferSeconds, Shift: milli},
		{Name: "kv_transfer_total_mb_sum", Signal: KVTransferMebibytes},
		{Name: "num_transfer_failed_reqs_total", Signal: KVTransferFailures, Const: labeled("reason", "transfer")},
		{Name: "num_bootstrap_failed_reqs_total", Signal: KVTransferFailures, Const: labeled("reason", "bootstrap")},
		{Name: "num_paused_reqs", Signal: RequestsPaused},
		{Name: "num_retracted_reqs", Signal: RequestsPreempted},
		{Name: "num_retracted_requests_total", Signal: Preemptions},
		// The time in the queue includes requests of health checks.
		{Name: "queue_time_seconds", Signal: RequestQueue},
		{Name: "queue_time_s", Signal: RequestQueue},
		// Tokens, about once per step, without the first token of each request (seen in 0.5.23).
		{Name: "realtime_tokens_total", Where: only("mode", "decode"), Signal: GenerationTokensLive},
		{Name: "realtime_tokens_total", Where: begins("mode", "prefill_"), Signal: PromptTokensLive},
		{Name: "spec_accept_length", Signal: SpecLength, Combine: Max},
		// Before 0.5.11, which came with page_size, the server's own token of each step counted as drafted and accepted.
		// It is 0 without drafts; if none was accepted, the length, 1, says so.
		{
			Name:    "spec_accept_rate",
			Signal:  SpecRate,
			Combine: Max,
			NotZero: true,
			Unless:  inReleasesWithout("page_size"),
		},
		// Passes through the model, by execution mode.
		{Name: "cuda_graph_passes_total", Signal: EngineIterations},
		// The KV cache, in tokens and in pages of tokens. What can be evicted counts as free.
		// Tokens in use are those of the fuller pool where several are, in the releases that show both counts.
		// A model with states has a pool for them, which token_usage includes from 0.5.10 on only.
		{Name: "token_usage", Signal: KVUtilization, Combine: Max},
		{Name: "mamba_usage", Signal: KVUtilization, Combine: Max},
		{Name: "num_used_tokens", Signal: KVTokensUsed, Unless: replacedBy("kv_used_tokens")},
		{Name: "kv_used_tokens", Signal: KVTokensUsed},
		{Name: "kv_available_tokens", Signal: KVTokensFree},
		{Name: "kv_evictable_tokens", Signal: KVTokensFree},
		{Name: "max_total_num_tokens", Signal: KVTokensLimit},
		{Name: "num_pages", Signal: KVBlocksLimit},
		{Name: "page_size", Signal: KVBlockTokens, Combine: Max},
		// The second level of the cache, in the memory of the host, with a pool for states of hybrid models.
		{Name: "hicache_host_used_tokens", Signal: KVHostTokensUsed},
		{Name: "hicache_host_total_tokens", Signal: KVHostTokensLimit},
		{Name: "hicache_host_mamba_used_states", Signal: KVHostStatesUsed},
		{Name: "hicache_host_mamba_total_states", Signal: KVHostStatesLimit},
	}
	for i := range all {
		all[i].Rank = "dp_rank"
		all[i].Copies = []string{"moe_ep_rank", "pid", "pp_rank", "tp_rank"}
		all[i].Where = append(all[i].Where, absent("priority")...)
	}
	// Each rank counts the bytes of its own part of the cache.
	return append(all,
		Meaning{Name: "load_back_bytes_total", Signal: KVOnboardBytes},
		Meaning{Name: "hicache_backup_bytes_total", Signal: KVOffloadBytes},
	)
}

// sglangRequests returns the meanings of series that change when requests end. They have
// is_streaming and no rank.
func sglangRequests() []Meaning {
	return []Meaning{
		// Aborted requests count as ended, unless they were still waiting (scheduler.py,
		// abort_request). The time per output token excludes aborted requests and
		// those of a single token. A request that is not streamed and whose client left is also
		// answered 400 (tokenizer_manager.py). A request with n > 1 ends n + 1 times, once for its
		// prompt, and each prompt of a list ends, but has one answer, which counts before or after the
		// request ends (seen in 0.5.23), so [AnsweredWell] bounds them. What the scheduler gives up with an
		// error counts as ended, too (tokenizer_manager.py, observe_one_finished_request).
		{Name: "num_requests_total", Signal: RequestsFinished, Outcome: &Outcome{Usual: ClassOK}},
		{
			Name:    "num_aborted_requests_total",
			Signal:  RequestsAborted,
			Outcome: &Outcome{Usual: ClassCanceled, Again: "http_400"},
		},
		{Name: sglangUnaborted, Signal: RequestsUnaborted},
		{
			Name:     "num_requests_total",
			Where:    only("is_streaming", "true"),
			Signal:   RequestsStreamed,
			Releases: since("0.5.17"),
		},
		{Name: sglangUnaborted, Where: only("is_streaming", "true"), Signal: StreamsUnaborted},
		{Name: "prompt_tokens_total", Signal: PromptTokens, WhenEnded: true},
		{Name: "generation_tokens_total", Signal: GenerationTokens, WhenEnded: true},
		{Name: "cached_tokens_total", Signal: CachedTokens},
		{Name: "cached_tokens_total", Signal: CachedTokensByTier, Dims: renamed("cache_source", "cache_tier")},
		{Name: "prompt_tokens_histogram", Signal: RequestPromptTokens},
		{Name: "generation_tokens_histogram", Signal: RequestOutputTokens},
		// Requests that are not streamed are left out: their first token counts when the complete
		// answer, or its first 50 tokens, are there. Early releases do not distinguish them.
		{
			Name:     "time_to_first_token_seconds",
			Where:    only("is_streaming", "true"),
			Signal:   FirstToken,
			Releases: since("0.5.17"),
		},
		{
			Name:     "time_to_first_token_seconds",
			Where:    absent("is_streaming"),
			Signal:   FirstToken,
			Releases: before("0.5.17"),
		},
		{Name: "inter_token_latency_seconds", Signal: InterToken},
		{Name: "request_time_per_output_token_seconds", Signal: OutputToken},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration},
	}
}

// sglangAnswers counts the API's answers by status, sglangUnaborted requests that completed.
const sglangAnswers, sglangUnaborted = "http_responses_total", "request_time_per_output_token_seconds_count"

// sglangAsksNoModel lists the routes that answer POST or PUT without a model: texts and tokens, the
// state of the engine, sessions, adapters, weights, files, profiles (0.4.6 to 0.5.23). Every other
// route asks a model, among them routes that do not exist yet and renamed ones.
func sglangAsksNoModel() []string {
	return []string{
		"/tokenize", "/detokenize", "/v1/tokenize", "/v1/detokenize", "/v1/messages/count_tokens",
		"/parse_function_call", "/separate_reasoning", "/api/show",
		"/v1/responses/{response_id}/cancel", "/abort_request", "/open_session", "/close_session",
		"/v1/files", "/v1/batches", "/v1/batches/{batch_id}/cancel",
		"/load_lora_adapter", "/load_lora_adapter_from_tensors", "/unload_lora_adapter",
		"/add_external_corpus", "/remove_external_corpus",
		"/flush_cache", "/clear_hicache_storage_backend", "/hicache/storage-backend", "/hicache/storage-backend/clear",
		"/pause_generation", "/continue_generation", "/slow_down", "/freeze_gc",
		"/release_memory_occupation", "/resume_memory_occupation",
		"/set_internal_state", "/configure_logging", "/set_trace_level", "/pd_role_switch", "/scale_elastic_ep",
		"/start_profile", "/stop_profile", "/dumper/{method}",
		"/start_expert_distribution_record", "/stop_expert_distribution_record",
		"/dump_expert_distribution_record",
		"/get_weights_by_name", "/init_weights_update_group", "/destroy_weights_update_group",
		"/init_weights_send_group_for_remote_instance", "/send_weights_to_remote_instance",
		"/register_transfer_engine_info",
		"/begin_weight_update", "/end_weight_update", "/update_weight_version", "/weights_checker",
		"/update_weights_from_disk", "/update_weights_from_distributed",
		"/update_weights_from_tensor", "/update_weights_from_ipc",
	}
}

// sglangHTTP returns the meanings of requests that arrived for the engine, counted before they are
// answered (seen in 0.5.23), and of requests answered with an error status. 404 is left out: it is
// the answer to wrong paths, since any model name is served. Arrivals cannot leave them out, so
// only those of known routes count: a wrong path would look like a request without an answer.
// Later releases show the requests that are open.
func sglangHTTP() []Meaning {
	all := []Meaning{{Name: sglangAnswers, Where: present("endpoint", "status_code"), Signal: HTTPAnswers}}
	for _, endpoint := range []string{
		"/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses",
		"/generate", "/invocations", "/vertex_generate", "/api/chat", "/api/generate",
		"/v1/embeddings", "/encode", "/v1/classify", "/classify", "/v1/rerank", "/v1/score",
		"/v1/decisions", "/v1/systemone", "/v1/audio/transcriptions",
	} {
		all = append(all, Meaning{
			Name: "http_requests_total", Where: slices.Concat(only("endpoint", endpoint), begins("method", "P")),
			Signal: RequestsStarted,
		})
	}
	asked := slices.Concat(begins("method", "P"), except("endpoint", sglangAsksNoModel()...)) // PUT on some routes.
	well := slices.Concat(begins("status_code", "2"), asked)
	loading := slices.Concat(begins("method", "P"), begins("endpoint", "/update_weights_from_"))
	all = append(
		all,
		Meaning{Name: sglangAnswers, Where: well, Signal: AnsweredWell},
		Meaning{Name: "http_requests_active", Where: begins("method", "P"), Signal: CallsOpen},
		Meaning{Name: "http_requests_active", Where: asked, Signal: RequestsOpen},
		Meaning{Name: "http_requests_active", Where: loading, Signal: WeightUpdates},
	)
	for _, class := range []string{"4", "5"} {
		all = append(all, Meaning{
			Name:    sglangAnswers,
			Where:   slices.Concat(begins("status_code", class), except("status_code", "404"), asked),
			Signal:  RequestsFailed,
			Dims:    renamed("status_code", "reason"),
			Outcome: &Outcome{Codes: true},
		})
	}
	return all
}
