package replica

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// found takes over what was found at the address. When it is another kind of
// server, all that is known of the one before is forgotten.
func (r *Replica) found(ctx context.Context, s fetch.Server) {
	another := s.Epoch != r.server.Epoch
	r.server = s
	if !another {
		return
	}
	r.log.Debug("Server recognised", "engine", string(s.Engine.Kind()))
	r.reset()
	r.answers = answers{}
	r.jobs = jobs{page: r.jobs.page, watch: r.jobs.watch}
	r.askHealth(ctx)
	r.askIdentity(ctx)
}

// apiURL is the base of the server's own API; empty where there is none to ask.
func (r *Replica) apiURL() string {
	if !r.server.Known() {
		return ""
	}
	if r.target.APIURL != "" {
		return r.target.APIURL
	}
	u, err := url.Parse(r.target.MetricsURL)
	if err != nil {
		return ""
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	return r.pool.apiAt(r.server.Engine, u, port)
}

// asker puts the questions to an API. To one that has a port of its own no
// connection is kept: a server that ends might wait for it and speak on over it
// as if it did not. One that shares the page's port shares its connections.
func (r *Replica) asker(base string) engine.Asker {
	page, err := url.Parse(r.target.MetricsURL)
	if err == nil && base == page.Scheme+"://"+page.Host {
		return r.pool.Scraper
	}
	return passing{r.pool.Scraper}
}

// fetcher asks for the replica's page; it works on a copy of what is known of
// the server.
func (r *Replica) fetcher() *fetch.Fetcher {
	return &fetch.Fetcher{
		Page: fetch.Page{Server: r.server, Start: time.Now()}, Scraper: r.pool.Scraper, Target: r.target,
		Up: r.status.Health == target.HealthUp, Marker: r.pool.Marker, Patience: r.pool.IdentityInterval,
	}
}

// fetch begins to ask for the page.
func (r *Replica) fetch(ctx context.Context) {
	f := r.fetcher()
	begin(ctx, r, &r.jobs.page, "scrape", f.Fetch, func(p *fetch.Page, failed error) {
		if failed != nil {
			r.reset()
			p = &fetch.Page{Server: r.server, Err: failed, Start: f.Start, Took: time.Since(f.Start), Came: time.Now()}
		}
		r.arrived(ctx, p)
	})
}

// Base is the base of an API at an address, in the pool's protocol; scheme is
// http or https.
func (p *Pool) Base(scheme, address string) string {
	if p.GRPC {
		scheme = map[string]string{"http": scrape.SchemeGRPC, "https": scrape.SchemeGRPCS}[scheme]
	}
	return scheme + "://" + address
}

// apiAt is the base of the server's own API where neither target nor pool says
// it, given the URL of its page and the port there; empty for none.
func (p *Pool) apiAt(e engine.Engine, page *url.URL, metrics int) string {
	at := func(port int) string { return net.JoinHostPort(page.Hostname(), strconv.Itoa(port)) }
	if port, has := e.GRPCPort(metrics); p.GRPC && has && port > 0 {
		return p.Base(page.Scheme, at(port))
	}
	if port := e.APIPort(metrics); port > 0 {
		return page.Scheme + "://" + at(port)
	}
	return ""
}
