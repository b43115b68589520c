package engine

import (
	"context"
	"net/http"
	"slices"
)

// Kind names a kind of server; it is the value of label engine.
type Kind string

// The kinds of servers; Unknown is a target that was not recognised yet.
const (
	Unknown      Kind = "unknown"
	Triton       Kind = "triton"
	TRTLLMServe  Kind = "trtllm-serve"
	TritonOpenAI Kind = "triton-openai"
	NIM          Kind = "nim"
	Dynamo       Kind = "dynamo"
)

// Engine is one kind of server. Values are constant and safe for concurrent
// use.
type Engine interface {
	// Kind is the engine's name.
	Kind() Kind
	// MetricsPath is where the page stands when the target names no path.
	MetricsPath() string
	// APIPort is the port of the server's own API, given that of its page.
	APIPort(metrics int) int
	// EmptyPage says whether a page without samples is a good page. Triton
	// answers 200 with an empty body on any wrong path of its metrics port
	// (server src/http_server.cc, HTTPMetricsServer::Handle), trtllm-serve
	// shows nothing before its first request.
	EmptyPage() bool
	// Ask puts the slow questions of identity. A question that fails costs
	// only its fact. Tell, if it is not nil, may be called once before Ask
	// returns, with what is known while a question is still open.
	Ask(ctx context.Context, ask Asker, base string, tell func(Facts)) Facts
	// Health asks whether the server is there and ready.
	Health(ctx context.Context, ask Asker, base string) Health
	// Meanings are the engine's series in our words.
	Meanings() []Meaning
}

// Asker puts one question to a server's API and returns the status and at
// most limit bytes of the body.
type Asker interface {
	Do(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error)
}

// answerLimit bounds the body of one answer; a repository index of thousands
// of models stays below it.
const answerLimit = 4 << 20

// All are the engines in the order in which detection tries them.
func All() []Engine {
	return []Engine{triton{}, trtllmServe{}, dynamo{}, nim{}, tritonOpenAI{}}
}

// Of returns the engine of a kind; false for auto, unknown and misspelt ones.
func Of(kind string) (Engine, bool) {
	all := All()
	i := slices.IndexFunc(all, func(e Engine) bool { return string(e.Kind()) == kind })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}
