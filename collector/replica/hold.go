package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// longestHold bounds how long a page waits for answers of the API, so that its
// series need not change their labels one scrape later.
const longestHold = time.Second

// held is a page that waits for answers to questions that were put when it was
// asked for, or later.
type held struct {
	page *scrape.Fetched
	// identity is true when the answers about identity are awaited too.
	identity bool
	timer    *time.Timer
}

// ready reports whether the answers are there.
func (h *held) ready(j *jobs) bool {
	return j.health.since(h.page.Start) && (!h.identity || j.identity.since(h.page.Start))
}

// answersAPI reports whether there is an API that a page can wait for.
func (r *Replica) answersAPI() bool { return r.server.Known() && r.api() != nil }

// isFirst reports whether a page is the first one, or the first after a fault: it
// waits for what its labels are made of.
func (r *Replica) isFirst(p *scrape.Fetched) bool {
	return p.Err == nil && r.status.Health != target.HealthUp
}

// hold has a page wait for the server's API: for who the server is, where that is
// asked for by identity, and for whether it answers. Other pages never wait.
func (r *Replica) hold(ctx context.Context, p *scrape.Fetched, identity bool) {
	if identity {
		if !r.status.LastSuccess.IsZero() {
			r.answers.Distrust()
		}
		r.jobs.identity.want(ctx, p.Start, r.askIdentity)
	}
	r.jobs.health.want(ctx, p.Start, r.askHealth)
	p.Retain()
	h := &held{page: p, identity: identity}
	h.timer = time.AfterFunc(min(longestHold, r.target.Timeout/2), func() {
		r.do(func() {
			if r.held == h && ctx.Err() == nil {
				r.settle()
				r.proceed(ctx)
			}
		})
	})
	r.held = h
}

// settle publishes the page that is held.
func (r *Replica) settle() {
	h := r.held
	r.held = nil
	h.timer.Stop()
	raw, err := r.parse(h.page)
	r.publishPage(h.page, raw, err)
}

// drop gives the page up that is held, if there is one.
func (r *Replica) drop() {
	if r.held != nil {
		r.held.timer.Stop()
		r.held.page.Release()
		r.held = nil
	}
}

// beginsToRefuse reports whether a page is refused that was not before, while the
// API answered when it was asked last: what it said may be so no longer. A
// server that ended closes both ports, one that only lost its page does not.
func (r *Replica) beginsToRefuse(failed error) bool {
	if failed == nil {
		return false
	}
	reason := scrape.ReasonOf(failed)
	if reason != scrape.ReasonConnect && reason != scrape.ReasonReset ||
		r.status.Health == target.HealthDown && r.status.LastReason == string(reason) {
		return false
	}
	h := r.answers.Health
	return h != nil && h.API != engine.APIUnknown && h.API != engine.APIRefused
}
