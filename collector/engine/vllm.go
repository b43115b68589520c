package engine

import "github.com/trtllm-exporter/trtllm_exporter/collector/target"

// VLLM is vLLM's own OpenAI server. Page and API share a port.
const VLLM Kind = "vllm"

// vllmSilent is the generation of a page without series of the engine.
const vllmSilent Generation = "without engine statistics"

// Servers with vLLM inside show its names too, next to names of their own, which weigh more. Models
// are owned by vllm (vllm/entrypoints/openai, ModelCard); the Rust frontend extends the owner
// (rust/src/server/src/openai/models.rs).
// /health answers 503 once the engine's process has died, a moment before the server exits. While
// that process hangs, sleeps or drains it answers 200 (seen in 0.32.0: for up to 301 s).
var _ = register(&vllm{base{
	kind: VLLM, path: "/metrics",
	owner: "vllm", ready: "/health", live: "/health", versionPath: versionPath, versionKey: versionKey,
	healthNote: "the API answers; it reports ready for up to 301 s while the engine hangs, which the page shows",
	priority:   -1, marks: []mark{{text: vllmPrefix, weight: 2}},
	answers:  []Signal{AnswersHealth, AnswersLive, AnswersModels, AnswersStream, FailuresCounted},
	stream:   Stream{Usage: true, Seed: true, IgnoreEOS: true},
	noTRTLLM: true,
	quirks:   Quirks{CountersAppear: true},
}})

type vllm struct{ base }

// vllmConfig is the info on the KV cache, which the Python frontend shows from its start on.
const vllmConfig = "cache_config_info"

// vllmRust reports whether the page is of the Rust frontend. It counts requests of clients that
// left, and shows neither the config of the KV cache nor, before the first request, any family
// about requests (rust/src/metrics/src/request.rs; seen in 0.32.0).
func vllmRust(p *Page) bool { return p.HasPrefix(vllmPrefix) && !p.HasName(vllmPrefix+vllmConfig) }

// Generation implements Engine. Releases up to 0.9.1 have only the names of the GPU cache, those
// from 0.11 on only the names of the KV cache, and those from 0.16 on count cached tokens.
func (*vllm) Generation(p *Page, _ *Facts) (Generation, string) {
	old, now := p.HasName("vllm:gpu_cache_usage_perc"), p.HasName("vllm:kv_cache_usage_perc")
	switch {
	case p.HasName("vllm:prompt_tokens_cached_total"):
		return "names of the KV cache with cached tokens", "the page has prompt_tokens_cached_total"
	case old && now:
		return "names of the GPU cache and of the KV cache", "the page has gpu_cache_usage_perc and kv_cache_usage_perc"
	case old:
		return "names of the GPU cache", "the page has gpu_cache_usage_perc and no kv_cache_usage_perc"
	case p.HasPrefix(vllmPrefix):
		return "names of the KV cache", "the page has no gpu_cache_usage_perc and no prompt_tokens_cached_total"
	}
	return vllmSilent, "the page has no series of the engine"
}

// CountsFailures implements Engine. The API counts its answers by status, beginning with the first,
// as to the request for its models; requests for the page and about health do not count
// (entrypoints/serve/instrumentator/metrics.py).
func (*vllm) CountsFailures(p *Page) bool { return p.HasName(vllmAnswers) }

// Quirks implements Engine. Answers are counted by the first digit of their status: a rejection,
// 503, cannot be told from other failures unless the engine counts it.
func (v *vllm) Quirks(p *Page) Quirks {
	q := v.quirks
	q.RefusedFailed = p != nil && p.HasName(vllmAnswers) && !p.HasPrefix(vllmPrefix)
	return q
}

// Unserved implements Engine. Requests hang while all engines of the page sleep, and /health is 200
// (seen in 0.32.0).
func (*vllm) Unserved(p *Page, _ *Facts, _ []ModelState) string {
	if p.Has(EngineAwake) && p.values[EngineAwake] <= 0 {
		return "its engines sleep until they are woken"
	}
	return ""
}

// arrange implements Engine. Series name the base model or none; the server lists it before its
// adapters.
func (v *vllm) arrange(t *Topology, named NamedModels, facts []ModelFacts) {
	v.base.arrange(t, named, facts)
	if len(facts) > 0 {
		t.fallback = facts[0].Name
	}
}

// vllmOutcomes describes what is known about the outcomes of requests. Rejections are answered 503,
// or inside a stream with 200 (seen in 0.32.0), and nothing counts how many of each.
func vllmOutcomes(p *Page) string {
	const counted, not = "requests that finished, and answers by HTTP status", "errors inside a stream and clients that left are not counted"
	switch {
	case vllmRust(p):
		return counted + "; clients that left are among those that finished, by their reason; errors inside a stream are not counted"
	case p.HasName(vllmPrefix + "admission_rejections_total"):
		return counted + "; those refused are taken from the answers 5xx, though some have their error inside a stream: failures are then at least what is shown; " + not
	case !p.HasPrefix(vllmPrefix):
		return counted + ", refused ones among the failed; " + not
	}
	return counted + "; " + not
}

const cureLogStats = "start vLLM without --disable-log-stats"

func (v *vllm) judge(name string, k *Knowledge) target.Check {
	p := k.Page
	if p == nil {
		return no("/metrics answers 404", "")
	}
	if name == CanOutcomes && p.HasName(vllmAnswers) {
		return yes(vllmOutcomes(p))
	}
	if generation, why := v.Generation(p, nil); generation == vllmSilent && name != CanGPU {
		return no("the server was started with --disable-log-stats: "+why, cureLogStats)
	}
	left, silent := "without requests of clients that left", lacks("no engine has reported yet: with several API processes gauges appear with the first request", "")
	if vllmRust(p) {
		left, silent = "with requests of clients that left", lacks("the server was started with --disable-log-stats: the page has no gauges of its scheduler", cureLogStats)
	}
	silent.names = []string{CanQueue, CanRunning, CanStall, CanKVCache}
	return p.judge(name, []source{
		from(CanTokens, "generation_tokens_total, with each step of the engine", GenerationTokens),
		from(CanLiveTokens, "generation_tokens_total, with each step of the engine", GenerationTokens),
		from(CanQueue, "num_requests_waiting", RequestsWaiting),
		from(CanRunning, "num_requests_running", RequestsRunning),
		from(CanTTFT, "time_to_first_token_seconds", FirstToken),
		from(CanTPOT, "request_time_per_output_token_seconds, the mean of each request; one of a single token counts as 0", OutputToken),
		from(CanTPOT, "the time between tokens, token by token", InterToken),
		from(CanE2E, "e2e_request_latency_seconds, "+left, RequestDuration),
		from(CanQuantiles, "histograms", RequestDuration),
		from(CanStall, "iterations of each rank, while it has requests", RequestsRunning),
		from(CanKVCache, "kv_cache_usage_perc or gpu_cache_usage_perc, 0 to 1 despite their names", KVUtilization),
		from(CanKVReuse, "prompt tokens that were found in the prefix cache", CachedTokens),
		from(CanConfig, "cache_config_info on its page, of the KV cache only", CacheConfig),
	},
		lacks("vLLM does not expose it", cureDCGM, CanGPU),
		silent,
		lacks("the frontend in Rust does not expose cache_config_info", "", CanConfig),
		lacks(notYet, ""),
	)
}
