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
func (trtllmServe) Ask(ctx context.Context, ask Asker, base string, _ func(Facts)) Facts {
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
