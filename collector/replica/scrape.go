package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// ageSlack is how much longer than two intervals and a timeout a page may be
// shown: pages are held for a second, and a busy machine is late.
const ageSlack = 2 * time.Second

// scrape begins a scrape: over the lane to the page where there is one and a batch
// to put the request in, in a goroutine of its own otherwise, or when the lane
// brings no answer.
func (r *Replica) scrape(ctx context.Context, b *lane.Batch) {
	p, f := r.begin(ctx, &r.jobs.page), r.fetcher()
	if b != nil && f.Settled() {
		l := r.pageLane.to(f.Server.URL, func() *lane.Lane { return r.pool.Scraper.PageLane(f.Server.URL, r.target.Timeout) })
		if l != nil && b.Add(l, func(answer lane.Answer, ok bool) {
			if ok {
				p.scrapeAndPublish(f, &answer)
				return
			}
			go p.scrapeAndPublish(f, nil)
		}) {
			return
		}
	}
	go p.scrapeAndPublish(f, nil)
}

// fetcher returns what asks for the next page, given what is known by now.
func (r *Replica) fetcher() *scrape.Fetcher {
	return &scrape.Fetcher{
		Scraper: r.pool.Scraper, Target: r.target, Marker: r.pool.Marker, Patience: r.pool.IdentityInterval,
		Up: r.status.Health == target.HealthUp, Fetched: scrape.Fetched{Server: r.server, Start: time.Now()},
	}
}

// scrapeAndPublish is the life of a page: it is fetched, then parsed with the labels
// of the replica, derived from, assessed and published. A page that says who its
// server is only together with the answers of the API waits for those in between.
// An answer that came over a lane is valid until this returns.
func (p jobRun) scrapeAndPublish(f *scrape.Fetcher, answer *lane.Answer) {
	page := &f.Fetched
	if failed := p.guard("scrape", func() { f.Fetch(p.ctx, answer) }); failed != nil {
		page.Err, page.Received = failed, time.Now()
		page.Duration = page.Received.Sub(page.Start)
	}
	taken := p.answer(func() {
		p.found(p.ctx, page.Server)
		if first := p.isFirst(page); p.answersAPI() && (first || p.beginsToRefuse(page.Err)) {
			p.hold(p.ctx, page, first)
			return
		}
		raw, err := p.parse(page)
		if err == nil && p.answersAPI() && p.another(page, raw) {
			p.hold(p.ctx, page, true)
			return
		}
		p.publishPage(page, raw, err)
	})
	if !taken {
		page.Release()
	}
}

// publishPage takes a parsed page down the rest of the line, to the snapshot that
// readers see. A scrape that failed takes the replica's series off the page; those
// about it stay.
func (r *Replica) publishPage(page *scrape.Fetched, raw *exposition.Block, err error) {
	page.Release()
	var next snapshot.Snapshot
	before, asleep := r.status, r.slot.Suspended()
	shape := shape(raw)
	if err == nil {
		r.tally.Count(shape.Drops())
		next.Raw, next.Derived, err = r.derive(page, raw, asleep)
	}
	if err == nil {
		r.sightCanary(page)
		next.Expires = page.Received.Add(asleep + 2*r.target.Interval + r.target.Timeout + ageSlack)
	} else {
		shape = nil
	}
	r.status.LeftOut = r.tally.LeaveOut(shape, r.numbers.deriver.LeftOut())
	r.report(page, err)
	_ = r.guard("assess", func() { r.assess(err) })
	r.shown.failed = err
	r.publish(next)
	r.startEnded()
	r.announce(&before)
}

// parse reads a page with the labels of the replica.
func (r *Replica) parse(p *scrape.Fetched) (raw *exposition.Block, err error) {
	r.status.BodyBytes = int64(len(p.Page.Body))
	if p.Err != nil {
		return nil, p.Err
	}
	if panicked := r.guard("parse", func() { raw, err = r.read(p) }); panicked != nil {
		r.reset()
		err = panicked
	}
	if err != nil {
		return nil, err
	}
	r.status.Samples = raw.Shape().Lines() + raw.Shape().LeftOut().Series
	return raw, nil
}

// derive takes the numbers of a page into the window of the derived series, given
// how long the machine slept so far, and renders what is shown of page and window. A
// rule that panics costs the derived series of the page alone.
func (r *Replica) derive(p *scrape.Fetched, raw *exposition.Block, asleep time.Duration) (shown, derived *exposition.Block, err error) {
	at := p.Received.Sub(r.pool.Origin) + asleep
	if err = r.guard("derive", func() { r.numbers.deriver.Follow(at, raw, r.page.last) }); err != nil {
		r.reset()
		return nil, nil, err
	}
	if r.pool.Page.Normalised || len(r.pool.Page.Aliases) > 0 {
		_ = r.guard("derive", func() { derived = r.numbers.deriver.Render(raw) })
	}
	if !r.pool.Page.Raw {
		raw = nil
	}
	return raw, derived, nil
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
