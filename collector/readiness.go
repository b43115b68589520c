package collector

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
)

// Readiness asks the server of a replica, named by its key, whether it is ready,
// now and next to all that is scraped. It is known only when the server says it,
// at an address that is its own.
// It may be called concurrently.
func (c *Collector) Readiness(ctx context.Context, key string) (ready, known bool) {
	c.mu.Lock()
	l := c.replicas[key]
	c.mu.Unlock()
	if l == nil {
		return false, false
	}
	t, status := l.slot.Target(), l.slot.Status()
	kind := status.DetectedEngine
	if !t.Auto() {
		kind = t.Engine
	}
	return api.Ready(ctx, l.pool.scraper, t, kind, status.APIURL, l.pool.shared.GRPC)
}
