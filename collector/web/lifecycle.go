package web

import (
	"io"
	"net/http"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func writeLine(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

func (*Server) serveHealthy(w http.ResponseWriter, _ *http.Request) {
	writeLine(w, http.StatusOK, "Healthy.")
}

// serveReady reports whether /metrics has all targets, and names pools without any.
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

// ready reports whether every target was tried once, except silent ones. It stays true from then
// on: a new target must not make the page of all others unavailable.
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

// serveReload refuses requests that pages of other sites make through a visitor's browser.
func (s *Server) serveReload(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		writeLine(w, http.StatusForbidden, "Refused: the request comes from a page of another site.")
		return
	}
	if err := s.opts.Reload(); err != nil {
		writeLine(w, http.StatusInternalServerError, "Reload failed, the old configuration stays in force: "+target.Scrub(err.Error()))
		return
	}
	writeLine(w, http.StatusOK, "Reloaded.")
}

// serveConfig needs the lifecycle to be enabled, as the configuration names hosts and files.
func (s *Server) serveConfig(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/yaml; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, s.opts.ConfigText())
}
