package engine

import (
	"context"
	"encoding/json"
	"net/http"
)

// dynamoHealth is the answer of GET /health: a frontend lists endpoints and the
// instances behind them, a worker the state of each endpoint of its own.
type dynamoHealth struct {
	Instances *[]json.RawMessage `json:"instances"`
	Endpoints json.RawMessage    `json:"endpoints"`
}

// Health implements Engine. Dynamo's status is not to be believed (seen in
// 1.6.1): a frontend is healthy with no worker at all, and a worker that serves
// says 503 "notready" unless it is configured to judge by its endpoints. What
// they list counts.
func (*dynamo) Health(ctx context.Context, ask Asker, address string) Health {
	status, _, body, err := ask.Do(ctx, http.MethodGet, address+"/health", nil, answerLimit)
	if err != nil {
		h, _ := readiness(ctx, ask, address+"/health")
		return h
	}
	h := Health{API: APIReady, Status: status, Live: true, LiveKnown: true, Detail: "the API answers " + http.StatusText(status)}
	var said dynamoHealth
	if json.Unmarshal(body, &said) != nil {
		return h
	}
	if said.Instances != nil {
		h.API, h.Detail = frontendServes(ctx, ask, address, len(*said.Instances), h.Detail)
		return h
	}
	var endpoints map[string]string
	if json.Unmarshal(said.Endpoints, &endpoints) == nil {
		h.API, h.Detail = workerServes(endpoints)
	}
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
	var list modelList
	if _, ok := q.get(ctx, "/v1/models", &list); ok && len(list.Data) == 0 {
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
