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
// whoever names it (even with q=0), OpenMetrics for whoever accepts it.
func (r *Replica) asgiPage(srv server, w http.ResponseWriter, req *http.Request) {
	contentType, encode := prometheusText, func(page []byte) []byte { return page }
	if strings.Contains(req.Header.Get("Accept"), "application/openmetrics-text") {
		contentType, encode = "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores", openMetrics
	}
	var body []byte
	r.locked(srv, func() {
		// A restricted registry knows nothing in multiprocess mode.
		if !r.w.emptyPage && !req.URL.Query().Has("name[]") {
			body = encode(srv.page())
		}
	})
	h := w.Header()
	h.Set("Content-Type", contentType)
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

// openMetrics is a text page as prometheus_client 0.26 writes it in OpenMetrics
// with its usual escaping: HELP and TYPE lose _total and keep the colon of a name,
// the samples have an underscore for it.
func openMetrics(page []byte) []byte {
	var out strings.Builder
	for line := range strings.Lines(string(page)) {
		if words := strings.SplitN(line, " ", 4); words[0] == "#" {
			words[2] = strings.TrimSuffix(words[2], "_total")
			out.WriteString(strings.Join(words, " "))
			continue
		}
		name, rest, _ := strings.Cut(line, ":")
		if strings.ContainsAny(name, "{ ") {
			out.WriteString(line)
			continue
		}
		out.WriteString(name + "_" + rest)
	}
	return []byte(out.String() + "# EOF\n")
}
