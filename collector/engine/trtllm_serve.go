package engine

import "context"

// trtllmServe is TensorRT-LLM's own OpenAI server. Page and API share a port.
type trtllmServe struct{}

// Kind implements Engine.
func (trtllmServe) Kind() Kind { return TRTLLMServe }

// MetricsPath implements Engine. /metrics is JSON and reading it takes rows
// away from other readers; it is never asked.
func (trtllmServe) MetricsPath() string { return "/prometheus/metrics" }

// APIPort implements Engine.
func (trtllmServe) APIPort(metrics int) int { return metrics }

// EmptyPage implements Engine: families appear with their first sample, so a
// fresh server answers 200 with an empty body.
func (trtllmServe) EmptyPage() bool { return true }

// version is the answer of GET /version.
type version struct {
	Version string `json:"version"`
}

// modelList is the answer of GET /v1/models.
type modelList struct {
	Data []struct {
		ID      string `json:"id"`
		OwnedBy string `json:"owned_by"`
	} `json:"data"`
}

// Ask implements Engine. GET /health is not asked here: newer servers may end
// themselves over it (openai_server.py, fatal executor errors).
func (trtllmServe) Ask(ctx context.Context, ask Asker, base string) Facts {
	var f Facts
	q := &questions{ask: ask, base: base}
	var v version
	if _, ok := q.get(ctx, "/version", &v); ok {
		if v.Version = plainVersion(v.Version); v.Version != "" {
			f.Answered = true
			f.EngineVersion = v.Version
			f.TRTLLMVersion, f.TRTLLMSource = v.Version, SourceServer
		}
	}
	q.askModels(ctx, &f)
	f.Problems = q.problems
	return f
}

// Meanings implements Engine. Sets: five families without prefix in 1.1 and
// 1.2, prefixed with trtllm_ from 1.3.0rc5 (NVIDIA/TensorRT-LLM PR #11243),
// iteration gauges from PR #12545.
func (trtllmServe) Meanings() []Meaning {
	var all []Meaning
	for _, m := range serveMeanings() {
		all = append(all, m)
		m.Name = "trtllm_" + m.Name
		all = append(all, m)
	}
	return all
}

// serveMeanings are trtllm-serve's series without prefix.
func serveMeanings() []Meaning {
	finished := []string{"finished_reason=finish_reason"}
	return []Meaning{
		{Name: "request_success_total", Signal: RequestsFinished, Counter: true, Dims: finished},
		{Name: "prompt_tokens_total", Signal: PromptTokens, Counter: true},
		{Name: "generation_tokens_total", Signal: GenerationTokens, Counter: true},
		// "running" is numActiveRequests: admitted, not scheduled.
		{Name: "num_requests_running", Signal: RequestsActive, Combine: Newest},
		{Name: "num_scheduled_requests", Signal: RequestsRunning, Combine: Newest},
		{Name: "num_requests_waiting", Signal: RequestsWaiting, Combine: Newest},
		{Name: "num_context_requests", Signal: RequestsPrefill, Combine: Newest},
		{Name: "num_generation_requests", Signal: RequestsDecode, Combine: Newest},
		{Name: "num_paused_requests", Signal: RequestsPaused, Combine: Newest},
		{Name: "max_num_active_requests", Signal: RequestsLimit, Combine: Newest},
		{Name: "kv_cache_utilization", Signal: KVUtilization, Combine: Newest},
		{Name: "kv_cache_max_blocks", Signal: KVBlocksLimit, Combine: Newest},
		{Name: "kv_cache_used_blocks", Signal: KVBlocksUsed, Combine: Newest},
		{Name: "kv_cache_free_blocks", Signal: KVBlocksFree, Combine: Newest},
		{Name: "kv_cache_tokens_per_block", Signal: KVBlockTokens, Combine: Newest},
		{Name: "kv_cache_reused_blocks_total", Signal: KVBlocksReused, Counter: true},
		{Name: "kv_cache_missed_blocks_total", Signal: KVBlocksMissed, Counter: true},
		{Name: "total_context_tokens", Signal: ContextTokens, Combine: Newest},
		{Name: "gpu_memory_usage_bytes", Signal: EngineMemory, Combine: Newest, Const: "memory=gpu"},
	}
}
