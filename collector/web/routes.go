package web

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// contentPolicy restricts a page to the style sheet, the script and the responses of this
// exporter.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

type route struct {
	methods []string
	// gated routes need a slot of the gate.
	gated bool
	// lifecycle routes need EnableLifecycle.
	lifecycle bool
	serve     func(http.ResponseWriter, *http.Request)
}

// routes returns all routes except the probes, by path.
func (s *Server) routes() map[string]route {
	read := []string{http.MethodGet, http.MethodHead}
	return map[string]route{
		"/":          {methods: read, gated: true, serve: s.shared(s.filtered(s.serveFleet))},
		"/replica":   {methods: read, gated: true, serve: s.shared(s.serveReplica)},
		"/runbook":   {methods: read, gated: true, serve: s.shared(s.serveRunbook)},
		"/style.css": {methods: read, serve: serveAsset("style.css", "text/css; charset=utf-8")},
		"/copy.js":   {methods: read, serve: serveAsset("copy.js", "text/javascript; charset=utf-8")},
		"/live.js":   {methods: read, serve: serveAsset("live.js", "text/javascript; charset=utf-8")},
		"/metrics":   {methods: read, gated: true, serve: s.serveMetrics},
		"/targets":   {methods: read, gated: true, serve: s.shared(s.filtered(s.serveTargets))},
		"/sd":        {methods: read, gated: true, serve: s.serveDiscovery},
		"/config":    {methods: read, lifecycle: true, serve: s.serveConfig},
		"/-/healthy": {
			methods: read,
			serve:   func(w http.ResponseWriter, _ *http.Request) { writeLine(w, http.StatusOK, "Healthy.") },
		},
		"/-/ready":  {methods: read, serve: s.serveReady},
		"/-/reload": {methods: []string{http.MethodPost}, lifecycle: true, serve: s.serveReload},
		otherPath: {serve: func(w http.ResponseWriter, r *http.Request) {
			s.refuse(w, r, http.StatusNotFound, "There is no such page", "/ shows the fleet, with links to all others.")
		}},
	}
}

// otherPath is the label value for every path that does not exist.
const otherPath = "other"

// Handler returns the handler of all routes, without TLS and authentication, which Run adds. It
// counts requests, and a panic in one request does not affect others.
func (s *Server) Handler() http.Handler {
	routes := s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			conn.enter(phaseWorking)
			defer conn.enter(phaseIdle)
		}
		path := r.URL.Path
		found, ok := routes[path]
		if !ok {
			path, found, ok = s.probeRoute(r)
		}
		if !ok || path == otherPath {
			path, found = otherPath, routes[otherPath]
		}
		answer := &answer{ResponseWriter: w}
		defer s.finish(answer, r, path)
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Referrer-Policy", "no-referrer")
		s.dispatch(answer, r, &found)
	})
}

func (s *Server) dispatch(w *answer, r *http.Request, found *route) {
	if len(found.methods) > 0 && !slices.Contains(found.methods, r.Method) {
		w.Header().Set("Allow", strings.Join(found.methods, ", "))
		http.Error(w, "Method not allowed: use "+strings.Join(found.methods, " or "), http.StatusMethodNotAllowed)
		return
	}
	if found.lifecycle && !s.opts.EnableLifecycle {
		s.refuse(w, r, http.StatusForbidden, "Not enabled", "Start with --web.enable-lifecycle to enable this path; "+
			"SIGHUP always reloads.")
		return
	}
	if found.gated {
		s.gated(w, r, found.serve)
		return
	}
	found.serve(w, r)
}

// finish counts the request. After a panic or a failed write it closes the connection, so that no
// client takes a truncated answer for a complete one.
func (s *Server) finish(w *answer, r *http.Request, path string) {
	status, bug := cmp.Or(w.status, http.StatusOK), recover()
	if bug != nil {
		status = cmp.Or(w.status, http.StatusInternalServerError)
		s.logPanic(path, bug)
	}
	s.metrics.requests.WithLabelValues(path, strconv.Itoa(status)).Inc()
	if w.err != nil {
		s.metrics.aborted.Inc()
		s.logger.Debug("Answer was cut off", "path", path, "client", r.RemoteAddr, "err", w.err)
	}
	if bug != nil || w.err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) logPanic(path string, bug any) {
	s.metrics.panics.Inc()
	s.logger.Error("Request panicked", "path", path, "err", fmt.Sprint(bug), "stack", string(debug.Stack()))
}

// answer is a ResponseWriter that records the status and the first write error.
type answer struct {
	http.ResponseWriter

	// gate is nil on routes that are not gated. The slot is released with the first byte, at
	// since; bytes is the length of the answer, 0 for small ones.
	gate   *gate
	since  time.Time
	bytes  int64
	slow   *time.Timer
	status int
	err    error
}

func (a *answer) cut() {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now())
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write releases the slot of the gate, and records the first error.
func (a *answer) Write(p []byte) (int, error) {
	if a.gate != nil && a.slow == nil {
		a.bytes, _ = strconv.ParseInt(a.Header().Get("Content-Length"), 10, 64)
		a.gate.write(a)
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.record(err)
	return n, err
}

// flush sends what net/http has buffered, so that an error shows if the client of a small answer
// disconnected. The answer must have a Content-Length.
func (a *answer) flush() { a.record(http.NewResponseController(a.ResponseWriter).Flush()) }

func (a *answer) record(err error) {
	if a.err == nil && !errors.Is(err, http.ErrBodyNotAllowed) && !errors.Is(err, http.ErrNotSupported) {
		a.err = err
	}
}

func writeLine(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// serveReady answers whether /metrics has all targets, and names pools without any.
func (s *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	switch {
	case s.draining.Load():
		writeLine(w, http.StatusServiceUnavailable, "Not ready: shutting down.")
	case !s.ready():
		reason := "not every target was tried yet"
		if waits := s.describeSearches((*target.PoolDiscovery).Waiting); len(waits) > 0 {
			reason = strings.Join(waits, "; ")
		}
		writeLine(w, http.StatusServiceUnavailable, "Not ready: "+reason+".")
	default:
		problems := s.describeSearches(func(search *target.PoolDiscovery) string { return sentence(search.Problem()) })
		writeLine(w, http.StatusOK, strings.Join(append([]string{"Ready."}, problems...), "\n"))
	}
}

// ready reports whether every target, except silent ones, was tried once. It stays true from then
// on, so that a new target does not make the page of all others unavailable.
func (s *Server) ready() bool {
	if s.wasReady.Load() {
		return true
	}
	if !s.opts.Ready() {
		return false
	}
	for _, slot := range s.opts.Store.Slots() {
		if slot.Status().LastScrape.IsZero() && !slot.Target().Silent {
			return false
		}
	}
	s.wasReady.Store(true)
	return true
}

// serveReload reloads the configuration. It rejects cross-site requests from a visitor's browser.
func (s *Server) serveReload(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		writeLine(w, http.StatusForbidden, "Refused: the request comes from a page of another site.")
		return
	}
	if err := s.reload(); err != nil {
		writeLine(
			w,
			http.StatusInternalServerError,
			"Reload failed, the old configuration stays in force: "+target.Scrub(err.Error()),
		)
		return
	}
	writeLine(w, http.StatusOK, "Reloaded.")
}

// serveConfig shows the configuration. It is a lifecycle route, since the configuration names
// hosts and files.
func (s *Server) serveConfig(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/yaml; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, s.opts.ConfigText())
}
