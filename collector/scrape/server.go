package scrape

import (
	"net/url"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Server is what is at a target's address, as far as is known.
type Server struct {
	// Engine is its kind; Epoch counts the kinds that were there.
	Engine engine.Engine
	Epoch  int
	// Evidence says what showed the kind, for people; empty where nothing did.
	Evidence string
	// Companion is which program it is that is no LLM server, for people; empty for
	// servers.
	Companion string
	// URL is where its page is; empty while that is not known.
	URL string
	// Uncertain is true from a failure until a page or the server shows again of
	// what kind it is; asked is when it was last asked for that.
	Uncertain bool
	asked     time.Time
	// pageOf is the kind whose page was seen last, Unknown where none is known.
	pageOf engine.Kind
	// shown is what Shown said of a URL.
	shown struct{ of, text string }
}

// Shown is where its page is, without what may be secret: user and query.
func (s *Server) Shown() string {
	if s.shown.of == s.URL {
		return s.shown.text
	}
	s.shown.of, s.shown.text = s.URL, ""
	if u, err := url.Parse(s.URL); err == nil {
		u.User, u.RawQuery = nil, ""
		s.shown.text = u.String()
	}
	return s.shown.text
}

// Known reports whether the kind of the server is known.
func (s *Server) Known() bool { return s.Engine.Kind() != engine.Unknown }

// setKind takes what was found for the present server; it reports whether that is
// of another kind.
func (s *Server) setKind(found engine.Found) bool {
	e, ok := engine.Of(string(found.Kind))
	if s.Companion = found.Companion; s.Companion != "" {
		e, ok = engine.None(), true
	}
	if !ok {
		return false
	}
	s.Evidence = found.Evidence
	if found.Kind == s.Engine.Kind() {
		return false
	}
	s.Engine = e
	s.Epoch++
	return true
}

// Mismatch says that the page is of another kind of server than was
// configured; empty when it is not.
func (s *Server) Mismatch() string {
	if s.pageOf == engine.Unknown || !s.Known() || engine.Alike(s.Engine.Kind(), s.pageOf) {
		return ""
	}
	return "the page looks like that of " + string(s.pageOf) + ", engine says " + string(s.Engine.Kind())
}

// PageOf is the kind of which the page seems to be when it is another than was
// configured, else the server's.
func (s *Server) PageOf() engine.Kind {
	if s.Mismatch() != "" {
		return s.pageOf
	}
	return s.Engine.Kind()
}

// NewServer is a server of which only the configured kind is known, "auto" for
// one that is to be found out.
func NewServer(kind string) Server {
	e, ok := engine.Of(kind)
	if !ok {
		e = engine.None()
	}
	return Server{Engine: e, pageOf: engine.Unknown}
}
