package simulate

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// fastAPI adds the chat API to the routes of a server with one port, and its page:
// a mounted application, for any method and any path that begins so.
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

// asgiPage answers as prometheus_client's ASGI application: chunked, gzip for
// whoever names it (even with q=0). It has no OpenMetrics, which nobody asks for.
func (r *Replica) asgiPage(srv server, w http.ResponseWriter, req *http.Request) {
	var body []byte
	r.locked(srv, func() {
		// A restricted registry knows nothing in multiprocess mode.
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
	// Without a length and with an early flush the body is sent in chunks.
	_ = http.NewResponseController(w).Flush()
	if compress {
		z := gzip.NewWriter(w)
		_, _ = z.Write(body)
		_ = z.Close()
		return
	}
	_, _ = w.Write(body)
}
