package engine

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// triton is Triton Inference Server with its metrics port (8002) and its
// KServe v2 API on the HTTP port (8000).
type triton struct{}

// Kind implements Engine.
func (triton) Kind() Kind { return Triton }

// MetricsPath implements Engine.
func (triton) MetricsPath() string { return "/metrics" }

// APIPort implements Engine: Triton's ports are neighbours, HTTP two below
// metrics (8000, 8001, 8002) unless flags say otherwise.
func (triton) APIPort(metrics int) int { return metrics - 2 }

// EmptyPage implements Engine.
func (triton) EmptyPage() bool { return false }

// serverMetadata is the answer of GET /v2.
type serverMetadata struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Extensions []string `json:"extensions"`
}

// indexEntry is one row of POST /v2/repository/index; a model that was never
// loaded has only a name.
type indexEntry struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
}

// modelConfig is the part of GET /v2/models/M/config that tells roles.
type modelConfig struct {
	Name        string `json:"name"`
	Platform    string `json:"platform"`
	Backend     string `json:"backend"`
	Transaction struct {
		Decoupled bool `json:"decoupled"`
	} `json:"model_transaction_policy"`
	Ensemble struct {
		Steps []struct {
			Model string `json:"model_name"`
		} `json:"step"`
	} `json:"ensemble_scheduling"`
	Parameters map[string]struct {
		String string `json:"string_value"`
	} `json:"parameters"`
}

// modelsAsked bounds how many model configs one round asks for.
const modelsAsked = 64

// Ask implements Engine.
func (triton) Ask(ctx context.Context, ask Asker, base string) Facts {
	var f Facts
	var meta serverMetadata
	if answer(ctx, ask, http.MethodGet, base+"/v2", &meta) && slices.Contains(meta.Extensions, "statistics") {
		f.Answered, f.EngineVersion = true, meta.Version
	}
	var index []indexEntry
	if answer(ctx, ask, http.MethodPost, base+"/v2/repository/index", &index) {
		f.Answered = true
	}
	for _, row := range index {
		if i := slices.IndexFunc(f.Models, func(m ModelFacts) bool { return m.Name == row.Name }); i >= 0 {
			if row.State == "READY" {
				f.Models[i].State = row.State
			}
			continue
		}
		f.Models = append(f.Models, ModelFacts{Name: row.Name, State: row.State})
	}
	for i := range f.Models[:min(len(f.Models), modelsAsked)] {
		askModel(ctx, ask, base, &f, &f.Models[i])
	}
	return f
}

// askModel reads one model's config.
func askModel(ctx context.Context, ask Asker, base string, f *Facts, m *ModelFacts) {
	if m.State != "READY" {
		return
	}
	var c modelConfig
	if !answer(ctx, ask, http.MethodGet, base+"/v2/models/"+url.PathEscape(m.Name)+"/config", &c) || c.Name != m.Name {
		return
	}
	m.Configured = true
	m.Backend, m.Platform, m.Decoupled = c.Backend, c.Platform, c.Transaction.Decoupled
	for _, step := range c.Ensemble.Steps {
		if !slices.Contains(m.Steps, step.Model) {
			m.Steps = append(m.Steps, step.Model)
		}
	}
	for key, p := range c.Parameters {
		// The BLS model of the TensorRT-LLM backend names the models it calls
		// (tensorrtllm_backend, all_models/inflight_batcher_llm/tensorrt_llm_bls).
		if strings.HasSuffix(key, "_model_name") && p.String != "" && !strings.Contains(p.String, "${") {
			m.Calls = append(m.Calls, p.String)
		}
		// A convention of operators: unknown parameters pass through Triton to
		// its config endpoint.
		if key == "trtllm_version" && p.String != "" {
			f.TRTLLMVersion, f.TRTLLMSource = p.String, SourceParameter
		}
	}
	slices.Sort(m.Calls)
}

// answer puts one JSON question; false when the answer is no 200 or no JSON of
// the kind.
func answer(ctx context.Context, ask Asker, method, url string, into any) bool {
	var body []byte
	if method == http.MethodPost {
		body = []byte("{}")
	}
	status, _, text, err := ask.Do(ctx, method, url, body, answerLimit)
	return err == nil && status == http.StatusOK && json.Unmarshal(text, into) == nil
}
