package replica

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// health is an answer about the server's health. It is immutable.
type health struct {
	engine.Health

	// seen is true when the API answered this time or before, lived when it said
	// so far that the server is live.
	seen, lived bool
	took        time.Duration
}

// askHealth asks whether the server is there and ready, unless that is being
// asked. No answer in time is an answer as well.
func (r *Replica) askHealth(ctx context.Context) {
	base := r.apiURL()
	if base == "" || r.jobs.health.running {
		return
	}
	e, ask, timeout := r.server.Engine, r.asker(base), r.target.Timeout
	begin(ctx, r, &r.jobs.health, "health", func(ctx context.Context) health {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		start := time.Now()
		h := health{Health: e.Health(ctx, ask, base)}
		h.took = time.Since(start)
		return h
	}, func(h health, failed error) {
		if failed == nil {
			r.answers.heard(h, base)
			r.reassess()
		}
	})
}

// heard takes an answer about health, given where it was asked for.
func (a *answers) heard(h health, base string) {
	before := a.health
	if before == nil {
		before = &health{}
	}
	h.seen = h.Status != 0 || before.seen
	h.lived = h.Live || before.lived
	if h.API == engine.APIRefused && !h.seen {
		h.Detail = "it was not found at " + base + "; set api_port"
	}
	a.health = &h
}
