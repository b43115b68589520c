package web

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// serveMetrics answers with the page, or with the part that the query selects. The length is known
// before the first byte, so that no reader takes a part of the answer for all of it.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r.URL.Query())
	if name, some := q.unknown(s.opts.Store); some {
		http.Error(w, fmt.Sprintf("No replica is named %q; /targets lists them as pool_id/replica_id", name), http.StatusNotFound)
		return
	}
	if id, some := q.unknownPool(s.opts.Store, s.opts.Pools); some {
		http.Error(w, fmt.Sprintf("No pool is named %q; /targets lists the pools that have replicas", id), http.StatusNotFound)
		return
	}
	w.Header().Set("Vary", "Accept, Accept-Encoding")
	o := s.pages.negotiate(r.Header)
	if o.encoding == exposition.Identity {
		s.stream(w, r, &q, &o)
		return
	}
	pg, err := s.pages.encoded(&q, &o)
	if err != nil {
		s.logger.Error("Page could not be built", "err", err)
		http.Error(w, "The page could not be built", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", pg.contentType)
	h.Set("Content-Length", strconv.Itoa(len(pg.body)))
	h.Set("Content-Encoding", string(o.encoding))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(pg.body)
	}
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, q *query, o *offer) {
	plan := s.pages.plan(q)
	format := o.format(plan.layout)
	layout := plan.layout.WithFormat(format.Expfmt)
	length := layout.TextLength(plan.blocks, q.only())
	s.pages.observe(q, length)
	w.Header().Set("Content-Type", format.ContentType)
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = layout.WriteText(w, plan.blocks, nil, q.only())
	}
}
