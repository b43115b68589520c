package engine

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Dynamo is NVIDIA Dynamo: its frontend, or a worker's system port.
const Dynamo Kind = "dynamo"

const (
	dynamoFront = "dynamo_frontend_"
	// dynamoRoute is 1 while the frontend can route requests for a model; it
	// falls to 0 when the last worker is lost, and is gone some seconds later.
	dynamoRoute = dynamoFront + "model_ready"
)

// A worker shows the series of the engine inside as well. It calls TensorRT-LLM
// engine_type trtllm, where trtllm-serve says pytorch, or undefined (Triton writes an
// operator's tag of that name with an underscore before it); nobody else writes the
// prefix trtllm with a colon. Requests for models that nobody serves
// are counted under one made-up name.
var _ = register(&dynamo{base{
	kind: Dynamo, path: "/metrics",
	detection: detection{marks: []mark{
		{text: `{engine_type="trtllm"`, anywhere: true, weight: 9},
		{text: `,engine_type="trtllm"`, anywhere: true, weight: 9},
		{text: "dynamo_", weight: 8},
		{text: "trtllm:", weight: 4},
	}},
	answers:  []Signal{AnswersHealth, AnswersLive, AnswersModels, AnswersStream, FailuresCounted},
	stream:   Stream{Usage: true},
	prefixes: []string{dynamoFront, "dynamo_component_", "vllm:"},
	nobody:   "unknown_model",
	quirks:   Quirks{CountersAppear: true},
	asking:   asking{healthSays: "the API answers, though a frontend is healthy whatever its workers do and a worker may say notready while it serves"},
}})

// dynamo is NVIDIA Dynamo. Neither frontend nor worker says a version.
type dynamo struct{ base }

// Generation implements Engine.
func (*dynamo) Generation(p *Page, _ *Facts) (Generation, string) {
	if p.Begins(dynamoFront) {
		return "frontend", "the page has dynamo_frontend_*"
	}
	return "worker", "the page has no dynamo_frontend_*"
}

// Stream implements Engine.
func (d *dynamo) Stream(_ string, p *Page) (s Stream, why string) {
	if p != nil && !p.Begins(dynamoFront) {
		return s, "a worker of Dynamo has no API for clients; turn the canary on for its frontend"
	}
	return d.stream, ""
}

// Meanings implements Engine. What a worker has in flight holds what waits in its
// engine, and stands in for the engine's own number only. The frontend's output_tokens_total moves while
// tokens stream; its queued_requests is the engine's waiting and a part of
// inflight_requests, not an HTTP queue as its HELP says (seen in 1.6.1). Its
// request durations include errors.
func (*dynamo) Meanings() []Meaning {
	const f = dynamoFront
	return append([]Meaning{
		{Name: f + "requests_total", Where: only("status", "success"), Signal: RequestsFinished, Counter: true, Const: "finish_reason=success", Outcome: &Outcome{Usual: ClassOK}},
		{Name: f + "requests_total", Where: only("status", "error"), Signal: RequestsFailed, Counter: true, Dims: []string{"error_type=reason"}, Outcome: dynamoFailures()},
		{Name: f + "model_rejection_total", Signal: RequestsRejected, Counter: true},
		{Name: f + "model_migration_total", Signal: RequestsMigrated, Counter: true, Dims: []string{"migration_type=type"}},
		{Name: f + "disconnected_clients", Signal: ClientsGone, Scope: OfServer, Counter: true},
		{Name: f + "router_queue_pending_requests", Signal: RequestsRouting},
		{Name: f + "output_tokens_total", Signal: GenerationTokens, Counter: true},
		{Name: f + "input_sequence_tokens_sum", Signal: PromptTokens, Counter: true},
		{Name: f + "input_sequence_tokens", Signal: RequestPromptTokens, Form: Histogram},
		{Name: f + "output_sequence_tokens", Signal: RequestOutputTokens, Form: Histogram},
		{Name: f + "cached_tokens", Signal: RequestCachedTokens, Form: Histogram},
		{Name: f + "request_duration_seconds", Signal: RequestDuration, Form: Histogram},
		{Name: f + "time_to_first_token_seconds", Signal: FirstToken, Form: Histogram},
		{Name: f + "inter_token_latency_seconds", Signal: InterToken, Form: Histogram},
		{Name: f + "queued_requests", Signal: RequestsWaiting},
		{Name: f + "inflight_requests", Signal: RequestsActive},
		{Name: dynamoRoute, Signal: ModelRoutable, Combine: Max},
		{Name: f + "model_total_kv_blocks", Signal: WorkerKVBlocks, Combine: Max},
		{Name: f + "model_max_num_seqs", Signal: WorkerRequestsLimit, Combine: Max},
		{Name: f + "worker_active_decode_blocks", Signal: WorkerKVBlocksUsed},
		{Name: f + "model_kv_cache_block_size", Signal: KVBlockTokens, Combine: Max},
		{
			Name: "dynamo_component_inflight_requests", Where: only("dynamo_endpoint", dynamoServing), Signal: RequestsActive,
			Unless: []string{ofAny + "num_requests_running", ofAny + "trtllm_num_requests_running", ofAny + "trtllm:num_requests_running", ofAny + "vllm:num_requests_running"},
		},
	}, append(withPrefixes("", "trtllm_", "trtllm:"), vllmMeanings()...)...)
}

// dynamoFailures are the outcomes of a frontend's errors by type (seen in 1.6.1):
// unavailable is a worker that was lost, overload the router's refusal, which is
// counted as a rejection too.
func dynamoFailures() *Outcome {
	return &Outcome{Usual: ClassServer, Of: map[string]Class{
		"validation": ClassClient, "not_found": ClassClient, "not_implemented": ClassClient,
		"cancelled": ClassCanceled, "overload": ClassOverload,
	}}
}

// CountsFailures implements Engine: a frontend counts them by type, which come
// with the first of each; a worker's engine shows those that it counts.
func (*dynamo) CountsFailures(p *Page) bool { return p.Begins(dynamoFront) || p.Has(RequestsFailed) }

// Tier implements Engine.
func (*dynamo) Tier(p *Page) Tier {
	if p.Begins(dynamoFront) {
		return TierFrontend
	}
	return TierWorker
}

// Quirks implements Engine. What a frontend has queued is a part of what it has in
// flight (seen in 1.6.1: 8 of 24). The gauges of the TensorRT-LLM inside of a
// worker are those of trtllm-serve.
func (d *dynamo) Quirks(p *Page) Quirks {
	q, front := d.quirks, p.Begins(dynamoFront)
	q.ActiveHoldsWaiting = front
	q.GaugesWhenRequestsEnd = p != nil && !front && p.Has(IterationDuration)
	return q
}

// dynamoHealth is the answer of GET /health: a frontend lists endpoints and the
// instances behind them, a worker the state of each endpoint of its own.
type dynamoHealth struct {
	Instances *[]json.RawMessage `json:"instances"`
	Endpoints json.RawMessage    `json:"endpoints"`
}

// Health implements Engine. Dynamo's status is not to be believed (seen in
// 1.6.1): a frontend is healthy with no worker at all, and a worker that serves
// says 503 "notready" unless it is configured to judge by its endpoints. What
// they list counts; an answer that lists nothing and is no 200 may be a proxy's.
func (*dynamo) Health(ctx context.Context, ask Asker, address string) Health {
	url := address + "/health"
	status, _, body, err := ask.Do(ctx, http.MethodGet, url, nil, answerLimit)
	h := healthOf(url, status, body, err)
	if err != nil {
		return h
	}
	var said dynamoHealth
	_ = json.Unmarshal(body, &said)
	var endpoints map[string]string
	switch {
	case said.Instances != nil:
		h.API, h.Detail = frontendServes(ctx, ask, address, len(*said.Instances), h.Detail)
	case json.Unmarshal(said.Endpoints, &endpoints) == nil:
		h.API, h.Detail = workerServes(endpoints)
	case h.API == APINotReady:
		h.API, h.Detail = APIFailed, h.Detail+" to "+url
		return h
	case h.API != APIReady:
		return h
	}
	h.Live, h.LiveKnown = true, true
	return h
}

// frontendServes says whether a frontend has somebody to send requests to. An
// instance that died is listed until its lease ends, the models it served are
// not, but for a moment.
func frontendServes(ctx context.Context, ask Asker, address string, instances int, detail string) (APIState, string) {
	if instances == 0 {
		return APINotReady, "the frontend has no worker, whatever its status says"
	}
	q := &questions{ask: ask, base: address}
	if list, ok := q.models(ctx); ok && len(list.Data) == 0 {
		return APINotReady, "the frontend has instances and no model to route to, whatever its status says"
	}
	return APIReady, detail
}

// dynamoServing is the endpoint by which workers take requests, and its state
// while they do.
const dynamoServing, dynamoServes = "generate", "ready"

// workerServes says whether a worker takes requests.
func workerServes(endpoints map[string]string) (APIState, string) {
	switch state, ok := endpoints[dynamoServing]; {
	case ok && state == dynamoServes:
		return APIReady, "the worker's endpoint generate is ready, whatever its status says"
	case ok:
		return APINotReady, "the worker's endpoint generate is " + short([]byte(state))
	case len(endpoints) == 0:
		return APINotReady, "the worker has no endpoint yet"
	}
	// It serves something else, as prefill workers may.
	for name, state := range endpoints {
		if state != dynamoServes {
			return APINotReady, "the worker's endpoint " + short([]byte(name)) + " is " + short([]byte(state))
		}
	}
	return APIReady, "the worker's endpoints are ready, whatever its status says"
}

// judge implements Engine: a frontend and a worker each know their part.
func (d *dynamo) judge(name string, k *Known) target.Check {
	p := k.Page
	switch {
	case name == CanConfig:
		return d.base.judge(name, k)
	case p == nil:
		return no("/metrics answers 404", "DYN_SYSTEM_PORT for a worker's page")
	case p.Begins(dynamoFront):
		return judgeFrontend(name, p)
	}
	if c, ok := p.ofRanks(name); ok {
		return c
	}
	sources := append(dynamoSources(),
		from(CanTokens, "the engine's generation_tokens_total, when a request ends", GenerationTokens),
		from(CanOutcomes, "requests that finished, and errors, of the engine", RequestsFailed),
	)
	if p.flying() {
		sources = append(sources, from(CanStall, "what the engine counts, while requests are in flight", RequestDuration))
	}
	return p.judge(name, sources,
		lacks(dynamoNoGPU, cureDCGM, CanGPU),
		lacks("a worker counts tokens when a request ends", "scrape the frontend too", CanLiveTokens),
		lacks("a worker does not say which of its requests failed", "scrape the frontend too", CanOutcomes),
		lacks("the engine's families are not on the worker's page", "--publish-kv-events at the worker, or scrape the frontend"),
	)
}

// dynamoNoGPU is of frontends and workers alike.
const dynamoNoGPU = "Dynamo does not expose it"

// judgeFrontend judges what a frontend shows.
func judgeFrontend(name string, p *Page) target.Check {
	const live = "dynamo_frontend_output_tokens_total, while tokens stream"
	sources := append(dynamoSources(),
		from(CanTokens, live, GenerationTokens),
		from(CanLiveTokens, live, GenerationTokens),
		from(CanOutcomes, "requests_total by status and type of error; what the frontend could not read or route is not counted"),
	)
	if p.flying() {
		sources = append(sources, from(CanStall, "output_tokens_total, while requests are in flight", GenerationTokens))
	}
	return p.judge(name, sources,
		lacks(dynamoNoGPU, cureDCGM, CanGPU),
		lacks("only the worker's page has it", "scrape the worker's DYN_SYSTEM_PORT too", CanKVCache, CanKVReuse, CanRunning),
		lacks("not on the page yet; families come with the first worker and request", ""),
	)
}

// dynamoSources are what frontends and workers show under the same names.
func dynamoSources() []source {
	return []source{
		from(CanQueue, "queued_requests, which is the engine's waiting whatever its HELP says", RequestsWaiting),
		from(CanRunning, "the engine's scheduled requests", RequestsRunning),
		from(CanTTFT, "time_to_first_token_seconds", FirstToken),
		from(CanTPOT, "inter_token_latency_seconds, token by token", InterToken),
		from(CanTPOT, "the engine's time_per_output_token_seconds, the mean of each request", OutputToken),
		from(CanE2E, "request durations, errors included at the frontend", RequestDuration),
		from(CanQuantiles, "histograms", RequestDuration),
		from(CanKVCache, "the engine's KV cache", KVUtilization),
		from(CanKVCache, "the engine's KV cache", KVBlocksUsed),
		from(CanKVCache, "the blocks of its workers, as its KV router counts them", WorkerKVBlocksUsed),
		from(CanKVReuse, "the engine's reused blocks", KVBlocksReused),
		from(CanKVReuse, "the engine's reused blocks", KVHitRatio),
	}
}
