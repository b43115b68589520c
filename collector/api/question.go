package api

import (
	"context"
	"slices"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Of is the API of a target's server, which is of that kind; grpc prefers gRPC
// where the kind has that. It is nil where there is none to ask.
func Of(s scrape.Scraper, t *target.Target, e engine.Engine, grpc bool) *Endpoint {
	var first *Endpoint
	for _, place := range slices.Backward(placesOf(t, e, grpc)) {
		first = &Endpoint{Scraper: s, Target: t, Engine: e, Place: place, Elsewhere: first}
	}
	return first
}

// Seat is where the API of one server is asked, as long as it is of one kind. The
// zero value is nowhere.
type Seat struct {
	// At is the API, nil where there is none to ask. ReadyURL is what it is asked,
	// empty where one question does not say that it is ready; Kept says that
	// connections are.
	At       *Endpoint
	ReadyURL string
	Kept     bool

	// first is where it is looked for first, of the kind of server that it is of.
	first *Endpoint
	of    engine.Kind
}

// Of is the API of a target's server, which is of that kind; see [Of].
func (s *Seat) Of(scraper scrape.Scraper, t *target.Target, e engine.Engine, grpc bool) *Endpoint {
	if s.of != e.Kind() {
		s.of, s.first = e.Kind(), Of(scraper, t, e, grpc) // Jobs may still use the one before.
		s.Move(s.first)
	}
	return s.At
}

// Move has the API asked elsewhere.
func (s *Seat) Move(where *Endpoint) {
	s.At, s.ReadyURL = where, ""
	if where != nil {
		s.ReadyURL, s.Kept = where.ReadyURL(), where.Kept()
	}
}

// Whom says whom to ask who the server is: its API where that was found, and nobody
// else when it does not answer; before, all places in order.
func (s *Seat) Whom(a *Answers) *Endpoint {
	if a.Seen(s.At) == "" {
		return s.first
	}
	found := *s.At
	found.Elsewhere = nil
	return &found
}

// Ready asks a server of that kind whether it is ready, at the base that is known to
// be its API, or where the operator says it is. It is known only when it says so, at
// another base than that in words of its kind.
func Ready(ctx context.Context, s scrape.Scraper, t *target.Target, kind, base string, grpc bool) (ready, known bool) {
	e, found := engine.Of(kind)
	if !found {
		return false, false
	}
	server := Of(s, t, e, grpc)
	switch {
	case base != "":
		server = &Endpoint{Scraper: s, Target: t, Engine: e, Place: Place{Base: base}}
	case server == nil || !server.Given:
		return false, false
	}
	h := server.Health(ctx)
	return h.API == engine.APIReady, h.API == engine.APIReady || h.API == engine.APINotReady && (base != "" || h.Own)
}
