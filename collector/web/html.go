package web

import (
	"bytes"
	"cmp"
	"embed"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed templates
var assets embed.FS

type frame struct {
	Title     string
	Version   string
	Lifecycle bool
	Ready     bool
	// Root leads from the page to the fleet, empty if they are in the same folder.
	Root string
	// Tone is the severity of the page's subject, empty if it has none.
	Tone string
	now  time.Time
}

func (s *Server) frame(title string, now time.Time) frame {
	return frame{
		Title: title, Version: s.opts.Version, Lifecycle: s.opts.EnableLifecycle,
		Ready: s.ready() && !s.draining.Load(), now: now,
	}
}

// IconColor returns the colour of the page's icon.
func (v *frame) IconColor() string {
	return cmp.Or(map[string]string{broken: "crimson", look: "goldenrod", healthy: "seagreen"}[v.Tone], "gray")
}

// Ago formats the time since t.
func (v *frame) Ago(t time.Time) string {
	d := v.now.Sub(t)
	switch {
	case t.IsZero():
		return "never"
	case d < time.Second:
		return "just now"
	}
	return age(d) + " ago"
}

// refuse answers a request that leads to nothing. People get a page with a way on, programs a line.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	w.Header().Set("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		writeLine(w, status, title+". "+text)
		return
	}
	v := &refusal{frame: s.frame(title, time.Now()), Text: text}
	v.Root = strings.Repeat("../", strings.Count(strings.TrimPrefix(r.URL.Path, "/"), "/"))
	s.render(w, status, "gone.html", v)
}

// refusal is the page about a request that leads to nothing.
type refusal struct {
	frame

	Text string
	// Pool is the pool whose replicas the page links to, if any.
	Pool string
}

func serveAsset(name, contentType string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, _ := assets.ReadFile("templates/" + name)
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "max-age=3600")
		_, _ = w.Write(text)
	}
}

// render writes an HTML page. The templates escape all values, since names and errors come from
// the targets.
func (s *Server) render(w http.ResponseWriter, status int, name string, view any) {
	var out bytes.Buffer
	if err := s.templates.ExecuteTemplate(&out, name, view); err != nil {
		s.logger.Error("HTML page could not be rendered", "page", name, "err", err)
		http.Error(w, "The page could not be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}
