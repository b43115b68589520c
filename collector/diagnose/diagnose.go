package diagnose

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Finding is one thing that is wrong: what, where, and what to do about it.
type Finding struct {
	What  string `json:"what"`
	Where string `json:"where"`
	Do    string `json:"do"`
	// Unreachable says that nobody answers at the address.
	Unreachable bool `json:"unreachable,omitempty"`
	// Page is the address of the page that was found elsewhere; empty for none.
	Page string `json:"page,omitempty"`
	// Try is another address to try, Flags are what to add to the command, with
	// what the reader knows in capitals; empty for none.
	Try   string `json:"try,omitempty"`
	Flags string `json:"flags,omitempty"`
	// Ports are the other ports that were tried.
	Ports []Port `json:"ports,omitempty"`
}

// Port is another port of the same host, and what is there.
type Port struct {
	Number int    `json:"port"`
	Is     string `json:"is"`
	// Page is the address of the page there; empty for none.
	Page string `json:"page,omitempty"`
}

// Doctor looks at addresses with the TLS and credentials of one pool. It is safe
// for concurrent use.
type Doctor struct {
	client  *scrape.Client
	timeout time.Duration
	// direct is true where connections go to the address itself, and not to a proxy.
	direct bool
}

// New reads the files that the configuration names. One answer may take the
// timeout. Who calls it calls Close.
func New(cfg scrape.Config, timeout time.Duration) (*Doctor, error) {
	client, err := scrape.NewResources().Client(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("looking at addresses: %w", err)
	}
	return &Doctor{client: client, timeout: timeout, direct: cfg.Proxy.Proxy() == nil}, nil
}

// Close closes idle connections.
func (d *Doctor) Close() { d.client.Close() }

// Look says why a target shows no page, from how its scrape ended and from what
// answers there; nil when it has a page of a known kind of server.
func (d *Doctor) Look(ctx context.Context, t *target.Target, s *target.Status) *Finding {
	if t.Silent || s.Health == target.HealthUp && s.DetectedEngine != string(engine.Unknown) {
		return nil
	}
	at, err := url.Parse(t.MetricsURL)
	if err != nil || at.Hostname() == "" {
		return nil
	}
	if at.Port() == "" {
		at.Host = net.JoinHostPort(at.Hostname(), map[string]string{"http": "80", "https": "443"}[at.Scheme])
	}
	// Parameters may hold a secret, and say nothing of where a page is.
	public := &url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path, RawPath: at.RawPath}
	f := &Finding{Where: public.String()}
	if s.Health == target.HealthUp {
		f.What = "a page of metrics answers, and it is of no known kind of server"
		f.Do = "check that this is the LLM server; its series are passed on as they are, and nothing is derived from them"
		if s.Companion != "" {
			f.What = "this is " + s.Companion + ", no LLM server"
			f.Do = "name the LLM servers behind it, each with its own page; of this one the series are passed on as they are"
			return f
		}
		d.elsewhere(ctx, f, at, true)
		return f
	}
	c := causeOf(s)
	here := d.speaks(ctx, at, &c)
	f.Unreachable = here == unknown && (c.reason.Unanswered() || c.reason == scrape.ReasonDNS)
	c.explain(f, public, here)
	if c.nobodyAnswers() {
		return f
	}
	if hint := d.apiAt(ctx, at, here); hint != "" {
		f.What = hint
	}
	d.elsewhere(ctx, f, at, here != onlyTLS && c.class != scrape.ClassNotTLS)
	if hint := missingPage(s, &c); hint != "" && f.Page == "" {
		f.What, f.Where, f.Do = "the server runs, and has no page of metrics", target.Public(s.PageURL), "change how it starts: "+hint
	}
	return f
}

// missingPage says why a server of a known kind has no page; empty where it says
// nothing of the sort.
func missingPage(s *target.Status, c *cause) string {
	e, known := engine.ByName(s.DetectedEngine)
	if !known || c.reason != scrape.ReasonHTTPStatus || c.class != "404" {
		return ""
	}
	return e.MissingPageHint()
}

// apiAt says that the address is the API of a known server whose page is on
// another port; empty where it is not.
func (d *Doctor) apiAt(ctx context.Context, at *url.URL, here protocol) string {
	if here != plainHTTP && here != unknown {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	return named(at.Port(), engine.Hint(ctx, d.client, at.Scheme+"://"+at.Host))
}

// named makes "8000 is some API" of a hint, "this is some API; its page is ...".
func named(port, hint string) string {
	hint, _, _ = strings.Cut(hint, ";")
	if hint == "" {
		return ""
	}
	return port + " " + strings.TrimPrefix(hint, "this ")
}

// elsewhere looks for the page at the same port under another path or scheme,
// then at the ports around it.
func (d *Doctor) elsewhere(ctx context.Context, f *Finding, at *url.URL, sameScheme bool) {
	base := url.URL{Scheme: at.Scheme, Host: at.Host}
	if !sameScheme {
		base.Scheme = map[string]string{"http": "https", "https": "http"}[at.Scheme]
	}
	if base.String() != at.String() && (at.Path != "" || !sameScheme) {
		if found := d.pageAt(ctx, base.String()); found != "" && found != at.String() {
			f.found(found)
			return
		}
	}
	f.Ports = d.siblings(ctx, at)
	for _, p := range f.Ports {
		if p.Page != "" {
			f.found(p.Page)
			return
		}
	}
}

// found notes where the page is.
func (f *Finding) found(page string) {
	f.Page = page
	u, err := url.Parse(page)
	if err != nil {
		return
	}
	where := "metrics are at " + u.Port()
	if at, err := url.Parse(f.Where); err == nil && at.Host == u.Host {
		where = "metrics are at " + page
	}
	f.What += "; " + where + " ✓"
	f.Do = "use " + page
}

// pageAt is the address of the page of a known server; empty for none.
func (d *Doctor) pageAt(ctx context.Context, base string) string {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	found := engine.Detect(ctx, d.client, base)
	if found.Kind == engine.Unknown {
		return ""
	}
	// What answers by its API alone may have no page.
	status, _, _, err := d.client.Do(ctx, http.MethodGet, base+found.Path, nil, 0)
	if err != nil || status != http.StatusOK {
		return ""
	}
	return base + found.Path
}

// hostPort is the address of another port of the same host.
func hostPort(at *url.URL, port int) string {
	return net.JoinHostPort(at.Hostname(), strconv.Itoa(port))
}
