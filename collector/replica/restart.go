package replica

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// another says whether a page that would be published at once is the first of
// another process, so that it has to wait for whose it is.
func (r *Replica) another(raw *exposition.Block) bool {
	// A counter that falls on every page holds up one of them.
	r.page.fell = !r.page.fell && r.page.marks.BeganAgain(raw, r.page.read)
	return r.page.fell
}

// seeRestart has the server asked who it is when its numbers show that it
// started again: it may be of another version.
func (r *Replica) seeRestart(ctx context.Context) {
	n := r.numbers.stats().Restarts
	if n == r.numbers.restarts {
		return
	}
	r.numbers.restarts = n
	r.answers.Distrust()
	r.jobs.identity.Want(ctx, r.status.LastScrape, r.askIdentity)
}
