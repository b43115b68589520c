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
	done := make(chan struct{})
	scrapes := 0
	r.update(func() {
		r.jobs.onChange = func() {
			// The labels of the published page are then based on an answer about the identity.
			complete := r.status.Health == target.HealthUp && !r.jobs.identity.answered.IsZero() && r.reader.identity.Facts == r.answers.Facts
			switch {
			case r.jobs.page.running || r.pending != nil:
			case scrapes == 0:
				scrapes++
				r.runDue(ctx, 0, nil)
			case scrapes == 1 && r.jobs.health.running:
			case scrapes > 1 || !r.server.Known() || complete:
				r.jobs.onChange = nil
				close(done)
			case !r.jobs.identity.running:
				scrapes++
				r.runDue(ctx, 0, nil)
			}
		}
		r.jobs.onChange()
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
	return r.slot.Status()
}
