package engine

import (
	"context"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// TRTLLMServe is TensorRT-LLM's own OpenAI server. Page and API share a port.
const TRTLLMServe Kind = "trtllm-serve"

// The generations of trtllm-serve of which few things are on the page: the five
// families without prefix of 1.1 and 1.2, and names with the prefix trtllm_ and no
// iteration gauges (PR #11243).
const (
	servePlain    Generation = "unprefixed"
	servePrefixed Generation = "prefixed"
)

const (
	// servePrefix begins the names of its series from 1.3.0rc5 on.
	servePrefix = "trtllm_"
	// serveIterationsPath is JSON, and reading it takes rows away from other
	// readers: it is asked only where the operator says so.
	serveIterationsPath = "/metrics"
)

// Detection asks what only trtllm-serve answers before it asks for the pages of
// others, which are where this server has the statistics of its iterations: it
// is never asked for those. Families appear with their first sample, so
// that a fresh server answers 200 with an empty body.
var _ = register(&trtllmServe{base{
	kind: TRTLLMServe, path: "/prometheus/metrics",
	owner: "tensorrt_llm", ready: "/health", versionAt: versionPath, versionKey: versionKey,
	emptyPage: true,
	noPage:    "trtllm-serve has the page only with return_perf_metrics: true",
	priority:  1, marks: []mark{
		{text: servePrefix, weight: 5},
		// Others have its names without prefix, as MindIE does, but not with its labels.
		{text: `request_success_total{engine_type=`, weight: 3},
		{text: `e2e_request_latency_seconds_sum{engine_type=`, weight: 3},
	},
	answers: []Signal{AnswersHealth, AnswersLive, AnswersModels, AnswersStream, AnswersIterations, FailuresCounted},
	quirks:  Quirks{GaugesWhenRequestsEnd: true, CountersAppear: true},
	stream:  Stream{Usage: true, Seed: true, IgnoreEOS: true},
}})

// trtllmServe is TensorRT-LLM's own OpenAI server.
type trtllmServe struct{ base }

// isIt implements Engine (openai_protocol.py, ModelCard).
func (t *trtllmServe) isIt(ctx context.Context, q *questions) string {
	return q.ownedBy(ctx, t.owner)
}

// Ask implements Engine. GET /health is not asked here: newer servers may end
// themselves over it (openai_server.py, fatal executor errors).
func (t *trtllmServe) Ask(ctx context.Context, ask Asker, address string, early func(Facts)) Facts {
	f := t.base.Ask(ctx, ask, address, early)
	if f.EngineVersion != "" {
		f.TRTLLMVersion, f.TRTLLMSource = f.EngineVersion, SourceServer
	}
	return f
}

// serveState is what the newest trtllm-serve sends with the 503 it answers to
// everything while its engine loads (serve/lifecycle.py).
const serveState, serveStarting = "X-Trtllm-Server-State", "starting"

// Health implements Engine. Servers up to 1.1 answer 200 to /health whatever
// happens; a newer one whose executor is broken ends itself over the question
// (openai_server.py), which it would at the next request as well.
func (t *trtllmServe) Health(ctx context.Context, ask Asker, address string) Health {
	h, header := readiness(ctx, ask, address+t.ready)
	if h.API != APIReady && header.Get(serveState) == serveStarting {
		h.API, h.Own, h.Starting, h.Detail = APINotReady, true, true, "the server loads its engine"
	}
	h.answered()
	return h
}

// Generation implements Engine, by what the page has.
func (*trtllmServe) Generation(p *Page, f *Facts) (Generation, string) {
	switch {
	case p.Shows("trtllm_model_config_info") || p.Shows("trtllm_prompt_tokens_total") || p.Shows("trtllm_num_requests_running"):
		// As from PR #12545 on.
		return "prefixed with iteration statistics", "the page has config info, token counters or iteration gauges"
	case p.Begins(servePrefix):
		return servePrefixed, "the names have the prefix trtllm_ and there is no config info"
	case p.Has(RequestsFinished) || p.Has(RequestDuration):
		return servePlain, "the names have no prefix"
	case strings.HasPrefix(f.version(), "1.1.") || strings.HasPrefix(f.version(), "1.2."):
		return servePlain, "the page is empty; versions 1.1 and 1.2 have five families without prefix"
	}
	return "not known before the first request", "the page is empty: families come with their first sample"
}

// CountsFailures implements Engine: the counter of errors came with that of
// cached tokens (NVIDIA/TensorRT-LLM PR 12636), which is on the page from the
// start, while the first error brings the former.
func (*trtllmServe) CountsFailures(p *Page) bool { return p.Has(RequestsFailed) || p.Has(CachedTokens) }

// Determinism implements Engine.
func (*trtllmServe) Determinism(_ *Facts, p *Page) []target.Check {
	checks := []target.Check{target.Passed(CheckOneInstance, "the server is one instance of its engine")}
	if c, known := admitsOne(p); known {
		checks = append(checks, c)
	}
	return checks
}
