package replica

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/canary"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// found takes over what was found at the address. When it is another kind of
// server, all that is known of the one before is forgotten.
func (r *Replica) found(ctx context.Context, s scrape.Server) {
	another := s.Epoch != r.server.Epoch
	r.server = s
	if !another {
		return
	}
	r.log.Debug("Server recognised", "engine", string(s.Engine.Kind()))
	r.reset()
	r.answers = api.Answers{}
	r.answers.Inherit(r.past.api, r.api())
	r.canary.Forget()
	r.confirmed = canary.Report{}
	r.jobs = jobs{page: r.jobs.page, endStart: r.jobs.endStart, watch: r.jobs.watch}
	r.askHealth(ctx)
	r.askIdentity(ctx)
}
