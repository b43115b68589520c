package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

func (r *Replica) canaryDue(ctx context.Context, _ uint64, _ *lane.Batch) {
	if time.Since(r.jobs.canary.started) < time.Duration(r.pool.Canary.Interval)/2 {
		return // The previous request is still running.
	}
	r.canary.Due()
	r.sendCanary(ctx)
}

func (r *Replica) sendCanary(ctx context.Context) {
	if r.jobs.canary.running {
		return
	}
	order := r.canary.Next()
	if order == nil {
		return
	}
	previous := r.canary.Result()
	runJob(r.startJob(ctx, &r.jobs.canary), "canary", func(ctx context.Context) canary.Report {
		return r.pool.Canary.Ask(ctx, r.pool.Scraper, order.Question)
	}, func(report canary.Report, failed error) {
		switch {
		case failed != nil || report.Result == "":
		case r.canary.Take(report, 2*(r.target.Timeout+r.target.Interval)):
			r.noteAnswer(&report)
			r.canary.WantCancel(time.Duration(r.pool.Canary.CancelWithin))
			r.logCanary(previous)
		default:
			r.jobs.identity.ensure(ctx, time.Now(), r.queryIdentity)
		}
	})
}

// followUpCanary accepts a waiting report once the identity was queried again and is on a page,
// and sends requests that are due.
func (r *Replica) followUpCanary(ctx context.Context) {
	if since, deadline, waiting := r.canary.Unconfirmed(); waiting {
		identified := r.jobs.identity.answeredSince(since) && r.reader.identity.Facts == r.answers.Facts
		if identified || time.Now().After(deadline) {
			previous := r.canary.Result()
			r.updateCanaryOrder()
			r.canary.Confirm()
			r.logCanary(previous)
		}
	}
	r.sendCanary(ctx)
	r.sendCancelCheck(ctx)
	r.sendStallCheck(ctx)
}

// sendStallCheck sends a request to a server that is suspected of a stall by a single sign.
func (r *Replica) sendStallCheck(ctx context.Context) {
	if !r.pool.Canary.Confirm || r.jobs.canary.running || time.Since(r.stallCheckedAt) < canary.ConfirmEvery {
		return
	}
	if stall := r.deriver.Conditions().Stall; !stall.Answerable || stall.Witnessed {
		return
	}
	order := r.canaryOrder()
	if order.Hold != "" {
		return
	}
	r.stallCheckedAt = time.Now()
	runJob(r.startJob(ctx, &r.jobs.canary), "canary", func(ctx context.Context) canary.Report {
		return r.pool.Canary.ConfirmStall(ctx, r.pool.Scraper, order.Question)
	}, func(report canary.Report, failed error) {
		if failed == nil && report.Result != "" {
			r.stallCheck = report
			r.noteAnswer(&report)
			r.reassess()
		}
	})
}

// noteAnswer tells the deriver that the server answered a request: gauges of requests in flight
// that do not move are stale then.
func (r *Replica) noteAnswer(report *canary.Report) {
	if report.Result == canary.OK {
		r.deriver.NoteAnswer()
	}
}

// canaryHung reports whether the last canary request ended after since and the server
// accepted it without an answer.
func (r *Replica) canaryHung(since time.Time) bool {
	last := r.stallCheck
	if s := r.canary.Last(); s != nil && s.Last.At.After(last.At) {
		last = s.Last
	}
	return last.Result.Hangs() && last.At.After(since)
}

func (r *Replica) sendCancelCheck(ctx context.Context) {
	if r.jobs.canary.running {
		return
	}
	order, pace, seen := r.canary.NextCancel()
	if order == nil {
		return
	}
	runJob(r.startJob(ctx, &r.jobs.cancelCheck), "canary", func(ctx context.Context) canary.Cancellation {
		return r.pool.Canary.Cancel(ctx, r.pool.Scraper, order.Question, pace, seen)
	}, func(d canary.Cancellation, failed error) {
		if failed != nil {
			d = canary.Cancellation{Reason: failed.Error()}
		}
		r.canary.Canceled(d)
	})
}

func (r *Replica) observeLoad(p *scrape.Fetched) {
	if r.pool.Canary.CancelWithin == 0 {
		return
	}
	c := r.deriver.Conditions()
	r.canary.Observe(canary.Load{Requested: p.Start, Received: p.Received, InFlight: c.InFlight, Known: c.InFlightKnown})
}

func (r *Replica) canaryOrder() *canary.Order {
	return assess.CanaryOrder(r.server.Engine, r.reader.identity, r.answers.ConfirmedURL(r.api()), r.pool.Canary.Model, assess.State(r.status.State))
}

func (r *Replica) updateCanaryOrder() {
	if !r.pool.Canary.Enabled || r.target.Silent {
		return
	}
	r.canary.Order(r.canaryOrder())
	r.status.Canary = r.canary.Status()
}

func (r *Replica) logCanary(previous canary.Result) {
	last, model := &r.canary.Last().Last, r.status.Canary.Model
	switch good := previous == "" || previous == canary.OK; {
	case last.Result != canary.OK && last.Result != previous:
		r.log.Warn("Canary fails", "model", model, "result", string(last.Result), "reason", last.Reason)
	case last.Result == canary.OK && !good:
		r.log.Info("Canary recovered", "model", model)
	}
}
