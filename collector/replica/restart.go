package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// another reports whether a page that would be published at once is the first of
// another process, so that it has to wait for whose it is.
func (r *Replica) another(p *scrape.Fetched, raw *exposition.Block) bool {
	// A counter that falls on every page holds up one of them.
	r.page.fell = !r.page.fell && r.numbers.deriver.BeganAgain(p.Received.Sub(r.pool.Origin)+r.slot.Suspended(), raw, r.page.last)
	return r.page.fell
}

// signs are what shows now that the server may have changed.
func (r *Replica) signs() api.Signs {
	return api.Signs{Epoch: r.server.Epoch, Reshaped: r.tally.Reshaped, Restarts: r.numbers.deriver.Stats().Restarts}
}

// isReady reports whether the server is in its good state.
func (r *Replica) isReady() bool { return r.status.State == string(assess.Ready) }

// identityPace is how long the answers about identity count.
func (r *Replica) identityPace() time.Duration {
	if !r.isReady() {
		return r.steady.RetryInterval(r.pool.IdentityInterval)
	}
	return r.steady.IdentityInterval(r.answers.Facts, r.signs(), r.pool.IdentityInterval)
}

// seeRestart has the server asked who it is when its numbers show that it
// started again: it may be of another version.
func (r *Replica) seeRestart(ctx context.Context) {
	n := r.numbers.deriver.Stats().Restarts
	if n == r.numbers.restarts {
		return
	}
	r.numbers.restarts = n
	r.answers.Distrust()
	r.jobs.identity.want(ctx, r.status.LastScrape, r.askIdentity)
}
