package engine

import (
	"context"
	"iter"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Endpoint is the API of one server. It is immutable.
type Endpoint struct {
	location

	client BriefClient
	target *target.Target
	engine *Kind
	// alternative is tried if no API of the kind answers here; nil if there is none.
	alternative *Endpoint
}

// location is where an API is expected.
type location struct {
	base string
	// certain is true if it is not guessed: the operator configured it, or the kind serves page
	// and API side by side.
	certain bool
}

// URL returns the base URL of the API, empty for nil.
func (p *Endpoint) URL() string {
	if p == nil {
		return ""
	}
	return p.base
}

type brief struct{ BriefClient }

// Do implements [Client].
func (b brief) Do(
	ctx context.Context,
	method, address string,
	body []byte,
	limit int64,
) (int, http.Header, []byte, error) {
	return b.DoBrief(ctx, method, address, body, limit)
}

// KeepAlive reports whether connections to the API are kept open. If the API has a port of its
// own they are not: a server that shuts down might wait for them, and answer over them as if it
// did not. An API on the page's port shares the page's connections.
func (p *Endpoint) KeepAlive() bool {
	page, err := url.Parse(p.target.MetricsURL)
	if err != nil {
		return false
	}
	root := BaseURL(page.Scheme, page.Host)
	return p.base == root || strings.HasPrefix(p.base, root+"/")
}

// Apart reports whether the API has another address than the page, whatever its kind of server usually has: what
// answers there may be a proxy.
func (p *Endpoint) Apart() bool { return p != nil && !p.KeepAlive() }

// regularClient returns the client for requests that are sent at each interval.
func (p *Endpoint) regularClient() Client {
	if p.KeepAlive() {
		return p.client
	}
	return p.briefClient()
}

// briefClient returns the client for other requests: connections kept open for them would take
// most of the memory of a target.
func (p *Endpoint) briefClient() Client { return brief{p.client} }

// Schemes of APIs that are called over gRPC, plain and with TLS. Paths and answers correspond
// to Triton's HTTP API.
const (
	SchemeGRPC  = "grpc"
	SchemeGRPCS = "grpcs"
)

// BaseURL returns the base URL of an API at an address; scheme is one of HTTP's or gRPC's.
func BaseURL(scheme, address string) string {
	return (&url.URL{Scheme: scheme, Host: address}).String() // With the zone of an address as URLs spell it.
}

// GRPCScheme returns the scheme of gRPC that is as safe as one of HTTP.
func GRPCScheme(scheme string) string {
	if scheme == "https" {
		return SchemeGRPCS
	}
	return SchemeGRPC
}

// locationsOf lists where the API of a target's server may be, given its kind; grpc prefers gRPC
// if the kind supports it. A location next to the page precedes the root of the host. A kind
// without an API has no location.
func locationsOf(t *target.Target, e *Kind, grpc bool) []location {
	page, err := url.Parse(t.MetricsURL)
	switch {
	case e.Name == Unknown:
		return nil
	case t.APIURL != "":
		return []location{{t.APIURL, true}}
	case err != nil:
		return nil
	}
	metricsPort, err := strconv.Atoi(page.Port())
	if err != nil {
		metricsPort = map[string]int{"http": 80, "https": 443}[page.Scheme]
	}
	address := func(port int) string { return net.JoinHostPort(page.Hostname(), strconv.Itoa(port)) }
	if port, has := e.GRPCPort(metricsPort); grpc && has && port > 0 {
		return []location{{base: BaseURL(GRPCScheme(page.Scheme), address(port))}}
	}
	var all []location
	prefix := BasePath(e, page.Path)
	if prefix != "" {
		all = append(all, location{BaseURL(page.Scheme, page.Host) + prefix, e.SamePort()})
	}
	if port := e.APIPort(metricsPort); port > 0 {
		all = append(all, location{BaseURL(page.Scheme, address(port)), prefix == "" && e.SamePort()})
	}
	return all
}

// newEndpoint returns the API of a target's server; see [Locator.Locate].
func newEndpoint(client BriefClient, t *target.Target, e *Kind, grpc bool) *Endpoint {
	var primary *Endpoint
	for _, l := range slices.Backward(locationsOf(t, e, grpc)) {
		primary = &Endpoint{location: l, client: client, target: t, engine: e, alternative: primary}
	}
	return primary
}

// Locator remembers where the API of one server was found, until its kind changes. The zero value
// is ready to use.
type Locator struct {
	// Current is the API, nil if there is none.
	Current *Endpoint

	// primary is the first location to try for the kind.
	primary *Endpoint
	kind    Name
}

// Locate returns the API of a target's server of the given kind, nil if the kind has none; grpc
// prefers gRPC if the kind supports it.
func (l *Locator) Locate(client BriefClient, t *target.Target, e *Kind, grpc bool) *Endpoint {
	if l.kind != e.Name {
		l.kind, l.primary = e.Name, newEndpoint(client, t, e, grpc) // Jobs may still use the previous one.
		l.Current = l.primary
	}
	return l.Current
}

// ForIdentity returns the endpoint for identity requests: once the API was found, its location
// without alternatives, even if it does not answer; before that, all locations in order.
func (l *Locator) ForIdentity(a *Answers) *Endpoint {
	if a.FoundURL(l.Current) == "" {
		return l.primary
	}
	found := *l.Current
	found.alternative = nil
	return &found
}

// AskReady asks a server of the named kind whether it is ready, at base if that is known to be its
// API, or else at the configured URL. A positive answer counts as the server's, a negative one at
// a configured URL only in the words of its kind; otherwise known is false.
func (ks *Kinds) AskReady(
	ctx context.Context,
	client BriefClient,
	t *target.Target,
	kind, base string,
	grpc bool,
) (ready, known bool) {
	e, found := ks.Named(kind)
	if !found {
		return false, false
	}
	server := newEndpoint(client, t, e, grpc)
	switch {
	case base != "":
		server = &Endpoint{location: location{base: base}, client: client, target: t, engine: e}
	case server == nil || !server.certain:
		return false, false
	}
	h := server.Health(ctx)
	return h.Said() == SaidReady, h.API == APIReady || h.API == APINotReady && (base != "" || h.FromServer)
}

// Health queries whether the server is live and ready. A missing answer is a result too.
func (p *Endpoint) Health(ctx context.Context) Health {
	ctx, cancel := context.WithTimeout(ctx, p.target.Timeout)
	defer cancel()
	client := p.regularClient()
	if p.ReadyURL() != "" {
		client = p.briefClient()
	}
	return p.health(ctx, client, time.Now())
}

func (p *Endpoint) health(ctx context.Context, client Client, start time.Time) Health {
	h := p.engine.Health(ctx, client, p.base)
	h.Duration = time.Since(start)
	return h
}

// ReadyURL returns the URL that shows whether a ready server still is ready, empty if a single
// request cannot show that.
func (p *Endpoint) ReadyURL() string {
	if path := p.engine.Ready; path != "" {
		return p.base + path
	}
	return ""
}

// Recheck queries whether a ready server still is ready. If so it repeats the previous answer,
// otherwise it queries the complete health.
func (p *Endpoint) Recheck(ctx context.Context, previous *Health) Health {
	ctx, cancel := context.WithTimeout(ctx, p.target.Timeout)
	defer cancel()
	start := time.Now()
	client := memoize(p.regularClient())
	if h, _ := readiness(ctx, client, p.ReadyURL()); h.API == APIReady {
		return previous.Repeat(time.Since(start))
	}
	return p.health(ctx, client, start)
}

// Repeat returns the same answer with another duration.
func (h *Health) Repeat(duration time.Duration) Health {
	repeated := *h
	repeated.Duration = duration
	return repeated
}

// Reported are the facts from a round of requests for versions and models, with the endpoint that
// answered.
type Reported struct {
	Facts

	From *Endpoint
}

// Ask queries versions and models, given what is known already. Like a [Round] it may yield partial facts first.
func (p *Endpoint) Ask(ctx context.Context, earlier Earlier) iter.Seq2[Reported, bool] {
	return func(yield func(Reported, bool) bool) {
		ctx, cancel := context.WithTimeout(ctx, p.target.Timeout)
		defer cancel()
		for facts, complete := range p.engine.Ask(ctx, p.briefClient(), p.base, earlier) {
			from := p
			if complete && !answered(&facts) && p.alternative != nil {
				if found := p.alternative.pageless(ctx); answered(&found) {
					facts, from = found, p.alternative
				}
			}
			if !yield(Reported{facts, from}, complete) {
				return
			}
		}
	}
}

func answered(f *Facts) bool { return f.Confirmed || f.Listed }

// pageless queries versions and models unless the API has a page next to it, which would belong
// to another server.
func (p *Endpoint) pageless(ctx context.Context) Facts {
	if hasPage(ctx, p.briefClient(), p.engine, p.base) {
		return Facts{}
	}
	return p.engine.Ask(ctx, p.briefClient(), p.base, Earlier{}).Complete()
}
