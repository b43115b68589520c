package collector

import (
	"context"
)

// Readiness asks the server of the replica with the given key whether it is ready now,
// independently of its scrapes; known is false unless the server itself answers. It is safe for
// concurrent use.
func (c *Collector) Readiness(ctx context.Context, key string) (ready, known bool) {
	c.mu.Lock()
	r := c.replicas[key]
	c.mu.Unlock()
	if r == nil {
		return false, false
	}
	t, status := r.slot.Target(), r.slot.Status()
	kind := status.DetectedEngine
	if !t.Auto() {
		kind = t.Engine
	}
	return c.kinds.Load().AskReady(ctx, r.pool.scraper, t, kind, status.APIURL, r.pool.shared.GRPC)
}
