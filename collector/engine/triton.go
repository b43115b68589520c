package engine

import (
	"context"
	"slices"
)

// Triton is Triton Inference Server with its metrics port (8002) and its KServe
// v2 API on the HTTP port (8000).
const Triton Kind = "triton"

// Triton's ports are neighbours, HTTP, gRPC and metrics (8000, 8001, 8002),
// unless flags say otherwise. It answers 200 with an empty body on any wrong
// path of its metrics port (server src/http_server.cc,
// HTTPMetricsServer::Handle), so that an empty page is no good one.
var _ = register(&triton{newTritonPage(base{
	kind: Triton, path: "/metrics", ready: tritonReady, api: -2, grpc: -1,
	marks:   []mark{{text: "nv_", weight: 6}},
	answers: []Signal{AnswersHealth, AnswersLive, AnswersIndex, AnswersConfig, AnswersModels, AnswersStream},
})})

// tritonReady is the path of Triton's readiness.
const tritonReady = "/v2/health/ready"

// triton is Triton Inference Server.
type triton struct{ tritonPage }

// tritonPage is what servers with Triton's page have in common, whatever API
// they have.
type tritonPage struct{ base }

// newTritonPage adds to a kind what servers with Triton's page have in common.
func newTritonPage(b base) tritonPage {
	b.quirks = Quirks{ActiveHoldsWaiting: true, SeriesOutliveModels: true}
	b.prefixes, b.wrapper, b.inner = []string{vllmPrefix}, modulePrefix, vllmPrefix
	return tritonPage{b}
}

// Quirks implements Engine. The counters of the metrics module come with their
// first event.
func (t *tritonPage) Quirks(p *Page) Quirks {
	q := t.quirks
	q.CountersAppear = hasModule(p)
	return q
}

// CountsFailures implements Engine: the metrics module counts all requests of its
// model; of others each model's own failures are what counts.
func (*tritonPage) CountsFailures(p *Page) bool { return hasModule(p) }

// vllmPrefix begins the names of Triton's vLLM backend.
const vllmPrefix = "vllm:"

// serverMetadata is the answer of GET /v2.
type serverMetadata struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Extensions []string `json:"extensions"`
}

// isTriton recognises Triton by its extensions, or by the name that it has unless the
// operator chose another (server src/command_line_parser.cc, --id).
func (m *serverMetadata) isTriton() bool {
	return m.Name == string(Triton) || slices.Contains(m.Extensions, "statistics")
}

// hint implements Engine. The one mistake that is common is to name Triton's
// API port.
func (*triton) hint(ctx context.Context, q *questions) string {
	var meta serverMetadata
	if _, ok := q.get(ctx, "/v2", &meta); ok && meta.isTriton() {
		return "this is Triton's HTTP API; its page is on the metrics port, 8002 unless --metrics-port says otherwise"
	}
	return ""
}

// minorHangUp is the first minor version of Triton, of 23.12, that survives a
// client which hangs up in the middle of a stream; before, it could crash (server
// commit b876a90f; tensorrtllm_backend, issues 146, 176 and 214).
const minorHangUp = 41

// Stream implements Engine.
func (*triton) Stream(version string, _ *Page) (s Stream, why string) {
	minor, known := tritonMinor(version)
	switch {
	case !known:
		return s, "the version of Triton is not known, and before 23.12 (2.41) a stream that is given up may crash it; set engine_version"
	case minor < minorHangUp:
		return s, "before 23.12 (2.41) a stream that is given up may crash Triton"
	}
	return Stream{Generate: true}, ""
}
