package engine

import (
	"bytes"
	"strings"
)

// marks are names that only one kind of server uses, in order of weight:
// a Dynamo worker shows trtllm_* as well, and Triton passes vllm:* through.
var marks = []struct {
	prefix string
	kind   Kind
}{
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

// FromPage tells the kind of server from the names on its page, Unknown when
// nothing on it is known.
func FromPage(body []byte) Kind {
	for _, m := range marks {
		if bytes.HasPrefix(body, []byte(m.prefix)) ||
			bytes.Contains(body, []byte("\n"+m.prefix)) ||
			bytes.Contains(body, []byte("# TYPE "+m.prefix)) {
			return m.kind
		}
	}
	return Unknown
}

// Candidates are the pages to try for a target that names no path, most
// likely first.
func Candidates() []string {
	return []string{"/metrics", "/prometheus/metrics", "/v1/metrics"}
}

// ModelLabels are the labels by which servers name a model.
func ModelLabels() []string { return []string{"model", "model_name"} }

// SamePort says whether a server of that kind answers its API on the port of
// its page.
func SamePort(k Kind) bool { return k != Triton }

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
