package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Triton is Triton Inference Server: metrics on port 8002, KServe v2 over HTTP on port 8000.
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

// tritonPage implements what kinds with Triton's page have in common, regardless of their API.
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

// CountsFailures implements Engine: the metrics module counts them, the core only per model.
func (*tritonPage) CountsFailures(p *Page) bool { return hasModule(p) }

// vllmPrefix begins the names of vLLM, and of Triton's vLLM backend.
const vllmPrefix = "vllm:"

// serverMetadata is the answer of GET /v2.
type serverMetadata struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Extensions []string `json:"extensions"`
}

// isTriton also checks extensions, since --id changes the name (server
// src/command_line_parser.cc).
func (m *serverMetadata) isTriton() bool {
	return m.Name == string(Triton) || slices.Contains(m.Extensions, "statistics")
}

// hint implements Engine. It is a common mistake to configure Triton's API port.
func (*triton) hint(ctx context.Context, q *questions) string {
	var meta serverMetadata
	if _, ok := q.get(ctx, "/v2", &meta); ok && meta.isTriton() {
		return "this is Triton's HTTP API; its page is on the metrics port, 8002 unless --metrics-port sets another"
	}
	return ""
}

// minorHangUp is the first minor version of Triton, 23.12, that does not crash if a client
// disconnects in the middle of a stream (server commit b876a90f; tensorrtllm_backend, issues 146,
// 176 and 214).
const minorHangUp = 41

func (*triton) Stream(version string, _ *Page) (s Stream, reason string) {
	minor, ok := tritonMinor(version)
	switch {
	case !ok:
		return s, "the version of Triton is not known, and before 23.12 (2.41) an aborted stream may crash it; set engine_version"
	case minor < minorHangUp:
		return s, "before 23.12 (2.41) an aborted stream may crash Triton"
	}
	return Stream{Generate: true}, ""
}

// Health implements Engine. Triton answers HEAD with 405, so that it sends GET.
func (t *triton) Health(ctx context.Context, client Client, address string) Health {
	h, _ := readiness(ctx, client, address+t.ready)
	if h.API == APIRefused || h.API == APIUnknown {
		return h
	}
	if status, _, _, err := client.Do(ctx, http.MethodGet, address+"/v2/health/live", nil, answerLimit); err == nil {
		h.Live, h.LiveKnown = status == http.StatusOK, status == http.StatusOK || status == http.StatusBadRequest
	}
	if h.LiveKnown && !h.Live {
		return h // It is shutting down, when the index of 2.36 no longer answers.
	}
	q := &questions{client: client, base: address}
	var index []ModelState
	if _, ok := q.put(ctx, http.MethodPost, "/v2/repository/index", &index); ok {
		// Models that were never loaded have no state.
		index = slices.DeleteFunc(index, func(m ModelState) bool { return m.State == "" || plainText(m.Name) == "" })
		rows, leftOut := worthiest(index, modelsLimit, ModelState.Rank)
		h.Models, h.LeftOut = rows, make(map[string]int)
		for _, m := range leftOut {
			h.LeftOut[m.State]++
		}
	}
	h.Detail += notLoaded(h.Models)
	return h
}

// notLoaded lists the models without a ready version, since a server stays ready after an unload:
// if there are many, first those with a reason.
func notLoaded(models []ModelState) string {
	const limit = 4
	listed := make(map[string]bool)
	for _, m := range models {
		listed[m.Name] = listed[m.Name] || m.State == ModelReady
	}
	var missing []ModelState
	for _, m := range models {
		if !listed[m.Name] {
			listed[m.Name] = true
			missing = append(missing, m)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	named, others := worthiest(missing, limit, ModelState.Rank)
	names := make([]string, len(named))
	for i, m := range named {
		reason := strings.ToLower(m.State)
		if m.State == ModelUnavailable && m.Reason != "" {
			reason = short([]byte(m.Reason))
		}
		names[i] = fmt.Sprintf("%s (%s)", m.Name, reason)
	}
	text := "; not loaded: " + strings.Join(names, ", ")
	if len(others) > 0 {
		text += fmt.Sprintf(" and %d more", len(others))
	}
	return text
}

// Unserved implements Engine: a Triton is ready without any model, and without its LLM it is ready
// with the models around it.
func (*tritonPage) Unserved(p *Page, f *Facts, models []ModelState) string {
	llms := tritonLLMs(p, f)
	serving := slices.Clone(llms)
	for i := range f.get().Models {
		if m := &f.Models[i]; m.Backend == backendPython && m.Decoupled && len(m.Calls) == 0 && !strings.HasSuffix(m.Name, "_bls") {
			serving = append(serving, m.Name) // It may be an LLM with another name.
		}
	}
	if len(llms) == 0 {
		// The LLM failed to load, unless there are models other than those around it.
		for _, m := range models {
			if m.State == ModelUnavailable && m.Reason != "" && m.Reason != unloaded {
				llms = append(llms, m.Name)
			}
			if m.Name != preprocessing && m.Name != postprocessing && !strings.HasSuffix(m.Name, "_bls") {
				serving = append(serving, m.Name)
			}
		}
	}
	switch loaded := func(name string) bool { return tritonLoaded(name, p, models) }; {
	case len(llms) > 0 && !slices.ContainsFunc(serving, loaded):
		return "the server is ready but its LLM is not loaded: " + strings.Join(llms, ", ")
	case models != nil && !p.hasLoaded() && !slices.ContainsFunc(models, ready):
		return "the server is ready but none of its models is loaded"
	}
	return ""
}

// Deliberate implements Engine: models were unloaded, and none failed to load.
func (t *tritonPage) Deliberate(p *Page, f *Facts, models []ModelState) bool {
	return t.Unserved(p, f, models) != "" && models != nil && !slices.ContainsFunc(models, func(m ModelState) bool { return !ready(m) && m.Reason != unloaded })
}

// unloaded is the index's reason why a model that was unloaded is not available (core
// src/model_repository_manager).
const unloaded = "unloaded"

func ready(m ModelState) bool { return m.State == ModelReady }

// tritonLLMs finds the LLMs by config, by series of an executor, or by name if loading failed.
func tritonLLMs(p *Page, f *Facts) []string {
	all, drafts := make(map[string]bool), make(map[string]bool)
	for i := range f.get().Models {
		m := &f.Models[i]
		drafts[m.Draft] = true
		if m.Name == llmName || m.Configured && (m.Backend == backendCPP || m.Backend == backendVLLM) {
			all[m.Name] = true
		}
	}
	for _, r := range p.get().readings {
		if r.meaning.Signal == EngineIterations {
			all[modelOf(p.labels(r))] = true
		}
	}
	for name := range drafts {
		delete(all, name)
	}
	return sorted(all)
}

// tritonLoaded reports whether a model is loaded according to the page or the index, or whether
// neither knows. Each shows what the other does not: the page lacks a model until it counts, the
// index lacks one that was loaded with its files in the request.
func tritonLoaded(name string, p *Page, models []ModelState) bool {
	loaded, known := p.Loaded(name)
	for _, m := range models {
		if m.Name == name {
			loaded, known = loaded || ready(m), true
		}
	}
	return loaded || !known
}
