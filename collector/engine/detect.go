package engine

import (
	"bytes"
	"context"
	"net/http"
	"strings"
)

// marks are names that only one kind of server uses, in order of weight:
// a Dynamo worker shows trtllm_* as well, and Triton passes vllm:* through.
func marks() []mark {
	return []mark{
		{"dynamo_", Dynamo},
		{"num_request_max", NIM},
		{"request_finish_total", NIM},
		{"nv_", Triton},
		{"trtllm_", TRTLLMServe},
		{"trtllm:", Dynamo},
		{"request_success_total", TRTLLMServe},
		{"e2e_request_latency_seconds", TRTLLMServe},
		{"request_queue_time_seconds", TRTLLMServe},
	}
}

// mark is how a name begins that only one kind of server uses.
type mark struct {
	prefix string
	kind   Kind
}

// workerMark is what a Dynamo worker calls the engine inside; trtllm-serve says
// pytorch, or undefined.
const workerMark = `engine_type="trtllm"`

// FromPage tells the kind of server from the names on its page, Unknown when
// nothing on it is known.
func FromPage(body []byte) Kind {
	if bytes.Contains(body, []byte(workerMark)) {
		return Dynamo
	}
	for _, m := range marks() {
		if bytes.HasPrefix(body, []byte(m.prefix)) ||
			bytes.Contains(body, []byte("\n"+m.prefix)) ||
			bytes.Contains(body, []byte("# TYPE "+m.prefix)) {
			return m.kind
		}
	}
	return Unknown
}

// pageLimit bounds a page that is read only to be recognised.
const pageLimit = 16 << 20

// Detect asks a server, given by scheme, host and port of its page, what it
// is, and where its page stands. It never asks trtllm-serve for /metrics:
// reading that takes iteration rows away from whoever else reads them. Triton
// answers every path of its metrics port with 200 and an empty body, so only
// content counts. Unknown means that nothing known answered.
func Detect(ctx context.Context, ask Asker, base string) (kind Kind, path string) {
	get := func(path string) []byte {
		status, _, body, err := ask.Do(ctx, http.MethodGet, base+path, nil, pageLimit)
		if err != nil || status != http.StatusOK {
			return nil
		}
		return body
	}
	const servePath = "/prometheus/metrics"
	if k := FromPage(get(servePath)); k != Unknown {
		return k, servePath
	}
	q := &questions{ask: ask, base: base}
	var v version
	if _, ok := q.get(ctx, "/version", &v); ok && v.Version != "" {
		return TRTLLMServe, servePath
	}
	switch k := FromPage(get("/metrics")); {
	case k == Triton && answersModels(ctx, ask, base):
		return TritonOpenAI, "/metrics"
	case k != Unknown:
		return k, "/metrics"
	}
	if k := FromPage(get("/v1/metrics")); k != Unknown {
		return k, "/v1/metrics"
	}
	return Unknown, ""
}

// answersModels tells Triton's OpenAI frontend from its metrics port.
func answersModels(ctx context.Context, ask Asker, base string) bool {
	var list modelList
	q := &questions{ask: ask, base: base}
	_, ok := q.get(ctx, "/v1/models", &list)
	return ok && len(list.Data) > 0
}

// Hint says what an address that shows no known page may be instead, for
// people; empty when nothing is known. The one mistake that is common is to
// name Triton's API port.
func Hint(ctx context.Context, ask Asker, base string) string {
	var meta serverMetadata
	q := &questions{ask: ask, base: base}
	if _, ok := q.get(ctx, "/v2", &meta); ok && meta.isTriton() {
		return "this is Triton's HTTP API; its page stands on the metrics port, 8002 unless --metrics-port says otherwise"
	}
	return ""
}

// ModelLabels are the labels by which servers name a model.
func ModelLabels() []string { return []string{"model", "model_name"} }

// FromURL guesses the kind by the path of the page alone.
func FromURL(path string) Kind {
	switch {
	case strings.HasPrefix(path, "/prometheus/metrics"):
		return TRTLLMServe
	case strings.HasPrefix(path, "/v1/metrics"):
		return NIM
	}
	return Unknown
}

// Recognise tells the kind of server from its page; pages that two kinds share
// are told apart by what else the address answers.
func Recognise(ctx context.Context, ask Asker, base string, body []byte) Kind {
	kind := FromPage(body)
	if kind == Triton && answersModels(ctx, ask, base) {
		return TritonOpenAI
	}
	return kind
}

// Alike says whether both kinds may show the same page.
func Alike(a, b Kind) bool {
	sharesPage := func(k Kind) bool { return k == Triton || k == TritonOpenAI }
	return a == b || sharesPage(a) && sharesPage(b)
}
