package canary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// metadata is the part of Triton's GET /v2/models/{model} that is read.
type metadata struct {
	Inputs []struct {
		Name string `json:"name"`
	} `json:"inputs"`
}

// textInput is the input that a model must have to be asked.
const textInput = "text_input"

// generateRequest is a request to Triton's generate_stream. It fills those of
// the model's inputs that it knows: required ones differ between models, and
// keys that name no input become parameters, which models may refuse.
func (a *attempt) generateRequest(ctx context.Context) (address string, body []byte, failed *failure) {
	path := modelPath(a.question.Model)
	has, failed := a.inputs(ctx, a.question.Base+path)
	if failed != nil {
		return "", nil, failed
	}
	if !slices.Contains(has, textInput) {
		return "", nil, &failure{Unsupported, fmt.Sprintf("model %s has no input %s; set model to the one that clients call", a.question.Model, textInput)}
	}
	request := a.known()
	maps.DeleteFunc(request, func(name string, _ any) bool { return !slices.Contains(has, name) })
	// Text and numbers can always be written.
	body, _ = json.Marshal(request)
	return a.question.Base + path + "/generate_stream", body, nil
}

// known are the inputs of the models that TensorRT-LLM's repositories have
// (triton_backend/all_models: inflight_batcher_llm and llmapi, config.pbtxt) and
// of Triton's vLLM backend. The best token is chosen by top_k, for a temperature
// of 0 reached other requests of the batch (tensorrtllm_backend, issue 464).
func (a *attempt) known() map[string]any {
	return map[string]any{
		textInput: a.cfg.Prompt,
		"stream":  true, "streaming": true,
		"max_tokens": a.tokens, "sampling_param_max_tokens": a.tokens,
		"top_k": 1, "sampling_param_top_k": 1,
		"random_seed": seed, "seed": seed, "sampling_param_seed": seed,
		"bad_words": "", "stop_words": "",
		"exclude_input_in_output": true, "sampling_param_exclude_input_from_output": true,
		"sampling_param_return_perf_metrics": true,
		"sampling_parameters":                a.samplingParameters(),
	}
}

// samplingParameters is the input of Triton's vLLM backend, a text of JSON.
func (a *attempt) samplingParameters() string {
	more := ""
	if a.long {
		more = `,"ignore_eos":true`
	}
	return fmt.Sprintf(`{"max_tokens":%d,"temperature":0,"seed":%d%s}`, a.tokens, seed, more)
}

// inputs asks what the model takes, and gives the names. A server that keeps its
// metadata to itself is taken for one with the inputs of the README.
func (a *attempt) inputs(ctx context.Context, address string) (names []string, failed *failure) {
	resp, err := a.open.Open(a.traced(ctx), http.MethodGet, address, nil)
	if err != nil {
		return nil, a.unanswered(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // How it ends is of no interest any more.
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return []string{textInput, "max_tokens", "bad_words", "stop_words", "stream"}, nil
	default:
		return nil, &failure{HTTPError, fmt.Sprintf("GET %s answers %d: %s", modelPath(a.question.Model), resp.StatusCode, words(resp.Body))}
	}
	var m metadata
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	switch cause, timed := errors.AsType[*failure](context.Cause(ctx)); {
	case isShort(err):
		return nil, &failure{short, err.Error()}
	case err != nil && timed:
		return nil, cause
	case err != nil:
		return nil, &failure{Malformed, "the model's metadata cannot be read: " + err.Error()}
	}
	for _, input := range m.Inputs {
		names = append(names, input.Name)
	}
	return names, nil
}

// response is one frame of generate_stream: outputs and parameters, flat.
type response struct {
	Error json.RawMessage `json:"error"`
	Text  json.RawMessage `json:"text_output"`
	// What the LLM-API model measured of the request, in nanoseconds since any
	// moment, as texts (tensorrtllm_backend, docs/llmapi.md).
	Arrival   json.RawMessage `json:"arrival_time_ns"`
	Scheduled json.RawMessage `json:"first_scheduled_time_ns"`
	First     json.RawMessage `json:"first_token_time_ns"`
}

// measured notes what the server measured of the request, if it is consistent.
func (h *partialAnswer) measured(r *response) {
	arrival, scheduled, first := nanoseconds(r.Arrival), nanoseconds(r.Scheduled), nanoseconds(r.First)
	if arrival > 0 && scheduled >= arrival && first >= scheduled {
		h.queued, h.engineFirst = scheduled-arrival, first-arrival
	}
}

// nanoseconds reads a number or its text; 0 for anything else.
func nanoseconds(raw json.RawMessage) time.Duration {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n)
}

// hearGenerate notes one frame. There is none that says it is the last; the end
// is the end of the body (server src/http_server.cc, EndResponseCallback).
func (a *attempt) hearGenerate(text []byte, now time.Time) *failure {
	var r response
	if err := json.Unmarshal(text, &r); err != nil {
		return &failure{Malformed, "a frame that is no JSON of a response: " + string(text)}
	}
	if said(r.Error) {
		return &failure{ErrorFrame, "an error in the stream: " + complaint(string(text))}
	}
	a.heard.measured(&r)
	var output string
	if json.Unmarshal(r.Text, &output) != nil {
		// A list of texts, or a model that names its output otherwise.
		output = string(r.Text)
		if output == "" {
			output = string(text)
		}
	}
	a.heard.text(output, now)
	return nil
}
