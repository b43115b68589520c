package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/fetch"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// longestHold bounds how long a page waits for answers of the API, so that its
// series need not change their labels one scrape later.
const longestHold = time.Second

// held is a page that waits for answers to questions that were put when it was
// asked for, or later.
type held struct {
	page *fetch.Page
	// identity is true when the answers about identity are awaited too.
	identity bool
	timer    *time.Timer
}

// ready says whether the answers are there.
func (h *held) ready(j *jobs) bool {
	return j.health.Since(h.page.Start) && (!h.identity || j.identity.Since(h.page.Start))
}

// drop gives a page up that nobody will see.
func (h *held) drop() {
	if h != nil {
		h.timer.Stop()
	}
}

// arrived takes over what a scrape found at the address, and publishes the page
// unless it has to wait for the server's API: the first page, the first after a
// fault and that of a process that began again, for what its labels are made of;
// one that begins to be refused for whether the API still answers. Other pages never wait.
func (r *Replica) arrived(ctx context.Context, p *fetch.Page) {
	r.found(ctx, p.Server)
	first := p.Err == nil && r.status.Health != target.HealthUp
	switch {
	case !r.server.Known() || r.api() == nil:
		r.finish(p)
		return
	case !first && p.Err == nil:
		raw, err := r.parse(p)
		if err != nil || !r.another(p, raw) {
			r.conclude(p, raw, err)
			return
		}
		first = true
	case !first && !r.beginsToRefuse(p.Err):
		r.finish(p)
		return
	}
	if first {
		if !r.status.LastSuccess.IsZero() {
			r.answers.Distrust()
		}
		r.jobs.identity.Want(ctx, p.Start, r.askIdentity)
	}
	r.jobs.health.Want(ctx, p.Start, r.askHealth)
	h := &held{page: p, identity: first}
	h.timer = time.AfterFunc(min(longestHold, r.target.Timeout/2), func() {
		r.owner.Do(func() {
			if r.held == h && ctx.Err() == nil {
				r.settle()
				r.proceed(ctx)
			}
		})
	})
	r.held = h
}

// settle publishes the page that was held.
func (r *Replica) settle() {
	h := r.held
	h.timer.Stop()
	r.held = nil
	r.finish(h.page)
}

// beginsToRefuse says whether a page is refused that was not before, while the
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
