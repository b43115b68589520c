package replica

import (
	"context"

	"github.com/trtllm-exporter/trtllm_exporter/collector/api"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/owner"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// apiURL is the base of the server's own API; empty where there is none to ask.
func (r *Replica) apiURL() string {
	if server := r.api(); server != nil {
		return server.Base
	}
	return ""
}

// askHealth asks whether the server is there and ready, unless that is being
// asked.
func (r *Replica) askHealth(ctx context.Context) {
	server := r.api()
	if server == nil || r.jobs.health.Running {
		return
	}
	r.steady.AskedHealth(r.signs())
	owner.Begin(ctx, &r.owner, &r.jobs.health, "health", server.Health, r.heard)
}

// heard takes an answer about health over.
func (r *Replica) heard(h api.Health, failed error) {
	if failed == nil {
		r.answers.Heard(h, r.apiURL())
		r.reassess()
	}
}

// checkHealth asks a server of which nothing has changed only whether it is
// still ready, in a batch where there is one, and any other all about its health.
func (r *Replica) checkHealth(ctx context.Context, b *scrape.Batch) {
	before := r.answers.Health
	holds := r.api() != nil && r.isReady() && r.steady.HealthHolds(before, r.signs(), r.pool.IdentityInterval)
	if !holds || r.asking.ready == "" || !r.checkReady(ctx, before, b) {
		r.askHealth(ctx)
	}
}

// askIdentity asks for versions and models, unless they are being asked for.
func (r *Replica) askIdentity(ctx context.Context) {
	server := r.api()
	if server == nil || r.jobs.identity.Running {
		return
	}
	r.steady.AskedIdentity(r.signs())
	hand := r.owner.Hand(ctx)
	owner.Begin(ctx, &r.owner, &r.jobs.identity, "identity", func(job context.Context) engine.Facts {
		return server.Identity(job, r.pool.EngineDir, func(early engine.Facts) {
			hand(func() { r.answers.Early(early) })
		})
	}, func(facts engine.Facts, failed error) {
		if failed == nil {
			r.steady.ToldIdentity(&facts)
			r.answers.Told(facts, r.pool.IdentityInterval)
		}
	})
}

// dueIterations reads the iterations since the last reading.
func (r *Replica) dueIterations(ctx context.Context, _ uint64, _ *scrape.Batch) {
	server, from := r.api(), r.server.Engine.Iterations()
	if server == nil || from == nil || r.jobs.iterations.Running {
		return
	}
	reading := r.answers.Reading()
	owner.Begin(ctx, &r.owner, &r.jobs.iterations, "iterations", func(job context.Context) api.Reading {
		return server.Iterations(job, from, reading)
	}, func(got api.Reading, failed error) {
		if failed != nil {
			got = reading
			got.Err = failed
		}
		r.answers.Read(got, r.log)
	})
}
