package matrix_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

// told is a quantity of the life of [matrix.Eventful]: its value, and the families of a page any of which
// tells it. The names are those of the servers' own code, as in the simulated servers.
type told struct {
	family string
	labels []string
	want   float64
	by     []string
}

func tell(family string, want float64, by ...string) told {
	return told{family: family, want: want, by: by}
}

func tellClass(family string, class engine.Class, want float64, by ...string) told {
	return told{family, []string{"class", string(class)}, want, by}
}

// The life has 64 requests that ended well and 8 of each other class; each has 200 tokens of prompt and
// 100 of answer. At its end 4 run and 2 wait.
const (
	wellEnded, others = 64, 8
	prompts, answers  = 200 * wellEnded, 100 * (wellEnded + others)
)

// toldByVLLM has values of servers that share vLLM's names, after a prefix. A tenth of each prompt is cached.
func toldByVLLM(_ *matrix.Server, page string) []told {
	failed := float64(others)
	if on(page, "vllm:admission_rejections_total") {
		failed /= 2 // Half of the rejected requests are answered with 503, and all are subtracted.
	}
	mooncake := 0. // Connectors to Mooncake, beside that of NIXL.
	if on(page, "vllm:mooncake_xfer_time_seconds") {
		mooncake = 1
	}
	capacity := 15984. // Engine V1 reserves a block of 16 tokens.
	if strings.Contains(page, `num_cpu_blocks="512"`) {
		capacity = 16000
	}
	stores := 1. // Others move as much as the memory of the host.
	for _, name := range []string{"vllm:mooncake_store_operation_bytes_total", "vllm:umbp_transfer_bytes_total"} {
		if on(page, name) {
			stores++
		}
	}
	cached := []string{"vllm:prompt_tokens_cached_total", "vllm:prefix_cache_hits_total"}
	if strings.Contains(page, "# HELP vllm:gpu_prefix_cache_hits_total Prefix cache hits, in terms of number of cached tokens") {
		cached = append(cached, "vllm:gpu_prefix_cache_hits_total") // Before, it counts blocks.
	}
	const http = "http_requests_total"
	drafts := func(name string) []string {
		if on(page, "vllm:spec_decode_num_emitted_tokens_total") {
			return nil // Engine V0 adds all drafts since its start again and again.
		}
		return []string{"vllm:spec_decode_num_" + name}
	}
	return []told{
		tell("prompt_tokens_total", prompts, "vllm:prompt_tokens_total"),
		tell("generation_tokens_total", answers, "vllm:generation_tokens_total"),
		tell("requests_running", 4, "vllm:num_requests_running"),
		tell("queue_depth", 2, "vllm:num_requests_waiting"),
		tell("requests_preempted_total", others, "vllm:num_preemptions_total"),
		tell("kv_cache_utilization_ratio", 0.12, "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
		tell("kv_cache_capacity_tokens", capacity, "vllm:cache_config_info"),
		tell("prompt_tokens_cached_total", prompts/10, cached...),
		tell("prompt_cache_hit_ratio", 0.1, "vllm:prompt_tokens_cached_total", "vllm:prefix_cache_hits_total",
			"vllm:gpu_prefix_cache_hits_total"),
		tell("kv_cache_hit_ratio", 0.1, "vllm:gpu_prefix_cache_hit_rate"),
		tell("time_to_first_token_average_seconds", 0.4, "vllm:time_to_first_token_seconds"),
		tell("inter_token_latency_average_seconds", 0.008, "vllm:inter_token_latency_seconds",
			"vllm:time_per_output_token_seconds"),
		tell("time_per_output_token_average_seconds", 0.008, "vllm:request_time_per_output_token_seconds"),
		tell("request_duration_average_seconds", 2, "vllm:e2e_request_latency_seconds"),
		tell("request_queue_average_seconds", 0.05, "vllm:request_queue_time_seconds"),
		tell("request_prefill_seconds_sum", 0.35*wellEnded, "vllm:request_prefill_time_seconds"),
		tell("request_decode_seconds_sum", 1.6*wellEnded, "vllm:request_decode_time_seconds"),
		tell("engine_iterations_per_second", 10, "vllm:iteration_tokens_total"),
		tellClass("requests_total", engine.ClassOK, wellEnded, "vllm:request_success_total", http),
		tellClass("requests_total", engine.ClassClient, others, http),
		tellClass("requests_total", engine.ClassServer, failed, http),
		tellClass("requests_total", engine.ClassOverload, others, "vllm:admission_rejections_total"),
		tell("spec_decode_draft_tokens_total", answers, drafts("draft_tokens_total")...),
		tell("spec_decode_accepted_tokens_total", answers/2, drafts("accepted_tokens_total")...),
		tell("spec_decode_acceptance_ratio", 0.5, drafts("draft_tokens_total")...),
		{
			"spec_decode_accepted_tokens_by_position_total",
			[]string{"position", "0"},
			answers / 2,
			drafts("accepted_tokens_per_pos_total"),
		},
		{"adapters_info", []string{"running", "a", "waiting", "b"}, 1, []string{"vllm:lora_requests_info"}},
		tell("kv_cache_transfer_seconds_total", 1./64*wellEnded, "vllm:nixl_xfer_time_seconds"),
		tell("kv_cache_transfer_bytes_total", (1<<20)*wellEnded, "vllm:nixl_bytes_transferred"),
		tell("kv_cache_onboard_bytes_total", stores*(1<<12)*wellEnded, "vllm:kv_offload_total_bytes_total",
			"vllm:kv_offload_load_bytes_total"),
		tell("kv_cache_offload_bytes_total", stores*(1<<13)*wellEnded, "vllm:kv_offload_total_bytes_total",
			"vllm:kv_offload_store_bytes_total"),
		lostTransfers("transfer", 1+mooncake, "vllm:nixl_num_failed_transfers_total"),
		lostTransfers("receive", 2, "vllm:mooncake_num_failed_recvs_total"),
		lostTransfers("expired", 3*mooncake, "vllm:nixl_num_kv_expired_reqs_total"),
	}
}

func lostTransfers(reason string, want float64, by string) told {
	return told{"kv_cache_transfer_failures_total", []string{"reason", reason}, want, []string{by}}
}

// toldBySGLang has requests whose clients left among those that ended.
func toldBySGLang(_ *matrix.Server, page string) []told {
	const ended = wellEnded + others
	well := float64(wellEnded)
	if !on(page, "sglang:num_aborted_requests_total") {
		well = ended
	}
	var mistakes []string // Earlier, as many answers of 400 may be those of aborted requests.
	if on(page, "sglang:request_time_per_output_token_seconds") {
		mistakes = []string{"sglang:http_responses_total"}
	}
	const cached, http = ended, "sglang:http_responses_total"
	transfers := func(what string) []string { // Gauges show the last one only.
		if strings.Contains(page, "# TYPE sglang:kv_transfer_"+what+" gauge") {
			return nil
		}
		return []string{"sglang:kv_transfer_" + what}
	}
	var accepted []string // It is 0 without drafts.
	if regexp.MustCompile(`(?m)^sglang:spec_accept_length\{.* 2\.0$`).MatchString(page) {
		accepted = []string{"sglang:spec_accept_length"}
	}
	var rate []string // Earlier, the server's own tokens count.
	if accepted != nil && on(page, "sglang:page_size") {
		rate = []string{"sglang:spec_accept_rate"}
	}
	usage := 0.12 // Of the fullest pool.
	if regexp.MustCompile(`(?m)^sglang:mamba_usage\{.* 0\.24$`).MatchString(page) {
		usage = 0.24
	}
	return []told{
		tell("prompt_tokens_total", 200*ended, "sglang:prompt_tokens_total"),
		tell("generation_tokens_total", 100*ended, "sglang:generation_tokens_total"),
		tell("generation_tokens_live_total", answers, "sglang:realtime_tokens_total"),
		tell("requests_running", 4, "sglang:num_running_reqs"),
		tell("queue_depth", 2, "sglang:num_queue_reqs"),
		tell("requests_preempted_total", others, "sglang:num_retracted_requests_total"),
		tell("kv_cache_utilization_ratio", usage, "sglang:token_usage"),
		tell("kv_cache_capacity_tokens", 64000, "sglang:max_total_num_tokens"),
		tell("prompt_tokens_cached_total", cached, "sglang:cached_tokens_total"),
		tell("prompt_cache_hit_ratio", 1./200, "sglang:cached_tokens_total"),
		tell("time_to_first_token_average_seconds", 0.4, "sglang:time_to_first_token_seconds"),
		tell("inter_token_latency_average_seconds", 0.008, "sglang:inter_token_latency_seconds"),
		tell("time_per_output_token_average_seconds", 0.008, "sglang:request_time_per_output_token_seconds"),
		tell("request_duration_average_seconds", 2, "sglang:e2e_request_latency_seconds"),
		tell("request_queue_average_seconds", 0.05, "sglang:queue_time_seconds", "sglang:queue_time_s"),
		tell("engine_iterations_per_second", 10, "sglang:cuda_graph_passes_total"),
		tellClass("requests_total", engine.ClassOK, well, "sglang:num_requests_total"),
		tellClass("requests_total", engine.ClassCanceled, others, "sglang:num_aborted_requests_total"),
		tellClass("requests_total", engine.ClassClient, others, mistakes...),
		tellClass("requests_total", engine.ClassServer, others, http),
		tellClass("requests_total", engine.ClassOverload, others, http),
		tell("spec_decode_acceptance_length", 2, accepted...),
		tell("spec_decode_latest_acceptance_ratio", 0.5, rate...),
		tell("kv_cache_transfer_seconds_total", 1./64*ended, transfers("latency_ms")...),
		tell("kv_cache_transfer_bytes_total", (1<<20)*ended, transfers("total_mb")...),
		tell("kv_cache_host_utilization_ratio", 0.25, "sglang:hicache_host_used_tokens"),
		tell("kv_cache_onboard_bytes_total", (1<<12)*ended, "sglang:load_back_bytes_total"),
		tell("kv_cache_offload_bytes_total", (1<<13)*ended, "sglang:hicache_backup_bytes_total"),
		{
			"kv_cache_transfer_failures_total",
			[]string{"reason", "transfer"},
			1,
			[]string{"sglang:num_transfer_failed_reqs_total"},
		},
	}
}

// toldByServe has names that got a prefix with 1.3.0rc5. Clients that left are not counted.
func toldByServe(*matrix.Server, string) []told {
	both := func(name string) []string { return []string{name, "trtllm_" + name} }
	return []told{
		tell("prompt_tokens_total", prompts, "trtllm_prompt_tokens_total"),
		tell("generation_tokens_total", 100*wellEnded, "trtllm_generation_tokens_total"),
		tell("requests_running", 4, "trtllm_num_requests_running"),
		tell("queue_depth", 2, "trtllm_num_requests_waiting"),
		tell("requests_limit", 8, "trtllm_max_num_active_requests"),
		tell("kv_cache_utilization_ratio", 0.12, "trtllm_kv_cache_utilization"),
		tell("kv_cache_capacity_tokens", 64000, "trtllm_kv_cache_max_blocks"),
		tell("kv_cache_blocks_reused_total", wellEnded, "trtllm_kv_cache_reused_blocks_total"),
		// Before it counted blocks, the rate was that of the warm-up as well.
		tell("kv_cache_hit_ratio", 0.25, "trtllm_kv_cache_missed_blocks_total"),
		tell("time_to_first_token_average_seconds", 0.4, both("time_to_first_token_seconds")...),
		tell("time_per_output_token_average_seconds", 0.008, both("time_per_output_token_seconds")...),
		tell("request_duration_average_seconds", 2, both("e2e_request_latency_seconds")...),
		tell("request_queue_average_seconds", 0.05, both("request_queue_time_seconds")...),
		tell("request_prefill_seconds_sum", 0.35*wellEnded, "trtllm_request_prefill_time_seconds"),
		tell("request_decode_seconds_sum", 1.6*wellEnded, "trtllm_request_decode_time_seconds"),
		tellClass("requests_total", engine.ClassOK, wellEnded, both("request_success_total")...),
		tellClass("requests_total", engine.ClassClient, others, "trtllm_request_error_total"),
		tellClass("requests_total", engine.ClassServer, others, "trtllm_request_error_total"),
		tellClass("requests_total", engine.ClassOverload, others, "trtllm_request_error_total"),
		tell("spec_decode_draft_tokens_total", 100*wellEnded, "trtllm_spec_decode_num_draft_tokens_total"),
		tell("spec_decode_accepted_tokens_total", 50*wellEnded, "trtllm_spec_decode_num_accepted_tokens_total"),
		tell("spec_decode_acceptance_length", 2, "trtllm_spec_decode_acceptance_length"),
		tell("spec_decode_draft_overhead_ratio", 0.25, "trtllm_spec_decode_draft_overhead"),
		{
			"spec_decode_draft_tokens_by_position_total",
			[]string{"position", "1"},
			50 * wellEnded,
			[]string{"trtllm_spec_decode_drafted_tokens_total"},
		},
		{
			"spec_decode_accepted_tokens_by_position_total",
			[]string{"position", "0"},
			50 * wellEnded,
			[]string{"trtllm_spec_decode_accepted_tokens_total"},
		},
	}
}

// toldByNIM has, since 2.0, the page of the engine inside.
func toldByNIM(server *matrix.Server, page string) []told {
	switch {
	case strings.Contains(page, "vllm:"):
		return toldByVLLM(server, page)
	case strings.Contains(page, "sglang:"):
		return toldBySGLang(server, page)
	}
	return []told{
		tell("prompt_tokens_total", prompts, "prompt_tokens_total"),
		tell("generation_tokens_total", answers, "generation_tokens_total"),
		tell("requests_running", 4, "num_requests_running"),
		tell("queue_depth", 2, "num_requests_waiting"),
		tell("requests_limit", 8, "num_request_max"),
		tell("kv_cache_utilization_ratio", 0.12, "gpu_cache_usage_perc"),
		tell("time_to_first_token_average_seconds", 0.4, "time_to_first_token_seconds"),
		tell("inter_token_latency_average_seconds", 0.008, "time_per_output_token_seconds"),
		tell("request_duration_average_seconds", 2, "e2e_request_latency_seconds"),
		tellClass("requests_total", engine.ClassOK, wellEnded, "request_finish_total"),
		tellClass("requests_total", engine.ClassCanceled, others, "request_finish_total"),
		tellClass("requests_total", engine.ClassServer, others, "request_failure_total"),
	}
}

// toldByDynamo has names after either prefix of a frontend, which counts tokens as they stream from 0.7 on,
// and knows which failures are whose from 0.8 on. Half of clients' mistakes name no model.
func toldByDynamo(_ *matrix.Server, page string) []told {
	front := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, "dynamo_frontend_"+name, "nv_llm_http_service_"+name)
		}
		return all
	}
	generated := float64(100 * wellEnded)
	if on(page, "dynamo_frontend_output_tokens_total") {
		generated = answers
	}
	typed, untyped := []string{`dynamo_frontend_requests_total error_type="`}, front("requests_total")
	if on(page, typed[0]) {
		untyped = nil // The class of each request is known.
	}
	const component, engineInside = "dynamo_component_", "trtllm_"
	return []told{
		tell("prompt_tokens_total", prompts, front("input_sequence_tokens")...),
		tell("generation_tokens_total", generated, front("output_sequence_tokens")...),
		tell("requests_active", 6, append(front("inflight_requests", "inflight_requests_total"),
			component+"inflight_requests")...),
		tell("clients_disconnected_total", others, front("disconnected_clients", "client_disconnects")...),
		tell("requests_rejected_total", others, front("model_rejection_total")...),
		tell("kv_cache_utilization_ratio", 0.12, component+"kvstats_gpu_cache_usage_percent"),
		tell("time_to_first_token_average_seconds", 0.4,
			append(front("time_to_first_token_seconds"), engineInside+"time_to_first_token_seconds")...),
		tell("inter_token_latency_average_seconds", 0.008, front("inter_token_latency_seconds")...),
		tell("request_duration_average_seconds", 2,
			append(front("request_duration_seconds"), engineInside+"e2e_request_latency_seconds")...),
		tellClass("requests_total", engine.ClassOK, wellEnded,
			append(front("requests_total"), engineInside+"request_success_total")...),
		tellClass("requests_total", engine.ClassClient, others, typed...),
		tellClass("requests_total", engine.ClassServer, others, typed...),
		tellClass("requests_total", engine.ClassOverload, others, typed...),
		tellClass("requests_total", engine.ClassCanceled, others, typed...),
		tellClass("requests_total", engine.ClassUnknown, 4*others, untyped...),
	}
}

// toldByTriton has names that ended in _statistics in 23.11.
func toldByTriton(server *matrix.Server, page string) []told {
	backend := func(name, label string) []string {
		return []string{name + "_metrics " + label, name + "_statistics " + label}
	}
	kv := func(what string) []string {
		return backend("nv_trt_llm_kv_cache_block", `kv_cache_block_type="`+what+`"`)
	}
	requests := func(what string) []string { return backend("nv_trt_llm_request", `request_type="`+what+`"`) }
	queue := requests("active")
	if v := server.Release(); !strings.HasPrefix(v, "2.38.") && !strings.HasPrefix(v, "2.39.") { // These leak.
		queue = append(queue, "nv_inference_pending_request_count")
	}
	well, failed, failures := float64(wellEnded), float64(others), "nv_inference_request_failure"
	switch {
	case on(page, requests("active")[0]) || on(page, requests("active")[1]): // Clients that left are successes.
		well += others
	case !on(page, failures+` reason="`):
		failed *= 3 // Those of all classes, which nothing tells apart.
	}
	return []told{
		tell("prompt_tokens_total", prompts, "nv_llm_input_token_len"),
		tell("generation_tokens_total", 100*wellEnded, "nv_llm_output_token_len"),
		tell("requests_running", 4, requests("scheduled")...),
		tell("requests_active", 6, requests("active")...),
		tell("requests_limit", 8, requests("max")...),
		tell("queue_depth", 2, queue...),
		tell("kv_cache_utilization_ratio", 0.12, kv("used")...),
		tell("kv_cache_capacity_tokens", 64000, kv("max")...),
		tell("kv_cache_blocks_reused_total", wellEnded, kv("reused")...),
		tell("engine_iterations_per_second", 10, backend("nv_trt_llm_general", `general_type="iteration_counter"`)...),
		tell("request_duration_average_seconds", 2, "nv_inference_request_duration_us"),
		tell("host_cpu_utilization_ratio", 0.0113, "nv_cpu_utilization"),
		tell("pinned_memory_limit_bytes", 256<<20, "nv_pinned_memory_pool_total_bytes"),
		tell("disaggregated_requests_total", 0, "nv_trt_llm_disaggregated_serving_metrics"),
		tellClass("requests_total", engine.ClassOK, well, "nv_inference_request_success"),
		tellClass("requests_total", engine.ClassServer, failed, failures),
	}
}

// on reports whether a page has a family, or a series of it with a text, such as a label.
func on(page, series string) bool {
	name, text, _ := strings.Cut(series, " ")
	if text == "" {
		return strings.Contains("\n"+page, "\n# TYPE "+name+" ")
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// tellers returns what the kinds of servers tell.
func tellers() map[engine.Name]func(*matrix.Server, string) []told {
	return map[engine.Name]func(*matrix.Server, string) []told{
		engine.Dynamo:      toldByDynamo,
		engine.NIM:         toldByNIM,
		engine.SGLang:      toldBySGLang,
		engine.Triton:      toldByTriton,
		engine.TRTLLMServe: toldByServe,
		engine.VLLM:        toldByVLLM,
	}
}

// sentence is what the exporter says of a release that lacks something, and whether it is true, as its page
// and its version tell.
type sentence struct {
	kind engine.Name
	says string
	true func(p *release) bool
}

// sentences returns all that may be said after requests have ended, but for series that a later release
// brings, see [TestSeriesCameWithTheReleaseThatIsNamed].
func sentences() []sentence {
	always := func(*release) bool { return true }
	has := func(series string) func(*release) bool { return func(p *release) bool { return on(p.page, series) } }
	lacks := func(series ...string) func(*release) bool {
		return func(p *release) bool {
			return !slices.ContainsFunc(series, func(s string) bool { return on(p.page, s) })
		}
	}
	before := func(version string) func(*release) bool {
		return func(p *release) bool { return (engine.Releases{Before: version}).Hold(p.Release()) }
	}
	frontend := func(p *release) bool { return strings.Contains(p.page, "_model_context_length") }
	worker := func(p *release) bool { return !frontend(p) }
	return []sentence{
		{engine.VLLM, "engine V1 of this release does not expose cache_config_info", lacks("vllm:cache_config_info")},
		{engine.VLLM, "engine V1 of this release does not time whole requests", lacks("vllm:e2e_request_latency_seconds")},
		{engine.VLLM, "engine V1 of this release does not count what it found in its cache", before("0.7.3")},
		{
			engine.VLLM, "engine V0 of this release does not show what it found in its cache",
			func(p *release) bool { return p.OldEngine() && !on(p.page, "vllm:gpu_prefix_cache_hit_rate") },
		},
		{engine.SGLang, "the family appears with the first prompt that is found in the cache, from SGLang 0.4.3.post4 " +
			"on and unless --disable-radix-cache is set", before("0.4.3.post4")},
		{engine.SGLang, "this release counts tokens when a request ends", lacks("sglang:realtime_tokens_total")},

		{engine.Dynamo, "only the worker's page has it", frontend},
		{engine.Dynamo, "requests_total of this release has no type of error: mistakes of clients and failures count " +
			"together", lacks(`dynamo_frontend_requests_total error_type="`)},
		{engine.Dynamo, "queued_requests includes prompts in prefill, and only the KV router shows how many requests " +
			"the workers can take", lacks("dynamo_frontend_worker_active_decode_blocks")},
		{engine.Dynamo, "a worker of Dynamo has no API for clients; enable the canary for its frontend", worker},
		{engine.Dynamo, "a worker counts requests that its engine finished; its own errors_total counts clients that " +
			"left as errors", worker},
		{engine.Dynamo, "the page has no families of an engine: they come with its first request, if they are on and " +
			"the release passes them on", lacks("trtllm_request_success_total")},
		{engine.Dynamo, "a worker with TensorRT-LLM counts tokens when a request ends", has("trtllm_request_success_total")},
		{engine.Dynamo, "no iteration was read yet, or their statistics are off", lacks("trtllm_kv_cache_utilization")},
		{
			engine.Dynamo, "this release has no iteration gauges and no token counters",
			lacks("trtllm_num_requests_running", "trtllm_generation_tokens_total"),
		},
		{engine.Dynamo, "Dynamo does not expose it", lacks("dynamo_gpu")},

		{
			engine.TRTLLMServe, "this release has five families: requests, E2E, TTFT, TPOT and queue time",
			func(p *release) bool { return strings.Count(p.page, "# TYPE ") == 5 },
		},
		{engine.TRTLLMServe, "this release counts no errors", lacks("trtllm_request_error_total")},
		{
			engine.TRTLLMServe, "trtllm_kv_cache_hit_rate of this release counts the prompts of its warm-up too",
			lacks("trtllm_kv_cache_missed_blocks_total"),
		},
		{
			engine.TRTLLMServe, "this release has no iteration gauges and no token counters",
			lacks("trtllm_num_requests_running", "trtllm_generation_tokens_total"),
		},
		{engine.TRTLLMServe, "this release has no config info on its page", lacks("trtllm_model_config_info")},
		{engine.TRTLLMServe, "this release exposes nothing about its GPUs", lacks("trtllm_gpu_memory_usage_bytes")},
		{engine.TRTLLMServe, "iterations are on the JSON page /metrics only, and reading it takes them from other " +
			"readers", always},
		{engine.TRTLLMServe, "its gauges are updated only when a request ends", has("trtllm_num_requests_running")},
		{engine.TRTLLMServe, "nothing on its page shows requests in flight", lacks("trtllm_num_requests_running")},

		{engine.NIM, "NIM 1.x does not expose it", has("request_failure_total")},

		{
			engine.Triton, "no model of TensorRT-LLM is on the page",
			lacks("nv_trt_llm_request_metrics", "nv_trt_llm_request_statistics"),
		},
		{engine.Triton, "nothing on the page shows requests in flight of what clients call", before("2.40")},
		{engine.Triton, "nothing on its page shows requests in flight", lacks("nv_trt_llm_request_metrics")},
		{engine.Triton, "this release keeps requests that could not be queued in nv_inference_pending_request_count " +
			"forever", before("2.40")},
		{engine.Triton, "Triton has no time per output token", always},
		{engine.Triton, "before 23.12 (2.41) an aborted stream may crash Triton", before("2.41")},
		{
			engine.Triton, "histograms and summaries are off",
			lacks("nv_inference_request_summary_us", "nv_inference_first_response_histogram_ms"),
		},
		{engine.Triton, "summaries are off, and this release has no histograms", before("2.52")},
		{engine.Triton, "this release has neither summaries nor histograms", before("2.33")},
		{engine.Triton, "the first response histogram is off", lacks("nv_inference_first_response_histogram_ms")},
		{engine.Triton, "the histogram is off, or no model is decoupled: before 26.01 only those have one", before("2.65")},
		{engine.Triton, "this release has no first response histogram", before("2.52")},
		{
			engine.Triton, "reused blocks came with TensorRT-LLM 0.13",
			lacks(`nv_trt_llm_kv_cache_block_metrics kv_cache_block_type="reused"`),
		},
		{
			engine.Triton, "the Python executor never publishes reused blocks",
			lacks(`nv_trt_llm_kv_cache_block_metrics kv_cache_block_type="reused"`),
		},
		{engine.Triton, "token counts came with TensorRT-LLM 0.16", lacks("nv_llm_output_token_len")},
		{engine.Triton, "the page has no nv_gpu_*", lacks("nv_gpu_utilization")},

		{"", "this kind of server does not expose it", always},
		{"", "no series of its settings is read from this kind of server", always},
		{"", "requests have ended, and it is still not on the page: this release may not expose it", always},
	}
}
