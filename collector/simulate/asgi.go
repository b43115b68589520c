package simulate

import (
	"compress/gzip"
	"net/http"
	"strings"
)

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
