package api

import (
	"context"
	"net/http"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Health is an answer about the server's health. It is immutable.
type Health struct {
	engine.Health

	// Seen is true when an API that is the server's answered this time or before,
	// Lived when it said so far that the server is live.
	Seen, Lived bool
	Took        time.Duration
}

// Health asks whether the server is there and ready. No answer in time is an
// answer as well.
func (p *Endpoint) Health(ctx context.Context) Health {
	ctx, cancel := context.WithTimeout(ctx, p.Target.Timeout)
	defer cancel()
	start := time.Now()
	ask := p.asker()
	if p.ReadyURL() != "" {
		ask = p.rarely()
	}
	h := Health{Health: p.Engine.Health(ctx, ask, p.Base)}
	h.Took = time.Since(start)
	return h
}

// ReadyURL is what is asked of a server that is ready, to see whether it still
// is; empty where one question does not say that.
func (p *Endpoint) ReadyURL() string {
	if path := p.Engine.ReadyPath(); path != "" {
		return p.Base + path
	}
	return ""
}

// Again asks a server that was ready before whether it still is. While it is, the
// answer of before is taken again; else all of Health is asked.
func (p *Endpoint) Again(ctx context.Context, before *Health) Health {
	ctx, cancel := context.WithTimeout(ctx, p.Target.Timeout)
	defer cancel()
	start := time.Now()
	ask := engine.Remember(p.asker())
	if status, _, _, err := ask.Do(ctx, http.MethodGet, p.ReadyURL(), nil, readyLimit); err == nil && status == http.StatusOK {
		return before.Still(time.Since(start))
	}
	h := Health{Health: p.Engine.Health(ctx, ask, p.Base)}
	h.Took = time.Since(start)
	return h
}

// Still is the same answer given again, after so much time.
func (h *Health) Still(took time.Duration) Health {
	again := *h
	again.Took = took
	return again
}

// readyLimit bounds the answer to whether a server is ready.
const readyLimit = 1 << 20
