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
func (tritonOpenAI) Ask(ctx context.Context, ask Asker, base string, _ func(Facts)) Facts {
	var f Facts
	q := &questions{ask: ask, base: base}
	q.askModels(ctx, &f)
	f.Problems = q.problems
	return f
}

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
func (nim) Ask(ctx context.Context, ask Asker, base string, _ func(Facts)) Facts {
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
func (dynamo) Ask(ctx context.Context, ask Asker, base string, _ func(Facts)) Facts {
	var f Facts
	q := &questions{ask: ask, base: base}
	q.askModels(ctx, &f)
	f.Problems = q.problems
	return f
}
