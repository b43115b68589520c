package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// at returns the time of an instant that was passed to the deriver.
func (r *Replica) at(d time.Duration) time.Time {
	return r.pool.Origin.Add(d - r.slot.Suspended())
}

// noteScrape remembers what a scrape showed for the next verdicts.
func (r *Replica) noteScrape(p *scrape.Fetched, failed error) {
	if failed != nil {
		r.memory.NoPage(scrape.ReasonOf(failed) == scrape.ReasonConnect)
		return
	}
	c := r.deriver.Conditions()
	r.memory.Page(p.Start, &c)
}

// askIfAccused sends a question to a server that the pages speak against. Only the newest answer
// since then counts.
func (r *Replica) askIfAccused(ctx context.Context) {
	now := time.Now()
	if !r.pool.Canary.Asks() || r.jobs.canary.running || r.deriver.Processes() > 0 {
		return
	}
	if c := r.deriver.Conditions(); !r.memory.MayAsk(now, &c) {
		return
	}
	order := r.canaryOrder()
	if order.Hold != "" {
		return
	}
	r.memory.Asked(now)
	r.deriver.BeginOwn()
	runJob(r.startJob(ctx, &r.jobs.canary), "canary", func(ctx context.Context) canary.Report {
		return r.pool.Canary.Confirms(ctx, r.pool.Scraper, order.Question)
	}, func(report canary.Report, failed error) {
		if failed != nil {
			report = canary.Report{}
		}
		r.deriver.EndOwn(order.Question.Model, report.Result.Answered())
		r.memory.Answer(report)
		r.reassess()
	})
}
