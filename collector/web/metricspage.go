package web

import (
	"context"
	"errors"
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
	selected := s.pages.selection(q)
	o := s.pages.negotiate(r.Header)
	if o.encoding == exposition.Identity {
		s.stream(w, r, selected, &o)
		return
	}
	pg, err := s.pages.encoded(r.Context(), selected, &o)
	if err != nil {
		s.abort(w, err)
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

// stream writes a page without compression directly from the blocks.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, selected *selection, o *offer) {
	plan := s.pages.lay(selected)
	format := o.format(plan.layout)
	layout := plan.layout.WithFormat(format.Expfmt)
	length := layout.TextLength(plan.blocks, plan.only)
	if selected.all() {
		s.metrics.pageBytes.Set(float64(length))
	}
	w.Header().Set("Content-Type", format.ContentType)
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_ = s.pages.writeText(w, plan, layout)
	}
}

// abort closes the connection of a request whose reader left while it waited, or whose page could
// not be built.
func (s *Server) abort(w http.ResponseWriter, err error) {
	if a, ok := w.(*answer); ok {
		a.err = err
		a.status = statusClosed
	}
	if !errors.Is(err, context.Canceled) {
		s.logger.Error("Page could not be built", "err", err)
	}
	panic(http.ErrAbortHandler)
}

// statusClosed is the status in nginx's log for a client that left before the answer. It is counted
// and never sent.
const statusClosed = 499
