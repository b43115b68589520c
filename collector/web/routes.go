package web

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// contentPolicy lets a page load our own style sheet and script, ask us again,
// and nothing else.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// route is one path.
type route struct {
	methods []string
	// gated routes cost work: beyond MaxInFlight they wait for three seconds at most,
	// and then answer 503.
	gated bool
	// lifecycle routes are refused unless they were opened.
	lifecycle bool
	serve     func(http.ResponseWriter, *http.Request)
}

// routes are all paths of the server.
func (s *Server) routes() map[string]route {
	read := []string{http.MethodGet, http.MethodHead}
	return map[string]route{
		"/":          {methods: read, gated: true, serve: filtered(s.serveFleet)},
		"/replica":   {methods: read, gated: true, serve: s.serveReplica},
		"/runbook":   {methods: read, gated: true, serve: s.serveRunbook},
		"/style.css": {methods: read, serve: serveAsset("style.css", "text/css; charset=utf-8")},
		"/live.js":   {methods: read, serve: serveAsset("live.js", "text/javascript; charset=utf-8")},
		"/metrics":   {methods: read, gated: true, serve: s.serveMetrics},
		"/targets":   {methods: read, gated: true, serve: filtered(s.serveTargets)},
		"/sd":        {methods: read, gated: true, serve: s.serveDiscovery},
		"/config":    {methods: read, lifecycle: true, serve: s.serveConfig},
		"/-/healthy": {methods: read, serve: s.serveHealthy},
		"/-/ready":   {methods: read, serve: s.serveReady},
		"/-/reload":  {methods: []string{http.MethodPost}, lifecycle: true, serve: s.serveReload},
		otherPath: {serve: func(w http.ResponseWriter, _ *http.Request) {
			say(w, http.StatusNotFound, "There is no such page; the fleet is at /, with links to all others.")
		}},
	}
}

// otherPath is the route of every path that does not exist.
const otherPath = "other"

// Handler is what Run serves, without TLS and authentication, which belong to
// the listener. It finds the route, counts the answer and keeps a bug in one request
// from touching another.
func (s *Server) Handler() http.Handler {
	routes := s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

// dispatch refuses what the route does not take and serves the rest.
func (s *Server) dispatch(w *answer, r *http.Request, found *route) {
	if len(found.methods) > 0 && !slices.Contains(found.methods, r.Method) {
		w.Header().Set("Allow", strings.Join(found.methods, ", "))
		http.Error(w, "Method not allowed: use "+strings.Join(found.methods, " or "), http.StatusMethodNotAllowed)
		return
	}
	if found.lifecycle && !s.opts.EnableLifecycle {
		say(w, http.StatusForbidden, closedPath)
		return
	}
	if found.gated {
		s.gated(w, r, found.serve)
		return
	}
	found.serve(w, r)
}

// finish counts the answer. A panic other than the wanted abort is logged, and
// either way the connection is cut, so that no client takes a part for the whole.
func (s *Server) finish(w *answer, r *http.Request, path string) {
	bug := recover()
	if bug != nil && !isAbort(bug) {
		s.metrics.panics.Inc()
		s.logger.Error("Request panicked", "path", path, "err", fmt.Sprint(bug), "stack", string(debug.Stack()))
	}
	status := w.status
	if status == 0 {
		status = http.StatusOK
		if bug != nil {
			status = http.StatusInternalServerError
		}
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

// isAbort reports whether a panic is the wanted end of a cut answer.
func isAbort(bug any) bool {
	err, ok := bug.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// answer notes the status and the first failure to write.
type answer struct {
	http.ResponseWriter

	// pass is that of a gated route.
	pass   *admission
	status int
	err    error
}

// cut has what is being written fail at once.
func (a *answer) cut() {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now())
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader notes the status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write notes that only writing is left, and the first failure.
func (a *answer) Write(p []byte) (int, error) {
	if a.pass != nil {
		// An answer without a length is one that is small.
		length, _ := strconv.ParseInt(a.Header().Get("Content-Length"), 10, 64)
		a.pass.write(length, a.cut)
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.note(err)
	return n, err
}

// flush sends what net/http still holds back, so that a reader who left is
// seen also when the answer is small. The answer must have a length.
func (a *answer) flush() { a.note(http.NewResponseController(a.ResponseWriter).Flush()) }

// note keeps the first failure.
func (a *answer) note(err error) {
	if a.err == nil && !errors.Is(err, http.ErrBodyNotAllowed) && !errors.Is(err, http.ErrNotSupported) {
		a.err = err
	}
}
