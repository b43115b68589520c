package api

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Endpoint is the API of one server. It is immutable.
type Endpoint struct {
	Scraper scrape.Scraper
	Target  *target.Target
	Engine  engine.Engine
	Place
	// Elsewhere is where else it may be, asked when nothing of the kind answers
	// here; nil for nowhere.
	Elsewhere *Endpoint
}

// Place is where an API is.
type Place struct {
	Base string
	// Given says that it is not guessed: the operator says it, or the kind has page
	// and API side by side.
	Given bool
}

// URL is where the API is, empty for none.
func (p *Endpoint) URL() string {
	if p == nil {
		return ""
	}
	return p.Base
}

// passing asks over connections that are not kept.
type passing struct{ scrape.Scraper }

// Do implements engine.Asker.
func (p passing) Do(ctx context.Context, method, address string, body []byte, limit int64) (int, http.Header, []byte, error) {
	return p.DoBrief(ctx, method, address, body, limit)
}

// Kept reports whether connections to the API are kept: those to an API that has a
// port of its own are not, for a server that ends might wait for them and speak
// on over them as if it did not. One that shares the page's port shares its
// connections.
func (p *Endpoint) Kept() bool {
	page, err := url.Parse(p.Target.MetricsURL)
	if err != nil {
		return false
	}
	at := page.Scheme + "://" + page.Host
	return p.Base == at || strings.HasPrefix(p.Base, at+"/")
}

// asker puts the questions.
func (p *Endpoint) asker() engine.Asker {
	if p.Kept() {
		return p.Scraper
	}
	return passing{p.Scraper}
}

// rarely puts questions that are not asked at each interval: connections that
// are kept for them would be most of the memory of a target.
func (p *Endpoint) rarely() engine.Asker { return passing{p.Scraper} }

// Base is the base of an API at an address, over gRPC or not; scheme is http or
// https.
func Base(grpc bool, scheme, address string) string {
	if grpc {
		scheme = map[string]string{"http": scrape.SchemeGRPC, "https": scrape.SchemeGRPCS}[scheme]
	}
	return scheme + "://" + address
}

// placesOf are where the API of a target's server may be, of the kind that is there;
// grpc prefers gRPC where the kind has that. Next to the page comes before the root
// of its host. There are none where there is none to ask.
func placesOf(t *target.Target, e engine.Engine, grpc bool) []Place {
	page, err := url.Parse(t.MetricsURL)
	switch {
	case e.Kind() == engine.Unknown:
		return nil
	case t.APIURL != "":
		return []Place{{t.APIURL, true}}
	case err != nil:
		return nil
	}
	metrics, err := strconv.Atoi(page.Port())
	if err != nil {
		metrics = map[string]int{"http": 80, "https": 443}[page.Scheme]
	}
	at := func(port int) string { return net.JoinHostPort(page.Hostname(), strconv.Itoa(port)) }
	if port, has := e.GRPCPort(metrics); grpc && has && port > 0 {
		return []Place{{Base: Base(grpc, page.Scheme, at(port))}}
	}
	var places []Place
	before := engine.BasePath(e, page.Path)
	if before != "" {
		places = append(places, Place{Base(false, page.Scheme, page.Host) + before, e.SamePort()})
	}
	if port := e.APIPort(metrics); port > 0 {
		places = append(places, Place{Base(false, page.Scheme, at(port)), before == "" && e.SamePort()})
	}
	return places
}

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
	// At is the API, nil where there is none to ask.
	At *Endpoint

	// first is where it is looked for first, of the kind of server that it is of.
	first *Endpoint
	of    engine.Kind
}

// Of is the API of a target's server, which is of that kind; see [Of].
func (s *Seat) Of(scraper scrape.Scraper, t *target.Target, e engine.Engine, grpc bool) *Endpoint {
	if s.of != e.Kind() {
		s.of, s.first = e.Kind(), Of(scraper, t, e, grpc) // Jobs may still use the one before.
		s.At = s.first
	}
	return s.At
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
