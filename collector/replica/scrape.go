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
	f := r.fetcher()
	var page *lane.Lane
	if f.Settled() {
		page = r.pageLane.to(f.Server.URL, func() *lane.Lane {
			return r.pool.Scraper.PageLane(f.Server.URL, r.target.Timeout)
		})
	}
	run := r.startJob(ctx, &r.jobs.page)
	ask(b, page, func(answer lane.Answer, ok bool) {
		if ok {
			run.scrapeAndPublish(f, &answer)
			return
		}
		go run.scrapeAndPublish(f, nil)
	})
}

func (r *Replica) fetcher() *scrape.Fetcher {
	return &scrape.Fetcher{
		Scraper:     r.pool.Scraper,
		Target:      r.target,
		Kinds:       r.pool.kinds(),
		Marker:      r.pool.Marker,
		Patience:    r.pool.IdentityInterval,
		Up:          r.status.Health == target.HealthUp,
		Unconnected: r.status.LastSuccess.IsZero() || r.disconnected(),
		Fetched:     scrape.Fetched{Server: r.server, Start: time.Now()},
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

// takePage publishes a page, or returns what it must wait for first; it waits only once. If that
// panics, the scrape has failed.
func (run jobRun) takePage(page *scrape.Fetched, waited bool) (wait *apiWait) {
	previous := run.status
	failed := run.guard("page", func() { wait = run.publishPage(page, waited, &previous) })
	if failed != nil {
		run.publishPanic(page, failed, &previous)
	}
	return wait
}

// publishPage takes a page that was fetched through its other steps, unless it must wait before. The
// log compares the status with the previous one.
func (run jobRun) publishPage(page *scrape.Fetched, waited bool, previous *target.Status) *apiWait {
	mayWait := func() bool { return !waited && run.hasAPI() }
	run.setServer(run.ctx, page.Server)
	first := page.Err == nil && run.beginsAnew()
	if (first || run.newlyRefused(page.Err)) && mayWait() {
		return run.waitForAPI(run.ctx, page, first)
	}
	raw, seen, err := run.parse(page)
	if err == nil && mayWait() && run.restarted(&seen) {
		return run.waitForAPI(run.ctx, page, true)
	}
	page.Release()
	var next snapshot.Snapshot
	if err == nil {
		next = run.derive(page, raw, seen)
	}
	run.status.LeftOut = run.counters.setLeftOut(shape(raw), run.deriver.Dropped())
	run.recordScrape(page, err)
	run.noteScrape(page, err)
	run.askIfAccused(run.ctx)
	run.assess(err)
	run.published.err = err
	run.publish(next)
	run.endStart()
	run.requestFresh(run.ctx)
	run.logChanges(previous)
	return nil
}

// beginsAnew reports whether the next page may be the first of a process, as no page came the last time. An answer
// that came in its place, without series, says nothing of another process: the next page shows whether there is one.
func (r *Replica) beginsAnew() bool {
	empty := r.status.LastReason == string(scrape.ReasonEmpty)
	return r.status.Health != target.HealthUp && (!empty || r.status.LastSuccess.IsZero())
}

// publishPanic publishes that a scrape has failed, whatever had been done with its page. The next
// scrape starts with empty caches and windows.
func (run jobRun) publishPanic(page *scrape.Fetched, failed error, previous *target.Status) {
	bodyBytes := run.status.BodyBytes
	run.status = *previous
	run.status.BodyBytes = bodyBytes
	run.reset()
	run.status.LeftOut = run.counters.setLeftOut(nil, run.deriver.Dropped())
	run.recordScrape(page, failed)
	run.noteScrape(page, failed)
	run.published.err = failed
	defer func() { // Even if the verdict was what panicked.
		run.publish(snapshot.Snapshot{})
		run.endStart()
		run.logChanges(previous)
	}()
	run.assess(failed)
}

func (run jobRun) fetch(f *scrape.Fetcher, answer *lane.Answer) *scrape.Fetched {
	page := &f.Fetched
	if err := run.guard("scrape", func() { f.Fetch(run.asking, answer) }); err != nil {
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
	if raw, err = r.read(p); err != nil {
		return nil, seen, err
	}
	r.status.Samples = raw.Shape().Lines() + raw.Shape().LeftOut().Series
	seen = r.deriver.Sight(r.instant(p), raw, r.reader.last, r.connection(p))
	from, to := p.Made()
	seen.Took, seen.Age = to.Sub(from), p.Page.Age
	return raw, seen, nil
}

// maxLateness is how much longer than two intervals and a timeout a page is served: pages may
// wait for the API for a second, and on a busy machine scrapes are late.
const maxLateness = 2 * time.Second

// derive adds a page to the windows, and returns its series and those derived from it.
func (r *Replica) derive(p *scrape.Fetched, raw *exposition.Block, seen derive.Sighting) (next snapshot.Snapshot) {
	r.counters.addPage(raw.Shape().Drops())
	r.deriver.Observe(seen)
	if r.target.Beside == "" && (r.pool.Page.Normalised != 0 || len(r.pool.Page.Aliases) > 0) {
		next.Derived = r.deriver.Render(raw)
	}
	switch r.pool.Page.Raw {
	case exposition.RawAll:
		next.Raw = raw
	case exposition.RawUnmapped:
		next.Raw = r.deriver.Unmapped(raw)
	case exposition.RawNone:
	}
	next.Expires = p.Received.Add(r.slot.Suspended() + 2*r.target.Interval + r.target.Timeout + maxLateness)
	return next
}

func (r *Replica) recordScrape(p *scrape.Fetched, failed error) {
	s := &r.status
	s.PageURL, s.Companion = r.server.URL, r.server.Companion
	s.LastScrape, s.LastDuration = p.Start, p.Duration
	s.Scrapes++
	s.EngineEvidence = r.server.Evidence
	if failed == nil {
		s.Health = target.HealthUp
		s.LastSuccess = p.Received
		s.LastError, s.LastReason, s.LastFailure = "", "", nil
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
	s.LastFailure = failed
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

// to returns the lane to a URL, nil if there is none.
func (c *laneCache) to(url string, build func() *lane.Lane) *lane.Lane {
	if c.url != url {
		c.close()
		c.url, c.lane = url, build()
	}
	return c.lane
}

func (c *laneCache) close() {
	if c.lane != nil {
		c.lane.Close()
	}
}

// ask adds the request of a lane to a batch. If one is nil, or the lane cannot be used now, it calls
// done at once.
func ask(b *lane.Batch, l *lane.Lane, done func(answer lane.Answer, ok bool)) {
	if b == nil || l == nil || !b.Add(l, done) {
		done(lane.Answer{}, false)
	}
}
