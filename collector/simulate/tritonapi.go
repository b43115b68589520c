package simulate

import (
	"encoding/json"
	"net/http"
	"strings"
)

func (t *triton) handlers(r *Replica) handlers {
	if t.w.spec.Kind == KindTritonOpenAI {
		return handlers{api: t.openAI(r)}
	}
	return handlers{api: t.api(r), metrics: t.metrics(r)}
}

// metrics is port 8002: every path answers, one has the page, GET only.
func (t *triton) metrics(r *Replica) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header()["Date"] = nil
		if req.Method != http.MethodGet {
			writeError(w, http.StatusMethodNotAllowed, "Method Not Allowed")
			return
		}
		if strings.TrimSuffix(req.URL.Path, "/") != "/metrics" {
			w.WriteHeader(http.StatusOK)
			return
		}
		var body []byte
		if !r.locked(t, func() {
			if !t.w.emptyPage {
				body = t.page()
			}
		}) {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		writeBody(w, http.StatusOK, body)
	})
}

// api is port 8000.
func (t *triton) api(r *Replica) http.Handler {
	mux := http.NewServeMux()
	answer := func(pattern string, f func(req *http.Request) (status int, body any)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
			var status int
			var body any
			if !r.locked(t, func() { status, body = f(req) }) {
				panic(http.ErrAbortHandler)
			}
			if body == nil {
				writeBody(w, status, nil)
				return
			}
			writeJSON(w, status, body)
		})
	}
	answer("GET /v2", func(*http.Request) (int, any) { return http.StatusOK, t.metadata() })
	answer("GET /v2/health/live", func(*http.Request) (int, any) { return http.StatusOK, nil })
	answer("GET /v2/health/ready", func(*http.Request) (int, any) { return t.ready(), nil })
	answer("POST /v2/repository/index", func(*http.Request) (int, any) { return http.StatusOK, t.index() })
	answer("GET /v2/models/{model}", t.ofModel(t.modelMetadata))
	answer("GET /v2/models/{model}/config", t.ofModel(t.config))
	mux.Handle("POST /v2/models/{model}/generate_stream", t.generate(r))
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header()["Date"] = nil
		mux.ServeHTTP(w, req)
	})
}

// ready is the server's readiness: not while a model loads or unloads, and
// ready again when it is gone; it knows nothing of dead stubs.
func (t *triton) ready() int {
	for _, m := range t.models {
		if m.state == modelLoading || m.state == modelUnloading {
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

func (t *triton) ofModel(f func(m *model) any) func(*http.Request) (int, any) {
	return func(req *http.Request) (int, any) {
		m := t.byName(req.PathValue("model"))
		if m == nil || !m.printed() {
			return http.StatusNotFound, apiError{"Request for unknown model: '" + req.PathValue("model") + "' is not found"}
		}
		return http.StatusOK, f(m)
	}
}

func (t *triton) metadata() any {
	extensions := []string{
		"classification", "sequence", "model_repository", "model_repository(unload_dependents)", "schedule_policy",
		"model_configuration", "system_shared_memory", "cuda_shared_memory", "binary_tensor_data", "parameters",
		"statistics", "trace", "logging",
	}
	return struct {
		Name       string   `json:"name"`
		Version    string   `json:"version"`
		Extensions []string `json:"extensions"`
	}{"triton", t.w.spec.EngineVersion, extensions}
}

type indexEntry struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

func (t *triton) index() any {
	entries := []indexEntry{}
	for _, m := range t.models {
		entries = append(entries, indexEntry{m.name, "1", string(m.state), m.reason})
	}
	return entries
}

type apiError struct {
	Error string `json:"error"`
}

func writeError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, apiError{text})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"`+err.Error()+`"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	writeBody(w, status, text)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Length", itoa(len(body)))
	if len(body) == 0 && h.Get("Content-Type") == "" {
		h["Content-Type"] = nil
	}
	w.WriteHeader(status)
	// A reader that left is no concern of the server.
	_, _ = w.Write(body)
}
