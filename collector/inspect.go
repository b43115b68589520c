package collector

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// inspect scrapes once, and once more when the server's API took longer to
// answer than the first page could wait, or when the page failed and only the
// API can say why.
func (r *replica) inspect(ctx context.Context) {
	if r.target.Silent {
		r.present()
		return
	}
	r.scrape(ctx)
	if r.kind == engine.Unknown {
		return
	}
	if r.status.Health == target.HealthUp && r.rounds.ended.Load() > 0 && r.facts.Load() == r.used {
		return
	}
	r.wake()
	timer := time.NewTimer(r.target.Timeout)
	defer timer.Stop()
	for r.rounds.ended.Load() == 0 {
		select {
		case <-r.told:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
	r.scrape(ctx)
}
