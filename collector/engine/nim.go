package engine

import (
	"context"
	"net/http"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// NIM is NIM for LLMs 1.x; later ones are not built on TensorRT-LLM.
const NIM Kind = "nim"

// NIMFirst is NIM 1.x.
const NIMFirst Generation = "1.x"

var _ = register(&nim{base{
	kind: NIM, path: "/v1/metrics",
	marks:   []mark{{text: "num_request_max", weight: 7}, {text: "request_finish_total", weight: 7}},
	answers: []Signal{AnswersHealth, AnswersLive, AnswersModels, AnswersStream},
	quirks:  Quirks{CountersAppear: true},
}})

// nim is NIM for LLMs 1.x.
type nim struct{ base }

// release is the answer of GET /v1/version: NIM's own release, not
// TensorRT-LLM's.
type release struct {
	Release string `json:"release"`
}

// Ask implements Engine.
func (*nim) Ask(ctx context.Context, ask Asker, address string, _ func(Facts)) Facts {
	var f Facts
	q := &questions{ask: ask, base: address}
	var r release
	if _, ok := q.get(ctx, "/v1/version", &r); ok {
		f.EngineVersion = plainVersion(r.Release)
	}
	q.askModels(ctx, &f)
	return f
}

// Health implements Engine.
func (*nim) Health(ctx context.Context, ask Asker, address string) Health {
	h, _ := readiness(ctx, ask, address+"/v1/health/ready")
	if status, _, _, err := ask.Do(ctx, http.MethodGet, address+"/v1/health/live", nil, answerLimit); err == nil {
		h.Live, h.LiveKnown = status == http.StatusOK, true
	}
	return h
}

// Generation implements Engine.
func (*nim) Generation(*Page, *Facts) (Generation, string) {
	return NIMFirst, "the page has the names of NIM 1.x"
}

// Meanings implements Engine. Token counters move with each iteration here,
// and the time per output token is observed token by token, unlike
// trtllm-serve's of the same name.
func (*nim) Meanings() []Meaning {
	return []Meaning{
		{Name: "num_requests_running", Signal: RequestsRunning},
		{Name: "num_requests_waiting", Signal: RequestsWaiting},
		{Name: "num_request_max", Signal: RequestsLimit},
		{Name: "gpu_cache_usage_perc", Signal: KVUtilization},
		{Name: "prompt_tokens_total", Signal: PromptTokens, Counter: true},
		{Name: "generation_tokens_total", Signal: GenerationTokens, Counter: true},
		{Name: "request_finish_total", Signal: RequestsFinished, Counter: true, Dims: []string{"finished_reason=finish_reason"}, Outcome: finished()},
		{Name: "request_failure_total", Signal: RequestsFailed, Counter: true, Outcome: &Outcome{Usual: ClassServer}},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration, Form: Histogram},
		{Name: "time_to_first_token_seconds", Signal: FirstToken, Form: Histogram},
		{Name: "time_per_output_token_seconds", Signal: InterToken, Form: Histogram},
		{Name: "request_prompt_tokens", Signal: RequestPromptTokens, Form: Histogram},
		{Name: "request_generation_tokens", Signal: RequestOutputTokens, Form: Histogram},
	}
}

// Capability implements Engine.
func (n *nim) Capability(name string, k *Known) target.Check {
	if name == CanHealth || name == CanConfig {
		return n.base.Capability(name, k)
	}
	return named(name, n.judge(name, k.Page))
}

// judge judges what the page shows.
func (*nim) judge(name string, p *Page) target.Check {
	if p == nil {
		return no("/v1/metrics answers 404; NIM 2 and later are not built on TensorRT-LLM", "")
	}
	if c, ok := p.firstOf(name, []source{
		{CanTokens, GenerationTokens, "generation_tokens_total, with each iteration"},
		{CanLiveTokens, GenerationTokens, "generation_tokens_total, with each iteration"},
		{CanQueue, RequestsWaiting, "num_requests_waiting"},
		{CanRunning, RequestsRunning, "num_requests_running"},
		{CanTTFT, FirstToken, "time_to_first_token_seconds"},
		{CanTPOT, InterToken, "time_per_output_token_seconds, token by token"},
		{CanE2E, RequestDuration, "e2e_request_latency_seconds"},
		{CanQuantiles, RequestDuration, "histograms"},
		{CanKVCache, KVUtilization, "gpu_cache_usage_perc, 0 to 1 whatever its name says"},
	}); ok {
		return c
	}
	switch name {
	case CanKVReuse:
		return no("NIM 1.x does not expose it", "")
	case CanGPU:
		return no("NIM 1.x does not expose it", cureDCGM)
	}
	return no("not on the page yet; families come with the first request", "")
}
