package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// connection returns over which connection a page came, before it is recorded.
func (r *Replica) connection(p *scrape.Fetched) derive.Connection {
	s := &r.status
	switch {
	case p.Page.Kept:
		return derive.Kept
	case s.Health == target.HealthDown && (s.LastReason == string(scrape.ReasonConnect) || s.LastReason == string(scrape.ReasonReset)):
		return derive.Reopened
	}
	return derive.Opened
}

// askWitnesses requests the page over new connections, beside the one that stays open, while that
// may show whether other processes answer at the address, or until the next scrape.
func (r *Replica) askWitnesses(ctx context.Context) {
	if r.jobs.witness.running || !r.deriver.TakeWitness() {
		return
	}
	run, url := r.startJob(ctx, &r.jobs.witness), r.server.URL
	go func() {
		defer run.finish(func() {})
		ctx, cancel := context.WithTimeout(run.ctx, run.target.Timeout)
		defer cancel()
		for run.askWitness(ctx, url) {
			continue
		}
	}()
}

// askWitness requests the page once. It reports whether it shall be requested again now.
func (run jobRun) askWitness(ctx context.Context, url string) (again bool) {
	var page scrape.Page
	var err error
	asked := time.Now()
	panicked := run.guard("witness", func() { page, err = run.pool.Scraper.ScrapeFresh(ctx, url, nil) })
	defer page.Release()
	received := time.Now()
	run.update(func() {
		// Of two pages that were requested at once, nobody knows which is the older one.
		overlaps := run.jobs.page.running || run.jobs.page.started.After(asked)
		switch {
		case run.ctx.Err() != nil || run.epoch != run.server.Epoch:
		case err != nil || panicked != nil || !overlaps && !run.addWitness(&page, received):
			run.deriver.ForgoWitnesses()
		default:
			again = !overlaps && run.deriver.TakeWitness()
		}
	})
	return again
}

// addWitness compares a page with those before it. It reports whether that is possible. It changes
// neither labels nor shapes.
func (r *Replica) addWitness(p *scrape.Page, received time.Time) bool {
	reader := &r.reader
	page, err := reader.cache.Read(p.Body, p.ContentType, reader.label)
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
	r.deriver.Witness(received.Sub(r.pool.Origin)+r.slot.Suspended(), block, read)
	return true
}
