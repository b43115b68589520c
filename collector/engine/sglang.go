package engine

import (
	"context"
	"net/http"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// SGLang is SGLang's own server. Page and API share a port.
const SGLang Kind = "sglang"

// sglangPrefix begins the names of its series.
const sglangPrefix = "sglang:"

var _ = register(&sglang{base{
	kind: SGLang, path: "/metrics",
	noPage:     "SGLang has the page only with --enable-metrics; the router smg answers like it, and has its page on another port (--prometheus-port, 29000)",
	owner:      "sglang",
	healthNote: "the API lists its models, whatever the engine does; /health costs a request each time and is not asked",
	priority:   -1, marks: []mark{{text: sglangPrefix, weight: 2}},
	answers:  []Signal{AnswersHealth, AnswersLive, AnswersModels, AnswersStream, FailuresCounted},
	stream:   Stream{Usage: true, Seed: true, IgnoreEOS: true},
	noTRTLLM: true,
	quirks:   Quirks{CountersAppear: true},
}})

type sglang struct{ base }

// identify implements Engine (seen in 0.5.23).
func (s *sglang) identify(ctx context.Context, q *questions) string {
	if list, _ := q.models(ctx); list.owner() != s.owner {
		return ""
	}
	for _, path := range []string{"/model_info", "/get_model_info"} {
		var info struct {
			Path string `json:"model_path"`
			Name string `json:"served_model_name"`
		}
		if _, ok := q.get(ctx, path, &info); ok && info.Path+info.Name != "" {
			return "/v1/models lists models owned by sglang, and " + path + " answers"
		}
	}
	return ""
}

// Ask implements Engine. There is no /version. The request for the version comes last, since it
// hangs while the scheduler does; older releases have it under another path.
func (s *sglang) Ask(ctx context.Context, client Client, address string, early func(Facts)) Facts {
	var f Facts
	q := &questions{client: client, base: address}
	q.askModels(ctx, s.owner, &f)
	if early != nil {
		early(f)
	}
	version, ok := q.text(ctx, "/server_info", versionKey)
	if !ok && ctx.Err() == nil {
		version, _ = q.text(ctx, "/get_server_info", versionKey)
	}
	f.EngineVersion, f.Problems = plainVersion(version), q.problems
	return f
}

// Health implements Engine. It does not request /health and /health_generate: each sends a request
// of one token through the queue of the engine and answers after a second. The list of models is
// answered whatever the engine does; the page shows whether it hangs.
func (*sglang) Health(ctx context.Context, client Client, address string) Health {
	h, _ := readiness(ctx, client, address+"/v1/models")
	if h.Status == http.StatusOK {
		h.Detail = "the API lists its models"
	}
	h.liveIfAnswered()
	return h
}

// CountsFailures implements Engine. The API counts its answers by status, beginning with the answer
// to the request for this page.
func (*sglang) CountsFailures(p *Page) bool { return p.HasName(sglangPrefix + sglangAnswers) }

func (*sglang) Generation(p *Page, _ *Facts) (Generation, string) {
	if p.Has(GenerationTokensLive) {
		// It counts tokens while requests run (seen in 0.5.23), generation_tokens_total when they
		// end.
		return "with live token counters", "the page has realtime_tokens_total"
	}
	return "without live token counters", "the page has no realtime_tokens_total"
}

// sglangOutcomes describes what is known about the outcomes of requests.
func sglangOutcomes(p *Page) string {
	least := "those aborted while they wait are not among the finished, so that class ok is at least what is shown"
	if p.Has(RequestsUnaborted) {
		least = "of more than one token those that were not aborted are known, of one token at least what is shown"
	}
	return "num_requests_total, aborted ones, and failures by HTTP status; " + least + "; a client that leaves before its answer begins " +
		"is answered 400, which is taken out of class client as far as it is known; a request with n > 1 counts n + 1 times; errors inside a stream are not counted"
}

func (*sglang) judge(name string, k *Knowledge) target.Check {
	p := k.Page
	if p == nil {
		return no("/metrics answers 404: it exists only with --enable-metrics", "--enable-metrics")
	}
	if name == CanOutcomes && p.HasName(sglangPrefix+sglangAnswers) {
		return yes(sglangOutcomes(p))
	}
	noLive := lacks("this release counts tokens when a request ends", "a later SGLang", CanLiveTokens)
	if p.Has(KVTokensLimit) {
		// The release has live tokens: both names appeared between 0.5.4 and 0.5.9.
		noLive = lacks(notYet, "", CanLiveTokens)
	}
	return p.judge(name, []source{
		from(CanTokens, "generation_tokens_total, when a request ends", GenerationTokens),
		from(CanLiveTokens, "realtime_tokens_total, all but the first token of each request", GenerationTokensLive),
		from(CanQueue, "num_queue_reqs, num_grammar_queue_reqs, and the queues of a server that only computes prompts or only decodes", RequestsWaiting),
		// While idle, releases up to 0.4.3 do not update it, and those up to 0.5.15 only after 30 s
		// (scheduler.py, check_memory; metrics_reporter.py).
		from(CanRunning, "num_running_reqs, updated every few steps; an idle server may show its last batch", RequestsRunning),
		from(CanTTFT, "time_to_first_token_seconds, of streamed requests where label is_streaming tells them apart", FirstToken),
		from(CanTPOT, "request_time_per_output_token_seconds, the mean of each request of more than one token", OutputToken),
		from(CanTPOT, "inter_token_latency_seconds, token by token; several that arrive at once count with their mean", InterToken),
		from(CanE2E, "e2e_request_latency_seconds, with requests of clients that left", RequestDuration),
		from(CanQuantiles, "histograms, when a request ends", RequestDuration),
		from(CanStall, "passes through the model, while requests run", RequestsRunning, EngineIterations),
		from(CanStall, "tokens, and requests that end, while others run", RequestsRunning),
		from(CanKVCache, "kv_used_tokens of max_total_num_tokens", KVTokensUsed, KVTokensLimit),
		from(CanKVCache, "token_usage, rounded to 2 digits", KVUtilization),
		from(CanKVReuse, "cached_tokens_total, when a request ends", CachedTokens),
	},
		lacks("SGLang does not expose it", cureDCGM, CanGPU),
		lacks("SGLang does not expose its config on the page", "", CanConfig),
		lacks("no streamed request had its first token yet", "", CanTTFT),
		lacks("no prompt was found in the cache yet; the family appears with the first, unless --disable-radix-cache is set", "", CanKVReuse),
		noLive,
		lacks(notYet, ""),
	)
}
