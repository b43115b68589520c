package engine

import "github.com/trtllm-exporter/trtllm_exporter/collector/target"

const (
	// modulePrefix begins the names of the metrics module for the LLM-API backend
	// (deploy/triton/llmapi/trtllm_metrics.py). The module runs inside the model, which publishes
	// nothing itself.
	modulePrefix = "nv_llmapi_"
	// moduleRank is the label of the instances of a model, which have an engine each.
	moduleRank = "model_instance"
	// moduleBeat is the time at which the module last read the engine.
	moduleBeat = modulePrefix + "heartbeat_timestamp_seconds"
)

// moduleMeanings returns the module's own names. They replace those of the former C++ backend,
// since it counts requests at the server and tokens as they come. Latencies are counters of
// buckets, since Triton's own histograms cost a message per token.
func moduleMeanings() []Meaning {
	all := []Meaning{
		{Name: "requests_in_flight", Signal: RequestsActive, Rank: moduleRank},
		{Name: "requests_waiting", Signal: RequestsWaiting, Rank: moduleRank},
		{Name: "iterations_total", Signal: EngineIterations, Counter: true, Rank: moduleRank},
		{Name: "heartbeat_timestamp_seconds", Signal: EngineHeartbeat, Combine: Max},
		{Name: "generation_tokens_total", Signal: GenerationTokens, Counter: true, Rank: moduleRank},
		{Name: "prompt_tokens_total", Signal: PromptTokens, Counter: true, Rank: moduleRank},
		{Name: "prefill_tokens_total", Signal: PromptTokensLive, Counter: true, Rank: moduleRank},
		{Name: "requests_preempted_total", Signal: Preemptions, Counter: true},
		{Name: "kv_cache_reused_blocks_total", Signal: KVBlocksReused, Counter: true},
		{Name: "kv_cache_missed_blocks_total", Signal: KVBlocksMissed, Counter: true},
		{Name: "time_to_first_token_seconds", Signal: FirstToken, Form: Histogram},
		{Name: "inter_token_latency_seconds", Signal: InterToken, Form: Histogram},
		{Name: "request_duration_seconds", Signal: RequestDuration, Form: Histogram},
		{Name: "info", Signal: StatedVersion, Combine: Max},
	}
	for _, class := range Classes() {
		m := Meaning{
			Name: "requests_ended_total", Where: only("class", string(class)), Signal: RequestsFailed, Scope: OfModel, Counter: true,
			Dims: []string{"finish_reason=reason"}, Outcome: &Outcome{Usual: class},
		}
		if class == ClassOK || class == ClassCanceled {
			m.Signal, m.Dims = RequestsFinished, []string{"finish_reason"}
		}
		all = append(all, m)
	}
	return withPrefix(modulePrefix, all)
}

// hasModule reports whether a model with the metrics module is loaded.
func hasModule(p *Page) bool { return p.HasName(moduleBeat) }

// hadModule reports whether such a model is or was loaded: its series stay (seen on 2.51).
func hadModule(p *Page) bool {
	return p.hasReading(func(r reading) bool { return r.meaning.Name == moduleBeat })
}

// cureModule is the remedy if the LLM-API backend publishes nothing.
const cureModule = "the metrics module of deploy/triton/llmapi, three lines in the model's folder"

// judgeModule judges a page with the metrics module.
func judgeModule(name string, p *Page) target.Check {
	return p.judge(name, []source{
		from(CanTokens, "nv_llmapi_generation_tokens_total, as they come", GenerationTokens),
		from(CanLiveTokens, "nv_llmapi_generation_tokens_total, as they come", GenerationTokens),
		from(CanQueue, "nv_llmapi_requests_waiting: all that the engine has and does not run", RequestsWaiting),
		from(CanRunning, "the executor's scheduled requests, of its last iteration", RequestsRunning),
		from(CanTTFT, "nv_llmapi_time_to_first_token_seconds of streamed requests", FirstToken),
		from(CanTPOT, "nv_llmapi_inter_token_latency_seconds, token by token", InterToken),
		from(CanE2E, "nv_llmapi_request_duration_seconds of requests that ended well", RequestDuration),
		from(CanQuantiles, "histograms of the metrics module", RequestDuration),
		from(CanOutcomes, "nv_llmapi_requests_ended_total, by class"),
		from(CanStall, "the count of iterations and tokens, while requests are in flight", EngineIterations),
		from(CanKVCache, "used and all blocks of the KV cache", KVBlocksUsed),
		from(CanKVReuse, "nv_llmapi_kv_cache_reused_blocks_total", KVBlocksReused),
	},
		lacks("the engine has no statistics of its iterations, or has not run any yet", "enable_iter_perf_stats: true in model.yaml",
			CanQueue, CanRunning, CanKVCache, CanKVReuse),
		lacks("no request has ended yet", ""),
	)
}
