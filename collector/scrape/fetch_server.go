package scrape

import (
	"net/url"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Server is what is known of the server at a target's address.
type Server struct {
	// Engine is its kind; Epoch counts the kinds that were there.
	Engine engine.Engine
	Epoch  int
	// Evidence tells people what showed the kind; empty where nothing did.
	Evidence string
	// Companion names a program that is not an LLM server; empty for servers.
	Companion string
	// URL is where its page is; empty while that is not known.
	URL string
	// Uncertain is true from a failure until a page or the server shows its kind again,
	// Provisional until the API has shown which of the kinds with the same page it is.
	Uncertain, Provisional bool

	// detected is when detection was last attempted.
	detected time.Time
	// pageKind is the kind of the last page, Unknown where none was recognized.
	pageKind engine.Kind
}

// NewServer returns a server with the configured kind, "auto" for one to be detected.
func NewServer(kind string) Server {
	e, ok := engine.ByName(kind)
	if !ok {
		e = engine.None()
	}
	return Server{Engine: e, pageKind: engine.Unknown}
}

// RedactedURL returns the URL of the page without what may be secret, user and query.
func (s *Server) RedactedURL() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// Known reports whether the kind of the server is known.
func (s *Server) Known() bool { return s.Engine.Kind() != engine.Unknown }

// setKind takes over what was detected and reports whether the kind is another one.
func (s *Server) setKind(found engine.Detection) bool {
	e, ok := engine.ByName(string(found.Kind))
	if s.Companion = found.Companion; s.Companion != "" {
		e, ok = engine.None(), true
	}
	if !ok {
		return false
	}
	s.Evidence, s.Provisional = found.Evidence, found.Provisional
	if found.Kind == s.Engine.Kind() {
		return false
	}
	s.Engine = e
	s.Epoch++
	return true
}

// Mismatch describes that the page is of another kind of server than the configured one;
// empty when it is not.
func (s *Server) Mismatch() string {
	if s.pageKind == engine.Unknown || !s.Known() || engine.SharePage(s.Engine.Kind(), s.pageKind) {
		return ""
	}
	return "the page looks like that of " + string(s.pageKind) + ", engine says " + string(s.Engine.Kind())
}

// PageKind returns the kind that the page shows where that is a mismatch, else the server's.
func (s *Server) PageKind() engine.Kind {
	if s.Mismatch() != "" {
		return s.pageKind
	}
	return s.Engine.Kind()
}
