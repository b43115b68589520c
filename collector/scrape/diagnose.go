package scrape

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Diagnosis is a problem: what it is, where, and what to do about it.
type Diagnosis struct {
	What  string `json:"what"`
	Where string `json:"where"`
	Do    string `json:"do"`
	// Unreachable is true if nothing answers at the address.
	Unreachable bool `json:"unreachable,omitempty"`
	// Page is the URL of the page if it was found elsewhere.
	Page string `json:"page,omitempty"`
	// Try is another URL to try. Flags lists flags to add to the command, with placeholders in
	// capitals.
	Try   string `json:"try,omitempty"`
	Flags string `json:"flags,omitempty"`
	// Ports lists the other ports that were tried.
	Ports []OtherPort `json:"ports,omitempty"`
}

// OtherPort is another port of the same host and what answers there.
type OtherPort struct {
	Number int    `json:"port"`
	Is     string `json:"is"`
	// Page is the URL of the page there, if there is one.
	Page string `json:"page,omitempty"`
}

// prober examines one target with the credentials of its pool.
type prober struct {
	client  *Client
	kinds   *engine.Kinds
	timeout time.Duration
	// direct is true if connections are not proxied.
	direct bool
}

// Diagnose returns why a target has no page, based on its last scrape and on what answers at its
// address. The timeout limits each request. It returns nil if the target has a page of a known
// kind of server.
func Diagnose(
	ctx context.Context, cfg Config, kinds *engine.Kinds, timeout time.Duration, t *target.Target, s *target.Status,
) *Diagnosis {
	if t.Silent || s.Health == target.HealthUp && s.DetectedEngine != string(engine.Unknown) {
		return nil
	}
	client, err := NewResources().Client(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return &Diagnosis{What: err.Error(), Where: target.Public(t.MetricsURL), Do: "change how the pool is asked"}
	}
	defer client.Close()
	p := &prober{client: client, kinds: kinds, timeout: timeout, direct: cfg.Proxy.Proxy() == nil}
	u, err := url.Parse(t.MetricsURL)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	u.Host = hostPort(u)
	// Parameters may contain a secret.
	public := &url.URL{
		Scheme:  u.Scheme,
		Host:    u.Host,
		Path:    u.Path,
		RawPath: u.RawPath,
	}
	f := &Diagnosis{Where: public.String()}
	if s.Health == target.HealthUp {
		if f.What, f.Do = noKnownServer(s); s.Companion == "" {
			p.elsewhere(ctx, f, u, true)
		}
		return f
	}
	p.explainFailure(ctx, f, u, public, s)
	return f
}

// noKnownServer returns what answers with a page that is not that of a known kind of server, and what to do.
func noKnownServer(s *target.Status) (what, do string) {
	if s.Companion != "" {
		return "this is " + s.Companion + ", not an LLM server",
			"name the LLM servers behind it, each with its own metrics; the series of this one are passed through"
	}
	return "metrics are served here, but not by a known kind of server",
		"check that this is the LLM server, and if it is set engine, or declare its kind in a file, which " +
			"doctor --draft-kind drafts; its series are passed through, but nothing is derived from them and it " +
			"counts as no replica"
}

// explainFailure says why a scrape of a URL failed, which is public without its parameters.
func (p *prober) explainFailure(ctx context.Context, f *Diagnosis, u, public *url.URL, s *target.Status) {
	failure := failureOf(s)
	proto := p.speaks(ctx, u, failure)
	f.Unreachable = proto == protocolUnknown && (failure.Reason.Unanswered() || failure.Reason == ReasonDNS)
	failure.explain(f, public, proto)
	atHost := []Reason{ReasonDNS, ReasonResource, ReasonSelfScrape}
	if failure.Denied() || slices.Contains(atHost, failure.Reason) {
		return // Other ports of the host would not answer either.
	}
	if hint := p.apiAt(ctx, u, proto); hint != "" {
		f.What = hint
	}
	p.elsewhere(ctx, f, u, proto != protocolTLS && failure.Class != ClassWantsTLS && failure.Class != ClassNotTLS)
	if hint := missingPageHint(p.kinds, s, failure); hint != "" && f.Page == "" {
		f.What = "the server runs, but serves no metrics"
		f.Where = target.Public(s.PageURL)
		f.Do = "change how it is started: " + hint
	}
}

func missingPageHint(kinds *engine.Kinds, s *target.Status, failure *Error) string {
	e, ok := kinds.Named(s.DetectedEngine)
	if !ok || failure.Reason != ReasonHTTPStatus || failure.Class != "404" {
		return ""
	}
	return e.NoPage.Hint
}

// apiAt describes the API of a known server at the address.
func (p *prober) apiAt(ctx context.Context, u *url.URL, proto protocol) string {
	if proto != protocolHTTP && proto != protocolUnknown {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return describeHint(u.Port(), engine.Hint(ctx, p.client, engine.BaseURL(u.Scheme, u.Host)))
}

// describeHint turns a hint like "this is some API; its page is ..." into "8000 is some API".
func describeHint(port, hint string) string {
	hint, _, _ = strings.Cut(hint, ";")
	if hint == "" {
		return ""
	}
	return port + " " + strings.TrimPrefix(hint, "this ")
}

// elsewhere searches for the page at the usual path, with the other scheme, and at other ports.
func (p *prober) elsewhere(ctx context.Context, f *Diagnosis, u *url.URL, sameScheme bool) {
	base := url.URL{Scheme: u.Scheme, Host: u.Host}
	if !sameScheme {
		base.Scheme = map[string]string{"http": "https", "https": "http"}[u.Scheme]
	}
	if base.String() != u.String() && (u.Path != "" || !sameScheme) {
		if found := p.pageAt(ctx, base.String()); found != "" && found != u.String() {
			f.setPage(found, found)
			return
		}
	}
	f.Ports = p.siblings(ctx, u)
	for _, other := range f.Ports {
		if other.Page != "" {
			f.setPage(other.Page, strconv.Itoa(other.Number))
			return
		}
	}
}

func (f *Diagnosis) setPage(page, where string) {
	f.Page, f.Do = page, "use "+page
	f.What += "; metrics are at " + where + " ✓"
}

// pageAt returns the URL of the page of a known server, empty if there is none.
func (p *prober) pageAt(ctx context.Context, base string) string {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	found := p.kinds.Detect(ctx, p.client, base, true)
	if found.Kind == engine.Unknown {
		return ""
	}
	// A server that was detected by its API may have no page.
	status, _, _, err := p.client.Do(ctx, http.MethodGet, base+found.Path, nil, 0)
	if err != nil || status != http.StatusOK {
		return ""
	}
	return base + found.Path
}
