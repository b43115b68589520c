package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/owner"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// found takes over what was found at the address. When it is another kind of
// server, all that is known of the one before is forgotten.
func (r *Replica) found(ctx context.Context, s fetch.Server) {
	another := s.Epoch != r.server.Epoch
	r.server, r.owner.Epoch = s, s.Epoch
	if !another {
		return
	}
	r.log.Debug("Server recognised", "engine", string(s.Engine.Kind()))
	r.reset()
	r.answers = api.Answers{}
	r.jobs = jobs{page: r.jobs.page, watch: r.jobs.watch}
	r.askHealth(ctx)
	r.askIdentity(ctx)
}

// fetcher asks for the replica's page; it works on a copy of what is known of
// the server.
func (r *Replica) fetcher() *fetch.Fetcher {
	return &fetch.Fetcher{
		Page: fetch.Page{Server: r.server, Start: time.Now()}, Scraper: r.pool.Scraper, Target: r.target,
		Up: r.status.Health == target.HealthUp, Marker: r.pool.Marker, Patience: r.pool.IdentityInterval,
	}
}

// fetch begins to ask for the page, in a batch where there is one.
func (r *Replica) fetch(ctx context.Context, b *scrape.Batch) {
	f := r.fetcher()
	owner.Board(ctx, &r.owner, &r.jobs.page, "scrape", func(done func(*fetch.Page, bool)) bool {
		if b == nil || !f.Settled() {
			return false
		}
		url := r.server.URL
		lane := r.lanes.page.To(url, func() *scrape.Lane { return r.pool.Scraper.PageLane(url, r.target.Timeout) })
		return lane != nil && f.Board(ctx, b, lane, func(p *fetch.Page) { done(p, p != nil) })
	}, f.Fetch, func(p *fetch.Page, failed error) {
		if failed != nil {
			r.reset()
			p = &fetch.Page{Server: r.server, Err: failed, Start: f.Start, Took: time.Since(f.Start), Came: time.Now()}
		}
		r.arrived(ctx, p)
	})
}
