package api

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Health is an answer about the server's health. It is immutable.
type Health struct {
	engine.Health

	// Seen is true when the API answered this time or before, Lived when it said
	// so far that the server is live.
	Seen, Lived bool
	Took        time.Duration
}

// Health asks whether the server is there and ready. No answer in time is an
// answer as well.
func (p *Endpoint) Health(ctx context.Context) Health {
	ctx, cancel := context.WithTimeout(ctx, p.Target.Timeout)
	defer cancel()
	start := time.Now()
	h := Health{Health: p.Engine.Health(ctx, p.asker(), p.Base)}
	h.Took = time.Since(start)
	return h
}

// Heard takes an answer about health, given where it was asked for.
func (a *Answers) Heard(h Health, base string) {
	before := a.Health
	if before == nil {
		before = &Health{}
	}
	h.Seen = h.Status != 0 || before.Seen
	h.Lived = h.Live || before.Lived
	if h.API == engine.APIRefused && !h.Seen {
		h.Detail = "it was not found at " + base + "; set api_port"
	}
	a.Health = &h
}
