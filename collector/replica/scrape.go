package replica

import (
	"bytes"
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
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
// its labels. The answer of a lane is valid until scrapeAndPublish returns. A failed scrape removes
// the replica's series, but not the series about the replica.
func (run jobRun) scrapeAndPublish(f *scrape.Fetcher, answer *lane.Answer) {
	page := run.fetch(f, answer)
	defer page.Release()
	var wait *apiWait
	run.finish(func() { wait = run.takePage(page, false) })
	switch {
	case wait == nil:
	case answer != nil: // The goroutine of a lane must not wait.
		held := *page
		held.Page.Body = bytes.Clone(page.Page.Body)
		go wait.publish(run.ctx, &held)
	default:
		wait.publish(run.ctx, page)
	}
}

// takePage publishes a page, or returns what it must wait for first; it waits only once.
func (run jobRun) takePage(page *scrape.Fetched, waited bool) *apiWait {
	mayWait := func() bool { return !waited && run.hasAPI() }
	run.setServer(run.ctx, page.Server)
	first := page.Err == nil && run.status.Health != target.HealthUp
	if (first || run.newlyRefused(page.Err)) && mayWait() {
		return run.waitForAPI(run.ctx, page, first)
	}
	raw, seen, err := run.parse(page)
	if err == nil && mayWait() && run.restarted(&seen) {
		return run.waitForAPI(run.ctx, page, true)
	}
	page.Release()
	previous := run.status
	next, err := run.derive(page, raw, seen, err)
	run.recordScrape(page, err)
	run.noteScrape(page, err)
	run.askIfAccused(run.ctx)
	_ = run.guard("assess", func() { run.assess(err) })
	run.published.err = err
	run.publish(next)
	if !run.askWitnesses(run.ctx) {
		run.endStart()
	}
	run.logChanges(&previous)
	return nil
}

func (run jobRun) fetch(f *scrape.Fetcher, answer *lane.Answer) *scrape.Fetched {
	page := &f.Fetched
	if err := run.guard("scrape", func() { f.Fetch(run.ctx, answer) }); err != nil {
		page.Err, page.Received = err, time.Now()
		page.Duration = page.Received.Sub(page.Start)
	}
	return page
}

// parse parses a page, labels its series and determines which process it comes from.
func (r *Replica) parse(p *scrape.Fetched) (raw *exposition.Block, seen derive.Sighting, err error) {
	r.status.BodyBytes = int64(len(p.Page.Body))
	if p.Err != nil {
		return nil, seen, p.Err
	}
	if panicked := r.guard("parse", func() { raw, err = r.read(p) }); panicked != nil {
		r.reset()
		err = panicked
	}
	if err != nil {
		return nil, seen, err
	}
	r.status.Samples = raw.Shape().Lines() + raw.Shape().LeftOut().Series
	return raw, r.deriver.Sight(r.instant(p), raw, r.reader.last, r.connection(p)), nil
}

// maxLateness is how much longer than two intervals and a timeout a page is served: pages may
// wait for the API for a second, and on a busy machine scrapes are late.
const maxLateness = 2 * time.Second

// derive adds a page to the windows, and returns its series and those derived from it, or none if
// it failed. If a rule panics while rendering, only the derived series of this page are lost.
func (r *Replica) derive(
	p *scrape.Fetched, raw *exposition.Block, seen derive.Sighting, failed error,
) (next snapshot.Snapshot, err error) {
	if err = failed; err == nil {
		r.counters.addPage(raw.Shape().Drops())
		if err = r.guard("derive", func() { r.deriver.Observe(seen) }); err != nil {
			r.reset()
		}
	}
	if err != nil {
		r.status.LeftOut = r.counters.setLeftOut(nil, r.deriver.Dropped())
		return next, err
	}
	if r.target.Beside == "" && (r.pool.Page.Normalised || len(r.pool.Page.Aliases) > 0) {
		_ = r.guard("derive", func() { next.Derived = r.deriver.Render(raw) })
	}
	if r.pool.Page.Raw {
		next.Raw = raw
	}
	r.observeLoad(p)
	next.Expires = p.Received.Add(r.slot.Suspended() + 2*r.target.Interval + r.target.Timeout + maxLateness)
	r.status.LeftOut = r.counters.setLeftOut(raw.Shape(), r.deriver.Dropped())
	return next, nil
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
