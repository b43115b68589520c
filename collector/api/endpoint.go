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
	Location
	// Alternative is tried when no API of the kind answers here; nil for none.
	Alternative *Endpoint
}

// Location is where an API is.
type Location struct {
	Base string
	// Certain is true when it is not guessed: the operator configured it, or the kind has
	// page and API side by side.
	Certain bool
}

// URL returns the base URL of the API, empty for nil.
func (p *Endpoint) URL() string {
	if p == nil {
		return ""
	}
	return p.Base
}

type brief struct{ scrape.Scraper }

// Do implements engine.Client.
func (b brief) Do(ctx context.Context, method, address string, body []byte, limit int64) (int, http.Header, []byte, error) {
	return b.DoBrief(ctx, method, address, body, limit)
}

// KeepAlive reports whether connections to the API are kept. Those to an API with a port of
// its own are not: a server that is ending might wait for them, and answer over them as if
// it were not. An API on the page's port shares the page's connections.
func (p *Endpoint) KeepAlive() bool {
	page, err := url.Parse(p.Target.MetricsURL)
	if err != nil {
		return false
	}
	root := page.Scheme + "://" + page.Host
	return p.Base == root || strings.HasPrefix(p.Base, root+"/")
}

func (p *Endpoint) client() engine.Client {
	if p.KeepAlive() {
		return p.Scraper
	}
	return p.briefClient()
}

// briefClient sends requests that are not made at each interval: connections that are kept for
// them would be most of the memory of a target.
func (p *Endpoint) briefClient() engine.Client { return brief{p.Scraper} }

// Base returns the base URL of an API at an address, over gRPC or not; scheme is http or
// https.
func Base(grpc bool, scheme, address string) string {
	if grpc {
		scheme = map[string]string{"http": scrape.SchemeGRPC, "https": scrape.SchemeGRPCS}[scheme]
	}
	return scheme + "://" + address
}

// locationsOf lists where the API of a target's server may be, given its kind; grpc prefers
// gRPC where the kind supports that. A location next to the page precedes the root of its host.
// There is none for a kind without an API.
func locationsOf(t *target.Target, e engine.Engine, grpc bool) []Location {
	page, err := url.Parse(t.MetricsURL)
	switch {
	case e.Kind() == engine.Unknown:
		return nil
	case t.APIURL != "":
		return []Location{{t.APIURL, true}}
	case err != nil:
		return nil
	}
	metricsPort, err := strconv.Atoi(page.Port())
	if err != nil {
		metricsPort = map[string]int{"http": 80, "https": 443}[page.Scheme]
	}
	address := func(port int) string { return net.JoinHostPort(page.Hostname(), strconv.Itoa(port)) }
	if port, has := e.GRPCPort(metricsPort); grpc && has && port > 0 {
		return []Location{{Base: Base(grpc, page.Scheme, address(port))}}
	}
	var all []Location
	prefix := engine.BasePath(e, page.Path)
	if prefix != "" {
		all = append(all, Location{Base(false, page.Scheme, page.Host) + prefix, e.SamePort()})
	}
	if port := e.APIPort(metricsPort); port > 0 {
		all = append(all, Location{Base(false, page.Scheme, address(port)), prefix == "" && e.SamePort()})
	}
	return all
}

// Of returns the API of a target's server of the given kind; grpc prefers gRPC where the
// kind supports that. It is nil for a kind without an API.
func Of(s scrape.Scraper, t *target.Target, e engine.Engine, grpc bool) *Endpoint {
	var first *Endpoint
	for _, l := range slices.Backward(locationsOf(t, e, grpc)) {
		first = &Endpoint{Scraper: s, Target: t, Engine: e, Location: l, Alternative: first}
	}
	return first
}

// Locator remembers where the API of one server was found, as long as the server is of one
// kind. The zero value has found nothing.
type Locator struct {
	// Current is the API, nil where there is none.
	Current *Endpoint

	// first is where to begin searching, for a server of the kind.
	first *Endpoint
	kind  engine.Kind
}

// Locate returns the API of a target's server of the given kind; see [Of].
func (l *Locator) Locate(s scrape.Scraper, t *target.Target, e engine.Engine, grpc bool) *Endpoint {
	if l.kind != e.Kind() {
		l.kind, l.first = e.Kind(), Of(s, t, e, grpc) // Jobs may still use the one before.
		l.Current = l.first
	}
	return l.Current
}

// ForIdentity returns the endpoint of requests for the identity: the API where it was found,
// without alternatives even if it does not answer; before that, all locations in order.
func (l *Locator) ForIdentity(a *Answers) *Endpoint {
	if a.FoundURL(l.Current) == "" {
		return l.first
	}
	found := *l.Current
	found.Alternative = nil
	return &found
}

// Ready requests whether a server of a kind is ready, at the base that is known to be its
// API, or else where the operator configured it. An answer that it is ready is known to be
// the server's; one that it is not, at a configured URL, only in words of its kind.
func Ready(ctx context.Context, s scrape.Scraper, t *target.Target, kind, base string, grpc bool) (ready, known bool) {
	e, found := engine.ByName(kind)
	if !found {
		return false, false
	}
	server := Of(s, t, e, grpc)
	switch {
	case base != "":
		server = &Endpoint{Scraper: s, Target: t, Engine: e, Location: Location{Base: base}}
	case server == nil || !server.Certain:
		return false, false
	}
	h := server.Health(ctx)
	return h.API == engine.APIReady, h.API == engine.APIReady || h.API == engine.APINotReady && (base != "" || h.FromServer)
}
