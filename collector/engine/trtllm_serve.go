package engine

import (
	"context"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// TRTLLMServe is TensorRT-LLM's own OpenAI server. Page and API share a port.
const TRTLLMServe Kind = "trtllm-serve"

// The generations with few series: five families without prefix in 1.1 and 1.2, and names with the
// prefix trtllm_ without iteration gauges (PR #11243).
const (
	servePlain    Generation = "unprefixed"
	servePrefixed Generation = "prefixed"
)

// servePrefix begins the names of its series from 1.3.0rc5 on.
const servePrefix = "trtllm_"

// GET /metrics of this server is JSON, the statistics of its iterations, and reading it takes rows
// away from other readers. Its priority makes detection ask for what only trtllm-serve answers
// before it asks for the pages of others at that path; its models have an owner of their own
// (openai_protocol.py, ModelCard). Families appear with their first sample, so
// that a fresh server answers 200 with an empty body.
var _ = register(&trtllmServe{base{
	kind: TRTLLMServe, path: "/prometheus/metrics", iterations: "/metrics",
	owner: "tensorrt_llm", ready: "/health", versionPath: versionPath, versionKey: versionKey,
	emptyPage: true,
	noPage:    "trtllm-serve has the page only with return_perf_metrics: true",
	priority:  1, marks: []mark{
		{text: servePrefix, weight: 5},
		// Others share the names without prefix, as MindIE does, but not the labels.
		{text: `request_success_total{engine_type=`, weight: 3},
		{text: `e2e_request_latency_seconds_sum{engine_type=`, weight: 3},
	},
	answers: []Signal{AnswersHealth, AnswersLive, AnswersModels, AnswersStream, AnswersIterations, FailuresCounted},
	quirks:  Quirks{GaugesWhenRequestsEnd: true, CountersAppear: true},
	stream:  Stream{Usage: true, Seed: true, IgnoreEOS: true},
}})

type trtllmServe struct{ base }

// Ask implements Engine. It does not ask GET /health, over which newer servers may exit
// (openai_server.py, fatal executor errors).
func (t *trtllmServe) Ask(ctx context.Context, client Client, address string, early func(Facts)) Facts {
	f := t.base.Ask(ctx, client, address, early)
	if f.EngineVersion != "" {
		f.TRTLLMVersion, f.TRTLLMSource = f.EngineVersion, SourceServer
	}
	return f
}

// The header and value with which recent servers answer 503 to everything while they load their
// engine (serve/lifecycle.py).
const serveState, serveStarting = "X-Trtllm-Server-State", "starting"

// Health implements Engine. Servers up to 1.1 always answer 200 to /health. A newer one whose
// executor is broken exits over it (openai_server.py), as it would at the next request.
func (t *trtllmServe) Health(ctx context.Context, client Client, address string) Health {
	h, header := readiness(ctx, client, address+t.ready)
	if h.API != APIReady && header.Get(serveState) == serveStarting {
		h.API, h.FromServer, h.Starting, h.Detail = APINotReady, true, true, "the server loads its engine"
	}
	h.liveIfAnswered()
	return h
}

func (*trtllmServe) Generation(p *Page, f *Facts) (Generation, string) {
	switch {
	case p.HasName("trtllm_model_config_info") || p.HasName("trtllm_prompt_tokens_total") || p.HasName("trtllm_num_requests_running"):
		// As from PR #12545 on.
		return "prefixed with iteration statistics", "the page has config info, token counters or iteration gauges"
	case p.HasPrefix(servePrefix):
		return servePrefixed, "the names have the prefix trtllm_ and there is no config info"
	case p.Has(RequestsFinished) || p.Has(RequestDuration):
		return servePlain, "the names have no prefix"
	case strings.HasPrefix(f.get().EngineVersion, "1.1.") || strings.HasPrefix(f.get().EngineVersion, "1.2."):
		return servePlain, "the page is empty; versions 1.1 and 1.2 have five families without prefix"
	}
	return "not known before the first request", "the page is empty: families appear with their first sample"
}

// CountsFailures implements Engine. The counter of errors appears with the first error; it came
// with that of cached tokens (NVIDIA/TensorRT-LLM PR 12636), which is there from the start.
func (*trtllmServe) CountsFailures(p *Page) bool { return p.Has(RequestsFailed) || p.Has(CachedTokens) }

func (*trtllmServe) Determinism(_ *Facts, p *Page) []target.Check {
	checks := []target.Check{target.Passed(CheckOneInstance, "the server is one instance of its engine")}
	if c, known := admitsOne(p); known {
		checks = append(checks, c)
	}
	return checks
}
