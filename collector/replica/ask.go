package replica

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// apiURL is the base of the server's own API; empty where there is none to ask.
func (r *Replica) apiURL() string {
	return api.BaseOf(r.target, r.server.Engine, r.pool.GRPC)
}

// api is the server's own API, nil where there is none to ask.
func (r *Replica) api() *api.Endpoint {
	base := r.apiURL()
	if base == "" {
		return nil
	}
	return &api.Endpoint{Scraper: r.pool.Scraper, Target: r.target, Engine: r.server.Engine, Base: base}
}

// askHealth asks whether the server is there and ready, unless that is being
// asked.
func (r *Replica) askHealth(ctx context.Context) {
	server := r.api()
	if server == nil || r.jobs.health.running {
		return
	}
	begin(ctx, r, &r.jobs.health, "health", server.Health, func(h api.Health, failed error) {
		if failed == nil {
			r.answers.Heard(h, server.Base)
			r.reassess()
		}
	})
}

// askIdentity asks for versions and models, unless they are being asked for.
func (r *Replica) askIdentity(ctx context.Context) {
	server, epoch := r.api(), r.server.Epoch
	if server == nil || r.jobs.identity.running {
		return
	}
	begin(ctx, r, &r.jobs.identity, "identity", func(job context.Context) engine.Facts {
		return server.Identity(job, r.pool.EngineDir, func(early engine.Facts) {
			r.hand(ctx, epoch, func() { r.answers.Early(early) })
		})
	}, func(facts engine.Facts, failed error) {
		if failed == nil {
			r.answers.Told(facts, r.pool.IdentityInterval)
		}
	})
}

// dueIterations reads the iterations since the last reading.
func (r *Replica) dueIterations(ctx context.Context, _ uint64) {
	server, from := r.api(), r.server.Engine.Iterations()
	if server == nil || from == nil || r.jobs.iterations.running {
		return
	}
	reading := r.answers.Reading()
	begin(ctx, r, &r.jobs.iterations, "iterations", func(job context.Context) api.Reading {
		return server.Iterations(job, from, reading)
	}, func(got api.Reading, failed error) {
		if failed != nil {
			got = reading
			got.Err = failed
		}
		r.answers.Read(got, r.log)
	})
}
