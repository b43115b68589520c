package collector

import (
	"context"
	"net/http"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
)

// Readiness asks the server of a replica, named by its key, whether it is ready,
// now and next to all that is scraped. It is known only when the server answers.
// It may be called concurrently.
func (c *Collector) Readiness(ctx context.Context, key string) (ready, known bool) {
	c.mu.Lock()
	l := c.replicas[key]
	c.mu.Unlock()
	if l == nil {
		return false, false
	}
	t, kind := l.slot.Target(), l.slot.Status().DetectedEngine
	if !t.Auto() {
		kind = t.Engine
	}
	endpoint := api.Of(l.pool.scraper, t, kind, l.pool.shared.GRPC)
	if endpoint == nil {
		return false, false
	}
	h := endpoint.Health(ctx)
	return h.Status == http.StatusOK, h.Status != 0
}
