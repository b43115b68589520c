package replica

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// ScrapeOnce scrapes once, and a second time if the server's API answered too late for the first
// page, or if the page failed and only the API shows why. It returns when the last page is
// published and the health is known, or when the context is done.
func (r *Replica) ScrapeOnce(ctx context.Context) target.Status {
	if r.target.Silent {
		r.PublishSilent()
		return r.slot.Status()
	}
	complete := func() bool {
		// The labels of the published page are based on an answer about the identity.
		return !r.server.Known() ||
			r.status.Health == target.HealthUp && !r.jobs.identity.answered.IsZero() &&
				r.reader.identity.Facts == r.answers.Facts
	}
	published := func() bool { return !r.jobs.page.running && !r.jobs.wait.running }
	r.update(func() { r.runDue(ctx, 0, nil) })
	r.await(ctx, func() bool {
		return published() && !r.jobs.health.running && (complete() || !r.jobs.identity.running)
	})
	r.update(func() {
		if ctx.Err() == nil && !complete() {
			r.runDue(ctx, 0, nil)
		}
	})
	r.await(ctx, published)
	return r.slot.Status()
}
