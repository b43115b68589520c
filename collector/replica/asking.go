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

// asking is what the replica asks for at each moment: its page, and whether its
// server is still ready. What is the same each time is made once.
type asking struct {
	// seat is where the server's own API is asked.
	seat api.Seat

	fetcher fetch.Fetcher
	page    *owner.Errand[*fetch.Page]
	health  *owner.Errand[api.Health]
	// asked is the API that is asked whether it is ready, as it was before.
	asked  *api.Endpoint
	before *api.Health
	// fetched and stillReady are given what came over lanes.
	fetched    func(*fetch.Page)
	stillReady func(answer scrape.Page, ok bool)
	// toPage and toReady are the lanes.
	toPage, toReady scrape.Way
}

// prepare makes what is the same each time.
func (r *Replica) prepare() {
	a := &r.asking
	a.fetcher = fetch.Fetcher{Scraper: r.pool.Scraper, Target: r.target, Marker: r.pool.Marker, Patience: r.pool.IdentityInterval}
	a.page = owner.NewErrand(&r.owner, &r.jobs.page, "scrape", a.fetcher.Fetch, r.fetchedPage)
	a.fetched = func(p *fetch.Page) { a.page.Answer(p, p != nil) }
	a.health = owner.NewErrand(&r.owner, &r.jobs.health, "health", func(ctx context.Context) api.Health {
		return a.asked.Again(ctx, a.before)
	}, func(_ context.Context, h api.Health, failed error) { r.heard(a.asked, h, failed) })
	a.stillReady = func(answer scrape.Page, ok bool) { a.health.Answer(a.before.Still(answer.Duration), ok) }
}

// close gives up the lanes.
func (a *asking) close() {
	a.toPage.Close()
	a.toReady.Close()
}

// api is the server's own API, nil where there is none to ask.
func (r *Replica) api() *api.Endpoint {
	return r.asking.seat.Of(r.pool.Scraper, r.target, r.server.Engine, r.pool.GRPC)
}

// fetch begins to ask for the page, in a batch where there is one.
func (r *Replica) fetch(ctx context.Context, b *scrape.Batch) {
	a := &r.asking
	a.page.Begin(ctx, func() bool {
		a.fetcher.Begin(&r.server, r.status.Health == target.HealthUp)
		if b == nil || !a.fetcher.Settled() {
			return false
		}
		url := r.server.URL
		lane := a.toPage.To(url, func() *scrape.Lane { return r.pool.Scraper.PageLane(url, r.target.Timeout) })
		return lane != nil && a.fetcher.Board(ctx, b, lane, a.fetched)
	})
}

// fetchedPage takes a page over; failed is a panic that there was instead.
func (r *Replica) fetchedPage(ctx context.Context, p *fetch.Page, failed error) {
	if failed != nil {
		r.reset()
		begun := r.asking.fetcher.Start
		p = &fetch.Page{Server: r.server, Err: failed, Start: begun, Took: time.Since(begun), Came: time.Now()}
	}
	r.arrived(ctx, p)
}

// checkReady asks a server that was ready whether it still is, in a batch where
// there is one; false when that is being asked already.
func (r *Replica) checkReady(ctx context.Context, before *api.Health, b *scrape.Batch) bool {
	a := &r.asking
	return a.health.Begin(ctx, func() bool {
		a.asked, a.before = a.seat.At, before
		if b == nil {
			return false
		}
		lane := a.toReady.To(a.seat.ReadyURL, func() *scrape.Lane {
			return r.pool.Scraper.QuestionLane(a.seat.ReadyURL, r.target.Timeout, a.seat.Kept)
		})
		return lane != nil && b.Ask(ctx, lane, nil, a.stillReady)
	})
}
