package canary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const textInput = "text_input"

// generateRequest returns a request to Triton's generate_stream with only the known inputs that
// the model has: required inputs differ between models, and keys that name no input become
// parameters, which models may reject.
func (a *attempt) generateRequest(ctx context.Context) (address string, body []byte, failed *failure) {
	path := modelPath(a.question.Model)
	inputs, failed := a.inputs(ctx)
	if failed != nil {
		return "", nil, failed
	}
	if !slices.Contains(inputs, textInput) {
		return "", nil, &failure{
			Unsupported,
			fmt.Sprintf("model %s has no input %s; set model to the one that "+
				"clients call", a.question.Model, textInput),
		}
	}
	request := a.knownInputs()
	maps.DeleteFunc(request, func(name string, _ any) bool { return !slices.Contains(inputs, name) })
	if failed := a.canFill(ctx, inputs, request); failed != nil {
		return "", nil, failed
	}
	body, _ = json.Marshal(request) // Marshaling strings and numbers cannot fail.
	if a.question.Version != "" {
		path += "/versions/" + url.PathEscape(a.question.Version)
	}
	return a.question.Base + path + "/generate_stream", body, nil
}

// canFill returns a failure if the model requires an input for which the request has no value: Triton would reject
// it. Only the config tells which inputs are required; if the server refuses to show it, the model is asked anyway.
func (a *attempt) canFill(ctx context.Context, inputs []string, request map[string]any) *failure {
	if len(inputs) == len(request) {
		return nil
	}
	var config struct {
		Inputs []struct {
			Name     string `json:"name"`
			Optional bool   `json:"optional"`
		} `json:"input"`
	}
	status, failed := a.get(ctx, modelPath(a.question.Model)+"/config", &config)
	if failed != nil && (status == 0 || status == http.StatusOK) {
		return failed
	}
	for _, input := range config.Inputs {
		if _, has := request[input.Name]; !has && !input.Optional {
			return &failure{
				Unsupported,
				fmt.Sprintf("model %s requires the input %s, for which the exporter has no value; set model to one "+
					"that requires only text", a.question.Model, input.Name),
			}
		}
	}
	return nil
}

// knownInputs returns the inputs of the models in TensorRT-LLM's repositories
// (triton_backend/all_models: inflight_batcher_llm and llmapi, config.pbtxt) and of Triton's vLLM
// backend. Greedy sampling is requested with top_k, because a temperature of 0 affected other
// requests in the batch (tensorrtllm_backend, issue 464).
func (a *attempt) knownInputs() map[string]any {
	return map[string]any{
		textInput: a.cfg.Prompt,
		"stream":  true, "streaming": true,
		"max_tokens": a.tokens, "sampling_param_max_tokens": a.tokens,
		"top_k": 1, "sampling_param_top_k": 1,
		"random_seed": seed, "seed": seed, "sampling_param_seed": seed,
		"bad_words": "", "stop_words": "",
		"exclude_input_in_output": true, "sampling_param_exclude_input_from_output": true,
		"sampling_param_return_perf_metrics": true,
		// Triton's vLLM backend expects JSON as text.
		"sampling_parameters": fmt.Sprintf(
			`{"max_tokens":%d,"temperature":0,"seed":%d,"ignore_eos":%t}`,
			a.tokens,
			seed,
			a.long,
		),
	}
}

// inputs queries the names of the model's inputs. If the server refuses to answer, the inputs of
// Triton's README are assumed.
func (a *attempt) inputs(ctx context.Context) (names []string, failed *failure) {
	var metadata struct {
		Inputs []struct {
			Name string `json:"name"`
		} `json:"inputs"`
	}
	status, failed := a.get(ctx, modelPath(a.question.Model), &metadata)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return []string{textInput, "max_tokens", "bad_words", "stop_words", "stream"}, nil
	case failed != nil:
		return nil, failed
	}
	for _, input := range metadata.Inputs {
		names = append(names, input.Name)
	}
	return names, nil
}

// get requests JSON about the model. The status is 0 without an answer.
func (a *attempt) get(ctx context.Context, path string, into any) (status int, failed *failure) {
	resp, err := a.open.Open(a.traced(ctx), http.MethodGet, a.question.Base+path, nil)
	if err != nil {
		return 0, a.unanswered(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text := a.start(resp.Body)
		return resp.StatusCode, &failure{
			statusResult(resp.StatusCode, text, false),
			fmt.Sprintf("GET %s answers %d: %s", path, resp.StatusCode, errorText(text)),
		}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err == nil {
		return http.StatusOK, nil
	}
	if cause := interrupted(ctx, err); cause != nil {
		return http.StatusOK, cause
	}
	return http.StatusOK, &failure{Malformed, fmt.Sprintf("the answer to GET %s cannot be read: %v", path, err)}
}

// response is what one frame of generate_stream has besides outputs, on the same level.
type response struct {
	Error json.RawMessage `json:"error"`
	// Timestamps of the LLM-API model in nanoseconds since an arbitrary origin, as text
	// (tensorrtllm_backend, docs/llmapi.md).
	Arrival   json.RawMessage `json:"arrival_time_ns"`
	Scheduled json.RawMessage `json:"first_scheduled_time_ns"`
	First     json.RawMessage `json:"first_token_time_ns"`
}

func (a *answer) addEngineTimes(r *response) {
	arrival, scheduled, firstToken := nanoseconds(r.Arrival), nanoseconds(r.Scheduled), nanoseconds(r.First)
	if arrival > 0 && scheduled >= arrival && firstToken >= scheduled {
		a.queued, a.engineFirst = scheduled-arrival, firstToken-arrival
	}
}

// nanoseconds parses a number or its text. It returns 0 for anything else.
func nanoseconds(raw json.RawMessage) time.Duration {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n)
}

// addGenerate adds one frame. No frame is marked as the last: the stream ends with
// the body (server src/http_server.cc, EndResponseCallback).
func (a *attempt) addGenerate(text []byte, now time.Time) *failure {
	var r response
	var frame map[string]any
	if err := errors.Join(json.Unmarshal(text, &r), json.Unmarshal(text, &frame)); err != nil {
		return &failure{Malformed, "a frame is not the JSON of a response: " + string(text)}
	}
	if isSet(r.Error) {
		return errorFrame("an error in the stream: ", string(text))
	}
	a.answer.addEngineTimes(&r)
	a.answer.add(outputsOf(frame), now)
	return nil
}
