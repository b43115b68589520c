package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Dynamo is NVIDIA Dynamo: its frontend, or the system port of a worker.
const Dynamo Kind = "dynamo"

// dynamoFronts returns the prefixes of a frontend: that of today, and that of early releases, which
// DYN_METRICS_PREFIX also sets for NIM (lib/llm/src/http/service/metrics.rs).
func dynamoFronts() []string { return []string{"dynamo_frontend_", "nv_llm_http_service_"} }

// dynamoComponent begins the names that all parts of Dynamo share.
const dynamoComponent = "dynamo_component_"

// A worker also shows the series of the engine inside. It labels TensorRT-LLM engine_type trtllm,
// where trtllm-serve writes pytorch or undefined (Triton writes an operator's tag of that name with
// an underscore before it). Nobody else writes the prefix trtllm with a colon.
var _ = register(&dynamo{shell{base{
	kind: Dynamo, path: "/metrics", engines: []Kind{Triton, SGLang, VLLM, TRTLLMServe},
	marks: []mark{
		{text: `{engine_type="trtllm"`, anywhere: true, weight: 9},
		{text: `,engine_type="trtllm"`, anywhere: true, weight: 9},
		{text: "dynamo_", weight: 8},
		{text: dynamoFronts()[1], weight: 8},
		{text: dynamoMock, weight: 4},
	},
	answers:  []Signal{AnswersHealth, AnswersLive, AnswersModels, AnswersStream, FailuresCounted},
	stream:   Stream{Usage: true},
	prefixes: append(dynamoFronts(), dynamoComponent, vllmPrefix),
	noModel:  "unknown_model",
	quirks:   Quirks{CountersAppear: true},
	owner:    "nvidia", healthNote: "the API answers, but a frontend is healthy whatever its workers do, and a worker may report notready while it serves",
}}})

// dynamo is a frontend, or a worker around an engine. Neither answers a version.
type dynamo struct{ shell }

// dynamoFront returns the prefix of a frontend's page; empty for a worker's.
func dynamoFront(p *Page) string {
	fronts := dynamoFronts()
	if i := slices.IndexFunc(fronts, p.HasPrefix); i >= 0 {
		return fronts[i]
	}
	return ""
}

func (*dynamo) Generation(p *Page, f *Facts) (Generation, string) {
	in := p.Inside()
	switch front := dynamoFront(p); {
	case front != "":
		return "frontend", "the page has " + front + "*"
	case in == nil:
		return "worker", "the page has no names of a frontend and none of an engine inside"
	}
	generation, why := in.Generation(p, f)
	return Generation(strings.TrimSuffix("worker like "+string(in.Kind())+": "+string(generation), ": ")), cmp.Or(why, "the page has no names of a frontend")
}

func (d *dynamo) Stream(_ string, p *Page) (s Stream, why string) {
	if p != nil && dynamoFront(p) == "" {
		return s, "a worker of Dynamo has no API for clients; enable the canary for its frontend"
	}
	return d.stream, ""
}

// CountsFailures implements Engine. A frontend counts failures by type, which appears with the
// first failure, in releases that have types. A worker has no HTTP API, so that its page lacks the
// counters of HTTP answers of the engine inside; a Triton inside has its own.
func (*dynamo) CountsFailures(p *Page) bool {
	if dynamoFront(p) != "" {
		return !dynamoUntyped(p)
	}
	in := p.Inside()
	return in != nil && in.Kind() == Triton && in.CountsFailures(p)
}

func (*dynamo) Tier(p *Page) Tier {
	if dynamoFront(p) != "" {
		return TierFrontend
	}
	return TierWorker
}

// Quirks implements Engine. Requests queued at a frontend are also in flight there (seen in 1.6.1:
// 8 of 24). A worker with TensorRT-LLM has the gauges of trtllm-serve only if the page shows
// iterations; without them, requests in flight are the worker's own count.
func (d *dynamo) Quirks(p *Page) Quirks {
	if dynamoFront(p) != "" {
		q := d.quirks
		q.ActiveHoldsWaiting = true
		return q
	}
	q := d.shell.Quirks(p)
	q.GaugesWhenRequestsEnd = q.GaugesWhenRequestsEnd && p.Has(IterationDuration)
	return q
}

// Health implements Engine. Dynamo's status is wrong (seen in 1.6.1): a frontend is healthy without
// any worker, and a worker that serves answers 503 "notready" unless it is configured to judge by
// its endpoints. The lists in the answer count instead; an answer without them that is not 200 may
// be a proxy's.
func (*dynamo) Health(ctx context.Context, client Client, address string) Health {
	url := address + "/health"
	status, _, body, err := client.Do(ctx, http.MethodGet, url, nil, answerLimit)
	h := healthOf(url, status, body, err)
	if err != nil {
		return h
	}
	// A frontend lists instances, a worker the state of each of its endpoints. Stage is that of a
	// frontend that exits, with 503 (seen in 1.6.1, for 5 s).
	var answer struct {
		Instances *[]json.RawMessage `json:"instances"`
		Endpoints json.RawMessage    `json:"endpoints"`
		Stage     string             `json:"stage"`
	}
	_ = json.Unmarshal(body, &answer)
	var endpoints map[string]string
	switch {
	case h.API == APINotReady && answer.Stage == "draining":
		h.Draining, h.Detail = true, "the frontend is draining: it finishes accepted requests and exits"
	case answer.Instances != nil:
		h.API, h.Detail = frontendHealth(ctx, client, address, len(*answer.Instances), h.Detail)
	case json.Unmarshal(answer.Endpoints, &endpoints) == nil:
		h.API, h.Detail = workerHealth(endpoints)
	case h.API == APINotReady:
		h.API, h.Detail = APIFailed, h.Detail+" to "+url
		return h
	case h.API != APIReady:
		return h
	}
	h.Live, h.LiveKnown, h.FromServer = true, true, true
	return h
}

// frontendHealth returns whether a frontend can route requests. An instance that died is listed
// until its lease ends; the models that it served disappear almost at once.
func frontendHealth(ctx context.Context, client Client, address string, instances int, detail string) (APIState, string) {
	if instances == 0 {
		return APINotReady, "the frontend has no worker, whatever its status says"
	}
	q := &questions{client: client, base: address}
	if list, ok := q.models(ctx); ok && len(list.Data) == 0 {
		return APINotReady, "the frontend has instances and no model to route to, whatever its status says"
	}
	return APIReady, detail
}

// dynamoServing is the endpoint of workers that takes requests.
const dynamoServing = "generate"

// workerHealth returns whether a worker takes requests.
func workerHealth(endpoints map[string]string) (APIState, string) {
	const ready = "ready"
	switch state, ok := endpoints[dynamoServing]; {
	case ok && state == ready:
		return APIReady, "the worker's endpoint generate is ready, whatever its status says"
	case ok:
		return APINotReady, "the worker's endpoint generate is " + short([]byte(state))
	case len(endpoints) == 0:
		return APINotReady, "the worker has no endpoint yet"
	}
	// It serves something else, as prefill workers may.
	for name, state := range endpoints {
		if state != ready {
			return APINotReady, "the worker's endpoint " + short([]byte(name)) + " is " + short([]byte(state))
		}
	}
	return APIReady, "the worker's endpoints are ready, whatever its status says"
}

// Remedies for Dynamo. Up to 1.5 the flag for events also turned on the statistics of the engine
// (dynamo/trtllm/backend_args.py).
const (
	cureMetrics = "--publish-metrics at a worker with TensorRT-LLM, --publish-kv-events before Dynamo 1.6"
	cureEngines = cureMetrics + ", --enable-metrics at one with SGLang; or scrape the frontend"
	cureFront   = "scrape the frontend too"
	cureWorkers = "scrape the worker's DYN_SYSTEM_PORT too"

	dynamoNoGPU = "Dynamo does not expose it"
)

func (d *dynamo) judge(name string, k *Knowledge) target.Check {
	p := k.Page
	switch {
	case name == CanConfig && !p.Has(CacheConfig):
		return d.base.judge(name, k)
	case p == nil:
		return no("/metrics answers 404", "DYN_SYSTEM_PORT for a worker's page")
	case dynamoFront(p) != "":
		return judgeFrontend(name, p)
	}
	return d.judgeWorker(name, k)
}

// judgeWorker judges a worker by the engine inside, but for what Dynamo hides.
func (*dynamo) judgeWorker(name string, k *Knowledge) target.Check {
	p, in := k.Page, k.Page.Inside()
	switch {
	case name == CanGPU && !p.Has(GPUUtilization) && !p.Has(EngineMemory):
		return no(dynamoNoGPU, cureDCGM)
	case name == CanOutcomes && (in == nil || in.Kind() != Triton):
		return no("a worker counts requests that its engine finished; its own errors_total counts clients that left as errors", cureFront)
	case name == CanKVCache && p.readsFrom(dynamoComponent, KVUtilization):
		return yes("dynamo_component_gpu_cache_usage_percent, 0 to 1 despite its name")
	case name == CanKVReuse && p.readsFrom(dynamoComponent, KVHitRatio):
		return yes("dynamo_component_kv_cache_hit_rate, of each rank")
	case in == nil:
		return p.judge(name, dynamoMockSources(), lacks("the page has no families of an engine: they appear with its first request, if they are on", cureEngines))
	}
	c := in.judge(name, k)
	switch {
	case c.OK:
	case name == CanLiveTokens && in.Kind() == TRTLLMServe:
		return no("a worker with TensorRT-LLM counts tokens when a request ends", cureFront)
	case in.Kind() == TRTLLMServe && c.Cure != "":
		c.Cure = cureMetrics + ", with a TensorRT-LLM that has it"
	}
	return c
}

// dynamoMockSources returns the sources of a worker with the mock engine.
func dynamoMockSources() []source {
	return []source{
		from(CanQueue, "what waits in the engine, num_requests_waiting", RequestsWaiting),
		from(CanRunning, "what runs in the engine, num_requests_running", RequestsRunning),
		from(CanTTFT, "time_to_first_token_seconds of the engine", FirstToken),
		from(CanTPOT, "time_per_output_token_seconds of the engine, the mean of each request", OutputToken),
		from(CanTPOT, "inter_token_latency_seconds of the engine, token by token", InterToken),
		from(CanE2E, "e2e_request_latency_seconds of the engine", RequestDuration),
		from(CanQuantiles, "histograms", RequestDuration),
		from(CanKVCache, "kv_cache_usage_perc of the engine, 0 to 1 despite its name", KVUtilization),
		from(CanStall, serveStands, RequestDuration),
	}
}

// judgeFrontend judges a frontend.
func judgeFrontend(name string, p *Page) target.Check {
	const live = "output_tokens_total, while tokens stream"
	sources := []source{
		from(CanTokens, live, GenerationTokens),
		from(CanLiveTokens, live, GenerationTokens),
		from(CanQueue, "requests in flight beyond the capacity of its workers, and those that its router holds back", WorkerRequestsLimit, WorkerKVBlocksUsed),
		from(CanTTFT, "time_to_first_token_seconds, of requests that are not streamed too", FirstToken),
		from(CanTPOT, "inter_token_latency_seconds, token by token", InterToken),
		from(CanE2E, "request_duration_seconds, errors included", RequestDuration),
		from(CanQuantiles, "histograms", RequestDuration),
		from(CanStall, "output_tokens_total, while requests are in flight", GenerationTokens),
	}
	switch {
	case name != CanOutcomes:
	case dynamoUntyped(p):
		return no("requests_total of this release has no type of error: mistakes of clients and failures count together", "a later Dynamo")
	case p.HasName(dynamoFront(p) + "failures_total"):
		return yes("requests_total by type of error, and failures_total for what could not be read or routed; unknown models and paths are not counted")
	default:
		return yes("requests_total by type of error; what the frontend could not read or route is not counted unless failures_total is there")
	}
	if name == CanQueue && p.Has(RequestsUnanswered) {
		return p.judge(name, sources, lacks("queued_requests includes prompts in prefill, and only the KV router shows how many requests the workers can take", cureWorkers))
	}
	return p.judge(name, sources,
		lacks(dynamoNoGPU, cureDCGM, CanGPU),
		lacks("only the worker's page has it", cureWorkers, CanKVCache, CanKVReuse, CanRunning),
		lacks("not on the page yet; families appear with the first worker and request", ""),
	)
}
