package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Triton is Triton Inference Server: metrics on port 8002, KServe v2 over HTTP on port 8000.
const Triton Name = "triton"

// The ports for HTTP, gRPC and metrics (8000, 8001, 8002) are neighbors unless flags change them.
// An empty page is invalid, since the metrics port answers 200 with an empty body to any wrong path
// (server src/http_server.cc, HTTPMetricsServer::Handle).
func triton() *Kind {
	k := tritonPage()
	k.Name = Triton
	k.marks = []mark{{text: "nv_", weight: 6}}
	k.api, k.grpc = -2, -1
	k.Ready = "/v2/health/ready"
	k.repository = true
	k.hint, k.ask, k.health, k.agree, k.streams = tritonHint, tritonAsk, tritonHealth, tritonAgree, tritonStream
	k.judge = func(name string, known *Knowledge) (target.Check, bool) { return tritonJudge(k, name, known) }
	return k
}

// tritonPage returns what kinds with Triton's page have in common, regardless of their API.
func tritonPage() *Kind {
	k := &Kind{
		NoPage:   Missing{Cure: "metrics_path: /metrics"},
		series:   tritonMeanings(),
		Census:   "2.21.0 (22.04) to 2.70.0 (26.06), and TensorRT-LLM 0.7.1 to 0.19.0",
		prefixes: []string{vllmPrefix},
		wrapper:  modulePrefix,
		inner:    vllmPrefix,
		trtllm:   true,
		quirks:   Quirks{ActiveHoldsWaiting: true, SeriesOutliveModels: true},

		adapt:          tritonQuirks,
		countsFailures: hasModule,
		generation:     tritonSet,
		arrange:        tritonArrange,

		unserved:     tritonUnserved,
		deliberate:   tritonDeliberate,
		determinism:  tritonDeterminism,
		stockVersion: tritonStockVersion,
		remark:       tritonRemarks,
	}
	k.lacking = func(name string, known *Knowledge) target.Check { return tritonLacking(k, name, known) }
	return k
}

// tritonQuirks returns the quirks of a page. The counters of the metrics module appear with their
// first event.
func tritonQuirks(q Quirks, p *Page) Quirks {
	q.CountersAppear = hasModule(p)
	return q
}

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

// tritonHint recognizes the API. It is a common mistake to configure Triton's API port.
func tritonHint(ctx context.Context, q *questions) string {
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

func tritonStream(version string, _ *Page) (s Stream, reason string) {
	minor, ok := tritonMinor(version)
	switch {
	case !ok:
		return s, "the version of Triton is not known, and before 23.12 (2.41) an aborted stream may crash it; set " +
			"engine_version"
	case minor < minorHangUp:
		return s, "before 23.12 (2.41) an aborted stream may crash Triton"
	}
	return Stream{Generate: true}, ""
}

// tritonHealth asks whether the server is live and ready. Triton answers HEAD with 405, so that it
// sends GET.
func tritonHealth(ctx context.Context, k *Kind, client Client, address string) Health {
	h := tritonReady(ctx, client, address+k.Ready)
	if h.API == APIRefused || h.API == APIUnknown {
		return h
	}
	if h.Status == http.StatusNotFound {
		if other, evidence := around(ctx, &questions{client: client, base: address}, k.Name); other != nil {
			h.Detail += ": " + evidence + "; set engine: " + string(other.Name) + ", metrics_path and api_port"
			return h
		}
	}
	status, _, body, err := client.Do(ctx, http.MethodGet, address+"/v2/health/live", nil, answerLimit)
	if err == nil {
		h.Live, h.LiveKnown = status == http.StatusOK, status == http.StatusOK || tritonDenies(status, body)
	}
	if h.LiveKnown && !h.Live {
		return h // It is shutting down, when the index of 2.36 no longer answers.
	}
	q := &questions{client: client, base: address}
	var index []ModelState
	if _, ok := q.put(ctx, http.MethodPost, "/v2/repository/index", &index); ok {
		// Models that were never loaded have no state.
		index = slices.DeleteFunc(index, func(m ModelState) bool { return m.State == "" || plainText(m.Name) == "" })
		rows, leftOut := worthiest(index, modelsLimit, rankReason, ModelState.Rank)
		h.Models, h.LeftOut = rows, make(map[string]int)
		for _, m := range leftOut {
			h.LeftOut[m.State]++
		}
	}
	h.Detail += notLoaded(h.Models)
	return h
}

// tritonReady asks whether the server is ready. Another refusal than Triton's own is that of a proxy or a
// mesh in front of it, which says nothing about Triton.
func tritonReady(ctx context.Context, client Client, url string) Health {
	status, _, body, err := client.Do(ctx, http.MethodGet, url, nil, answerLimit)
	h := healthOf(url, status, body, err)
	if h.API == APINotReady && !tritonDenies(status, body) {
		h.API, h.FromServer = APIFailed, false
		h.Detail += " to " + url + ", as a proxy does and Triton does not"
		if text := short(body); text != "" {
			h.Detail += " (" + text + ")"
		}
	}
	h.OfModels = h.API == APINotReady
	return h
}

// tritonDenies reports whether an answer is Triton's own that it is not live or not ready: 400 without a
// body (server src/http_server.cc, HandleServerHealth).
func tritonDenies(status int, body []byte) bool {
	return status == http.StatusBadRequest && len(body) == 0
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
	named, others := worthiest(missing, limit, rankReady, ModelState.Rank)
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

// tritonUnserved explains why it serves nothing. A Triton is ready without any model, and without
// its LLM it is ready with the models around it.
func tritonUnserved(p *Page, f *Facts, models []ModelState) string {
	switch llms := tritonMissing(p, f, models); {
	case len(llms) > 0:
		return "the server is ready but what clients call is not loaded: " + strings.Join(llms, ", ")
	case tritonEmpty(p, models):
		return "the server is ready but none of its models is loaded"
	}
	return ""
}

// tritonDeliberate reports whether that was done on purpose: what it serves nothing without was unloaded, and
// did not fail to load. What else failed says nothing about that.
func tritonDeliberate(p *Page, f *Facts, models []ModelState) bool {
	llms := tritonMissing(p, f, models)
	failed := func(m ModelState) bool {
		return !ready(m) && m.Reason != unloaded && (len(llms) == 0 || slices.Contains(llms, m.Name))
	}
	return (len(llms) > 0 || tritonEmpty(p, models)) && models != nil && !slices.ContainsFunc(models, failed)
}

// tritonMissing returns the LLMs of a server that serves nothing because none of them is loaded.
func tritonMissing(p *Page, f *Facts, models []ModelState) []string {
	llms := tritonLLMs(p, f, models)
	serving := slices.Clone(llms)
	for i := range f.get().Models {
		if m := &f.Models[i]; m.Backend == backendPython && m.Decoupled && len(m.Calls) == 0 &&
			!strings.HasSuffix(m.Name, blsSuffix) {
			serving = append(serving, m.Name) // It may be an LLM with another name.
		}
	}
	if len(llms) == 0 {
		// The LLM failed to load, unless there are models other than those around it.
		for _, m := range models {
			if m.State == ModelUnavailable && m.Reason != "" && m.Reason != unloaded {
				llms = append(llms, m.Name)
			}
			if m.Name != preprocessing && m.Name != postprocessing && !strings.HasSuffix(m.Name, blsSuffix) {
				serving = append(serving, m.Name)
			}
		}
	}
	if slices.ContainsFunc(serving, func(name string) bool { return tritonLoaded(name, p, models) }) {
		return tritonPartsAlone(p, f, models)
	}
	return llms
}

// tritonPartsAlone returns the models that call others of a server on which only models are loaded that these
// call: nothing that clients call is.
func tritonPartsAlone(p *Page, f *Facts, models []ModelState) (callers []string) {
	parts, names := map[string]bool{preprocessing: true, postprocessing: true}, make(map[string]bool)
	for i := range f.get().Models {
		m := &f.Models[i]
		names[m.Name] = true
		for _, part := range slices.Concat(m.Steps, m.Calls, []string{m.Draft}) {
			parts[part] = true
		}
		if len(m.Steps)+len(m.Calls) > 0 {
			callers = append(callers, m.Name)
		}
	}
	for _, m := range models {
		names[m.Name] = true
	}
	for name := range names {
		if !parts[name] && tritonLoaded(name, p, models) {
			return nil
		}
	}
	return slices.DeleteFunc(callers, func(name string) bool { return parts[name] })
}

// tritonEmpty reports whether neither page nor index show a model that is loaded.
func tritonEmpty(p *Page, models []ModelState) bool {
	return models != nil && !p.hasLoaded() && !slices.ContainsFunc(models, ready)
}

// unloaded is the index's reason why a model that was unloaded is not available (core
// src/model_repository_manager).
const unloaded = "unloaded"

// Unloaded reports whether the model is not available because somebody unloaded it.
func (m ModelState) Unloaded() bool { return m.State == ModelUnavailable && m.Reason == unloaded }

func ready(m ModelState) bool { return m.State == ModelReady }

// tritonLLMs finds the LLMs by config, by series of an executor, or by name if loading failed. What was never
// loaded is not missing.
func tritonLLMs(p *Page, f *Facts, models []ModelState) []string {
	never := func(m *ModelFacts) bool {
		named := func(row ModelState) bool { return row.Name == m.Name }
		return m.State == "" && models != nil && !slices.ContainsFunc(models, named)
	}
	all, drafts := make(map[string]bool), make(map[string]bool)
	for i := range f.get().Models {
		m := &f.Models[i]
		drafts[m.Draft] = true
		if m.Name == llmName && !never(m) || m.Configured && (m.Backend == backendCPP || m.Backend == backendVLLM) {
			all[m.Name] = true
		}
	}
	for _, r := range p.get().readings {
		if r.meaning.Signal == EngineIterations {
			all[p.engine.modelOf(p.labels(r))] = true
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
