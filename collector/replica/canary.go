package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

func (r *Replica) canaryDue(ctx context.Context, _ uint64, _ *lane.Batch) {
	if time.Since(r.jobs.canary.started) < time.Duration(r.pool.Canary.Interval)/2 {
		return // The previous request is still running.
	}
	r.memory.Canary.Due()
	r.sendCanary(ctx)
}

func (r *Replica) sendCanary(ctx context.Context) {
	if r.jobs.canary.running {
		return
	}
	order := r.memory.Canary.Next()
	if order == nil {
		return
	}
	previous := r.memory.Canary.Result()
	r.memory.CanaryAsked(time.Now())
	r.deriver.BeginOwn(r.pool.Canary.MaxTokens)
	runJob(r.startJob(ctx, &r.jobs.canary), "canary", func(ctx context.Context) canary.Report {
		return r.pool.Canary.Ask(ctx, r.pool.Scraper, order.Question)
	}, func(report canary.Report, failed error) {
		r.deriver.EndOwn(order.Question.Model, report.Answered())
		switch {
		case failed != nil || report.Result == "":
		case r.memory.Canary.Take(report, 2*(r.target.Timeout+r.target.Interval)):
			r.memory.CanaryAnswered()
			r.memory.Canary.WantCancel(time.Duration(r.pool.Canary.CancelWithin))
			r.logCanary(previous)
		default:
			r.jobs.identity.ensure(ctx, time.Now(), r.queryIdentity)
		}
	})
}

// followUpCanary accepts a waiting report once the identity was queried again and is on a page,
// and sends requests that are due.
func (r *Replica) followUpCanary(ctx context.Context) {
	if since, deadline, waiting := r.memory.Canary.Unconfirmed(); waiting {
		identified := r.jobs.identity.answeredSince(since) && r.reader.identity.Facts == r.answers.Facts
		if identified || time.Now().After(deadline) {
			previous := r.memory.Canary.Result()
			r.updateCanaryOrder()
			r.memory.Canary.Confirm()
			r.memory.CanaryAnswered()
			r.logCanary(previous)
		}
	}
	r.sendCanary(ctx)
	r.sendCancelCheck(ctx)
	r.askIfAccused(ctx)
}

func (r *Replica) sendCancelCheck(ctx context.Context) {
	if r.jobs.canary.running {
		return
	}
	order, pace, seen := r.memory.Canary.NextCancel()
	if order == nil {
		return
	}
	r.deriver.BeginOwn(r.pool.Canary.CancelTokens)
	runJob(r.startJob(ctx, &r.jobs.cancelCheck), "canary", func(ctx context.Context) canary.Cancellation {
		return r.pool.Canary.Cancel(ctx, r.pool.Scraper, order.Question, pace, seen)
	}, func(d canary.Cancellation, failed error) {
		r.deriver.EndOwn(order.Question.Model, failed == nil)
		if failed != nil {
			d = canary.Cancellation{Reason: failed.Error()}
		}
		r.memory.Canary.Canceled(d)
	})
}

func (r *Replica) observeLoad(p *scrape.Fetched, c *derive.Conditions) {
	if r.pool.Canary.CancelWithin == 0 {
		return
	}
	r.memory.Canary.Observe(canary.Load{
		Requested: p.Start,
		Received:  p.Received,
		InFlight:  c.InFlight,
		Known:     c.InFlightKnown,
	})
}

// canaryOrder returns the order for requests to a model, to the entry model if it is empty.
func (r *Replica) canaryOrder(model string) *canary.Order {
	o := assess.CanaryOrder(
		r.server.Engine, r.reader.identity, r.answers.ConfirmedURL(r.api()), model, assess.State(r.status.State),
	)
	if o.Hold == "" && r.reader.last.MemoryUnsure() {
		o.Hold = "its memory was released before this exporter saw it, and no step has shown yet that it was resumed"
	}
	return o
}

func (r *Replica) updateCanaryOrder() {
	if !r.pool.Canary.Enabled || r.target.Silent {
		return
	}
	r.memory.Canary.Order(r.canaryOrder(r.pool.Canary.Model))
	r.status.Canary = r.memory.Canary.Status()
}

func (r *Replica) logCanary(previous canary.Result) {
	last, model := &r.memory.Canary.Last().Last, r.status.Canary.Model
	switch good := previous == "" || previous == canary.OK; {
	case last.Result != canary.OK && last.Result != previous:
		r.log.Warn("Canary fails", "model", model, "result", string(last.Result), "reason", last.Reason)
	case last.Result == canary.OK && !good:
		r.log.Info("Canary recovered", "model", model)
	}
}
