package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
)

// Dynamo is NVIDIA Dynamo: its frontend, or a worker's system port.
const Dynamo Kind = "dynamo"

// dynamoFronts begin the names of a frontend: those of today, and those of early
// releases, or where DYN_METRICS_PREFIX says so for NIM (lib/llm/src/http/service/metrics.rs).
func dynamoFronts() []string { return []string{"dynamo_frontend_", "nv_llm_http_service_"} }

// dynamoComponent begins the names of what Dynamo counts of any of its parts.
const dynamoComponent = "dynamo_component_"

// A worker shows the series of the engine inside as well. It calls TensorRT-LLM
// engine_type trtllm, where trtllm-serve says pytorch, or undefined (Triton writes an
// operator's tag of that name with an underscore before it); nobody else writes the
// prefix trtllm with a colon. Requests for models that nobody serves
// are counted under one made-up name.
var _ = register(&dynamo{shell{base{
	kind: Dynamo, path: "/metrics", around: []Kind{Triton, SGLang, VLLM, TRTLLMServe},
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
	nobody:   "unknown_model",
	quirks:   Quirks{CountersAppear: true},
	owner:    "nvidia", healthSays: "the API answers, though a frontend is healthy whatever its workers do and a worker may say notready while it serves",
}}})

// dynamo is NVIDIA Dynamo: a frontend, or a worker around an engine. Neither says a
// version.
type dynamo struct{ shell }

// dynamoFront begins the names of a frontend's page; empty for a worker's.
func dynamoFront(p *Page) string {
	fronts := dynamoFronts()
	if i := slices.IndexFunc(fronts, p.Begins); i >= 0 {
		return fronts[i]
	}
	return ""
}

// Generation implements Engine.
func (*dynamo) Generation(p *Page, f *Facts) (Generation, string) {
	in := p.Inside()
	switch front := dynamoFront(p); {
	case front != "":
		return "frontend", "the page has " + front + "*"
	case in == nil:
		return "worker", "the page has no names of a frontend and none of an engine inside"
	}
	of, why := in.Generation(p, f)
	if of != "" {
		of = ": " + of
	}
	return "worker like " + Generation(in.Kind()) + of, cmp.Or(why, "the page has no names of a frontend")
}

// Stream implements Engine.
func (d *dynamo) Stream(_ string, p *Page) (s Stream, why string) {
	if p != nil && dynamoFront(p) == "" {
		return s, "a worker of Dynamo has no API for clients; turn the canary on for its frontend"
	}
	return d.stream, ""
}

// CountsFailures implements Engine: a frontend counts them by type, which come with
// the first of each, in releases that name it. A worker answers no HTTP, so that what
// servers of engines count of their answers is not on its page; a Triton inside counts
// by itself.
func (*dynamo) CountsFailures(p *Page) bool {
	if dynamoFront(p) != "" {
		return !dynamoUntyped(p)
	}
	in := p.Inside()
	return in != nil && in.Kind() == Triton && in.CountsFailures(p)
}

// Tier implements Engine.
func (*dynamo) Tier(p *Page) Tier {
	if dynamoFront(p) != "" {
		return TierFrontend
	}
	return TierWorker
}

// Quirks implements Engine. What a frontend has queued is a part of what it has in
// flight (seen in 1.6.1: 8 of 24). The gauges of a TensorRT-LLM inside of a worker are
// those of trtllm-serve where the page has them: without iterations what is in flight is
// the worker's own.
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

// dynamoHealth is the answer of GET /health: a frontend lists endpoints and the
// instances behind them, a worker the state of each endpoint of its own.
type dynamoHealth struct {
	Instances *[]json.RawMessage `json:"instances"`
	Endpoints json.RawMessage    `json:"endpoints"`
	// Stage is what a frontend that ends says with 503 (seen in 1.6.1, for 5 s).
	Stage string `json:"stage"`
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
	case h.API == APINotReady && said.Stage == "draining":
		h.Draining, h.Detail = true, "the frontend says that it drains: it answers what it has taken on, and ends"
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
	h.Live, h.LiveKnown, h.Own = true, true, true
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
