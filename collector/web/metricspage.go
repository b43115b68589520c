package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// serveMetrics serves the page or the part that the query selects. Its length is sent first, so
// that no client takes a truncated answer for a complete one.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r.URL.Query())
	if problem := s.unknown(&q); problem != "" {
		http.Error(w, problem, http.StatusNotFound)
		return
	}
	w.Header().Set("Vary", "Accept, Accept-Encoding")
	o := negotiate(r.Header)
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
	h.Set("Content-Length", strconv.Itoa(pg.body.Len()))
	h.Set("Content-Encoding", string(o.encoding))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(pg.body.Bytes())
	}
}

// stream writes an uncompressed page while it is built, once for its length and once for the client.
// Such pages are not shared: one of a thousand replicas would take 100 MB.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, q *query, o *offer) {
	plan := s.pages.plan(q, o)
	length := plan.layout.TextLength(plan.blocks, q.only())
	s.pages.observe(q, length)
	w.Header().Set("Content-Type", plan.layout.ContentType())
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_ = plan.layout.WriteText(w, plan.blocks, q.only())
	}
}

// selfTarget selects the exporter's own series. No replica has this key, since keys contain a
// slash.
const selfTarget = "self"

// query selects a part of the page. Its lists are sorted, without duplicates.
type query struct {
	targets, pools, names []string
}

// readQuery parses target, pool_id and name[], and ignores other parameters.
func readQuery(values url.Values) query {
	return query{
		targets: tidy(values["target"]),
		pools:   tidy(values["pool_id"]),
		names:   tidy(values["name[]"]),
	}
}

func tidy(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

func (q *query) allReplicas() bool { return len(q.targets) == 0 && len(q.pools) == 0 }

func (q *query) all() bool { return q.allReplicas() && len(q.names) == 0 }

// self reports whether the exporter's own series are selected. They would be repeated on the
// pages of replicas.
func (q *query) self() bool { return q.allReplicas() || slices.Contains(q.targets, selfTarget) }

// filter returns a predicate that selects replicas, nil if all are selected.
func (q *query) filter() func(*target.Target) bool {
	if q.allReplicas() {
		return nil
	}
	return func(t *target.Target) bool {
		return (len(q.targets) == 0 || contains(q.targets, t.Key())) &&
			(len(q.pools) == 0 || contains(q.pools, t.PoolID))
	}
}

func (q *query) only() func(name string) bool {
	if len(q.names) == 0 {
		return nil
	}
	return func(name string) bool { return contains(q.names, name) }
}

// unknown describes the first selected replica that does not exist, or the first pool that is
// neither configured nor has a replica; empty if there is none. A configured pool may get replicas
// later.
func (s *Server) unknown(q *query) string {
	for _, key := range q.targets {
		if key != selfTarget && s.opts.Store.Slot(key) == nil {
			return fmt.Sprintf("No replica is named %q; /targets lists them as pool_id/replica_id", key)
		}
	}
	var configured map[string]PoolConfig
	if len(q.pools) > 0 {
		configured = s.opts.Pools()
	}
	for _, id := range q.pools {
		if _, known := configured[id]; !known &&
			!slices.ContainsFunc(s.opts.Store.Slots(), func(s *snapshot.Slot) bool { return s.Target().PoolID == id }) {
			return fmt.Sprintf("No pool is named %q; /targets lists the pools that have replicas", id)
		}
	}
	return ""
}

func contains(sorted []string, s string) bool {
	_, ok := slices.BinarySearch(sorted, s)
	return ok
}
