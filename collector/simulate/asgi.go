package simulate

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// asgiPage answers as prometheus_client's ASGI application: chunked, gzip for
// whoever names it (even with q=0), OpenMetrics for whoever accepts it.
func (r *Replica) asgiPage(srv server, w http.ResponseWriter, req *http.Request, render func(openMetrics bool) []byte) {
	openMetrics := strings.Contains(req.Header.Get("Accept"), "application/openmetrics-text")
	var body []byte
	r.locked(srv, func() {
		// A restricted registry knows nothing in multiprocess mode.
		if !r.w.emptyPage && !req.URL.Query().Has("name[]") {
			body = render(openMetrics)
		}
	})
	h := w.Header()
	h.Set("Content-Type", prometheusText)
	if openMetrics {
		h.Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores")
	}
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

// clientPage is asgiPage of a page with colons in its names.
func (r *Replica) clientPage(srv server, w http.ResponseWriter, req *http.Request, page func() []byte) {
	r.asgiPage(srv, w, req, func(openMetrics bool) []byte {
		if openMetrics {
			return escapedOpenMetrics(page())
		}
		return page()
	})
}

// escapedOpenMetrics is a text page as prometheus_client 0.26 writes it in
// OpenMetrics with its usual escaping: HELP and TYPE keep the colon of a name,
// the samples have an underscore.
func escapedOpenMetrics(page []byte) []byte {
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
