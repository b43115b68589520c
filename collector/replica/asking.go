package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/owner"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
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
	stillReady func(answer lane.Answer, ok bool)
	// toPage and toReady are the lanes.
	toPage, toReady laneFor
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
	a.stillReady = func(answer lane.Answer, ok bool) { a.health.Answer(a.before.Still(answer.Took), ok) }
}

// close gives up the lanes.
func (a *asking) close() {
	a.toPage.close()
	a.toReady.close()
}

// api is the server's own API, nil where there is none to ask.
func (r *Replica) api() *api.Endpoint {
	return r.asking.seat.Of(r.pool.Scraper, r.target, r.server.Engine, r.pool.GRPC)
}

// fetch begins to ask for the page, in a batch where there is one.
func (r *Replica) fetch(ctx context.Context, b *lane.Batch) {
	a := &r.asking
	a.page.Begin(ctx, func() bool {
		a.fetcher.Begin(&r.server, r.status.Health == target.HealthUp)
		if b == nil || !a.fetcher.Settled() {
			return false
		}
		url := r.server.URL
		l := a.toPage.to(url, func() *lane.Lane { return r.pool.Scraper.PageLane(url, r.target.Timeout) })
		return l != nil && a.fetcher.Enqueue(b, l, a.fetched)
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
func (r *Replica) checkReady(ctx context.Context, before *api.Health, b *lane.Batch) bool {
	a := &r.asking
	return a.health.Begin(ctx, func() bool {
		a.asked, a.before = a.seat.At, before
		if b == nil {
			return false
		}
		l := a.toReady.to(a.seat.ReadyURL, func() *lane.Lane {
			return r.pool.Scraper.QuestionLane(a.seat.ReadyURL, a.seat.Kept)
		})
		return l != nil && b.Add(l, a.stillReady)
	})
}

// laneFor is the lane to an address that may become another: it is built when it is
// first needed, and again when the address is another.
type laneFor struct {
	lane *lane.Lane
	url  string
}

// to returns the lane to an address, nil where that has none.
func (l *laneFor) to(url string, build func() *lane.Lane) *lane.Lane {
	if l.url != url {
		l.close()
		l.url, l.lane = url, build()
	}
	return l.lane
}

func (l *laneFor) close() {
	if l.lane != nil {
		l.lane.Close()
	}
}
