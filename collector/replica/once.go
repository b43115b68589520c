package replica

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Once scrapes once, and once more when the server's API took longer to answer
// than the first page could wait, or when the page failed and only the API can
// say why. It returns when the last page is published and the server was asked
// about its health, or the context ends.
func (r *Replica) Once(ctx context.Context) target.Status {
	if r.target.Silent {
		r.Present()
		return r.slot.Status()
	}
	done := make(chan struct{})
	scrapes := 0
	r.do(func() {
		r.jobs.watch = func() {
			switch {
			case r.jobs.page.running || r.held != nil:
			case scrapes == 0:
				scrapes++
				r.due(ctx, 0, nil)
			case scrapes == 1 && r.jobs.health.running:
			case scrapes > 1 || !r.server.Known() || r.complete():
				r.jobs.watch = nil
				close(done)
			case !r.jobs.identity.running:
				scrapes++
				r.due(ctx, 0, nil)
			}
		}
		r.jobs.watch()
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
	return r.slot.Status()
}

// complete reports whether the page that was published rests on all answers.
func (r *Replica) complete() bool {
	return r.status.Health == target.HealthUp && !r.jobs.identity.answered.IsZero() && r.page.identity.Facts == r.answers.Facts
}
