package engine

import (
	"context"
	"slices"
)

// Triton is Triton Inference Server, with its metrics port (8002) and its KServe v2 API on the HTTP
// port (8000).
const Triton Kind = "triton"

// The ports for HTTP, gRPC and metrics (8000, 8001, 8002) are neighbors unless flags change them.
// An empty page is invalid, since the metrics port answers 200 with an empty body to any wrong path
// (server src/http_server.cc, HTTPMetricsServer::Handle).
var _ = register(&triton{newTritonPage(base{
	kind: Triton, path: "/metrics", ready: "/v2/health/ready", api: -2, grpc: -1,
	marks:   []mark{{text: "nv_", weight: 6}},
	answers: []Signal{AnswersHealth, AnswersLive, AnswersIndex, AnswersConfig, AnswersModels, AnswersStream},
})})

type triton struct{ tritonPage }

// tritonPage implements what kinds with Triton's page share, whatever their API.
type tritonPage struct{ base }

func newTritonPage(b base) tritonPage {
	b.quirks = Quirks{ActiveHoldsWaiting: true, SeriesOutliveModels: true}
	b.prefixes, b.wrapper, b.inner = []string{vllmPrefix}, modulePrefix, vllmPrefix
	return tritonPage{b}
}

// Quirks implements Engine. The counters of the metrics module appear with their first event.
func (t *tritonPage) Quirks(p *Page) Quirks {
	q := t.quirks
	q.CountersAppear = hasModule(p)
	return q
}

// CountsFailures implements Engine. The metrics module counts all requests of its model; the core
// counts failures by model.
func (*tritonPage) CountsFailures(p *Page) bool { return hasModule(p) }

// vllmPrefix begins the names of vLLM, and of Triton's vLLM backend.
const vllmPrefix = "vllm:"

// serverMetadata is the answer of GET /v2.
type serverMetadata struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Extensions []string `json:"extensions"`
}

// isTriton recognizes Triton by its extensions, or by its name, which operators can change (server
// src/command_line_parser.cc, --id).
func (m *serverMetadata) isTriton() bool {
	return m.Name == string(Triton) || slices.Contains(m.Extensions, "statistics")
}

// hint implements Engine for the common mistake of configuring Triton's API port.
func (*triton) hint(ctx context.Context, q *questions) string {
	var meta serverMetadata
	if _, ok := q.get(ctx, "/v2", &meta); ok && meta.isTriton() {
		return "this is Triton's HTTP API; its page is on the metrics port, 8002 unless --metrics-port sets another"
	}
	return ""
}

// minorHangUp is the first minor version of Triton, of 23.12, that survives a client which
// disconnects in the middle of a stream; before, it could crash (server commit b876a90f;
// tensorrtllm_backend, issues 146, 176 and 214).
const minorHangUp = 41

func (*triton) Stream(version string, _ *Page) (s Stream, why string) {
	minor, known := tritonMinor(version)
	switch {
	case !known:
		return s, "the version of Triton is not known, and before 23.12 (2.41) an aborted stream may crash it; set engine_version"
	case minor < minorHangUp:
		return s, "before 23.12 (2.41) an aborted stream may crash Triton"
	}
	return Stream{Generate: true}, ""
}
