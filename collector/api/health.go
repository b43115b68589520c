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

	// Found is true when an API that is the server's answered this time or before, WasLive
	// when it has reported that the server is live.
	Found, WasLive bool
	Duration       time.Duration
}

// Health requests whether the server is there and ready. No answer in time is an answer as
// well.
func (p *Endpoint) Health(ctx context.Context) Health {
	ctx, cancel := context.WithTimeout(ctx, p.Target.Timeout)
	defer cancel()
	client := p.client()
	if p.ReadyURL() != "" {
		client = p.briefClient()
	}
	return p.health(ctx, client, time.Now())
}

func (p *Endpoint) health(ctx context.Context, client engine.Client, start time.Time) Health {
	h := Health{Health: p.Engine.Health(ctx, client, p.Base)}
	h.Duration = time.Since(start)
	return h
}

// ReadyURL returns the URL that shows whether a server that was ready still is; empty where
// a single request cannot show that.
func (p *Endpoint) ReadyURL() string {
	if path := p.Engine.ReadyPath(); path != "" {
		return p.Base + path
	}
	return ""
}

// Recheck requests whether a server that was ready still is. If so it repeats the previous
// answer, otherwise it requests the whole health.
func (p *Endpoint) Recheck(ctx context.Context, previous *Health) Health {
	ctx, cancel := context.WithTimeout(ctx, p.Target.Timeout)
	defer cancel()
	start := time.Now()
	client := engine.Memoize(p.client())
	if status, _, _, err := client.Do(ctx, http.MethodGet, p.ReadyURL(), nil, maxReadyAnswer); err == nil && status == http.StatusOK {
		return previous.Repeat(time.Since(start))
	}
	return p.health(ctx, client, start)
}

// Repeat returns the same answer with another duration.
func (h *Health) Repeat(duration time.Duration) Health {
	repeated := *h
	repeated.Duration = duration
	return repeated
}

const maxReadyAnswer = 1 << 20
