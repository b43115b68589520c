package web

import (
	"io"
	"net/http"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

const textType = "text/plain; charset=utf-8"

// say answers with a line of text.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", textType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// serveHealthy says that the process answers.
func (*Server) serveHealthy(w http.ResponseWriter, _ *http.Request) {
	say(w, http.StatusOK, "Healthy.")
}

// serveReady reports whether /metrics is complete enough to be read.
func (s *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	switch {
	case s.draining.Load():
		say(w, http.StatusServiceUnavailable, "Not ready: shutting down.")
	case !s.ready():
		why := "not every target was tried yet"
		if waits := s.waiting(); len(waits) > 0 {
			why = strings.Join(waits, "; ")
		}
		say(w, http.StatusServiceUnavailable, "Not ready: "+why+".")
	default:
		say(w, http.StatusOK, strings.Join(append([]string{"Ready."}, s.withoutTargets()...), "\n"))
	}
}

// ready reports whether every target was tried once, but for those that are
// silent and never scraped. It stays true from then on:
// a target that comes later must not take the page of all others away.
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

// closedPath is what the life cycle paths say unless they were opened.
const closedPath = "Not enabled: start with --web.enable-lifecycle to enable this path; SIGHUP always reloads."

// serveReload applies the configuration again. Web pages of other sites cannot
// ask for it through a visitor's browser.
func (s *Server) serveReload(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		say(w, http.StatusForbidden, "Refused: the request comes from a page of another site.")
		return
	}
	if err := s.opts.Reload(); err != nil {
		say(w, http.StatusInternalServerError, "Reload failed, the old configuration stays in force: "+target.Scrub(err.Error()))
		return
	}
	say(w, http.StatusOK, "Reloaded.")
}

// serveConfig shows the configuration in force without its secrets. It names
// hosts and files, so it is open only with the life cycle.
func (s *Server) serveConfig(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/yaml; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, s.opts.ConfigText())
}
