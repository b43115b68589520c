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

// scrape starts a scrape: through the batch if there is one and the page has a lane; otherwise,
// or if the lane fails, in a goroutine of its own.
func (r *Replica) scrape(ctx context.Context, b *lane.Batch) {
	run, f := r.startJob(ctx, &r.jobs.page), r.fetcher()
	if !f.Settled() {
		go run.scrapeAndPublish(f, nil)
		return
	}
	build := func() *lane.Lane { return r.pool.Scraper.PageLane(f.Server.URL, r.target.Timeout) }
	r.pageLane.add(b, f.Server.URL, build, func(answer lane.Answer, ok bool) {
		if ok {
			run.scrapeAndPublish(f, &answer)
			return
		}
		go run.scrapeAndPublish(f, nil)
	})
}

func (r *Replica) fetcher() *scrape.Fetcher {
	return &scrape.Fetcher{
		Scraper: r.pool.Scraper, Target: r.target, Marker: r.pool.Marker, Patience: r.pool.IdentityInterval,
		Up: r.status.Health == target.HealthUp, Fetched: scrape.Fetched{Server: r.server, Start: time.Now()},
	}
}

// scrapeAndPublish takes a page through all its steps: it fetches the page, parses it with the
// labels of the replica, derives series, assesses the replica and publishes the snapshot. The
// first page of a server or of a new process waits for the answers of the API, which determine
// its labels. The answer of a lane is valid until scrapeAndPublish returns.
func (run jobRun) scrapeAndPublish(f *scrape.Fetcher, answer *lane.Answer) {
	page := &f.Fetched
	if err := run.guard("scrape", func() { f.Fetch(run.ctx, answer) }); err != nil {
		page.Err, page.Received = err, time.Now()
		page.Duration = page.Received.Sub(page.Start)
	}
	delivered := run.finish(func() {
		run.setServer(run.ctx, page.Server)
		if first := page.Err == nil && run.status.Health != target.HealthUp; run.hasAPI() && (first || run.newlyRefused(page.Err)) {
			run.waitForAPI(run.ctx, page, first)
			return
		}
		raw, err := run.parse(page)
		if err == nil && run.hasAPI() && run.restarted(page, raw) {
			run.waitForAPI(run.ctx, page, true)
			return
		}
		run.publishPage(page, raw, err)
	})
	if !delivered {
		page.Release()
	}
}

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

// maxLateness is how much longer than two intervals and a timeout a page is served: pages may
// wait for the API for a second, and on a busy machine scrapes are late.
const maxLateness = 2 * time.Second

// publishPage derives series from a parsed page, assesses the replica and publishes the snapshot.
// A failed scrape removes the replica's series, but not the series about the replica.
func (r *Replica) publishPage(page *scrape.Fetched, raw *exposition.Block, err error) {
	page.Release()
	var next snapshot.Snapshot
	previous, suspended := r.status, r.slot.Suspended()
	shape := shape(raw)
	if err == nil {
		r.counters.addPage(shape.Drops())
		next.Raw, next.Derived, err = r.derive(page, raw, suspended)
	}
	if err == nil {
		r.observeLoad(page)
		next.Expires = page.Received.Add(suspended + 2*r.target.Interval + r.target.Timeout + maxLateness)
	} else {
		shape = nil
	}
	r.status.LeftOut = r.counters.setLeftOut(shape, r.deriver.Dropped())
	r.recordScrape(page, err)
	_ = r.guard("assess", func() { r.assess(err) })
	r.published.err = err
	r.publish(next)
	r.endStart()
	r.logChanges(&previous)
}

// derive adds a page to the windows and renders the derived series; suspended is how long the
// machine was suspended so far. If a rule panics, only the derived series of this page are lost.
func (r *Replica) derive(p *scrape.Fetched, raw *exposition.Block, suspended time.Duration) (exposed, derived *exposition.Block, err error) {
	received := p.Received.Sub(r.pool.Origin) + suspended
	if err = r.guard("derive", func() { r.deriver.Observe(received, raw, r.reader.last) }); err != nil {
		r.reset()
		return nil, nil, err
	}
	if r.pool.Page.Normalised || len(r.pool.Page.Aliases) > 0 {
		_ = r.guard("derive", func() { derived = r.deriver.Render(raw) })
	}
	if !r.pool.Page.Raw {
		raw = nil
	}
	return raw, derived, nil
}

func (r *Replica) recordScrape(p *scrape.Fetched, failed error) {
	s := &r.status
	s.PageURL, s.Companion = r.server.URL, r.server.Companion
	s.LastScrape, s.LastDuration = p.Start, p.Duration
	s.Scrapes++
	s.EngineEvidence = r.server.Evidence
	if failed == nil {
		s.Health, s.LastSuccess, s.LastError, s.LastReason = target.HealthUp, p.Received, "", ""
		return
	}
	reason := scrape.ReasonOf(failed)
	s.Failures++
	s.Samples = 0
	r.server.Uncertain = true
	if reason == scrape.ReasonBodyTooLarge {
		s.BodyBytes = -1
	}
	r.counters.failures[reason]++
	s.Health, s.LastError, s.LastReason = target.HealthDown, failed.Error(), string(reason)
	if r.target.Auto() && s.LastSuccess.IsZero() {
		// No page was ever found at this URL: detect the server again next time.
		r.server.URL = ""
	}
}

// laneCache holds the lane to a URL and builds a new one when the URL changes.
type laneCache struct {
	lane *lane.Lane
	url  string
}

// add adds the request of the lane to a URL to a batch. If there is no batch, or no lane that can
// be used now, it calls done at once.
func (c *laneCache) add(b *lane.Batch, url string, build func() *lane.Lane, done func(lane.Answer, bool)) {
	if c.url != url {
		c.close()
		c.url, c.lane = url, build()
	}
	if b == nil || c.lane == nil || !b.Add(c.lane, done) {
		done(lane.Answer{}, false)
	}
}

func (c *laneCache) close() {
	if c.lane != nil {
		c.lane.Close()
	}
}
