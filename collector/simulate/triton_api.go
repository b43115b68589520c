package simulate

import (
	"net/http"
	"strings"
)

func (t *triton) handlers(r *Replica) []http.Handler {
	if t.kind.onePort != nil {
		return []http.Handler{t.kind.onePort(t, r)}
	}
	return []http.Handler{dateless(t.api(r)), dateless(t.metrics(r))}
}

// dateless answers without the header Date, like Triton's HTTP library.
func dateless(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header()["Date"] = nil
		h.ServeHTTP(w, req)
	})
}

// metrics answers port 8002: every path answers 200, but only GET /metrics has the page.
func (t *triton) metrics(r *Replica) http.Handler {
	page := shown(plainText, t.page)
	return r.routes(t, map[string]answer{"/": func(req *http.Request) (int, any) {
		switch {
		case req.Method != http.MethodGet:
			return http.StatusMethodNotAllowed, apiError{"Method Not Allowed"}
		case strings.TrimSuffix(req.URL.Path, "/") == "/metrics":
			return page(req)
		default:
			return http.StatusOK, nil
		}
	}})
}

// api answers port 8000.
func (t *triton) api(r *Replica) http.Handler {
	mux := r.routes(t, map[string]answer{
		"GET /v2":                       ok(t.metadata),
		"GET /v2/health/live":           ok(func() any { return nil }),
		"GET /v2/health/ready":          t.readiness(nil),
		"POST /v2/repository/index":     ok(t.index),
		"GET /v2/models/{model}":        t.ofModel((*model).metadata),
		"GET /v2/models/{model}/config": t.ofModel(t.config),
	})
	mux.Handle("POST /v2/models/{model}/generate_stream", t.generate(r))
	return mux
}

// readiness answers 400 while the server is not ready.
func (t *triton) readiness(notReady any) answer {
	return func(*http.Request) (int, any) {
		if t.ready() {
			return http.StatusOK, nil
		}
		return http.StatusBadRequest, notReady
	}
}

func (t *triton) ofModel(f func(m *model) any) answer {
	return func(req *http.Request) (int, any) {
		m := t.byName(req.PathValue("model"))
		if m == nil || !m.printed() {
			return http.StatusNotFound, unknownModel(req)
		}
		return http.StatusOK, f(m)
	}
}

type apiError struct {
	Error string `json:"error"`
}

func unknownModel(req *http.Request) apiError {
	return apiError{"Request for unknown model: '" + req.PathValue("model") + "' is not found"}
}

func (t *triton) metadata() any {
	return struct {
		Name       string   `json:"name"`
		Version    string   `json:"version"`
		Extensions []string `json:"extensions"`
	}{"triton", t.w.spec.EngineVersion, []string{
		"classification", "sequence", "model_repository", "model_repository(unload_dependents)", "schedule_policy",
		"model_configuration", "system_shared_memory", "cuda_shared_memory", "binary_tensor_data", "parameters",
		"statistics", "trace", "logging",
	}}
}

type indexEntry struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state"`
	Reason  string `json:"reason,omitempty"`
}

func (t *triton) index() any {
	entries := []indexEntry{}
	for _, m := range t.models {
		entries = append(entries, indexEntry{m.name, "1", string(m.state), m.reason})
	}
	return entries
}

// config returns the fields of a model's ModelConfig JSON that describe the model.
func (t *triton) config(m *model) any {
	c := object{
		"name":                     m.name,
		"platform":                 "",
		"backend":                  m.backend,
		"max_batch_size":           t.w.spec.Engine.MaxBatch,
		"instance_group":           []object{},
		"parameters":               object{},
		"model_transaction_policy": object{"decoupled": m.decoupled},
	}
	switch m.role {
	case roleEnsemble:
		c["platform"] = "ensemble"
		c["ensemble_scheduling"] = object{"step": []object{
			{"model_name": "preprocessing"}, {"model_name": "tensorrt_llm"}, {"model_name": "postprocessing"},
		}}
	case roleLLM:
		t.llmConfig(c)
	case rolePre, rolePost:
		c["instance_group"] = instances("KIND_CPU", 4)
		c["dynamic_batching"] = dynamicBatching()
		c["parameters"] = parameters("tokenizer_dir", "/models/tokenizer", "skip_special_tokens", "True")
	case roleBLS:
		c["instance_group"] = instances("KIND_CPU", 4)
		c["parameters"] = parameters("accumulate_tokens", "false", "tensorrt_llm_model_name", "tensorrt_llm")
	case roleOther:
		c["platform"] = "onnxruntime_onnx"
		c["instance_group"] = instances("KIND_GPU", 1)
	}
	return c
}

func (t *triton) llmConfig(c object) {
	c["instance_group"] = instances("KIND_CPU", 1)
	c["dynamic_batching"] = dynamicBatching()
	values := t.kind.configure(t.w.spec, c)
	if t.w.spec.DeclareVersion {
		values = append(values, "trtllm_version", t.w.spec.TRTLLMVersion)
	}
	c["parameters"] = parameters(values...)
}

// parameters takes alternating names and values.
func parameters(namesAndValues ...string) object {
	o := object{}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		o[namesAndValues[i]] = object{"string_value": namesAndValues[i+1]}
	}
	return o
}

func instances(kind string, count int) []object {
	gpus := []int{}
	if kind == "KIND_GPU" {
		gpus = []int{0}
	}
	return []object{{"kind": kind, "count": count, "gpus": gpus}}
}

func dynamicBatching() object {
	return object{"preferred_batch_size": []int{}, "max_queue_delay_microseconds": 0}
}

// metadata returns the answer to GET /v2/models/M.
func (m *model) metadata() any {
	platform, inputs := m.backend, []object{}
	if m.role == roleEnsemble {
		platform = "ensemble"
	}
	for _, in := range m.inputs {
		name, kind, _ := strings.Cut(in, " ")
		inputs = append(inputs, object{"name": name, "datatype": kind, "shape": []int{-1, 1}})
	}
	return object{
		"name": m.name, "versions": []string{"1"}, "platform": platform, "inputs": inputs,
		"outputs": []object{{"name": "text_output", "datatype": "BYTES", "shape": []int{-1, -1}}},
	}
}
