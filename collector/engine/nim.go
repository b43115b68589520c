package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// NIM is NIM for LLMs: 1.x has its own names, 2.x those of the engine inside, vLLM, SGLang or TensorRT-LLM
// (docs of 2.0.0 to 2.1.6; 2.0.11 to 2.0.13 name the third), and one made of Dynamo those of its frontend
// (ai-dynamo/dynamo#2432). What the proxy passes on of TensorRT-LLM no document says and nobody saw.
const NIM Name = "nim"

// The version is NIM's own, not TensorRT-LLM's.
func nim() *Kind {
	return &Kind{
		Name:    NIM,
		Path:    "/v1/metrics",
		marks:   []mark{{text: "num_request_max", weight: 7}, {text: "request_finish_total", weight: 7}},
		pagesOf: nimEngines(),
		series:  inReleases(Releases{Unverified: true}, nimMeanings()),
		quirks:  Quirks{CountersAppear: true},
		repeats: vllmRepeats,

		engines: nimEngines(),
		narrow:  nimNarrow,
		trtllm:  true,

		Ready:       "/v1/health/ready",
		live:        "/v1/health/live",
		versionPath: nimVersionPath,
		versionKey:  nimVersionKey,
		// The vLLM of 1.x rejects unknown keys.
		stream: Stream{},

		identify: nimIdentify,
		ask:      nimAsk,

		generation: nimGeneration,
		mayBeEmpty: true, // With Dynamo inside.

		remark: func(*Page) map[string]string {
			return map[string]string{CanKVCache: "0 to 1 despite its name"}
		},
		judge: nimJudge,
		gaps:  nimGaps,
	}
}

const nimVersionPath, nimVersionKey = "/v1/version", "release"

// nimEngines returns what may be inside. NIMs that embed or rank text, and other kinds of models, show the
// page of a Triton (their documents of 2.4, "Observability").
func nimEngines() []Name { return []Name{VLLM, SGLang, Dynamo, Triton, TRTLLMServe} }

// nimServe is the label of all series of TensorRT-LLM, some of which were named like those of NIM 1.x at first, and
// mean something else (tensorrt_llm/metrics/collector.py).
const nimServe = "engine_type"

// nimNarrow limits what the series of trtllm-serve mean to its own.
func nimNarrow(m *Meaning) {
	if m.Inside == TRTLLMServe {
		m.Where = slices.Concat(m.Where, present(nimServe))
	}
}

// nimFirst is the generation with NIM's own names.
const nimFirst Generation = "1.x"

// nimIdentify returns the evidence. NIM extends the API of the engine inside.
func nimIdentify(ctx context.Context, q *questions) string {
	if release := q.text(ctx, nimVersionPath, nimVersionKey); release != "" {
		return "/v1/version names a release of NIM"
	}
	if nimDescribed(ctx, q) {
		return nimMetadata + " describes the container"
	}
	return ""
}

const nimMetadata = "/v1/metadata"

// nimDescribed reports whether the server describes its container. The keys are from 1.x; 2.x was not seen.
// Without any of them it is not NIM.
func nimDescribed(ctx context.Context, q *questions) bool {
	var about struct{ ModelInfo, AssetInfo, LicenseInfo json.RawMessage }
	_, ok := q.get(ctx, nimMetadata, &about)
	return ok && (about.ModelInfo != nil || about.AssetInfo != nil || about.LicenseInfo != nil)
}

// nimAsk asks who the server is. Those of other kinds of models have no version.
func nimAsk(ctx context.Context, k *Kind, client Client, address string, _ Earlier) Round {
	return func(yield func(Facts, bool) bool) {
		f := k.askOpenAI(ctx, client, address)
		if !f.Confirmed {
			f.Confirmed = nimDescribed(ctx, &questions{client: client, base: address})
		}
		yield(f, true)
	}
}

func nimGeneration(p *Page, _ *Facts) (Generation, string) {
	switch {
	case p.HasPrefix(vllmPrefix):
		return "2.x with vLLM", "the page has the names of vLLM"
	case p.HasPrefix(sglangPrefix):
		return "2.x with SGLang", "the page has the names of SGLang"
	case dynamoFront(p) != "":
		return "with Dynamo", "the page has the names of a frontend of Dynamo"
	case p.HasPrefix("nv_inference_"):
		return "with Triton", "the page has the names of Triton"
	case p.Inside() != nil && p.Inside().Name == TRTLLMServe:
		return "2.x with TensorRT-LLM", "the page has the names of trtllm-serve"
	case slices.ContainsFunc(nimMeanings(), func(m Meaning) bool {
		return p.HasName(m.Name) || p.HasName(m.Name+"_bucket")
	}):
		return nimFirst, "the page has the names of NIM 1.x"
	}
	return "without engine statistics", "the page has no names of NIM 1.x, vLLM, SGLang or TensorRT-LLM"
}

// nimMeanings returns the meanings of 1.x. Unlike in trtllm-serve, tokens and the time per output
// token change with each token.
func nimMeanings() []Meaning {
	all := []Meaning{
		{Name: "num_requests_running", Signal: RequestsRunning},
		{Name: "num_requests_waiting", Signal: RequestsWaiting},
		{Name: "num_request_max", Signal: RequestsLimit},
		{Name: "gpu_cache_usage_perc", Signal: KVUtilization, Combine: Max},
		{Name: "prompt_tokens_total", Signal: PromptTokens},
		{Name: "generation_tokens_total", Signal: GenerationTokens},
		{
			Name:    "request_finish_total",
			Signal:  RequestsFinished,
			Dims:    renamed("finished_reason", "finish_reason"),
			Outcome: finished(),
		},
		{Name: "request_failure_total", Signal: RequestsFailed, Outcome: &Outcome{Usual: ClassServer}},
		{Name: "e2e_request_latency_seconds", Signal: RequestDuration},
		{Name: "time_to_first_token_seconds", Signal: FirstToken},
		{Name: "time_per_output_token_seconds", Signal: InterToken},
		{Name: "request_prompt_tokens", Signal: RequestPromptTokens},
		{Name: "request_generation_tokens", Signal: RequestOutputTokens},
	}
	for i := range all {
		all[i].Where = absent(nimServe)
	}
	return all
}

// nimJudge judges 1.x: it counts what finished and what failed.
func nimJudge(name string, k *Knowledge) (c target.Check, ok bool) {
	if p := k.Page; name == CanOutcomes && p.Inside() == nil && p.Has(RequestsFailed) {
		counters := p.seriesOf("and", RequestsFinished, RequestsFailed)
		return yes(counters + "; what never reached the engine is not counted"), true
	}
	in := k.Page.Inside()
	switch {
	case in == nil:
	case in.Name == Dynamo:
		c = in.capability(name, k)
		if !c.OK && strings.HasPrefix(c.Cure, cureScrape) {
			c.Cure = "" // Nothing but NIM's page leaves the container.
		}
		return c, true
	case in.Name == TRTLLMServe && name == CanLiveTokens:
		return no("its TensorRT-LLM counts tokens when a request ends", ""), true
	}
	return c, false
}

// nimGaps explains what a page lacks.
func nimGaps(k *Knowledge) []gap {
	if generation, reason := nimGeneration(k.Page, nil); generation != nimFirst {
		return []gap{lacks(hidesConfig, "", CanConfig), lacks(reason, "", CapabilityNames()...)}
	}
	const hidden = "NIM 1.x does not expose it"
	return []gap{lacks(hidden, "NIM 2.x, whose page is that of its engine", CanKVReuse), lacks(hidden, cureDCGM, CanGPU)}
}
