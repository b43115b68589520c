package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
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

// dynamo implements Engine for a frontend, and for a worker around an engine. Neither answers a
// version.
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
	if generation != "" {
		generation = ": " + generation
	}
	return "worker like " + Generation(in.Kind()) + generation, cmp.Or(why, "the page has no names of a frontend")
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
