package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// maxPageWait limits how long a page waits for answers of the API. Without waiting, the labels of
// its series would change one scrape later.
const maxPageWait = time.Second

// pendingPage is a page that waits for answers of the API to requests that are not older than it.
type pendingPage struct {
	page *scrape.Fetched
	// identity is true if the page waits for the identity too, not only for the health.
	identity bool
	timer    *time.Timer
}

func (p *pendingPage) ready(j *jobs) bool {
	return j.health.answeredSince(p.page.Start) && (!p.identity || j.identity.answeredSince(p.page.Start))
}

func (r *Replica) hasAPI() bool { return r.server.Known() && r.api() != nil }

// restarted reports whether a page is the first of another process and must wait for its identity.
func (r *Replica) restarted(p *scrape.Fetched, raw *exposition.Block) bool {
	// If counters decrease on every page, only every other page waits.
	r.reader.restarted = !r.reader.restarted && r.deriver.Restarted(p.Received.Sub(r.pool.Origin)+r.slot.Suspended(), raw, r.reader.last)
	return r.reader.restarted
}

// newlyRefused reports whether the connection for a page was refused for the first time although
// the API answered its last request: that answer may be outdated. A server that exited closes
// both ports, one that only lost its page does not.
func (r *Replica) newlyRefused(failed error) bool {
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

// waitForAPI delays a page until the server's API has answered about its health and,
// if identity is true, about its identity.
func (r *Replica) waitForAPI(ctx context.Context, page *scrape.Fetched, identity bool) {
	if identity {
		if !r.status.LastSuccess.IsZero() {
			r.answers.Distrust()
		}
		r.jobs.identity.ensure(ctx, page.Start, r.queryIdentity)
	}
	r.jobs.health.ensure(ctx, page.Start, r.queryHealth)
	page.Retain()
	p := &pendingPage{page: page, identity: identity}
	p.timer = time.AfterFunc(min(maxPageWait, r.target.Timeout/2), func() {
		r.update(func() {
			if r.pending == p && ctx.Err() == nil {
				r.publishPending()
				r.followUp(ctx)
			}
		})
	})
	r.pending = p
}

func (r *Replica) publishPending() {
	p := r.pending
	r.pending = nil
	p.timer.Stop()
	raw, err := r.parse(p.page)
	r.publishPage(p.page, raw, err)
}

func (r *Replica) dropPending() {
	if r.pending != nil {
		r.pending.timer.Stop()
		r.pending.page.Release()
		r.pending = nil
	}
}
