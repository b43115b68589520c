package api

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

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
	// Alternative is tried if no API of the kind answers here; nil if there is none.
	Alternative *Endpoint
}

// Location is where an API is expected.
type Location struct {
	Base string
	// Certain is true if it is not guessed: the operator configured it, or the kind serves page
	// and API side by side.
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

// KeepAlive reports whether connections to the API are kept open. If the API has a port of its
// own they are not: a server that shuts down might wait for them, and answer over them as if it
// did not. An API on the page's port shares the page's connections.
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

// briefClient returns the client for requests that are not sent at each interval: connections
// kept open for them would take most of the memory of a target.
func (p *Endpoint) briefClient() engine.Client { return brief{p.Scraper} }

// Base returns the base URL of an API at an address, with gRPC if grpc is true; scheme is http or
// https.
func Base(grpc bool, scheme, address string) string {
	if grpc {
		scheme = map[string]string{"http": scrape.SchemeGRPC, "https": scrape.SchemeGRPCS}[scheme]
	}
	return scheme + "://" + address
}

// locationsOf lists where the API of a target's server may be, given its kind; grpc prefers gRPC
// if the kind supports it. A location next to the page precedes the root of the host. A kind
// without an API has no location.
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

// Of returns the API of a target's server of the given kind; grpc prefers gRPC if the kind
// supports it. It returns nil for a kind without an API.
func Of(s scrape.Scraper, t *target.Target, e engine.Engine, grpc bool) *Endpoint {
	var primary *Endpoint
	for _, l := range slices.Backward(locationsOf(t, e, grpc)) {
		primary = &Endpoint{Scraper: s, Target: t, Engine: e, Location: l, Alternative: primary}
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
	kind    engine.Kind
}

// Locate returns the API of a target's server of the given kind; see [Of].
func (l *Locator) Locate(s scrape.Scraper, t *target.Target, e engine.Engine, grpc bool) *Endpoint {
	if l.kind != e.Kind() {
		l.kind, l.primary = e.Kind(), Of(s, t, e, grpc) // Jobs may still use the previous one.
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
	found.Alternative = nil
	return &found
}

// Ready asks a server of the given kind whether it is ready, at base if that is known to be its
// API, or else at the configured URL. A positive answer counts as the server's, a negative one at
// a configured URL only in the words of its kind; otherwise known is false.
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

// Health is an answer about the health of a server. It is immutable.
type Health struct {
	engine.Health

	// Found is true once the server's API has answered, WasLive once it has reported that the
	// server is live.
	Found, WasLive bool
	Duration       time.Duration
}

// Health queries whether the server is live and ready. A missing answer is a result too.
func (p *Endpoint) Health(ctx context.Context) Health {
	ctx, cancel := context.WithTimeout(ctx, p.Target.Timeout)
	defer cancel()
	client := p.client()
	if p.ReadyURL() != "" {
		client = p.briefClient()
	}
	return p.health(ctx, client, time.Now())
}

func (p *Endpoint) health(ctx context.Context, client engine.Client, start time.Time) Health {
	h := Health{Health: p.Engine.Health(ctx, client, p.Base)}
	h.Duration = time.Since(start)
	return h
}

// ReadyURL returns the URL that shows whether a ready server still is ready, empty if a single
// request cannot show that.
func (p *Endpoint) ReadyURL() string {
	if path := p.Engine.ReadyPath(); path != "" {
		return p.Base + path
	}
	return ""
}

// Recheck queries whether a ready server still is ready. If so it repeats the previous answer,
// otherwise it queries the complete health.
func (p *Endpoint) Recheck(ctx context.Context, previous *Health) Health {
	ctx, cancel := context.WithTimeout(ctx, p.Target.Timeout)
	defer cancel()
	start := time.Now()
	client := engine.Memoize(p.client())
	if h, _ := engine.Readiness(ctx, client, p.ReadyURL()); h.API == engine.APIReady {
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

// Identity is the result of a round of requests for versions and models, with the endpoint that
// answered.
type Identity struct {
	engine.Facts

	From *Endpoint
}

// Identity queries versions and models, and reads which version built the TensorRT engine in
// engineDir, if configured. The function early is called, from any goroutine, with partial facts
// while requests are still open.
func (p *Endpoint) Identity(ctx context.Context, engineDir string, early func(engine.Facts)) Identity {
	ctx, cancel := context.WithTimeout(ctx, p.Target.Timeout)
	defer cancel()
	build := buildVersion(engineDir)
	facts := p.Engine.Ask(ctx, p.briefClient(), p.Base, func(facts engine.Facts) {
		facts.BuildVersion = build
		early(facts)
	})
	from := p
	if !answered(&facts) && p.Alternative != nil {
		if found := p.Alternative.pageless(ctx); answered(&found) {
			facts, from = found, p.Alternative
		}
	}
	facts.BuildVersion = build
	return Identity{facts, from}
}

func answered(f *engine.Facts) bool { return f.Confirmed || f.Listed }

// pageless queries versions and models unless the API has a page next to it, which would belong
// to another server.
func (p *Endpoint) pageless(ctx context.Context) engine.Facts {
	if engine.HasPage(ctx, p.briefClient(), p.Engine, p.Base) {
		return engine.Facts{}
	}
	return p.Engine.Ask(ctx, p.briefClient(), p.Base, nil)
}

const maxBuildConfig = 4 << 20

// buildVersion returns the version of TensorRT-LLM that built the engine in a directory, from its
// config.json (NVIDIA/TensorRT-LLM, runtime/gptJsonConfig.cpp, key "version"). It returns an
// empty string without a directory or if the file cannot be read. Engines of the old builder lack
// that key.
func buildVersion(dir string) string {
	if dir == "" {
		return ""
	}
	f, err := os.Open(filepath.Join(dir, "config.json"))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // Nothing was written.
	var config struct {
		Version string `json:"version"`
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBuildConfig))
	if err != nil || json.Unmarshal(text, &config) != nil || len(config.Version) > 64 || strings.ContainsFunc(config.Version, unicode.IsControl) {
		return ""
	}
	return config.Version
}
