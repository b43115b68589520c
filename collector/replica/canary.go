package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

// dueCanary sends a request, or has it sent as soon as one may be.
func (r *Replica) dueCanary(ctx context.Context, _ uint64, _ *lane.Batch) {
	if time.Since(r.jobs.canary.began) < time.Duration(r.pool.Canary.Interval)/2 {
		return // The last one was late.
	}
	r.canary.Due()
	r.sendCanary(ctx)
}

// sendCanary sends a request if one is due and may be sent.
func (r *Replica) sendCanary(ctx context.Context) {
	if r.jobs.canary.running {
		return
	}
	order := r.canary.Next()
	if order == nil {
		return
	}
	cfg, scraper, before := &r.pool.Canary, r.pool.Scraper, r.canary.Last()
	ask(r.begin(ctx, &r.jobs.canary), "canary", func(job context.Context) canary.Report {
		return cfg.Ask(job, scraper, order.Question)
	}, func(report canary.Report, failed error) {
		switch {
		case failed != nil || report.Result == "":
		case r.canary.Take(report, 2*(r.target.Timeout+r.target.Interval)):
			r.answered(&report)
			r.canary.WantCancel(time.Duration(cfg.CancelWithin))
			r.announceCanary(before)
		default:
			r.jobs.identity.want(ctx, time.Now(), r.askIdentity)
		}
	})
}

// proceedCanary has a report that waits taken in, once the server has said who
// it is and a page has shown it, and sends a request that is due.
func (r *Replica) proceedCanary(ctx context.Context) {
	if since, until, waits := r.canary.Unconfirmed(); waits {
		said := r.jobs.identity.since(since) && r.page.identity.Facts == r.answers.Facts
		if said || time.Now().After(until) {
			before := r.canary.Last()
			r.orderCanary()
			r.canary.Confirm()
			r.announceCanary(before)
		}
	}
	r.sendCanary(ctx)
	r.leaveCanary(ctx)
	r.confirmStall(ctx)
}

// confirmStall asks a server of which one sign says that it stands still.
func (r *Replica) confirmStall(ctx context.Context) {
	if !r.pool.Canary.Confirm || r.jobs.canary.running || time.Since(r.confirmAt) < canary.ConfirmEvery {
		return
	}
	if still := r.numbers.deriver.Conditions().Still; !still.Answerable || still.Witnessed {
		return
	}
	order := r.canaryOrder()
	if order.Hold != "" {
		return
	}
	r.confirmAt = time.Now()
	cfg, scraper := &r.pool.Canary, r.pool.Scraper
	ask(r.begin(ctx, &r.jobs.canary), "canary", func(job context.Context) canary.Report {
		return cfg.ConfirmStall(job, scraper, order.Question)
	}, func(report canary.Report, failed error) {
		if failed == nil && report.Result != "" {
			r.confirmed = report
			r.answered(&report)
			r.reassess()
		}
	})
}

// answered has what the gauges say is in flight count no more when a request was
// answered that was sent while nothing moved.
func (r *Replica) answered(report *canary.Report) {
	if report.Result == canary.OK {
		r.numbers.deriver.Answered()
	}
}

// unanswered reports whether the last request of the canary got nothing, and ended
// after a moment.
func (r *Replica) unanswered(since time.Time) bool {
	last := r.confirmed
	if s := r.canary.Last(); s != nil && s.Last.At.After(last.At) {
		last = s.Last
	}
	return last.Result.Hangs() && last.At.After(since)
}

// canaryOrder says what may be asked of the replica.
func (r *Replica) canaryOrder() *canary.Order {
	return assess.CanaryOrder(r.server.Engine, r.page.identity, r.answers.ConfirmedURL(r.api()), r.pool.Canary.Model, assess.State(r.status.State))
}

// leaveCanary sends the request whose client is to leave in the middle, if it is
// time for one.
func (r *Replica) leaveCanary(ctx context.Context) {
	if r.jobs.canary.running {
		return
	}
	order, pace, seen := r.canary.NextCancel()
	if order == nil {
		return
	}
	cfg, scraper := &r.pool.Canary, r.pool.Scraper
	ask(r.begin(ctx, &r.jobs.leave), "canary", func(job context.Context) canary.Departure {
		return cfg.Leave(job, scraper, order.Question, pace, seen)
	}, func(d canary.Departure, failed error) {
		if failed != nil {
			d = canary.Departure{Reason: failed.Error()}
		}
		r.canary.Depart(d)
	})
}

// sightCanary has the canary see what a page shows of the server's load.
func (r *Replica) sightCanary(p *scrape.Fetched) {
	if r.pool.Canary.CancelWithin == 0 {
		return
	}
	c := r.numbers.deriver.Conditions()
	r.canary.Saw(canary.Load{Began: p.Start, Came: p.Received, InFlight: c.InFlight, Known: c.Counted})
}

// orderCanary says what may be asked of the replica, as it is known now.
func (r *Replica) orderCanary() {
	if !r.pool.Canary.Enabled || r.target.Silent {
		return
	}
	r.canary.Order(r.canaryOrder())
	r.status.Canary = r.canary.Status()
}

// announceCanary logs how the last request of the canary went, given what those
// before it had shown, if that changed.
func (r *Replica) announceCanary(before *canary.Summary) {
	now, model := &r.canary.Last().Last, r.status.Canary.Model
	good := before == nil || before.Last.Result == canary.OK
	switch {
	case now.Result != canary.OK && (good || before.Last.Result != now.Result):
		r.log.Warn("Canary fails", "model", model, "result", string(now.Result), "reason", now.Reason)
	case now.Result == canary.OK && !good:
		r.log.Info("Canary recovered", "model", model)
	}
}
