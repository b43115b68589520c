package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// maxPageWait limits how long a page waits for answers of the API. Without waiting, the labels of
// its series would change one scrape later.
const maxPageWait = time.Second

func (r *Replica) hasAPI() bool { return r.server.Known() && r.api() != nil }

// restarted reports whether a page is the first of another process and must wait for its identity.
func (r *Replica) restarted(seen *derive.Sighting) bool {
	// If counters decrease on every page, only every other page waits.
	r.reader.restarted = !r.reader.restarted && seen.Restarted()
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

// apiWait is a run whose page waits for the API.
type apiWait struct {
	jobRun

	// answered reports under the lock whether the page has waited long enough.
	answered func() bool
}

// waitForAPI asks the server's API about its health and, if identity is true, about its identity,
// and returns the wait for its answers. It ends early when the next scrape is due. What answers at another address than
// a page that was refused is asked who it is in any case: it may be a proxy.
func (r *Replica) waitForAPI(ctx context.Context, page *scrape.Fetched, identity bool) *apiWait {
	start := page.Start
	if identity && !r.status.LastSuccess.IsZero() {
		r.answers.Distrust()
	}
	if identity || r.api().Apart() {
		r.jobs.identity.ensure(ctx, start, r.queryIdentity)
	}
	r.jobs.health.ensure(ctx, start, r.queryHealth)
	return &apiWait{r.startJob(ctx, &r.jobs.wait), func() bool {
		answered := r.jobs.health.answeredSince(start) && (!identity || r.jobs.identity.answeredSince(start))
		return answered || r.jobs.page.rerun
	}}
}

// publish publishes the page once it has waited long enough.
func (w *apiWait) publish(ctx context.Context, page *scrape.Fetched) {
	ctx, cancel := context.WithTimeout(ctx, min(maxPageWait, w.target.Timeout/2))
	defer cancel()
	w.await(ctx, w.answered)
	w.finish(func() { w.takePage(page, true) })
}

// await waits until a change makes done, which is called under the lock, return true, or until ctx
// ends. The caller must not hold the lock.
func (r *Replica) await(ctx context.Context, done func() bool) {
	for {
		var changed <-chan struct{}
		r.update(func() {
			if !done() {
				changed = r.nextChange()
			}
		})
		if changed == nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// nextChange returns a channel that is closed after the next change.
func (r *Replica) nextChange() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}
