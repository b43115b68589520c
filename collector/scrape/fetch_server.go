package scrape

import (
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Server holds the knowledge about the server at a target's address.
type Server struct {
	// Engine is its kind. Epoch counts how often the kind changed.
	Engine *engine.Kind
	Epoch  int
	// Evidence explains to users how the kind was recognized; empty if it was not.
	Evidence string
	// Companion names a program that is not an LLM server; empty for servers.
	Companion string
	// URL is the URL of its page, empty while unknown.
	URL string
	// Uncertain is true from a failure until the page or the API shows the kind again,
	// Provisional until the API has shown which of the kinds with the same page it is.
	Uncertain, Provisional bool

	// detected is when detection was last attempted. Answers is true if the server answered then, and not only with
	// errors of its own.
	detected time.Time
	answers  bool
	// fails is true if the address answered with a server's error to the latest request for its page, and to one that
	// has nothing to do with it.
	fails bool
	// pageKind is the kind that the last page showed, Unknown if none.
	pageKind engine.Name
}

// NewServer returns a server of the configured kind, one of kinds, which is detected if kind is "auto".
func NewServer(kinds *engine.Kinds, kind string) Server {
	e, ok := kinds.Named(kind)
	if !ok {
		e = engine.None()
	}
	return Server{Engine: e, pageKind: engine.Unknown}
}

// Known reports whether the kind of the server is known.
func (s *Server) Known() bool { return s.Engine.Name != engine.Unknown }

// Fails reports whether all that was asked got no answer but a server's error, which a gateway gives in place of one
// that it does not reach.
func (s *Server) Fails() bool {
	return s.fails || !s.Known() && !s.detected.IsZero() && !s.answers
}

// setKind takes over what was detected and reports whether the kind is another one.
func (f *Fetcher) setKind(detected engine.Detection) bool {
	s := &f.Server
	e, ok := f.Kinds.Named(string(detected.Kind))
	if s.Companion = detected.Companion; s.Companion != "" {
		e, ok = engine.None(), true
	}
	if !ok {
		return false
	}
	s.Evidence, s.Provisional = detected.Evidence, detected.Provisional
	if detected.Kind == s.Engine.Name {
		return false
	}
	s.Engine = e
	s.Epoch++
	return true
}

// Mismatch describes how the page contradicts the configured kind of server, empty if it does not.
func (s *Server) Mismatch() string {
	if s.pageKind == engine.Unknown || !s.Known() || engine.Shows(s.Engine.Name, s.pageKind) {
		return ""
	}
	return "the page looks like that of " + string(s.pageKind) + ", engine says " + string(s.Engine.Name)
}

// Unrecognized reports whether the page shows no kind of server.
func (s *Server) Unrecognized() bool { return s.pageKind == engine.Unknown }

// PageKind returns the kind that the page shows if that is a mismatch, else the kind of the
// server.
func (s *Server) PageKind() engine.Name {
	if s.Mismatch() != "" {
		return s.pageKind
	}
	return s.Engine.Name
}
