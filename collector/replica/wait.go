package replica

import (
	"bytes"
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// maxPageWait limits how long a page waits for answers of the API. Without waiting, the labels of
// its series would change one scrape later.
const maxPageWait = time.Second

func (r *Replica) hasAPI() bool { return r.server.Known() && r.api() != nil }

// restarted reports whether a page is the first of another process and must wait for its identity.
func (r *Replica) restarted(p *scrape.Fetched, raw *exposition.Block) bool {
	// If counters decrease on every page, only every other page waits.
	r.reader.restarted = !r.reader.restarted && r.deriver.Restarted(p.Received.Sub(r.pool.Origin)+r.slot.Suspended(), raw, r.reader.last, r.connection(p))
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

// waitForAPI delays a page until the server's API has answered about its health and, if identity is
// true, about its identity, or the next scrape is due. It reports whether the page may be published
// now. If not, it was dropped, or it came from a lane, whose goroutine must not wait: then it takes
// all steps again in a goroutine of its own.
func (run jobRun) waitForAPI(ctx context.Context, f *scrape.Fetcher, answer *lane.Answer, identity bool) (ready bool) {
	if answer != nil {
		retained := *f
		retained.Page.Body = bytes.Clone(f.Page.Body)
		run.reader.restarted = false
		go run.startJob(ctx, run.job).scrapeAndPublish(&retained, nil)
		return false
	}
	if identity {
		if !run.status.LastSuccess.IsZero() {
			run.answers.Distrust()
		}
		run.jobs.identity.ensure(ctx, f.Start, run.queryIdentity)
	}
	run.jobs.health.ensure(ctx, f.Start, run.queryHealth)
	limited, cancel := context.WithTimeout(ctx, min(maxPageWait, run.target.Timeout/2))
	defer cancel()
	run.pageWaits = true
	run.waitUntil(limited, func() bool {
		answered := run.jobs.health.answeredSince(f.Start) && (!identity || run.jobs.identity.answeredSince(f.Start))
		return answered || run.jobs.page.rerun
	})
	run.pageWaits = false
	return !run.closed && ctx.Err() == nil && run.server.Epoch == f.Server.Epoch
}

// waitUntil frees the lock until a change makes done return true, or until ctx ends.
func (r *Replica) waitUntil(ctx context.Context, done func() bool) {
	for !done() && ctx.Err() == nil {
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		r.mu.Lock()
	}
}
