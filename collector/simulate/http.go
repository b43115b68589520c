package simulate

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// answer returns the answer of a route. It is called while the replica is locked. The
// body is nil, a text or a value to encode as JSON.
type answer func(req *http.Request) (status int, body any)

// text is a body that is not JSON.
type text struct {
	kind string // The content type.
	body []byte
}

const (
	plainText      = "text/plain; charset=utf-8"
	prometheusText = "text/plain; version=0.0.4; charset=utf-8"
)

// object is a JSON object.
type object map[string]any

// ok answers 200 with a body.
func ok(body func() any) answer {
	return func(*http.Request) (int, any) { return http.StatusOK, body() }
}

// shown answers with a page of the process.
func shown(contentType string, page func() []byte) answer {
	return ok(func() any { return text{contentType, page()} })
}

// routes returns the routes of a process. Once it has ended, they abort connections.
func (r *Replica) routes(srv server, answers map[string]answer) *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, a := range answers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
			var status int
			var body any
			if !r.locked(srv, func() { status, body = a(req) }) {
				panic(http.ErrAbortHandler)
			}
			write(w, status, body)
		})
	}
	return mux
}

// locked runs f under the lock; it returns false if the process has ended.
func (r *Replica) locked(srv server, f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.catchUp()
	if r.w.server != srv {
		return false
	}
	f()
	return true
}

func write(w http.ResponseWriter, status int, body any) {
	switch b := body.(type) {
	case nil:
		writeBody(w, status, nil)
	case text:
		w.Header().Set("Content-Type", b.kind)
		writeBody(w, status, b.body)
	default:
		encoded, _ := json.Marshal(body)
		w.Header().Set("Content-Type", "application/json")
		writeBody(w, status, encoded)
	}
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if len(body) == 0 && h.Get("Content-Type") == "" {
		h["Content-Type"] = nil
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// modelList returns the answer to GET /v1/models.
func modelList(created time.Time, owner string, ids ...string) object {
	list := []object{}
	for _, id := range ids {
		list = append(list, object{"id": id, "object": "model", "created": created.Unix(), "owned_by": owner})
	}
	return object{"object": "list", "data": list}
}

// notFound answers unknown paths like FastAPI.
func notFound(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusNotFound, object{"detail": "Not Found"})
}

func uvicorn(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Server", "uvicorn")
		mux.ServeHTTP(w, req)
	})
}
