package engine

import "context"

// tritonOpenAI is Triton behind its OpenAI frontend: one port, no port 8002,
// the same nv_* page (server python/openai, routers/observability.py).
type tritonOpenAI struct{}

// Kind implements Engine.
func (tritonOpenAI) Kind() Kind { return TritonOpenAI }

// MetricsPath implements Engine.
func (tritonOpenAI) MetricsPath() string { return "/metrics" }

// APIPort implements Engine.
func (tritonOpenAI) APIPort(metrics int) int { return metrics }

// EmptyPage implements Engine.
func (tritonOpenAI) EmptyPage() bool { return false }

// Ask implements Engine. The frontend tells no version of Triton; its
// /openapi.json has the version of the API document.
func (tritonOpenAI) Ask(ctx context.Context, ask Asker, base string) Facts {
	var f Facts
	q := &questions{ask: ask, base: base}
	q.askModels(ctx, &f)
	f.Problems = q.problems
	return f
}

// Meanings implements Engine.
func (tritonOpenAI) Meanings() []Meaning { return triton{}.Meanings() }

// nim is NIM for LLMs 1.x.
type nim struct{}

// Kind implements Engine.
func (nim) Kind() Kind { return NIM }

// MetricsPath implements Engine.
func (nim) MetricsPath() string { return "/v1/metrics" }

// APIPort implements Engine.
func (nim) APIPort(metrics int) int { return metrics }

// EmptyPage implements Engine.
func (nim) EmptyPage() bool { return false }

// release is the answer of GET /v1/version: NIM's own release, not
// TensorRT-LLM's.
type release struct {
	Release string `json:"release"`
}

// Ask implements Engine.
func (nim) Ask(ctx context.Context, ask Asker, base string) Facts {
	var f Facts
	q := &questions{ask: ask, base: base}
	var r release
	if _, ok := q.get(ctx, "/v1/version", &r); ok && r.Release != "" {
		f.Answered, f.EngineVersion = true, plainVersion(r.Release)
	}
	q.askModels(ctx, &f)
	f.Problems = q.problems
	return f
}

// Meanings implements Engine. Token counters move with each iteration here.
func (nim) Meanings() []Meaning {
	return []Meaning{
		{Name: "num_requests_running", Signal: RequestsRunning},
		{Name: "num_requests_waiting", Signal: RequestsWaiting},
		{Name: "num_request_max", Signal: RequestsLimit},
		{Name: "gpu_cache_usage_perc", Signal: KVUtilization},
		{Name: "prompt_tokens_total", Signal: PromptTokens, Counter: true},
		{Name: "generation_tokens_total", Signal: GenerationTokens, Counter: true},
		{Name: "request_finish_total", Signal: RequestsFinished, Counter: true, Dims: []string{"finished_reason=finish_reason"}},
	}
}

// dynamo is NVIDIA Dynamo: its frontend, or a worker's system port.
type dynamo struct{}

// Kind implements Engine.
func (dynamo) Kind() Kind { return Dynamo }

// MetricsPath implements Engine.
func (dynamo) MetricsPath() string { return "/metrics" }

// APIPort implements Engine.
func (dynamo) APIPort(metrics int) int { return metrics }

// EmptyPage implements Engine.
func (dynamo) EmptyPage() bool { return false }

// Ask implements Engine. Neither frontend nor worker tells a version.
func (dynamo) Ask(ctx context.Context, ask Asker, base string) Facts {
	var f Facts
	q := &questions{ask: ask, base: base}
	q.askModels(ctx, &f)
	f.Problems = q.problems
	return f
}

// Meanings implements Engine. The frontend's output_tokens_total moves while
// tokens stream; its queued_requests is the engine's waiting, not an HTTP
// queue as its HELP says (seen in 1.6.1).
func (dynamo) Meanings() []Meaning {
	return append([]Meaning{
		{Name: "dynamo_frontend_output_tokens_total", Signal: GenerationTokens, Counter: true},
		{Name: "dynamo_frontend_input_sequence_tokens_sum", Signal: PromptTokens, Counter: true},
		{Name: "dynamo_frontend_queued_requests", Signal: RequestsWaiting},
		{Name: "dynamo_frontend_inflight_requests", Signal: RequestsActive},
		{Name: "dynamo_frontend_model_total_kv_blocks", Signal: KVBlocksLimit, Combine: Max},
		{Name: "dynamo_frontend_model_kv_cache_block_size", Signal: KVBlockTokens, Combine: Max},
	}, workerMeanings()...)
}

// workerMeanings are the engine's series on the page of a worker. Dynamo up to
// 0.7 put a colon behind the prefix, as its mock engine still does.
func workerMeanings() []Meaning {
	all := trtllmServe{}.Meanings()
	for _, m := range serveMeanings() {
		m.Name = "trtllm:" + m.Name
		all = append(all, m)
	}
	return all
}
