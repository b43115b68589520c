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

// askWitnesses requests the page over new connections, beside the one that stays open, if that may
// show whether other processes answer at the address. A failure proves nothing and ends it.
func (r *Replica) askWitnesses(ctx context.Context) {
	n := r.deriver.TakeWitnesses()
	if n == 0 || r.jobs.witness.running {
		return
	}
	run, url := r.startJob(ctx, &r.jobs.witness), r.server.URL
	go func() {
		defer run.finish(func() {})
		_ = run.guard("witness", func() {
			ctx, cancel := context.WithTimeout(run.ctx, run.target.Timeout)
			defer cancel()
			for range n {
				if !run.askWitness(ctx, url) {
					return
				}
			}
		})
	}()
}

// askWitness requests the page once. It reports whether it may be requested again now.
func (run jobRun) askWitness(ctx context.Context, url string) (again bool) {
	asked := time.Now()
	page, err := run.pool.Scraper.ScrapeFresh(ctx, url, nil)
	defer page.Release()
	received := time.Now()
	if err != nil {
		return false
	}
	run.update(func() {
		// Of two pages that were requested at once, nobody knows which is the older one.
		again = run.ctx.Err() == nil && run.epoch == run.server.Epoch && !run.jobs.page.running && !run.jobs.page.started.After(asked)
		if again {
			again = run.guard("witness", func() { run.addWitness(&page, received) }) == nil
		}
	})
	return again
}

// addWitness compares a page with those before it. It changes neither labels nor shapes.
func (r *Replica) addWitness(p *scrape.Page, received time.Time) {
	reader := &r.reader
	page, err := reader.cache.Read(p.Body, p.ContentType, reader.label)
	if err != nil || reader.last == nil {
		return
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
	if err == nil && block.Shape() == read.Shape() {
		r.deriver.Witness(received.Sub(r.pool.Origin)+r.slot.Suspended(), block, read)
	}
}
