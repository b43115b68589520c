package simulate

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// answer answers a route of a locked replica; body is nil, a text or a value for JSON.
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

// fastAPI adds the chat API and the page to the routes of a server with one port. The
// page is a mounted application, for any method and any path with its prefix.
func (r *Replica) fastAPI(mux *http.ServeMux, srv server, hidesPage bool) []http.Handler {
	r.addChat(mux, srv)
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		if hidesPage || !strings.HasPrefix(req.URL.Path, r.kind.path) {
			notFound(w, req)
			return
		}
		r.asgiPage(srv, w, req)
	})
	return []http.Handler{uvicorn(mux)}
}

// asgiPage answers like prometheus_client's ASGI application: in chunks, and with gzip
// if the request names it (even with q=0). It does not offer OpenMetrics.
func (r *Replica) asgiPage(srv server, w http.ResponseWriter, req *http.Request) {
	var body []byte
	r.locked(srv, func() {
		// A restricted registry is empty in multiprocess mode.
		if !req.URL.Query().Has("name[]") {
			body = srv.page()
		}
	})
	h := w.Header()
	h.Set("Content-Type", prometheusText)
	compress := strings.Contains(req.Header.Get("Accept-Encoding"), "gzip")
	if compress {
		h.Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	if compress {
		z := gzip.NewWriter(w)
		_, _ = z.Write(body)
		_ = z.Close()
		return
	}
	_, _ = w.Write(body)
}
