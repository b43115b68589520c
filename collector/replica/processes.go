package replica

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// connection returns over which connection a page came, before it is recorded.
func (r *Replica) connection(p *scrape.Fetched) derive.Connection {
	switch {
	case p.Page.Kept:
		return derive.Kept
	case r.disconnected():
		return derive.Reopened
	}
	return derive.Opened
}

// disconnected reports whether the connection for the last page was refused or lost.
func (r *Replica) disconnected() bool {
	s := &r.status
	return s.Health == target.HealthDown &&
		(s.LastReason == string(scrape.ReasonConnect) || s.LastReason == string(scrape.ReasonReset))
}

// requestFresh requests fresh pages, over new connections beside the one that stays open, while
// they may show whether other processes answer at the address, or until the next scrape.
func (r *Replica) requestFresh(ctx context.Context) {
	if r.jobs.fresh.running || !r.deriver.TakeFresh() {
		return
	}
	run, url := r.startJob(ctx, &r.jobs.fresh), r.server.URL
	go run.requestAll(ctx, url)
}

// requestAll requests the page until nobody has to know more. It waits like a replica that starts,
// behind those that do.
func (run jobRun) requestAll(ctx context.Context, url string) {
	defer run.finish(func() {})
	ctx, cancel := context.WithTimeout(ctx, run.target.Timeout)
	defer cancel()
	if end := run.awaitStart(ctx); end != nil {
		defer end()
	}
	for run.requestOne(ctx, url) {
		continue
	}
}

// requestOne requests the page once. It reports whether it shall be requested again now.
func (run jobRun) requestOne(ctx context.Context, url string) (again bool) {
	page := &scrape.Fetched{}
	panicked := run.guard("fresh page", func() { page = scrape.FetchFresh(ctx, run.pool.Scraper, url) })
	defer page.Release()
	run.update(func() {
		late := run.jobs.page.overlaps(page.Start)
		switch {
		case run.ctx.Err() != nil || run.epoch != run.server.Epoch:
		case panicked != nil || page.Err != nil:
			run.deriver.ForgoFresh()
		case run.jobs.wait.overlaps(page.Start): // Nobody knows which of them is the older one.
		case !run.addFresh(page, late):
			run.deriver.ForgoFresh()
		default:
			again = !late && run.deriver.TakeFresh()
		}
	})
	return again
}

// addFresh compares a page with those before it, and if it is late, since another one was on its way at the
// same time, with those before and after both. It reports whether that is possible. It changes neither
// labels nor shapes.
func (r *Replica) addFresh(p *scrape.Fetched, late bool) bool {
	reader := &r.reader
	if p.Page.Cached { // The connection leads to a cache, which shows nothing of processes.
		return false
	}
	page, err := r.readText(&p.Page)
	if err != nil || reader.last == nil {
		return false
	}
	var block *exposition.Block
	read := reader.last
	if page.New() {
		if block, err = page.Watched(); err == nil {
			read = engine.ReadPage(r.server.Engine, block)
		}
	} else {
		block, err = reader.cache.Add(&page, reader.label)
	}
	if err != nil || block.Shape() != read.Shape() {
		return false
	}
	if late {
		r.deriver.AddLate(r.instant(p), block, read, r.jobs.page.running)
	} else {
		r.deriver.AddFresh(r.instant(p), block, read)
	}
	return true
}
